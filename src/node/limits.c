#include "node/limits.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "node/grant.h"

#include <string.h>

#define ENV_MAX (2 * DEVICES_PER_NODE_MAX + 4)
#define MOUNTS_MAX 3
#define VALUE_BYTES_MAX 16384 /* a list of all devices of a node */
#define BYTES_PER_MIB (UINT64_C(1) << 20)

static const char *const kind_names[LIMITS__MAX] = {
    [LIMITS_AUTO] = "auto",           [LIMITS_DRIVER] = "driver", [LIMITS_MPS] = "mps",
    [LIMITS_HAMI_CORE] = "hami-core", [LIMITS_WATCH] = "watch",   [LIMITS_NONE] = "none",
};

const char *limits_kind_name(enum limits_kind k)
{
    return kind_names[k];
}

bool limits_kind_parse(struct str name, enum limits_kind *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_names); i++) {
        if (str_eq_cstr(name, kind_names[i])) {
            *ret = (enum limits_kind)i;
            return true;
        }
    }
    return false;
}

/* ---- which kind ---- */

static const char *why_driver_cannot(const struct limits_node *node)
{
    if (!node->driver_can) {
        return "the driver's library has no nvmlDeviceSetMemoryLimits_v1; it takes driver r615 or later";
    }
    if (node->no_cgroups) {
        return "the folder of --cgroup-root is not there; it takes the host's /sys/fs/cgroup";
    }
    if (!node->cgroup2) {
        return "the cgroups of this node are of version 1; the driver's limits take version 2";
    }
    if (!node->host_pids) {
        return "fgpu-node does not see the processes of containers; it takes hostPID: true";
    }
    if (!node->start_fails) {
        return "this container runtime starts containers also when a plugin refuses their start; it takes containerd";
    }
    return node->trial;
}

enum limits_kind limits_choose(enum limits_kind wanted, const struct limits_node *node, const char **ret_why)
{
    *ret_why = wanted == LIMITS_AUTO || wanted == LIMITS_DRIVER ? why_driver_cannot(node) : NULL;
    if (wanted != LIMITS_AUTO) {
        return wanted;
    }
    return *ret_why == NULL ? LIMITS_DRIVER : LIMITS_WATCH;
}

/* ---- how much ---- */

/* Whose memory and compute nobody shares. */
static bool is_alone(const struct assigned_device *d)
{
    return d->exclusive || d->profile != 0;
}

static bool has_memory_limit(const struct assigned_device *d)
{
    return !is_alone(d) && d->mem_mib > 0;
}

static bool any(const struct hand_over *h, bool (*is)(const struct assigned_device *d))
{
    for (size_t i = 0; i < h->device_n; i++) {
        if (is(&h->devices[i])) {
            return true;
        }
    }
    return false;
}

static bool is_shared(const struct assigned_device *d)
{
    return !is_alone(d);
}

static bool is_gpu(const struct assigned_device *d)
{
    return d->profile == 0;
}

/* 1 to 100 of a device; 100: all of it. A device for which no compute was charged shares all of it. */
static int32_t percentage_of(const struct hand_over *h, const struct assigned_device *d)
{
    const bool all = h->qos != QOS_FIXED_SHARE || is_alone(d) || d->milli == 0 || d->milli >= DEVICE_MILLI;

    if (all) {
        return 100;
    }
    return d->milli < 10 ? 1 : d->milli / 10;
}

static int32_t smallest_percentage(const struct hand_over *h)
{
    int32_t least = 100;

    for (size_t i = 0; i < h->device_n; i++) {
        const int32_t p = percentage_of(h, &h->devices[i]);

        least = p < least ? p : least;
    }
    return least;
}

/* ---- what is added to a container ---- */

struct draft {
    const struct pod_facts *pod;
    const struct container_facts *c;
    struct arena *arena;
    struct kv *env;
    size_t env_n;
    struct limits_mount *mounts;
    size_t mount_n;
    bool refused, full;
    struct str why;
};

static void refuse(struct draft *d, struct str why)
{
    if (!d->refused) {
        d->refused = true;
        d->why = grant_sentence(why);
    }
}

/* Twice, and not to this value alone. */
static bool cannot_be_set(const struct container_facts *c, struct str key, struct str value)
{
    bool all_same = true;
    size_t n = 0;

    for (size_t i = 0; i < c->env_n; i++) {
        const struct str e = c->env[i];

        if (e.n > key.n && e.p[key.n] == '=' && str_starts(e, key)) {
            n++;
            all_same = all_same && str_eq(str_drop(e, key.n + 1), value);
        }
    }
    return n >= 2 && !all_same;
}

