/* Scripts of replies and times, and what the machine makes of them. */
#include "extender/bind_machine.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)
#define DEADLINE (5000 * MS)

/* One turn: at `at_ms` the machine must want `want`; then it is told the outcome. */
struct step {
    int at_ms;
    enum bind_action want;
    enum bind_reply reply;     /* of a POST */
    enum bind_get_outcome got; /* of a GET */
    int retry_after_ms;
    bool maybe_bound;
};

struct script {
    const char *name;
    struct step steps[12];
    size_t step_n;
    enum bind_resolution resolution;
    const char *answer; /* a part of the error; NULL: success */
    bool expired;       /* the caller was told "not known" before the end */
};

#define POST(at, r) {.at_ms = (at), .want = BIND_POST, .reply = (r)}
#define LOST(at) {.at_ms = (at), .want = BIND_POST, .reply = BIND_LOST, .maybe_bound = true}
#define GET(at, g) {.at_ms = (at), .want = BIND_GET, .got = (g)}
#define WAIT(at) {.at_ms = (at), .want = BIND_WAIT}
#define END(at) {.at_ms = (at), .want = BIND_END}

static const struct script scripts[] = {
    {"accepted", {POST(0, BIND_BOUND), END(1)}, 2, BIND_CONFIRMED, NULL, false},
    {"refused for good", {POST(0, BIND_REFUSED), END(1)}, 2, BIND_RELEASED, "refused", false},
    {"unauthorized once, then accepted",
     {POST(0, BIND_UNAUTHORIZED), POST(1, BIND_BOUND), END(2)}, 3, BIND_CONFIRMED, NULL, false},
    {"unauthorized twice",
     {POST(0, BIND_UNAUTHORIZED), POST(1, BIND_UNAUTHORIZED), END(2)}, 3, BIND_RELEASED, "credentials",
     false},
    {"busy, waits as told, then accepted",
     {{.at_ms = 0, .want = BIND_POST, .reply = BIND_RETRY_AFTER, .retry_after_ms = 1000}, WAIT(999),
      POST(1000, BIND_BOUND), END(1001)},
     4, BIND_CONFIRMED, NULL, false},
    {"busy for longer than the deadline allows",
     {{.at_ms = 0, .want = BIND_POST, .reply = BIND_RETRY_AFTER, .retry_after_ms = 10000}, END(1)},
     2, BIND_RELEASED, "overloaded", false},
    {"busy with an unknown effect, past the deadline: charged until proof",
     {{.at_ms = 0, .want = BIND_POST, .reply = BIND_RETRY_AFTER, .retry_after_ms = 10000,
       .maybe_bound = true},
      WAIT(1), WAIT(5999), GET(6000, BIND_GET_UNBOUND), END(6001)},
     5, BIND_RELEASED, NULL, true},
    {"conflict, bound by us before", {POST(0, BIND_CONFLICT), GET(1, BIND_GET_OURS), END(2)}, 3,
     BIND_CONFIRMED, NULL, false},
    {"conflict, bound by somebody else", {POST(0, BIND_CONFLICT), GET(1, BIND_GET_ELSEWHERE), END(2)}, 3,
     BIND_RELEASED, "somebody else", false},
    {"conflict, pod recreated under its name", {POST(0, BIND_CONFLICT), GET(1, BIND_GET_GONE), END(2)}, 3,
     BIND_RELEASED, "no longer exists", false},
    {"conflict, still unbound: deleting or gated",
     {POST(0, BIND_CONFLICT), GET(1, BIND_GET_UNBOUND), END(2)}, 3, BIND_RELEASED, "being deleted", false},
    {"reply lost, pod is bound", {LOST(0), GET(10, BIND_GET_OURS), END(11)}, 3, BIND_CONFIRMED, NULL,
     false},
    {"reply lost, unbound so far: sent again, duplicate settles it",
     {LOST(0), GET(10, BIND_GET_UNBOUND), WAIT(11), POST(210, BIND_CONFLICT), GET(211, BIND_GET_OURS),
      END(212)},
     6, BIND_CONFIRMED, NULL, false},
    {"reply lost, conflict, unbound: the lost one may still land",
     {LOST(0), GET(10, BIND_GET_UNBOUND), POST(210, BIND_CONFLICT), GET(5100, BIND_GET_UNBOUND),
      WAIT(5101), GET(6000, BIND_GET_UNBOUND), END(6001)},
     7, BIND_RELEASED, NULL, true},
    {"reply lost, then a refusal: the lost one may have landed",
     {LOST(0), GET(10, BIND_GET_UNBOUND), POST(210, BIND_REFUSED), GET(211, BIND_GET_OURS), END(212)}, 5,
     BIND_CONFIRMED, NULL, false},
    {"nothing answers: stays charged for as long as it takes",
     {LOST(0), GET(10, BIND_GET_FAILED), GET(2500, BIND_GET_FAILED), GET(5200, BIND_GET_FAILED),
      WAIT(6000), GET(7300, BIND_GET_FAILED), GET(90000, BIND_GET_OURS), END(90001)},
     8, BIND_CONFIRMED, NULL, true},
    {"a late GET proves only from 6 s after the last lost send",
     {LOST(0), GET(10, BIND_GET_UNBOUND), LOST(3000), GET(3010, BIND_GET_UNBOUND), LOST(3410),
      GET(6500, BIND_GET_UNBOUND), WAIT(9409), GET(9410, BIND_GET_UNBOUND), END(9411)},
     9, BIND_RELEASED, NULL, true},
    {"never sent until the deadline",
     {POST(0, BIND_NOT_SENT), WAIT(1), POST(200, BIND_NOT_SENT), POST(4900, BIND_NOT_SENT), END(5100)}, 5,
     BIND_RELEASED, "could not be reached", false},
    {"never sent, then accepted", {POST(0, BIND_NOT_SENT), POST(200, BIND_BOUND), END(201)}, 3,
     BIND_CONFIRMED, NULL, false},
    {"500 without a hint: refused, but asked about",
     {{.at_ms = 0, .want = BIND_POST, .reply = BIND_REFUSED, .maybe_bound = true},
      GET(1, BIND_GET_OURS), END(2)},
     3, BIND_CONFIRMED, NULL, false},
};

