/* fgpu-node: hands each container of a node exactly its GPUs, and keeps any from being used twice.
 *
 * This thread wires the others and waits for the end; meanwhile, every LOOK_SECONDS and on SIGHUP, it reads the keys
 * again, sees that the file of the void device is there, and has each part look at what is its own. That of the plugin
 * answers the container runtime, that of the health watch alone reads GPUs; all threads: src/ARCHITECTURE.md. */
#include "base/clock.h"
#include "base/strbuf.h"
#include "cdi/spec.h"
#include "cmd_node/answers.h"
#include "cmd_node/api.h"
#include "cmd_node/health_watch.h"
#include "cmd_node/limit_helper.h"
#include "cmd_node/limit_wire.h"
#include "cmd_node/ops.h"
#include "cmd_node/doors_look.h"
#include "cmd_node/options.h"
#include "cmd_node/publisher.h"
#include "model/hand_off.h"
#include "nvml/inventory.h"
#include "obs/logsink.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_SECONDS 10
#define DEVICES_BYTES_MAX (1U << 20)
#define PLUGIN_INDEX "10"

struct program {
    struct node_options options;
    const struct log *log;
    struct answers *answers;
    struct ops *ops;
    struct node_api *api; /* NULL: none */
    struct publisher *publisher;
    const struct sign_keyring *keys;
    const char *library; /* of the driver; NULL: none was found yet */
    struct health_watch *health;
    struct nri_plugin *plugin;
    bool said_no_library, has_waited;
    struct err said_keys; /* why they could not be read again; its msg is empty: they could */
    bool driver_asked;    /* atomic: GPUs were read, or there is no driver that works */
    size_t unreadable_n;  /* of the health watch's thread */
};

/* ---- keys ---- */

static void say_keys(const struct program *p, const struct sign_keyring *keys)
{
    const struct sign_public *publics;
    const size_t n = sign_keyring_publics(keys, &publics);
    struct strbuf ids;

    strbuf_init(&ids, SIGN_KEYS_MAX * (SIGN_KEY_ID_LEN + 1));
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&ids, "%s%s", i == 0 ? "" : ",", publics[i].id);
    }
    LOG_INFO(p->log, "Read the public keys", LOG_I64("keys", (int64_t)n), LOG_STR("ids", strbuf_view(&ids)));
    strbuf_fini(&ids);
}

static int read_keys(struct program *p, struct err *reterr)
{
    const struct sign_files files = {.public_keys = p->options.public_keys, .public_key_n = p->options.public_key_n};
    struct sign_keyring *keys;
    int rc = sign_keyring_read(&files, &keys, NULL, reterr);

    if (rc != 0) {
        return rc;
    }
    if (p->keys != NULL && sign_keyring_equal(p->keys, keys)) {
        sign_keyring_put(keys);
        return 0;
    }
    say_keys(p, keys);
    answers_set_keys(p->answers, keys);
    sign_keyring_put(p->keys);
    p->keys = keys;
    return 0;
}

/* The keys of before stay until others can be read. Each reason is told once. */
static void look_at_keys(struct program *p)
{
    struct err err;

    if (read_keys(p, &err) == 0) {
        p->said_keys.msg[0] = '\0';
    } else if (strcmp(p->said_keys.msg, err.msg) != 0) {
        LOG_WARNING(p->log, "Cannot read the public keys again; those of before stay", LOG_CSTR("why", err.msg));
        p->said_keys = err;
    }
}

/* ---- devices ---- */

/* The main thread looks at once. */
static void say_driver_asked(struct program *p)
{
    if (!__atomic_exchange_n(&p->driver_asked, true, __ATOMIC_ACQ_REL)) {
        kill(getpid(), SIGHUP);
    }
}

/* On the thread of the health watch, as the next two: the main thread never waits for the driver. */
static void look_at_devices(void *ctx, struct health_watch *health, const struct nvml *nvml)
{
    const struct device *devices;
    struct program *p = ctx;
    size_t n, unreadable_n;
    struct arena a;
    struct err err;

    arena_init(&a, DEVICES_BYTES_MAX);
    if (nvml_read_devices(nvml, &a, &devices, &n, &unreadable_n, &err) == 0) {
        publisher_read_details(p->publisher, nvml, devices, n);
        health_watch_found(health, devices, n);
        if (unreadable_n > p->unreadable_n) {
            LOG_WARNING(p->log,
                        "Some GPUs or MIG instances cannot be read, or there are too many; no container gets them",
                        LOG_I64("left_out", (int64_t)unreadable_n), LOG_I64("max", DEVICES_PER_NODE_MAX));
        }
        p->unreadable_n = unreadable_n;
    } else {
        LOG_WARNING(p->log, "Cannot read the GPUs; those of before stay", LOG_CSTR("why", err.msg));
    }
    arena_fini(&a);
    say_driver_asked(p);
}

