/* What an unbound pod carries of an earlier answer: a restored pod, or a copy of a running one. */
#include "core/record/assignment.h"

#include <string.h>

bool assignment_writes_key(struct str key)
{
    static const char *const per_container[] = {ASSIGNMENT_VISIBLE_KEY, ASSIGNMENT_PERCENTAGE_KEY,
                                                ASSIGNMENT_MEM_LIMIT_KEY};

    for (size_t i = 0; i < ARRAY_LEN(per_container); i++) {
        struct str rest = str_drop(key, str_of(per_container[i]).n);

        if (str_starts(key, str_of(per_container[i])) && (rest.n == 0 || rest.p[0] == '.')) {
            return true;
        }
    }
    return str_eq_cstr(key, ASSIGNMENT_KEY);
}

bool assignment_leftovers(struct kv_list annotations, struct arena *a, struct str *ret)
{
    size_t bytes = 0;
    char *to, *text;

    for (size_t i = 0; i < annotations.n; i++) {
        bytes += assignment_writes_key(annotations.items[i].key) ? annotations.items[i].key.n + 1 : 0;
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
        if (assignment_writes_key(annotations.items[i].key)) {
            memcpy(to, annotations.items[i].key.p, annotations.items[i].key.n);
            to += annotations.items[i].key.n;
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

int assignment_blank(struct kv_list *list, struct str leftovers, struct arena *a, struct err *reterr)
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
        return err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": out of memory for this request");
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
    return a->overflowed ? err_set(reterr, ERR_LIMIT, "annotation " ASSIGNMENT_KEY ": out of memory for this request") : 0;
}
