#include "config/diff.h"

#include "base/bug.h"
#include "config/schema_internal.h"

/* Room for every key with two values of VALUE_BYTES_MAX. */
#define DIFF_BYTES_MAX (1024 * 1024)
#define LIST_BYTES_MAX (8 * 1024 * 1024) /* 1000 entries of every kind; compared whole */
#define VALUE_BYTES_MAX 1024             /* of what is shown */

struct comparison {
    const struct config *before, *after;
    struct strbuf a, b; /* of the row at hand */
    struct config_diff *diff;
};

const char *config_reload_text(enum config_reload r)
{
    static const char *const texts[] = {[CONFIG_RELOAD_RESTART] = "after a restart",
                                        [CONFIG_RELOAD_NOW] = "at once",
                                        [CONFIG_RELOAD_RELIST] = "after a relist"};
    return texts[r];
}

static void value_text(const struct schema_field *row, const struct config *c, struct strbuf *out)
{
    struct json_writer w;

    strbuf_reset(out);
    if (row->sub == NULL) {
        scalar_format(row, c, out);
        return;
    }
    json_writer_init(&w, out);
    describe_value(row, c, &w);
    BUG_ON(out->overflowed);
}

static struct str shown(struct arena *a, const struct strbuf *value)
{
    return value->n <= VALUE_BYTES_MAX ? arena_str(a, strbuf_view(value))
                                       : arena_printf(a, "%.*s...", VALUE_BYTES_MAX, value->p);
}

static void compare(void *ctx, const struct schema_field *row, const char *key)
{
    struct comparison *c = ctx;
    struct config_diff *d = c->diff;

    value_text(row, c->before, &c->a);
    value_text(row, c->after, &c->b);
    if (!str_eq(strbuf_view(&c->a), strbuf_view(&c->b))) {
        d->changes[d->n++] = (struct config_change){
            .key = arena_str(&d->arena, str_of(key)),
            .before = shown(&d->arena, &c->a),
            .after = shown(&d->arena, &c->b),
            .reload = row->reload,
        };
    }
}

void config_diff(const struct config *before, const struct config *after, struct config_diff *ret)
{
    struct comparison c = {.before = before, .after = after, .diff = ret};

    *ret = (struct config_diff){.n = 0};
    arena_init(&ret->arena, DIFF_BYTES_MAX);
    ret->changes = ARENA_ARRAY(&ret->arena, schema_key_count(), struct config_change);
    BUG_ON(ret->changes == NULL);
    strbuf_init(&c.a, LIST_BYTES_MAX);
    strbuf_init(&c.b, LIST_BYTES_MAX);
    schema_each_key(compare, &c);
    strbuf_fini(&c.a);
    strbuf_fini(&c.b);
    BUG_ON(ret->arena.overflowed);
}

void config_diff_fini(struct config_diff *d)
{
    arena_fini(&d->arena);
}
