/* Taints of nodes, and what pods tolerate. */
#include "objects_internal.h"

#include <stddef.h>
#include <string.h>

static enum taint_effect effect_of(struct str word)
{
    return str_eq(word, STR("NoSchedule"))  ? TAINT_NO_SCHEDULE
           : str_eq(word, STR("NoExecute")) ? TAINT_NO_EXECUTE
                                            : TAINT_OTHER;
}

static bool decode_taint_effect(struct json_reader *r, void *at)
{
    struct str word = STR_NULL;
    if (!kube_decode_text(r, &word)) {
        return false;
    }
    *(enum taint_effect *)at = effect_of(word);
    return true;
}

static const struct kube_field taint_fields[] = {
    {STR("key"), kube_decode_text, offsetof(struct taint, key)},
    {STR("value"), kube_decode_text, offsetof(struct taint, value)},
    {STR("effect"), decode_taint_effect, offsetof(struct taint, effect)},
    {STR_NULL},
};

bool kube_decode_taints(struct json_reader *r, void *at)
{
    struct node *node = at;
    node->taints = kube_decode_array(r, taint_fields, sizeof(*node->taints), &node->taint_n);
    return !json_failed(r);
}

static bool decode_toleration_effect(struct json_reader *r, void *at)
{
    static const enum toleration_effect tolerated[] = {
        [TAINT_NO_SCHEDULE] = TOLERATES_NO_SCHEDULE,
        [TAINT_NO_EXECUTE] = TOLERATES_NO_EXECUTE,
        [TAINT_OTHER] = TOLERATES_OTHER,
    };
    struct str word = STR_NULL;
    if (!kube_decode_text(r, &word)) {
        return false;
    }
    *(enum toleration_effect *)at = word.n == 0 ? TOLERATES_ALL : tolerated[effect_of(word)];
    return true;
}

static bool decode_operator(struct json_reader *r, void *at)
{
    static const struct {
        struct str word;
        enum toleration_operator operator_;
    } operators[] = {
        {STR(""), TOLERATION_EQUAL}, /* the default of core/v1 */
        {STR("Equal"), TOLERATION_EQUAL}, {STR("Exists"), TOLERATION_EXISTS},
        {STR("Lt"), TOLERATION_LESS},     {STR("Gt"), TOLERATION_GREATER},
    };
    struct str word = STR_NULL;
    if (!kube_decode_text(r, &word)) {
        return false;
    }
    *(enum toleration_operator *)at = TOLERATION_NEVER;
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        if (str_eq(word, operators[i].word)) {
            *(enum toleration_operator *)at = operators[i].operator_;
        }
    }
    return true;
}

/* Without an operator it is Equal, without an effect it tolerates all of them: their zeros. */
static const struct kube_field toleration_fields[] = {
    {STR("key"), kube_decode_text, offsetof(struct toleration, key)},
    {STR("operator"), decode_operator, offsetof(struct toleration, operator_)},
    {STR("value"), kube_decode_text, offsetof(struct toleration, value)},
    {STR("effect"), decode_toleration_effect, offsetof(struct toleration, effect)},
    {STR_NULL},
};
_Static_assert(TOLERATION_EQUAL == 0 && TOLERATES_ALL == 0 && TAINT_OTHER == 0, "what a field that is absent means");

bool kube_decode_tolerations(struct json_reader *r, void *at)
{
    struct pod *pod = at;
    pod->tolerations = kube_decode_array(r, toleration_fields, sizeof(*pod->tolerations), &pod->toleration_n);
    return !json_failed(r);
}
