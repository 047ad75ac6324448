/* The ring of the flight recorder: the last lines, whole, in order, and who reads too slowly is told. */
#include "extender/recorder.h"

#include "base/rng.h"
#include "extender/op_json.h"
#include "support/cmocka.h"
#include "support/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAP RECORDER_BYTES_MIN

static char frames[CAP];
static struct strbuf everything; /* as text */

static int set_up(void **state)
{
    strbuf_init(&everything, 4 * CAP);
    return 0;
}

static int tear_down(void **state)
{
    strbuf_fini(&everything);
    return 0;
}

static size_t read_all(const struct recorder *r, size_t step)
{
    struct recorder_cursor c;
    uint64_t seq = recorder_first(r);
    size_t all = 0, n, at;

    recorder_open(r, &c);
    do {
        assert_true(recorder_read(r, &c, frames + all, step < CAP - all ? step : CAP - all, &n));
        all += n;
    } while (n > 0);
    strbuf_reset(&everything);
    for (at = 0; at < all; at += n) {
        assert_int_equal(recorder_line((struct str){frames + at, all - at < 24 ? all - at : 24}, seq, &everything), 0);
        n = recorder_line((struct str){frames + at, all - at}, seq++, &everything);
        assert_true(n > 24);
    }
    assert_int_equal(seq, recorder_next(r));
    return all;
}

static void add_of_size(struct recorder *r, size_t n)
{
    char *body = malloc(n + 1);

    assert_non_null(body);
    memset(body, 'x', n);
    memcpy(body, "{\"a\":\"", 6);
    memcpy(body + n - 2, "\"}", 2);
    recorder_add(r, 7, 3, RECORDER_TEXT, (struct str){body, n});
    free(body);
}

static void empty__nothing_to_read(void **state)
{
    struct recorder *r = recorder_new(CAP);

    assert_int_equal(read_all(r, 100), 0);
    assert_int_equal(recorder_first(r), recorder_next(r));
    recorder_free(r);
}

static void one_line__number_time_and_generation_in_front(void **state)
{
    struct recorder *r = recorder_new(CAP);

    recorder_add(r, -5, 8, RECORDER_TEXT, STR("{\"type\":\"op\"}"));
    (void)read_all(r, 10);
    assert_string_equal(everything.p, "{\"seq\":1,\"atMs\":-5,\"generation\":8,\"type\":\"op\"}\n");
    recorder_free(r);
}

static void op__is_packed_until_it_is_text(void **state)
{
    const struct ledger_op op = {.kind = LEDGER_POD_GONE, .name = STR("a \"uid\"")};
    struct recorder *r = recorder_new(CAP);
    struct strbuf packed;

    strbuf_init(&packed, CAP);
    op_pack(&packed, &op);
    assert_true(packed.n < 16);
    recorder_add(r, -5, 8, RECORDER_OP, strbuf_view(&packed));
    (void)read_all(r, CAP);
    assert_string_equal(everything.p, "{\"seq\":1,\"atMs\":-5,\"generation\":8,\"type\":\"op\",\"op\":\"podGone\","
                                      "\"gone\":{\"name\":\"a \\\"uid\\\"\"}}\n");
    strbuf_fini(&packed);
    recorder_free(r);
}

static void too_large_a_line__one_of_type_omitted(void **state)
{
    struct recorder *r = recorder_new(CAP);

    add_of_size(r, CAP / 4 + 1);
    (void)read_all(r, CAP);
    assert_non_null(strstr(everything.p, "\"type\":\"omitted\",\"bytes\":16385}\n"));
    recorder_free(r);
}

/* The largest line that is kept, and as many bytes as there are. */
static void lines__fill_it_exactly__none_goes(void **state)
{
    enum { FRAME = 24 };
    struct recorder *r = recorder_new(CAP);

    for (int i = 0; i < 4; i++) {
        add_of_size(r, CAP / 4 - FRAME);
    }
    assert_int_equal(recorder_first(r), 1);
    assert_int_equal(read_all(r, CAP), CAP);
    add_of_size(r, 12); /* the room of one is enough */
    assert_int_equal(recorder_first(r), 2);
    assert_int_equal(recorder_next(r), 6);
    add_of_size(r, CAP / 4);
    assert_int_equal(recorder_first(r), 3);
    (void)read_all(r, 7777);
    assert_null(strstr(everything.p, "omitted"));
    recorder_free(r);
}

/* Whatever the sizes are: what is there are the last lines, whole and numbered without a gap, and the next one would
 * not have fitted beside the one that went. */
static void random_lines__the_last_ones_whole(void **state)
{
    const struct seeds seeds = seeds_of_test(1, 20);

    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct recorder *r = recorder_new(CAP);
        struct rng rng;

        rng_init(&rng, seed);
        for (int i = 0; i < 2000; i++) {
            add_of_size(r, 12 + rng_below(&rng, seed % 2 == 0 ? 200 : 8000));
        }
        size_t n = read_all(r, 1 + rng_below(&rng, 5000));
        uint64_t seq = recorder_first(r);
        char *line = everything.p, *end;

        assert_true(n <= CAP && n > CAP - 8100);
        while ((end = strchr(line, '\n')) != NULL) {
            char head[64];

            snprintf(head, sizeof(head), "{\"seq\":%" PRIu64 ",\"atMs\":7,\"generation\":3,\"a\":\"", seq++);
            assert_int_equal(strncmp(line, head, strlen(head)), 0);
            assert_true(end[-1] == '}');
            line = end + 1;
        }
        assert_true(*line == '\0' && seq == recorder_next(r) && seq == 2001);
        recorder_free(r);
    }
}

static void reader_is_slow__told_when_lines_are_overwritten(void **state)
{
    struct recorder *r = recorder_new(CAP);
    struct recorder_cursor c;
    size_t n;

    add_of_size(r, 1000);
    add_of_size(r, 1000);
    recorder_open(r, &c);
    assert_true(recorder_read(r, &c, frames, 10, &n) && n == 10);
    add_of_size(r, 1000); /* comes after the reader's end: it is not shown */
    while (recorder_first(r) == 1) {
        assert_true(recorder_read(r, &c, frames, 1, &n) && n == 1);
        add_of_size(r, 3000);
    }
    assert_false(recorder_read(r, &c, frames, 10, &n));
    recorder_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(empty__nothing_to_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_line__number_time_and_generation_in_front, set_up, tear_down),
        cmocka_unit_test_setup_teardown(op__is_packed_until_it_is_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_large_a_line__one_of_type_omitted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines__fill_it_exactly__none_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_lines__the_last_ones_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reader_is_slow__told_when_lines_are_overwritten, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
