#include "cmd_node/answers_internal.h"

#include "base/bug.h"
#include "node/doors.h"

#include <stdlib.h>

struct answers *answers_new(const struct node_options *options, const struct log *log)
{
    struct answers *w = xcalloc(1, sizeof(*w));

    mutex_init(&w->lock, "node answers");
    w->options = options;
    w->log = log;
    w->agent = agent_new();
    w->limiting = limiting_new(options, log);
    w->rules.hand_over = (struct hand_over_rules){.way = HAND_OVER_NO_WAY, /* until the runtime says who it is */
                                                  .exempt = options->exempt,
                                                  .exempt_n = options->exempt_n,
                                                  .refuse_privileged = options->refuse_privileged,
                                                  .stand_back = options->stand_back};
    w->rules.node = (struct node_facts){.name = str_of(options->node_name),
                                        .overcommit_milli = options->overcommit_milli,
                                        .overcommit_mem_milli = options->overcommit_mem_milli};
    return w;
}

void answers_free(struct answers *w)
{
    limiting_free(w->limiting);
    agent_free(w->agent);
    sign_keyring_put(w->rules.node.keys);
    free(w->devices);
    free(w->ill);
    mutex_destroy(&w->lock);
    free(w);
}

void answers_set_events(struct answers *w, struct events *events)
{
    w->events = events;
}

void answers_set_doors(struct answers *w, unsigned doors)
{
    w->rules.hand_over.reads_variables = (doors & 1U << DOOR_VARIABLE) != 0;
    w->rules.hand_over.reads_mounts = (doors & 1U << DOOR_MOUNT) != 0;
}

void answers_set_keys(struct answers *w, const struct sign_keyring *keys)
{
    const struct sign_keyring *before;

    mutex_lock(&w->lock);
    before = w->rules.node.keys;
    w->rules.node.keys = sign_keyring_ref(keys);
    mutex_unlock(&w->lock);
    sign_keyring_put(before);
}

void answers_set_devices(struct answers *w, const struct device *devices, size_t n)
{
    struct device *copy = node_facts_copy_devices(devices, n), *before;

    for (size_t i = 0; i < n; i++) { /* the driver does not know how many may share a GPU */
        copy[i].slot_n = copy[i].slot_n < w->options->max_sharers ? copy[i].slot_n : w->options->max_sharers;
    }

    mutex_lock(&w->lock);
    before = w->devices;
    w->devices = copy;
    w->rules.node.devices = copy;
    w->rules.node.device_n = n;
    mutex_unlock(&w->lock);
    free(before);
}

void answers_set_ill(struct answers *w, const struct health_ill *ill, size_t n)
{
    struct health_ill *copy = node_facts_copy_ill(ill, n), *before;

    mutex_lock(&w->lock);
    before = w->ill;
    w->ill = copy;
    w->rules.node.ill = copy;
    w->rules.node.ill_n = n;
    mutex_unlock(&w->lock);
    free(before);
}

size_t answers_pods_on(struct answers *w, struct str uuid, struct arena *a, struct fence_pod *ret, size_t max)
{
    struct device lost = {.uuid = uuid, .index = -1};
    const struct device *device = &lost;
    size_t n;

    mutex_lock(&w->lock);
    for (size_t i = 0; i < w->rules.node.device_n; i++) {
        if (str_eq(w->devices[i].uuid, uuid)) {
            device = &w->devices[i];
        }
    }
    n = fence_pods_on(agent_fence(w->agent), device, ret, max);
    for (size_t i = 0; i < n; i++) {
        ret[i].uid = arena_str(a, ret[i].uid);
        ret[i].namespace_ = arena_str(a, ret[i].namespace_);
        ret[i].name = arena_str(a, ret[i].name);
    }
    mutex_unlock(&w->lock);
    return a->overflowed ? 0 : n;
}

int answers_found_library(struct answers *w, const struct nvml *n, struct err *reterr)
{
    return limiting_found_library(w->limiting, n, reterr);
}

/* The lock is held while the other is asked, so that the younger answer stays. */
void answers_keep_limits(struct answers *w)
{
    enum limits_kind kind;

    mutex_lock(&w->lock);
    kind = limiting_kind(w->limiting, w->not_by_driver);
    w->limits = w->runtime[0] != '\0' ? limits_kind_name(kind) : NULL;
    mutex_unlock(&w->lock);
}

size_t answers_wanted_limits(void *answers, struct str container_id, struct arena *a,
                             struct limits_memory ret[DEVICES_PER_NODE_MAX])
{
    struct answers *w = answers;
    size_t n;

    mutex_lock(&w->lock);
    n = limiting_wanted(w->limiting, w->agent, &w->rules.node, container_id, a, ret);
    mutex_unlock(&w->lock);
    return n;
}

int answers_look_at_limits(struct answers *w, struct err *reterr)
{
    const int rc = limiting_look(w->limiting, reterr);

    answers_keep_limits(w);
    limiting_running(w->limiting, answers_wanted_limits, w);
    return rc;
}

void answers_on_ready(struct answers *w, void (*ready)(void *ctx), void *ctx)
{
    w->ready = ready;
    w->ready_ctx = ctx;
}

void answers_set_timers(struct answers *w, struct metric *create, struct metric *start)
{
    w->create_time = create;
    w->start_time = start;
}
