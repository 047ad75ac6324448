#include "model/qos.h"

#include "base/bug.h"

static const char *const names[QOS__MAX] = {
    [QOS_FIXED_SHARE] = "fixed-share",
    [QOS_BEST_EFFORT] = "best-effort",
    [QOS_EQUAL_SHARE] = "equal-share",
};

const char *qos_name(enum qos q)
{
    BUG_ON((unsigned)q >= QOS__MAX);
    return names[q];
}

bool qos_parse(struct str text, enum qos *ret)
{
    for (unsigned q = 0; q < QOS__MAX; q++) {
        if (str_eq_cstr(text, names[q])) {
            *ret = (enum qos)q;
            return true;
        }
    }
    return false;
}
