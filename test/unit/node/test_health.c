/* Which GPUs are ill, by what the driver's library tells of them. */
#include "base/bug.h"
#include "base/compiler.h"
#include "node/health.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL HEALTH_ALL_INSTANCES
#define GPU(uuid_)                                                                                                     \
    {                                                                                                                  \
        .uuid = {(uuid_), sizeof(uuid_) - 1}, .gpu_instance = ALL, .compute_instance = ALL, ANSWERS                    \
    }
#define MIG(uuid_, gpu_, gi_, ci_)                                                                                     \
    {                                                                                                                  \
        .uuid = {(uuid_), sizeof(uuid_) - 1}, .gpu = {(gpu_), sizeof(gpu_) - 1}, .gpu_instance = (gi_),                \
        .compute_instance = (ci_), ANSWERS                                                                             \
    }
#define ANSWERS .answers = true, .watched = true

/* Two whole GPUs, one with three MIG devices, of which two share a GPU instance. */
static const struct health_sight machine[] = {
    GPU("GPU-a"),
    GPU("GPU-b"),
    GPU("GPU-m"),
    MIG("MIG-1", "GPU-m", 1, 0),
    MIG("MIG-2", "GPU-m", 2, 0),
    MIG("MIG-3", "GPU-m", 2, 1),
};

struct fixture {
    struct health *health;
    struct health_sight sights[ARRAY_LEN(machine)];
    int64_t now_ms;
    struct health_change changes[HEALTH_DEVICES_MAX];
    size_t change_n;
};

static void judge(struct fixture *f)
{
    f->change_n = health_judge(f->health, f->now_ms, f->changes);
}

static void see(struct fixture *f)
{
    health_saw(f->health, f->sights, ARRAY_LEN(f->sights), f->now_ms);
    judge(f);
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    f->health = health_new(NULL, 0);
    memcpy(f->sights, machine, sizeof(machine));
    f->now_ms = 1000000;
    see(f);
    *state = f;
    return (int)f->change_n;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    health_free(f->health);
    free(f);
    return 0;
}

static struct health_sight *sight_of(struct fixture *f, const char *uuid)
{
    for (size_t i = 0; i < ARRAY_LEN(f->sights); i++) {
        if (str_eq_cstr(f->sights[i].uuid, uuid)) {
            return &f->sights[i];
        }
    }
    fail_msg("no %s", uuid);
    return NULL;
}

/* "GPU-a MIG-1": exactly these are ill, in that order. */
static void assert_ill(const struct fixture *f, const char *expected)
{
    struct health_ill ill[HEALTH_DEVICES_MAX];
    const size_t n = health_ill(f->health, ill);
    char text[1024] = "";

    for (size_t i = 0; i < n; i++) {
        strcat(text, i > 0 ? " " : "");
        strncat(text, ill[i].uuid.p, ill[i].uuid.n);
    }
    assert_string_equal(text, expected);
}

static void hear(struct fixture *f, const char *gpu, uint32_t gi, uint32_t ci, uint64_t xid)
{
    health_heard(f->health, str_of(gpu), gi, ci, xid);
    judge(f);
}

/* ---- XIDs ---- */

static void health__each_xid__counts_unless_programs_cause_it(void **state)
{
    static const uint32_t more[] = {63, 94};
    static const uint64_t of_programs[] = {13, 31, 43, 45, 68, 109};
    struct health *plain = health_new(NULL, 0), *told = health_new(more, ARRAY_LEN(more));

    (void)state;
    for (uint64_t xid = 0; xid <= 1024; xid++) {
        bool counts = true;

        for (size_t i = 0; i < ARRAY_LEN(of_programs); i++) {
            counts = counts && of_programs[i] != xid;
        }
        assert_int_equal(health_counts(plain, xid), counts);
        assert_int_equal(health_counts(told, xid), counts && xid != 63 && xid != 94);
    }
    assert_true(health_counts(plain, UINT64_MAX));
    assert_true(health_counts(plain, (UINT64_C(1) << 32) + 13)); /* not cut to 32 bits */
    health_free(plain);
    health_free(told);
}

