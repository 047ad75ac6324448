/* fgpu demo: the whole thing without a cluster. A simulated API server, the real service against it, and a
 * player in kube-scheduler's role, all in one process and over real HTTP. */
#include "cmd/commands.h"
#include "cmd/service.h"

#include "base/bug.h"
#include "base/rng.h"
#include "demo/apiserver.h"
#include "demo/cluster.h"
#include "demo/picture.h"
#include "demo/player.h"
#include "obs/logsink.h"

#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYNC_WAIT_MS 5000

struct options {
    int32_t nodes, gpus, for_s, speed_milli;
    uint64_t seed;
};

enum { OPT_NODES = 256, OPT_GPUS, OPT_SPEED, OPT_FOR, OPT_SEED, OPT_NO_BROWSER };

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, OPT_NODES},
    {"gpus", required_argument, NULL, OPT_GPUS},
    {"speed", required_argument, NULL, OPT_SPEED},
    {"for", required_argument, NULL, OPT_FOR},
    {"seed", required_argument, NULL, OPT_SEED},
    {"no-browser", no_argument, NULL, OPT_NO_BROWSER},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu demo [options]\n\n"
           "Shows fgpu filling a simulated cluster, live in the terminal.\n\n"
           "  --nodes N      1 to %d, default 8\n"
           "  --gpus N       per node, 1 to %d, default 4\n"
           "  --speed X      times real time, 0.1 to 1000, default 5\n"
           "  --for SECONDS  default 60\n"
           "  --seed N       of the workload, default 1\n"
           "  --no-browser   accepted for scripts; nothing opens a browser yet\n\n"
           "Exit code 0 only if every invariant held.\n",
           CLUSTER_NODES_MAX, CLUSTER_GPUS_MAX);
}

static bool parse_count(const char *text, uint64_t max, int32_t *ret)
{
    uint64_t v;

    if (!str_to_u64(str_of(text), max, &v) || v == 0) {
        return false;
    }
    *ret = (int32_t)v;
    return true;
}

/* "2", "0.5", "12.25" in thousandths. */
static bool parse_speed(const char *text, int32_t *ret)
{
    char *end;
    double x = strtod(text, &end);

    if (end == text || *end != '\0' || !(x >= 0.1 && x <= 1000)) {
        return false;
    }
    *ret = (int32_t)(x * 1000);
    return true;
}

/* EXIT_OK, or the exit code; -1: help was printed. */
static int parse_options(int argc, char **argv, struct options *o)
{
    int c;

    *o = (struct options){.nodes = 8, .gpus = 4, .for_s = 60, .speed_milli = 5000, .seed = 1};
    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        bool ok = true;

        switch (c) {
        case OPT_NODES:
            ok = parse_count(optarg, CLUSTER_NODES_MAX, &o->nodes);
            break;
        case OPT_GPUS:
            ok = parse_count(optarg, CLUSTER_GPUS_MAX, &o->gpus);
            break;
        case OPT_SPEED:
            ok = parse_speed(optarg, &o->speed_milli);
            break;
        case OPT_FOR:
            ok = parse_count(optarg, 1000000, &o->for_s);
            break;
        case OPT_SEED:
            ok = str_to_u64(str_of(optarg), UINT64_MAX, &o->seed);
            break;
        case OPT_NO_BROWSER:
            break;
        case 'h':
            print_help();
            return -1;
        case ':':
            return cmd_usage_error("demo", "%s needs a value", argv[optind - 1]);
        default:
            return cmd_usage_error("demo", "unknown option %s", argv[optind - 1]);
        }
        if (!ok) {
            return cmd_usage_error("demo", "\"%s\" is out of range", optarg);
        }
    }
    return optind < argc ? cmd_usage_error("demo", "unexpected \"%s\"", argv[optind]) : EXIT_OK;
}

static atomic_bool stop_requested;

static void on_signal(int sig)
{
    (void)sig;
    atomic_store(&stop_requested, true);
}

/* The configuration of the demo: the defaults, on ports of the kernel's choice. */
static struct config *demo_config(void)
{
    struct config *c = config_defaults();

