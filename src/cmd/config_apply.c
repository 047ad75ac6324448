#include "cmd/config_apply.h"

#include "base/bug.h"
#include "base/sync.h"
#include "config/diff.h"
#include "config/warnings.h"
#include "core/time/timetable.h"
#include "extender/notices.h"
#include "obs/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config_apply {
    struct config_apply_options o;
    struct mutex lock;            /* of the rest, and for one offer at a time */
    const struct config *waiting; /* what the announced rules belong to; NULL: none */
    bool waiting_is_last;         /* no later file was read since */
    bool rejected;                /* the last file that was read */
    int64_t held_open;            /* config.open of the turn that was held back; -1: none */
    uint64_t generation;          /* of the last configuration that was accepted */
};

/* ---- status ---- */

static bool is_good(enum config_outcome o)
{
    return o != CONFIG_INVALID && o != CONFIG_NEEDS_RESTART;
}

/* Of the hash's 16 hexadecimal digits the first 12, which a Prometheus number holds exactly. */
static int64_t hash_number(const char *hash)
{
    unsigned long long n;

    return sscanf(hash, "%12llx", &n) == 1 && strlen(hash) == CONFIG_HASH_LEN ? (int64_t)n : 0;
}

static void collect_windows(const struct config_apply *c, struct metrics *m)
{
    const struct config *now = config_slot_take(c->o.slot);
    struct timetable_change next = {0};

    (void)timetable_next(&now->timetable, clock_wall_ms(c->o.clock) / 1000, &next);
    metric_set(METRIC(m, FGPU_TIME_WINDOWS_OPEN), __builtin_popcount(now->open));
    metric_set(METRIC(m, FGPU_TIME_WINDOWS_NEXT_CHANGE_TIMESTAMP_SECONDS), next.at_s * 1000);
    config_free(now);
}

static void collect(void *ctx, struct metrics *m)
{
    struct config_apply *c = ctx;
    struct config_status s;

    collect_windows(c, m);

    config_slot_status(c->o.slot, &s);
    metric_set(METRIC(m, FGPU_CONFIG_LAST_RELOAD_SUCCESSFUL), is_good(s.last.outcome));
    metric_set(METRIC(m, FGPU_CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS), s.since_ms);
    metric_set(METRIC(m, FGPU_CONFIG_GENERATION), (int64_t)s.generation);
    metric_set(METRIC(m, FGPU_CONFIG_HASH), hash_number(s.hash));
    metric_set(METRIC(m, FGPU_CONFIG_WAITING), policy_set_is_waiting(c->o.policies));
}

/* What people see on fgpu's own pod: a file that is not in effect, and the next one that is. */
static void log_attempt(struct config_apply *c, const struct config_attempt *a)
{
    char note[ERR_MSG_MAX + 128];

    if (a->outcome == CONFIG_INVALID) {
        snprintf(note, sizeof(note), "The configuration file is not valid; the old one stays: %s", a->error);
        notice_self(c->o.events, EVENT_CONFIG_REJECTED, note);
    } else if (a->outcome == CONFIG_IN_EFFECT || (a->outcome == CONFIG_UNCHANGED && c->rejected)) {
        snprintf(note, sizeof(note), "The configuration with hash %s is in effect", a->hash);
        notice_self(c->o.events, EVENT_CONFIG_RELOADED, note);
    }
    c->rejected = !is_good(a->outcome);
}

static void record(struct config_apply *c, struct config_attempt *a)
{
    log_attempt(c, a);
    a->at_ms = clock_wall_ms(c->o.clock);
    config_slot_record(c->o.slot, a);
    metric_inc(METRIC(c->o.metrics, FGPU_CONFIG_RELOADS_TOTAL, config_outcome_name(a->outcome)));
}

static void record_outcome(struct config_apply *c, const struct config *config, enum config_outcome o)
{
    struct config_attempt a = {.outcome = o};

    memcpy(a.hash, config->hash, sizeof(a.hash));
    record(c, &a);
}

/* ---- life ---- */

