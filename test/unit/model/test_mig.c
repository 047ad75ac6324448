/* MIG: profiles, families, slots; the counts against exhaustive search. */
#include "base/compiler.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const struct mig_family *family(const char *name)
{
    for (size_t i = 0; mig_families[i] != NULL; i++) {
        if (strcmp(mig_families[i]->name, name) == 0) {
            return mig_families[i];
        }
    }
    fail_msg("no family %s", name);
    return NULL;
}

static const struct mig_shape *shape(const struct mig_family *f, const char *profile)
{
    const struct mig_shape *s = mig_shape_find(f, mig_profile_parse(str_of(profile)));

    if (s == NULL) {
        fail_msg("%s has no %s", f->name, profile);
    }
    return s;
}

/* ---- profiles ---- */

static void profile__text_of_the_tables__reads_back_the_same(void **state)
{
    for (size_t i = 0; mig_families[i] != NULL; i++) {
        for (size_t j = 0; j < mig_families[i]->shape_n; j++) {
            char text[MIG_PROFILE_BYTES_MAX], resource[64];
            uint16_t profile = mig_families[i]->shapes[j].profile;
            char *plus;

            mig_profile_text(profile, text);
            assert_int_equal(mig_profile_parse(str_of(text)), profile);
            snprintf(resource, sizeof(resource), "nvidia.com/mig-%s", text);
            plus = strchr(resource, '+');
            if (plus != NULL) {
                assert_int_equal(mig_profile_of_resource(str_of(resource)), MIG_NO_PROFILE);
                *plus = '.';
            }
            assert_int_equal(mig_profile_of_resource(str_of(resource)), profile);
        }
    }
}

static void profile__every_number__has_a_text_of_its_own(void **state)
{
    for (unsigned slices = 1; slices <= 7; slices++) {
        for (unsigned gb = 1; gb <= MIG_GB_MAX; gb++) {
            for (unsigned media = 0; media < 2; media++) {
                uint16_t profile = (uint16_t)(MIG_PROFILE(slices, gb) | (media != 0 ? MIG_ME : 0));
                char text[MIG_PROFILE_BYTES_MAX];

                assert_int_equal(mig_profile_parse(str_of(mig_profile_text(profile, text))), profile);
                assert_int_equal(mig_profile_slices(profile), slices);
                assert_int_equal(mig_profile_has_media(profile), media);
            }
        }
    }
}

static void profile__not_of_the_form__none(void **state)
{
    static const char *const bad[] = {
        "",
        "1g",
        "1g.",
        "1g.5",
        "1g.5g",
        "1g.5gB",
        "g.5gb",
        "0g.5gb",
        "8g.5gb",
        "1g.0gb",
        "01g.5gb",
        "1g.05gb",
        "1g.5gb ",
        " 1g.5gb",
        "1g.5gb+",
        "1g.5gb+ME",
        "1g.5gb+gfx",
        "1g.5gb-me",
        "1g.5gb.me",
        "1g.2048gb",
        "1g.-5gb",
        "2c.3g.20gb",
        "1c.2g.10gb",
        "8c.8g.5gb",
        "1c.1g",
        "1x.5gb",
        "1g.5gb+me+me",
        "99999999999999999999g.5gb",
        "1g.99999999999999999999gb",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (mig_profile_parse(str_of(bad[i])) != MIG_NO_PROFILE) {
            fail_msg("taken: \"%s\"", bad[i]);
        }
    }
    assert_int_equal(mig_profile_parse(STR("1c.1g.5gb")), MIG_PROFILE(1, 5));
    assert_int_equal(mig_profile_parse(STR("3c.3g.20gb")), MIG_PROFILE(3, 20));
    assert_int_equal(mig_profile_of_resource(STR("nvidia.com/mig-1g.5gb")), MIG_PROFILE(1, 5));
    assert_int_equal(mig_profile_of_resource(STR("nvidia.com/gpu")), MIG_NO_PROFILE);
    assert_int_equal(mig_profile_of_resource(STR("1g.5gb")), MIG_NO_PROFILE);
}

/* ---- families ---- */

