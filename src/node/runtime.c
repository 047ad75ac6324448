#include "node/runtime.h"

#include <stddef.h>
#include <stdint.h>

#define VERSION_PARTS 3

/* "v2.4.2-rc.1" is 2, 4, 2. A version that is not finished yet counts as finished. False: that is no version. */
static bool read_version(struct str version, uint64_t ret[VERSION_PARTS])
{
    struct str rest = str_starts(version, STR("v")) ? str_drop(version, 1) : version;
    struct str part;

    for (size_t i = 0; i < VERSION_PARTS; i++) {
        size_t n;

        if (!str_split(&rest, '.', &part)) {
            return i == 2; /* "2.1" */
        }
        n = str_span(part, STR_DIGITS);
        ret[i] = 0;
        if (!str_to_u64((struct str){part.p, n}, UINT32_MAX, &ret[i]) || (n < part.n && i < VERSION_PARTS - 1)) {
            return false;
        }
    }
    return true;
}

static enum runtime_cdi of_containerd(const uint64_t v[VERSION_PARTS])
{
    if (v[0] > 2 || (v[0] == 2 && v[1] >= 1)) {
        return RUNTIME_CDI_INJECTED;
    }
    return v[0] == 1 && v[1] == 7 && v[2] >= 30 ? RUNTIME_CDI_IF_ENABLED : RUNTIME_CDI_IGNORED;
}

enum runtime_cdi runtime_cdi_of(struct str name, struct str version)
{
    uint64_t v[VERSION_PARTS] = {0};

    if (!read_version(version, v)) {
        return RUNTIME_CDI_IGNORED;
    }
    if (str_eq(name, STR("containerd"))) {
        return of_containerd(v);
    }
    if (str_eq(name, STR("cri-o"))) {
        return v[0] > 1 || (v[0] == 1 && v[1] >= 34) ? RUNTIME_CDI_INJECTED : RUNTIME_CDI_IGNORED;
    }
    return RUNTIME_CDI_IGNORED;
}

bool runtime_start_can_fail(struct str name)
{
    return str_eq(name, STR("containerd"));
}