static void no_driver(void *ctx)
{
    struct program *p = ctx;

    publisher_set_no_driver(p->publisher);
    say_driver_asked(p);
}

/* From any thread. */
static void set_devices(void *ctx, const struct device *devices, size_t n)
{
    const struct program *p = ctx;

    answers_set_devices(p->answers, devices, n);
    publisher_set_devices(p->publisher, devices, n);
}

static void record_event(void *ctx, const struct event *e)
{
    const struct program *p = ctx;

    events_record(node_api_events(p->api), e);
}

static int watch_devices(struct program *p)
{
    const struct health_watch_options o = {.library = p->options.nvml_library,
                                           .ignored_xids = p->options.ignored_xids,
                                           .ignored_xid_n = p->options.ignored_xid_n,
                                           .node = str_of(p->options.node_name),
                                           .log = p->log,
                                           .answers = p->answers,
                                           .clock = clock_system(),
                                           .record = record_event,
                                           .read = look_at_devices,
                                           .devices = set_devices,
                                           .no_driver = no_driver,
                                           .ctx = p};
    struct err err;
    const int rc = health_watch_start(&o, &p->health, &err);

    if (rc != 0) {
        LOG_ERROR(p->log, "Cannot watch the GPUs", LOG_CSTR("why", err.msg));
    }
    return rc;
}

/* ---- the device that hides GPUs ---- */

/* Whoever cleans that folder stops every container of the node: the runtime refuses names that no file describes. */
static bool look_at_spec(struct program *p)
{
    struct err err;

    if (cdi_spec_is_there(p->options.cdi_dir)) {
        return true;
    }
    if (cdi_spec_write(p->options.cdi_dir, &err) != 0) {
        LOG_ERROR(p->log, "The device that hides GPUs cannot be described; it is tried again",
                  LOG_CSTR("why", err.msg));
        return false;
    }
    if (p->plugin != NULL) {
        LOG_WARNING(p->log, "The file of the device that hides GPUs was removed or changed; it is written again");
    }
    return true;
}

/* ---- the API server ---- */

static int open_api(struct program *p)
{
    const enum node_publish publish = p->options.publish;
    struct err err;

    if (node_api_open(&p->options, p->log, &p->api, &err) != 0) {
        LOG_ERROR(p->log, "Cannot read how to reach the API server", LOG_CSTR("why", err.msg));
        return NODE_EXIT_CONFIG;
    }
    if (p->api != NULL) {
        return NODE_EXIT_OK;
    }
    if (publish == NODE_PUBLISH_ANNOTATION || publish == NODE_PUBLISH_ALL) {
        LOG_ERROR(p->log, "--publish says what to write to the Node object, but nothing says how to reach the API "
                          "server: name a --kubeconfig, or run as a pod that has a service account");
        return NODE_EXIT_USAGE;
    }
    if (!p->options.metrics_off) {
        LOG_ERROR(p->log, "--metrics-address serves who the API server says may read metrics, but nothing says how to "
                          "reach it: name a --kubeconfig, or run as a pod that has a service account");
        return NODE_EXIT_USAGE;
    }
    LOG_INFO(p->log, "No API server is known (no --kubeconfig, no service account of a pod): nothing is published, and "
                     "nobody is told by Events");
    return NODE_EXIT_OK;
}

/* ---- running ---- */

/* Registers as soon as there is a driver's library: where there is none, there are no GPUs. One without a driver that
 * works is a node whose driver comes later, is loaded anew or is broken: nothing may be created unseen there either.
 * The library is not kept: who replaces a driver replaces that file, too. */
static int start_plugin(struct program *p, const struct nvml *library, struct err *reterr)
{
    const struct nri_handler handler = answers_handler(p->answers);
    const struct nri_plugin_options options = {.socket_path = p->options.nri_socket,
                                               .name = FGPU_NODE_PLUGIN,
                                               .index = PLUGIN_INDEX,
                                               .fail_request = true,
                                               .log = p->log};
    const int rc = answers_found_library(p->answers, library, reterr);

    return rc != 0 ? rc : nri_plugin_start(&options, &handler, &p->plugin, reterr);
}

/* Who is asked about containers should know the GPUs; but one look later, a driver that does not return is not waited
 * for. */
static bool driver_may_answer_soon(struct program *p)
{
    const bool waits = !__atomic_load_n(&p->driver_asked, __ATOMIC_ACQUIRE) && !p->has_waited;

    p->has_waited = true;
    return waits;
}