static void family_of__names_of_cards__the_right_table_or_none(void **state)
{
    static const struct {
        const char *model;
        int64_t mem_mib;
        const char *want;
    } rows[] = {
        {"NVIDIA-A100-SXM4-40GB", 40960, "a100-40gb"},
        {"NVIDIA-A100-SXM4-40GB", 40536, "a100-40gb"},
        {"NVIDIA A100-PCIE-40GB", 0, "a100-40gb"},
        {"NVIDIA-A100-SXM4-80GB", 81920, "a100-80gb"},
        {"NVIDIA-A100-SXM4-80GB", 81252, "a100-80gb"},
        {"NVIDIA-A100-80GB-PCIe", 0, "a100-80gb"},
        {"nvidia a100 80gb pcie", 0, "a100-80gb"},
        {"A100", 40000, "a100-40gb"},
        {"A100", 0, NULL},
        {"NVIDIA-A100-SXM4-40GB", 60000, NULL}, /* what is it? */
        {"NVIDIA-RTX-A1000", 40960, NULL},
        {"NVIDIA-A30", 24258, "a30"},
        {"NVIDIA-A30", 0, "a30"},
        {"NVIDIA-A10", 23028, NULL},
        {"NVIDIA-H100-80GB-HBM3", 81559, "h100-80gb"},
        {"NVIDIA-H100-PCIe", 81559, "h100-80gb"},
        {"NVIDIA-H100-PCIe", 0, NULL},
        {"NVIDIA-H100-NVL", 95830, "h100-94gb"},
        {"NVIDIA-H100-NVL", 0, "h100-94gb"},
        {"NVIDIA-GH200-480GB", 97871, "h100-96gb"},
        {"NVIDIA-H20", 97871, "h100-96gb"},
        {"NVIDIA-H200", 143771, "h200"},
        {"NVIDIA-H200-NVL", 143771, "h200"},
        {"NVIDIA-H200", 0, "h200"},
        {"NVIDIA-B200", 183359, "b200"},
        {"NVIDIA-L40S", 46068, NULL},
        {"Tesla-V100-SXM2-32GB", 32768, NULL},
        {"", 40960, NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct mig_family *f = mig_family_of(str_of(rows[i].model), rows[i].mem_mib);
        const char *got = f == NULL ? "none" : f->name;

        if (strcmp(got, rows[i].want == NULL ? "none" : rows[i].want) != 0) {
            fail_msg("%s with %d MiB is %s", rows[i].model, (int)rows[i].mem_mib, got);
        }
    }
}

/* ---- exhaustive ---- */

/* Layouts: sets of instances side by side, in order of their starts. */
static unsigned count_layouts(const struct mig_family *f, bool media, unsigned from, uint16_t occupied,
                              void (*check)(const struct mig_family *f, uint16_t occupied, unsigned slices),
                              unsigned slices)
{
    unsigned n = 1;

    if (check != NULL) {
        check(f, occupied, slices);
    }
    for (size_t i = 0; i < f->shape_n; i++) {
        const struct mig_shape *s = &f->shapes[i];

        for (unsigned start = from; start < MIG_SLOTS_MAX; start++) {
            uint16_t next = occupied;

            if ((media || !mig_profile_has_media(s->profile)) && mig_occupy(s, start, &next)) {
                n += count_layouts(f, media, start + 1, next, check, slices + mig_profile_slices(s->profile));
            }
        }
    }
    return n;
}

static void compute_is_enough(const struct mig_family *f, uint16_t occupied, unsigned slices)
{
    (void)occupied;
    assert_true(slices <= f->slice_n);
}

static void layouts__every_family__never_want_more_compute_than_there_is(void **state)
{
    for (size_t i = 0; mig_families[i] != NULL; i++) {
        count_layouts(mig_families[i], true, 0, 0, compute_is_enough, 0);
    }
    /* As counted for the published table. */
    assert_int_equal(count_layouts(family("a100-40gb"), false, 0, 0, NULL, 0), 723);
}

/* The most instances of one shape, trying every start in every order. */
static unsigned most_of(const struct mig_shape *s, uint16_t occupied)
{
    unsigned most = 0;

    for (unsigned start = 0; start < MIG_SLOTS_MAX; start++) {
        uint16_t next = occupied;

        if (mig_occupy(s, start, &next)) {
            unsigned n = 1 + most_of(s, next);

            most = n > most ? n : most;
        }
    }
    return most;
}

static void room_is_the_most(const struct mig_family *f, uint16_t occupied, unsigned slices)
{
    (void)slices;
    for (size_t i = 0; i < f->shape_n; i++) {
        assert_int_equal(mig_count_free(&f->shapes[i], occupied), most_of(&f->shapes[i], occupied));
    }
}

static void count_room__every_layout_of_every_family__equals_exhaustive_search(void **state)
{
    for (size_t i = 0; mig_families[i] != NULL; i++) {
        const struct mig_family *f = mig_families[i];

        if (f == family("a100-40gb") || f == family("a30")) { /* the others are cut alike */
            count_layouts(f, true, 0, 0, room_is_the_most, 0);
        }
        for (size_t j = 0; j < f->shape_n; j++) {
            assert_int_equal(mig_count_free(&f->shapes[j], 0), f->shapes[j].max);
        }
    }
}

static void families__seven_slices__are_cut_alike(void **state)
{
    const struct mig_family *a = family("a100-40gb");

    for (size_t i = 0; mig_families[i] != NULL; i++) {
        const struct mig_family *f = mig_families[i];

        for (size_t j = 0; f->slice_n == 7 && j < a->shape_n; j++) {
            assert_int_equal(f->shapes[j].size, a->shapes[j].size);
            assert_int_equal(f->shapes[j].starts, a->shapes[j].starts);
            assert_int_equal(f->shapes[j].max, a->shapes[j].max);
            assert_int_equal(mig_profile_slices(f->shapes[j].profile), mig_profile_slices(a->shapes[j].profile));
        }
        for (size_t j = 0; j < f->shape_n; j++) {
            const struct mig_shape *s = &f->shapes[j];

            assert_ptr_equal(mig_shape_find(f, s->profile), s); /* none is there twice */
            assert_true(s->size <= f->slot_n);
            assert_true((unsigned)s->starts << (s->size - 1) < 1U << f->slot_n);
        }
    }
}

/* ---- what people quote ---- */

static unsigned place_until_full(const char *family_name, const char *profile)
{
    const struct mig_family *f = family(family_name);
    const struct mig_shape *s = shape(f, profile);
    uint16_t occupied = 0;
    unsigned n = 0;

    for (int start; (start = mig_choose_start(f, s, occupied)) >= 0; n++) {
        assert_true(mig_occupy(s, (unsigned)start, &occupied));
    }
    return n;
}

static void a100_40__one_profile_only__seven_1g_three_2g_never_four(void **state)
{
    assert_int_equal(place_until_full("a100-40gb", "1g.5gb"), 7);
    assert_int_equal(place_until_full("a100-40gb", "1g.5gb+me"), 1);
    assert_int_equal(place_until_full("a100-40gb", "1g.10gb"), 4);
    assert_int_equal(place_until_full("a100-40gb", "2g.10gb"), 3);
    assert_int_equal(most_of(shape(family("a100-40gb"), "2g.10gb"), 0), 3); /* in whatever order */
    assert_int_equal(mig_profile_max(MIG_PROFILE(2, 10)), 3);
    assert_int_equal(place_until_full("a100-40gb", "3g.20gb"), 2);
    assert_int_equal(place_until_full("a100-40gb", "4g.20gb"), 1);
    assert_int_equal(place_until_full("a100-40gb", "7g.40gb"), 1);
    assert_int_equal(place_until_full("a30", "1g.6gb"), 4);
    assert_int_equal(place_until_full("a30", "2g.12gb"), 2);
}

static void profile_facts__compute_and_maximum__by_family(void **state)
{
    assert_int_equal(mig_profile_milli(MIG_PROFILE(1, 5)), 142);
    assert_int_equal(mig_profile_milli(MIG_PROFILE(3, 40)), 428);
    assert_int_equal(mig_profile_milli(MIG_PROFILE(7, 80)), 1000);
    assert_int_equal(mig_profile_milli(MIG_PROFILE(1, 6)), 250);
    assert_int_equal(mig_profile_milli(MIG_PROFILE(4, 24)), 1000);
    assert_int_equal(mig_profile_milli(MIG_PROFILE(1, 1234)), 142);
    assert_int_equal(mig_profile_max(MIG_PROFILE(1, 10)), 7); /* 4 on one family, 7 on others */
    assert_int_equal(mig_profile_max(MIG_PROFILE(1, 1234)), 0);
}

/* ---- the choice of a start ---- */

static void choose_start__known_situations__what_large_instances_need_stays_free(void **state)
{
    static const struct {
        uint16_t occupied;
        const char *profile;
        int want;
    } rows[] = {
        {0x00, "1g.10gb", 6},
        {0x40, "1g.10gb", 5},
        {0x0f, "3g.40gb", 4},
        {0x00, "3g.40gb", 4},
        {0x60, "3g.40gb", 0},
        {0x6f, "1g.10gb", 4},
        {0x00, "4g.40gb", 0},
        {0x01, "4g.40gb", -1},
        {0x00, "7g.80gb", 0},
        {0x80, "7g.80gb", -1},
        {0x3f, "1g.20gb", 6},
        {0x7f, "1g.10gb", -1},
        {MIG_MEDIA_USED, "1g.10gb+me", -1},
        {0x3f, "2g.20gb", -1},
    };
    const struct mig_family *f = family("a100-80gb");

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int got = mig_choose_start(f, shape(f, rows[i].profile), rows[i].occupied);

        if (got != rows[i].want) {
            fail_msg("%s beside %#x: start %d", rows[i].profile, rows[i].occupied, got);
        }
    }
}

