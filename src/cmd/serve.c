/* fgpu serve: the scheduler extender of one cluster. */
#include "cmd/commands.h"
#include "cmd/reload.h"
#include "cmd/service.h"
#include "cmd/terminal.h"

#include "base/bug.h"
#include "base/strbuf.h"
#include "config/describe.h"
#include "config/kubeconfig.h"
#include "extender/signing.h"
#include "kube/incluster.h"
#include "obs/logsink.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_MS 6000
#define CHECK_INTERVAL_S 30
#define UNREACHABLE_AFTER_S 10
#define REPORT_BYTES_MAX (1024 * 1024)
#define WRITE_BYTES_MAX (16 * 1024 * 1024)

struct options {
    const char *config, *kubeconfig, *context, *write_config_to;
    const char *addresses[SERVICE_LISTENER__MAX];
    const char *cert, *key, *client_ca;
    const char *signing_key;
    const char *format;
    const char *wall_clock;
    int64_t wall_clock_ms; /* of `wall_clock` */
    int verbosity; /* -1: as configured */
    bool wait;
};

enum { OPT_CONFIG = 256, OPT_KUBECONFIG, OPT_CONTEXT, OPT_VERBS, OPT_OPS, OPT_HEALTH, OPT_FORMAT, OPT_WAIT,
       OPT_WRITE, OPT_CERT, OPT_KEY, OPT_CLIENT_CA, OPT_WALL_CLOCK, OPT_SIGNING_KEY };