static int look_for_library(struct program *p, struct err *reterr)
{
    struct nvml *library;
    struct err err;
    int rc = 0;

    if (nvml_load(p->options.nvml_library, &library, &err) != 0) {
        if (!p->said_no_library) {
            LOG_INFO(p->log, "No GPUs here yet; waiting for a driver", LOG_CSTR("why", err.msg));
        }
        p->said_no_library = true;
        ops_looked(p->ops, NULL);
        return 0;
    }
    if (p->library == NULL) {
        p->library = nvml_path(library);
        LOG_INFO(p->log, "Found the driver's library", LOG_CSTR("path", p->library));
    }
    if (driver_may_answer_soon(p)) {
        nvml_close(library);
        return 0;
    }
    if (look_at_spec(p)) {
        rc = start_plugin(p, library, reterr);
    }
    nvml_close(library);
    if (p->plugin != NULL) {
        ops_set_plugin(p->ops, p->plugin);
    }
    ops_looked(p->ops, p->library);
    return rc;
}

static int look(struct program *p, struct err *reterr)
{
    look_at_keys(p);
    ops_listen(p->ops);
    publisher_look(p->publisher);
    health_watch_guard(p->health);
    if (p->plugin == NULL) {
        return look_for_library(p, reterr);
    }
    ops_looked(p->ops, p->library);
    (void)look_at_spec(p);
    return answers_look_at_limits(p->answers, reterr);
}

static int run(struct program *p, const sigset_t *signals)
{
    const struct timespec pause = {.tv_sec = LOOK_SECONDS};
    struct err err;

    for (;;) {
        if (look(p, &err) != 0) {
            LOG_ERROR(p->log, "Cannot be a plugin of the container runtime as the options say",
                      LOG_CSTR("why", err.msg));
            return NODE_EXIT_USAGE;
        }
        switch (sigtimedwait(signals, NULL, &pause)) {
        case SIGTERM:
        case SIGINT:
            LOG_INFO(p->log, "Stopping");
            return NODE_EXIT_OK;
        case -1:
            if (errno != EAGAIN && errno != EINTR) {
                LOG_ERROR(p->log, "Cannot wait for signals", LOG_I64("errno", errno));
                return NODE_EXIT_RUNTIME;
            }
            break;
        default: /* SIGHUP: look at once */
            health_watch_wake(p->health);
            publisher_look_now(p->publisher);
            break;
        }
    }
}

int main(int argc, char **argv)
{
    struct program p = {.log = NULL};
    struct logsink *sink;
    bool looked_for_doors;
    struct err err;
    sigset_t signals;
    unsigned doors;
    int code;

    if (argc > 1 && strcmp(argv[1], LIMIT_HELPER_WORD) == 0) {
        return limit_helper_main(argc, argv);
    }
    code = node_options_read(argc, argv, &p.options);
    if (code != NODE_EXIT_OK) {
        return code == -1 ? NODE_EXIT_OK : code;
    }
    /* Before any thread: they inherit it, and the main thread alone waits for them. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);

    sink =
        logsink_new(STDERR_FILENO, p.options.json ? LOGSINK_JSON : LOGSINK_TEXT, p.options.verbosity, clock_system());
    p.log = logsink_log(sink);
    p.answers = answers_new(&p.options, p.log);
    if (read_keys(&p, &err) != 0) {
        LOG_ERROR(p.log, "Cannot read the public keys", LOG_CSTR("why", err.msg));
        code = NODE_EXIT_CONFIG;
    } else {
        code = open_api(&p);
    }
    if (code == NODE_EXIT_OK) {
        answers_set_events(p.answers, node_api_events(p.api));
        doors = doors_look(&p.options, node_api_events(p.api), p.log, &looked_for_doors);
        answers_set_doors(p.answers, doors);
        p.ops = ops_new(&p.options, p.answers, p.api, sink);
        p.publisher = publisher_new(node_api_client(p.api), &p.options, clock_system(), p.log);
        publisher_set_doors(p.publisher, looked_for_doors, doors);
        answers_on_ready(p.answers, publisher_open, p.publisher);
        code = watch_devices(&p) == 0 ? run(&p, &signals) : NODE_EXIT_RUNTIME;
    }
    if (!health_watch_stop(p.health)) {
        health_watch_abandon(p.health);
        _exit(code); /* others may hang in the library, too */
    }
    ops_stop(p.ops);
    nri_plugin_stop(p.plugin);
    ops_free(p.ops);
    node_api_close(p.api);
    publisher_free(p.publisher);
    answers_free(p.answers);
    sign_keyring_put(p.keys);
    logsink_free(sink);
    return code;
}
