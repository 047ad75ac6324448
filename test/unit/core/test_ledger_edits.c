/* What pod authors, and events in an unlucky order, must not achieve: one situation each. Most were found by
 * test_ledger_random.c. */
#include "base/compiler.h"
#include "core/ledger/state.h"
#include "core/support/tested_ledger.h"
#include "support/cmocka.h"

#include <stdio.h>

static const struct demand nothing = {.dialect = ""};

/* ---- requests that are edited ---- */

static void rule1__foreign_pod_edits_its_request__charge_never_falls(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(500), less = ANNOTATED_SHARE_OF(100);

    fixture_pod(&fx, "a", &d, NULL, NULL); /* seen while it was unbound, so that the request counts */
    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 500);
    fixture_pod(&fx, "a", &less, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 500);
    fixture_pod(&fx, "a", &nothing, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 500);
}

static void rule1__foreign_pod_brings_a_smaller_record__device_keeps_the_larger_charge(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(500), less = ANNOTATED_SHARE_OF(100);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 100, 8 * GIB);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    fixture_pod(&fx, "a", &less, "n1", &as);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 500);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
}

static void rule1__record_of_another_shape__request_counts_everywhere_and_record_on_its_device(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(300);
    struct assigned_container c;
    struct assigned_device dev;
    struct assignment as = fixture_record(&c, &dev, "x", "GPU-n1-1", 1, 700, 8 * GIB);

    c.name = STR("stranger");
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 300);
}

static void rule1__foreign_pod_cannot_be_read_for_a_while__charge_returns_to_the_request(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(500);
    struct demand unreadable = {.defect = DEMAND_TOO_LARGE, .dialect = ""};

    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    fixture_pod(&fx, "a", &unreadable, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 0);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 500);
}

/* A tenant can write records as often as it likes, of devices that nobody has: what they leave must be bounded. */
static void rule8__unsigned_record_is_rewritten_without_end__what_is_remembered_is_bounded_and_never_falls(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(300);
    struct assigned_container c;
    struct assigned_device dev;
    char uuid[32];
    struct assignment as = fixture_record(&c, &dev, "x", uuid, 1, 100, GIB);
    const struct pod_entry *p;

    c.name = STR("stranger");
    fixture_pod(&fx, "a", &d, NULL, NULL);
    for (int i = 0; i < 1000; i++) {
        dev.uuid = (struct str){uuid, (size_t)snprintf(uuid, sizeof(uuid), "GPU-invented-%d", i)};
        fixture_pod(&fx, "a", &d, "n1", &as);
    }
    p = &fx.l->pods[ledger_pod_lookup(fx.l, STR("a"))];
    assert_true(p->floor_n <= POD_FLOORS_MAX);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);

    dev =
        (struct assigned_device){STR("GPU-lost"), 9, 800, GIB}; /* for want of room all are remembered as that large */
    fixture_pod(&fx, "a", &d, "n1", &as);
    assert_int_equal(p->floor_n, POD_FLOORS_MAX);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 200);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 200);
}

/* The devices of its node become known when there is no room for a floor of theirs any more. */
static void rule1__no_room_for_floors_when_the_node_is_described__charge_does_not_fall(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(900), less = ANNOTATED_SHARE_OF(100);
    struct assigned_container c;
    struct assigned_device dev;
    char uuid[32];
    struct assignment as = fixture_record(&c, &dev, "x", uuid, 1, 100, GIB);

    c.name = STR("stranger");
    fixture_pod(&fx, "a", &d, NULL, NULL);
    for (int i = 0; i < POD_FLOORS_MAX; i++) {
        dev.uuid = (struct str){uuid, (size_t)snprintf(uuid, sizeof(uuid), "GPU-invented-%d", i)};
        fixture_pod(&fx, "a", &d, "late", &as);
    }
    fixture_node(&fx, "late", 2, 16 * GIB);
    assert_int_equal(fixture_milli_free(&fx, "late", 0), 100);
    dev = (struct assigned_device){STR("GPU-late-1"), 1, 100, GIB};
    c.name = STR("x");
    fixture_pod(&fx, "a", &less, "late", &as);
    assert_int_equal(fixture_milli_free(&fx, "late", 0), 100);
    assert_int_equal(fixture_milli_free(&fx, "late", 1), 100);
}