struct served {
    unsigned slots, slots_first;
};

/* Sequences of requests up to `depth`: with our choice, and with the lowest start. Every step is
 * checked: nothing overlaps, a refusal is one that no start would have avoided, vacating gives back
 * exactly what was taken. */
static void serve(const struct mig_family *f, unsigned depth, uint16_t ours, uint16_t first, struct served sum,
                  struct served *total)
{
    total->slots += sum.slots;
    total->slots_first += sum.slots_first;
    for (size_t i = 0; depth > 0 && i < f->shape_n; i++) {
        const struct mig_shape *s = &f->shapes[i];
        struct served next_sum = sum;
        uint16_t next = ours, next_first = first;
        int start = mig_choose_start(f, s, ours);
        unsigned lowest = mig_free_starts(s, first);

        if (start >= 0) {
            assert_int_equal(mig_extent(s, (unsigned)start) & ours, 0);
            assert_true(mig_occupy(s, (unsigned)start, &next));
            assert_false(mig_occupy(s, (unsigned)start, &next));
            assert_int_equal(__builtin_popcount(next & 0xff), __builtin_popcount(ours & 0xff) + s->size);
            assert_true(mig_count_placements(f, next) < mig_count_placements(f, ours));
            mig_vacate(s, (unsigned)start, &next);
            assert_int_equal(next, ours);
            next |= mig_extent(s, (unsigned)start);
            next_sum.slots += s->size;
        } else {
            assert_int_equal(most_of(s, ours), 0);
        }
        if (lowest != 0) {
            assert_true(mig_occupy(s, (unsigned)__builtin_ctz(lowest), &next_first));
            next_sum.slots_first += s->size;
        }
        serve(f, depth - 1, next, next_first, next_sum, total);
    }
}