/* A value that did not fit is STR_NULL. */
static void set(struct draft *d, struct str key, struct str value)
{
    if (key.p == NULL || value.p == NULL) {
        refuse(d, STR_NULL);
    } else if (cannot_be_set(d->c, key, value)) {
        refuse(d, arena_printf(d->arena,
                               "image and pod both set %.*s for container %.*s of pod %.*s/%.*s, and then this node's "
                               "container runtime takes no other value; take the variable out of the pod",
                               STR_ARG(key), STR_ARG(d->c->name), STR_ARG(d->pod->namespace_), STR_ARG(d->pod->name)));
    } else {
        d->env[d->env_n++] = (struct kv){key, value};
    }
}

static void set_number(struct draft *d, struct str key, int64_t number)
{
    set(d, key, arena_printf(d->arena, "%lld", (long long)number));
}

/* Without repeated slashes, "." and "..", as a runtime mounts it; STR_NULL: the arena is full. */
static struct str clean(struct arena *a, struct str path)
{
    char *to = arena_alloc(a, path.n + 1);
    struct str rest = path, part;
    size_t n = 0;

    if (to == NULL) {
        return STR_NULL;
    }
    while (str_split(&rest, '/', &part)) {
        if (part.n == 0 || str_eq(part, STR("."))) {
            continue;
        }
        if (str_eq(part, STR(".."))) {
            while (n > 0 && to[--n] != '/') {
            }
            continue;
        }
        to[n++] = '/';
        memcpy(to + n, part.p, part.n);
        n += part.n;
    }
    return (struct str){to, n};
}

static bool is_at_or_below(struct str path, struct str dir)
{
    return str_starts(path, dir) && (path.n == dir.n || path.p[dir.n] == '/');
}

/* The runtime replaces what stands at the same place; `taken` says that this is no mistake of the pod's. */
static void mount(struct draft *d, struct str source, struct str destination, bool read_only, bool taken)
{
    for (size_t i = 0; i < d->c->mount_n && !taken; i++) {
        const struct str to = clean(d->arena, d->c->mounts[i]);

        if (to.p == NULL) {
            refuse(d, STR_NULL);
        } else if (is_at_or_below(to, destination)) {
            refuse(d, arena_printf(d->arena,
                                   "container %.*s of pod %.*s/%.*s has a mount at %.*s, where the limits of its GPUs "
                                   "need one; take it out of the pod",
                                   STR_ARG(d->c->name), STR_ARG(d->pod->namespace_), STR_ARG(d->pod->name),
                                   STR_ARG(destination)));
        }
    }
    if (source.p == NULL) {
        refuse(d, STR_NULL);
    } else {
        d->mounts[d->mount_n++] = (struct limits_mount){source, destination, read_only};
    }
}

/* ---- MPS ---- */

/* Numbered as CUDA numbers them: by their place in the list of visible devices. One entry for a device that is not
 * visible would make CUDA drop all. */
static struct str mps_memory(const struct hand_over *h, struct arena *a)
{
    struct strbuf text;
    struct str value;

    strbuf_init(&text, VALUE_BYTES_MAX);
    for (size_t i = 0; i < h->device_n; i++) {
        if (has_memory_limit(&h->devices[i])) {
            strbuf_addf(&text, "%s%zu=%lldM", text.n > 0 ? "," : "", i, (long long)h->devices[i].mem_mib);
        }
    }
    value = text.overflowed ? STR_NULL : arena_str(a, strbuf_view(&text));
    strbuf_fini(&text);
    return value;
}

static struct str list_uuids(const struct hand_over *h, struct arena *a)
{
    struct strbuf text;
    struct str value;

    strbuf_init(&text, VALUE_BYTES_MAX);
    for (size_t i = 0; i < h->device_n; i++) {
        if (i > 0) {
            strbuf_add_char(&text, ',');
        }
        strbuf_add_str(&text, h->devices[i].uuid);
    }
    value = text.overflowed ? STR_NULL : arena_str(a, strbuf_view(&text));
    strbuf_fini(&text);
    return value;
}

/* Who has a GPU alone goes through the daemon, too: the GPUs of such a node are in the compute mode in which only one
 * process, the daemon's, may use them. */
