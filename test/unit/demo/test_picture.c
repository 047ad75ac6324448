/* The picture as golden text: a fixed state in, exact lines out. */
#include "demo/picture/picture.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct checker_device devices[8][4];
static struct checker_node nodes[8];
static struct checker_report report;
static struct player_stats stats;
static struct picture_view view;
static struct strbuf out;

static const struct picture_style ascii = {.cols = 80, .rows = 24};

static void set_decision(size_t i, enum decision_kind kind, const char *pod, const char *gpu_request,
                         const char *reason, int64_t us)
{
    struct decision *d = &stats.decisions[i];
    *d = (struct decision){.seq = 9 - i, .kind = kind, .us = us};
    snprintf(d->pod, sizeof(d->pod), "%s", pod);
    snprintf(d->gpu_request, sizeof(d->gpu_request), "%s", gpu_request);
    snprintf(d->reason, sizeof(d->reason), "%s", reason);
    snprintf(d->node, sizeof(d->node), "node-03");
    snprintf(d->devices, sizeof(d->devices), "gpu 0,2");
    stats.decision_n = i + 1;
}

/* 8 nodes of 4 GPUs; GPU g of node n has n/7 of its compute and g/3 of its memory handed out. */
static int fill(void **state)
{
    memset(&stats, 0, sizeof(stats));
    report = (struct checker_report){.nodes = nodes, .node_n = 8, .device_n = 32, .bound_n = 64, .pending_n = 7};
    for (int n = 0; n < 8; n++) {
        nodes[n] = (struct checker_node){.devices = devices[n], .device_n = 4, .readable = true};
        snprintf(nodes[n].name, sizeof(nodes[n].name), "node-%02d", n);
        for (int g = 0; g < 4; g++) {
            struct checker_device *d = &devices[n][g];
            *d = (struct checker_device){.index = g, .healthy = true, .slot_n = 16, .milli = 1000, .mem_mib = 81920};
            d->milli_used = n * 1000 / 7;
            d->mem_used_mib = g * 81920 / 3;
            d->sharer_n = 1;
            snprintf(d->model, sizeof(d->model), n < 4 ? "NVIDIA-A100-SXM4-80GB" : "Tesla-T4");
            report.milli_capacity += 1000;
            report.milli_used += d->milli_used;
            report.mem_capacity_mib += d->mem_mib;
            report.mem_used_mib += d->mem_used_mib;
        }
    }
    set_decision(0, DECISION_BOUND, "infer-0012", "2 x 400 milli", "", 1234);
    set_decision(1, DECISION_REFUSED, "train-0011", "700 milli",
                 "5 no device has enough free compute, 3 no device has enough free memory", 300);
    set_decision(2, DECISION_FAILED, "embed-0010", "8192 MiB", "bind: not ready", 90);
    stats.refused_now = 5;
    for (int i = 0; i < 100; i++) {
        latency_add(&stats.filter, i < 98 ? 12 : 15);
        latency_add(&stats.bind, 200000);
    }
    view = (struct picture_view){
        .report = &report, .stats = &stats, .elapsed_ms = 12300, .for_ms = 60000, .binds_per_s_milli = 12340};
    strbuf_init(&out, 1 << 20);
    return 0;
}

static int empty(void **state)
{
    strbuf_fini(&out);
    return 0;
}

static size_t line_n(void)
{
    size_t n = 0;
    for (size_t i = 0; i < out.n; i++) {
        n += out.p[i] == '\n';
    }
    return n;
}

/* Columns of the widest line: code points, no escape sequences. */
static size_t widest(void)
{
    size_t cols = 0, max = 0;
    for (size_t i = 0; i < out.n; i++) {
        if (out.p[i] == '\033') {
            while (out.p[i] != 'm') {
                i++;
            }
        } else if (out.p[i] == '\n') {
            cols = 0;
        } else {
            cols += ((unsigned char)out.p[i] & 0xc0) != 0x80;
            max = cols > max ? cols : max;
        }
    }
    return max;
}

