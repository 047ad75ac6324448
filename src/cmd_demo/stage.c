/* The stage: simulated API server, service, player, picture, and a storyteller if there is a story.
 */
#include "cmd_demo/stage.h"
#include "cmd/commands.h"
#include "cmd/service.h"
#include "cmd/terminal.h"

#include "base/bug.h"
#include "demo/apiserver/apiserver.h"
#include "demo/apiserver/cluster.h"
#include "demo/picture/picture.h"
#include "demo/scheduler/player.h"
#include "extender/signing.h"
#include "obs/logsink.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYNC_WAIT_MS 5000
#define CONFIG_TEXT_MAX (64 * 1024)
#define STORY_SPEED_MILLI 10000 /* of the scheduler: a refused pod is tried again soon */

static atomic_bool stop_requested;

void demo_stop(void)
{
    atomic_store(&stop_requested, true);
}

/* The file of config/examples that a story goes by. */
static struct config *story_config(const struct story *story)
{
    const char *const *lines = story_example(story->example);
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
    if (config_parse(str_of(story->example), strbuf_view(&text), &names, &c, NULL, &err) != 0) {
        BUG(err.msg); /* the examples are checked with the tests */
    }
    strbuf_fini(&text);
    return c;
}

/* The configuration of the demo, on ports of the kernel's choice. */
static struct config *demo_config(const struct story *story)
{
    struct config *c =
        story != NULL && story->example != NULL ? story_config(story) : config_defaults();

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
        strbuf_addf(&text, "The ledger says of itself: %s\n", broken);
        result->violation_n++;
    }
    if (result->violation_n > 0 && result->first_violation[0] != '\0') {
        strbuf_addf(&text, "First violation: %s\n", result->first_violation);
    }
    picture_summary(result, &text);
    terminal_print(strbuf_view(&text));
    strbuf_fini(&text);
    return result->violation_n == 0 ? EXIT_OK : EXIT_INVARIANT;
}

/* Whether the story came true, after what the judge said. */
static int conclude_story(const struct story *s, const struct story_result *r, int code)
{
    if (r->finished) {
        printf("%s: %u scenes, %u claims, all came true\n", s->name, r->scene_n, r->claim_n);
        return code;
    }
    printf("%s: scene %u did not come true: ", s->name, r->scene_n);
    terminal_print(str_of(r->failure));
    printf("\n");
    return code == EXIT_OK ? EXIT_RUNTIME : code;
}

/* The setting: what an admin would have written. */
static void print_setting(const struct story *s)
{
    const char *const *lines = s->example != NULL ? story_example(s->example) : NULL;

    printf("%s\n\n", s->line);
    printf("Configuration: %s%s\n\n", lines != NULL ? "config/examples/" : "the built-in defaults",
           lines != NULL ? s->example : "");
    for (; lines != NULL && *lines != NULL; lines++) {
        if ((*lines)[0] != '#') {
            printf("    %s\n", *lines);
        }
    }
    printf("\n");
    fflush(stdout); /* the story goes on below it */
}

struct stage {
    const struct demo_options *o;
    struct apiserver *api;
    struct service *service;
    struct clock_shifted *clock;
    char verbs_url[64], ops_url[64];
};

static int play(const struct stage *g, struct picture_options *pic, struct storyteller *teller)
{
    struct picture_result result;
    struct story_result told;
    int code;

    picture_run(pic, &result);
    if (teller != NULL) {
        storyteller_join(teller, &told);
    }
    code = conclude(&result, service_check(g->service));
    if (teller != NULL) {
        code = conclude_story(g->o->story, &told, code);
    }
    picture_result_fini(&result);
    return code;
}

static int play_workload(const struct stage *g, struct picture_options *pic)
{
    pic->for_ms = g->o->for_s * INT64_C(1000);
    return play(g, pic, NULL);
}

