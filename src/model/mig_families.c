/* Which GPUs can be cut how: the tables of model/mig.h, and which model belongs to which. */
#include "base/compiler.h"
#include "model/mig.h"

#define STARTS_0_TO_6 0x7f
#define STARTS_0_TO_3 0x0f
#define STARTS_0246 0x55
#define STARTS_024 0x15
#define STARTS_02 0x05
#define STARTS_04 0x11
#define START_0 0x01

/* Every family with 7 compute slices is cut alike; names and memory differ. The double-memory 1g
 * needs driver R525, +me R470: what a driver does not offer, a node does not list. */
#define SEVEN_SLICES(gb1, mem1, gb2, mem2, gb4, mem4, gb8, mem8)                                                       \
    {MIG_PROFILE(1, gb1), 1, STARTS_0_TO_6, 7, mem1}, {MIG_PROFILE(1, gb1) | MIG_ME, 1, STARTS_0_TO_6, 1, mem1},       \
        {MIG_PROFILE(1, gb2), 2, STARTS_0246, 4, mem2}, {MIG_PROFILE(2, gb2), 2, STARTS_024, 3, mem2},                 \
        {MIG_PROFILE(3, gb4), 4, STARTS_04, 2, mem4}, {MIG_PROFILE(4, gb4), 4, START_0, 1, mem4},                      \
    {                                                                                                                  \
        MIG_PROFILE(7, gb8), 8, START_0, 1, mem8                                                                       \
    }

/* MiB, the lowest number seen: 4.75 GiB and so on. */
static const struct mig_shape a100_40[] = {SEVEN_SLICES(5, 4864, 10, 9830, 20, 19968, 40, 40192)};
static const struct mig_shape a100_80[] = {
    SEVEN_SLICES(10, 9728, 20, 19968, 40, 40192, 80, 80640),
    {MIG_PROFILE(7, 79), 8, START_0, 1, 80640}, /* the same, as some drivers name it */
};
static const struct mig_shape h100_80[] = {SEVEN_SLICES(10, 9984, 20, 20090, 40, 40448, 80, 81152)};
static const struct mig_shape h100_94[] = {SEVEN_SLICES(12, 0, 24, 0, 47, 0, 94, 0)};
static const struct mig_shape h100_96[] = {SEVEN_SLICES(12, 0, 24, 0, 48, 0, 96, 0)};
static const struct mig_shape h200[] = {SEVEN_SLICES(18, 16384, 35, 33024, 71, 71168, 141, 143104)};
static const struct mig_shape b200[] = {SEVEN_SLICES(23, 20992, 45, 45312, 90, 0, 180, 0)};
static const struct mig_shape a30[] = {
    {MIG_PROFILE(1, 6), 1, STARTS_0_TO_3, 4, 5949}, {MIG_PROFILE(1, 6) | MIG_ME, 1, STARTS_0_TO_3, 1, 5949},
    {MIG_PROFILE(2, 12), 2, STARTS_02, 2, 11970},   {MIG_PROFILE(2, 12) | MIG_ME, 2, STARTS_02, 1, 11970},
    {MIG_PROFILE(4, 24), 4, START_0, 1, 24002},
};

#define FAMILY(id, name, slots, slices, inferred)                                                                      \
    static const struct mig_family family_##id = {name, slots, slices, inferred, id, ARRAY_LEN(id)}

FAMILY(a100_40, "a100-40gb", 8, 7, false);
FAMILY(a100_80, "a100-80gb", 8, 7, false);
FAMILY(a30, "a30", 4, 4, false);
FAMILY(h100_80, "h100-80gb", 8, 7, false);
FAMILY(h100_94, "h100-94gb", 8, 7, false);
FAMILY(h100_96, "h100-96gb", 8, 7, false);
FAMILY(h200, "h200", 8, 7, true);
FAMILY(b200, "b200", 8, 7, true);

const struct mig_family *const mig_families[] = {
    &family_a100_40, &family_a100_80, &family_a30, &family_h100_80, &family_h100_94, &family_h100_96,
    &family_h200,    &family_b200,    NULL,
};

/* Cards report less than their name says, and a memory reserve may already be off: the ranges are
 * wide, and one model's do not touch. `gb` is tried when the memory is not known. */
static const struct {
    const char *word;
    const char *gb; /* another word of the name; empty: none is needed */
    int32_t mem_min_gib, mem_max_gib;
    const struct mig_family *family;
} models[] = {
    {"A100", "40GB", 36, 42, &family_a100_40}, {"A100", "80GB", 74, 82, &family_a100_80},
    {"A30", "", 20, 25, &family_a30},          {"H100", "80GB", 74, 82, &family_h100_80},
    {"H100", "NVL", 88, 94, &family_h100_94},  {"H100", "94GB", 88, 94, &family_h100_94},
    {"H100", "96GB", 94, 98, &family_h100_96}, {"GH200", "96GB", 88, 98, &family_h100_96},
    {"H20", "96GB", 88, 98, &family_h100_96},  {"H200", "", 130, 142, &family_h200},
    {"B200", "", 165, 192, &family_b200},
};

static bool is_separator(char c)
{
    return c == '-' || c == ' ' || c == '_';
}

/* Is `word` one of the words of the name? "A100" is none of "RTX A1000". */
static bool has_word(struct str name, const char *word)
{
    size_t from = 0;

    for (size_t i = 0; i <= name.n; i++) {
        if (i == name.n || is_separator(name.p[i])) {
            if (str_ieq((struct str){name.p + from, i - from}, str_of(word))) {
                return true;
            }
            from = i + 1;
        }
    }
    return false;
}

const struct mig_family *mig_family_of(struct str model, int64_t mem_mib)
{
    for (size_t i = 0; i < ARRAY_LEN(models) && model.n > 0; i++) {
        bool fits = mem_mib > 0 ? mem_mib >= (int64_t)models[i].mem_min_gib * 1024 &&
                                      mem_mib < (int64_t)models[i].mem_max_gib * 1024
                                : models[i].gb[0] == '\0' || has_word(model, models[i].gb);

        if (fits && has_word(model, models[i].word)) {
            return models[i].family;
        }
    }
    return NULL;
}
