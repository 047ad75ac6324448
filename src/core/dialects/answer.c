/* What fgpu writes into a pod, and what an unbound pod carries of an earlier answer: a restored pod does, or a copy of
 * a running one. */
#include "core/dialects/dialect.h"
#include "core/record/assignment.h"

#include <string.h>

/* ---- the answer ---- */

#define ANSWER_PARTS_MAX 3 /* fgpu's own record, that of the dialect, the hand-off */

static int join(const struct kv_list *parts, size_t part_n, struct arena *a, struct kv_list *ret, struct err *reterr)
{
    size_t n = 0;
    struct kv *items;

    for (size_t i = 0; i < part_n; i++) {
        n += parts[i].n;
    }
    items = ARENA_ARRAY(a, n, struct kv);
    if (items == NULL) {
        return assignment_no_memory(reterr);
    }
    *ret = (struct kv_list){.items = items, .n = n};
    for (size_t i = 0; i < part_n; i++) {
        if (parts[i].n > 0) {
            memcpy(items, parts[i].items, parts[i].n * sizeof(*items));
        }
        items += parts[i].n;
    }
    return 0;
}

/* That in which the pod asked; native where nobody knows. */
static const struct dialect *dialect_of(const struct assignment *as)
{
    const struct dialect *d = dialect_find(str_of(as->dialect));

    return d == NULL ? &dialect_native : d;
}

int dialect_answer(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr)
{
    const struct dialect *d = dialect_of(as);
    const struct dialect *handing_off = d->hand_off == NULL ? &dialect_native : d;
    struct kv_list parts[ANSWER_PARTS_MAX];
    size_t n = 0;
    int rc = dialect_native.format_assignment(as, a, &parts[n++], reterr);

    if (rc == 0 && d != &dialect_native && d->format_assignment != NULL) {
        rc = d->format_assignment(as, a, &parts[n++], reterr);
    }
    if (rc == 0) {
        rc = handing_off->hand_off(as, a, &parts[n++], reterr);
    }
    return rc == 0 ? join(parts, n, a, ret, reterr) : rc;
}

/* ---- of an earlier answer ---- */

bool dialect_leftovers(struct kv_list annotations, struct arena *a, struct str *ret)
{
    size_t bytes = 0;
    char *to, *text;

    for (size_t i = 0; i < annotations.n; i++) {
        bytes += dialect_writes_key(annotations.items[i].key) ? annotations.items[i].key.n + 1 : 0;
    }
    *ret = STR_NULL;
    if (bytes == 0) {
        return true;
    }
    text = to = arena_alloc(a, bytes);
    if (to == NULL) {
        return false;
    }
    for (size_t i = 0; i < annotations.n; i++) {
        if (dialect_writes_key(annotations.items[i].key)) {
            (void)str_put(&to, annotations.items[i].key);
            *to++ = '\n';
        }
    }
    *ret = (struct str){text, bytes};
    return true;
}

static struct str take_line(struct str *text)
{
    const char *end = memchr(text->p, '\n', text->n);
    const struct str line = {text->p, end == NULL ? text->n : (size_t)(end - text->p)};

    *text = str_drop(*text, line.n + (end != NULL));
    return line;
}

int dialect_blank(struct kv_list *list, struct str leftovers, struct arena *a, struct err *reterr)
{
    size_t n = list->n, most = list->n;
    struct kv *items;

    for (size_t i = 0; i < leftovers.n; i++) {
        most += leftovers.p[i] == '\n';
    }
    if (most == list->n) {
        return 0;
    }
    items = ARENA_ARRAY(a, most, struct kv);
    if (items == NULL) {
        return assignment_no_memory(reterr);
    }
    if (n > 0) {
        memcpy(items, list->items, n * sizeof(*items));
    }
    while (leftovers.n > 0) {
        const struct str key = take_line(&leftovers);

        if (kv_find(*list, key) == NULL) {
            items[n++] = (struct kv){arena_str(a, key), STR("")};
        }
    }
    *list = (struct kv_list){items, n};
    return a->overflowed ? assignment_no_memory(reterr) : 0;
}
