#include "core/request/toleration.h"

#include "base/bug.h"

#include <stdlib.h>

/* As upstream's IsDecimalInteger and ParseInt: the one way to write a number, or none. */
static bool read_number(struct str text, int64_t *ret)
{
    bool negative = str_starts(text, STR("-"));
    struct str digits = str_drop(text, negative);
    uint64_t magnitude;

    if (digits.n == 0 || (digits.p[0] == '0' && text.n > 1) ||
        !str_to_u64(digits, (uint64_t)INT64_MAX + negative, &magnitude)) {
        return false;
    }
    *ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

static bool values_compare(struct str tolerated, struct str taint, bool less)
{
    int64_t limit, value;

    return read_number(tolerated, &limit) && read_number(taint, &value) && (less ? value < limit : value > limit);
}

static bool keeps_off(const struct taint *t)
{
    return t->effect == TAINT_NO_SCHEDULE || t->effect == TAINT_NO_EXECUTE;
}

static bool effect_matches(enum toleration_effect tolerated, enum taint_effect effect)
{
    switch (tolerated) {
    case TOLERATES_ALL:
        return true;
    case TOLERATES_NO_SCHEDULE:
        return effect == TAINT_NO_SCHEDULE;
    case TOLERATES_NO_EXECUTE:
        return effect == TAINT_NO_EXECUTE;
    case TOLERATES_OTHER:
        return false; /* which words it has in common with the taint nobody asks: neither keeps pods off */
    }
    return false;
}

static bool toleration_matches(const struct toleration *t, const struct taint *taint)
{
    if (!effect_matches(t->effect, taint->effect) || (t->key.n > 0 && !str_eq(t->key, taint->key))) {
        return false;
    }
    switch (t->operator_) {
    case TOLERATION_EQUAL:
        return str_eq(t->value, taint->value);
    case TOLERATION_EXISTS:
        return true;
    case TOLERATION_LESS:
    case TOLERATION_GREATER:
        return values_compare(t->value, taint->value, t->operator_ == TOLERATION_LESS);
    case TOLERATION_NEVER:
        return false;
    }
    return false;
}

bool toleration_admits(const struct toleration *tolerations, size_t toleration_n, const struct taint *taints,
                       size_t taint_n)
{
    for (size_t i = 0; i < taint_n; i++) {
        size_t j = 0;

        if (!keeps_off(&taints[i])) {
            continue;
        }
        while (j < toleration_n && !toleration_matches(&tolerations[j], &taints[i])) {
            j++;
        }
        if (j == toleration_n) {
            return false;
        }
    }
    return true;
}

bool taints_of_node(const struct node *node, struct arena *a, const struct taint **ret, size_t *ret_n)
{
    struct taint *taints = ARENA_ARRAY(a, node->taint_n + 1, struct taint);
    size_t n = 0;

    if (taints == NULL) {
        return false;
    }
    for (size_t i = 0; i < node->taint_n; i++) {
        if (keeps_off(&node->taints[i])) {
            taints[n++] = node->taints[i];
        }
    }
    if (node->unschedulable) {
        taints[n++] = (struct taint){.key = STR(TAINT_CORDON_KEY), .effect = TAINT_NO_SCHEDULE};
    }
    *ret = taints;
    *ret_n = n;
    return true;
}

/* ---- copies ---- */

static bool matters(const struct toleration *t)
{
    return t->effect != TOLERATES_OTHER && t->operator_ != TOLERATION_NEVER;
}

bool taints_equal(const struct taint *a, size_t a_n, const struct taint *b, size_t b_n)
{
    bool equal = a_n == b_n;

    for (size_t i = 0; equal && i < a_n; i++) {
        equal = a[i].effect == b[i].effect && str_eq(a[i].key, b[i].key) && str_eq(a[i].value, b[i].value);
    }
    return equal;
}

bool tolerations_equal(const struct toleration *a, size_t a_n, const struct toleration *b, size_t b_n)
{
    bool equal = a_n == b_n;

    for (size_t i = 0; equal && i < a_n; i++) {
        equal = a[i].operator_ == b[i].operator_ && a[i].effect == b[i].effect && str_eq(a[i].key, b[i].key) &&
                str_eq(a[i].value, b[i].value);
    }
    return equal;
}

void taints_replace(struct taint **list, size_t *list_n, const struct taint *taints, size_t n)
{
    size_t bytes = 0;
    struct taint *copy = NULL;
    char *at;

    if (taints_equal(*list, *list_n, taints, n)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bytes += taints[i].key.n + taints[i].value.n;
    }
    if (n > 0) {
        copy = xmalloc(n * sizeof(*copy) + bytes);
        at = (char *)(copy + n);
        for (size_t i = 0; i < n; i++) {
            copy[i] = (struct taint){str_put(&at, taints[i].key), str_put(&at, taints[i].value), taints[i].effect};
        }
    }
    free(*list);
    *list = copy;
    *list_n = n;
}

void tolerations_replace(struct toleration **list, size_t *list_n, const struct toleration *tolerations, size_t n)
{
    size_t bytes = 0, kept = 0;
    struct toleration *copy = NULL;
    char *at;

    if (tolerations_equal(*list, *list_n, tolerations, n)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        bytes += tolerations[i].key.n + tolerations[i].value.n;
        kept += matters(&tolerations[i]);
    }
    if (kept > TOLERATIONS_MAX || bytes > TOLERATIONS_BYTES_MAX) {
        kept = 0;
    }
    if (kept > 0) {
        copy = xmalloc(kept * sizeof(*copy) + bytes);
        at = (char *)(copy + kept);
        kept = 0;
        for (size_t i = 0; i < n; i++) {
            const struct toleration *t = &tolerations[i];

            if (matters(t)) {
                copy[kept++] =
                    (struct toleration){str_put(&at, t->key), str_put(&at, t->value), t->operator_, t->effect};
            }
        }
    }
    free(*list);
    *list = copy;
    *list_n = kept;
}
