/* Which size would have held a workload, from documents as fgpu-node's /state has them. */
#include "base/compiler.h"
#include "sim/rightsize.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

struct fixture {
    struct arena arena;
    struct rightsize r;
    struct rightsize_rules rules;
    const struct rightsize_workload *list;
    size_t n;
};

static int set_up(void **state)
{
    static struct fixture f;

    f = (struct fixture){.rules = {.margin_percent = 20, .least_seconds = 3600}};
    arena_init(&f.arena, 8U << 20);
    f.r.arena = &f.arena;
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    arena_fini(&f->arena);
    return 0;
}

#define USAGE(seconds, touched, mem, milli)                                                                            \
    "\"usage\":{\"observedSeconds\":" seconds ",\"looks\":10,\"touched\":" touched ",\"processes\":1,\"memMib\":{" mem \
    "},"                                                                                                               \
    "\"milli\":{" milli "},\"crowding\":false,\"crowdingSeconds\":0}"
#define AMOUNT(peak, mean) "\"peak\":" peak ",\"mean\":" mean
#define HELD(pod, milli, mem, alone, usage)                                                                            \
    "{\"namespace\":\"team\",\"pod\":\"" pod "\",\"uid\":\"u-" pod "\",\"container\":\"main\",\"id\":\"c-" pod         \
    "\",\"milli\":" milli ",\"memMib\":" mem ",\"alone\":" alone "," usage "}"
#define GPU(containers, sharers)                                                                                       \
    "{\"uuid\":\"GPU-a\",\"model\":\"A100\",\"memMib\":40000,\"mig\":false,\"instance\":false,\"held\":{"              \
    "\"sharers\":" sharers "},\"containers\":[" containers "]}"
#define DOCUMENT_AT(hour, gpus, ended)                                                                                 \
    "{\"apiVersion\":\"node.fgpu.io/v1alpha1\",\"kind\":\"NodeState\",\"metadata\":{\"node\":\"n1\","                  \
    "\"asOf\":\"2026-01-01T" hour ":00:00.000Z\"},\"watch\":{\"on\":true},\"gpus\":[" gpus "],\"ended\":[" ended "]}"
#define DOCUMENT(gpus, ended) DOCUMENT_AT("10", gpus, ended)

static void reads(struct fixture *f, const char *document)
{
    struct err err = {0};

    if (rightsize_read(&f->r, str_of(document), &err) != 0 ||
        rightsize_judge(&f->r, &f->rules, &f->list, &f->n, &err) != 0) {
        fail_msg("%s: %s", err.msg, document);
    }
}

static void begin_anew(struct fixture *f)
{
    f->r = (struct rightsize){.arena = &f->arena};
}

static const struct rightsize_workload *only(const struct fixture *f)
{
    assert_int_equal(f->n, 1);
    return &f->list[0];
}

static void assert_verdict(const struct rightsize_workload *w, enum rightsize_verdict v)
{
    assert_string_equal(rightsize_verdict_name(w->verdict), rightsize_verdict_name(v));
}

static void rightsize__half_used__is_proposed_its_peak_with_a_margin(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT(GPU(HELD("web", "500", "20000", "false",
                               USAGE("7200", "true", AMOUNT("8000", "6000"), AMOUNT("211", "50"))),
                          "1"),
                      ""));
    assert_verdict(only(f), RIGHTSIZE_SMALLER);
    assert_int_equal(f->list->mem_mib, 9600); /* 8000 x 1.2, which is 150 steps of 64 */
    assert_int_equal(f->list->milli, 260);    /* 211 x 1.2 = 253.2 */
    assert_int_equal(f->list->seconds, 7200);
    assert_int_equal(f->list->mean_mem_mib, 6000);
    assert_null(f->r.idle);
}

static void rightsize__nearly_all_used__is_left_as_it_is(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT(GPU(HELD("web", "500", "20000", "false",
                               USAGE("7200", "true", AMOUNT("20000", "1"), AMOUNT("900", "50"))),
                          "1"),
                      ""));
    assert_verdict(only(f), RIGHTSIZE_FITS);
}

