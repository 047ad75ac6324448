/* Scripts of replies and times, and what the machine makes of them. */
#include "extender/bind_machine.h"

#include "base/compiler.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)
#define DEADLINE (5000 * MS)
#define TEN_MINUTES (600 * 1000 * MS)
/* The resourceVersion that the first send carries. */
#define FIRST 100

/* One turn: at `at_ms` the machine must want `want`; then it is told the outcome. */
struct step {
    int at_ms;
    enum bind_action want;
    int status;       /* of a POST: what the API server answers, or LOSES, or NEVER_SENT */
    uint64_t version; /* of a POST: what it must carry; of a sight: where the pod is */
    int retry_after_ms;
    enum bind_sight_kind seen; /* of a GET */
    bool changed;              /* the decision does not hold for the pod that was seen */
    bool watch;                /* not asked for: an observation that comes now */
    bool blind;                /* the server's version is not known, or too old */
};

#define LOSES (-1)
#define NEVER_SENT (-2)

struct script {
    const char *name;
    struct step steps[14];
    size_t step_n;
    enum bind_resolution resolution;
    const char *answer; /* a part of the error; NULL: success */
    bool expired;       /* the caller was told "not known" before the end */
};

#define POST(at, s)                                                                                                    \
    {                                                                                                                  \
        .at_ms = (at), .want = BIND_POST, .status = (s), .version = FIRST                                              \
    }
#define POST_OF(at, v, s)                                                                                              \
    {                                                                                                                  \
        .at_ms = (at), .want = BIND_POST, .status = (s), .version = (v)                                                \
    }
#define GET(at, k)                                                                                                     \
    {                                                                                                                  \
        .at_ms = (at), .want = BIND_GET, .seen = (k)                                                                   \
    }
#define UNBOUND(at, v)                                                                                                 \
    {                                                                                                                  \
        .at_ms = (at), .want = BIND_GET, .seen = BIND_SEEN_UNBOUND, .version = (v)                                     \
    }
#define WATCH(at, v)                                                                                                   \
    {                                                                                                                  \
        .at_ms = (at), .watch = true, .seen = BIND_SEEN_UNBOUND, .version = (v)                                        \
    }
#define WAIT(at)                                                                                                       \
    {                                                                                                                  \
        .at_ms = (at), .want = BIND_WAIT                                                                               \
    }
#define END(at)                                                                                                        \
    {                                                                                                                  \
        .at_ms = (at), .want = BIND_END                                                                                \
    }

