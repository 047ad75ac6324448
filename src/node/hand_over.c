#define _GNU_SOURCE /* memmem */
#include "node/hand_over.h"

#include "base/bug.h"
#include "base/printable.h"
#include "base/strbuf.h"
#include "cdi/spec.h"
#include "node/gpu_check.h"

#include <string.h>

#define VARIABLE STR(CDI_VISIBLE_DEVICES)
#define VOLUME_NAME "nvidia-container-devices"
#define VISIBLE_BYTES_MAX (DEVICES_PER_NODE_MAX * (ASSIGNMENT_UUID_BYTES_MAX + 1))

static struct hand_over refused(struct str why)
{
    return (struct hand_over){.answer = HAND_OVER_REFUSED, .why = grant_sentence(why)};
}

/* ---- who is exempt ---- */

bool hand_over_exempts_namespace(const struct hand_over_rules *rules, struct str namespace_)
{
    for (size_t i = 0; i < rules->exempt_n; i++) {
        if (str_eq(rules->exempt[i], namespace_)) {
            return true;
        }
    }
    return false;
}

bool hand_over_exempts(const struct hand_over_rules *rules, const struct pod_facts *pod)
{
    return rules->stand_back || hand_over_exempts_namespace(rules, pod->namespace_);
}

bool hand_over_sees_others(const struct container_facts *c)
{
    for (size_t i = 0; i < c->cdi_n; i++) {
        if (cdi_name_is_of_gpu_vendor(c->cdi[i])) {
            return true;
        }
    }
    return c->plugin_gpu;
}

/* ---- the variable ---- */

/* How often it is set; the last value, which wins in the container. */
static size_t count_variable(const struct container_facts *c, struct str *ret_last)
{
    size_t n = 0;

    *ret_last = STR_NULL;
    for (size_t i = 0; i < c->env_n; i++) {
        const struct str e = c->env[i];

        if (e.n > VARIABLE.n && str_starts(e, VARIABLE) && e.p[VARIABLE.n] == '=') {
            *ret_last = str_drop(e, VARIABLE.n + 1);
            n++;
        }
    }
    return n;
}

/* Values that show no GPU. */
static bool shows_nothing(struct str value)
{
    return value.n == 0 || str_eq(value, STR(CDI_VOID_VALUE)) || str_eq(value, STR("none"));
}

/* Set twice, by image and pod, it cannot be set again: the runtime keeps the pod's value. */
static struct hand_over set_variable(const struct container_facts *c, struct hand_over h, struct str value,
                                     struct arena *a)
{
    struct str last;

    if (count_variable(c, &last) < 2) {
        h.env = (struct kv){VARIABLE, value};
        return h;
    }
    if (str_eq(last, value)) {
        return h;
    }
    if (h.answer == HAND_OVER_VOID && shows_nothing(last)) {
        h.answer = HAND_OVER_NOTHING;
        return h;
    }
    return refused(arena_printf(a,
                                "image and pod both set " CDI_VISIBLE_DEVICES
                                " for container %.*s, and then this node's "
                                "container runtime takes no other value; take the variable out of the pod",
                                STR_ARG(c->name)));
}

/* ---- who asks NVIDIA's runtime past us ---- */

/* Wherever it stands: the runtime cleans a path like /x/../var/run//nvidia-container-devices/all first. */
static bool asks_by_mount(const struct container_facts *c)
{
    for (size_t i = 0; i < c->mount_n; i++) {
        const struct str to = c->mounts[i];

        if (to.n > 0 && memmem(to.p, to.n, VOLUME_NAME, sizeof(VOLUME_NAME) - 1) != NULL) {
            return true;
        }
    }
    return false;
}

static struct hand_over refuse_mount(const struct container_facts *c, struct arena *a)
{
    return refused(arena_printf(a,
                                "container %.*s has a mount at /var/run/nvidia-container-devices, which asks NVIDIA's "
                                "runtime for GPUs that fgpu did not give it; take the volume out of the pod, or, where "
                                "a device plugin mounts it, run fgpu-node with --stand-back",
                                STR_ARG(c->name)));
}

/* ---- what is granted ---- */

/* NULL, or what is wrong with this device of this node; it goes behind "GPU X of the record". */
static const char *unusable(const struct node_facts *node, const struct device *d,
                            const struct assigned_device *recorded, char words[HEALTH_WORDS_BYTES])
{
    const struct health_verdict *illness = node_facts_illness(node, d != NULL ? d->uuid : recorded->uuid);

    if (illness != NULL) {
        return health_words(*illness, words);
    }
    if (d == NULL) {
        return "is not on this node";
    }
    if (d->profile == DEVICE_IN_MIG_MODE) {
        return "is in MIG mode, so nobody can have it whole";
    }
    if (d->profile != recorded->profile) {
        return "is now another MIG instance";
    }
    return d->healthy ? NULL : "is not healthy";
}

