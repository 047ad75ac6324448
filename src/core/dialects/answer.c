/* What fgpu writes into a pod, and what an unbound pod carries that has to be overwritten: of an earlier answer, as a
 * restored pod does, or a copy of a running one; and the plugins that it requires of the container runtime. */
#include "core/dialects/answer_internal.h"
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

/* ---- what an unbound pod carries ---- */

#define CARRIED_BYTES_MAX (2 * 262144) /* more than the annotations of a pod and what is added to them */

bool dialect_leftovers(struct kv_list annotations, struct arena *a, struct str *ret)
{
    struct strbuf text;
    bool fits;

    strbuf_init(&text, CARRIED_BYTES_MAX);
    for (size_t i = 0; i < annotations.n; i++) {
        const struct kv *at = &annotations.items[i];
        const bool plugins = is_required_plugins_key(at->key);

        if (!plugins && !dialect_writes_key(at->key)) {
            continue;
        }
        strbuf_add_str(&text, at->key);
        if (plugins) {
            strbuf_add_char(&text, ' ');
            add_agent_to_plugins(at->value, &text);
        }
        strbuf_add_char(&text, '\n');
    }
    *ret = text.n > 0 ? arena_str(a, strbuf_view(&text)) : STR_NULL;
    fits = !text.overflowed && !a->overflowed;
    strbuf_fini(&text);
    return fits;
}

/* A line is a key, or a key, a blank, and its new value. */
static struct kv take_line(struct str *text, bool *ret_valued)
{
    struct kv kv = {STR_NULL, STR("")};
    struct str line = STR_NULL;
    const char *blank;

    (void)str_split(text, '\n', &line);
    blank = memchr(line.p, ' ', line.n);
    *ret_valued = blank != NULL;
    kv.key = blank == NULL ? line : (struct str){line.p, (size_t)(blank - line.p)};
    kv.value = blank == NULL ? kv.value : str_drop(line, kv.key.n + 1);
    return kv;
}

/* The list with room for every line of `leftovers` and one more. */
static struct kv *with_room(const struct kv_list *list, struct str leftovers, struct arena *a)
{
    size_t most = list->n + 1;
    struct kv *items;

    for (size_t i = 0; i < leftovers.n; i++) {
        most += leftovers.p[i] == '\n';
    }
    items = ARENA_ARRAY(a, most, struct kv);
    if (items != NULL && list->n > 0) {
        memcpy(items, list->items, list->n * sizeof(*items));
    }
    return items;
}

int dialect_blank(struct kv_list *list, struct str leftovers, bool of_others, struct arena *a, struct err *reterr)
{
    size_t n = list->n;
    struct kv *items;

    if (leftovers.n == 0) {
        return 0;
    }
    items = with_room(list, leftovers, a);
    if (items == NULL) {
        return assignment_no_memory(reterr);
    }
    while (leftovers.n > 0) {
        bool valued;
        const struct kv line = take_line(&leftovers, &valued);

        if (!valued && (of_others || str_starts(line.key, str_of(dialect_native.domain))) &&
            kv_find(*list, line.key) == NULL) {
            items[n++] = (struct kv){arena_str(a, line.key), STR("")};
        }
    }
    *list = (struct kv_list){items, n};
    return a->overflowed ? assignment_no_memory(reterr) : 0;
}

int dialect_require_agent(struct kv_list *list, struct str leftovers, struct arena *a, struct err *reterr)
{
    size_t n = list->n;
    struct kv *items = with_room(list, leftovers, a);

    if (items == NULL) {
        return assignment_no_memory(reterr);
    }
    while (leftovers.n > 0) {
        bool valued;
        const struct kv line = take_line(&leftovers, &valued);

        if (valued) {
            items[n++] = (struct kv){arena_str(a, line.key), arena_str(a, line.value)};
        }
    }
    *list = (struct kv_list){items, n};
    if (kv_find(*list, STR(REQUIRED_PLUGINS_KEY)) == NULL) {
        items[list->n++] = (struct kv){STR(REQUIRED_PLUGINS_KEY), STR("[\"" FGPU_NODE_PLUGIN "\"]")};
    }
    return a->overflowed ? assignment_no_memory(reterr) : 0;
}