static const struct option long_options[] = {
    {"config", required_argument, NULL, OPT_CONFIG},
    {"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
    {"context", required_argument, NULL, OPT_CONTEXT},
    {"verbs-address", required_argument, NULL, OPT_VERBS},
    {"ops-address", required_argument, NULL, OPT_OPS},
    {"health-address", required_argument, NULL, OPT_HEALTH},
    {"tls-cert-file", required_argument, NULL, OPT_CERT},
    {"tls-private-key-file", required_argument, NULL, OPT_KEY},
    {"client-ca-file", required_argument, NULL, OPT_CLIENT_CA},
    {"signing-key", required_argument, NULL, OPT_SIGNING_KEY},
    {"logging-format", required_argument, NULL, OPT_FORMAT},
    {"wait", optional_argument, NULL, OPT_WAIT},
    {"write-config-to", required_argument, NULL, OPT_WRITE},
    {"wall-clock", required_argument, NULL, OPT_WALL_CLOCK},
    {"v", required_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu serve [options]\n\n"
           "Serves the verbs filter, prioritize and bind to kube-scheduler.\n\n"
           "  --config FILE             kind FgpuConfiguration; without it the built-in defaults\n"
           "  --kubeconfig FILE         the API server; without it the API server of the pod in which fgpu runs\n"
           "  --context NAME            of the kubeconfig; without it its current-context\n"
           "  --verbs-address HOST:PORT default 127.0.0.1:9443; an address that is not loopback needs TLS\n"
           "  --ops-address HOST:PORT   /state /metrics /configz /version, default 127.0.0.1:9442; the same\n"
           "  --health-address HOST:PORT  /livez /readyz /healthz, default 127.0.0.1:9441\n"
           "  --tls-cert-file FILE --tls-private-key-file FILE --client-ca-file FILE\n"
           "                            PEM, read again when they change and on SIGHUP. Callers need a certificate\n"
           "                            of the CA with a name from serving.tls.allowedNames\n"
           "  --signing-key FILE        the private key that signs the records of decisions (fgpu signing-key makes\n"
           "                            one), read again when it changes and on SIGHUP; \"off\" to sign nothing\n"
           "  --logging-format text|json\n"
           "  -v N                      verbosity: 2 steady state, 4 decisions, 6 requests and replies\n"
           "  --wait=false              end with exit code 4 if the API server does not answer within %d s\n"
           "  --write-config-to FILE    writes the configuration with all defaults and flags, and ends\n"
           "  --wall-clock TIME         to test time windows: fgpu's clock starts at TIME (2026-03-28T18:59:50Z) and\n"
           "                            goes on from there, also in Events, /state and the log; the log warns about it\n\n"
           "fgpu reads the configuration file again on SIGHUP and when it changes. SIGUSR2 audits the ledger.\n"
           "Exit codes: 0 ended by a signal, 1 failure, 2 usage, 3 invalid configuration, 4 API server\n"
           "unreachable, 70 broken invariant.\n",
           UNREACHABLE_AFTER_S);
}

static int parse_verbosity(const char *text, int *ret)
{
    uint64_t v;

    if (!str_to_u64(str_of(text), 10, &v)) {
        return cmd_usage_error("serve", "-v takes a number from 0 to 10, not \"%s\"", text);
    }
    *ret = (int)v;
    return EXIT_OK;
}

static int parse_wall_clock(const char *text, struct options *o)
{
    o->wall_clock = text;
    return clock_rfc3339_parse(str_of(text), &o->wall_clock_ms)
               ? EXIT_OK
               : cmd_usage_error("serve", "--wall-clock takes a time such as 2026-03-28T18:59:50Z, not \"%s\"", text);
}

/* EXIT_OK, or the exit code; -1: help was printed. */
static int parse_options(int argc, char **argv, struct options *o)
{
    int c;

    *o = (struct options){.verbosity = -1, .wait = true};
    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":v:h", long_options, NULL)) != -1) {
        switch (c) {
        case OPT_CONFIG:
            o->config = optarg;
            break;
        case OPT_KUBECONFIG:
            o->kubeconfig = optarg;
            break;
        case OPT_CONTEXT:
            o->context = optarg;
            break;
        case OPT_VERBS:
            o->addresses[SERVICE_VERBS] = optarg;
            break;
        case OPT_OPS:
            o->addresses[SERVICE_OPS] = optarg;
            break;
        case OPT_HEALTH:
            o->addresses[SERVICE_HEALTH] = optarg;
            break;
        case OPT_CERT:
            o->cert = optarg;
            break;
        case OPT_KEY:
            o->key = optarg;
            break;
        case OPT_CLIENT_CA:
            o->client_ca = optarg;
            break;
        case OPT_SIGNING_KEY:
            o->signing_key = optarg;
            break;
        case OPT_FORMAT:
            o->format = optarg;
            break;
        case OPT_WAIT:
            if (optarg != NULL && strcmp(optarg, "false") != 0 && strcmp(optarg, "true") != 0) {
                return cmd_usage_error("serve", "--wait takes true or false");
            }
            o->wait = optarg == NULL || strcmp(optarg, "true") == 0;
            break;
        case OPT_WRITE:
            o->write_config_to = optarg;
            break;
        case OPT_WALL_CLOCK:
            if (parse_wall_clock(optarg, o) != EXIT_OK) {
                return EXIT_USAGE;
            }
            break;
        case 'v':
            if (parse_verbosity(optarg, &o->verbosity) != EXIT_OK) {
                return EXIT_USAGE;
            }
            break;
        case 'h':
            print_help();
            return -1;
        case ':':
            return cmd_usage_error("serve", "%s needs a value", argv[optind - 1]);
        default:
            return cmd_usage_error("serve", "unknown option %s", argv[optind - 1]);
        }
    }
    return optind < argc ? cmd_usage_error("serve", "unexpected \"%s\"", argv[optind]) : EXIT_OK;
}

static int load_config(const struct options *o, struct config **ret)
{
    struct config_names names;
    struct strbuf report;
    struct err err;
    int r;

    if (o->config == NULL) {
        *ret = config_defaults();
        return EXIT_OK;
    }
    cmd_config_names(&names);
    strbuf_init(&report, REPORT_BYTES_MAX);
    r = config_load(o->config, &names, ret, &report, &err);
    if (r != 0) {
        fprintf(stderr, "%s", report.n > 0 ? report.p : err.msg);
        fprintf(stderr, "%sfgpu serve: the configuration is not valid\n", report.n > 0 ? "" : "\n");
    }
    strbuf_fini(&report);
    return r == 0 ? EXIT_OK : EXIT_CONFIG;
}

