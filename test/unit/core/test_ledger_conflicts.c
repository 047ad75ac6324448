/* What is told of pods whose annotations contradict what is known of them: which sentence for what, what is charged
 * meanwhile, and when it ends. */
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

static const char RECORD[] = "the assignment annotation was changed after binding; ignored";
static const char REQUEST[] = "the request annotations were changed after binding; the larger charge stays";
static const char READING[] =
    "the configuration has changed the meaning of its request since it was bound; the larger charge stays";
static const char NO_RECORD[] = "bound without an assignment by fgpu; counted on every device of its node";
static const char DEFECT[] = "bound although its request is malformed; counted as whole devices";

/* Pod "p" is seen bound to n1 with this record (NULL: none); `told`: NULL, or the sentence; then what is free. */
static void seen(struct demand d, const struct assignment *record, const char *told, int32_t free0, int32_t free1)
{
    const struct ledger_op op = fixture_observation("p", &d, "n1", record);

    for (int again = 0; again < 2; again++) { /* the same once more changes nothing */
        const struct snapshot_pod *p;

        fixture_apply(&fx, &op);
        assert_int_equal(fixture_milli_free(&fx, "n1", 0), free0);
        assert_int_equal(fixture_milli_free(&fx, "n1", 1), free1);
        p = fixture_pod_in(&fx.snapshot, STR("p"));
        assert_non_null(p);
        assert_int_equal(p->conflict, told != NULL);
        assert_string_equal(p->conflict_text != NULL ? p->conflict_text : "", told != NULL ? told : "");
    }
}

static void record__names_another_gpu_after_binding__told_until_it_is_back(void **state)
{
    const struct assignment own = RECORD_OF("d", "GPU-n1-0", 0, 300, 0), other = RECORD_OF("d", "GPU-n1-1", 1, 300, 0);

    seen(SHARE_OF(300), &own, NULL, 700, 1000);
    seen(SHARE_OF(300), &other, RECORD, 700, 1000);
    seen(SHARE_OF(300), NULL, RECORD, 700, 1000);
    seen(SHARE_OF(300), &own, NULL, 700, 1000);
}

static void request__other_annotations_after_binding__told_from_then_on(void **state)
{
    const struct assignment own = RECORD_OF("d", "GPU-n1-0", 0, 300, 0), other = RECORD_OF("d", "GPU-n1-1", 1, 300, 0);

    seen(ANNOTATED_SHARE_OF(300), &own, NULL, 700, 1000);
    seen(ANNOTATED_SHARE_OF(500), &own, REQUEST, 500, 1000);
    seen(ANNOTATED_SHARE_OF(200), &own, REQUEST, 500, 1000);   /* the most it ever said */
    seen(ANNOTATED_SHARE_OF(200), &other, REQUEST, 500, 1000); /* which is not told beside it */
    seen(ANNOTATED_SHARE_OF(200), &own, REQUEST, 500, 1000);
}

/* Resources of a container do not change: what they mean has. */
static void request__resources_mean_something_else__told_so(void **state)
{
    const struct assignment own = RECORD_OF("d", "GPU-n1-0", 0, 300, 0);

    seen(SHARE_OF(300), &own, NULL, 700, 1000);
    seen(SHARE_OF(400), &own, READING, 600, 1000);
    seen(SHARE_OF(100), &own, READING, 600, 1000);
}

static void no_record__counted_everywhere__until_there_is_one(void **state)
{
    const struct assignment late = RECORD_OF("d", "GPU-n1-1", 1, 300, 0);

    seen(SHARE_OF(300), NULL, NO_RECORD, 700, 700);
    seen(SHARE_OF(300), &late, NULL, 1000, 700);
}

static void request__malformed_and_bound_all_the_same__whole_devices(void **state)
{
    struct demand broken = SHARE_OF(300);

    broken.defect = DEMAND_FRACTION;
    seen(broken, NULL, DEFECT, 0, 0);
}

static void plugin__bound_without_a_record__nothing_to_tell(void **state)
{
    const struct demand d = {.dialect = "native", .plugin_managed_n = 1, .plugin_managed_most = 1};

    seen(d, NULL, NULL, 1000, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWO_GPUS_TEST(record__names_another_gpu_after_binding__told_until_it_is_back),
        TWO_GPUS_TEST(request__other_annotations_after_binding__told_from_then_on),
        TWO_GPUS_TEST(request__resources_mean_something_else__told_so),
        TWO_GPUS_TEST(no_record__counted_everywhere__until_there_is_one),
        TWO_GPUS_TEST(request__malformed_and_bound_all_the_same__whole_devices),
        TWO_GPUS_TEST(plugin__bound_without_a_record__nothing_to_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
