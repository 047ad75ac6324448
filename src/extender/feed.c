#include "extender/feed.h"

#include "core/dialects/dialect.h"
#include "core/record/assignment.h"
#include "extender/plan_nodes.h"
#include "extender/planner.h"
#include "extender/unreadable.h"
#include "extender/warn_limit.h"

#include <inttypes.h>
#include <string.h>

static const char TEXT_CLOSED[] = "an object of the cluster could not be counted; see the log";

void feed_init(struct feed *f, struct policy_set *policies, enum kube_resource resource)
{
    *f = (struct feed){.policies = policies, .rules = policy_set_take_newest(policies), .resource = resource};
    arena_init(&f->arena, FEED_ARENA_BYTES_MAX);
}

void feed_fini(struct feed *f)
{
    rules_put(f->rules);
    f->rules = NULL;
    arena_fini(&f->arena);
}

static void apply_list_op(struct feed *f, enum ledger_op_kind kind, uint64_t version)
{
    struct ledger_op op = {.kind = kind,
                           .list = {.reread = kind == LEDGER_PODS_BEGIN && f->rereads, .version = version}};

    if (store_apply(f->rules->ingest.store, &op, NULL) != 0) {
        store_close(f->rules->ingest.store, TEXT_CLOSED);
    }
}

static void list_begin(void *ctx)
{
    struct feed *f = ctx;
    const struct rules *before = f->rules;

    if (f->begun != NULL) {
        f->begun(f->ctx, f->resource);
    }
    f->rules = policy_set_take_newest(f->policies);
    f->rereads = f->rereads || f->rules != before; /* until a list is complete */
    rules_put(before);
    f->traces = 0;
    f->lists = true;
    unreadable_list_begin(f->unreadable, f->resource);
    apply_list_op(f, f->resource == KUBE_PODS ? LEDGER_PODS_BEGIN : LEDGER_NODES_BEGIN, 0);
    if (f->resource == KUBE_PODS) {
        planner_list_begin(f->rules->ingest.planner);
    } else {
        plan_nodes_list_begin(f->rules->ingest.plan_nodes);
    }
}

static void list_end(void *ctx, bool complete, struct str resource_version)
{
    struct feed *f = ctx;

    f->rereads = f->rereads && !complete;
    f->lists = false;
    if (f->resource == KUBE_PODS) {
        planner_list_end(f->rules->ingest.planner, complete);
    }
    if (complete) { /* an incomplete bracket is simply begun again */
        unreadable_list_end(f->unreadable, f->resource);
        apply_list_op(f, f->resource == KUBE_PODS ? LEDGER_PODS_END : LEDGER_NODES_END,
                      resource_version_number(resource_version));
        LOG_V(f->rules->ingest.log, 2, "Listed", LOG_CSTR("resource", kube_resource_name(f->resource)),
              LOG_STR("resourceVersion", resource_version));
        if (f->listed != NULL) {
            f->listed(f->ctx, f->resource, f->rules);
        }
    }
}

static void fail(struct feed *f, const struct kube_object *o, const struct err *why)
{
    struct str name = o->pod != NULL ? o->pod->name : o->node->name;

    LOG_ERROR(f->rules->ingest.log, "Cannot count an object; every request is refused until the next start",
              LOG_CSTR("resource", kube_resource_name(f->resource)), LOG_STR("name", name), LOG_CSTR("err", why->msg));
    store_close(f->rules->ingest.store, TEXT_CLOSED);
}

/* Names an object that was not read in full, and says how it counts. */
static void name_it(struct feed *f, const struct kube_object *o, const char *how, const char *why)
{
    const struct clock *clock = f->clock != NULL ? f->clock : clock_system();
    uint64_t withheld;

    unreadable_note(f->unreadable, o, why, clock_wall_ms(clock));
    if (warn_limit_take(f->rules->ingest.warnings, o->pod != NULL ? o->pod->uid : o->node->name, how, &withheld)) {
        LOG_WARNING(f->rules->ingest.log, how, LOG_CSTR("resource", kube_resource_name(f->resource)),
                    LOG_STR("namespace", o->pod != NULL ? o->pod->namespace_ : STR_NULL),
                    LOG_STR("name", o->pod != NULL ? o->pod->name : o->node->name), LOG_CSTR("err", why),
                    LOG_I64("warningsWithheld", (int64_t)withheld));
    }
}

/* An object we cannot read in full: counted for the most it could be. */
static int take_unusable(struct feed *f, const struct kube_object *o, const struct err *cause, struct err *reterr)
{
    f->traces += f->lists && o->pod != NULL;
    name_it(f, o, "An object of the cluster cannot be read; it counts for the most that it could be", cause->msg);
    return ingest_unusable(&f->rules->ingest, o, reterr);
}

static void take_note(struct feed *f, const struct kube_object *o)
{
    struct err why;

    if (o->cut_bytes == 0) {
        unreadable_clear(f->unreadable, o);
        return;
    }
    err_set(&why, ERR_LIMIT, "%" PRIu64 " bytes of JSON", o->cut_bytes);
    name_it(f, o, "An object of the cluster is too large to keep; it counts for what could be read of it", why.msg);
}

/* Any resource that some plugin or extender counts: names of an earlier configuration are among them. */
static bool asks_extended(const struct pod *pod)
{
    for (size_t i = 0; i < pod->init_container_n + pod->container_n; i++) {
        const struct kv_list limits = pod_container(pod, i)->limits;

        for (size_t k = 0; k < limits.n; k++) {
            if (memchr(limits.items[k].key.p, '/', limits.items[k].key.n) != NULL) {
                return true;
            }
        }
    }
    return false;
}

static bool is_trace(const struct feed *f, const struct pod *pod)
{
    return kv_find(pod->annotations, STR(ASSIGNMENT_KEY)) != NULL ||
           (pod->node_name.n == 0 && !pod_is_terminal(pod) &&
            (asks_extended(pod) || dialect_claims_pod(f->rules->placement.policy, pod) ||
             store_knows_pod(f->rules->ingest.store, pod->uid)));
}

static void object(void *ctx, const struct kube_object *o)
{
    struct feed *f = ctx;
    struct err why, again;

    if (ingest_object(&f->rules->ingest, &f->arena, o, &why) == 0) {
        take_note(f, o);
        f->traces += f->lists && o->pod != NULL && (o->cut_bytes > 0 || is_trace(f, o->pod));
    } else if (take_unusable(f, o, &why, &again) != 0) {
        fail(f, o, &again);
    }
    arena_reset(&f->arena);
}

static void deleted(void *ctx, const struct kube_object *o)
{
    struct feed *f = ctx;
    struct err why;

    unreadable_clear(f->unreadable, o);
    if (ingest_gone(&f->rules->ingest, o, &why) != 0) {
        fail(f, o, &why);
    }
}

static void unusable(void *ctx, const struct kube_object *o, bool is_gone, const struct err *why)
{
    struct feed *f = ctx;
    struct err again;

    if (is_gone) {
        deleted(f, o);
    } else if (take_unusable(f, o, why, &again) != 0) {
        fail(f, o, &again);
    }
}

static void synced(void *ctx)
{
    struct feed *f = ctx;

    if (f->synced != NULL) {
        f->synced(f->ctx, f->resource);
    }
}

struct reflector_handler feed_handler(struct feed *f)
{
    return (struct reflector_handler){
        .list_begin = list_begin,
        .object = object,
        .deleted = deleted,
        .unusable = unusable,
        .list_end = list_end,
        .synced = synced,
        .ctx = f,
    };
}