static void rightsize__more_memory_than_given__is_proposed_more(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT(GPU(HELD("web", "500", "20000", "false",
                               USAGE("7200", "true", AMOUNT("20001", "1"), AMOUNT("900", "50"))),
                          "1"),
                      ""));
    assert_verdict(only(f), RIGHTSIZE_LARGER);
    assert_int_equal(f->list->mem_mib, 24064);
    assert_int_equal(f->list->milli, 500); /* compute above the share was idle */
}

static void rightsize__instances_of_a_workload__count_together(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT(GPU(HELD("web-7d4b9c8f6d-x2x4z", "500", "20000", "false",
                               USAGE("3000", "true", AMOUNT("1000", "1000"),
                                     AMOUNT("100", "100"))) "," HELD("web-7d4b9c8f6d-bbbbb", "500", "20000", "false",
                                                                     USAGE("1000", "true", AMOUNT("3000", "3000"),
                                                                           AMOUNT("50", "50"))),
                          "2"),
                      HELD("web-66b9d8c5f7-zzzzz", "400", "18000", "false",
                           USAGE("1000", "true", AMOUNT("5000", "5000"), AMOUNT("10", "10")))));
    assert_true(str_eq(only(f)->name, STR("web")));
    assert_int_equal(f->list->pods, 3);
    assert_int_equal(f->list->running, 2);
    assert_int_equal(f->list->seconds, 5000);
    assert_int_equal(f->list->looks, 30);
    assert_int_equal(f->list->peak_mem_mib, 5000);
    assert_int_equal(f->list->peak_milli, 100);
    assert_int_equal(f->list->mean_mem_mib, (1000 * 3 + 3000 + 5000) / 5);
    assert_int_equal(f->list->given_mem_mib, 20000);
    assert_verdict(f->list, RIGHTSIZE_SMALLER);
    assert_int_equal(f->list->mem_mib, 6016);
}

static void rightsize__two_documents_of_a_container__count_once(void **state)
{
#define WEB(seconds, mem) HELD("web", "500", "20000", "false", USAGE(seconds, "true", mem, AMOUNT("100", "10")))
    static const char *const orders[][2] = {
        {DOCUMENT_AT("10", GPU(WEB("3000", AMOUNT("9000", "1")), "1"), ""),
         DOCUMENT_AT("11", GPU(WEB("7200", AMOUNT("8000", "2")), "1"), "")},
        {DOCUMENT_AT("11", GPU(WEB("7200", AMOUNT("8000", "2")), "1"), ""),
         DOCUMENT_AT("10", GPU(WEB("3000", AMOUNT("9000", "1")), "1"), "")},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        begin_anew(f);
        reads(f, orders[i][0]);
        reads(f, orders[i][1]);
        assert_int_equal(only(f)->seconds, 7200);
        assert_int_equal(f->list->looks, 10);
        assert_int_equal(f->list->running, 1);
        assert_int_equal(f->list->peak_mem_mib, 9000);
        assert_int_equal(f->list->mean_mem_mib, 2);
        assert_null(f->r.uses->next);
    }
    begin_anew(f);
    reads(f, orders[0][1]);
    reads(f, orders[0][1]);
    assert_int_equal(only(f)->seconds, 7200);
    begin_anew(f); /* another GPU of the container is another use */
    reads(f, DOCUMENT(GPU(WEB("3000", AMOUNT("1", "1")), "1"), ""));
    reads(f, DOCUMENT_AT("11", "{\"uuid\":\"GPU-b\",\"containers\":[" WEB("4000", AMOUNT("1", "1")) "]}", ""));
    assert_int_equal(only(f)->seconds, 7000);
}

static void rightsize__the_newest_document_did_not_look__what_was_seen_before_counts(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT_AT("10", GPU(WEB("7200", AMOUNT("9000", "1")), "1"), ""));
    reads(f, DOCUMENT_AT("11", GPU(HELD("web", "500", "20000", "false", "\"later\":1"), "1"), ""));
    assert_int_equal(only(f)->seconds, 7200);
    assert_int_equal(f->list->running, 1);
    assert_verdict(f->list, RIGHTSIZE_SMALLER);
}

static void rightsize__not_in_the_newest_document__has_ended(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT_AT("10", GPU(WEB("7200", AMOUNT("9000", "1")), "1"), ""));
    assert_int_equal(only(f)->running, 1);
    reads(f, DOCUMENT_AT("11", GPU("", "0"), ""));
    assert_int_equal(only(f)->running, 0);
    assert_int_equal(f->list->seconds, 7200);
}

