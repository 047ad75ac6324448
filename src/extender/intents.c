#include "extender/intents.h"

#include "base/bug.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void intents_init(struct intents *l)
{
    *l = (struct intents){0};
}

void intents_fini(struct intents *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].text);
    }
    free(l->items);
    *l = (struct intents){0};
}

void intents_move(struct intents *to, struct intents *from)
{
    intents_fini(to);
    *to = *from;
    *from = (struct intents){0};
}

void intents_add(struct intents *l, const struct intent *i)
{
    char *text = xmalloc(i->uid.n + i->namespace_.n + i->name.n + i->decider.n + 1), *at = text;
    struct intent *into;

    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 8 : 2 * l->cap;
        l->items = xreallocarray(l->items, l->cap, sizeof(*l->items));
    }
    into = &l->items[l->n++];
    *into = *i;
    into->text = text;
    into->uid = str_put(&at, i->uid);
    into->namespace_ = str_put(&at, i->namespace_);
    into->name = str_put(&at, i->name);
    into->decider = str_put(&at, i->decider);
}

void intents_write(const struct intents *l, struct strbuf *out)
{
    for (size_t k = 0; k < l->n; k++) {
        const struct intent *i = &l->items[k];

        strbuf_add_str(out, i->uid);
        strbuf_add_char(out, ' ');
        strbuf_add_str(out, i->namespace_);
        strbuf_add_char(out, '/');
        strbuf_add_str(out, i->name);
        strbuf_addf(out, " %" PRIu64 " ", i->version);
        strbuf_add_str(out, i->decider);
        strbuf_add_char(out, '\n');
    }
}

static bool read_line(struct str line, struct intent *ret)
{
    struct str version = STR_NULL;

    *ret = (struct intent){0};
    return str_split(&line, ' ', &ret->uid) && str_split(&line, '/', &ret->namespace_) &&
           str_split(&line, ' ', &ret->name) && str_split(&line, ' ', &version) &&
           str_split(&line, ' ', &ret->decider) && line.n == 0 && ret->uid.n > 0 && ret->namespace_.n > 0 &&
           ret->name.n > 0 && ret->decider.n > 0 && ret->decider.n < INTENT_DECIDER_BYTES &&
           str_to_u64(version, UINT64_MAX, &ret->version) && ret->version > 0;
}

int intents_read(struct str text, struct intents *ret, struct err *reterr)
{
    struct str line;

    BUG_ON(ret->n > 0);
    while (text.n > 0 && str_split(&text, '\n', &line)) {
        struct intent i;

        if (!read_line(line, &i)) {
            const size_t line_n = ret->n + 1;

            intents_fini(ret);
            return err_set(reterr, ERR_INVALID, "line %zu of the intents is not \"UID NAMESPACE/NAME VERSION DECIDER\"",
                           line_n);
        }
        intents_add(ret, &i);
    }
    return 0;
}

enum intent_sight intent_judge(const struct intent *i, bool is_ours, bool is_open, enum pod_place place,
                               uint64_t place_version)
{
    if (is_ours && is_open) {
        return INTENT_OPEN;
    }
    if (place == POD_PLACE_HERE) {
        return INTENT_BOUND;
    }
    if (is_ours || i->is_gone || place == POD_PLACE_ELSEWHERE) {
        return INTENT_DEAD;
    }
    return place == POD_PLACE_UNBOUND && place_version > i->version ? INTENT_DEAD : INTENT_UNPROVEN;
}

struct intent *intents_unproven(struct intents *l, intent_sight_fn *sight, void *ctx)
{
    for (size_t k = 0; k < l->n; k++) {
        if (sight(ctx, &l->items[k]) == INTENT_UNPROVEN) {
            return &l->items[k];
        }
    }
    return NULL;
}

void intents_keep(const struct intents *l, intent_sight_fn *sight, void *ctx, struct intents *ret)
{
    for (size_t k = 0; k < l->n; k++) {
        if (sight(ctx, &l->items[k]) != INTENT_DEAD) {
            intents_add(ret, &l->items[k]);
        }
    }
}
