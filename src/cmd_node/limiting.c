#include "cmd_node/limiting.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "cmd_node/limit_due.h"
#include "cmd_node/limit_node.h"
#include "node/grant.h"
#include "node/runtime.h"
#include "nvml/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_MS_MIN 250 /* with less patience a call that is fine would be taken for one that hangs */
#define RUNNING_BYTES_MAX (64U << 10)

struct limiting {
    const struct node_options *options;
    const struct log *log;
    struct mutex lock; /* of all that changes, but: */
    struct limits_rules rules;
    struct limits_node node;
    char trial[ERR_MSG_MAX]; /* what went wrong with it */
    bool is_tried;           /* the driver said yes or no, or is not asked */
    bool is_connected;
    bool is_synced;  /* it is known what each container may have */
    unsigned sync_n; /* how often the runtime listed everything */
    struct limit_due due;

    struct mutex telling;        /* of the helper; never together with the other one */
    struct limit_helper *helper; /* NULL: nobody needs it */
};

struct limiting *limiting_new(const struct node_options *options, const struct log *log)
{
    struct limiting *l = xcalloc(1, sizeof(*l));

    mutex_init(&l->lock, "node limiting");
    mutex_init(&l->telling, "node limits telling");
    l->is_tried = true;
    l->options = options;
    l->log = log;
    l->rules = (struct limits_rules){.kind = LIMITS_NONE, /* until the runtime says who it is */
                                     .mps_dir = str_of(options->mps_dir),
                                     .hami_dir = STR(LIMIT_NODE_HAMI_DIR),
                                     .hami_library = str_of(options->hami_library)};
    return l;
}

void limiting_free(struct limiting *l)
{
    limit_helper_free(l->helper);
    limit_due_fini(&l->due);
    mutex_destroy(&l->telling);
    mutex_destroy(&l->lock);
    free(l);
}

/* ---- what this node can ---- */

/* Under the lock, whenever something is learnt. */
static void choose(struct limiting *l)
{
    const char *why;

    if (!l->is_connected) {
        return; /* nobody knows yet what the runtime can */
    }
    l->rules.kind = limits_choose(l->options->limits, &l->node, &why);
    l->rules.why_not = l->rules.kind == LIMITS_DRIVER ? why : NULL; /* what was chosen instead holds */
}

int limiting_found_node(struct limiting *l, const struct limits_node *node, const struct limit_helper_options *helper,
                        struct err *reterr)
{
    const enum limits_kind wanted = l->options->limits;
    const char *why;

    l->node = *node;
    (void)limits_choose(wanted, &l->node, &why);
    if (why == NULL) {
        l->helper = limit_helper_new(helper);
        l->is_tried = false;
        return limiting_look(l, reterr);
    }
    return wanted == LIMITS_AUTO ? 0 : err_set(reterr, ERR_INVALID, "--limits=driver cannot hold here: %s", why);
}

int limiting_found_library(struct limiting *l, const struct nvml *n, struct err *reterr)
{
    const enum limits_kind wanted = l->options->limits;
    const struct limit_helper_options helper = {.nvml_library = nvml_path(n), .cgroup_root = l->options->cgroup_root};
    struct limits_node node = {.driver_can = nvml_can_limit_memory(n),
                               .host_pids = getppid() != 0, /* else our parent is in no namespace of ours */
                               .start_fails = true};

    limit_node_look_at_cgroups(l->options->cgroup_root, &node);
    if (wanted == LIMITS_HAMI_CORE) {
        return limit_node_make_hami_files(reterr);
    }
    return wanted == LIMITS_AUTO || wanted == LIMITS_DRIVER ? limiting_found_node(l, &node, &helper, reterr) : 0;
}

/* What is known now, outside the lock. */
static void say(struct limiting *l)
{
    char why[ERR_MSG_MAX];
    const enum limits_kind kind = limiting_kind(l, why);

    LOG_INFO(l->log, "Keeps containers to their shares of GPUs", LOG_CSTR("by", limits_kind_name(kind)),
             LOG_CSTR("notByDriver", why[0] != '\0' ? why : "-"));
    if (kind == LIMITS_DRIVER && why[0] != '\0') {
        LOG_ERROR(l->log, "The limits of this node cannot hold, so containers that need one are refused",
                  LOG_CSTR("why", why));
    }
}