static void health__xid_that_counts__closes_that_gpu_for_good(void **state)
{
    struct fixture *f = *state;

    hear(f, "GPU-a", ALL, ALL, 79);
    assert_ill(f, "GPU-a");
    assert_int_equal(f->change_n, 1);
    assert_int_equal(f->changes[0].before.kind, HEALTH_WELL);
    assert_int_equal(f->changes[0].now.kind, HEALTH_XID);
    assert_int_equal(f->changes[0].now.xid, 79);
    assert_false(f->changes[0].of_its_gpu);
    f->now_ms += INT64_C(365) * 86400 * 1000;
    see(f);
    assert_ill(f, "GPU-a");
    assert_int_equal(f->change_n, 0);
}

static void health__xid_of_programs__changes_nothing(void **state)
{
    struct fixture *f = *state;

    hear(f, "GPU-a", ALL, ALL, 31);
    hear(f, "", ALL, ALL, 13);
    assert_ill(f, "");
    assert_int_equal(f->change_n, 0);
}

static void health__second_xid__is_not_told(void **state)
{
    struct fixture *f = *state;

    hear(f, "GPU-a", ALL, ALL, 48);
    hear(f, "GPU-a", ALL, ALL, 79);
    assert_int_equal(f->change_n, 0);
}

static void health__xid_of_one_of_both__closes_what_it_names(void **state)
{
    static const struct {
        const char *gpu;
        uint32_t gi, ci;
        const char *ill;
    } rows[] = {
        {"GPU-m", 1, 0, "MIG-1"},
        {"GPU-m", 2, 0, "MIG-2"},
        {"GPU-m", 2, 1, "MIG-3"},
        {"GPU-m", 2, ALL, "MIG-2 MIG-3"},
        {"GPU-m", ALL, ALL, "GPU-m MIG-1 MIG-2 MIG-3"},
        {"GPU-m", 7, 0, "GPU-m MIG-1 MIG-2 MIG-3"}, /* an instance that nobody knows: any of them */
        {"GPU-m", 1, 5, "GPU-m MIG-1 MIG-2 MIG-3"},
        {"GPU-b", 1, 0, "GPU-b"}, /* it has none */
        {"", ALL, ALL, "GPU-a GPU-b GPU-m MIG-1 MIG-2 MIG-3"},
        {"GPU-unknown", ALL, ALL, "GPU-a GPU-b GPU-m MIG-1 MIG-2 MIG-3"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        void *one;

        (void)state;
        assert_int_equal(set_up(&one), 0);
        hear(one, rows[i].gpu, rows[i].gi, rows[i].ci, 79);
        assert_ill(one, rows[i].ill);
        tear_down(&one);
    }
}

/* NVIDIA's plugin closes all. */
static void health__xid_of_a_gpu_that_nobody_knows__is_of_those_that_do_not_answer(void **state)
{
    struct fixture *f = *state;

    sight_of(f, "GPU-b")->answers = false;
    see(f);
    hear(f, "", ALL, ALL, 79);
    assert_ill(f, "GPU-b");
    sight_of(f, "GPU-b")->answers = true;
    f->now_ms += 2 * HEALTH_WELL_AFTER_MS;
    see(f);
    assert_ill(f, "GPU-b");
}

static void health__xid_of_a_gpu__is_of_mig_devices_made_later_too(void **state)
{
    struct fixture *f = *state;

    hear(f, "GPU-m", ALL, ALL, 95);
    sight_of(f, "MIG-1")->uuid = STR("MIG-new");
    see(f);
    assert_ill(f, "GPU-m MIG-2 MIG-3 MIG-new");
    assert_int_equal(f->change_n, 1);
    assert_false(f->changes[0].of_its_gpu);
}

/* Its number may be given to another one, which is well. */
static void health__xid_of_a_mig_device__goes_with_it(void **state)
{
    struct fixture *f = *state;

    hear(f, "GPU-m", 1, 0, 95);
    assert_ill(f, "MIG-1");
    sight_of(f, "MIG-1")->uuid = STR("MIG-new");
    see(f);
    assert_ill(f, "");
}

/* ---- who does not answer ---- */

static void health__gpu_that_does_not_answer__is_lost_at_once_and_well_after_a_while(void **state)
{
    struct fixture *f = *state;

    sight_of(f, "GPU-a")->answers = false;
    see(f);
    assert_ill(f, "GPU-a");
    assert_int_equal(f->changes[0].now.kind, HEALTH_LOST);
    sight_of(f, "GPU-a")->answers = true;
    f->now_ms += HEALTH_WELL_AFTER_MS - 1;
    see(f);
    assert_ill(f, "GPU-a");
    assert_int_equal(f->change_n, 0);
    f->now_ms += 1;
    see(f);
    assert_ill(f, "");
    assert_int_equal(f->change_n, 1);
    assert_int_equal(f->changes[0].now.kind, HEALTH_WELL);
    assert_int_equal(f->changes[0].before.kind, HEALTH_LOST);
}

static void health__gpu_that_comes_and_goes__is_told_of_once(void **state)
{
    struct fixture *f = *state;
    size_t told = 0;

    for (int i = 0; i < 100; i++) {
        sight_of(f, "GPU-a")->answers = i % 2 != 0;
        f->now_ms += HEALTH_WELL_AFTER_MS / 3;
        see(f);
        told += f->change_n;
    }
    assert_int_equal(told, 1);
    assert_ill(f, "GPU-a");
}

static void health__gpu_that_is_gone__is_lost_until_it_is_back(void **state)
{
    struct fixture *f = *state;

    health_saw(f->health, f->sights + 1, ARRAY_LEN(f->sights) - 1, f->now_ms);
    judge(f);
    assert_ill(f, "GPU-a");
    assert_int_equal(f->changes[0].now.kind, HEALTH_LOST);
    f->now_ms += HEALTH_WELL_AFTER_MS;
    see(f);
    assert_ill(f, "");
}

static void health__library_that_shows_nothing__all_are_lost(void **state)
{
    struct fixture *f = *state;

    health_saw(f->health, NULL, 0, f->now_ms);
    judge(f);
    assert_ill(f, "GPU-a GPU-b GPU-m MIG-1 MIG-2 MIG-3");
    assert_int_equal(f->change_n, 6);
    for (size_t i = 0; i < f->change_n; i++) {
        assert_int_equal(f->changes[i].of_its_gpu, i >= 3);
    }
}

static void health__gpu_with_mig_devices_is_lost__so_are_they(void **state)
{
    struct fixture *f = *state;

    health_saw(f->health, f->sights, 2, f->now_ms);
    judge(f);
    assert_ill(f, "GPU-m MIG-1 MIG-2 MIG-3");
    f->now_ms += HEALTH_WELL_AFTER_MS;
    see(f);
    assert_ill(f, "");
    assert_int_equal(f->change_n, 4);
    assert_true(f->changes[3].of_its_gpu);
}

static void health__mig_device_taken_away__is_forgotten(void **state)
{
    struct fixture *f = *state;

    health_saw(f->health, f->sights, ARRAY_LEN(f->sights) - 1, f->now_ms);
    judge(f);
    assert_ill(f, "");
    assert_int_equal(f->change_n, 0);
}

static void health__more_gpus_in_a_life_than_there_is_room_for__those_that_are_there_are_judged(void **state)
{
    struct fixture *f = *state;
    char uuid[32];

    for (int i = 0; i < 1000; i++) {
        struct health_sight s[] = {GPU("GPU-a"), {.uuid = {uuid, 0}, ANSWERS}};

        s[1].uuid.n = (size_t)snprintf(uuid, sizeof(uuid), "GPU-%d", i);
        health_saw(f->health, s, ARRAY_LEN(s), f->now_ms);
        judge(f);
        hear(f, uuid, ALL, ALL, 79);
        assert_int_equal(f->change_n, 1);
        assert_true(str_eq_cstr(f->changes[0].uuid, uuid));
    }
    see(f);
    hear(f, "GPU-a", ALL, ALL, 79);
    assert_int_equal(f->change_n, 1);
}

/* ---- who is not watched ---- */

static void health__gpu_whose_errors_nobody_tells__is_closed_after_a_while(void **state)
{
    struct fixture *f = *state;

    sight_of(f, "GPU-b")->watched = false;
    f->now_ms += HEALTH_UNWATCHED_AFTER_MS - 1;
    see(f);
    assert_ill(f, "");
    f->now_ms += 1;
    see(f);
    assert_ill(f, "GPU-b");
    assert_int_equal(f->changes[0].now.kind, HEALTH_UNWATCHED);
    sight_of(f, "GPU-b")->watched = true;
    see(f);
    assert_ill(f, "");
}

/* A library that hangs: time goes on, and nothing is seen. */
static void health__nobody_sees_anything__all_are_closed_after_a_while(void **state)
{
    struct fixture *f = *state;

    f->now_ms += HEALTH_UNWATCHED_AFTER_MS - 1;
    judge(f);
    assert_ill(f, "");
    f->now_ms += 1;
    judge(f);
    assert_ill(f, "GPU-a GPU-b GPU-m MIG-1 MIG-2 MIG-3");
    see(f);
    assert_ill(f, "");
}

/* ---- devices ---- */

static void health__devices__are_marked_and_who_is_lost_stays(void **state)
{
    const struct device before[] = {{.uuid = {"GPU-a", 5}, .index = 0, .mem_mib = 7},
                                    {.uuid = {"GPU-b", 5}, .index = 1},
                                    {.uuid = {"GPU-m", 5}, .index = 2}};
    const struct device now[] = {{.uuid = {"GPU-b", 5}, .index = 1, .healthy = true},
                                 {.uuid = {"GPU-m", 5}, .index = 2, .healthy = true}};
    struct device ret[DEVICES_PER_NODE_MAX];
    struct fixture *f = *state;

    hear(f, "GPU-b", ALL, ALL, 79);
    hear(f, "GPU-a", ALL, ALL, 79);
    assert_int_equal(health_mark(f->health, now, 2, before, 3, ret), 3);
    assert_false(ret[0].healthy);
    assert_true(ret[1].healthy);
    assert_true(str_eq(ret[2].uuid, STR("GPU-a")));
    assert_int_equal(ret[2].mem_mib, 7);
    assert_false(ret[2].healthy);
}

/* It died after the last look, so nobody has judged it yet. Its instances go with it, not with the admin. */
static void health__gpu_that_was_well_and_is_not_read__is_closed_and_not_gone(void **state)
{
    const struct device before[] = {
        {.uuid = {"GPU-a", 5}, .index = 0, .mem_mib = 7, .healthy = true},
        {.uuid = {"GPU-m", 5}, .index = 2, .healthy = true},
        {.uuid = {"MIG-1", 5}, .index = 70, .healthy = true},
        {.uuid = {"GPU-x", 5}, .index = 5, .healthy = true}, /* nobody has ever seen it */
    };
    const struct device gpu_m = {.uuid = {"GPU-m", 5}, .index = 2, .healthy = true};
    struct device ret[DEVICES_PER_NODE_MAX];
    struct fixture *f = *state;

    assert_ill(f, "");
    assert_int_equal(health_mark(f->health, NULL, 0, before, 4, ret), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(str_eq(ret[i].uuid, before[i].uuid));
        assert_false(ret[i].healthy);
    }
    assert_int_equal(ret[0].mem_mib, 7);
    /* The admin took the instance away: its GPU can be read. */
    assert_int_equal(health_mark(f->health, &gpu_m, 1, before, 4, ret), 2);
    assert_true(ret[0].healthy);
    assert_true(str_eq(ret[1].uuid, STR("GPU-a")));
}

/* Indexes are unique on a node; the driver has counted anew. */
static void health__lost_gpu_whose_index_another_has__is_left_out(void **state)
{
    const struct device before[] = {{.uuid = {"GPU-a", 5}, .index = 0}, {.uuid = {"GPU-b", 5}, .index = 1}};
    const struct device now[] = {{.uuid = {"GPU-b", 5}, .index = 0, .healthy = true}};
    struct device ret[DEVICES_PER_NODE_MAX];
    struct fixture *f = *state;

    hear(f, "GPU-a", ALL, ALL, 79);
    assert_int_equal(health_mark(f->health, now, 1, before, 2, ret), 1);
    assert_true(str_eq(ret[0].uuid, STR("GPU-b")));
}

/* ---- words ---- */

static void health__words__name_the_xid(void **state)
{
    static const struct {
        struct health_verdict v;
        const char *words;
    } rows[] = {
        {{HEALTH_XID, 79}, "reported XID 79 (it has fallen off the bus)"},
        {{HEALTH_XID, 999}, "reported XID 999"},
        {{HEALTH_XID, UINT64_MAX}, "reported XID 18446744073709551615"},
        {{HEALTH_LOST, 0}, "is lost: the driver cannot reach it"},
        {{HEALTH_UNWATCHED, 0}, "is not watched: the driver does not tell whether it has errors"},
        {{HEALTH_WELL, 0}, "is well"},
    };
    char buf[HEALTH_WORDS_BYTES];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(health_words(rows[i].v, buf), rows[i].words);
    }
}

