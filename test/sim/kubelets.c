#define SIM_STREAM SIM_KUBELETS
#include "kubelets.h"

#include "etcd.h"
#include "fiber.h"
#include "mask.h"
#include "oracle.h"
#include "process.h"
#include "trace.h"

#include "base/bug.h"
#include "model/mig.h"
#include "node/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 8, HELD_MAX = 16, DEVICES_MAX = ETCD_GPUS_MAX * (1 + PROFILES), ARENA_BYTES = 1 << 20, SLOTS = 64 };

struct held {
    char uuid[24];
    struct oracle_given given;
};

/* The container of a pod, from the moment at which its node's kubelet hears of it. */
struct workload {
    struct workload *next;
    char uid[24], ns[16], pod[32], node[32], id[40];
    char *record; /* as of its sandbox */
    unsigned tries;
    bool runs, over; /* it may open its GPUs; it will never be created again */
    struct held held[HELD_MAX];
    size_t held_n;
};

struct kubelet {
    char node[32];
    struct agent *agent;
};

struct kubelets_counts kubelets_counts;

static struct {
    struct kubelet kubelets[NODES_MAX];
    size_t n;
    struct workload *workloads;
    struct sign_keyring *keys;
    int32_t factor; /* how often a GPU may be given away, in thousandths */
} k;

/* ---- what the agent is told ---- */

struct facts {
    struct arena arena;
    struct device devices[DEVICES_MAX];
    struct agent_rules rules;
};

/* Of the machine: whatever the Node object says, sick ones and those of others are there. */
static size_t put_devices(const struct object *node, struct device *ret, struct arena *a)
{
    size_t n = 0;

    for (size_t i = 0; node != NULL && i < node->gpu_n; i++) {
        const struct gpu *g = &node->gpus[i];
        const struct device card = {.index = (int32_t)i, .minor = (int32_t)i, .healthy = true, .gpu_index = -1};
        struct offer offers[PROFILES];
        const size_t offer_n = g->gone ? 0 : gpu_offers(g, offers);

        if (g->mig && !g->gone) {
            ret[n] = card;
            ret[n].uuid = str_of(g->uuid);
            ret[n++].profile = DEVICE_IN_MIG_MODE;
        }
        for (size_t j = 0; j < offer_n; j++) {
            ret[n] = card;
            ret[n].uuid = arena_str(a, str_of(offers[j].uuid));
            ret[n].mem_mib = offers[j].mem_mib;
            ret[n].slot_n = SLOTS;
            if (g->mig) {
                ret[n].index = DEVICE_INSTANCE_INDEX((int32_t)i, offers[j].start);
                ret[n].profile = mig_profile_parse(str_of(offers[j].name));
                ret[n].gpu_index = (int32_t)i;
                ret[n].start = (int8_t)offers[j].start;
            }
            n++;
        }
    }
    return n;
}

static struct facts *facts_new(const char *node)
{
    struct facts *f = xcalloc(1, sizeof(*f));

    arena_init(&f->arena, ARENA_BYTES);
    f->rules = (struct agent_rules){.hand_over = {.way = HAND_OVER_BY_CDI},
                                    .node = {.name = str_of(node),
                                             .keys = k.keys,
                                             .devices = f->devices,
                                             .overcommit_milli = k.factor,
                                             .overcommit_mem_milli = k.factor}};
    f->rules.node.device_n = put_devices(etcd_find(NODES, node), f->devices, &f->arena);
    return f;
}

static void facts_free(struct facts *f)
{
    arena_fini(&f->arena);
    free(f);
}

static struct pod_facts pod_facts(const struct workload *c, struct kv *annotation)
{
    *annotation = (struct kv){STR("fgpu.io/assignment"), str_of(c->record)};
    return (struct pod_facts){.uid = str_of(c->uid),
                              .namespace_ = str_of(c->ns),
                              .name = str_of(c->pod),
                              .annotations = {annotation, c->record[0] != '\0' ? 1 : 0}};
}

/* NULL: it is not there. */
static const struct device *device_of(const struct facts *f, const char *uuid)
{
    for (size_t i = 0; i < f->rules.node.device_n; i++) {
        if (str_eq(f->devices[i].uuid, str_of(uuid))) {
            return &f->devices[i];
        }
    }
    return NULL;
}

/* With the nodes of the GPUs that it has, as far as they are there. */
static struct container_facts container_facts(const struct workload *c, const struct facts *f)
{
    struct container_facts ret = {.id = str_of(c->id), .sandbox_id = str_of(c->uid), .name = STR("main")};

    for (size_t i = 0; i < c->held_n; i++) {
        const struct device *d = device_of(f, c->held[i].uuid);

        if (d != NULL) {
            gpu_nodes_open(&ret.gpus, GPU_NODES_MAJOR, d->minor);
        }
    }
    return ret;
}

/* ---- agents ---- */