static void override_signing(const char *given, struct config *c)
{
    const bool off = strcmp(given, "off") == 0;

    c->signing.mode = off ? SIGNING_OFF : SIGNING_ON;
    config_set_by_flag(c, "signing.mode", "--signing-key");
    if (!off) {
        c->signing.private_key = str_of(given);
        config_set_by_flag(c, "signing.privateKey", "--signing-key");
    }
}

/* Flags win over the file: with every configuration that is read, the first one and later ones. */
static int override(const struct options *o, struct config *c)
{
    static const struct {
        const char *key, *flag;
    } listeners[SERVICE_LISTENER__MAX] = {
        [SERVICE_VERBS] = {"serving.verbsAddress", "--verbs-address"},
        [SERVICE_OPS] = {"serving.opsAddress", "--ops-address"},
        [SERVICE_HEALTH] = {"serving.healthAddress", "--health-address"},
    };
    struct address *targets[SERVICE_LISTENER__MAX] = {&c->serving.verbs, &c->serving.ops,
                                                      &c->serving.health};
    const struct {
        struct str *target;
        const char *given, *key, *flag;
    } files[] = {
        {&c->serving.tls.cert_file, o->cert, "serving.tls.certFile", "--tls-cert-file"},
        {&c->serving.tls.key_file, o->key, "serving.tls.keyFile", "--tls-private-key-file"},
        {&c->serving.tls.client_ca_file, o->client_ca, "serving.tls.clientCAFile", "--client-ca-file"},
    };
    struct err err;

    for (size_t i = 0; i < SERVICE_LISTENER__MAX; i++) {
        if (o->addresses[i] != NULL && address_parse(str_of(o->addresses[i]), targets[i], &err) != 0) {
            return cmd_usage_error("serve", "%s", err.msg);
        }
        if (o->addresses[i] != NULL) {
            config_set_by_flag(c, listeners[i].key, listeners[i].flag);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (files[i].given != NULL) {
            *files[i].target = str_of(files[i].given);
            config_set_by_flag(c, files[i].key, files[i].flag);
        }
    }
    if (o->signing_key != NULL) {
        override_signing(o->signing_key, c);
    }
    if (o->verbosity >= 0) {
        c->logging.verbosity = o->verbosity;
        config_set_by_flag(c, "logging.verbosity", "-v");
    }
    if (o->format != NULL && strcmp(o->format, "text") != 0 && strcmp(o->format, "json") != 0) {
        return cmd_usage_error("serve", "--logging-format takes text or json");
    }
    if (o->format != NULL) {
        c->logging.format = strcmp(o->format, "json") == 0 ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
        config_set_by_flag(c, "logging.format", "--logging-format");
    }
    return EXIT_OK;
}

static int write_config(const char *path, const struct config *c)
{
    struct strbuf text;
    FILE *f;
    bool ok;

    strbuf_init(&text, WRITE_BYTES_MAX);
    config_write_yaml(c, &text);
    f = fopen(path, "we");
    ok = f != NULL && fwrite(text.p, 1, text.n, f) == text.n;
    ok = f != NULL && fclose(f) == 0 && ok;
    strbuf_fini(&text);
    if (!ok) {
        fprintf(stderr, "fgpu serve: %s: %s\n", path, strerror(errno));
    }
    return ok ? EXIT_OK : EXIT_RUNTIME;
}

/* File and flags together. Not asked again when the file changes: where fgpu listens stays as it was. */
static int check_serving(const struct config *c)
{
    const char *key;
    const char *why = config_serving_problem(&c->serving, &key);

    return why == NULL ? EXIT_OK : cmd_usage_error("serve", "serving.%s: %s", key, why);
}

/* *ret is NULL with signing off. */
static int load_keys(const struct config *c, const struct log *log, struct signing **ret)
{
    const struct signing_options o = {
        .files = {c->signing.private_key.p, c->signing.public_keys, c->signing.public_key_n}, .log = log};
    struct err err;

    *ret = NULL;
    if (c->signing.mode == SIGNING_OFF) {
        LOG_WARNING(log, "Signing is off: fgpu believes everybody who may write the annotations of a pod");
        return EXIT_OK;
    }
    if (config_accept_unsigned_before_ms(&c->signing) > clock_wall_ms(clock_system())) {
        LOG_WARNING(log, "signing.acceptUnsignedBefore is in the future: until then fgpu believes everybody who "
                         "may write the annotations of a pod");
    }
    if (signing_new(&o, ret, &err) == 0) {
        return EXIT_OK;
    }
    fprintf(stderr, "fgpu serve: signing: %s\n", err.msg);
    return EXIT_CONFIG;
}

/* A key must be named; whether it can be read is seen when it is. */
static int check_signing(const struct config *c)
{
    if (c->signing.mode == SIGNING_OFF || c->signing.private_key.n > 0) {
        return EXIT_OK;
    }
    fprintf(stderr, "fgpu serve: no signing key is given. fgpu signs the record of GPUs that it writes into a pod, so that\n"
                    "nobody can forge one. Make a key, once for the cluster:\n\n"
                    "    fgpu signing-key --out FILE\n\n"
                    "and name it: signing.privateKey: FILE in the configuration, or --signing-key FILE.\n"
                    "With \"signing: off\" or --signing-key off no key is needed; fgpu then believes everybody\n"
                    "who may write annotations of pods.\n");
    return EXIT_CONFIG;
}

static int load_credentials(const struct options *o, struct credentials *ret)
{
    struct err err;
    int r;

    if (o->kubeconfig != NULL) {
        r = kubeconfig_load(o->kubeconfig, o->context, ret, &err);
    } else {
        r = incluster_load(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"),
                           INCLUSTER_DIR, ret, &err);
    }
    if (r != 0) {
        terminal_complain("serve", err.msg);
        if (o->kubeconfig == NULL) {
            fputs("fgpu serve: outside a cluster give --kubeconfig FILE\n", stderr);
        }
        return EXIT_CONFIG;
    }
    return EXIT_OK;
}

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
    BUG_ON(override(ctx, c) != EXIT_OK); /* the same flags were accepted at the start */
}

