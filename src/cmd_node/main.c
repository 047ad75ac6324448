/* fgpu-node: hands each container of a node exactly its GPUs, and keeps any from being used twice.
 *
 * Two threads: that of the plugin answers the container runtime; this one reads keys and devices again every
 * LOOK_SECONDS and on SIGHUP, sees that the file of the void device is there, and waits for the end. */
#include "base/clock.h"
#include "cdi/spec.h"
#include "cmd_node/answers.h"
#include "cmd_node/options.h"
#include "nvml/inventory.h"
#include "obs/logsink.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_SECONDS 10
#define DEVICES_BYTES_MAX (1U << 20)
#define PLUGIN_NAME "fgpu"
#define PLUGIN_INDEX "10"

struct program {
    struct node_options options;
    const struct log *log;
    struct answers *answers;
    const struct sign_keyring *keys;
    struct nvml *nvml;
    struct nri_plugin *plugin;
    bool said_no_library, said_keys;
};

/* ---- keys ---- */

static int read_keys(struct program *p, struct err *reterr)
{
    const struct sign_files files = {.public_keys = p->options.public_keys, .public_key_n = p->options.public_key_n};
    const struct sign_public *publics;
    struct sign_keyring *keys;
    int rc = sign_keyring_read(&files, &keys, NULL, reterr);

    if (rc != 0) {
        return rc;
    }
    if (p->keys != NULL && sign_keyring_equal(p->keys, keys)) {
        sign_keyring_put(keys);
        return 0;
    }
    LOG_INFO(p->log, "Read the public keys", LOG_I64("keys", (int64_t)sign_keyring_publics(keys, &publics)));
    answers_set_keys(p->answers, keys);
    sign_keyring_put(p->keys);
    p->keys = keys;
    return 0;
}

/* The keys of before stay until others can be read. */
static void look_at_keys(struct program *p)
{
    struct err err;
    const int rc = read_keys(p, &err);

    if (rc != 0 && !p->said_keys) {
        LOG_WARNING(p->log, "Cannot read the public keys again; those of before stay", LOG_CSTR("why", err.msg));
    }
    p->said_keys = rc != 0;
}

/* ---- devices ---- */

static bool find_library(struct program *p)
{
    struct err err;

    if (p->nvml == NULL && nvml_open(p->options.nvml_library, &p->nvml, &err) != 0) {
        if (!p->said_no_library) {
            LOG_INFO(p->log, "No GPUs here yet; waiting for a driver", LOG_CSTR("why", err.msg));
        }
        p->said_no_library = true;
        return false;
    }
    return true;
}

static bool look_at_devices(struct program *p)
{
    const struct device *devices;
    size_t n, unreadable_n;
    struct arena a;
    struct err err;
    int rc;

    arena_init(&a, DEVICES_BYTES_MAX);
    rc = nvml_read_devices(p->nvml, &a, &devices, &n, &unreadable_n, &err);
    if (rc == 0) {
        answers_set_devices(p->answers, devices, n);
        if (unreadable_n > 0) {
            LOG_WARNING(p->log, "Some GPUs cannot be read; no container gets them",
                        LOG_I64("unreadable", (int64_t)unreadable_n));
        }
    } else {
        LOG_WARNING(p->log, "Cannot read the GPUs; those of before stay", LOG_CSTR("why", err.msg));
    }
    arena_fini(&a);
    return rc == 0;
}

/* ---- the device that hides GPUs ---- */

/* Whoever cleans that folder stops every container of the node: the runtime refuses names that no file describes. */
static bool look_at_spec(struct program *p)
{
    struct strbuf path;
    struct err err;
    bool there;

    strbuf_init(&path, 4096);
    strbuf_addf(&path, "%s/" CDI_SPEC_FILE, p->options.cdi_dir);
    there = p->plugin != NULL && !path.overflowed && access(path.p, R_OK) == 0;
    strbuf_fini(&path);
    if (!there && cdi_spec_write(p->options.cdi_dir, &err) != 0) {
        LOG_ERROR(p->log, "The device that hides GPUs cannot be described", LOG_CSTR("why", err.msg));
        return false;
    }
    return true;
}

/* ---- running ---- */

/* Registers as soon as there is a driver: where there is none, nothing has to be hidden. */
static int look(struct program *p, struct err *reterr)
{
    const struct nri_handler handler = answers_handler(p->answers);
    const struct nri_plugin_options options = {.socket_path = p->options.nri_socket,
                                               .name = PLUGIN_NAME,
                                               .index = PLUGIN_INDEX,
                                               .fail_request = true,
                                               .log = p->log};

    look_at_keys(p);
    if (!find_library(p) || !look_at_devices(p) || !look_at_spec(p) || p->plugin != NULL) {
        return 0;
    }
    LOG_INFO(p->log, "Found the driver's library", LOG_CSTR("path", nvml_path(p->nvml)));
    return nri_plugin_start(&options, &handler, &p->plugin, reterr);
}

static int run(struct program *p, const sigset_t *signals)
{
    const struct timespec pause = {.tv_sec = LOOK_SECONDS};
    struct err err;

    for (;;) {
        if (look(p, &err) != 0) {
            LOG_ERROR(p->log, "Cannot be a plugin of the container runtime", LOG_CSTR("why", err.msg));
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
            break;
        }
    }
}

int main(int argc, char **argv)
{
    struct program p = {.log = NULL};
    struct logsink *sink;
    struct err err;
    sigset_t signals;
    int code = node_options_read(argc, argv, &p.options);

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
        code = run(&p, &signals);
    }
    nri_plugin_stop(p.plugin);
    answers_free(p.answers);
    sign_keyring_put(p.keys);
    nvml_close(p.nvml);
    logsink_free(sink);
    return code;
}