static const struct script scripts[] = {
    /* ---- answers to the only send ---- */
    {"201", {POST(0, 201), END(1)}, 2, BIND_CONFIRMED, NULL, false},
    {"400", {POST(0, 400), END(1)}, 2, BIND_RELEASED, "malformed", false},
    {"403", {POST(0, 403), END(1)}, 2, BIND_RELEASED, "no right", false},
    {"404", {POST(0, 404), END(1)}, 2, BIND_RELEASED, "does not exist", false},
    {"422", {POST(0, 422), END(1)}, 2, BIND_RELEASED, "invalid", false},
    {"401 once, then 201", {POST(0, 401), POST(1, 201), END(2)}, 3, BIND_CONFIRMED, NULL, false},
    {"401 twice", {POST(0, 401), POST(1, 401), END(2)}, 3, BIND_RELEASED, "credentials", false},
    {"429, waits as told, then 201",
     {{.at_ms = 0, .want = BIND_POST, .status = 429, .version = FIRST, .retry_after_ms = 1000},
      WAIT(999),
      POST(1000, 201),
      END(1001)},
     4,
     BIND_CONFIRMED,
     NULL,
     false},
    {"429 for longer than the deadline allows",
     {{.at_ms = 0, .want = BIND_POST, .status = 429, .version = FIRST, .retry_after_ms = 10000}, END(1)},
     2,
     BIND_RELEASED,
     "overloaded",
     false},
    {"never sent until the deadline",
     {POST(0, NEVER_SENT), WAIT(1), POST(200, NEVER_SENT), POST(4900, NEVER_SENT), END(5100)},
     5,
     BIND_RELEASED,
     "could not be reached",
     false},
    {"never sent, then 201", {POST(0, NEVER_SENT), POST(200, 201), END(201)}, 3, BIND_CONFIRMED, NULL, false},

    /* ---- the end (a): seen bound ---- */
    {"409, bound by us before", {POST(0, 409), GET(1, BIND_SEEN_OURS), END(2)}, 3, BIND_CONFIRMED, NULL, false},
    {"lost, pod is bound", {POST(0, LOSES), GET(10, BIND_SEEN_OURS), END(11)}, 3, BIND_CONFIRMED, NULL, false},
    {"500, pod is bound", {POST(0, 500), GET(1, BIND_SEEN_OURS), END(2)}, 3, BIND_CONFIRMED, NULL, false},
    {"409, bound to another node",
     {POST(0, 409), GET(1, BIND_SEEN_ELSEWHERE), END(2)},
     3,
     BIND_RELEASED,
     "somebody else",
     false},
    {"409, bound to the same node with another record: nothing is released by hand",
     {POST(0, 409), GET(1, BIND_SEEN_OTHER_RECORD), END(2)},
     3,
     BIND_SUPERSEDED,
     "somebody else",
     false},
    {"lost, and the watch shows it bound",
     {POST(0, LOSES), GET(10, BIND_SEEN_NOTHING), {.at_ms = 50, .watch = true, .seen = BIND_SEEN_OURS}, END(51)},
     4,
     BIND_CONFIRMED,
     NULL,
     false},

    /* ---- the end (b): gone, or another uid ---- */
    {"409, pod gone or recreated under its name",
     {POST(0, 409), GET(1, BIND_SEEN_GONE), END(2)},
     3,
     BIND_RELEASED,
     "no longer exists",
     false},
    {"lost, deleted after the deadline",
     {POST(0, LOSES), GET(10, BIND_SEEN_NOTHING), GET(5200, BIND_SEEN_GONE), END(5201)},
     4,
     BIND_RELEASED,
     NULL,
     true},

    /* ---- the end (c): unbound at a version that no send carried ---- */
    {"409 for a stale version: decided again, sent again at once",
     {POST(0, 409), UNBOUND(1, FIRST + 7), POST_OF(1, FIRST + 7, 201), END(2)},
     4,
     BIND_CONFIRMED,
     NULL,
     false},
    {"the same, but what was decided does not hold for the new object",
     {POST(0, 409),
      {.at_ms = 1, .want = BIND_GET, .seen = BIND_SEEN_UNBOUND, .version = FIRST + 7, .changed = true},
      END(2)},
     3,
     BIND_RELEASED,
     "was changed",
     false},
    {"after (c) the first sends are dead: a refusal settles",
     {POST(0, LOSES), UNBOUND(10, FIRST + 1), POST_OF(10, FIRST + 1, 403), END(11)},
     4,
     BIND_RELEASED,
     "no right",
     false},
    {"(c) after the deadline: nothing new is sent",
     {POST(0, LOSES), GET(10, BIND_SEEN_NOTHING), UNBOUND(5200, FIRST + 1), END(5201)},
     4,
     BIND_RELEASED,
     NULL,
     true},
    {"(c) by the watch, without waiting for a GET",
     {POST(0, LOSES), UNBOUND(10, FIRST), WAIT(11), WATCH(12, FIRST + 3), POST_OF(12, FIRST + 3, 201), END(13)},
     6,
     BIND_CONFIRMED,
     NULL,
     false},
    {"(c) by the watch after the deadline",
     {POST(0, LOSES), UNBOUND(10, FIRST), POST(300, LOSES), GET(5100, BIND_SEEN_NOTHING), WATCH(5200, FIRST + 1),
      END(5201)},
     6,
     BIND_RELEASED,
     NULL,
     true},
    {"an older version of the watch proves nothing",
     {POST(0, LOSES), UNBOUND(10, FIRST), WATCH(12, FIRST - 1), POST(410, 201), END(411)},
     5,
     BIND_CONFIRMED,
     NULL,
     false},
    {"unbound at the version of an earlier send proves nothing of the later one",
     {POST(0, 409), UNBOUND(1, FIRST + 7), POST_OF(1, FIRST + 7, LOSES), UNBOUND(10, FIRST),
      POST_OF(300, FIRST + 7, 201), END(301)},
     6,
     BIND_CONFIRMED,
     NULL,
     false},

    /* ---- the end (d): the same Binding again ---- */
    {"lost, unbound so far: the same again, 201",
     {POST(0, LOSES), UNBOUND(10, FIRST), WAIT(11), POST(210, 201), END(211)},
     5,
     BIND_CONFIRMED,
     NULL,
     false},
    {"lost, the same again is a conflict: the GET decides",
     {POST(0, LOSES), UNBOUND(10, FIRST), POST(210, 409), GET(211, BIND_SEEN_OURS), END(212)},
     5,
     BIND_CONFIRMED,
     NULL,
     false},
    {"a refusal settles nothing while an earlier send is unknown",
     {POST(0, LOSES), UNBOUND(10, FIRST), POST(210, 403), GET(211, BIND_SEEN_OURS), END(212)},
     5,
     BIND_CONFIRMED,
     NULL,
     false},
    {"a 401 and a 429 settle nothing while an earlier send is unknown",
     {POST(0, LOSES),
      UNBOUND(10, FIRST),
      POST(210, 401),
      UNBOUND(211, FIRST),
      POST(700, 401),
      UNBOUND(701, FIRST),
      {.at_ms = 1600, .want = BIND_POST, .status = 429, .version = FIRST, .retry_after_ms = 60000},
      WAIT(6000),
      UNBOUND(60000, FIRST),
      POST(62000, 404),
      UNBOUND(62001, FIRST),
      POST(90000, 201),
      END(90001)},
     13,
     BIND_CONFIRMED,
     NULL,
     true},
    {"503 again and again: each is followed by a GET",
     {POST(0, 503), WAIT(999), UNBOUND(1000, FIRST), POST(1400, 503), GET(2400, BIND_SEEN_OURS), END(2401)},
     6,
     BIND_CONFIRMED,
     NULL,
     false},
    {"cannot be sent while an earlier one is unknown",
     {POST(0, LOSES), UNBOUND(10, FIRST), POST(210, NEVER_SENT), GET(900, BIND_SEEN_OURS), END(901)},
     5,
     BIND_CONFIRMED,
     NULL,
     false},
    {"nothing answers: stays charged for as long as it takes, and is sent again",
     {POST(0, LOSES), GET(10, BIND_SEEN_NOTHING), GET(2500, BIND_SEEN_NOTHING), GET(5200, BIND_SEEN_NOTHING),
      WAIT(6000), GET(7300, BIND_SEEN_NOTHING), UNBOUND(90000, FIRST), WAIT(90001), POST(130000, 201), END(130001)},
     10,
     BIND_CONFIRMED,
     NULL,
     true},

    /* ---- servers that do not look at preconditions, or may not ---- */
    {"server too old or not known: a new version proves nothing, the same goes on",
     {POST(0, 409),
      {.at_ms = 1, .want = BIND_GET, .seen = BIND_SEEN_UNBOUND, .version = FIRST + 1, .blind = true},
      POST(300, LOSES),
      {.at_ms = 5300, .want = BIND_GET, .seen = BIND_SEEN_UNBOUND, .version = FIRST + 2, .blind = true},
      WAIT(5301),
      POST(600000, 201),
      END(600001)},
     7,
     BIND_CONFIRMED,
     NULL,
     true},
    {"not known at first, then known to look",
     {POST(0, LOSES),
      {.at_ms = 1, .want = BIND_GET, .seen = BIND_SEEN_UNBOUND, .version = FIRST + 1, .blind = true},
      POST(300, LOSES),
      UNBOUND(301, FIRST + 1),
      POST_OF(301, FIRST + 1, 201),
      END(302)},
     6,
     BIND_CONFIRMED,
     NULL,
     false},
};