static int start_reload(const struct options *o, const struct config *config, struct service *service,
                        const struct log *log, struct reload **ret, struct err *reterr)
{
    const struct reload_options ro = {
        .path = o->config,
        .hash = config->hash,
        .changeover = service_changeover(service),
        .log = log,
        .override = override_again,
        .ctx = (void *)(uintptr_t)o,
    };

    *ret = NULL;
    return o->config != NULL ? reload_start(&ro, ret, reterr) : 0;
}

/* Until a signal ends the process, or something worse does. */
static int watch_over(struct service *service, struct reload *reload, const struct options *o,
                      const struct clock *clock, const struct log *log, const sigset_t *signals)
{
    const struct timespec interval = {.tv_sec = o->wait ? CHECK_INTERVAL_S : 1};
    int64_t give_up_ns = clock_mono_ns(clock) + UNREACHABLE_AFTER_S * INT64_C(1000000000);
    bool was_listed = false;

    for (;;) {
        int sig = sigtimedwait(signals, NULL, &interval);
        const char *broken;

        if (sig == SIGTERM || sig == SIGINT) {
            LOG_INFO(log, "Stopping", LOG_CSTR("signal", sig == SIGTERM ? "SIGTERM" : "SIGINT"));
            return EXIT_OK;
        }
        if (sig == SIGHUP) {
            service_reload_tls(service);
            service_reload_keys(service);
        }
        if (sig == SIGHUP && reload != NULL) {
            reload_request(reload);
        } else if (sig == SIGHUP) {
            LOG_WARNING(log, "There is no configuration file to read again, because --config was not given");
        }
        if (sig == SIGUSR2) {
            service_audit(service);
        }
        broken = service_check(service);
        if (broken != NULL) {
            LOG_ERROR(log, "The ledger is broken; stopping, so that the next start reads the cluster again",
                      LOG_CSTR("invariant", broken));
            return EXIT_INVARIANT;
        }
        was_listed = was_listed || service_is_listed(service);
        if (!o->wait && !was_listed && clock_mono_ns(clock) > give_up_ns) {
            LOG_ERROR(log, "The API server does not answer, and --wait=false says not to wait");
            return EXIT_UNREACHABLE;
        }
    }
}

