#include "cmd/runtime_internal.h"

#include "cmd/telemetry.h"
#include "extender/plan_nodes.h"
#include "extender/planner.h"

static void send_patch(void *ctx, struct planner *p, struct planner_call *call, const struct nomination *n)
{
    const struct runtime *s = ctx;

    planner_patch_send(s->client, p, call, n);
}

static size_t choose_nodes(void *ctx, struct planner_question *q)
{
    const struct runtime *s = ctx;

    return plan_nodes_choose(s->plan_nodes, s->policies, q);
}

static void promise(void *ctx, const struct waiting_pod *pod, struct str node_name)
{
    const struct runtime *s = ctx;
    const struct rules *rules = policy_set_take(s->policies);

    if (node_name.n == 0) {
        store_tentative_end(rules->placement.store, pod->uid);
    } else if (rules->placement.policy->tentative_ms > 0) {
        store_tentative(rules->placement.store, pod->uid, node_name, pod->demand, PLANNER_KEPT_MS + PLANNER_BLOCK_MS);
    }
    rules_put(rules);
}

/* Also where planning is off: what an earlier process nominated is taken back. */
int runtime_new_planner(struct runtime *s, struct err *reterr)
{
    const struct planner_options o = {.clock = s->options.clock,
                                      .log = s->options.log,
                                      .ctx = s,
                                      .send = send_patch,
                                      .choose = choose_nodes,
                                      .promise = promise};

    (void)reterr;
    if (!s->options.rehearses) {
        s->plan_nodes = plan_nodes_new();
        s->planner = planner_new(&o);
    }
    return 0;
}

int runtime_start_planner(struct runtime *s, struct err *reterr)
{
    if (s->planner == NULL) {
        return 0;
    }
    planner_enable(s->planner, s->options.config->policy.plan_ahead);
    metrics_add_collector(s->telemetry->metrics, telemetry_planner, s->planner);
    return s->election == NULL ? planner_start(s->planner, reterr) : 0;
}

void runtime_stop_planner(struct runtime *s)
{
    planner_stop(s->planner);
}

void runtime_free_planner(struct runtime *s)
{
    planner_free(s->planner);
    plan_nodes_free(s->plan_nodes);
}
