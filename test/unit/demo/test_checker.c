/* The judge must find what is wrong: each row plants one thing. */
#include "demo/checker/checker.h"

#include "base/compiler.h"
#include "demo/apiserver/cluster.h"
#include "demo/support/server.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

/* One node with two GPUs of 1000 MiB, one of them with two slots. */
#define NODE                                                                                                           \
    "{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"fgpu.io/"                                                       \
    "gpus\":\"{\\\"v\\\":1,\\\"gpus\\\":["                                                                             \
    "{\\\"uuid\\\":\\\"GPU-a\\\",\\\"index\\\":0,\\\"model\\\":\\\"T\\\",\\\"memMib\\\":1000,"                         \
    "\\\"slots\\\":2},"                                                                                                \
    "{\\\"uuid\\\":\\\"GPU-b\\\",\\\"index\\\":1,\\\"model\\\":\\\"T\\\",\\\"memMib\\\":1000,"                         \
    "\\\"slots\\\":16}]}\"}}}"

struct planted {         /* one pod */
    const char *limits;  /* of its container, JSON members; NULL: none */
    const char *devices; /* of the container "main" in the assignment, with ' for "; NULL: no annotation */
    const char *extra;   /* further containers of the assignment, with '; NULL: none */
    const char *phase;
    const char *init; /* spec.initContainers, JSON; NULL: none */
};

#define PODS_MAX 3

struct row {
    const char *name;
    struct planted pods[PODS_MAX];
    uint32_t violations;
    uint32_t overcommits;
    int64_t milli_used; /* of both devices */
    const char *first;  /* contained in the first violation; NULL: there is none */
};

#define A(milli, mem) "{'uuid':'GPU-a','index':0,'milli':" #milli ",'memMib':" #mem "}"
#define B(milli, mem) "{'uuid':'GPU-b','index':1,'milli':" #milli ",'memMib':" #mem "}"

static const struct row rows[] = {
    {"nothing", {{0}}, 0, 0, 0, NULL},
    {"exactly full", {{.devices = A(600, 400)}, {.devices = A(400, 600)}}, 0, 0, 1000, NULL},
    {"one milli too much", {{.devices = A(600, 400)}, {.devices = A(401, 600)}}, 1, 1, 1001, "1001 of 1000 milli"},
    {"one MiB too much", {{.devices = A(600, 401)}, {.devices = A(400, 600)}}, 1, 1, 1000, "1001 of 1000 MiB"},
    {"too many sharers", {{.devices = A(1, 1)}, {.devices = A(1, 1)}, {.devices = A(1, 1)}}, 1, 1, 3, "3 of 2 sharers"},
    {"two devices too full",
     {{.devices = A(600, 1) "," B(600, 1)}, {.devices = A(600, 1) "," B(600, 1)}},
     2,
     2,
     2400,
     "gpu 0"},
    {"finished pods hold nothing",
     {{.devices = A(900, 1), .phase = "Succeeded"}, {.devices = A(900, 1), .phase = "Failed"}, {.devices = A(900, 1)}},
     0,
     0,
     900,
     NULL},
    {"unknown device",
     {{.devices = "{'uuid':'GPU-z','index':0,'milli':1,'memMib':1}"}},
     1,
     0,
     0,
     "GPU-z (index 0) is not on node n1"},
    {"device by index", {{.devices = "{'uuid':'','index':1,'milli':5,'memMib':1}"}}, 0, 0, 5, NULL},
    {"same device twice", {{.devices = A(1, 1) "," A(1, 1)}}, 1, 0, 2, "twice"},
    {"not json", {{.devices = "}"}}, 1, 0, 0, "assignment: not JSON"},
    {"absurd milli", {{.devices = A(1001, 1)}}, 1, 0, 0, "milli is not within 0..1000"},
    {"negative memory", {{.devices = A(1, -1)}}, 1, 0, 0, "memMib"},
    {"bound without assignment", {{.limits = "\"fgpu.io/gpu-milli\":\"300\""}}, 1, 0, 0, "asks for 1 x (300"},
    {"less than asked",
     {{.limits = "\"fgpu.io/gpu-milli\":\"300\"", .devices = A(200, 10)}},
     1,
     0,
     200,
     "asks for 1 x (300 milli, 0 MiB) and has 0"},
    {"as asked",
     {{.limits = "\"fgpu.io/gpu-milli\":\"300\",\"fgpu.io/gpu-memory-mib\":\"10\"", .devices = A(300, 10)}},
     0,
     0,
     300,
     NULL},
    {"one device of two",
     {{.limits = "\"fgpu.io/gpu-count\":\"2\"", .devices = A(1000, 1000)}},
     1,
     0,
     1000,
     "asks for 2 x (1000"},
    {"two devices",
     {{.limits = "\"fgpu.io/gpu-count\":\"2\",\"fgpu.io/gpu-milli\":\"400\"", .devices = A(400, 400) "," B(400, 400)}},
     0,
     0,
     800,
     NULL},
    {"more devices than asked",
     {{.limits = "\"fgpu.io/gpu-milli\":\"100\"", .devices = A(100, 1) "," B(100, 1)}},
     1,
     0,
     200,
     "has 2 such devices"},
    /* init 700 alone, then main 400: the peak is 700, not 1100 */
    {"init container first",
     {{.devices = A(400, 1),
       .extra = ",{'name':'setup','init':true,'devices':[" A(700, 1) "]}",
       .init = "[{\"name\":\"setup\"}]"}},
     0,
     0,
     700,
     NULL},
    /* a sidecar stays: 700 + 400 is too much */
    {"sidecar beside",
     {{.devices = A(400, 1),
       .extra = ",{'name':'setup','init':true,'devices':[" A(700, 1) "]}",
       .init = "[{\"name\":\"setup\",\"restartPolicy\":\"Always\"}]"}},
     1,
     1,
     1100,
     "1100 of 1000 milli"},
};

