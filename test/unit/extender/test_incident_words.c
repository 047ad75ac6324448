/* An incident in one sentence. */
#include "extender/incident_words.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

static struct incident *incident_of(enum incident_kind kind, const char *uuid, size_t pod_n)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct incident *in = calloc(1, sizeof(*in) + pod_n * sizeof(in->pods[0]));

    assert_non_null(in);
    in->kind = kind;
    in->node_name = STR("n1");
    in->uuid = str_of(uuid);
    in->index = 3;
    in->pod_n = pod_n;
    for (size_t i = 0; i < pod_n; i++) {
        in->pods[i].namespace_ = STR("ns");
        in->pods[i].name = str_of(names[i]);
    }
    return in;
}

static void expect(struct incident *in, const char *want)
{
    char buf[INCIDENT_SENTENCE_MAX];

    assert_string_equal(incident_sentence(in, buf, sizeof(buf)), want);
    free(in);
}

static void sentences__name_gpu_node_and_pods(void **state)
{
    struct incident *over = incident_of(INCIDENT_DOUBLE_BOOKING, "GPU-x", 0);

    over->ends = true;
    expect(incident_of(INCIDENT_DOUBLE_BOOKING, "GPU-x", 2),
           "GPU 3 (GPU-x) of node n1 is given to ns/a and ns/b, together more than it has");
    expect(incident_of(INCIDENT_DOUBLE_BOOKING, NULL, 3),
           "GPU 3 of node n1 is given to ns/a, ns/b and ns/c, together more than it has");
    expect(incident_of(INCIDENT_DOUBLE_BOOKING, NULL, 6),
           "GPU 3 of node n1 is given to ns/a, ns/b, ns/c, ns/d and 2 more, together more than it has");
    expect(over, "GPU 3 (GPU-x) of node n1 is no longer given out twice");
    expect(incident_of(INCIDENT_FOREIGN_DECISION, NULL, 1),
           "pod ns/a was bound to node n1 by a decision that this fgpu did not make or had given up");
}

static void buffer_of_any_size__cut_and_ended(void **state)
{
    struct incident *in = incident_of(INCIDENT_DOUBLE_BOOKING, "GPU-x", 6);
    char whole[INCIDENT_SENTENCE_MAX], buf[INCIDENT_SENTENCE_MAX + 1];

    incident_sentence(in, whole, sizeof(whole));
    for (size_t size = 1; size <= strlen(whole) + 1; size++) {
        memset(buf, '#', sizeof(buf));
        incident_sentence(in, buf, size);
        assert_int_equal(strlen(buf), size - 1);
        assert_memory_equal(buf, whole, size - 1);
        assert_int_equal(buf[size], '#');
    }
    free(in);
}

static void youngest__is_the_last(void **state)
{
    struct incident *in = incident_of(INCIDENT_DOUBLE_BOOKING, "GPU-x", 3);

    assert_true(str_eq_cstr(incident_youngest(in)->name, "c"));
    for (int k = 0; k < INCIDENT_KIND__MAX; k++) {
        assert_non_null(incident_remedy((enum incident_kind)k));
    }
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences__name_gpu_node_and_pods),
        cmocka_unit_test(buffer_of_any_size__cut_and_ended),
        cmocka_unit_test(youngest__is_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
