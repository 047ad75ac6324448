/* What the settings that were in effect in a process, and what its nodes were when it decided, allow a grant to be. */
#include "oracle_internal.h"

#include "fiber.h"
#include "process.h"

#include "base/clock.h"

#include <string.h>

/* The last ones of a process, the newest first. */
struct tag_history {
    unsigned tags[ORACLE_TAGS];
    int64_t last_ns[ORACLE_TAGS]; /* when it was seen; 0: there is none */
};

static struct tag_history in_effect[PROCESSES_MAX + 1], of_facts[PROCESSES_MAX + 1];

static void note(struct tag_history *h, unsigned tag)
{
    if (h->tags[0] != tag && h->last_ns[0] != 0) {
        memmove(h->tags + 1, h->tags, (ORACLE_TAGS - 1) * sizeof(h->tags[0]));
        memmove(h->last_ns + 1, h->last_ns, (ORACLE_TAGS - 1) * sizeof(h->last_ns[0]));
    }
    h->tags[0] = tag;
    h->last_ns[0] = sim_now_ns();
}

void oracle_note_settings(const struct process *p)
{
    if (!p->ends) { /* from then on it goes by the last ones */
        note(&in_effect[p->number], settings_tag(p));
        note(&of_facts[p->number], settings_tag_of_facts(p));
    }
}

static struct oracle_tags recent(const struct tag_history *h, int64_t since_ns)
{
    struct oracle_tags r = {.tags = {h->tags[0]}, .n = 1};

    for (size_t i = 1; i < ORACLE_TAGS; i++) {
        if (h->last_ns[i] != 0 && h->last_ns[i] >= since_ns) {
            r.tags[r.n++] = h->tags[i];
        }
    }
    return r;
}

struct oracle_known oracle_knows(const struct process *p)
{
    struct oracle_known k = {.at_ns = sim_now_ns(),
                             .decided_ns = sim_now_ns() - DECIDED_BEFORE_MS * NS_PER_MS - process_slept_ns(p),
                             .nodes_seen = p->nodes_seen,
                             .pods_seen = p->pods_seen};
    struct oracle_tags to_come;

    oracle_note_settings(p);
    k.in_effect = recent(&in_effect[p->number], k.decided_ns);
    to_come = recent(&of_facts[p->number], k.decided_ns);
    k.all = k.in_effect;
    for (size_t i = 0; i < to_come.n; i++) {
        k.all.tags[k.all.n++] = to_come.tags[i];
    }
    return k;
}

/* Calls fn for all settings and states of the GPU that may have been meant; until it says true. States: not over by a
 * version that was seen, or by that moment. */
