#include "cmd/cluster_reading.h"

#include "base/bug.h"
#include "base/clock.h"
#include "extender/ingest.h"
#include "kube/lister.h"

#include <stdlib.h>
#include <time.h>

#define ARENA_BYTES_MAX ((size_t)64 << 20)

struct reading {
    const struct policy *const *policies;
    struct ledger *ledgers[2];
    struct arena arena; /* of one object */
    enum kube_resource resource;
    int rc; /* the first that went wrong, and: */
    struct err err;
};

static void apply_to_side(struct reading *r, int side, const struct ledger_op *op)
{
    if (r->rc == 0) {
        r->rc = ledger_apply(r->ledgers[side], op, &r->err);
    }
}

static void bracket(struct reading *r, enum ledger_op_kind pods, enum ledger_op_kind nodes)
{
    const struct ledger_op op = {.kind = r->resource == KUBE_PODS ? pods : nodes};

    for (int side = 0; side < 2; side++) {
        apply_to_side(r, side, &op);
    }
}

static void on_begin(void *ctx)
{
    bracket(ctx, LEDGER_PODS_BEGIN, LEDGER_NODES_BEGIN);
}

static void on_end(void *ctx, bool complete, struct str resource_version)
{
    (void)resource_version;
    if (complete) { /* else it begins again */
        bracket(ctx, LEDGER_PODS_END, LEDGER_NODES_END);
    }
}

static void read_object(struct reading *r, const struct kube_object *o, bool usable)
{
    for (int side = 0; side < 2 && r->rc == 0; side++) {
        const struct ingest in = {.policy = r->policies[side]};
        struct ingest_fact fact;

        r->rc = ingest_read(&in, &r->arena, o, usable, &fact, &r->err);
        if (r->rc == 0) {
            apply_to_side(r, side, &fact.op);
        }
        arena_reset(&r->arena);
    }
}

static void on_object(void *ctx, const struct kube_object *o)
{
    read_object(ctx, o, true);
}

static void on_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    (void)why;
    BUG_ON(deleted); /* lists only */
    read_object(ctx, o, false);
}

static bool wait_until(void *ctx, int64_t until_ns)
{
    const struct reading *r = ctx;
    const struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};

    while (clock_mono_ns(clock_system()) < until_ns) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return r->rc == 0;
}

static int list_all(struct reading *r, struct kube_client *client, struct err *reterr)
{
    const struct reflector_handler handler = {
        .list_begin = on_begin, .object = on_object, .unusable = on_unusable, .list_end = on_end, .ctx = r};
    const enum kube_resource resources[] = {KUBE_NODES, KUBE_PODS};
    struct kube_lister lister = {.clock = clock_system(), .wait = wait_until, .ctx = r};
    struct rng rng;
    int rc = kube_stream_new(client, &lister.stream, reterr);

    if (rc != 0) {
        return rc;
    }
    rng_init(&rng, (uint64_t)clock_mono_ns(lister.clock));
    lister.rng = &rng;
    for (size_t i = 0; i < ARRAY_LEN(resources) && rc == 0; i++) {
        r->resource = resources[i];
        rc = kube_list(&lister, resources[i], &handler, reterr);
        if (r->rc != 0) { /* the reason why the list was given up, if it was */
            rc = r->rc;
            *reterr = r->err;
        }
    }
    kube_stream_free(lister.stream);
    return rc;
}

static void add_tenants(struct reading *r)
{
    for (int side = 0; side < 2; side++) {
        const struct ledger_op op = {.kind = LEDGER_TENANTS,
                                     .tenants = {r->policies[side]->tenants, r->policies[side]->tenant_n}};

        apply_to_side(r, side, &op);
    }
}

int cluster_read(const struct credentials *creds, const struct policy *const policies[2], struct ledger *ret[2],
                 struct err *reterr)
{
    struct reading r = {.policies = policies};
    struct kube_client *client;
    int rc = kube_client_new(creds, &(struct kube_client_options){0}, &client, reterr);

    if (rc != 0) {
        return rc;
    }
    arena_init(&r.arena, ARENA_BYTES_MAX);
    for (int side = 0; side < 2; side++) {
        const struct hash_key key = {1, (uint64_t)side}; /* names are the API server's */
        const struct ledger_limits limits = ledger_limits_of(policies[side], key);

        r.ledgers[side] = ledger_new(&limits);
    }
    add_tenants(&r);
    rc = list_all(&r, client, reterr);
    for (int side = 0; side < 2; side++) {
        if (rc != 0) {
            ledger_free(r.ledgers[side]);
        } else {
            ret[side] = r.ledgers[side];
        }
    }
    arena_fini(&r.arena);
    kube_client_free(client);
    return rc;
}