static int serve(const struct options *o, const struct config *config,
                 const struct credentials *credentials)
{
    struct clock_shifted shifted;
    const struct clock *clock = o->wall_clock != NULL ? &shifted.clock : clock_system();
    struct logsink *sink;
    struct service *service;
    struct reload *reload;
    struct service_options so;
    struct signing *signing;
    struct config *now;
    char host[HOST_NAME_MAX + 1];
    sigset_t signals;
    struct err err;
    const struct log *log;
    int code;

    clock_shifted_init(&shifted);
    if (o->wall_clock != NULL) {
        clock_shifted_set(&shifted, o->wall_clock_ms);
    }
    sink = logsink_new(STDERR_FILENO,
                       config->logging.format == LOG_FORMAT_JSON ? LOGSINK_JSON : LOGSINK_TEXT,
                       config->logging.verbosity, clock);
    log = logsink_log(sink);
    if (o->wall_clock != NULL) {
        LOG_WARNING(log, "The wall clock does not show the real time, because --wall-clock was given", LOG_CSTR("shows", o->wall_clock));
    }
    code = load_keys(config, log, &signing);
    if (code != EXIT_OK) {
        logsink_free(sink);
        return code;
    }
    /* Before any thread: all of them inherit the mask, so that only this one hears signals. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    now = changeover_config_at(config, clock_wall_ms(clock));
    so = (struct service_options){.config = now,
                                  .credentials = credentials,
                                  .clock = clock,
                                  .log = log,
                                  .signing = signing,
                                  .sink = sink,
                                  .instance = instance_name(host, sizeof(host)),
                                  .self = own_pod(),
                                  .holdoff_ms = now->client.hold_off_ms};
    if (service_start(&so, &service, &err) != 0) {
        LOG_ERROR(log, "Cannot start", LOG_CSTR("err", err.msg));
        config_free(now);
        signing_free(signing);
        logsink_free(sink);
        return EXIT_RUNTIME;
    }
    if (start_reload(o, config, service, log, &reload, &err) != 0) {
        LOG_ERROR(log, "Cannot start", LOG_CSTR("err", err.msg));
        service_stop(service, 0);
        config_free(now);
        signing_free(signing);
        logsink_free(sink);
        return EXIT_RUNTIME;
    }
    code = watch_over(service, reload, o, clock, log, &signals);
    reload_stop(reload);
    service_stop(service, code == EXIT_OK ? DRAIN_MS : 0);
    config_free(now);
    signing_free(signing);
    LOG_INFO(log, "Stopped");
    logsink_free(sink);
    return code;
}

int cmd_serve(int argc, char **argv)
{
    struct options o;
    struct config *config = NULL;
    struct credentials credentials = {0};
    int code = parse_options(argc, argv, &o);

    if (code == -1) {
        return EXIT_OK;
    }
    if (code == EXIT_OK) {
        code = load_config(&o, &config);
    }
    if (code == EXIT_OK) {
        code = override(&o, config);
    }
    if (code == EXIT_OK) {
        code = check_serving(config);
    }
    if (code == EXIT_OK && o.write_config_to != NULL) {
        code = write_config(o.write_config_to, config);
        config_free(config);
        return code;
    }
    if (code == EXIT_OK) {
        code = check_signing(config);
    }
    if (code == EXIT_OK) {
        code = load_credentials(&o, &credentials);
    }
    if (code == EXIT_OK) {
        code = serve(&o, config, &credentials);
    }
    credentials_fini(&credentials);
    config_free(config);
    return code;
}