struct config_apply *config_apply_new(const struct config_apply_options *o)
{
    struct config_apply *c = xcalloc(1, sizeof(*c));

    c->o = *o;
    c->generation = 1;
    c->held_open = -1;
    mutex_init(&c->lock, "config apply");
    metrics_add_collector(o->metrics, collect, c);
    return c;
}

void config_apply_free(struct config_apply *c)
{
    if (c != NULL) {
        config_free(c->waiting);
        mutex_destroy(&c->lock);
        free(c);
    }
}

/* ---- time windows ---- */

static void add_windows(struct strbuf *out, const char *what, const struct timetable *tt, uint32_t which)
{
    for (size_t i = 0; i < tt->window_n; i++) {
        if ((which >> i & 1) != 0) {
            strbuf_addf(out, "%s%s %.*s", out->n > 0 ? ", " : "", what, STR_ARG(tt->windows[i].name));
        }
    }
}

void config_apply_name_change(const struct timetable *tt, uint32_t before, uint32_t after, struct strbuf *out)
{
    add_windows(out, "opens", tt, after & ~before);
    add_windows(out, "closes", tt, before & ~after);
}

static void tell_turn(struct config_apply *c, const struct config *before, const struct config *after)
{
    struct strbuf change;
    char note[EVENT_NOTE_MAX];

    strbuf_init(&change, sizeof(note) / 2);
    config_apply_name_change(&after->timetable, before->open, after->open, &change);
    snprintf(note, sizeof(note), "Time windows: %s", change.p);
    LOG_INFO(c->o.log, "Time windows change", LOG_STR("change", strbuf_view(&change)));
    notice_self(c->o.events, EVENT_WINDOWS_CHANGED, note);
    metric_inc(METRIC(c->o.metrics, FGPU_TIME_WINDOWS_CHANGES_TOTAL));
    strbuf_fini(&change);
}

/* ---- one offer ---- */

static uint64_t admitted_pools(const struct config_apply *c, const struct policy *p)
{
    return c->o.admitted_pools != NULL ? c->o.admitted_pools(c->o.ctx, p) : 0;
}

static void forget_waiting(struct config_apply *c)
{
    config_free(c->waiting);
    c->waiting = NULL;
}

/* The rules are current; the rest follows. Takes `config` over. */
static void take_effect(struct config_apply *c, const struct config *config)
{
    c->o.apply(c->o.ctx, config);
    LOG_INFO(c->o.log, "The configuration is in effect", LOG_STR("file", config->file), LOG_CSTR("hash", config->hash),
             LOG_I64("generation", (int64_t)config->generation));
    config_slot_set(c->o.slot, config, clock_wall_ms(c->o.clock));
}

static bool any(const struct config_diff *d, enum config_reload reload)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->changes[i].reload == reload) {
            return true;
        }
    }
    return false;
}

/* One that needs a restart holds all of them back. */
static void log_changes(const struct config_apply *c, const struct config_diff *d)
{
    const bool held_back = any(d, CONFIG_RELOAD_RESTART);

    for (size_t i = 0; i < d->n; i++) {
        const struct config_change *x = &d->changes[i];

        LOG_INFO(c->o.log, "Configuration change", LOG_STR("key", x->key), LOG_STR("from", x->before),
                 LOG_STR("to", x->after),
                 LOG_CSTR("applies", config_reload_text(held_back ? CONFIG_RELOAD_RESTART : x->reload)));
    }
}