static struct bind_answer answer_of(int status, int retry_after_ms)
{
    const struct kube_outcome o = {
        .kind = status == LOSES        ? KUBE_LOST
                : status == NEVER_SENT ? KUBE_NOT_SENT
                                       : KUBE_ANSWERED,
        .maybe_sent = status != NEVER_SENT,
        .http_status = status > 0 ? status : 0,
        .retry_after_ms = retry_after_ms > 0 ? retry_after_ms : KUBE_NO_RETRY_AFTER,
    };

    return bind_classify(&o);
}

static struct bind_sight sight_of(const struct step *s)
{
    return (struct bind_sight){
        .kind = s->seen, .version = s->version, .as_decided = !s->changed, .versions_hold = !s->blind};
}

static void take_step(struct bind_machine *m, const struct script *s, size_t i)
{
    const struct step *step = &s->steps[i];
    const struct bind_sight sight = sight_of(step);
    int64_t now = step->at_ms * MS;
    enum bind_action action;

    if (step->watch) {
        if (sight.kind != BIND_SEEN_UNBOUND || bind_machine_is_settled_by(m, &sight)) {
            bind_machine_seen(m, &sight, now);
        }
        return;
    }
    action = bind_machine_next(m, now);
    if (action != step->want) {
        fail_msg("%s, step %zu: wants action %d, expected %d", s->name, i, (int)action, (int)step->want);
    }
    if (action == BIND_POST) {
        struct bind_answer a = answer_of(step->status, step->retry_after_ms);

        if (m->version != step->version) {
            fail_msg("%s, step %zu: sends version %llu", s->name, i, (unsigned long long)m->version);
        }
        bind_machine_posted(m, &a, now);
    } else if (action == BIND_GET) {
        bind_machine_seen(m, &sight, now);
    }
}

