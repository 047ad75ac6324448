/* What a time window says: keys of the file that have another value while it is open.
 *
 * They are read by the rows of the schema into a struct config of their own, of which only the
 * noted keys mean anything, and put over a copy of the file's values when the window opens. So
 * whatever the schema lets change in a running process can stand in a window without a line of code
 * for it. */
#include "base/bug.h"
#include "config/schema_internal.h"

#include <string.h>

struct overlay_key {
    const struct schema_field *row;
    struct config_origin origin;
};

struct config_overlay {
    struct config values; /* no arena, no owner: data only */
    struct overlay_key *keys;
    size_t key_n, key_max;
};

/* ---- reading ---- */

static struct config_overlay *overlay_new(struct arena *a)
{
    struct config_overlay *o = ARENA_NEW(a, struct config_overlay);

    if (o == NULL) {
        return NULL;
    }
    o->key_max = schema_key_count();
    o->keys = ARENA_ARRAY(a, o->key_max, struct overlay_key);
    o->values.policy = *policy_defaults();
    return o->keys != NULL ? o : NULL;
}

bool schema_is_cold(const struct schema_field *f)
{
    bool cold = f->type != SCHEMA_SECTION ? f->reload == CONFIG_RELOAD_RESTART : true;

    for (size_t i = 0; f->type == SCHEMA_SECTION && i < f->sub_n; i++) {
        cold = cold && schema_is_cold(&f->sub[i]);
    }
    return cold;
}

void overlay_note(struct decode *c, const struct schema_field *row, const struct yaml_doc_node *n)
{
    struct config_overlay *o = c->overlay;

    if (o == NULL || c->item_depth != c->overlay_depth || row->type == SCHEMA_SECTION) {
        return;
    }
    BUG_ON(schema_is_cold(row));                         /* no section that windows may change has such a key */
    if (!yaml_doc_is_null(n) && o->key_n < o->key_max) { /* more only with duplicates, which are refused */
        struct str path = {c->path + c->overlay_path_n, c->path_n - c->overlay_path_n};

        o->keys[o->key_n++] = (struct overlay_key){
            row, {.key = arena_str(c->arena, path), .line = n->key->pos.line, .column = n->key->pos.column}};
    }
}

void overlay_decode(struct decode *c, const struct schema_field *f, const struct yaml_doc_node *n, void *base)
{
    const struct schema_field *row = schema_find_root(str_of(f->name));
    struct config_window *w = base;
    struct config_overlay *o = (struct config_overlay *)(uintptr_t)w->holds;

    BUG_ON(row == NULL || c->path_n < strlen(f->name));
    if (o == NULL) {
        o = overlay_new(c->arena);
        if (o == NULL) {
            return; /* the arena remembers */
        }
        w->holds = o;
    }
    c->overlay = o;
    c->overlay_depth = c->item_depth;
    c->overlay_path_n = c->path_n - strlen(f->name);
    overlay_note(c, row, n);
    config_decode_value(c, row, n, &o->values);
    c->overlay = NULL;
}

static uint32_t days_of(const struct config_window *w)
{
    uint32_t days = w->day_n == 0 ? WEEKDAYS_ALL : 0;

    for (size_t i = 0; i < w->day_n; i++) {
        days |= w->days[i];
    }
    return days;
}

void overlay_make_timetable(struct config *c)
{
    struct time_window *all = ARENA_ARRAY(&c->arena, c->window_n + 1, struct time_window);

    BUG_ON(all == NULL); /* small, beside what CONFIG_BYTES_MAX can fill */
    for (size_t i = 0; i < c->window_n; i++) {
        const struct config_window *w = &c->windows[i];

        all[i] = (struct time_window){w->name, days_of(w), w->from_min, w->to_min, w->zone};
    }
    c->timetable = (struct timetable){all, c->window_n};
}

/* ---- putting over ---- */