/* Two app containers and an init container, all on one device, as the record says. */
static struct assignment record_of_three(struct assigned_container *c, struct assigned_device *d, int32_t init_milli,
                                         int32_t main_milli, int32_t side_milli)
{
    const struct str names[] = {STR("init"), STR("main"), STR("side")};
    const int32_t milli[] = {init_milli, main_milli, side_milli};

    for (size_t i = 0; i < 3; i++) {
        d[i] = (struct assigned_device){STR("GPU-n1-0"), 0, milli[i], 10 * milli[i]};
        c[i] = (struct assigned_container){.name = names[i], .init = i == 0, .devices = &d[i], .device_n = 1};
    }
    return (struct assignment){STR("x"), c, 3};
}

static struct demand demand_of_three(struct gpu_request *w, int32_t milli)
{
    const struct str names[] = {STR("init"), STR("main"), STR("side")};

    for (size_t i = 0; i < 3; i++) {
        w[i] = (struct gpu_request){.container = names[i],
                                    .init = i == 0,
                                    .count = 1,
                                    .kind = GPU_REQUEST_BOTH,
                                    .milli = milli,
                                    .mem_mib = milli,
                                    .phases = i == 0 ? 2 : 1};
    }
    return (struct demand){
        .source = DEMAND_FROM_ANNOTATIONS, .dialect = "native", .gpu_requests = w, .gpu_request_n = 3};
}

static void rule1__restart_after_edit__recorded_amounts_are_summed_over_a_phase(void **state)
{
    static const struct {
        const char *name;
        int32_t init, main, side, want;
    } rows[] = {
        {"app containers together", 100, 300, 200, 500},
        {"init container larger", 600, 300, 200, 600},
        {"request larger", 1, 1, 1, 20},
    };
    struct gpu_request w[3];
    struct demand less = demand_of_three(w, 10);
    struct assigned_container c[3];
    struct assigned_device d[3];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct assignment as = record_of_three(c, d, rows[i].init, rows[i].main, rows[i].side);

        fixture_pod(&fx, "a", &less, "n1", &as);
        if (fixture_milli_free(&fx, "n1", 0) != 1000 - rows[i].want) {
            fail_msg("%s: %d free", rows[i].name, fixture_milli_free(&fx, "n1", 0));
        }
        fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    }
}

static void withdrawn_while_pending__bound_by_somebody_else__asks_for_nothing(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(500);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "a", &nothing, "n1", NULL);
    assert_false(fixture_knows_pod(&fx, "a"));
    assert_false(fixture_state(&fx, "n1")->devices[0].exclusive);
    assert_int_equal(fixture_state(&fx, "n1")->devices[0].slot_charged, 0);
}

static void withdrawn_while_pending__bound_to_a_node_never_seen__node_is_not_kept(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(500);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    fixture_pod(&fx, "a", &nothing, "ghost", NULL);
    assert_false(fixture_knows_pod(&fx, "a"));
    assert_null(ledger_check(fx.l));
}

/* ---- requests that the configuration reads differently ---- */

static void bind_share(const char *uid, const struct demand *d)
{
    fixture_pod(&fx, uid, d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, uid, "n1"), 0);
    fixture_name_op(&fx, LEDGER_CONFIRM, uid);
}

static void reread__bound_pod__larger_charge_stays_until_it_is_gone(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_share(&w, 300);
    static const struct {
        int32_t milli;
        int32_t free;
    } rows[] = {{30, 700}, {800, 200}, {300, 200}, {0, 200}, {1, 200}};

    bind_share("a", &d);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct demand now = rows[i].milli > 0 ? fixture_share(&w, rows[i].milli) : nothing;

        fixture_pod(&fx, "a", &now, "n1", NULL);
        assert_int_equal(fixture_milli_free(&fx, "n1", 0), rows[i].free);
        assert_non_null(fx.snapshot.pods[0].conflict_text);
        assert_null(ledger_check(fx.l));
    }
    fixture_name_op(&fx, LEDGER_POD_GONE, "a");
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
}

