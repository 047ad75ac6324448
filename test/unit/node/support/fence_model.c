#include "node/support/fence_model.h"

#include "base/bug.h"
#include "base/compiler.h"
#include "node/fence.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#define PODS 5
#define NAMES 3
#define DEVICES 4
#define INSTANCE 3 /* this one is a MIG instance */
#define CONTAINERS 48
#define TEXT 24
#define MEMORY (1U << 16)

static const struct str uuids[DEVICES] = {{"GPU-a", 5}, {"GPU-b", 5}, {"GPU-c", 5}, {"MIG-d", 5}};
static const int64_t mem_cap[DEVICES] = {1000, 1000, 2000, 500};
static const int32_t sharers_cap[DEVICES] = {3, 16, 2, 1};
static const char *const names[NAMES] = {"init", "main", "side"};

/* What a record gives to one container: nothing where milli is negative. */
struct part {
    int32_t milli;
    int64_t mem_mib;
    bool alone, by_index;
};

struct model_pod {
    unsigned life;
    struct part parts[NAMES][DEVICES];
};

/* An instance of a container. */
struct instance {
    unsigned number, life;
    size_t pod, name;
    bool runs; /* created, and not ended */
    bool told; /* that it has ended */
};

struct fence_model {
    struct rng rng;
    struct fence *fence;
    struct device devices[DEVICES];
    struct node_facts node;
    struct arena arena;
    unsigned number;
    struct model_pod pods[PODS];
    struct instance instances[CONTAINERS];
    size_t n;
    struct fence_model_counts counts;
};

/* ---- the oracle ---- */

struct sum {
    int64_t milli, mem_mib;
    int32_t sharers;
    bool alone;
};

static void sum_add(struct sum *s, const struct part *p)
{
    if (p->milli >= 0) {
        s->milli += p->milli;
        s->mem_mib += p->mem_mib;
        s->sharers++;
        s->alone = s->alone || p->alone;
    }
}

static bool sum_fits(const struct sum *s, size_t device)
{
    return s->alone ? s->sharers == 1
                    : s->milli <= 1000 && s->mem_mib <= mem_cap[device] && s->sharers <= sharers_cap[device];
}

/* Of one life of a pod; the parts of a life that is over are those of its end, so it must have no instances left. */
static bool name_is_there(const struct fence_model *m, size_t pod, size_t name, bool also_untold)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct instance *c = &m->instances[i];

        if (c->pod == pod && c->name == name && (c->runs || (also_untold && !c->told))) {
            return true;
        }
    }
    return false;
}

static struct sum sum_of(const struct fence_model *m, size_t device, bool also_untold)
{
    struct sum s = {0};

    for (size_t pod = 0; pod < PODS; pod++) {
        for (size_t name = 0; name < NAMES; name++) {
            if (name_is_there(m, pod, name, also_untold)) {
                sum_add(&s, &m->pods[pod].parts[name][device]);
            }
        }
    }
    return s;
}

static void judge(const struct fence_model *m)
{
    for (size_t d = 0; d < DEVICES; d++) {
        const struct sum runs = sum_of(m, d, false), known = sum_of(m, d, true);
        const struct fence_use u = fence_use_of(m->fence, &m->node, &m->devices[d]);

        if (runs.sharers > 0) {
            assert_true(sum_fits(&runs, d));
        }
        assert_int_equal(u.milli, known.milli);
        assert_int_equal(u.mem_mib, known.mem_mib);
        assert_int_equal(u.sharers, known.sharers);
        assert_int_equal(u.alone, known.alone);
        assert_int_equal(fence_is_over(m->fence, &m->node, &m->devices[d]), known.sharers > 0 && !sum_fits(&known, d));
    }
}

/* Would there be room for this one, too? */
static bool has_room(const struct fence_model *m, size_t pod, size_t name)
{
    const bool there = name_is_there(m, pod, name, true);
    bool fits = true;

    for (size_t d = 0; d < DEVICES; d++) {
        const struct part *p = &m->pods[pod].parts[name][d];
        struct sum s = sum_of(m, d, true);

        if (!there) {
            sum_add(&s, p);
        }
        fits = fits && (p->milli < 0 || sum_fits(&s, d));
    }
    return fits;
}

/* ---- what is told ---- */

static struct part draw_part(struct fence_model *m, size_t device)
{
    static const int32_t millis[] = {-1, -1, -1, 0, 250, 500, 700, 1000, 1001};
    struct part p = {.milli = millis[rng_below(&m->rng, ARRAY_LEN(millis))]};

    p.mem_mib = (int64_t)rng_below(&m->rng, 5) * 300;
    p.alone = device == INSTANCE || rng_below(&m->rng, 6) == 0;
    p.by_index = rng_below(&m->rng, 4) == 0;
    return p;
}

static void draw_pod(struct fence_model *m, size_t pod)
{
    m->pods[pod].life++;
    for (size_t name = 0; name < NAMES; name++) {
        for (size_t d = 0; d < DEVICES; d++) {
            m->pods[pod].parts[name][d] = draw_part(m, d);
        }
    }
}

/* The container as the fence is told of it; everything in `text` and `devices`. */
struct told {
    char id[TEXT], sandbox[TEXT], uid[TEXT];
    struct assigned_device devices[DEVICES];
    struct fence_container c;
};

