#include "cmd_demo/performance.h"

#include "cmd/commands.h"
#include "cmd/runtime.h"
#include "cmd/terminal.h"
#include "cmd_demo/browser.h"

#include "demo/picture/picture.h"
#include "demo/scheduler/player.h"

#include <stdio.h>
#include <unistd.h>

#define SYNC_WAIT_MS 5000
#define FOR_S 60
#define SCENARIO_SPEED_MILLI 10000 /* of the scheduler: a refused pod is tried again soon */

static int wait_until_ready(struct runtime *runtime)
{
    for (int waited_ms = 0; waited_ms < SYNC_WAIT_MS; waited_ms += 10) {
        if (runtime_is_ready(runtime)) {
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

/* Whether the scenario came true, after what the judge said. */
static int conclude_scenario(const struct scenario *s, const struct scenario_result *r, int code)
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
static void print_setting(const struct scenario *s)
{
    const char *const *lines = s->example != NULL ? scenario_example(s->example) : NULL;

    printf("%s\n\n", s->line);
    printf("Configuration: %s%s\n\n", lines != NULL ? "config/examples/" : "the built-in defaults",
           lines != NULL ? s->example : "");
    for (; lines != NULL && *lines != NULL; lines++) {
        if ((*lines)[0] != '#') {
            printf("    %s\n", *lines);
        }
    }
    printf("\n");
    fflush(stdout); /* the scenario goes on below it */
}

static int play(const struct stage *g, struct picture_options *pic, struct scenario_runner *teller)
{
    struct picture_result result;
    struct scenario_result told;
    int code;

    picture_run(pic, &result);
    if (teller != NULL) {
        scenario_runner_join(teller, &told);
    }
    code = conclude(&result, runtime_check(g->runtime));
    if (teller != NULL) {
        code = conclude_scenario(g->o->scenario, &told, code);
    }
    picture_result_fini(&result);
    return code;
}

static int play_workload(const struct stage *g, struct picture_options *pic)
{
    const int32_t unless_given_s = g->in_browser ? 0 : FOR_S;

    pic->for_ms = (g->o->for_s > 0 ? g->o->for_s : unless_given_s) * INT64_C(1000);
    return play(g, pic, NULL);
}

static int play_scenario(const struct stage *g, struct picture_options *pic)
{
    const int32_t for_s = g->o->for_s > 0 ? g->o->for_s : FOR_S;
    struct picture_style style;
    struct scenario_runner *teller;
    struct err err;
    int code;

    picture_style_detect(pic->fd, &style);
    const struct scenario_runner_options so = {.scenario = g->o->scenario,
                                               .apiserver = g->api,
                                               .ops_url = g->ops_url,
                                               .clock = g->clock,
                                               .for_ms = for_s * INT64_C(1000000) / g->o->speed_milli,
                                               .fd = style.redraw ? -1 : pic->fd,
                                               .stop = g->stop};

    print_setting(g->o->scenario);
    if (scenario_runner_start(&so, &teller, &err) != 0) {
        terminal_complain("demo", err.msg);
        return EXIT_RUNTIME;
    }
    pic->caption = scenario_runner_caption;
    pic->ctx = teller;
    code = play(g, pic, teller);
    scenario_runner_free(teller);
    return code;
}

/* Above the picture, where it stays. */
static void show_page(struct stage *g)
{
    g->in_browser = !g->o->no_browser && browser_open(g->ops_url);
    printf("The web page of this demonstration: %s/\n", g->ops_url);
    if (g->in_browser && g->o->for_s == 0 && g->o->scenario == NULL) {
        printf("It is opened in a browser. Ctrl-C ends the demonstration.\n");
    }
    printf("\n");
    fflush(stdout);
}

int performance_run(struct stage *g)
{
    const struct player_options po = {.apiserver = g->api,
                                      .verbs_url = g->verbs_url,
                                      .seed = g->o->seed,
                                      .speed_milli = g->o->scenario != NULL ? SCENARIO_SPEED_MILLI : g->o->speed_milli,
                                      .workload = g->o->scenario == NULL};
    struct picture_options pic = {.apiserver = g->api, .fd = STDOUT_FILENO, .stop = g->stop};
    struct err err;
    int code;

    snprintf(g->verbs_url, sizeof(g->verbs_url), "http://127.0.0.1:%u/v1", runtime_port(g->runtime, RUNTIME_VERBS));
    snprintf(g->ops_url, sizeof(g->ops_url), "http://127.0.0.1:%u", runtime_port(g->runtime, RUNTIME_OPS));
    if (wait_until_ready(g->runtime) != 0) {
        fprintf(stderr, "fgpu demo: the service did not read the simulated cluster within %d s\n", SYNC_WAIT_MS / 1000);
        return EXIT_RUNTIME;
    }
    show_page(g);
    if (player_start(&po, &pic.player, &err) != 0) {
        terminal_complain("demo", err.msg);
        return EXIT_RUNTIME;
    }
    code = g->o->scenario != NULL ? play_scenario(g, &pic) : play_workload(g, &pic);
    player_free(pic.player);
    return code;
}