/* What the runtime lists. */
static void synchronize(struct kubelet *l)
{
    struct facts *f = facts_new(l->node);

    agent_sync_begin(l->agent);
    for (const struct workload *c = k.workloads; c != NULL; c = c->next) {
        if (c->runs && strcmp(c->node, l->node) == 0) {
            const struct container_facts facts = container_facts(c, f);
            struct kv annotation;
            const struct pod_facts pod = pod_facts(c, &annotation);

            agent_sync_pod(l->agent, &f->rules, facts.sandbox_id, &pod);
            agent_sync_container(l->agent, &f->rules, &facts);
        }
    }
    if (agent_sync_end(l->agent, NULL) != 0) {
        found("the agent of %s cannot hold what runs there", l->node);
    }
    facts_free(f);
}

static struct kubelet *kubelet_of(const char *node)
{
    struct kubelet *l = k.kubelets;

    while (l < &k.kubelets[k.n] && strcmp(l->node, node) != 0) {
        l++;
    }
    BUG_ON(l == &k.kubelets[NODES_MAX]);
    if (l == &k.kubelets[k.n]) {
        snprintf(l->node, sizeof(l->node), "%s", node);
        l->agent = agent_new();
        k.n++;
        synchronize(l);
    }
    return l;
}

static void restarts(void *ctx)
{
    (void)ctx;
    if (k.n > 0 && mask_allows(DO_AGENT_RESTARTS)) {
        struct kubelet *l = &k.kubelets[sim_below(k.n)];

        TRACE("the agent of %s restarts", l->node);
        kubelets_counts.restarted_n++;
        agent_free(l->agent);
        l->agent = agent_new();
        synchronize(l);
    }
    sim_in_ms((int64_t)sim_below(40000), restarts, NULL);
}

/* ---- containers ---- */

static struct workload *workload_of(const char *uid)
{
    struct workload *c = k.workloads;

    while (c != NULL && strcmp(c->uid, uid) != 0) {
        c = c->next;
    }
    return c;
}

static void forget(struct workload *c)
{
    struct workload **at = &k.workloads;

    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    free(c->record);
    free(c);
}

static void is_told(void *ctx)
{
    struct workload *c = ctx;
    struct kubelet *l = kubelet_of(c->node);

    agent_ended(l->agent, str_of(c->id));
    agent_sandbox_removed(l->agent, str_of(c->uid));
    forget(c);
}

static void ends(struct workload *c)
{
    c->runs = false;
    c->over = true;
    sim_in_ms((int64_t)sim_below(600), is_told, c);
}

static void ends_later(void *ctx)
{
    struct workload *c = workload_of(ctx);

    if (c != NULL && !c->over) {
        ends(c);
    }
    free(ctx);
}

static int memory_of(const struct facts *f, const char *uuid)
{
    const struct device *d = device_of(f, uuid);

    return d == NULL ? 0 : d->profile == 0 ? (int)d->mem_mib : INT32_MAX;
}

/* All that run and have it, the new one among them. */
static void judge_use(const struct facts *f, const struct workload *by, const char *uuid)
{
    const int64_t mem_cap = (int64_t)memory_of(f, uuid) * k.factor / 1000;
    int64_t milli = 0, mem = 0;
    bool alone = false;
    unsigned n = 0;

    for (const struct workload *c = k.workloads; c != NULL; c = c->next) {
        for (size_t i = 0; c->runs && i < c->held_n; i++) {
            if (strcmp(c->held[i].uuid, uuid) == 0) {
                milli += c->held[i].given.milli;
                mem += c->held[i].given.mem_mib;
                alone = alone || c->held[i].given.whole;
                n++;
            }
        }
    }
    if ((alone && n > 1) || (!alone && (milli > k.factor || mem > mem_cap))) {
        found("GPU %s of %s is used by %u containers%s, %lld milli, %lld of %lld MiB, with that of pod %s", uuid,
              by->node, n, alone ? ", one of whom has it alone" : "", (long long)milli, (long long)mem,
              (long long)mem_cap, by->uid);
    }
}

static void take(struct workload *c, const struct assigned_device *d)
{
    struct held *h = &c->held[c->held_n];

    BUG_ON(c->held_n == HELD_MAX);
    snprintf(h->uuid, sizeof(h->uuid), "%.*s", STR_ARG(d->uuid));
    if (!oracle_gave(c->uid, h->uuid, &h->given) || h->given.milli != d->milli || h->given.mem_mib != d->mem_mib) {
        found("the container of pod %s gets %d milli and %lld MiB of GPU %s on %s, which its Binding did not give it",
              c->uid, d->milli, (long long)d->mem_mib, h->uuid, c->node);
    }
    c->held_n++;
}

static void create(void *ctx);