static bool named_before(const struct assigned_device *devices, size_t n, struct str uuid)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(devices[i].uuid, uuid)) {
            return true;
        }
    }
    return false;
}

static struct hand_over refuse_device(const struct node_facts *node, const struct pod_facts *pod,
                                      const struct assigned_device *recorded, const char *why, struct arena *a)
{
    struct str uuid = printable(a, recorded->uuid); /* whoever described the node wrote it */

    return refused(arena_printf(
        a,
        "GPU %.*s (index %d), which fgpu gave to pod %.*s/%.*s on node %.*s, %s; delete the pod so "
        "that it is placed again",
        STR_ARG(uuid), recorded->index, STR_ARG(pod->namespace_), STR_ARG(pod->name), STR_ARG(node->name), why));
}

/* The granted devices as this node knows them. */
static struct hand_over find_devices(const struct node_facts *node, const struct pod_facts *pod, const struct grant *g,
                                     struct arena *a)
{
    struct assigned_device *devices = ARENA_ARRAY(a, g->device_n, struct assigned_device);

    if (devices == NULL) {
        return refused(STR_NULL);
    }
    for (size_t i = 0; i < g->device_n; i++) {
        const struct assigned_device *recorded = &g->devices[i];
        const struct device *d = node_facts_device(node, recorded);
        char words[HEALTH_WORDS_BYTES];
        const char *why = unusable(node, d, recorded, words);

        if (why == NULL && named_before(devices, i, d->uuid)) {
            why = "is named twice in the record of one container";
        }
        if (why != NULL) {
            return refuse_device(node, pod, recorded, why, a);
        }
        devices[i] = *recorded;
        devices[i].uuid = d->uuid;
    }
    return (struct hand_over){.answer = HAND_OVER_DEVICES, .devices = devices, .device_n = g->device_n, .qos = g->qos};
}

static struct hand_over give_by_cdi(struct hand_over h, struct arena *a)
{
    struct str *names = ARENA_ARRAY(a, h.device_n + 1, struct str);

    if (names == NULL) {
        return refused(STR_NULL);
    }
    names[0] = STR(CDI_VOID);
    for (size_t i = 0; i < h.device_n; i++) {
        names[i + 1] = cdi_gpu_name(a, h.devices[i].uuid);
        if (names[i + 1].p == NULL) {
            return refused(STR_NULL);
        }
    }
    h.cdi = names;
    h.cdi_n = h.device_n + 1;
    return h;
}

static struct hand_over give_by_env(const struct container_facts *c, struct hand_over h, struct arena *a)
{
    struct strbuf text;
    struct str value;

    strbuf_init(&text, VISIBLE_BYTES_MAX);
    for (size_t i = 0; i < h.device_n; i++) {
        if (i > 0) {
            strbuf_add_char(&text, ',');
        }
        strbuf_add_str(&text, h.devices[i].uuid);
    }
    value = text.overflowed ? STR_NULL : arena_str(a, strbuf_view(&text));
    strbuf_fini(&text);
    return value.p == NULL ? refused(STR_NULL) : set_variable(c, h, value, a);
}

static struct hand_over give(const struct hand_over_rules *rules, const struct node_facts *node,
                             const struct pod_facts *pod, const struct container_facts *c, const struct grant *g,
                             struct arena *a)
{
    struct hand_over h;
    struct str why;

    if (hand_over_sees_others(c)) {
        return refused(
            arena_printf(a,
                         "container %.*s of pod %.*s/%.*s has GPUs from a device plugin or a ResourceClaim beside "
                         "those that fgpu gave it; ask for GPUs in one way only",
                         STR_ARG(c->name), STR_ARG(pod->namespace_), STR_ARG(pod->name)));
    }
    if (asks_by_mount(c)) {
        return refuse_mount(c, a);
    }
    h = find_devices(node, pod, g, a);
    if (h.answer != HAND_OVER_DEVICES) {
        return h;
    }
    if (!gpu_check(node, pod, c, h.devices, h.device_n, false, a, &why)) {
        return refused(why);
    }
    switch (rules->way) {
    case HAND_OVER_BY_CDI:
        return give_by_cdi(h, a);
    case HAND_OVER_BY_ENV:
        return give_by_env(c, h, a);
    case HAND_OVER_NO_WAY:
        break;
    }
    return refused(
        arena_printf(a,
                     "the container runtime of node %.*s ignores the devices that fgpu-node answers; it takes "
                     "containerd 2.1, CRI-O 1.34, or NVIDIA's container runtime as the default one",
                     STR_ARG(node->name)));
}