static void play(const struct script *s)
{
    struct bind_machine m;
    const char *error = NULL;
    bool expired = false;

    bind_machine_init(&m, FIRST, DEADLINE);
    for (size_t i = 0; i < s->step_n; i++) {
        expired = bind_machine_expire(&m, s->steps[i].at_ms * MS, &error) || expired;
        take_step(&m, s, i);
    }
    if (m.resolution != s->resolution || expired != s->expired) {
        fail_msg("%s: resolution %d, expired %d", s->name, (int)m.resolution, expired);
    }
    if (expired) {
        assert_non_null(strstr(error, "not known yet"));
        assert_false(bind_machine_take_answer(&m, &error)); /* answered once */
        return;
    }
    assert_true(bind_machine_take_answer(&m, &error));
    if ((error == NULL) != (s->answer == NULL) || (error != NULL && strstr(error, s->answer) == NULL)) {
        fail_msg("%s: answered \"%s\"", s->name, error != NULL ? error : "success");
    }
    assert_false(bind_machine_take_answer(&m, &error));
}

static void bind_machine__scripts__resolve_as_the_contract_says(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        play(&scripts[i]);
    }
}

/* Plays the same answers for ten minutes; how many POSTs that took. */
static unsigned repeat(struct bind_machine *m, int first_status, int status, struct bind_sight sight)
{
    const struct bind_answer first = answer_of(first_status, 0), answer = answer_of(status, 0);
    unsigned post_n = 0;
    const char *error;

    for (int64_t now = 0; now < TEN_MINUTES && m->resolution == BIND_OPEN;) {
        (void)bind_machine_expire(m, now, &error);
        switch (bind_machine_next(m, now)) {
        case BIND_POST:
            bind_machine_posted(m, post_n++ == 0 ? &first : &answer, now);
            break;
        case BIND_GET:
            bind_machine_seen(m, &sight, now);
            break;
        case BIND_WAIT:
            assert_true(m->wake_ns > now);
            now = m->wake_ns;
            break;
        case BIND_END:
            fail_msg("ended without a resolution");
        }
    }
    return post_n;
}

/* Issue: a read never proves that a write will not land. Neither 6 s nor ten minutes of reads that show the pod
 * unbound at the version that was sent release anything, whatever the first reply was. */