int limiting_look(struct limiting *l, struct err *reterr)
{
    bool was_said, is_tried, is_connected;
    struct err err;
    int rc;

    mutex_lock(&l->lock);
    is_tried = l->is_tried;
    was_said = l->node.trial != NULL;
    mutex_unlock(&l->lock);
    if (is_tried) {
        return 0;
    }
    mutex_lock(&l->telling);
    rc = limit_helper_try(l->helper, LIMIT_TRY_WITHIN_MS, &err);
    is_tried = rc == 0 || limit_helper_refused(l->helper);
    mutex_unlock(&l->telling);
    mutex_lock(&l->lock);
    l->is_tried = is_tried;
    l->node.trial = rc != 0 ? l->trial : NULL;
    memcpy(l->trial, rc != 0 ? err.msg : "", rc != 0 ? sizeof(l->trial) : 1);
    choose(l);
    is_connected = l->is_connected;
    mutex_unlock(&l->lock);
    if (is_tried && is_connected) {
        say(l);
    } else if (!is_tried && !was_said) {
        LOG_WARNING(l->log, "The driver does not say yet whether it can limit memory; it is tried again",
                    LOG_CSTR("why", err.msg),
                    LOG_CSTR("meanwhile", l->options->limits == LIMITS_AUTO
                                              ? "containers run without, and get theirs then"
                                              : "containers that need a limit are refused"));
    }
    return rc == 0 || !is_tried || l->options->limits == LIMITS_AUTO
               ? 0
               : err_set(reterr, ERR_INVALID, "--limits=driver cannot hold here: %s", err.msg);
}

void limiting_connected(struct limiting *l, const struct nri_runtime *runtime)
{
    enum limits_kind before;
    bool differs;

    mutex_lock(&l->lock);
    before = l->rules.kind;
    l->is_connected = true;
    l->node.start_fails = runtime_start_can_fail(runtime->name);
    choose(l);
    differs = l->rules.kind != before || l->rules.why_not != NULL;
    mutex_unlock(&l->lock);
    if (differs) {
        say(l);
    }
}

enum limits_kind limiting_kind(struct limiting *l, char ret_not_by_driver[ERR_MSG_MAX])
{
    enum limits_kind kind;
    const char *why;

    mutex_lock(&l->lock);
    kind = l->rules.kind;
    (void)limits_choose(l->options->limits, &l->node, &why);
    snprintf(ret_not_by_driver, ERR_MSG_MAX, "%s", why != NULL && l->is_connected ? why : "");
    mutex_unlock(&l->lock);
    return kind;
}

/* ---- when a container is created ---- */

static bool needs_daemon(const struct limits *limits)
{
    return limits->mount_n > 0;
}

static bool add_env(struct nri_adjustment *ret, struct kv_list more, struct arena *a)
{
    struct kv *all = ARENA_ARRAY(a, ret->env.n + more.n, struct kv);

    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < ret->env.n; i++) {
        all[i] = ret->env.items[i];
    }
    for (size_t i = 0; i < more.n; i++) {
        all[ret->env.n + i] = more.items[i];
    }
    ret->env = (struct kv_list){all, ret->env.n + more.n};
    return true;
}

/* Nobody else adds mounts. */
static bool add_mounts(struct nri_adjustment *ret, const struct limits *limits, struct arena *a)
{
    static const struct str writable[] = {{"rbind", 5}, {"rprivate", 8}, {"nosuid", 6}, {"nodev", 5}};
    static const struct str read_only[] = {{"rbind", 5}, {"rprivate", 8}, {"nosuid", 6}, {"nodev", 5}, {"ro", 2}};
    struct nri_mount *mounts = ARENA_ARRAY(a, limits->mount_n, struct nri_mount);

    if (mounts == NULL) {
        return false;
    }
    for (size_t i = 0; i < limits->mount_n; i++) {
        const struct limits_mount *m = &limits->mounts[i];

        mounts[i] = (struct nri_mount){.destination = m->destination,
                                       .type = STR("bind"),
                                       .source = m->source,
                                       .options = m->read_only ? read_only : writable,
                                       .option_n = m->read_only ? ARRAY_LEN(read_only) : ARRAY_LEN(writable)};
    }
    ret->mounts = mounts;
    ret->mount_n = limits->mount_n;
    return true;
}

