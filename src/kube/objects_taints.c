/* Taints of nodes, and what pods tolerate. */
#include "objects_internal.h"

#include <stddef.h>

static const struct kube_word taint_effects[] = {
    {STR("NoSchedule"), TAINT_NO_SCHEDULE}, {STR("NoExecute"), TAINT_NO_EXECUTE}, {STR_NULL, TAINT_OTHER}};

static const struct kube_field taint_fields[] = {
    {STR("key"), kube_decode_text, offsetof(struct taint, key)},
    {STR("value"), kube_decode_text, offsetof(struct taint, value)},
    {STR("effect"), .offset = offsetof(struct taint, effect), .words = taint_effects},
    {STR_NULL},
};

bool kube_decode_taints(struct json_reader *r, void *at)
{
    struct node *node = at;
    node->taints = kube_decode_array(r, taint_fields, sizeof(*node->taints), &node->taint_n);
    return !json_failed(r);
}

static const struct kube_word toleration_effects[] = {
    {STR(""), TOLERATES_ALL},
    {STR("NoSchedule"), TOLERATES_NO_SCHEDULE},
    {STR("NoExecute"), TOLERATES_NO_EXECUTE},
    {STR_NULL, TOLERATES_OTHER},
};

static const struct kube_word operators[] = {
    {STR(""), TOLERATION_EQUAL}, /* the default of core/v1 */
    {STR("Equal"), TOLERATION_EQUAL}, {STR("Exists"), TOLERATION_EXISTS}, {STR("Lt"), TOLERATION_LESS},
    {STR("Gt"), TOLERATION_GREATER},  {STR_NULL, TOLERATION_NEVER},
};

/* Without an operator it is Equal, without an effect it tolerates all of them: their zeros. */
static const struct kube_field toleration_fields[] = {
    {STR("key"), kube_decode_text, offsetof(struct toleration, key)},
    {STR("operator"), .offset = offsetof(struct toleration, operator_), .words = operators},
    {STR("value"), kube_decode_text, offsetof(struct toleration, value)},
    {STR("effect"), .offset = offsetof(struct toleration, effect), .words = toleration_effects},
    {STR_NULL},
};
_Static_assert(TOLERATION_EQUAL == 0 && TOLERATES_ALL == 0 && TAINT_OTHER == 0, "what a field that is absent means");

bool kube_decode_tolerations(struct json_reader *r, void *at)
{
    struct pod *pod = at;
    pod->tolerations = kube_decode_array(r, toleration_fields, sizeof(*pod->tolerations), &pod->toleration_n);
    return !json_failed(r);
}