/* The old configuration stays as a whole. `is_file`: instead of another file; else of what time windows say. */
static void hold_back(struct config_apply *c, const struct config *next, const struct config_diff *d, bool is_file)
{
    const char *what = is_file ? "Nothing of the configuration file takes effect before a restart"
                               : "The time windows stay as they were: what they say now takes effect only after a "
                                 "restart";
    struct config_attempt a = {.outcome = CONFIG_NEEDS_RESTART};
    char note[256 + CONFIG_RESTART_KEYS_MAX];
    struct strbuf keys;

    strbuf_init(&keys, sizeof(a.restart_keys) - 1);
    for (size_t i = 0; i < d->n; i++) {
        if (d->changes[i].reload == CONFIG_RELOAD_RESTART) {
            strbuf_add_cstr(&keys, keys.n > 0 ? ", " : "");
            strbuf_add_str(&keys, d->changes[i].key);
        }
    }
    memcpy(a.restart_keys, keys.p, keys.n);
    strbuf_fini(&keys);
    memcpy(a.hash, next->hash, sizeof(a.hash));
    c->waiting_is_last = false;
    snprintf(note, sizeof(note), "%s: %s", what, a.restart_keys);
    notice_self(c->o.events, EVENT_CONFIG_REJECTED, note);
    record(c, &a);
    LOG_WARNING(c->o.log, what, LOG_STR("file", next->file), LOG_CSTR("hash", next->hash),
                LOG_CSTR("needsRestart", a.restart_keys));
}

static void release_config(void *config)
{
    config_free(config);
}

/* Returns whether both resources must be listed again. Takes `next` over. `is_file`: a file was read, so
 * what becomes of it is told; else the time has come for another part of one. */
static bool take_in(struct config_apply *c, struct config *next, bool relist, bool is_file)
{
    const struct rules *rules = policy_set_take_newest(c->o.policies);
    struct ingest facts = rules->ingest; /* the same but for what the file says */
    struct err err;

    rules_put(rules);
    facts.policy = &next->policy;
    facts.accept_unsigned_before_ms = config_accept_unsigned_before_ms(&next->signing);
    next->generation = ++c->generation;
    (void)config_ref(next);
    /* The reader knows the strategies' names, so this cannot fail. */
    BUG_ON(rules_new(&facts, next->generation, release_config, next, &rules, &err) != 0);
    c->waiting_is_last = is_file || (c->waiting != NULL && c->waiting_is_last);
    c->held_open = -1;
    forget_waiting(c);
    if (!relist) {
        policy_set_publish(c->o.policies, rules);
        if (is_file) {
            record_outcome(c, next, CONFIG_IN_EFFECT);
        }
        take_effect(c, next);
        return false;
    }
    policy_set_announce(c->o.policies, rules);
    c->waiting = next;
    if (is_file) {
        record_outcome(c, next, CONFIG_WAITING);
    }
    LOG_INFO(c->o.log, "The configuration takes effect when pods and nodes have been listed again",
             LOG_STR("file", next->file), LOG_CSTR("hash", next->hash));
    return true;
}

struct config *config_apply_config_at(const struct config *c, int64_t wall_ms)
{
    return config_at(c, timetable_open(&c->timetable, wall_ms / 1000));
}

static void relist_all(const struct config_apply *c)
{
    for (size_t i = 0; i < KUBE_RESOURCE__MAX; i++) {
        c->o.relist(c->o.ctx, (enum kube_resource)i);
    }
}

/* As take_in, but a configuration that says nothing new, or needs a restart, stops here. */
static bool change_to(struct config_apply *c, struct config *next, bool is_file)
{
    const struct config *now = config_slot_take(c->o.slot), *newest = c->waiting != NULL ? c->waiting : now;
    struct config_diff diff;
    bool relist = false, other_pools;

    next->policy.admitted_pools = admitted_pools(c, &next->policy);
    other_pools = now->policy.admitted_pools != next->policy.admitted_pools;
    config_diff(now, next, &diff);
    if (!is_file && newest->open != next->open && !any(&diff, CONFIG_RELOAD_RESTART)) {
        tell_turn(c, newest, next);
    }
    log_changes(c, &diff);
    if (diff.n == 0 && now->open == next->open && !other_pools && c->waiting == NULL &&
        strcmp(now->hash, next->hash) == 0) {
        record_outcome(c, next, CONFIG_UNCHANGED);
        LOG_INFO(c->o.log, "The configuration is unchanged", LOG_STR("file", next->file), LOG_CSTR("hash", next->hash));
        config_free(next);
    } else if (any(&diff, CONFIG_RELOAD_RESTART)) {
        if (!is_file) { /* the reader lets no window say such a key; should it, the cluster goes on as it was */
            c->held_open = next->open;
        }
        hold_back(c, next, &diff, is_file);
        config_free(next);
    } else {
        /* What waits may have been read in part: going back to the old meaning takes a relist too. */
        relist = take_in(c, next, c->waiting != NULL || other_pools || any(&diff, CONFIG_RELOAD_RELIST), is_file);
    }
    config_diff_fini(&diff);
    config_free(now);
    return relist;
}

