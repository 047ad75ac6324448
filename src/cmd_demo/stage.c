/* The stage: simulated API server, clock, configuration and runtime. */
#include "cmd_demo/stage.h"
#include "cmd/commands.h"
#include "cmd/runtime.h"
#include "cmd/terminal.h"
#include "cmd_demo/performance.h"

#include "base/bug.h"
#include "demo/apiserver/apiserver.h"
#include "demo/apiserver/cluster.h"
#include "extender/signing.h"
#include "obs/logsink.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_TEXT_MAX (64 * 1024)

static atomic_bool stop_requested;

void demo_stop(void)
{
    atomic_store(&stop_requested, true);
}

/* The file of config/examples that a scenario goes by. */
static struct config *scenario_config(const struct scenario *scenario)
{
    const char *const *lines = scenario_example(scenario->example);
    struct config_names names;
    struct strbuf text;
    struct config *c;
    struct err err;

    BUG_ON(lines == NULL);
    cmd_config_names(&names);
    strbuf_init(&text, CONFIG_TEXT_MAX);
    for (; *lines != NULL; lines++) {
        strbuf_addf(&text, "%s\n", *lines);
    }
    BUG_ON(text.overflowed);
    if (config_parse(str_of(scenario->example), strbuf_view(&text), &names, &c, NULL, &err) != 0) {
        BUG(err.msg); /* the examples are checked with the tests */
    }
    strbuf_fini(&text);
    return c;
}

/* The configuration of the demo, on ports of the kernel's choice. */
static struct config *demo_config(const struct scenario *scenario)
{
    struct config *c = scenario != NULL && scenario->example != NULL ? scenario_config(scenario) : config_defaults();

    c->serving.verbs.port = 0;
    c->serving.ops.port = 0;
    c->serving.health.port = 0;
    c->client.run_object = STR_NULL;  /* nobody was before, and nobody comes after */
    c->client.wake_object = STR_NULL; /* the player asks again by itself */
    return c;
}

static int with_runtime(const struct demo_options *o, struct apiserver *api, struct clock_shifted *clock,
                        const struct log *log)
{
    struct config *file = demo_config(o->scenario);
    struct config *config = config_apply_config_at(file, clock_wall_ms(&clock->clock));
    struct credentials credentials = {0};
    struct runtime_options so = {.config = config,
                                 .credentials = &credentials,
                                 .clock = &clock->clock,
                                 .log = log,
                                 .instance = "fgpu-demo",
                                 .self = {EVENT_OBJECT_POD, STR("fgpu-system"), STR("fgpu-demo"), STR_NULL}};
    struct stage stage = {.o = o, .api = api, .clock = clock, .stop = &stop_requested};
    struct err err;
    int code = EXIT_RUNTIME;

    credentials.server = strdup(apiserver_url(api));
    BUG_ON(credentials.server == NULL);
    if (signing_new_ephemeral(log, &so.signing, &err) != 0 || runtime_start(&so, &stage.runtime, &err) != 0) {
        terminal_complain("demo", err.msg);
    } else {
        code = performance_run(&stage);
        runtime_stop(stage.runtime, 1000);
    }
    signing_free(so.signing);
    credentials_fini(&credentials);
    config_free(config);
    config_free(file);
    return code;
}

static int create_nodes(const struct demo_options *o, struct apiserver *api, struct err *reterr)
{
    return o->scenario != NULL ? scenario_create_nodes(o->scenario, api, reterr)
                               : cluster_create(api, o->nodes, o->gpus, reterr);
}

int demo_run(const struct demo_options *o)
{
    struct clock_shifted clock;
    struct logsink *sink;
    struct apiserver *api;
    struct err err;
    int64_t wall_ms;
    int code = EXIT_RUNTIME;

    clock_shifted_init(&clock);
    if (o->scenario != NULL && o->scenario->clock != NULL) {
        BUG_ON(!clock_rfc3339_parse(str_of(o->scenario->clock), &wall_ms));
        clock_shifted_set(&clock, wall_ms);
    }
    const struct apiserver_options ao = {.seed = o->seed, .clock = &clock.clock};

    sink = logsink_new(STDERR_FILENO, LOGSINK_TEXT, -1, &clock.clock);
    if (apiserver_start(&ao, &api, &err) != 0) {
        terminal_complain("demo", err.msg);
        logsink_free(sink);
        return code;
    }
    if (create_nodes(o, api, &err) != 0) {
        terminal_complain("demo", err.msg);
    } else {
        code = with_runtime(o, api, &clock, logsink_log(sink));
    }
    apiserver_free(api);
    logsink_free(sink);
    return code;
}