static void reread__two_pods_grow_past_the_device__shown_and_excused(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_share(&w, 100);

    bind_share("a", &d);
    bind_share("b", &d);
    d = fixture_share(&w, 900);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    fixture_pod(&fx, "b", &d, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), -800);
    assert_null(ledger_check(fx.l));
}

static void reread__foreign_pod__larger_charge_stays_on_every_device(void **state)
{
    struct gpu_request w;
    struct demand d = fixture_share(&w, 300);

    fixture_pod(&fx, "a", &d, "n1", NULL);
    d = fixture_share(&w, 30);
    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    fixture_pod(&fx, "a", &nothing, "n1", NULL); /* its resource name was taken out */
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

static void reread__whole_gpus_become_shares__the_first_charge_stays(void **state)
{
    struct demand whole = {.dialect = "native", .plugin_managed_n = 1};
    struct demand share = SHARE_OF(300);

    fixture_node_plugin_managed(&fx, "n2", 2, 1000, 2);
    fixture_pod(&fx, "a", &whole, "n2", NULL);
    fixture_pod(&fx, "a", &share, "n2", NULL);
    assert_int_equal(fixture_state(&fx, "n2")->plugin_managed_used, 1);
    assert_null(ledger_check(fx.l));
}

static void reread__unreadable_for_a_while__no_floor_is_left(void **state)
{
    struct demand unreadable = {.dialect = "", .defect = DEMAND_TOO_LARGE};

    fixture_pod(&fx, "a", &unreadable, "n1", NULL);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 0);
    fixture_pod(&fx, "a", &nothing, "n1", NULL);
    assert_false(fixture_knows_pod(&fx, "a"));
}

/* ---- records that are edited ---- */

static void confirmed__first_seen_with_an_edited_record__keeps_its_device(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment forged = RECORD_OF("forged", "GPU-n1-1", 1, 1, 1);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_name_op(&fx, LEDGER_CONFIRM, "a");
    fixture_pod(&fx, "a", &d, "n1", &forged);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
    (void)fixture_state(&fx, "n1");
    assert_true(fx.snapshot.pods[0].conflict);
}

static void reserved__bound_by_our_decision_with_edited_devices__keeps_its_device(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment edited = RECORD_OF("a", "GPU-n1-1", 1, 1, 1);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0); /* the decision's id is "a" */
    fixture_pod(&fx, "a", &d, "n1", &edited);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 1000);
}

static void reserved__bound_there_by_another_decision__goes_by_that_record_once_ours_is_refused(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment other = RECORD_OF("other", "GPU-n1-1", 1, 300, 24 * GIB);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, "n1", &other);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700); /* both count: ours may have landed, and been edited */
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
    fixture_name_op(&fx, LEDGER_RELEASE, "a"); /* our Binding was refused: the fact stands */
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n1", 1), 700);
}

static void tamper__record_and_request_edited__the_same_twice_is_the_same_conflict(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(300), more = ANNOTATED_SHARE_OF(400);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 300, 8 * GIB);
    struct assignment forged = RECORD_OF("y", "GPU-n1-0", 0, 300, 8 * GIB);
    const char *conflict;

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_pod(&fx, "a", &more, "n1", &forged);
    (void)fixture_state(&fx, "n1");
    conflict = fx.snapshot.pods[0].conflict_text;
    assert_non_null(conflict);
    fixture_pod(&fx, "a", &more, "n1", &forged);
    (void)fixture_state(&fx, "n1");
    assert_ptr_equal(fx.snapshot.pods[0].conflict_text, conflict);
}