static void render__eight_nodes_of_four__golden(void **state)
{
    static const char golden[] =
        "fgpu demo  00:12 of 01:00  8 nodes, 32 GPUs   \" compute _ memory # both\n"
        "\n"
        "node-00 A100 80G ............... _____.......... __________..... _______________\n"
        "node-01 A100 80G \"\"............. ##___.......... ##________..... ##_____________\n"
        "node-02 A100 80G \"\"\"\"........... ####_.......... ####______..... ####___________\n"
        "node-03 A100 80G \"\"\"\"\"\"......... #####\"......... ######____..... ######_________\n"
        "node-04 T4 80G   \"\"\"\"\"\"\"\"\"...... #####\"\"\"\"...... #########_..... "
        "#########______\n"
        "node-05 T4 80G   \"\"\"\"\"\"\"\"\"\"\".... #####\"\"\"\"\"\".... ##########\".... "
        "###########____\n"
        "node-06 T4 80G   \"\"\"\"\"\"\"\"\"\"\"\"\".. #####\"\"\"\"\"\"\"\".. ##########\"\"\".. "
        "#############__\n"
        "node-07 T4 80G   \"\"\"\"\"\"\"\"\"\"\"\"\"\"\" #####\"\"\"\"\"\"\"\"\"\" "
        "##########\"\"\"\"\" ###############\n"
        "\n"
        "bound   infer-0012     2 x 400 milli   node-03 gpu 0,2, 1.2 ms\n"
        "refused train-0011     700 milli       5 no device has enough free compute, 3 no\n"
        "failed  embed-0010     8192 MiB        bind: not ready\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "compute 50.0 %, memory 50.0 %; 64 bound, 7 pending (5 refused); 12.3 binds/s\n"
        "0 invariant violations; filter p50 12 us, p99 15 us; bind p50 204 ms, p99 204 ms\n";
    picture_render(&view, &ascii, &out);
    assert_string_equal(out.p, golden);
    assert_int_equal(line_n(), 23); /* and the line of the cursor */
}

static void render__unicode__one_code_point_per_cell(void **state)
{
    struct picture_style utf8 = {.utf8 = true, .cols = 80, .rows = 24};
    picture_render(&view, &utf8, &out);
    assert_non_null(strstr(out.p, "node-02 A100 80G \u2580\u2580\u2580\u2580\u00b7"));
    assert_non_null(strstr(out.p, "\u2588\u2588\u2588\u2588\u2584"));
    assert_true(widest() <= 80);
}

static void render__color__only_when_asked(void **state)
{
    struct picture_style color = ascii;
    picture_render(&view, &ascii, &out);
    assert_null(strchr(out.p, '\033'));
    size_t plain = widest();
    strbuf_reset(&out);
    color.color = true;
    picture_render(&view, &color, &out);
    assert_non_null(strchr(out.p, '\033'));
    assert_int_equal(widest(), plain);
}

static void render__any_size__stays_inside(void **state)
{
    for (int32_t rows = 12; rows < 60; rows += 5) {
        for (int32_t cols = 20; cols < 200; cols += 9) {
            struct picture_style style = {.utf8 = cols % 2, .color = rows % 2, .cols = cols, .rows = rows};
            strbuf_reset(&out);
            picture_render(&view, &style, &out);
            if (line_n() >= (size_t)rows || widest() > (size_t)cols) {
                fail_msg("%dx%d: %zu lines, %zu columns", cols, rows, line_n(), widest());
            }
        }
    }
}

static void render__more_nodes_than_rows__counts_the_rest(void **state)
{
    struct picture_style small = {.cols = 80, .rows = 14};
    picture_render(&view, &small, &out);
    assert_non_null(strstr(out.p, "node-02"));
    assert_null(strstr(out.p, "node-03 A"));
    assert_non_null(strstr(out.p, "... and 5 more nodes\n"));
}

static void render__overcommitted_and_unhealthy__marked(void **state)
{
    devices[0][0].milli_used = 1001;
    devices[0][1].healthy = false;
    picture_render(&view, &ascii, &out);
    assert_non_null(strstr(out.p, "!!!!!!!!!!!!!!! xxxxxxxxxxxxxxx"));
}

static void render__hostile_text__cannot_reach_the_terminal(void **state)
{
    set_decision(0, DECISION_REFUSED, "p\033[2J", "\xc3\xa9", "a\nb\x07", 1);
    picture_render(&view, &ascii, &out);
    assert_null(strchr(out.p, '\033'));
    assert_non_null(strstr(out.p, "p?[2J"));
    assert_non_null(strstr(out.p, "a?b?"));
}

static void line__same_state__golden(void **state)
{
    view.violation_n = 2;
    picture_line(&view, &out);
    assert_string_equal(out.p, "12 s: compute 50.0 %, memory 50.0 %, 64 pods bound, 7 pending (5 refused), "
                               "12.3 binds/s, filter p50 12 us p99 15 us, 2 invariant violations\n");
}

