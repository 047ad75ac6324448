#include "core/inventory/vgpu_profile.h"

static bool is_model(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = str_fold(s.p[i]);

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '.') {
            return false;
        }
    }
    return s.n > 0;
}

/* One to four digits, the first of them not zero. */
static bool read_size(struct str s, uint64_t *ret)
{
    return s.n > 0 && s.p[0] != '0' && str_to_u64(s, VGPU_PROFILE_GB_MAX, ret);
}

bool vgpu_profile_parse(struct str text, struct vgpu_profile *ret)
{
    struct str rest = text, model, type, size;
    uint64_t n, gb;
    char series;

    if (!str_split(&rest, '-', &model) || !str_split(&rest, '-', &type) || !str_split(&rest, '-', &size) ||
        rest.p != NULL || !is_model(model) || type.n < 2 || size.n < 3) {
        return false;
    }
    series = str_fold(type.p[type.n - 1]);
    if (series != 'q' && series != 'b' && series != 'a' && series != 'c') {
        return false;
    }
    if (!read_size((struct str){type.p, type.n - 1}, &n) || !read_size((struct str){size.p, size.n - 2}, &gb) ||
        !str_ieq(str_drop(size, size.n - 2), STR("GB")) || n != gb) {
        return false;
    }
    *ret = (struct vgpu_profile){model, series, (int64_t)gb * 1024};
    return true;
}