static void bind_machine__item1__time_alone_ends_nothing(void **state)
{
    static const int firsts[] = {409, 500, 502, 503, 504, 200, 302, 405, 413, LOSES};
    static const int laters[] = {409, 500, 403, 404, 429, 401, LOSES, NEVER_SENT};

    for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
        for (size_t j = 0; j < ARRAY_LEN(laters); j++) {
            struct bind_machine m;

            bind_machine_init(&m, FIRST, DEADLINE);
            (void)repeat(&m, firsts[i], laters[j], (struct bind_sight){BIND_SEEN_UNBOUND, FIRST, true, true});
            if (m.resolution != BIND_OPEN) {
                fail_msg("%d, then %d: ended by time", firsts[i], laters[j]);
            }
        }
    }
}

/* The same where a server ignores preconditions, at whatever version the pod is. */
static void bind_machine__item1__old_server__a_new_version_ends_nothing(void **state)
{
    struct bind_machine m;

    bind_machine_init(&m, FIRST, DEADLINE);
    (void)repeat(&m, LOSES, 409, (struct bind_sight){BIND_SEEN_UNBOUND, FIRST + 50, true, false});
    assert_int_equal(m.resolution, BIND_OPEN);
    assert_int_equal(m.version, FIRST); /* nor was another one sent */
}

static void bind_machine__item1__sent_without_a_version__a_version_ends_nothing(void **state)
{
    struct bind_machine m;

    bind_machine_init(&m, 0, DEADLINE);
    (void)repeat(&m, LOSES, 409, (struct bind_sight){BIND_SEEN_UNBOUND, FIRST + 50, true, true});
    assert_int_equal(m.resolution, BIND_OPEN);
    assert_int_equal(m.version, 0);
}

/* 190 binds at once, each Binding 2.2 s: the last ones leave the queue late, and their POST ends at the deadline. What
 * counts is that the GET comes after that, not when the POST was handed over. */
static void bind_machine__item1__queued_for_long__a_get_at_6_s_proves_nothing(void **state)
{
    const struct bind_answer lost = answer_of(LOSES, 0);
    const struct bind_sight unbound = {BIND_SEEN_UNBOUND, FIRST, true, true};
    struct bind_machine m;
    const char *error;

    bind_machine_init(&m, FIRST, DEADLINE);
    assert_int_equal(bind_machine_next(&m, 0), BIND_POST);
    assert_true(bind_machine_expire(&m, DEADLINE, &error));
    bind_machine_posted(&m, &lost, DEADLINE);
    assert_int_equal(bind_machine_next(&m, 6100 * MS), BIND_GET);
    bind_machine_seen(&m, &unbound, 6100 * MS);
    assert_int_equal(m.resolution, BIND_OPEN);
}

static void bind_machine__join__is_sent_again_and_answered_by_its_own_deadline(void **state)
{
    const struct bind_answer accepted = answer_of(201, 0);
    struct bind_machine m;
    const char *error = "";

    bind_machine_init(&m, FIRST, DEADLINE);
    (void)repeat(&m, LOSES, 409, (struct bind_sight){BIND_SEEN_UNBOUND, FIRST, true, true});
    assert_true(m.answered);
    bind_machine_join(&m, TEN_MINUTES + DEADLINE, TEN_MINUTES);
    assert_false(bind_machine_expire(&m, TEN_MINUTES, &error));
    while (bind_machine_next(&m, TEN_MINUTES) == BIND_GET) {
        bind_machine_seen(&m, &(struct bind_sight){BIND_SEEN_UNBOUND, FIRST, true, true}, TEN_MINUTES);
    }
    assert_int_equal(bind_machine_next(&m, TEN_MINUTES + 1000 * MS), BIND_POST);
    assert_int_equal(m.version, FIRST);
    bind_machine_posted(&m, &accepted, TEN_MINUTES + 1000 * MS);
    assert_true(bind_machine_take_answer(&m, &error));
    assert_null(error);
}