static void summary__fixed_result__golden(void **state)
{
    static const char golden[] = "fgpu demo: 60 s, 8 nodes, 32 GPUs\n"
                                 "\n"
                                 "PODS          170 bound; 190 created, 106 finished, 12 gave up waiting\n"
                                 "NOW           64 bound, 7 pending, 5 refused\n"
                                 "FAILED CALLS  1, of which 0 broke the protocol\n"
                                 "              last: bind: not ready\n"
                                 "\n"
                                 "CALL          P50        P99        CALLS\n"
                                 "filter        12 us      15 us      100\n"
                                 "refusal       0 us       0 us       0\n"
                                 "prioritize    0 us       0 us       0\n"
                                 "bind          204 ms     204 ms     100\n"
                                 "\n"
                                 "HANDED OUT    MEAN       AT THE END\n"
                                 "compute       81.2 %     50.0 %\n"
                                 "memory        0.7 %      50.0 %\n"
                                 "largest hole  700 milli, 81920 MiB; 3 of 32 GPUs empty\n"
                                 "\n"
                                 "1 over-commits in 1200 looks at the API server's objects\n"
                                 "first violation: node node-00 gpu 1: 1100 of 1000 milli\n"
                                 "2 invariant violations\n";
    stats.bound = 170;
    stats.created = 190;
    stats.finished = 106;
    stats.gave_up = 12;
    stats.failures = 1;
    snprintf(stats.last_failure, sizeof(stats.last_failure), "bind: not ready");
    struct picture_result result = {.elapsed_ms = 60400,
                                    .check_n = 1200,
                                    .violation_n = 2,
                                    .overcommit_n = 1,
                                    .first_violation = "node node-00 gpu 1: 1100 of 1000 milli",
                                    .milli_mean_permille = 812,
                                    .mem_mean_permille = 7,
                                    .last = report,
                                    .stats = stats};
    result.last.largest_hole_milli = 700;
    result.last.largest_hole_mib = 81920;
    result.last.empty_device_n = 3;
    picture_summary(&result, &out);
    assert_string_equal(out.p, golden);
}

static void style__environment__decides(void **state)
{
    static const struct {
        const char *name, *lc_all, *lang, *term, *no_color;
        bool utf8;
    } rows[] = {
        {"utf-8 by LANG", "", "de_DE.UTF-8", "xterm", "", true},
        {"utf8 spelled short", "", "C.utf8", "xterm", "", true},
        {"LC_ALL wins", "C", "de_DE.UTF-8", "xterm", "", false},
        {"not utf-8", "", "de_DE.ISO-8859-1", "xterm", "", false},
        {"dumb", "", "C.UTF-8", "dumb", "", false},
        {"no terminal type", "", "C.UTF-8", "", "", false},
        {"no color", "", "C.UTF-8", "xterm", "1", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct picture_style style;
        setenv("LC_ALL", rows[i].lc_all, 1);
        setenv("LC_CTYPE", "", 1);
        setenv("LANG", rows[i].lang, 1);
        setenv("TERM", rows[i].term, 1);
        setenv("NO_COLOR", rows[i].no_color, 1);
        picture_style_detect(-1, &style);
        if (style.utf8 != rows[i].utf8 || style.color || style.redraw || style.cols != 80 || style.rows != 24) {
            fail_msg("%s", rows[i].name);
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fill, empty)

/* Of a scenario: what is said in whole words, what came true below it, and no line or row more than the screen has. */
static void render__caption__wrapped_at_words_within_the_screen(void **state)
{
    const struct picture_style style = {.cols = 60, .rows = 24};

    view.said = "An A100 of 40 GB cut into seven 1g.5gb serves seven pods; each is told its own instance.";
    view.held = "seventh-* are bound";
    picture_render(&view, &style, &out);
    assert_non_null(strstr(out.p, "\nAn A100 of 40 GB cut into seven 1g.5gb serves seven pods;\n"
                                  "each is told its own instance.\n\nseventh-* are bound\n"));
    assert_true(line_n() < 24);
    assert_true(widest() <= 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(render__eight_nodes_of_four__golden),
        TEST(render__unicode__one_code_point_per_cell),
        TEST(render__color__only_when_asked),
        TEST(render__any_size__stays_inside),
        TEST(render__more_nodes_than_rows__counts_the_rest),
        TEST(render__overcommitted_and_unhealthy__marked),
        TEST(render__hostile_text__cannot_reach_the_terminal),
        TEST(render__caption__wrapped_at_words_within_the_screen),
        TEST(line__same_state__golden),
        TEST(summary__fixed_result__golden),
        TEST(style__environment__decides),
    };
    return cmocka_run_group_tests_name("demo/picture", tests, NULL, NULL);
}