static void plant(const struct planted *p, int number)
{
    char json[4096], assignment[1024] = "", escaped[2048];
    if (p->devices) {
        snprintf(assignment, sizeof(assignment),
                 "\"fgpu.io/"
                 "assignment\":\"{'v':1,'id':'x','containers':[{'name':'main','init':false,'devices':"
                 "[%s]}%s]}\"",
                 p->devices, p->extra ? p->extra : "");
    }
    size_t n = 0;
    for (const char *c = assignment; *c; c++) {
        if (*c == '\'') {
            escaped[n++] = '\\';
        }
        escaped[n++] = *c == '\'' ? '"' : *c;
    }
    escaped[n] = '\0';
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ns\",\"annotations\":{%s}},\"spec\":{"
             "\"nodeName\":\"n1\",\"initContainers\":%s,\"containers\":[{\"name\":\"main\","
             "\"resources\":{"
             "\"limits\":{%s}}}]},\"status\":{\"phase\":\"%s\"}}",
             number, escaped, p->init ? p->init : "[]", p->limits ? p->limits : "", p->phase ? p->phase : "Running");
    server_create(APISERVER_PODS, json);
}

/* Each row on a new server with this one node. */
static void expect_judgements(const char *node, const struct row *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &table[i];
        struct checker_report r;
        server_start_with(NULL);
        server_create(APISERVER_NODES, node);
        for (int k = 0; k < PODS_MAX; k++) {
            if (row->pods[k].devices || row->pods[k].limits) {
                plant(&row->pods[k], k);
            }
        }
        checker_run(server, &r);
        if (r.violation_n != row->violations || r.overcommit_n != row->overcommits || r.milli_used != row->milli_used ||
            (row->first && !strstr(r.first_violation, row->first)) || (!row->first && r.first_violation[0])) {
            fail_msg("%s: %u violations, %u over-commits, %lld milli: %s", row->name, r.violation_n, r.overcommit_n,
                     (long long)r.milli_used, r.first_violation);
        }
        checker_report_fini(&r);
        server_stop(NULL);
    }
}

static void checker__planted_states__finds_each(void **state)
{
    expect_judgements(NODE, rows, ARRAY_LEN(rows));
}

static void checker__node_gone_under_a_pod__violation(void **state)
{
    struct checker_report r;
    plant(&rows[1].pods[0], 0);
    checker_run(server, &r);
    assert_int_equal(r.violation_n, 1);
    assert_non_null(strstr(r.first_violation, "which does not exist"));
    checker_report_fini(&r);
}

static void checker__unreadable_node__violation(void **state)
{
    struct checker_report r;
    server_create(APISERVER_NODES, "{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"fgpu.io/gpus\":\"[\"}}}");
    checker_run(server, &r);
    assert_int_equal(r.violation_n, 1);
    checker_report_fini(&r);
}

