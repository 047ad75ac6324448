/* fgpu serve: the scheduler extender of one cluster. */
#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/reload.h"
#include "cmd/serve_inputs.h"
#include "cmd/serve_options.h"
#include "cmd/runtime.h"

#include "base/bug.h"
#include "extender/signing.h"
#include "obs/logsink.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_MS 6000
#define CHECK_INTERVAL_S 30

/* The pod we run in, if the manifest tells us through the downward API: events about fgpu are shown on it. A
 * static pod does not know the uid it has in the API. */
static struct event_object own_pod(void)
{
    const char *name = getenv("POD_NAME"), *namespace_ = getenv("POD_NAMESPACE"), *uid = getenv("POD_UID");

    if (name == NULL || namespace_ == NULL) {
        return (struct event_object){.kind = EVENT_OBJECT_NONE};
    }
    return (struct event_object){EVENT_OBJECT_POD, str_of(namespace_), str_of(name), str_of(uid)};
}

/* Who reports in events. */
static const char *instance_name(char *host, size_t size)
{
    const char *pod = getenv("POD_NAME");

    if (pod != NULL && pod[0] != '\0') {
        return pod;
    }
    if (gethostname(host, size) != 0) {
        return "fgpu";
    }
    host[size - 1] = '\0';
    return host;
}

static void override_again(void *ctx, struct config *c)
{
    BUG_ON(serve_options_override(ctx, c) != EXIT_OK); /* the same flags were accepted at the start */
}

static int start_reload(const struct serve_options *o, const struct config *config, struct runtime *runtime,
                        struct reload **ret, struct err *reterr)
{
    const struct reload_options ro = {
        .path = o->config,
        .hash = config->hash,
        .config_apply = runtime_config_apply(runtime),
        .override = override_again,
        .ctx = (void *)(uintptr_t)o,
    };

    *ret = NULL;
    return o->config != NULL ? reload_start(&ro, ret, reterr) : 0;
}

/* Until a signal ends the process, or something worse does. */
static int watch_over(struct runtime *runtime, struct reload *reload, const struct serve_options *o,
                      const struct clock *clock, const struct log *log, const sigset_t *signals)
{
    const struct timespec interval = {.tv_sec = o->wait ? CHECK_INTERVAL_S : 1};
    int64_t give_up_ns = clock_mono_ns(clock) + SERVE_UNREACHABLE_AFTER_S * NS_PER_S;
    bool was_listed = false;

    for (;;) {
        int sig = sigtimedwait(signals, NULL, &interval);
        const char *broken;

        if (sig == SIGTERM || sig == SIGINT) {
            LOG_INFO(log, "Stopping", LOG_CSTR("signal", sig == SIGTERM ? "SIGTERM" : "SIGINT"));
            return EXIT_OK;
        }
        if (runtime_has_lost(runtime)) {
            LOG_ERROR(log, "Another replica may decide now; stopping, so that the next start follows it");
            return EXIT_RUNTIME;
        }
        if (sig == SIGHUP) {
            runtime_reload_tls(runtime);
            runtime_reload_keys(runtime);
        }
        if (sig == SIGHUP && reload != NULL) {
            reload_request(reload);
        } else if (sig == SIGHUP) {
            LOG_WARNING(log, "There is no configuration file to read again, because --config was not given");
        }
        if (sig == SIGUSR2) {
            runtime_audit(runtime);
        }
        broken = runtime_check(runtime);
        if (broken != NULL) {
            LOG_ERROR(log, "The ledger is broken; stopping, so that the next start reads the cluster again",
                      LOG_CSTR("invariant", broken));
            return EXIT_INVARIANT;
        }
        was_listed = was_listed || runtime_is_listed(runtime);
        if (!o->wait && !was_listed && clock_mono_ns(clock) > give_up_ns) {
            LOG_ERROR(log, "The API server does not answer, and --wait=false says not to wait");
            return EXIT_UNREACHABLE;
        }
    }
}

/* Wakes watch_over(). */
static void lost_lease(void *ctx)
{
    (void)ctx;
    (void)kill(getpid(), SIGUSR1);
}

