#include "cmd_demo/performance.h"

#include "cmd/commands.h"
#include "cmd/service.h"
#include "cmd/terminal.h"

#include "demo/picture/picture.h"
#include "demo/scheduler/player.h"

#include <stdio.h>
#include <unistd.h>

#define SYNC_WAIT_MS 5000
#define STORY_SPEED_MILLI 10000 /* of the scheduler: a refused pod is tried again soon */

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
                                           .stop = g->stop};

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

int performance_run(struct stage *g)
{
    const struct player_options po = {.apiserver = g->api,
                                      .verbs_url = g->verbs_url,
                                      .seed = g->o->seed,
                                      .speed_milli = g->o->story != NULL ? STORY_SPEED_MILLI
                                                                         : g->o->speed_milli,
                                      .workload = g->o->story == NULL};
    struct picture_options pic = {
        .apiserver = g->api, .fd = STDOUT_FILENO, .stop = g->stop};
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
