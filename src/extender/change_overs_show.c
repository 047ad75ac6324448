/* What /state and the metrics say of change-overs. */
#include "extender/change_overs_internal.h"

void change_overs_count(struct change_overs *c, struct change_overs_counts *ret)
{
    const int64_t now_ms = clock_wall_ms(c->o.clock);

    *ret = (struct change_overs_counts){.longest_ms = 0};
    mutex_lock(&c->lock);
    for (size_t i = 0; i < c->group_n; i++) {
        const struct change_over_now *g = c->groups[i];

        ret->at[g->machine.step]++;
        if (!change_over_step_is_last(g->machine.step) && now_ms - g->began_ms > ret->longest_ms) {
            ret->longest_ms = now_ms - g->began_ms;
        }
    }
    mutex_unlock(&c->lock);
}

static const struct pool_pod *copy_pods(const struct change_over_now *g, struct arena *a)
{
    struct pool_pod *pods = ARENA_ARRAY(a, g->shown_n + 1, struct pool_pod);

    for (size_t i = 0; pods != NULL && i < g->shown_n; i++) {
        pods[i] = (struct pool_pod){.uid = arena_str(a, g->pods[i].uid),
                                    .namespace_ = arena_str(a, g->pods[i].namespace_),
                                    .name = arena_str(a, g->pods[i].name),
                                    .node_name = arena_str(a, g->pods[i].node_name)};
    }
    return pods;
}

/* Of the pods of one group, asked without our lock. */
static void copy_troubles(const struct change_overs *c, struct arena *a, struct change_over_status *s)
{
    struct str *troubles = ARENA_ARRAY(a, s->shown_n + 1, struct str);

    for (size_t i = 0; troubles != NULL && s->pods != NULL && i < s->shown_n; i++) {
        char text[EVICTION_TROUBLE_MAX] = "";

        if (c->o.trouble != NULL) {
            c->o.trouble(c->o.evictions, s->pods[i].uid, text);
        }
        troubles[i] = arena_str(a, str_of(text));
    }
    s->troubles = troubles;
}

size_t change_overs_list(struct change_overs *c, struct arena *a, const struct change_over_status **ret)
{
    struct change_over_status *list;
    size_t n;

    if (c == NULL) {
        return 0;
    }
    mutex_lock(&c->lock);
    n = c->group_n;
    list = ARENA_ARRAY(a, n + 1, struct change_over_status);
    for (size_t i = 0; list != NULL && i < n; i++) {
        const struct change_over_now *g = c->groups[i];

        list[i] = (struct change_over_status){
            .group = arena_str(a, str_of(g->name)),
            .step = g->machine.step,
            .since_ms = g->machine.since_ms,
            .began_ms = g->began_ms,
            .wanted = arena_str(a, change_overs_pool_name(g, g->machine.wanted)),
            .admitted = arena_str(a, change_overs_pool_name(g, g->machine.admitted)),
            .pod_n = g->pod_n,
            .pods = copy_pods(g, a),
            .shown_n = g->shown_n,
            .drains = g->drains,
            .failed = arena_str(a, change_overs_pool_name(g, g->failed)),
            .error = arena_str(a, str_of(g->error)),
        };
    }
    mutex_unlock(&c->lock);
    for (size_t i = 0; list != NULL && !a->overflowed && i < n; i++) {
        copy_troubles(c, a, &list[i]);
    }
    *ret = list;
    return list == NULL || a->overflowed ? 0 : n;
}