static int play_story(const struct stage *g, struct picture_options *pic)
{
    struct picture_style style;
    struct storyteller *teller;
    struct err err;
    int code;

    picture_style_detect(pic->fd, &style);
    const struct storyteller_options so = {.story = g->o->story,
                                           .apiserver = g->api,
                                           .ops_url = g->ops_url,
                                           .clock = g->clock,
                                           .for_ms =
                                               g->o->for_s * INT64_C(1000000) / g->o->speed_milli,
                                           .fd = style.redraw ? -1 : pic->fd,
                                           .stop = &stop_requested};

    print_setting(g->o->story);
    if (storyteller_start(&so, &teller, &err) != 0) {
        terminal_complain("demo", err.msg);
        return EXIT_RUNTIME;
    }
    pic->caption = storyteller_caption;
    pic->ctx = teller;
    code = play(g, pic, teller);
    storyteller_free(teller);
    return code;
}

static int on_stage(struct stage *g)
{
    const struct player_options po = {.apiserver = g->api,
                                      .verbs_url = g->verbs_url,
                                      .seed = g->o->seed,
                                      .speed_milli = g->o->story != NULL ? STORY_SPEED_MILLI
                                                                         : g->o->speed_milli,
                                      .workload = g->o->story == NULL};
    struct picture_options pic = {
        .apiserver = g->api, .fd = STDOUT_FILENO, .stop = &stop_requested};
    struct err err;
    int code;

    snprintf(g->verbs_url, sizeof(g->verbs_url), "http://127.0.0.1:%u/v1",
             service_port(g->service, SERVICE_VERBS));
    snprintf(g->ops_url, sizeof(g->ops_url), "http://127.0.0.1:%u",
             service_port(g->service, SERVICE_OPS));
    if (wait_until_ready(g->service) != 0) {
        fprintf(stderr, "fgpu demo: the service did not read the simulated cluster within %d s\n",
                SYNC_WAIT_MS / 1000);
        return EXIT_RUNTIME;
    }
    if (player_start(&po, &pic.player, &err) != 0) {
        terminal_complain("demo", err.msg);
        return EXIT_RUNTIME;
    }
    code = g->o->story != NULL ? play_story(g, &pic) : play_workload(g, &pic);
    player_free(pic.player);
    return code;
}

static int with_service(const struct demo_options *o, struct apiserver *api,
                        struct clock_shifted *clock, const struct log *log)
{
    struct config *file = demo_config(o->story);
    struct config *config = changeover_config_at(file, clock_wall_ms(&clock->clock));
    struct credentials credentials = {0};
    struct service_options so = {
        .config = config,
        .credentials = &credentials,
        .clock = &clock->clock,
        .log = log,
        .instance = "fgpu-demo",
        .self = {EVENT_OBJECT_POD, STR("fgpu-system"), STR("fgpu-demo"), STR_NULL}};
    struct stage stage = {.o = o, .api = api, .clock = clock};
    struct err err;
    int code = EXIT_RUNTIME;

    credentials.server = strdup(apiserver_url(api));
    BUG_ON(credentials.server == NULL);
    if (signing_new_ephemeral(log, &so.signing, &err) != 0 || service_start(&so, &stage.service, &err) != 0) {
        terminal_complain("demo", err.msg);
    } else {
        code = on_stage(&stage);
        service_stop(stage.service, 1000);
    }
    signing_free(so.signing);
    credentials_fini(&credentials);
    config_free(config);
    config_free(file);
    return code;
}

static int create_nodes(const struct demo_options *o, struct apiserver *api, struct err *reterr)
{
    return o->story != NULL ? story_create_nodes(o->story, api, reterr)
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
    if (o->story != NULL && o->story->clock != NULL) {
        BUG_ON(!clock_rfc3339_parse(str_of(o->story->clock), &wall_ms));
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
        code = with_service(o, api, &clock, logsink_log(sink));
    }
    apiserver_free(api);
    logsink_free(sink);
    return code;
}
