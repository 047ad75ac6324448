#define SIM_STREAM SIM_ADMINS
#include "admins.h"

#include "etcd.h"
#include "fiber.h"
#include "mask.h"
#include "settings.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

enum { GPU_MIB = 81920 };

static struct {
    struct climate climate;
    unsigned uuid_n;
} a;

static void new_uuid(struct gpu *g)
{
    snprintf(g->uuid, sizeof(g->uuid), "GPU-%05u", ++a.uuid_n);
}

static void add_gpu(struct object *o)
{
    struct gpu *g = &o->gpus[o->gpu_n++];

    *g = (struct gpu){.mem_mib = GPU_MIB, .mig = a.climate.rich && sim_chance(150) && mask_allows(DO_MIG)};
    new_uuid(g);
}

static void create_node(const char *name)
{
    struct object *o = etcd_new(NODES, name);

    while (o->gpu_n < a.climate.gpus) {
        add_gpu(o);
    }
    o->pool = a.climate.rich ? (unsigned)sim_below(POOLS) : 0;
    etcd_write(o);
}

/* One that is missing comes. */
static bool bring_back(void)
{
    char name[32];

    for (unsigned i = 0; i < a.climate.nodes; i++) {
        snprintf(name, sizeof(name), "node-%u", i);
        if (etcd_find(NODES, name) == NULL) {
            create_node(name);
            return true;
        }
    }
    return false;
}

/* Its GPUs may be those of before: the machine is the same. */
static void replace(struct object *o)
{
    const struct object was = *o;
    struct object *again;

    TRACE("node %s is deleted and made again", o->name);
    etcd_delete(o);
    again = etcd_new(NODES, was.name);
    memcpy(again->gpus, was.gpus, sizeof(again->gpus));
    again->gpu_n = was.gpu_n;
    again->pool = was.pool;
    etcd_write(again);
}

/* What only a rich world has. False: nothing. */
static bool change_more(struct object *o, struct gpu *g)
{
    switch (sim_below(8)) {
    case 0:
        g->sick = mask_allows(DO_SICKNESS) ? !g->sick : g->sick;
        return true;
    case 1:
        if (o->gpu_n < ETCD_GPUS_MAX && o->gpu_n < a.climate.gpus + 2 && mask_allows(DO_GROWTH)) {
            add_gpu(o);
        }
        return true;
    case 2:
        if (mask_allows(DO_LABELS)) {
            o->pool = (unsigned)sim_below(POOLS);
        }
        return true;
    case 3:
        o->agent = mask_allows(DO_AGENTS) && sim_chance(400);
        return true;
    default:
        return false;
    }
}

static void change(struct object *o)
{
    struct gpu *g = &o->gpus[sim_below(o->gpu_n)];

    world_counts.node_n++;
    if (a.climate.rich && change_more(o, g)) {
        TRACE("node %s changes: pool %u, %zu GPUs%s; GPU %s is %s", o->name, o->pool, o->gpu_n,
              o->agent ? " that another system has" : "", g->uuid, g->sick ? "sick" : "well");
        etcd_write(o);
        return;
    }
    switch (sim_below(9)) {
    case 0:
        g->mem_mib = mask_allows(DO_SHRINKS) && !g->mig ? GPU_MIB / 2 : GPU_MIB;
        break;
    case 1:
        g->gone = mask_allows(DO_LOSSES);
        break;
    case 2:
        if (mask_allows(DO_UUIDS)) {
            new_uuid(g);
        }
        break;
    case 3:
        if (mask_allows(DO_NODE_DELETIONS)) {
            TRACE("node %s is deleted", o->name);
            etcd_delete(o);
        }
        return;
    case 4:
        if (mask_allows(DO_NODE_DELETIONS)) {
            replace(o);
        }
        return;
    default: /* as it was */
        g->mem_mib = GPU_MIB;
        g->gone = false;
        g->sick = false;
        o->agent = false;
        break;
    }
    TRACE("node %s changes: GPU %s has %d MiB%s", o->name, g->uuid, g->mem_mib, g->gone ? " and is gone" : "");
    etcd_write(o);
}

void admins_act(void)
{
    if (etcd_count(NODES) >= a.climate.nodes || !bring_back()) {
        change(etcd_at(NODES, sim_below(etcd_count(NODES))));
    }
}

void admins_init(const struct climate *c)
{
    a.climate = *c;
    while (bring_back()) {
    }
}
