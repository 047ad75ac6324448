#include "model/hand_off.h"

#include "base/bug.h"
#include "model/names.h"

#define BYTES(text_) (sizeof(text_) - 1)
#define CONTAINER "container." /* both prefixes end in it */

static const struct {
    const char *name;
    size_t around; /* bytes of the longest key behind its prefix, without the container's name */
} hand_offs[HAND_OFF__MAX] = {
    [HAND_OFF_DOWNWARD_API] = {"downward-api", 0},
    [HAND_OFF_AGENT] = {"agent", 0},
    [HAND_OFF_NVIDIA_CDI] = {"nvidia-cdi", BYTES(CONTAINER)},
    [HAND_OFF_KAI_FRACTIONING] = {"kai-fractioning", BYTES(CONTAINER) + BYTES(HAND_OFF_KAI_PORTION)},
    [HAND_OFF_KAI_SM_SHARING] = {"kai-sm-sharing", BYTES(CONTAINER) + BYTES(HAND_OFF_KAI_PORTION)},
};

const char *hand_off_name(enum hand_off h)
{
    BUG_ON((unsigned)h >= HAND_OFF__MAX);
    return hand_offs[h].name;
}

bool hand_off_parse(struct str text, enum hand_off *ret)
{
    for (unsigned h = 0; h < HAND_OFF__MAX; h++) {
        if (str_eq_cstr(text, hand_offs[h].name)) {
            *ret = (enum hand_off)h;
            return true;
        }
    }
    return false;
}

size_t hand_off_name_bytes_max(enum hand_off h)
{
    BUG_ON((unsigned)h >= HAND_OFF__MAX);
    return KUBE_LABEL_MAX - hand_offs[h].around;
}