#define WARNINGS_BYTES_MAX (64 * 1024)

void config_apply_warn(const struct log *log, const struct config *file)
{
    struct strbuf text;
    struct str rest, line;

    strbuf_init(&text, WARNINGS_BYTES_MAX);
    (void)config_warnings(file, &text);
    rest = strbuf_view(&text);
    while (str_split(&rest, '\n', &line)) {
        if (line.n > 0) {
            LOG_WARNING(log, "The configuration is valid, but hardly what is meant", LOG_STR("what", line));
        }
    }
    strbuf_fini(&text);
}

void config_apply_offer(struct config_apply *c, struct config *file)
{
    struct config *next = config_apply_config_at(file, clock_wall_ms(c->o.clock));
    bool relist;

    config_apply_warn(c->o.log, file);
    config_free(file); /* `next` keeps it */
    mutex_lock(&c->lock);
    relist = change_to(c, next, true);
    mutex_unlock(&c->lock);
    if (relist) {
        relist_all(c);
    }
}

void config_apply_keep_time(struct config_apply *c)
{
    int64_t wall_ms = clock_wall_ms(c->o.clock);
    const struct config *now, *newest;
    bool relist = false;
    uint32_t open;

    mutex_lock(&c->lock);
    now = config_slot_take(c->o.slot);
    newest = c->waiting != NULL ? c->waiting : now;
    open = timetable_open(&newest->timetable, wall_ms / 1000);
    if (open == newest->open) {
        c->held_open = -1;
    } else if (open == c->held_open) {
        open = newest->open; /* what was held back is told once, not each second */
    }
    if (open != newest->open || admitted_pools(c, &newest->policy) != newest->policy.admitted_pools) {
        relist = change_to(c, config_at(newest, open), false);
    }
    config_free(now);
    mutex_unlock(&c->lock);
    if (relist) {
        relist_all(c);
    }
}

bool config_apply_is_settled(struct config_apply *c, const struct config *in_effect)
{
    const struct config *now;
    bool settled;

    mutex_lock(&c->lock);
    now = config_slot_take(c->o.slot);
    settled = c->waiting == NULL && now == in_effect;
    config_free(now);
    mutex_unlock(&c->lock);
    return settled;
}

void config_apply_refuse(struct config_apply *c, const char *hash, const struct err *why)
{
    struct config_attempt a = {.outcome = CONFIG_INVALID};

    snprintf(a.hash, sizeof(a.hash), "%s", hash);
    memcpy(a.error, why->msg, sizeof(a.error));
    mutex_lock(&c->lock);
    c->waiting_is_last = false;
    record(c, &a);
    mutex_unlock(&c->lock);
    LOG_ERROR(c->o.log, "The configuration file is not valid; the old configuration stays", LOG_CSTR("err", why->msg),
              LOG_CSTR("advice", "fgpu check-config FILE shows all of it"));
}

void config_apply_listed(struct config_apply *c, enum kube_resource resource, const struct rules *by)
{
    bool stale = false;

    mutex_lock(&c->lock);
    switch (policy_set_listed(c->o.policies, resource, by)) {
    case POLICY_SET_STALE:
        stale = true;
        break;
    case POLICY_SET_CURRENT: {
        const struct config *config = c->waiting;

        c->waiting = NULL;
        if (c->waiting_is_last) {
            record_outcome(c, config, CONFIG_IN_EFFECT);
        }
        take_effect(c, config);
        break;
    }
    case POLICY_SET_IDLE:
    case POLICY_SET_PARTIAL:
        break;
    }
    mutex_unlock(&c->lock);
    if (stale) {
        c->o.relist(c->o.ctx, resource);
    }
}