static void checker__counts__pods_holes_and_capacity(void **state)
{
    struct checker_report r;
    server_create(APISERVER_NODES, NODE);
    plant(&(struct planted){.devices = A(300, 400)}, 0);
    server_pod("waiting", NULL, NULL);
    checker_run(server, &r);
    assert_int_equal(r.node_n, 1);
    assert_int_equal(r.device_n, 2);
    assert_int_equal(r.bound_n, 1);
    assert_int_equal(r.pending_n, 1);
    assert_int_equal(r.milli_capacity, 2000);
    assert_int_equal(r.milli_used, 300);
    assert_int_equal(r.mem_capacity_mib, 2000);
    assert_int_equal(r.mem_used_mib, 400);
    assert_int_equal(r.largest_hole_milli, 1000);
    assert_int_equal(r.largest_hole_mib, 1000);
    assert_int_equal(r.empty_device_n, 1);
    checker_report_fini(&r);
}

/* What nobody but the judge reads, an instance, and what kubelet counts. */
#define CUT_NODE                                                                                                       \
    "{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"demo.fgpu.io/hardware\":\"{\\\"v\\\":1,\\\"gpus\\\":["          \
    "{\\\"uuid\\\":\\\"GPU-a\\\",\\\"index\\\":0,\\\"model\\\":\\\"A100\\\",\\\"memMib\\\":40960,"                     \
    "\\\"mig\\\":[{\\\"uuid\\\":\\\"MIG-a\\\",\\\"profile\\\":\\\"3g.20gb\\\",\\\"start\\\":4,"                        \
    "\\\"memMib\\\":19968}]}]}\"}},\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"2\",\"cpu\":\"1\"}}}"
#define INSTANCE(milli) "{'uuid':'MIG-a','index':1028,'milli':" #milli ",'memMib':19968}"
#define GPUS(n) "\"nvidia.com/gpu\":\"" #n "\""

static void checker__hardware_instances_and_allocatable__each_judged(void **state)
{
    static const struct row cut[] = {
        {"one on the instance", {{.devices = INSTANCE(428)}}, 0, 0, 428, NULL},
        {"two on the instance", {{.devices = INSTANCE(200)}, {.devices = INSTANCE(200)}}, 1, 1, 400, "2 of 1 sharers"},
        {"more than the instance", {{.devices = INSTANCE(429)}}, 1, 1, 429, "429 of 428 milli"},
        {"on the GPU that is cut", {{.devices = A(1, 1)}}, 1, 1, 0, "1 of 0 milli"},
        {"as many as kubelet has", {{.limits = GPUS(1)}, {.limits = GPUS(1)}}, 0, 0, 0, NULL},
        {"more than kubelet has", {{.limits = GPUS(1)}, {.limits = GPUS(2)}}, 1, 1, 0, "3 of 2 nvidia.com/gpu"},
        {"both hands in it", {{.limits = GPUS(1)}, {.devices = INSTANCE(428)}}, 1, 0, 428, "beside those"},
    };

    expect_judgements(CUT_NODE, cut, ARRAY_LEN(cut));
}

static void cluster__default_size__readable_and_unique(void **state)
{
    struct checker_report r;
    assert_int_equal(cluster_create(server, 8, 4, NULL), 0);
    checker_run(server, &r);
    assert_int_equal(r.violation_n, 0);
    assert_int_equal(r.node_n, 8);
    assert_int_equal(r.device_n, 32);
    assert_string_equal(r.nodes[0].name, "node-00");
    assert_string_equal(r.nodes[0].devices[3].model, "NVIDIA-A100-SXM4-80GB");
    assert_int_equal(r.nodes[0].devices[3].mem_mib, 81920);
    assert_string_equal(r.nodes[2].devices[0].model, "NVIDIA-L40S");
    for (size_t i = 0; i < 32; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(r.nodes[i / 4].devices[i % 4].uuid, r.nodes[k / 4].devices[k % 4].uuid);
        }
    }
    checker_report_fini(&r);
}

static void cluster__numbers_out_of_range__refused(void **state)
{
    assert_int_equal(cluster_create(server, 0, 4, NULL), -ERR_INVALID);
    assert_int_equal(cluster_create(server, 5001, 4, NULL), -ERR_INVALID);
    assert_int_equal(cluster_create(server, 1, 0, NULL), -ERR_INVALID);
    assert_int_equal(cluster_create(server, 1, 17, NULL), -ERR_INVALID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, server_start, server_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker__planted_states__finds_each),
        cmocka_unit_test(checker__hardware_instances_and_allocatable__each_judged),
        TEST(checker__node_gone_under_a_pod__violation),
        TEST(checker__unreadable_node__violation),
        TEST(checker__counts__pods_holes_and_capacity),
        TEST(cluster__default_size__readable_and_unique),
        TEST(cluster__numbers_out_of_range__refused),
    };
    return cmocka_run_group_tests_name("demo/checker", tests, NULL, NULL);
}