static void play(const struct script *s)
{
    struct bind_machine m;
    const char *error = NULL;
    bool expired = false;

    bind_machine_init(&m, DEADLINE);
    for (size_t i = 0; i < s->step_n; i++) {
        const struct step *step = &s->steps[i];
        int64_t now = step->at_ms * MS;
        enum bind_action action;

        expired = bind_machine_expire(&m, now, &error) || expired;
        action = bind_machine_next(&m, now);
        if (action != step->want) {
            fail_msg("%s, step %zu: wants action %d, expected %d", s->name, i, (int)action,
                     (int)step->want);
        }
        if (action == BIND_POST) {
            struct bind_answer a = {step->reply, step->maybe_bound, step->retry_after_ms, NULL};

            bind_machine_posted(&m, &a, now);
        } else if (action == BIND_GET) {
            bind_machine_got(&m, step->got, now);
        }
    }
    assert_int_equal(m.resolution, s->resolution);
    assert_int_equal(expired, s->expired);
    if (expired) {
        assert_non_null(strstr(error, "not known yet"));
        assert_false(bind_machine_take_answer(&m, &error)); /* answered once */
        return;
    }
    assert_true(bind_machine_take_answer(&m, &error));
    if (s->answer == NULL) {
        assert_null(error);
    } else {
        assert_non_null(error);
        if (strstr(error, s->answer) == NULL) {
            fail_msg("%s: answered \"%s\"", s->name, error);
        }
    }
    assert_false(bind_machine_take_answer(&m, &error));
}

static void bind_machine__scripts__resolve_as_the_contract_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        play(&scripts[i]);
    }
}