static void tamper__foreign_pod_gets_a_record_and_loses_its_request__a_conflict_at_once(void **state)
{
    struct demand d = ANNOTATED_SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-1", 1, 300, 8 * GIB);
    const char *conflict;

    fixture_pod(&fx, "a", &d, NULL, NULL); /* seen while it was unbound, so that the request counts */
    fixture_pod(&fx, "a", &d, "n1", NULL);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_FOREIGN);
    fixture_pod(&fx, "a", &nothing, "n1", &as);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_BOUND);
    (void)fixture_state(&fx, "n1");
    conflict = fx.snapshot.pods[0].conflict_text;
    assert_non_null(conflict);
    fixture_pod(&fx, "a", &nothing, "n1", &as);
    (void)fixture_state(&fx, "n1");
    assert_ptr_equal(fx.snapshot.pods[0].conflict_text, conflict);
}

static void tamper__record_restored__is_no_conflict_any_more(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n1-0", 0, 300, 0);
    struct assignment edited = RECORD_OF("x", "GPU-n1-1", 1, 300, 0);

    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_pod(&fx, "a", &d, "n1", &edited);
    (void)fixture_state(&fx, "n1");
    assert_true(fx.snapshot.pods[0].conflict);
    fixture_pod(&fx, "a", &d, "n1", &as);
    (void)fixture_state(&fx, "n1");
    assert_false(fx.snapshot.pods[0].conflict);
}

/* ---- events in an unlucky order ---- */

/* The pod was deleted before the list; confirmed: bound before that. */
static void list__begun_after_the_reservation_lacks_the_pod__its_end_forgets_it(void **state)
{
    static const struct {
        const char *name;
        enum ledger_op_kind end;
    } rows[] = {{"confirmed", LEDGER_CONFIRM}, {"released", LEDGER_RELEASE}};
    struct demand d = SHARE_OF(300);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        fixture_pod(&fx, rows[i].name, &d, NULL, NULL);
        assert_int_equal(fixture_reserve(&fx, rows[i].name, "n1"), 0);
        fixture_bracket(&fx, LEDGER_PODS_BEGIN);
        fixture_bracket(&fx, LEDGER_PODS_END);
        assert_int_equal(fixture_pod_state(&fx, rows[i].name), LEDGER_RESERVED);
        fixture_name_op(&fx, rows[i].end, rows[i].name);
        if (fixture_knows_pod(&fx, rows[i].name)) {
            fail_msg("%s: the pod is still known", rows[i].name);
        }
    }
}

static void list__has_the_reserved_pod__confirm_keeps_it(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_pod(&fx, "a", &d, NULL, NULL); /* the list is older than the Binding */
    fixture_name_op(&fx, LEDGER_CONFIRM, "a");
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_CONFIRMED);
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 700);
}

static void list__pod_fetched_after_it_began__stays(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_name_op(&fx, LEDGER_CONFIRM, "a");
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_CONFIRMED);
}

static void list__late_confirm_of_a_bound_pod__does_not_keep_it(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("a", "GPU-n1-0", 0, 300, 24 * GIB);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_pod(&fx, "a", &d, "n1", &as);
    fixture_bracket(&fx, LEDGER_PODS_BEGIN);
    fixture_name_op(&fx, LEDGER_CONFIRM, "a"); /* slow reply; the pod was deleted meanwhile */
    fixture_bracket(&fx, LEDGER_PODS_END);
    assert_false(fixture_knows_pod(&fx, "a"));
    assert_int_equal(fixture_milli_free(&fx, "n1", 0), 1000);
}

static void release__node_gone_meanwhile__node_is_forgotten(void **state)
{
    struct demand d = SHARE_OF(300);

    fixture_pod(&fx, "a", &d, NULL, NULL);
    assert_int_equal(fixture_reserve(&fx, "a", "n1"), 0);
    fixture_name_op(&fx, LEDGER_NODE_GONE, "n1");
    fixture_name_op(&fx, LEDGER_RELEASE, "a");
    assert_null(ledger_check(fx.l));
    assert_int_equal(fixture_pod_state(&fx, "a"), LEDGER_PENDING);
}

/* ---- devices ---- */

/* Indexes unless `uuid`. */
static void describe_n2(const char *uuid, int64_t mem_mib)
{
    struct device d = {.uuid = str_of(uuid),
                       .minor = 0,
                       .model = STR("A100"),
                       .mem_mib = mem_mib,
                       .slot_n = 16,
                       .numa = -1,
                       .healthy = true};
    struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = &d, .device_n = 1};
    const struct ledger_op op = fixture_description("n2", &inventory);

    fixture_apply(&fx, &op);
}