/* ---- who has none ---- */

static struct hand_over hide(const struct hand_over_rules *rules, const struct container_facts *c, struct arena *a)
{
    static const struct str names[] = {{CDI_VOID, sizeof(CDI_VOID) - 1}};
    struct hand_over h = {.answer = HAND_OVER_VOID};

    switch (rules->way) {
    case HAND_OVER_BY_CDI:
        h.cdi = names;
        h.cdi_n = ARRAY_LEN(names);
        return h;
    case HAND_OVER_BY_ENV:
        return set_variable(c, h, STR(CDI_VOID_VALUE), a);
    case HAND_OVER_NO_WAY:
        break;
    }
    return (struct hand_over){.answer = HAND_OVER_NOTHING};
}

bool hand_over_is_hidden(const struct hand_over_rules *rules, const struct container_facts *c)
{
    struct str last = STR_NULL;

    if (rules->way == HAND_OVER_NO_WAY) {
        return true;
    }
    return !(rules->reads_mounts && asks_by_mount(c)) && (count_variable(c, &last) == 0 || shows_nothing(last));
}

/* By UUID or by index; NULL: it may mean any GPU ("all", a MIG instance by its place). */
static const struct device *device_of_word(const struct node_facts *node, struct str word)
{
    uint64_t index = 0;
    const bool is_index = str_to_u64(word, INT32_MAX, &index);

    for (size_t i = 0; i < node->device_n; i++) {
        const struct device *d = &node->devices[i];

        if (d->minor >= 0 && (is_index ? d->index == (int32_t)index : str_eq(d->uuid, word))) {
            return d;
        }
    }
    return NULL;
}

static void open_all(struct gpu_nodes *nodes)
{
    for (int minor = 0; minor < GPU_NODES_MINORS; minor++) {
        gpu_nodes_open(nodes, GPU_NODES_MAJOR, minor);
    }
}

struct gpu_nodes hand_over_made_by_runtime(const struct hand_over_rules *rules, const struct node_facts *node,
                                           const struct container_facts *c)
{
    struct gpu_nodes nodes = {.everything = false};
    struct str rest, word;

    if (rules->reads_mounts && !rules->stand_back && asks_by_mount(c)) {
        open_all(&nodes); /* the names of the mounts say which; nearly nobody does this, so nobody needs to know */
        return nodes;
    }
    if (rules->stand_back || !(rules->reads_variables || rules->way == HAND_OVER_BY_ENV) ||
        hand_over_is_hidden(rules, c)) {
        return nodes;
    }
    (void)count_variable(c, &rest);
    while (str_split(&rest, ',', &word)) {
        const struct device *d = device_of_word(node, str_trim(word));

        if (d != NULL) {
            gpu_nodes_open(&nodes, GPU_NODES_MAJOR, d->minor);
            continue;
        }
        open_all(&nodes);
    }
    return nodes;
}

bool hand_over_allows_none(const struct hand_over_rules *rules, const struct node_facts *node,
                           const struct pod_facts *pod, const struct container_facts *c, struct arena *a,
                           struct str *ret_why)
{
    if (rules->way == HAND_OVER_NO_WAY || (c->gpus.everything && !rules->refuse_privileged)) {
        return true;
    }
    return gpu_check(node, pod, c, NULL, 0, false, a, ret_why);
}

static struct hand_over hide_unless_it_has(const struct hand_over_rules *rules, const struct node_facts *node,
                                           const struct pod_facts *pod, const struct container_facts *c,
                                           struct arena *a)
{
    struct str why;

    if (rules->way != HAND_OVER_NO_WAY && asks_by_mount(c)) {
        return refuse_mount(c, a);
    }
    return hand_over_allows_none(rules, node, pod, c, a, &why) ? hide(rules, c, a) : refused(why);
}

struct hand_over hand_over_decide(const struct hand_over_rules *rules, const struct node_facts *node,
                                  const struct pod_facts *pod, const struct container_facts *c, struct arena *a)
{
    const struct grant g = grant_of(node, pod, c->name, a);

    switch (g.kind) {
    case GRANT_REFUSED:
        return refused(g.why);
    case GRANT_DEVICES:
        return give(rules, node, pod, c, &g, a);
    case GRANT_NOTHING:
        break;
    }
    if (hand_over_exempts(rules, pod) || hand_over_sees_others(c)) {
        return (struct hand_over){.answer = HAND_OVER_NOTHING};
    }
    return hide_unless_it_has(rules, node, pod, c, a);
}
