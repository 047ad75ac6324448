/* What a residual is worth, remembered by its place: after other pods are expected it is what a new
 * look would find, or it is not known. */
#include "core/forecast/internal.h"
#include "core/ledger/ledger.h"
#include "core/support/ledger_fixture.h"
#include "support/cmocka.h"

#include <string.h>

enum { ALL = VALUE_FILLED | VALUE_AMONG | VALUE_ALIKE, RESIDUALS = 200000 };

struct scene {
    struct ledger_fixture f;
    struct forecast *o;
    struct demand_histogram *expected;
};

static void follow(struct forecast *o, const struct ledger *l)
{
    while (!forecast_follow(o, ledger_cluster_view(l), fixture_params("rsp")->node_strategy)) {
    }
}

static void expect(struct scene *s, int32_t milli, int32_t cpu_milli, int times)
{
    struct demand d = SHARE_OF(milli);

    d.host.cpu_milli = cpu_milli;
    for (int i = 0; i < times; i++) {
        demand_histogram_arrived(s->expected, &d);
    }
    demand_histogram_settle(s->expected);
    forecast_give_demand_histogram(s->o, s->expected);
    follow(s->o, s->f.l);
}

static void scene_init(struct scene *s)
{
    fixture_init(&s->f);
    s->o = forecast_new();
    s->expected = demand_histogram_new();
    fixture_node(&s->f, "a", 4, 1024);
    expect(s, 300, 1000, 50);
}

static void scene_fini(struct scene *s)
{
    forecast_free(s->o);
    demand_histogram_free(s->expected);
    fixture_fini(&s->f);
}

/* Of the shape of "a": `n` devices with so much each. */
static struct residual residual_of(uint8_t n, int32_t milli, int32_t cpu_milli)
{
    struct residual r = {.kinds = RESIDUAL_SHARES, .device_n = n, .cpu_milli = cpu_milli, .mem_mib = INT32_MAX};

    for (unsigned i = 0; i < n; i++) {
        r.devices[i] = (struct residual_device){0, milli, 1024};
    }
    return r;
}

/* A residual as the score of a placement remembers it. */
struct term {
    uint32_t place, serial;
};

static struct term term_of(const struct scene *s, const struct value *w)
{
    return (struct term){forecast_value_place(s->o, w), w->serial};
}

static const struct value *value_of(const struct scene *s, struct term t, unsigned parts)
{
    return forecast_value_at(s->o, t.place, t.serial, parts);
}

/* By a forecast that expects the same and has seen nothing else. */
static void value_afresh(const struct scene *s, const struct residual *r, struct value *ret)
{
    struct forecast *o = forecast_new();

    forecast_give_demand_histogram(o, s->expected);
    follow(o, s->f.l);
    memcpy(ret, forecast_value(o, r, ALL), sizeof(*ret));
    forecast_free(o);
}

static void value__others_are_expected__is_what_a_new_look_finds(void **state)
{
    struct scene s;
    struct residual r = residual_of(3, 700, 2500);
    const struct value *w;
    struct term t;

    scene_init(&s);
    w = forecast_value(s.o, &r, ALL);
    t = term_of(&s, w);
    for (int32_t milli = 100; milli <= 700; milli += 100) {
        int32_t before = w->filled;
        struct value fresh;

        expect(&s, milli, milli * 4, 500);
        w = value_of(&s, t, ALL);
        assert_non_null(w);
        value_afresh(&s, &r, &fresh);
        assert_int_equal(w->filled, fresh.filled);
        assert_int_equal(w->filled_among, fresh.filled_among);
        assert_int_equal(w->filled_alike, fresh.filled_alike);
        assert_int_equal(w->cpu_left, fresh.cpu_left);
        assert_int_equal(w->drain, fresh.drain);
        assert_true(milli > 100 || w->filled != before); /* what was expected before would not have done */
        assert_ptr_equal(forecast_value(s.o, &r, ALL), w);
    }
    scene_fini(&s);
}

static void value__part_without_weight__is_not_looked_for(void **state)
{
    struct scene s;
    struct residual r = residual_of(2, 600, 3000);
    const struct value *w;
    uint64_t work;

    scene_init(&s);
    w = forecast_value(s.o, &r, VALUE_AMONG);
    assert_true(w->filled < 0 && w->filled_among >= 0 && w->filled_alike < 0);
    work = forecast_work(s.o);
    assert_ptr_equal(forecast_value(s.o, &r, VALUE_AMONG), w);
    assert_int_equal(forecast_work(s.o), work);
    assert_ptr_equal(value_of(&s, term_of(&s, w), VALUE_FILLED), w);
    assert_true(w->filled >= 0 && w->filled_alike < 0);
    assert_true(forecast_work(s.o) > work);
    assert_ptr_equal(value_of(&s, term_of(&s, w), VALUE_ALIKE), w);
    assert_true(w->filled_alike >= 0);
    scene_fini(&s);
}

static void value__too_many_devices_to_keep__is_unknown_when_others_are_expected(void **state)
{
    struct scene s;
    struct residual r = residual_of(VALUE_DEVICES_MAX + 1, 700, 2500);
    const struct value *w;
    struct term t;

    scene_init(&s);
    w = forecast_value(s.o, &r, ALL);
    t = term_of(&s, w);
    assert_ptr_equal(value_of(&s, t, ALL), w);
    expect(&s, 500, 1000, 500);
    assert_null(value_of(&s, t, ALL));
    scene_fini(&s);
}

static void value__place_taken_or_shapes_forgotten__is_unknown(void **state)
{
    struct scene s;
    struct residual r = residual_of(1, 700, 1), other = r;
    const struct value *w;
    struct term t;

    scene_init(&s);
    w = forecast_value(s.o, &r, VALUE_FILLED);
    t = term_of(&s, w);
    for (int32_t i = 2; i < RESIDUALS && w->serial == t.serial; i++) {
        other.cpu_milli = i;
        forecast_value(s.o, &other, VALUE_FILLED);
    }
    assert_int_not_equal(w->serial, t.serial);
    assert_null(value_of(&s, t, VALUE_FILLED));
    w = forecast_value(s.o, &r, VALUE_FILLED);
    t = term_of(&s, w);
    forecast_values_forget(s.o->values);
    assert_null(value_of(&s, t, VALUE_FILLED));
    assert_true(forecast_value(s.o, &r, VALUE_FILLED)->serial > t.serial);
    scene_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value__others_are_expected__is_what_a_new_look_finds),
        cmocka_unit_test(value__part_without_weight__is_not_looked_for),
        cmocka_unit_test(value__too_many_devices_to_keep__is_unknown_when_others_are_expected),
        cmocka_unit_test(value__place_taken_or_shapes_forgotten__is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