/* Whatever the replies: released only when nothing can land any more, never a POST after the deadline. */
static void bind_machine__random_replies__release_only_on_proof(void **state)
{
    uint64_t x = 42;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct bind_machine m;
        int64_t now = 0, last_unsure = INT64_MIN;
        bool in_doubt = false, proof = false;

        bind_machine_init(&m, DEADLINE);
        for (int i = 0; i < 200 && m.resolution == BIND_OPEN; i++) {
            enum bind_action action = bind_machine_next(&m, now);
            unsigned dice;

            x = x * 6364136223846793005U + 1442695040888963407U;
            dice = (unsigned)(x >> 33);
            if (action == BIND_POST) {
                struct bind_answer a = {(enum bind_reply)(1 + dice % (BIND_REPLY__MAX - 1)),
                                        (dice >> 8) % 2 == 0, (dice >> 16) % 3000, NULL};

                a.maybe_bound = a.reply == BIND_LOST || (a.maybe_bound && (a.reply == BIND_RETRY_AFTER ||
                                                                           a.reply == BIND_REFUSED));
                assert_true(now < DEADLINE);
                if (a.maybe_bound) {
                    in_doubt = true;
                    last_unsure = now;
                }
                bind_machine_posted(&m, &a, now);
            } else if (action == BIND_GET) {
                enum bind_get_outcome got = (dice % 4 == 0)   ? BIND_GET_FAILED
                                            : (dice % 97 == 0) ? BIND_GET_GONE
                                                               : BIND_GET_UNBOUND;

                proof = got == BIND_GET_GONE || (got == BIND_GET_UNBOUND && in_doubt &&
                                                 now >= last_unsure + BIND_PROOF_NS);
                bind_machine_got(&m, got, now);
            }
            now += (int64_t)(dice % 900) * MS;
        }
        assert_int_equal(m.resolution, BIND_RELEASED);
        assert_true(!in_doubt || proof);
    }
}

/* A server that answers 500 to every Binding, and to the question what became of it "unbound". */
static void bind_machine__500_for_good__a_handful_of_posts_ever_further_apart(void **state)
{
    const struct bind_answer failed = {BIND_REFUSED, true, 0, NULL};
    struct bind_machine m;
    int64_t now = 0, last = 0, gap = 0;
    unsigned post_n = 0;

    (void)state;
    bind_machine_init(&m, DEADLINE);
    while (m.resolution == BIND_OPEN) {
        switch (bind_machine_next(&m, now)) {
        case BIND_POST:
            assert_true(now < DEADLINE);
            assert_true(post_n == 0 || now - last > gap); /* grows, as it never comes near the longest pause */
            gap = post_n == 0 ? 0 : now - last;
            last = now;
            post_n++;
            bind_machine_posted(&m, &failed, now);
            break;
        case BIND_GET:
            bind_machine_got(&m, BIND_GET_UNBOUND, now);
            break;
        case BIND_WAIT:
            assert_true(m.wake_ns > now);
            now = m.wake_ns;
            break;
        case BIND_END:
            fail_msg("ended without a resolution");
        }
    }
    assert_int_equal(m.resolution, BIND_RELEASED);
    assert_true(now >= last + BIND_PROOF_NS);
    assert_in_range(post_n, 3, 6);
}

/* "Retry-After: 0" is no leave to try as fast as the machine can. */
static void bind_machine__told_to_retry_at_once_for_ever__pauses_all_the_same(void **state)
{
    const struct bind_answer busy = {BIND_RETRY_AFTER, false, 0, NULL};
    struct bind_machine m;
    int64_t now = 0;
    unsigned post_n = 0;

    (void)state;
    bind_machine_init(&m, DEADLINE);
    while (bind_machine_next(&m, now) != BIND_END) {
        if (m.wake_ns > now) {
            now = m.wake_ns;
            continue;
        }
        post_n++;
        bind_machine_posted(&m, &busy, now);
    }
    assert_in_range(post_n, 3, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind_machine__scripts__resolve_as_the_contract_says),
        cmocka_unit_test(bind_machine__random_replies__release_only_on_proof),
        cmocka_unit_test(bind_machine__500_for_good__a_handful_of_posts_ever_further_apart),
        cmocka_unit_test(bind_machine__told_to_retry_at_once_for_ever__pauses_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
