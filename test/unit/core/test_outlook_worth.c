/* What a room is worth, remembered by its place: after other pods are expected it is what a new
 * look would find, or it is not known. */
#include "core/forecast/internal.h"
#include "core/ledger/ledger.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <string.h>

enum { BOTH = WORTH_FILLED | WORTH_AMONG, ROOMS = 200000 };

struct scene {
    struct ledger_fixture f;
    struct outlook *o;
    struct mix *expected;
};

static void follow(struct outlook *o, const struct ledger *l)
{
    while (!outlook_follow(o, ledger_cluster_view(l), fixture_params("rsp")->node_strategy)) {
    }
}

static void expect(struct scene *s, int32_t milli, int32_t cpu_milli, int times)
{
    struct demand d = SHARE_OF(milli);

    d.host.cpu_milli = cpu_milli;
    for (int i = 0; i < times; i++) {
        mix_arrived(s->expected, &d);
    }
    mix_settle(s->expected);
    outlook_give_mix(s->o, s->expected);
    follow(s->o, s->f.l);
}

static void scene_init(struct scene *s)
{
    fixture_init(&s->f);
    s->o = outlook_new();
    s->expected = mix_new();
    fixture_node(&s->f, "a", 4, 1024);
    expect(s, 300, 1000, 50);
}

static void scene_fini(struct scene *s)
{
    outlook_free(s->o);
    mix_free(s->expected);
    fixture_fini(&s->f);
}

/* Of the shape of "a": `n` devices with so much each. */
static struct room room_of(uint8_t n, int32_t milli, int32_t cpu_milli)
{
    struct room r = {
        .kinds = ROOM_SHARES, .device_n = n, .cpu_milli = cpu_milli, .mem_mib = INT32_MAX};

    for (unsigned i = 0; i < n; i++) {
        r.devices[i] = (struct room_device){0, milli, 1024};
    }
    return r;
}

/* A room as the score of a placement remembers it. */
struct term {
    uint32_t place, serial;
};

static struct term term_of(const struct scene *s, const struct worth *w)
{
    return (struct term){outlook_worth_place(s->o, w), w->serial};
}

static const struct worth *worth_of(const struct scene *s, struct term t, unsigned parts)
{
    return outlook_worth_at(s->o, t.place, t.serial, parts);
}

/* By an outlook that expects the same and has seen nothing else. */
static void worth_afresh(const struct scene *s, const struct room *r, struct worth *ret)
{
    struct outlook *o = outlook_new();

    outlook_give_mix(o, s->expected);
    follow(o, s->f.l);
    memcpy(ret, outlook_worth(o, r, BOTH), sizeof(*ret));
    outlook_free(o);
}

static void worth__others_are_expected__is_what_a_new_look_finds(void **state)
{
    struct scene s;
    struct room r = room_of(3, 700, 2500);
    const struct worth *w;
    struct term t;

    (void)state;
    scene_init(&s);
    w = outlook_worth(s.o, &r, BOTH);
    t = term_of(&s, w);
    for (int32_t milli = 100; milli <= 700; milli += 100) {
        int32_t before = w->filled;
        struct worth fresh;

        expect(&s, milli, milli * 4, 500);
        w = worth_of(&s, t, BOTH);
        assert_non_null(w);
        worth_afresh(&s, &r, &fresh);
        assert_int_equal(w->filled, fresh.filled);
        assert_int_equal(w->filled_among, fresh.filled_among);
        assert_int_equal(w->cpu_left, fresh.cpu_left);
        assert_int_equal(w->drain, fresh.drain);
        assert_true(milli > 100 ||
                    w->filled != before); /* what was expected before would not have done */
        assert_ptr_equal(outlook_worth(s.o, &r, BOTH), w);
    }
    scene_fini(&s);
}

static void worth__part_without_weight__is_not_looked_for(void **state)
{
    struct scene s;
    struct room r = room_of(2, 600, 3000);
    const struct worth *w;
    uint64_t work;

    (void)state;
    scene_init(&s);
    w = outlook_worth(s.o, &r, WORTH_AMONG);
    assert_true(w->filled < 0 && w->filled_among >= 0);
    work = outlook_work(s.o);
    assert_ptr_equal(outlook_worth(s.o, &r, WORTH_AMONG), w);
    assert_int_equal(outlook_work(s.o), work);
    assert_ptr_equal(worth_of(&s, term_of(&s, w), WORTH_FILLED), w);
    assert_true(w->filled >= 0);
    assert_true(outlook_work(s.o) > work);
    scene_fini(&s);
}

static void worth__too_many_devices_to_keep__is_unknown_when_others_are_expected(void **state)
{
    struct scene s;
    struct room r = room_of(WORTH_DEVICES_MAX + 1, 700, 2500);
    const struct worth *w;
    struct term t;

    (void)state;
    scene_init(&s);
    w = outlook_worth(s.o, &r, BOTH);
    t = term_of(&s, w);
    assert_ptr_equal(worth_of(&s, t, BOTH), w);
    expect(&s, 500, 1000, 500);
    assert_null(worth_of(&s, t, BOTH));
    scene_fini(&s);
}

static void worth__place_taken_or_shapes_forgotten__is_unknown(void **state)
{
    struct scene s;
    struct room r = room_of(1, 700, 1), other = r;
    const struct worth *w;
    struct term t;

    (void)state;
    scene_init(&s);
    w = outlook_worth(s.o, &r, WORTH_FILLED);
    t = term_of(&s, w);
    for (int32_t i = 2; i < ROOMS && w->serial == t.serial; i++) {
        other.cpu_milli = i;
        outlook_worth(s.o, &other, WORTH_FILLED);
    }
    assert_int_not_equal(w->serial, t.serial);
    assert_null(worth_of(&s, t, WORTH_FILLED));
    w = outlook_worth(s.o, &r, WORTH_FILLED);
    t = term_of(&s, w);
    outlook_worths_forget(s.o->worths);
    assert_null(worth_of(&s, t, WORTH_FILLED));
    assert_true(outlook_worth(s.o, &r, WORTH_FILLED)->serial > t.serial);
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worth__others_are_expected__is_what_a_new_look_finds),
        cmocka_unit_test(worth__part_without_weight__is_not_looked_for),
        cmocka_unit_test(worth__too_many_devices_to_keep__is_unknown_when_others_are_expected),
        cmocka_unit_test(worth__place_taken_or_shapes_forgotten__is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
