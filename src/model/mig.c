#include "model/mig.h"

#include "base/bug.h"
#include "base/compiler.h"

#include <string.h>

/* ---- profiles ---- */

/* Digits without a leading zero, at most `max`. */
static bool take_number(struct str *s, unsigned max, unsigned *ret)
{
    size_t n = 0;
    uint64_t v;

    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') {
        n++;
    }
    if (n == 0 || s->p[0] == '0' || !str_to_u64((struct str){s->p, n}, max, &v)) {
        return false;
    }
    *s = str_drop(*s, n);
    *ret = (unsigned)v;
    return true;
}

static bool take_text(struct str *s, struct str text)
{
    if (!str_starts(*s, text)) {
        return false;
    }
    *s = str_drop(*s, text.n);
    return true;
}

static uint16_t parse(struct str text, struct str media)
{
    unsigned compute = 0, slices, gb;

    if (!take_number(&text, 7, &slices)) {
        return MIG_NO_PROFILE;
    }
    if (take_text(&text, STR("c."))) {
        compute = slices;
        if (!take_number(&text, 7, &slices)) {
            return MIG_NO_PROFILE;
        }
    }
    if (!take_text(&text, STR("g.")) || !take_number(&text, MIG_GB_MAX, &gb) || !take_text(&text, STR("gb")) ||
        (compute != 0 && compute != slices)) {
        return MIG_NO_PROFILE;
    }
    if (text.n == 0) {
        return MIG_PROFILE(slices, gb);
    }
    return str_eq(text, media) ? MIG_PROFILE(slices, gb) | MIG_ME : MIG_NO_PROFILE;
}

uint16_t mig_profile_parse(struct str text)
{
    return parse(text, STR("+me"));
}

uint16_t mig_profile_of_resource(struct str name)
{
    return take_text(&name, STR(MIG_RESOURCE_PREFIX)) ? parse(name, STR(".me")) : MIG_NO_PROFILE;
}

const char *mig_profile_text(uint16_t profile, char buf[MIG_PROFILE_BYTES_MAX])
{
    char digits[4];
    size_t n = 0, at = 0;

    for (unsigned gb = profile & MIG_GB_MAX; gb > 0; gb /= 10) {
        digits[n++] = (char)('0' + gb % 10);
    }
    buf[at++] = (char)('0' + mig_profile_slices(profile));
    buf[at++] = 'g';
    buf[at++] = '.';
    while (n > 0) {
        buf[at++] = digits[--n];
    }
    memcpy(&buf[at], mig_profile_has_media(profile) ? "gb+me" : "gb\0\0\0", sizeof("gb+me"));
    return buf;
}

/* ---- families ---- */

const struct mig_shape *mig_shape_find(const struct mig_family *f, uint16_t profile)
{
    for (size_t i = 0; i < f->shape_n; i++) {
        if (f->shapes[i].profile == profile) {
            return &f->shapes[i];
        }
    }
    return NULL;
}

unsigned mig_profile_max(uint16_t profile)
{
    unsigned max = 0;

    for (size_t i = 0; mig_families[i] != NULL; i++) {
        const struct mig_shape *s = mig_shape_find(mig_families[i], profile);

        max = s != NULL && s->max > max ? s->max : max;
    }
    return max;
}

int32_t mig_profile_milli(uint16_t profile)
{
    unsigned of = 7;

    for (size_t i = 0; mig_families[i] != NULL; i++) {
        if (mig_shape_find(mig_families[i], profile) != NULL) {
            of = mig_families[i]->slice_n;
            break;
        }
    }
    return (int32_t)(mig_profile_slices(profile) * 1000 / of);
}

/* ---- slots ---- */

uint8_t mig_free_starts(const struct mig_shape *s, uint16_t occupied)
{
    unsigned starts = 0;

    for (unsigned start = 0; start < MIG_SLOTS_MAX; start++) {
        if ((s->starts >> start & 1) != 0 && (mig_extent(s, start) & occupied) == 0) {
            starts |= 1U << start;
        }
    }
    return (uint8_t)starts;
}

bool mig_occupy(const struct mig_shape *s, unsigned start, uint16_t *occupied)
{
    if (start >= MIG_SLOTS_MAX || (mig_free_starts(s, *occupied) >> start & 1) == 0) {
        return false;
    }
    *occupied |= mig_extent(s, start);
    return true;
}

void mig_vacate(const struct mig_shape *s, unsigned start, uint16_t *occupied)
{
    BUG_ON((mig_extent(s, start) & ~*occupied) != 0);
    *occupied &= (uint16_t)~mig_extent(s, start);
}

unsigned mig_count_placements(const struct mig_family *f, uint16_t occupied)
{
    unsigned n = 0;

    for (size_t i = 0; i < f->shape_n; i++) {
        n += (unsigned)__builtin_popcount(mig_free_starts(&f->shapes[i], occupied));
    }
    return n;
}

int mig_choose_start(const struct mig_family *f, const struct mig_shape *s, uint16_t occupied)
{
    unsigned most = 0;
    int best = -1;

    for (unsigned left = mig_free_starts(s, occupied); left != 0; left &= left - 1) {
        unsigned start = (unsigned)__builtin_ctz(left);
        unsigned n = mig_count_placements(f, occupied | mig_extent(s, start));

        if (best < 0 || n >= most) {
            best = (int)start;
            most = n;
        }
    }
    return best;
}

unsigned mig_count_free(const struct mig_shape *s, uint16_t occupied)
{
    unsigned n = 0;

    /* Starts of one shape are as far apart as it is large, or further: the lowest first is the
     * most. */
    for (unsigned start = 0; start < MIG_SLOTS_MAX; start++) {
        n += mig_occupy(s, start, &occupied);
    }
    return n;
}