/* Before any thread: all of them inherit the mask, so that only this one hears signals. */
static void block_signals(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGHUP);
    sigaddset(ret, SIGUSR1);
    sigaddset(ret, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, ret, NULL);
}

static int serve_until_signal(const struct serve_options *o, const struct runtime_options *so, const sigset_t *signals)
{
    struct runtime *runtime = NULL;
    struct reload *reload;
    struct err err;
    int rc = runtime_start(so, &runtime, &err), code;
    bool in_order;

    if (rc == 0) {
        rc = start_reload(o, so->config, runtime, &reload, &err);
    }
    if (rc != 0) {
        LOG_ERROR(so->log, "Cannot start", LOG_CSTR("err", err.msg));
        if (runtime != NULL) {
            runtime_stop(runtime, 0);
        }
        return EXIT_RUNTIME;
    }
    code = watch_over(runtime, reload, o, so->clock, so->log, signals);
    reload_stop(reload);
    in_order = code == EXIT_OK || (runtime_has_lost(runtime) && runtime_may_end_in_order(runtime));
    runtime_stop(runtime, in_order ? DRAIN_MS : 0);
    LOG_INFO(so->log, "Stopped");
    return code;
}

static int serve(const struct serve_options *o, const struct config *config, const struct credentials *credentials)
{
    struct clock_shifted shifted;
    const struct clock *clock = o->wall_clock != NULL ? &shifted.clock : clock_system();
    char host[HOST_NAME_MAX + 1];
    struct logsink *sink;
    struct signing *signing;
    struct config *now;
    sigset_t signals;
    const struct log *log;
    int code;

    clock_shifted_init(&shifted);
    if (o->wall_clock != NULL) {
        clock_shifted_set(&shifted, o->wall_clock_ms);
    }
    sink = logsink_new(STDERR_FILENO, config->logging.format == LOG_FORMAT_JSON ? LOGSINK_JSON : LOGSINK_TEXT,
                       config->logging.verbosity, clock);
    log = logsink_log(sink);
    if (o->wall_clock != NULL) {
        LOG_WARNING(log, "The wall clock does not show the real time, because --wall-clock was given",
                    LOG_CSTR("shows", o->wall_clock));
    }
    if (serve_options_rehearse(o)) {
        LOG_WARNING(log,
                    "This is a rehearsal: fgpu writes nothing to the API server, binds nothing and runs no command "
                    "of a node pool");
    }
    config_apply_warn(log, config);
    code = serve_load_keys(config, log, &signing);
    if (code == EXIT_OK) {
        block_signals(&signals);
        now = config_apply_config_at(config, clock_wall_ms(clock));
        code = serve_until_signal(o,
                                  &(struct runtime_options){.config = now,
                                                            .credentials = credentials,
                                                            .clock = clock,
                                                            .log = log,
                                                            .signing = signing,
                                                            .sink = sink,
                                                            .instance = instance_name(host, sizeof(host)),
                                                            .self = own_pod(),
                                                            .lost = lost_lease,
                                                            .rehearses = serve_options_rehearse(o),
                                                            .holdoff_ms = now->client.hold_off_ms},
                                  &signals);
        config_free(now);
        signing_free(signing);
    }
    logsink_free(sink);
    return code;
}

int cmd_serve(int argc, char **argv)
{
    struct serve_options o;
    struct config *config = NULL;
    struct credentials credentials = {0};
    int code = serve_options_read(argc, argv, &o);

    if (code == -1) {
        return EXIT_OK;
    }
    if (code == EXIT_OK) {
        code = serve_load_config(&o, &config);
    }
    if (code == EXIT_OK && o.write_config_to != NULL) {
        code = serve_write_config(o.write_config_to, config);
        config_free(config);
        return code;
    }
    if (code == EXIT_OK) {
        code = serve_check_signing(config);
    }
    if (code == EXIT_OK) {
        code = serve_load_credentials(&o, &credentials);
    }
    if (code == EXIT_OK) {
        code = serve(&o, config, &credentials);
    }
    credentials_fini(&credentials);
    config_free(config);
    return code;
}
