#include "config/slot.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "config/describe.h"
#include "config/schema_internal.h"

#include <stdlib.h>
#include <string.h>

struct config_slot {
    struct mutex lock; /* of the rest */
    const struct config *config;
    const char *path;
    struct config_status status;
};

const char *config_outcome_name(enum config_outcome o)
{
    static const char *const names[CONFIG_OUTCOME__MAX] = {
        [CONFIG_IN_EFFECT] = "in_effect",         [CONFIG_UNCHANGED] = "unchanged", [CONFIG_WAITING] = "waiting",
        [CONFIG_NEEDS_RESTART] = "needs_restart", [CONFIG_INVALID] = "invalid",
    };

    BUG_ON(o >= CONFIG_OUTCOME__MAX);
    return names[o];
}

static void show(struct config_slot *s, const struct config *c, int64_t at_ms)
{
    s->config = c;
    memcpy(s->status.hash, c->hash, sizeof(s->status.hash));
    s->status.generation = c->generation;
    s->status.since_ms = at_ms;
}

struct config_slot *config_slot_new(const struct config *first, const char *path, int64_t at_ms)
{
    struct config_slot *s = xcalloc(1, sizeof(*s));

    mutex_init(&s->lock, "config slot");
    s->path = path;
    show(s, first, at_ms);
    return s;
}

void config_slot_free(struct config_slot *s)
{
    if (s != NULL) {
        config_free(s->config);
        mutex_destroy(&s->lock);
        free(s);
    }
}

const struct config *config_slot_take(struct config_slot *s)
{
    const struct config *c;

    mutex_lock(&s->lock);
    c = config_ref(s->config);
    mutex_unlock(&s->lock);
    return c;
}

void config_slot_set(struct config_slot *s, const struct config *next, int64_t at_ms)
{
    const struct config *before;

    mutex_lock(&s->lock);
    before = s->config;
    show(s, next, at_ms);
    mutex_unlock(&s->lock);
    config_free(before);
}

void config_slot_record(struct config_slot *s, const struct config_attempt *a)
{
    mutex_lock(&s->lock);
    s->status.attempted = true;
    s->status.last = *a;
    mutex_unlock(&s->lock);
}

void config_slot_status(struct config_slot *s, struct config_status *ret)
{
    mutex_lock(&s->lock);
    *ret = s->status;
    mutex_unlock(&s->lock);
}

/* ---- /configz ---- */

struct origins {
    const struct config *config;
    struct json_writer *w;
};

static void write_origin(void *ctx, const struct schema_field *row, const char *key)
{
    struct origins *o = ctx;
    struct strbuf text;

    (void)row;
    strbuf_init(&text, 8192); /* a path and two numbers */
    config_origin_text(o->config, str_of(key), &text);
    json_write_key(o->w, key);
    json_write_str(o->w, strbuf_view(&text));
    strbuf_fini(&text);
}

static void write_time(struct json_writer *w, const char *key, int64_t at_ms)
{
    char text[CLOCK_RFC3339_MAX];

    json_write_kv_cstr(w, key, clock_rfc3339(at_ms, text));
}

static void write_attempt(struct json_writer *w, const struct config_attempt *a)
{
    json_write_object_begin(w);
    write_time(w, "at", a->at_ms);
    json_write_kv_cstr(w, "outcome", config_outcome_name(a->outcome));
    json_write_kv_cstr(w, "hash", a->hash);
    if (a->outcome == CONFIG_NEEDS_RESTART) {
        json_write_kv_cstr(w, "needsRestart", a->restart_keys);
    }
    json_write_object_end(w);
}

void config_slot_write(struct config_slot *s, struct json_writer *w)
{
    struct config_status status;
    struct origins origins = {.w = w};

    mutex_lock(&s->lock); /* both of one moment */
    origins.config = config_ref(s->config);
    status = s->status;
    mutex_unlock(&s->lock);
    json_write_object_begin(w);
    json_write_key(w, "componentconfig");
    config_describe(origins.config, w);
    json_write_kv_cstr(w, "file", s->path);
    json_write_kv_cstr(w, "hash", status.hash);
    json_write_kv_i64(w, "generation", (int64_t)status.generation);
    write_time(w, "since", status.since_ms);
    json_write_kv_cstr(w, "lastError", status.last.outcome == CONFIG_INVALID ? status.last.error : NULL);
    json_write_key(w, "lastReload");
    if (status.attempted) {
        write_attempt(w, &status.last);
    } else {
        json_write_null(w);
    }
    json_write_key(w, "origins");
    json_write_object_begin(w);
    schema_each_key(write_origin, &origins);
    json_write_object_end(w);
    json_write_object_end(w);
    config_free(origins.config);
}