static bool any(const struct oracle_device *d, const struct oracle_known *k, int64_t since_ns,
                bool (*fn)(void *ctx, const struct settings *s, const struct oracle_state *at), void *ctx)
{
    for (size_t i = 0; i < k->all.n; i++) {
        const struct settings *s = settings_of(k->all.tags[i]);

        if (fn(ctx, s, &d->now)) {
            return true;
        }
        for (size_t j = 0; j < ORACLE_PAST; j++) {
            if ((d->past[j].until > k->nodes_seen || d->past[j].until_ns > since_ns) && fn(ctx, s, &d->past[j].was)) {
                return true;
            }
        }
    }
    return false;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static bool add_caps(void *ctx, const struct settings *s, const struct oracle_state *at)
{
    struct caps *most = ctx, c;

    if (at->mem_mib > 0 && at->profile != 0) {
        *most = (struct caps){INT32_MAX, INT32_MAX, 1};
    } else if (at->mem_mib > 0) {
        c = meaning_of_gpu(s, at->pool, at->mem_mib);
        *most = (struct caps){larger(most->milli, c.milli), larger(most->mem_mib, c.mem_mib),
                              larger(most->sharers, c.sharers)};
    }
    return false;
}

struct caps oracle_caps(const struct oracle_device *d, const struct oracle_known *k)
{
    struct caps most = {0};

    (void)any(d, k, INT64_MAX, add_caps, &most);
    return most;
}

struct question {
    const struct ask *ask;
    const struct oracle_tags *by;
    struct amounts given;
    bool means[2 * ORACLE_TAGS];
};

static bool is_meant(void *ctx, const struct settings *of_nodes, const struct oracle_state *at)
{
    struct question *q = ctx;

    for (size_t i = 0; i < q->by->n && at->mem_mib > 0 && !of_nodes->closed[at->pool]; i++) {
        struct amounts m;

        if (at->profile != 0) { /* it is given as a whole, whatever that is */
            q->means[i] = meaning_takes_instance(q->ask, settings_of(q->by->tags[i]), at->profile);
            q->given.whole = true;
        } else if (meaning_of(q->ask, settings_of(q->by->tags[i]), of_nodes, at->pool, at->mem_mib, &m) &&
                   m.count == q->given.count && m.milli == q->given.milli && m.mem_mib == q->given.mem_mib) {
            q->means[i] = true;
            q->given.whole = m.whole;
        }
    }
    return false;
}

struct oracle_tags oracle_means(const struct oracle_device *d, const struct oracle_known *k, const struct ask *ask,
                                struct amounts *given)
{
    struct question q = {ask, &k->all, *given, {false}};
    struct oracle_tags by = {.n = 0};

    (void)any(d, k, k->decided_ns, is_meant, &q);
    given->whole = q.given.whole;
    for (size_t i = 0; i < k->all.n; i++) {
        if (q.means[i]) {
            by.tags[by.n++] = k->all.tags[i];
        }
    }
    return by;
}

bool oracle_is_none(const struct oracle_known *k, const struct ask *ask)
{
    bool none = false;

    for (size_t i = 0; i < k->all.n; i++) {
        none = none || meaning_is_none(ask, settings_of(k->all.tags[i]));
    }
    return none;
}

/* The least of what it means. */
static struct amounts stranger_takes(const struct object *o, const struct oracle_device *d,
                                     const struct oracle_known *k, const struct oracle_tags *by)
{
    struct amounts least = {.milli = INT32_MAX, .mem_mib = INT32_MAX, .whole = true};

    for (size_t i = 0; i < by->n * k->all.n; i++) {
        const struct settings *s = settings_of(by->tags[i % by->n]), *of_nodes = settings_of(k->all.tags[i / by->n]);
        struct amounts m = {0};

        if (!meaning_of(&o->ask, s, of_nodes, d->now.pool, d->now.mem_mib, &m)) {
            return (struct amounts){0};
        }
        least.milli = m.milli < least.milli ? m.milli : least.milli;
        least.mem_mib = m.mem_mib < least.mem_mib ? m.mem_mib : least.mem_mib;
        least.whole = least.whole && m.whole;
    }
    return least;
}

struct amounts oracle_strangers(const struct oracle_device *d, const struct oracle_known *k,
                                const struct oracle_tags *by)
{
    struct amounts all = {0};

    for (const struct object *o = etcd_first(PODS); o != NULL; o = o->next) {
        const bool counts = o->stranger != 0 && o->stranger <= k->pods_seen && o->phase != SUCCEEDED &&
                            !o->ask.by_annotation && o->ask.kind != ASK_SIZE_NOTE && strcmp(o->node, d->node) == 0;

        if (counts && d->now.mem_mib > 0 && d->now.profile == 0 && k->nodes_seen >= d->version) {
            const struct amounts m = stranger_takes(o, d, k, by);

            all.milli += m.milli;
            all.mem_mib += m.mem_mib;
            all.whole = all.whole || m.whole;
            all.count += m.milli > 0 || m.mem_mib > 0;
        }
    }
    return all;
}

struct team oracle_team_limit(const char *ns, const struct oracle_known *k)
{
    struct team most = {.limited = true};

    for (size_t i = 0; i < k->in_effect.n; i++) {
        const struct team *t = meaning_of_namespace(settings_of(k->in_effect.tags[i]), ns);

        most.limited = most.limited && t != NULL;
        most.milli = t != NULL ? larger(most.milli, t->milli) : 0;
        most.mem_mib = t != NULL ? larger(most.mem_mib, t->mem_mib) : 0;
    }
    return most;
}

struct amounts oracle_team_holds(const char *ns, const struct oracle_known *k, unsigned process, bool with_lost)
{
    struct amounts all = {0};

    for (size_t i = 0; i < oracle_device_n; i++) {
        for (size_t j = 0; j < oracle_devices[i].holder_n && (with_lost || oracle_devices[i].now.mem_mib > 0); j++) {
            const struct oracle_holder *h = &oracle_devices[i].holders[j];

            if (strcmp(h->ns, ns) == 0 && (h->process == process || h->version <= k->pods_seen)) {
                all.milli += h->milli;
                all.mem_mib += h->mem_mib;
            }
        }
    }
    return all;
}

struct amounts oracle_pod_holds(const char *uid)
{
    struct amounts all = {0};

    for (size_t i = 0; i < oracle_device_n; i++) {
        for (size_t j = 0; j < oracle_devices[i].holder_n; j++) {
            const struct oracle_holder *h = &oracle_devices[i].holders[j];

            if (strcmp(h->uid, uid) == 0) {
                all.milli += h->milli;
                all.mem_mib += h->mem_mib;
            }
        }
    }
    return all;
}