bool limiting_create(struct limiting *l, const struct pod_facts *pod, const struct container_facts *c,
                     const struct hand_over *h, struct arena *a, struct nri_adjustment *ret, struct str *ret_why)
{
    struct limits_rules rules;
    struct limits limits;

    mutex_lock(&l->lock);
    rules = l->rules;
    if (rules.why_not != NULL) { /* the next trial writes there */
        rules.why_not = arena_cstr(a, str_of(rules.why_not));
        rules.why_not = rules.why_not != NULL ? rules.why_not : "the driver's limits do not hold";
    }
    mutex_unlock(&l->lock);
    limits = limits_at_creation(&rules, pod, c, h, a);
    if (limits.why.p != NULL) {
        *ret_why = limits.why;
        return false;
    }
    if (rules.kind == LIMITS_MPS && needs_daemon(&limits) && !limit_node_has_mps_daemon(rules.mps_dir)) {
        *ret_why = grant_sentence(arena_printf(a,
                                               "container %.*s of pod %.*s/%.*s waits for the MPS daemon of this node, "
                                               "which does not answer at %.*s/pipe/control: without it there would be "
                                               "no limits",
                                               STR_ARG(c->name), STR_ARG(pod->namespace_), STR_ARG(pod->name),
                                               STR_ARG(l->rules.mps_dir)));
        return false;
    }
    if ((limits.env.n > 0 && !add_env(ret, limits.env, a)) || (limits.mount_n > 0 && !add_mounts(ret, &limits, a))) {
        *ret_why = grant_sentence(STR_NULL);
        return false;
    }
    return true;
}

/* ---- when it is started ---- */

/* Under the lock. What is not tried yet may hold. */
static bool may_be_driver(const struct limiting *l)
{
    return l->rules.kind == LIMITS_DRIVER || !l->is_tried;
}

size_t limiting_wanted(struct limiting *l, const struct agent *agent, const struct node_facts *node,
                       struct str container_id, struct arena *a, struct limits_memory ret[DEVICES_PER_NODE_MAX])
{
    struct fence_container c;
    bool may_be;
    size_t n;

    mutex_lock(&l->lock);
    may_be = may_be_driver(l);
    mutex_unlock(&l->lock);
    n = may_be && fence_find(agent_fence(agent), container_id, &c)
            ? limits_at_start(LIMITS_DRIVER, node, c.devices, c.device_n, ret)
            : 0;
    for (size_t i = 0; i < n; i++) {
        ret[i].uuid = arena_str(a, ret[i].uuid); /* the node's may change as soon as nobody holds the lock */
    }
    return n;
}

static int tell(struct limiting *l, struct str container_id, uint32_t pid, const struct limits_memory *limits, size_t n,
                int64_t within_ms, struct err *reterr)
{
    int rc;

    for (size_t i = 0; i < n; i++) {
        if (limits[i].uuid.n == 0) {
            return err_set(reterr, ERR_UNAVAILABLE, "one of its GPUs is not on this node now");
        }
    }
    BUG_ON(l->helper == NULL);
    mutex_lock(&l->telling);
    rc = limit_helper_apply(l->helper, container_id, pid, limits, n, within_ms, reterr);
    mutex_unlock(&l->telling);
    return rc;
}

int limiting_start(struct limiting *l, struct str container_id, uint32_t pid, const struct limits_memory *limits,
                   size_t n, struct err *reterr)
{
    int rc = 0;
    bool waits, is_driver;

    if (n == 0) {
        return 0;
    }
    mutex_lock(&l->lock);
    waits = !l->is_tried;
    is_driver = l->rules.kind == LIMITS_DRIVER;
    if (waits && is_driver) {
        rc = err_set(reterr, ERR_UNAVAILABLE, "the driver does not work yet: %s", l->trial);
    } else if (waits) {
        limit_due_set(&l->due, container_id, pid, LIMIT_DUE);
    }
    mutex_unlock(&l->lock);
    if (waits || !is_driver) {
        return rc;
    }
    rc = tell(l, container_id, pid, limits, n, LIMIT_WITHIN_MS, reterr);
    if (rc == 0) {
        mutex_lock(&l->lock);
        limit_due_set(&l->due, container_id, pid, LIMIT_TOLD);
        mutex_unlock(&l->lock);
    }
    return rc;
}