static void device_replaced__pod_known_by_index__moves_and_leaves_no_ghost(void **state)
{
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "", 0, 300, 0);

    describe_n2("GPU-old", 80 * GIB);
    fixture_pod(&fx, "a", &d, "n2", &as);
    describe_n2("GPU-new", 80 * GIB);
    assert_int_equal(fixture_state(&fx, "n2")->device_n, 1);
    assert_int_equal(fixture_milli_free(&fx, "n2", 0), 700);
}

static void device_renumbered__uuid_wins_over_the_recorded_index(void **state)
{
    struct device devices[2] = {
        {.index = 0, .minor = 0, .mem_mib = 80 * GIB, .slot_n = 16, .numa = -1, .healthy = true},
        {.uuid = STR("GPU-n3-a"),
         .index = 1,
         .minor = 1,
         .mem_mib = 80 * GIB,
         .slot_n = 16,
         .numa = -1,
         .healthy = true}};
    struct inventory inventory = {.source = INVENTORY_ANNOTATION, .devices = devices, .device_n = 2};
    const struct ledger_op op = fixture_description("n3", &inventory);
    struct demand d = SHARE_OF(300);
    struct assignment as = RECORD_OF("x", "GPU-n3-a", 0, 300, 0);

    assert_int_equal(ledger_apply(fx.l, &op, NULL), 0);
    fixture_pod(&fx, "a", &d, "n3", &as);
    assert_int_equal(fixture_milli_free(&fx, "n3", 0), 1000);
    assert_int_equal(fixture_milli_free(&fx, "n3", 1), 700);
}

#define T(f) TWO_GPUS_TEST(f)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(rule1__foreign_pod_edits_its_request__charge_never_falls),
        T(rule1__foreign_pod_brings_a_smaller_record__device_keeps_the_larger_charge),
        T(rule1__record_of_another_shape__request_counts_everywhere_and_record_on_its_device),
        T(rule8__unsigned_record_is_rewritten_without_end__what_is_remembered_is_bounded_and_never_falls),
        T(rule1__no_room_for_floors_when_the_node_is_described__charge_does_not_fall),
        T(rule1__foreign_pod_cannot_be_read_for_a_while__charge_returns_to_the_request),
        T(rule1__restart_after_edit__recorded_amounts_are_summed_over_a_phase),
        T(withdrawn_while_pending__bound_by_somebody_else__asks_for_nothing),
        T(withdrawn_while_pending__bound_to_a_node_never_seen__node_is_not_kept),
        T(reread__bound_pod__larger_charge_stays_until_it_is_gone),
        T(reread__two_pods_grow_past_the_device__shown_and_excused),
        T(reread__foreign_pod__larger_charge_stays_on_every_device),
        T(reread__whole_gpus_become_shares__the_first_charge_stays),
        T(reread__unreadable_for_a_while__no_floor_is_left),
        T(confirmed__first_seen_with_an_edited_record__keeps_its_device),
        T(reserved__bound_by_our_decision_with_edited_devices__keeps_its_device),
        T(reserved__bound_there_by_another_decision__goes_by_that_record_once_ours_is_refused),
        T(tamper__record_and_request_edited__the_same_twice_is_the_same_conflict),
        T(tamper__foreign_pod_gets_a_record_and_loses_its_request__a_conflict_at_once),
        T(tamper__record_restored__is_no_conflict_any_more),
        T(list__begun_after_the_reservation_lacks_the_pod__its_end_forgets_it),
        T(list__has_the_reserved_pod__confirm_keeps_it),
        T(list__pod_fetched_after_it_began__stays),
        T(list__late_confirm_of_a_bound_pod__does_not_keep_it),
        T(release__node_gone_meanwhile__node_is_forgotten),
        T(device_replaced__pod_known_by_index__moves_and_leaves_no_ghost),
        T(device_renumbered__uuid_wins_over_the_recorded_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