static void rightsize__unknown_in_the_newest_document__stays_unknown(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT_AT("10", GPU(WEB("3600", AMOUNT("9000", "1")), "1"), ""));
    reads(f, DOCUMENT_AT("11", GPU(WEB("7200", ""), "1"), ""));
    assert_verdict(only(f), RIGHTSIZE_NOT_TOLD);
}

static void rightsize__little_evidence_or_none__proposes_nothing(void **state)
{
    static const struct {
        const char *document;
        enum rightsize_verdict verdict;
    } rows[] = {
        {DOCUMENT(
             GPU(HELD("a", "500", "20000", "false", USAGE("3599", "true", AMOUNT("1", "1"), AMOUNT("1", "1"))), "1"),
             ""),
         RIGHTSIZE_BRIEF},
        {DOCUMENT(
             GPU(HELD("a", "500", "20000", "false", USAGE("3600", "false", AMOUNT("0", "0"), AMOUNT("0", "0"))), "1"),
             ""),
         RIGHTSIZE_UNTOUCHED},
        {DOCUMENT(GPU(HELD("a", "500", "20000", "false", USAGE("3600", "true", AMOUNT("1", "1"), "")), "1"), ""),
         RIGHTSIZE_NOT_TOLD},
        {DOCUMENT(GPU(HELD("a", "500", "20000", "false", "\"later\":1"), "1"), ""), RIGHTSIZE_NOT_TOLD},
        {DOCUMENT(
             "{\"uuid\":\"MIG-a\",\"memMib\":5000,\"instance\":true,\"held\":{\"sharers\":1},\"containers\":[" HELD(
                 "a", "1000", "5000", "true", USAGE("3600", "true", AMOUNT("1", "1"), "")) "]}",
             ""),
         RIGHTSIZE_INSTANCE},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture *f = *state;

        begin_anew(f);
        reads(f, rows[i].document);
        assert_verdict(only(f), rows[i].verdict);
    }
}

static void rightsize__with_named_sizes__is_the_smallest_that_holds(void **state)
{
    static const struct named_size sizes[] = {{.name = {"large", 5}, .milli = 400, .mem_mib = 16000},
                                              {.name = {"medium", 6}, .milli = 300, .mem_mib = 10000},
                                              {.name = {"narrow", 6}, .milli = 250, .mem_mib = 20000},
                                              {.name = {"two", 3}, .milli = 300, .mem_mib = 10000, .count = 2},
                                              {.name = {"small", 5}, .milli = 100}};
    const struct policy policy = {.sizes = sizes, .size_n = ARRAY_LEN(sizes)};
    struct fixture *f = *state;

    f->rules.policy = &policy;
    reads(f, DOCUMENT(GPU(HELD("web", "1000", "40000", "true",
                               USAGE("7200", "true", AMOUNT("8000", "6000"), AMOUNT("211", "50"))),
                          "1"),
                      ""));
    assert_verdict(only(f), RIGHTSIZE_SMALLER);
    assert_true(str_eq(f->list->size, STR("medium")));
    assert_int_equal(f->list->milli, 300);
    assert_int_equal(f->list->mem_mib, 10000);
    begin_anew(f); /* 4000 MiB and 100 milli of a GPU with 40000 MiB: the size without memory gives just that */
    reads(f, DOCUMENT(GPU(HELD("web", "1000", "40000", "true",
                               USAGE("7200", "true", AMOUNT("3300", "1"), AMOUNT("80", "1"))),
                          "1"),
                      ""));
    assert_true(str_eq(f->list->size, STR("small")));
    assert_int_equal(f->list->mem_mib, 4000);
}

static void rightsize__gpus_that_nobody_holds__are_idle(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT(GPU("", "0") ",{\"uuid\":\"GPU-b\",\"memMib\":1,\"mig\":true,\"held\":{\"sharers\":0}}", ""));
    assert_int_equal(f->n, 0);
    assert_non_null(f->r.idle);
    assert_true(str_eq(f->r.idle->gpu, STR("GPU-a")));
    assert_true(str_eq(f->r.idle->from->node, STR("n1")));
    assert_null(f->r.idle->next); /* not the one in MIG mode */
}