    c->serving.verbs.port = 0;
    c->serving.ops.port = 0;
    c->serving.health.port = 0;
    c->client.wake_object = STR_NULL; /* the player asks again by itself */
    return c;
}

static int wait_until_ready(struct service *service)
{
    for (int waited_ms = 0; waited_ms < SYNC_WAIT_MS; waited_ms += 10) {
        if (service_is_ready(service)) {
            return 0;
        }
        usleep(10000);
    }
    return -1;
}

/* What the judge saw, and whether the ledger itself is in order. */
static int conclude(struct picture_result *result, const char *broken)
{
    struct strbuf text;

    strbuf_init(&text, 64 * 1024);
    if (broken != NULL) {
        printf("The ledger says of itself: %s\n", broken);
        result->violation_n++;
    }
    if (result->violation_n > 0 && result->first_violation[0] != '\0') {
        printf("First violation: %s\n", result->first_violation);
    }
    picture_summary(result, &text);
    fputs(text.p, stdout);
    strbuf_fini(&text);
    return result->violation_n == 0 ? EXIT_OK : EXIT_INVARIANT;
}

static int play(const struct options *o, struct apiserver *api, struct service *service)
{
    char url[64];
    const struct player_options po = {.apiserver = api,
                                      .verbs_url = url,
                                      .seed = o->seed,
                                      .speed_milli = o->speed_milli,
                                      .workload = true};
    struct picture_options pic = {
        .apiserver = api, .fd = STDOUT_FILENO, .for_ms = o->for_s * INT64_C(1000), .stop = &stop_requested};
    struct picture_result result;
    struct err err;
    int code;

    snprintf(url, sizeof(url), "http://127.0.0.1:%u/v1", service_port(service, SERVICE_VERBS));
    if (wait_until_ready(service) != 0) {
        fprintf(stderr, "fgpu demo: the service did not read the simulated cluster within %d s\n",
                SYNC_WAIT_MS / 1000);
        return EXIT_RUNTIME;
    }
    if (player_start(&po, &pic.player, &err) != 0) {
        fprintf(stderr, "fgpu demo: %s\n", err.msg);
        return EXIT_RUNTIME;
    }
    picture_run(&pic, &result);
    code = conclude(&result, service_check(service));
    picture_result_fini(&result);
    player_free(pic.player);
    return code;
}

static int with_service(const struct options *o, struct apiserver *api, const struct log *log)
{
    struct config *config = demo_config();
    struct credentials credentials = {0};
    const struct service_options so = {.config = config,
                                       .credentials = &credentials,
                                       .clock = clock_system(),
                                       .log = log,
                                       .instance = "fgpu-demo"};
    struct service *service;
    struct err err;
    int code = EXIT_RUNTIME;

    credentials.server = strdup(apiserver_url(api));
    BUG_ON(credentials.server == NULL);
    if (service_start(&so, &service, &err) != 0) {
        fprintf(stderr, "fgpu demo: %s\n", err.msg);
    } else {
        code = play(o, api, service);
        service_stop(service, 1000);
    }
    credentials_fini(&credentials);
    config_free(config);
    return code;
}

static int demo(const struct options *o)
{
    const struct apiserver_options ao = {.seed = o->seed};
    struct logsink *sink = logsink_new(STDERR_FILENO, LOGSINK_TEXT, -1, clock_system());
    struct apiserver *api;
    struct err err;
    int code = EXIT_RUNTIME;

    if (apiserver_start(&ao, &api, &err) != 0) {
        fprintf(stderr, "fgpu demo: %s\n", err.msg);
        logsink_free(sink);
        return code;
    }
    if (cluster_create(api, o->nodes, o->gpus, &err) != 0) {
        fprintf(stderr, "fgpu demo: %s\n", err.msg);
    } else {
        code = with_service(o, api, logsink_log(sink));
    }
    apiserver_free(api);
    logsink_free(sink);
    return code;
}

int cmd_demo(int argc, char **argv)
{
    const struct sigaction act = {.sa_handler = on_signal};
    struct options o;
    int code = parse_options(argc, argv, &o);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    return demo(&o);
}
