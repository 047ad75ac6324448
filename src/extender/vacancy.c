#include "extender/vacancy.h"

#include "base/bug.h"
#include "core/dialect.h"
#include "core/fragmentation.h"
#include "core/headroom.h"
#include "core/mirror.h"
#include "core/outlook.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vacancy {
    struct store *store;
    struct rulebook *book;
    const struct clock *clock;
    pthread_mutex_t lock; /* all below; taken before the store's */
    struct mirror mirror;
    struct outlook *outlook;
    uint64_t rules_generation; /* that the report was made by */
    int64_t made_ns;
    struct vacancy_report report;
};

struct vacancy *vacancy_new(struct store *store, struct rulebook *book, const struct clock *clock)
{
    struct vacancy *v = xcalloc(1, sizeof(*v));

    v->store = store;
    v->book = book;
    v->clock = clock;
    BUG_ON(pthread_mutex_init(&v->lock, NULL) != 0);
    mirror_init(&v->mirror);
    v->outlook = outlook_new();
    return v;
}

void vacancy_free(struct vacancy *v)
{
    if (v != NULL) {
        mirror_fini(&v->mirror);
        outlook_free(v->outlook);
        BUG_ON(pthread_mutex_destroy(&v->lock) != 0);
        free(v);
    }
}

/* ---- the numbers ---- */

static void look_for_holes(const struct mirror *m, struct vacancy_report *ret)
{
    struct str best = STR_NULL;

    for (uint32_t i = 0; i < m->node_n; i++) {
        struct headroom_hole h;

        if (!m->open[i]) {
            continue;
        }
        h = headroom_hole(&m->nodes[i], mirror_devices(m, i));
        ret->node_n++;
        if (h.milli > ret->largest_milli ||
            (h.milli == ret->largest_milli && h.mem_mib > ret->largest_mem_mib)) {
            ret->largest_milli = h.milli;
            ret->largest_mem_mib = h.mem_mib;
        }
        if (h.empty_n > ret->empty_gpu_n ||
            (h.empty_n > 0 && h.empty_n == ret->empty_gpu_n && str_cmp(m->names[i], best) < 0)) {
            ret->empty_gpu_n = h.empty_n;
            best = m->names[i];
        }
    }
    snprintf(ret->empty_node, sizeof(ret->empty_node), "%.*s", STR_ARG(best));
}

static void measure_fragmentation(const struct mirror *m, const struct outlook *o,
                                  struct vacancy_report *ret)
{
    double sum = 0;

    ret->typical_n = outlook_typical_n(o);
    for (uint32_t i = 0; i < m->node_n; i++) {
        const struct fragmentation_node n = {.devices = mirror_devices(m, i),
                                             .device_n = m->nodes[i].device_n,
                                             .unsteered_cap = m->nodes[i].unsteered_cap,
                                             .unsteered_free = m->nodes[i].unsteered_cap -
                                                               m->nodes[i].unsteered_used,
                                             .host = m->nodes[i].host};

        if (m->open[i]) {
            ret->idle_milli += fragmentation_idle_milli(&n);
            sum += fragmentation_milli(&n, outlook_typical(o), ret->typical_n);
        }
    }
    ret->fragmented_milli = (int64_t)(sum + 0.5);
}

/* The same request that a pod would write, so it means what it means there. */
static uint64_t count_more(const struct mirror *m, const struct policy *p, const char *key,
                           struct str value)
{
    const struct kv annotation = {str_of(key), value};
    const struct container container = {.name = STR("main")};
    const struct pod pod = {
        .annotations = {&annotation, 1}, .containers = &container, .container_n = 1};
    struct arena a;
    struct demand d;
    uint64_t n = 0;

    arena_init(&a, 64 << 10);
    BUG_ON(!dialect_demand(p, &pod, &a, &d));
    for (uint32_t i = 0; d.defect == DEMAND_OK && i < m->node_n; i++) {
        n += m->open[i] ? headroom_node(&m->nodes[i], mirror_devices(m, i), &d) : 0;
    }
    arena_fini(&a);
    return n;
}

static void count_sizes(const struct mirror *m, const struct policy *p, struct vacancy_report *ret)
{
    for (size_t i = 0; i < p->size_n && i < VACANCY_SIZES_MAX; i++) {
        struct vacancy_size *s = &ret->sizes[ret->size_n++];

        snprintf(s->name, sizeof(s->name), "%.*s", STR_ARG(p->sizes[i].name));
        s->more_n = count_more(m, p, "fgpu.io/size", p->sizes[i].name);
    }
    for (int i = 0; i < VACANCY_WHOLE_N; i++) {
        struct vacancy_size *s = &ret->sizes[ret->size_n++];
        char count[8];

        s->whole_gpu_n = 1 << i;
        snprintf(count, sizeof(count), "%d", (int)s->whole_gpu_n);
        snprintf(s->name, sizeof(s->name), "%s GPU%s", count, i == 0 ? "" : "s");
        s->more_n = count_more(m, p, "fgpu.io/gpu-count", str_of(count));
    }
}

/* ---- when ---- */

static bool is_fresh(const struct vacancy *v, const struct rules *rules)
{
    bool same = store_generation(v->store) == v->report.generation &&
                rules->generation == v->rules_generation;

    return v->report.known &&
           (same || clock_mono_ns(v->clock) - v->made_ns < VACANCY_INTERVAL_MS * INT64_C(1000000));
}

static void make(struct vacancy *v, const struct rules *rules)
{
    struct vacancy_report report = {.known = true, .at_ms = clock_wall_ms(v->clock)};

    store_mirror(v->store, &v->mirror);
    store_outlook(v->store, v->outlook, strategy_find(STR("fgd"))); /* its typical pods */
    report.generation = v->mirror.generation;
    look_for_holes(&v->mirror, &report);
    measure_fragmentation(&v->mirror, v->outlook, &report);
    count_sizes(&v->mirror, rules->placement.policy, &report);
    v->report = report;
    v->rules_generation = rules->generation;
    v->made_ns = clock_mono_ns(v->clock);
}

void vacancy_read(struct vacancy *v, struct vacancy_report *ret)
{
    const struct rules *rules;

    BUG_ON(pthread_mutex_lock(&v->lock) != 0);
    rules = rulebook_take(v->book);
    if (store_is_synced(v->store) && !is_fresh(v, rules)) {
        make(v, rules);
    }
    rules_put(rules);
    *ret = v->report;
    BUG_ON(pthread_mutex_unlock(&v->lock) != 0);
}