static void rightsize__idle_in_an_older_document__is_not_told(void **state)
{
    struct fixture *f = *state;

    reads(f, DOCUMENT_AT("10", GPU("", "0"), ""));
    assert_non_null(f->r.idle);
    reads(f, DOCUMENT_AT("11", GPU(WEB("7200", AMOUNT("1", "1")), "1"), ""));
    assert_null(f->r.idle);
    begin_anew(f);
    reads(f, DOCUMENT_AT("11", GPU("", "0"), ""));
    reads(f, DOCUMENT_AT("11", GPU("", "0"), ""));
    reads(f, DOCUMENT_AT("10", GPU("", "0"), ""));
    assert_non_null(f->r.idle);
    assert_null(f->r.idle->next); /* one line for each GPU */
}

static void rightsize__names_of_pods__lose_what_controllers_append(void **state)
{
    static const char *const rows[][2] = {
        {"web-7d4b9c8f6d-x2x4z", "web"},
        {"my-web-66b9d8c5f7-zzzzz", "my-web"},
        {"db-0", "db"},
        {"db-117", "db"},
        {"agent-x2x4z", "agent"},
        {"train", "train"},
        {"train-fast", "train-fast"},
        {"7d4b9c8f6d-x2x4z", "7d4b9c8f6d"},
        {"-0", "-0"},
        {"web-7d4b9c8f6d-24567", "web"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct str name = rightsize_workload_name(str_of(rows[i][0]));

        if (!str_eq_cstr(name, rows[i][1])) {
            fail_msg("%s is of %.*s, expected %s", rows[i][0], STR_ARG(name), rows[i][1]);
        }
    }
}

#define METADATA "\"metadata\":{\"node\":\"n1\",\"asOf\":\"2026-01-01T00:00:00Z\"}"

static void rightsize__what_is_no_node_state__is_refused_whole(void **state)
{
    static const char *const rows[] = {"",
                                       "[]",
                                       "{}",
                                       "{\"kind\":\"State\"}",
                                       "{\"apiVersion\":\"node.fgpu.io/v1alpha1\",\"kind\":\"NodeState\"}",
                                       "{\"apiVersion\":\"node.fgpu.io/v9\",\"kind\":\"NodeState\"," METADATA
                                       ",\"gpus\":[]}",
                                       "{\"kind\":\"NodeState\"," METADATA ",\"gpus\":[]}",
                                       "{\"apiVersion\":\"node.fgpu.io/v1alpha1\",\"kind\":\"NodeState\"," METADATA "}",
                                       "{\"apiVersion\":\"node.fgpu.io/v1alpha1\",\"kind\":\"NodeState\",\"gpus\":[]}",
                                       "{\"kind\":\"NodeState\",\"gpus\":{}}",
                                       "{\"kind\":\"NodeState\",\"gpus\":[{\"memMib\":-1}]}",
                                       "{\"kind\":\"NodeState\",\"gpus\":[{\"containers\":[{}]}],\"ended\":5}"};
    struct fixture *f = *state;
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_true(rightsize_read(&f->r, str_of(rows[i]), &err) < 0);
        assert_null(f->r.documents);
        assert_null(f->r.uses);
        assert_null(f->r.idle);
    }
}

int main(void)
{
#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ALONE(rightsize__half_used__is_proposed_its_peak_with_a_margin),
        ALONE(rightsize__nearly_all_used__is_left_as_it_is),
        ALONE(rightsize__more_memory_than_given__is_proposed_more),
        ALONE(rightsize__instances_of_a_workload__count_together),
        ALONE(rightsize__two_documents_of_a_container__count_once),
        ALONE(rightsize__the_newest_document_did_not_look__what_was_seen_before_counts),
        ALONE(rightsize__not_in_the_newest_document__has_ended),
        ALONE(rightsize__unknown_in_the_newest_document__stays_unknown),
        ALONE(rightsize__little_evidence_or_none__proposes_nothing),
        ALONE(rightsize__with_named_sizes__is_the_smallest_that_holds),
        ALONE(rightsize__gpus_that_nobody_holds__are_idle),
        ALONE(rightsize__idle_in_an_older_document__is_not_told),
        ALONE(rightsize__names_of_pods__lose_what_controllers_append),
        ALONE(rightsize__what_is_no_node_state__is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