int main(void)
{
#define ON_MACHINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health__each_xid__counts_unless_programs_cause_it),
        ON_MACHINE(health__xid_that_counts__closes_that_gpu_for_good),
        ON_MACHINE(health__xid_of_programs__changes_nothing),
        ON_MACHINE(health__second_xid__is_not_told),
        cmocka_unit_test(health__xid_of_one_of_both__closes_what_it_names),
        ON_MACHINE(health__xid_of_a_gpu_that_nobody_knows__is_of_those_that_do_not_answer),
        ON_MACHINE(health__xid_of_a_gpu__is_of_mig_devices_made_later_too),
        ON_MACHINE(health__xid_of_a_mig_device__goes_with_it),
        ON_MACHINE(health__gpu_that_does_not_answer__is_lost_at_once_and_well_after_a_while),
        ON_MACHINE(health__gpu_that_comes_and_goes__is_told_of_once),
        ON_MACHINE(health__gpu_that_is_gone__is_lost_until_it_is_back),
        ON_MACHINE(health__library_that_shows_nothing__all_are_lost),
        ON_MACHINE(health__gpu_with_mig_devices_is_lost__so_are_they),
        ON_MACHINE(health__mig_device_taken_away__is_forgotten),
        ON_MACHINE(health__more_gpus_in_a_life_than_there_is_room_for__those_that_are_there_are_judged),
        ON_MACHINE(health__gpu_whose_errors_nobody_tells__is_closed_after_a_while),
        ON_MACHINE(health__nobody_sees_anything__all_are_closed_after_a_while),
        ON_MACHINE(health__devices__are_marked_and_who_is_lost_stays),
        ON_MACHINE(health__gpu_that_was_well_and_is_not_read__is_closed_and_not_gone),
        ON_MACHINE(health__lost_gpu_whose_index_another_has__is_left_out),
        cmocka_unit_test(health__words__name_the_xid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