static void add_mps(struct draft *d, const struct limits_rules *rules, const struct hand_over *h)
{
    const struct str memory = mps_memory(h, d->arena);

    mount(d, arena_printf(d->arena, "%.*s/pipe", STR_ARG(rules->mps_dir)), STR(LIMITS_MPS_PIPE_DIR), false, false);
    mount(d, arena_printf(d->arena, "%.*s/shm", STR_ARG(rules->mps_dir)), STR(LIMITS_MPS_SHM_DIR), false, true);
    set(d, STR("CUDA_MPS_PIPE_DIRECTORY"), STR(LIMITS_MPS_PIPE_DIR));
    set_number(d, STR("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), smallest_percentage(h));
    if (memory.n > 0 || memory.p == NULL) {
        set(d, STR("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), memory);
    }
    if (h->device_n > 1) { /* the order and that all are visible */
        set(d, STR("CUDA_VISIBLE_DEVICES"), list_uuids(h, d->arena));
    }
}

/* ---- HAMi-core ---- */

static void add_hami_core(struct draft *d, const struct limits_rules *rules, const struct hand_over *h)
{
    mount(d, rules->hami_library, STR(LIMITS_HAMI_LIBRARY), true, false);
    mount(d, arena_printf(d->arena, "%.*s/ld.so.preload", STR_ARG(rules->hami_dir)), STR(LIMITS_HAMI_PRELOAD), true,
          false);
    mount(d, arena_printf(d->arena, "%.*s/lock", STR_ARG(rules->hami_dir)), STR(LIMITS_HAMI_LOCK_DIR), false, false);
    set(d, STR("CUDA_DISABLE_CONTROL"), STR("false"));
    set(d, STR("GPU_CORE_UTILIZATION_POLICY"), STR("force"));
    set(d, STR("CUDA_DEVICE_MEMORY_SHARED_CACHE"), STR("/tmp/cudevshr.cache"));
    if (h->device_n > 1) { /* that of the driver's numbers, in which the record lists them */
        set(d, STR("CUDA_DEVICE_ORDER"), STR("PCI_BUS_ID"));
    }
    for (size_t i = 0; i < h->device_n; i++) {
        const struct assigned_device *device = &h->devices[i];

        /* 0 is no limit, and keeps one that the pod sets from counting. */
        set(d, arena_printf(d->arena, "CUDA_DEVICE_MEMORY_LIMIT_%zu", i),
            arena_printf(d->arena, "%lldm", has_memory_limit(device) ? (long long)device->mem_mib : 0));
        set_number(d, arena_printf(d->arena, "CUDA_DEVICE_SM_LIMIT_%zu", i), percentage_of(h, device));
    }
}

/* ---- when a container is created ---- */

static struct limits refused(struct str why)
{
    return (struct limits){.why = grant_sentence(why)};
}

static struct limits unable(const struct limits_rules *rules, const struct pod_facts *pod,
                            const struct container_facts *c, struct arena *a)
{
    return refused(arena_printf(a,
                                "container %.*s of pod %.*s/%.*s needs a limit, and --limits=%s cannot hold it on this "
                                "node: %s; the node's admin has to choose another kind",
                                STR_ARG(c->name), STR_ARG(pod->namespace_), STR_ARG(pod->name),
                                limits_kind_name(rules->kind), rules->why_not));
}

struct limits limits_at_creation(const struct limits_rules *rules, const struct pod_facts *pod,
                                 const struct container_facts *c, const struct hand_over *h, struct arena *a)
{
    struct draft d = {.pod = pod, .c = c, .arena = a};

    if (h->answer != HAND_OVER_DEVICES) {
        return (struct limits){.mount_n = 0};
    }
    if (rules->why_not != NULL) {
        return any(h, has_memory_limit) ? unable(rules, pod, c, a) : (struct limits){.mount_n = 0};
    }
    d.env = ARENA_ARRAY(a, ENV_MAX, struct kv);
    d.mounts = ARENA_ARRAY(a, MOUNTS_MAX, struct limits_mount);
    if (d.env == NULL || d.mounts == NULL) {
        return refused(STR_NULL);
    }
    if (rules->kind == LIMITS_MPS && any(h, is_gpu)) {
        add_mps(&d, rules, h);
    } else if (rules->kind == LIMITS_HAMI_CORE && any(h, is_shared)) {
        add_hami_core(&d, rules, h);
    }
    return d.refused ? refused(d.why)
                     : (struct limits){.env = {d.env, d.env_n}, .mounts = d.mounts, .mount_n = d.mount_n};
}

/* ---- when it is started ---- */

static struct str uuid_of(const struct node_facts *node, const struct assigned_device *recorded)
{
    const struct device *d = recorded->uuid.n > 0 ? NULL : node_facts_device(node, recorded);

    return d != NULL ? d->uuid : recorded->uuid;
}

size_t limits_at_start(enum limits_kind kind, const struct node_facts *node, const struct assigned_device *devices,
                       size_t n, struct limits_memory *ret)
{
    size_t limit_n = 0;

    for (size_t i = 0; i < n && kind == LIMITS_DRIVER && limit_n < DEVICES_PER_NODE_MAX; i++) {
        if (has_memory_limit(&devices[i])) {
            ret[limit_n++] =
                (struct limits_memory){uuid_of(node, &devices[i]), (uint64_t)devices[i].mem_mib * BYTES_PER_MIB};
        }
    }
    return limit_n;
}