static void try_later(struct workload *c)
{
    const unsigned doubled = c->tries < 4 ? c->tries : 4;

    kubelets_counts.refused_n++;
    sim_in_ms((INT64_C(500) << doubled) + (int64_t)sim_below(500), create,
              memcpy(xmalloc(sizeof(c->uid)), c->uid, sizeof(c->uid)));
}

/* False: it is refused. */
static bool is_created(struct workload *c, struct facts *f)
{
    struct agent *agent = kubelet_of(c->node)->agent;
    struct container_facts facts;
    struct kv annotation;
    const struct pod_facts pod = pod_facts(c, &annotation);
    struct hand_over h;
    struct str why;

    snprintf(c->id, sizeof(c->id), "%s-%u", c->uid, ++c->tries);
    facts = container_facts(c, f);
    h = agent_create(agent, &f->rules, &pod, &facts, &f->arena);
    if (h.answer == HAND_OVER_REFUSED) {
        TRACE("the container of %s on %s is refused: %.*s", c->uid, c->node, STR_ARG(h.why));
        return false;
    }
    for (size_t i = 0; h.answer == HAND_OVER_DEVICES && i < h.device_n; i++) {
        take(c, &h.devices[i]);
    }
    facts = container_facts(c, f);
    if (!agent_start(agent, &f->rules, &pod, &facts, &f->arena, &why)) {
        TRACE("the container of %s on %s does not start: %.*s", c->uid, c->node, STR_ARG(why));
        agent_ended(agent, facts.id);
        c->held_n = 0;
        return false;
    }
    return true;
}

static void create(void *ctx)
{
    struct workload *c = workload_of(ctx);
    const struct object *o = etcd_find_uid(ctx);
    struct facts *f;

    free(ctx);
    if (c == NULL || c->over || o == NULL || o->deleting) {
        return;
    }
    f = facts_new(c->node);
    if (!is_created(c, f)) {
        try_later(c);
    } else {
        TRACE("the container of %s runs on %s with %zu GPUs", c->uid, c->node, c->held_n);
        c->runs = true;
        kubelets_counts.admitted_n += c->held_n > 0;
        for (size_t i = 0; i < c->held_n; i++) {
            judge_use(f, c, c->held[i].uuid);
        }
    }
    facts_free(f);
}

/* ---- what kubelet hears ---- */

static void is_heard(void *ctx)
{
    const struct object *o = etcd_find_uid(ctx);
    const char *record;
    struct workload *c;

    if (o == NULL || o->phase == SUCCEEDED || o->deleting || workload_of(ctx) != NULL) {
        free(ctx);
        return;
    }
    record = object_note_of(o, "fgpu.io/assignment");
    record = record != NULL ? record : "";
    c = xcalloc(1, sizeof(*c));
    memcpy(c->uid, o->uid, sizeof(c->uid));
    memcpy(c->ns, o->ns, sizeof(c->ns));
    memcpy(c->pod, o->name, sizeof(c->pod));
    memcpy(c->node, o->node, sizeof(c->node));
    c->record = memcpy(xmalloc(strlen(record) + 1), record, strlen(record) + 1);
    c->next = k.workloads;
    k.workloads = c;
    sim_in_ms((int64_t)sim_below(300), create, ctx);
}

static void changed(const struct change *ch)
{
    const struct object *o;
    struct workload *c;
    char *uid;

    if (ch->kind != PODS) {
        return;
    }
    uid = memcpy(xmalloc(sizeof(ch->uid)), ch->uid, sizeof(ch->uid));
    c = workload_of(uid);
    o = ch->type == DELETED ? NULL : etcd_find_uid(uid);
    if (c != NULL && !c->over && o != NULL && o->phase == SUCCEEDED) {
        ends(c); /* had ended, before its kubelet wrote this */
        free(uid);
    } else if (c != NULL && o == NULL) {
        sim_in_ms((int64_t)sim_below(4000), ends_later, uid);
    } else if (c == NULL && o != NULL && o->node[0] != '\0') {
        sim_in_ms((int64_t)sim_below(sim_chance(900) ? 100 : 3000), is_heard, uid);
    } else {
        free(uid);
    }
}

/* ---- the whole ---- */

void kubelets_init(void)
{
    static const int32_t factors[] = {1000, 1000, 1500, 2000};
    const struct sign_files files = {.private_key = process_key_path()};
    const char *warning;
    struct err err;

    k.factor = factors[sim_below(4)];
    if (!mask_allows(DO_CONTAINERS)) {
        return;
    }
    if (sign_keyring_read(&files, &k.keys, &warning, &err) != 0) {
        found("the agents cannot read the key: %s", err.msg);
    }
    etcd_follow(changed);
    restarts(NULL);
}

void kubelets_end(void)
{
    while (k.workloads != NULL) {
        forget(k.workloads);
    }
    for (size_t i = 0; i < k.n; i++) {
        agent_free(k.kubelets[i].agent);
    }
    sign_keyring_put(k.keys);
}
