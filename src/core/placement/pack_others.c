/* What depends on others than the node and the pod that asks: pods that are held for the node or nominated to it, what
 * is left to the tenant, and decisions that may still take effect there. Slack is here, too, because it is cheap. None
 * of it is remembered (pack.c), and it is asked of nodes that would fit, mostly of none.
 */
#include "core/placement/pack_internal.h"

#include "core/fit/slack.h"

#include <string.h>

/* Does the demand of the view fit? `n` and `devices` may be a state that the ledger does not have. */
static bool place(const struct ledger_view *v, const struct node_state *n, const struct device_state *devices,
                  const struct pack_params *p)
{
    struct placement at;

    return choice_make(p, n, devices, v->allowed_models, v->pod.demand, &at, NULL) == VERDICT_FITS;
}

/* The same for another pod. It was promised this node, so every model is taken to be allowed. */
static bool place_other(const struct node_state *n, const struct device_state *devices, const struct demand *d,
                        const struct pack_params *p, struct placement *ret)
{
    return choice_make(p, n, devices, NULL, d, ret, NULL) == VERDICT_FITS;
}

/* ---- holds ---- */

static bool is_held(const struct pack_query *q, struct str name)
{
    for (size_t i = 0; i < q->tentative_n; i++) {
        if (str_eq(q->tentatives[i].node_name, name)) {
            return true;
        }
    }
    return false;
}

/* Would the demand still fit if every pod held for this node landed there first? They land one after the other, each
 * on the devices that these strategies choose. A held pod that no longer fits is not coming here and takes nothing. */
static bool fits_beside_tentative(const struct ledger_view *v, const struct node_state *n, struct str name,
                                  const struct pack_query *q)
{
    struct device_state devices[DEVICES_PER_NODE_MAX];
    const struct device_state *live = ledger_view_devices(v, n, devices);
    struct node_state node = *n;
    struct placement at;

    if (live != devices && n->device_n > 0) {
        memcpy(devices, live, n->device_n * sizeof(devices[0]));
    }
    for (size_t i = 0; i < q->tentative_n; i++) {
        const struct demand *held = q->tentatives[i].demand;

        if (str_eq(q->tentatives[i].node_name, name) && place_other(&node, devices, held, q->params, &at)) {
            choice_land(&node, devices, held, &at);
        }
    }
    return place(v, &node, devices, q->params);
}

/* A filter by index modulo PACK_HELD_BITS: false is certain, true is not. */
static bool may_be_held(const struct pack_query *q, uint32_t node)
{
    return (q->held[node % PACK_HELD_BITS / 64] & pack_bit(node)) != 0;
}

/* ---- nominations, tenants, slack ---- */

/* Do the pods nominated to this node still fit once this one has landed as planned? Two states of the node are carried
 * on side by side, both without the pods that are leaving: one with this pod, one without. A nomination that does
 * not fit even without this pod cannot be kept anyway and keeps nobody away. */
static bool keeps_nominations(const struct ledger_view *v, const struct node_state *n, const struct placement *at,
                              const struct pack_params *p)
{
    struct device_state with[DEVICES_PER_NODE_MAX], without[DEVICES_PER_NODE_MAX];
    struct node_state row_with = *n, row_without = *n;
    bool begun = false;

    for (size_t i = 0; i < v->nomination_n; i++) {
        const struct view_nomination *q = &v->nominations[i];
        struct placement there;

        if (q->node != (uint32_t)(n - v->nodes)) {
            continue;
        }
        if (!begun) {
            begun = true;
            row_without = row_with = q->row;
            memcpy(without, q->devices, n->device_n * sizeof(without[0]));
            memcpy(with, q->devices, n->device_n * sizeof(with[0]));
            choice_land(&row_with, with, v->pod.demand, at);
        }
        if (!place_other(&row_without, without, q->demand, p, &there)) {
            continue;
        }
        choice_land(&row_without, without, q->demand, &there);
        if (!place_other(&row_with, with, q->demand, p, &there)) {
            return false;
        }
        choice_land(&row_with, with, q->demand, &there);
    }
    return true;
}

/* The remembered score does not say which devices were chosen, so they are chosen again. Only for nodes with a
 * nomination, which are few. */
static bool stands_in_the_way(const struct ledger_view *v, const struct pack_query *q, uint32_t node)
{
    const struct node_state *n = &v->nodes[node];
    struct placement at;
    int64_t score;

    return ledger_view_is_nominated(v, node) && pack_node(v, n, q->params, &score, &at) == VERDICT_FITS &&
           !keeps_nominations(v, n, &at, q->params);
}

/* Some placement on some node would be too much for the pod's tenant: is the one that is chosen here? True: it is. */
static bool passes_tenant(const struct ledger_view *v, const struct pack_query *q, uint32_t node)
{
    const struct node_state *n = &v->nodes[node];
    struct placement at;
    int64_t score;

    return pack_node(v, n, q->params, &score, &at) == VERDICT_FITS &&
           !holding_fits(tenancy_wanted(v->pod.demand, &at, n, &v->devices[n->first_device]), v->tenant_residual);
}

/* Not remembered: nodes with slices are few, and looking at them is cheap. */
static uint16_t slack_of(const struct ledger_view *v, uint32_t node)
{
    struct device_state buffer[DEVICES_PER_NODE_MAX];
    const struct node_state *n = &v->nodes[node];

    return slack_on(n, ledger_view_devices(v, n, buffer), v->allowed_models, v->pod.demand);
}

/* ---- all of them ---- */

void pack_judge_others(const struct ledger_view *v, const struct pack_query *q, uint32_t node, struct pack_result *r)
{
    if (v->limits_tenant && passes_tenant(v, q, node)) {
        r->verdict = VERDICT_TENANT_LIMIT;
    }
    if (v->slack_matters && r->verdict == VERDICT_FITS) {
        r->slack = slack_of(v, node);
    }
    if (v->nomination_n > 0 && r->verdict == VERDICT_FITS && stands_in_the_way(v, q, node)) {
        r->verdict = VERDICT_NOMINATED;
    }
    if (q->tentative_n > 0 && r->verdict == VERDICT_FITS && may_be_held(q, node) && is_held(q, r->name)) {
        r->demoted = fits_beside_tentative(v, &v->nodes[node], r->name, q) ? PACK_NOT_DEMOTED : PACK_PROMISED;
    }
    if (q->in_doubt != NULL && r->verdict == VERDICT_FITS && (q->in_doubt[node / 64] & pack_bit(node)) != 0) {
        r->demoted = PACK_IN_DOUBT;
    }
}