static void tell(const struct fence_model *m, const struct instance *i, struct told *ret)
{
    size_t n = 0;

    snprintf(ret->id, TEXT, "c%u", i->number);
    snprintf(ret->sandbox, TEXT, "s%zu-%u", i->pod, i->life);
    snprintf(ret->uid, TEXT, "u%zu-%u", i->pod, i->life);
    for (size_t d = 0; d < DEVICES; d++) {
        const struct part *p = &m->pods[i->pod].parts[i->name][d];

        if (p->milli >= 0) {
            ret->devices[n++] = (struct assigned_device){.uuid = p->by_index ? STR_NULL : uuids[d],
                                                         .index = (int32_t)d,
                                                         .milli = p->milli,
                                                         .mem_mib = p->mem_mib,
                                                         .exclusive = p->alone && d != INSTANCE,
                                                         .profile = m->devices[d].profile};
        }
    }
    ret->c = (struct fence_container){.id = str_of(ret->id),
                                      .sandbox_id = str_of(ret->sandbox),
                                      .pod_uid = str_of(ret->uid),
                                      .namespace_ = STR("team"),
                                      .pod = STR("p"),
                                      .name = str_of(names[i->name]),
                                      .devices = ret->devices,
                                      .device_n = n};
}

static void tell_end(struct fence_model *m, struct instance *i)
{
    struct told t;

    tell(m, i, &t);
    fence_drop(m->fence, t.c.id);
    i->told = true;
}

/* Forgets those of which nothing is to be told any more. */
static void sweep(struct fence_model *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n; i++) {
        if (m->instances[i].runs || !m->instances[i].told) {
            m->instances[kept++] = m->instances[i];
        }
    }
    m->n = kept;
}

/* ---- the steps ---- */

static void create(struct fence_model *m)
{
    struct instance i = {.pod = rng_below(&m->rng, PODS), .name = rng_below(&m->rng, NAMES), .runs = true};
    struct str why = STR_NULL;
    struct told t;
    bool room;

    if (m->n == CONTAINERS || name_is_there(m, i.pod, i.name, false)) {
        return;
    }
    i.number = m->number++;
    i.life = m->pods[i.pod].life;
    tell(m, &i, &t);
    room = has_room(m, i.pod, i.name);
    assert_int_equal(fence_admit(m->fence, &m->node, &t.c, &m->arena, &why), room);
    arena_reset(&m->arena);
    if (!room) {
        assert_true(why.n > 0);
        m->counts.refused++;
        return;
    }
    for (size_t d = 0; d < DEVICES; d++) {
        m->counts.shared += sum_of(m, d, false).sharers > 0 && m->pods[i.pod].parts[i.name][d].milli >= 0;
    }
    m->counts.admitted += t.c.device_n > 0;
    if (rng_below(&m->rng, 16) == 0) { /* it cannot be made after all, and nobody says so */
        i.runs = false;
    }
    m->instances[m->n++] = i;
}

static void end(struct fence_model *m)
{
    struct instance *i;

    if (m->n == 0) {
        return;
    }
    i = &m->instances[rng_below(&m->rng, m->n)];
    m->counts.told_late += !i->runs;
    i->runs = false;
    if (rng_below(&m->rng, 4) != 0) {
        tell_end(m, i);
        sweep(m);
    }
}

static void end_pod(struct fence_model *m)
{
    const size_t pod = rng_below(&m->rng, PODS);
    char sandbox[TEXT];

    snprintf(sandbox, TEXT, "s%zu-%u", pod, m->pods[pod].life);
    for (size_t i = 0; i < m->n; i++) {
        if (m->instances[i].pod == pod) {
            m->instances[i].runs = false;
            m->instances[i].told = true;
        }
    }
    fence_drop_sandbox(m->fence, str_of(sandbox));
    sweep(m);
    draw_pod(m, pod);
}

/* As after Synchronize: a table of what runs, and of nothing else. */
static void restart(struct fence_model *m)
{
    fence_free(m->fence);
    m->fence = fence_new();
    for (size_t i = 0; i < m->n; i++) {
        struct told t;

        if (m->instances[i].runs) {
            tell(m, &m->instances[i], &t);
            fence_add(m->fence, &t.c);
        } else {
            m->instances[i].told = true;
        }
    }
    sweep(m);
    m->counts.restarted++;
}

/* Facts that are known already. */
static void repeat(struct fence_model *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct told t;

        tell(m, &m->instances[i], &t);
        assert_int_equal(fence_has(m->fence, t.c.id), !m->instances[i].told);
        if (m->instances[i].runs) {
            fence_add(m->fence, &t.c);
        }
    }
}

void fence_model_step(struct fence_model *m)
{
    const uint64_t what = rng_below(&m->rng, 20);

    if (what < 11) {
        create(m);
    } else if (what < 17) {
        end(m);
    } else if (what == 17) {
        end_pod(m);
    } else if (what == 18) {
        restart(m);
    } else {
        repeat(m);
    }
    judge(m);
}

/* ---- a model ---- */

struct fence_model *fence_model_new(uint64_t seed)
{
    struct fence_model *m = xcalloc(1, sizeof(*m));

    rng_init(&m->rng, seed);
    arena_init(&m->arena, MEMORY);
    m->fence = fence_new();
    for (size_t d = 0; d < DEVICES; d++) {
        m->devices[d] = (struct device){.uuid = uuids[d],
                                        .index = (int32_t)d,
                                        .mem_mib = mem_cap[d],
                                        .slot_n = sharers_cap[d],
                                        .healthy = true,
                                        .profile = d == INSTANCE ? 1 : 0};
    }
    m->node = (struct node_facts){.name = STR("n1"),
                                  .devices = m->devices,
                                  .device_n = DEVICES,
                                  .overcommit_milli = 1000,
                                  .overcommit_mem_milli = 1000};
    for (size_t pod = 0; pod < PODS; pod++) {
        draw_pod(m, pod);
    }
    return m;
}

void fence_model_free(struct fence_model *m)
{
    fence_free(m->fence);
    arena_fini(&m->arena);
    free(m);
}

struct fence_model_counts fence_model_counts(const struct fence_model *m)
{
    return m->counts;
}