static void choose_start__all_sequences_of_five_requests__never_overlaps_and_serves_more(void **state)
{
    for (size_t i = 0; mig_families[i] != NULL; i++) {
        struct served total = {0};

        serve(mig_families[i], mig_families[i] == family("a100-40gb") ? 5 : 4, 0, 0, (struct served){0}, &total);
        assert_true(total.slots >= total.slots_first);
        if (mig_families[i]->slice_n == 7) {
            assert_true(total.slots > total.slots_first);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile__text_of_the_tables__reads_back_the_same),
        cmocka_unit_test(profile__every_number__has_a_text_of_its_own),
        cmocka_unit_test(profile__not_of_the_form__none),
        cmocka_unit_test(family_of__names_of_cards__the_right_table_or_none),
        cmocka_unit_test(layouts__every_family__never_want_more_compute_than_there_is),
        cmocka_unit_test(count_room__every_layout_of_every_family__equals_exhaustive_search),
        cmocka_unit_test(families__seven_slices__are_cut_alike),
        cmocka_unit_test(a100_40__one_profile_only__seven_1g_three_2g_never_four),
        cmocka_unit_test(profile_facts__compute_and_maximum__by_family),
        cmocka_unit_test(choose_start__known_situations__what_large_instances_need_stays_free),
        cmocka_unit_test(choose_start__all_sequences_of_five_requests__never_overlaps_and_serves_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