/* The pauses begin anew: those that a caller waits for, and those after his deadline. */
static void bind_machine__join__pauses_begin_anew(void **state)
{
    enum { JOINS = 3 };
    int64_t pauses_ns[JOINS][4];
    int64_t now_ns = 0;
    struct bind_machine m;

    bind_machine_init(&m, FIRST, DEADLINE);
    for (int join = 0; join < JOINS; join++) {
        const char *error;

        if (join > 0) {
            bind_machine_join(&m, now_ns + DEADLINE, now_ns);
        }
        for (int i = 0; i < 4; i++) {
            if (i == 2) { /* nobody waits from here on */
                now_ns = m.deadline_ns;
                assert_true(bind_machine_expire(&m, now_ns, &error));
            }
            while (bind_machine_next(&m, now_ns) == BIND_WAIT) {
                now_ns = m.wake_ns;
            }
            if (bind_machine_next(&m, now_ns) == BIND_POST) {
                bind_machine_posted(&m, &(struct bind_answer){.reply = BIND_LOST}, now_ns);
                assert_int_equal(bind_machine_next(&m, now_ns), BIND_GET);
            }
            bind_machine_seen(&m, &(struct bind_sight){.kind = BIND_SEEN_NOTHING}, now_ns);
            assert_int_equal(bind_machine_next(&m, now_ns), BIND_WAIT);
            pauses_ns[join][i] = m.wake_ns - now_ns;
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_true(pauses_ns[0][i] > 0 && pauses_ns[1][i] == pauses_ns[0][i] && pauses_ns[2][i] == pauses_ns[0][i]);
    }
    assert_true(pauses_ns[0][2] == bind_calm_pause_ns(0) && pauses_ns[0][3] == bind_calm_pause_ns(1));
}

/* ---- an honest server behind a bad network, and what it does with every send ---- */

#define IN_FLIGHT_MAX 200

struct cluster_model {
    uint64_t x;
    uint64_t version;
    bool bound;
    uint64_t pending[IN_FLIGHT_MAX]; /* versions of transactions that may still commit */
    size_t pending_n;
};

static unsigned dice(struct cluster_model *w)
{
    w->x = w->x * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(w->x >> 33);
}

static void commit_some(struct cluster_model *w)
{
    while (w->pending_n > 0 && dice(w) % 8 == 0) {
        uint64_t sent = w->pending[--w->pending_n];

        w->bound = w->bound || sent == w->version;
    }
}

static int post(struct cluster_model *w, uint64_t version)
{
    static const int unsure[] = {409, 500, 503, 504, 502, LOSES};
    bool good = !w->bound && version == w->version;
    unsigned n = dice(w);

    if (n % 4 == 0 && good) {
        w->bound = true;
        return n % 8 == 0 ? 201 : LOSES;
    }
    if (n % 4 <= 1) {
        return good ? 403 : 409; /* the right to bind comes and goes */
    }
    if (good) {
        w->pending[w->pending_n++] = version;
    }
    return unsure[dice(w) % ARRAY_LEN(unsure)];
}

static bool can_land(const struct cluster_model *w)
{
    for (size_t i = 0; i < w->pending_n; i++) {
        if (w->pending[i] == w->version) {
            return true;
        }
    }
    return false;
}

/* Whatever the replies: released only when nothing can land any more. */
static void bind_machine__random_servers__release_only_what_cannot_land(void **state)
{
    unsigned released_n = 0, confirmed_n = 0;
    uint64_t seed = 42;

    for (int round = 0; round < 20000; round++) {
        struct cluster_model w = {.x = seed += 0x9e3779b97f4a7c15U, .version = FIRST};
        struct bind_machine m;
        const char *error;
        int64_t now = 0;

        bind_machine_init(&m, FIRST - dice(&w) % 2, DEADLINE);
        for (int i = 0; i < IN_FLIGHT_MAX && m.resolution == BIND_OPEN; i++) {
            enum bind_action action;

            (void)bind_machine_expire(&m, now, &error);
            action = bind_machine_next(&m, now);
            commit_some(&w);
            if (action == BIND_POST) {
                struct bind_answer a = answer_of(post(&w, m.version), 0);

                commit_some(&w);
                bind_machine_posted(&m, &a, now);
            } else if (action == BIND_GET) {
                struct bind_sight seen = {w.bound ? BIND_SEEN_OURS : BIND_SEEN_UNBOUND, w.version, dice(&w) % 8 != 0,
                                          true};

                commit_some(&w); /* after the read */
                if (dice(&w) % 4 == 0) {
                    seen.kind = BIND_SEEN_NOTHING;
                }
                bind_machine_seen(&m, &seen, now);
            }
            if (!w.bound && dice(&w) % 16 == 0) {
                w.version += 1 + dice(&w) % 3;
            }
            now += (int64_t)(dice(&w) % 900) * MS;
        }
        if (m.resolution == BIND_RELEASED) {
            released_n++;
            assert_false(w.bound || can_land(&w));
        }
        confirmed_n += m.resolution == BIND_CONFIRMED;
        assert_true(m.resolution != BIND_CONFIRMED || w.bound);
    }
    assert_in_range(released_n, 1000, 20000);
    assert_in_range(confirmed_n, 1000, 20000);
}

/* A server that answers 500 to every Binding, and to the question what became of it "unbound". */
static void bind_machine__500_for_good__few_posts_ever_further_apart(void **state)
{
    struct bind_machine m;

    bind_machine_init(&m, FIRST, DEADLINE);
    /* About five until the deadline, then one in 30 s, and a GET between them. */
    assert_in_range(repeat(&m, 500, 500, (struct bind_sight){BIND_SEEN_UNBOUND, FIRST, true, true}), 10, 35);
    assert_int_equal(m.resolution, BIND_OPEN);
}

/* "Retry-After: 0" is no leave to try as fast as the machine can. */
static void bind_machine__told_to_retry_at_once_for_ever__pauses_all_the_same(void **state)
{
    const struct bind_answer busy = {BIND_RETRY_AFTER, false, 0, NULL};
    struct bind_machine m;
    int64_t now = 0;
    unsigned post_n = 0;

    bind_machine_init(&m, FIRST, DEADLINE);
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

/* A pod that somebody writes all the time: each version is sent once, and not without end. */
static void bind_machine__pod_changes_all_the_time__renewals_are_bounded(void **state)
{
    const struct bind_answer conflict = answer_of(409, 0);
    struct bind_sight seen = {BIND_SEEN_UNBOUND, FIRST, true, true};
    struct bind_machine m;
    unsigned post_n = 0;

    bind_machine_init(&m, FIRST, INT64_MAX);
    for (int64_t now = 0; m.resolution == BIND_OPEN; now += 1000 * MS) {
        if (bind_machine_next(&m, now) == BIND_POST) {
            post_n++;
            bind_machine_posted(&m, &conflict, now);
        } else if (m.next == BIND_GET) {
            seen.version++;
            bind_machine_seen(&m, &seen, now);
        }
    }
    assert_int_equal(m.resolution, BIND_RELEASED);
    assert_int_equal(post_n, BIND_RENEWALS_MAX + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind_machine__scripts__resolve_as_the_contract_says),
        cmocka_unit_test(bind_machine__item1__time_alone_ends_nothing),
        cmocka_unit_test(bind_machine__item1__old_server__a_new_version_ends_nothing),
        cmocka_unit_test(bind_machine__item1__sent_without_a_version__a_version_ends_nothing),
        cmocka_unit_test(bind_machine__item1__queued_for_long__a_get_at_6_s_proves_nothing),
        cmocka_unit_test(bind_machine__join__is_sent_again_and_answered_by_its_own_deadline),
        cmocka_unit_test(bind_machine__join__pauses_begin_anew),
        cmocka_unit_test(bind_machine__random_servers__release_only_what_cannot_land),
        cmocka_unit_test(bind_machine__500_for_good__few_posts_ever_further_apart),
        cmocka_unit_test(bind_machine__told_to_retry_at_once_for_ever__pauses_all_the_same),
        cmocka_unit_test(bind_machine__pod_changes_all_the_time__renewals_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