void limiting_ended(struct limiting *l, struct str container_id)
{
    mutex_lock(&l->lock);
    limit_due_forget(&l->due, container_id);
    mutex_unlock(&l->lock);
}

/* ---- what runs when the agent comes ---- */

void limiting_sync_begin(struct limiting *l)
{
    mutex_lock(&l->lock);
    l->is_synced = false;
    l->sync_n++;
    limit_due_list_begin(&l->due);
    mutex_unlock(&l->lock);
}

void limiting_sync_container(struct limiting *l, struct str id, uint32_t pid)
{
    mutex_lock(&l->lock);
    if (may_be_driver(l) && pid != 0) {
        limit_due_listed(&l->due, id, pid);
    }
    mutex_unlock(&l->lock);
}

void limiting_sync_end(struct limiting *l)
{
    mutex_lock(&l->lock);
    limit_due_list_end(&l->due);
    l->is_synced = true;
    mutex_unlock(&l->lock);
}

/* The next that is due, its name in `a`. */
static bool take(struct limiting *l, struct arena *a, struct str *ret_id, uint32_t *ret_pid, unsigned *ret_sync_n)
{
    bool took;

    mutex_lock(&l->lock);
    took = l->is_synced && l->is_tried && l->rules.kind == LIMITS_DRIVER && limit_due_take(&l->due, ret_id, ret_pid);
    if (took) {
        *ret_id = arena_str(a, *ret_id);
        *ret_sync_n = l->sync_n;
    }
    mutex_unlock(&l->lock);
    return took;
}

/* Nothing was learnt about the container. */
static bool is_for_next_time(int rc)
{
    return rc == -ERR_TIMEOUT || rc == -ERR_INTERNAL;
}

static void settle(struct limiting *l, struct str id, uint32_t pid, unsigned sync_n, size_t n, int rc)
{
    enum limit_due_state state = rc == 0 ? LIMIT_TOLD : LIMIT_REFUSED;

    mutex_lock(&l->lock);
    /* While the runtime lists everything, what is wanted is not known. */
    if (is_for_next_time(rc) || (n == 0 && (!l->is_synced || l->sync_n != sync_n))) {
        state = LIMIT_DUE;
    }
    limit_due_settle(&l->due, id, pid, state);
    mutex_unlock(&l->lock);
}

/* After a call that hangs, or a helper that ended, the others wait for the next time. */
void limiting_running(struct limiting *l, limiting_wanted_of wanted, void *ctx)
{
    const int64_t deadline_ns = clock_mono_ns(clock_system()) + LIMIT_RUNNING_WITHIN_MS * NS_PER_MS;
    struct limits_memory limits[DEVICES_PER_NODE_MAX];
    int64_t left_ms = LIMIT_RUNNING_WITHIN_MS;
    unsigned sync_n;
    struct arena a;
    struct str id;
    uint32_t pid;
    struct err err;
    size_t n;
    int rc = 0;

    arena_init(&a, RUNNING_BYTES_MAX);
    while (!is_for_next_time(rc) && left_ms >= CALL_MS_MIN && take(l, &a, &id, &pid, &sync_n)) {
        n = wanted(ctx, id, &a, limits);
        rc = n == 0 ? 0 : tell(l, id, pid, limits, n, left_ms, &err);
        settle(l, id, pid, sync_n, n, rc);
        if (rc != 0) {
            LOG_ERROR(l->log, "A container that runs may be without its limit of GPU memory", LOG_STR("id", id),
                      LOG_CSTR("why", err.msg));
        }
        arena_reset(&a);
        left_ms = (deadline_ns - clock_mono_ns(clock_system())) / NS_PER_MS;
    }
    arena_fini(&a);
}