/* Where in items[0..n) an element goes: over the one of its name in a map, else behind them. */
static size_t place_of(const struct schema_field *f, const char *items, size_t n, const char *item)
{
    for (size_t i = 0; f->type == SCHEMA_MAP && i < n; i++) {
        if (str_eq(schema_item_name(f, items + i * f->item_size), schema_item_name(f, item))) {
            return i;
        }
    }
    return n;
}

static void put_items(const struct schema_field *f, const struct config *from, struct config *to)
{
    struct schema_items more = schema_items(f, from), before = schema_items(f, to);
    size_t kept = f->type == SCHEMA_MAP || f->appended ? before.n : 0, n = kept;
    char *items = arena_calloc(&to->arena, kept + more.n + 1, f->item_size);

    if (items == NULL) {
        return; /* the arena remembers */
    }
    if (kept > 0) {
        memcpy(items, before.p, kept * f->item_size);
    }
    for (size_t i = 0; i < more.n; i++) {
        const char *item = more.p + i * f->item_size;
        size_t at = place_of(f, items, n, item);

        memcpy(items + at * f->item_size, item, f->item_size);
        n += at == n;
    }
    memcpy((char *)to + f->offset, &items, sizeof(items));
    memcpy((char *)to + f->offset2, &n, sizeof(n));
}

static void put_over(const struct config_overlay *o, struct config *c)
{
    for (size_t i = 0; i < o->key_n; i++) {
        const struct schema_field *f = o->keys[i].row;

        if (f->type == SCHEMA_LIST || f->type == SCHEMA_MAP) {
            put_items(f, &o->values, c);
        } else {
            scalar_copy(f, &o->values, c);
        }
        config_set_origin(c, &o->keys[i].origin);
    }
}

struct config *config_at(const struct config *c, uint32_t open)
{
    const struct config *file = c->file_values != NULL ? c->file_values : c;
    struct config *made = config_defaults();
    struct config_origin *origins = made->origins;
    const size_t own = offsetof(struct config, file); /* what stands before it is each one's own */

    memcpy((char *)made + own, (const char *)file + own, sizeof(*made) - own);
    memcpy(origins, file->origins, file->origin_n * sizeof(*origins));
    made->origins = origins;
    made->file_values = config_ref(file);
    made->open = open;
    for (size_t i = 0; i < file->window_n; i++) {
        if ((open >> i & 1) != 0 && file->windows[i].holds != NULL) {
            put_over(file->windows[i].holds, made);
        }
    }
    BUG_ON(made->arena.overflowed); /* lists of one file */
    return made;
}

/* ---- showing ---- */

static const struct config_overlay *overlay_of(const struct schema_field *f, const void *base)
{
    const struct config_overlay *o;

    memcpy(&o, (const char *)base + f->offset, sizeof(o));
    return o;
}

static bool says(const struct config_overlay *o, const struct schema_field *row)
{
    for (size_t i = 0; row->type == SCHEMA_SECTION && i < row->sub_n; i++) {
        if (says(o, &row->sub[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < o->key_n; i++) {
        if (o->keys[i].row == row) {
            return true;
        }
    }
    return false;
}

bool overlay_is_given(const struct schema_field *f, const void *base)
{
    const struct config_overlay *o = overlay_of(f, base);

    return o != NULL && says(o, schema_find_root(str_of(f->name)));
}

static void describe_row(const struct config_overlay *o, const struct schema_field *row, struct json_writer *w)
{
    if (row->type != SCHEMA_SECTION) {
        describe_value(row, &o->values, w);
        return;
    }
    json_write_object_begin(w);
    for (size_t i = 0; i < row->sub_n; i++) {
        if (says(o, &row->sub[i])) {
            json_write_key(w, row->sub[i].name);
            describe_row(o, &row->sub[i], w);
        }
    }
    json_write_object_end(w);
}

void overlay_describe(const struct schema_field *f, const void *base, struct json_writer *w)
{
    describe_row(overlay_of(f, base), schema_find_root(str_of(f->name)), w);
}
