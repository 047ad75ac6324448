#include "kube/reflector.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

/* A script is what the driver sees and does; `told` is what the consumer was told since the last
 * look. */
enum step_kind {
    END,
    LIST,       /* next says: list, and the path has `text` and no resourceVersion */
    FILL,       /* next says: watch, it is a WatchList, and the path has `text` */
    WATCH,      /* next says: watch, and the path has `text` */
    PROBE,      /* next says: list, one item not older than resourceVersion `text` */
    WAIT,       /* next says: wait between a and b ms; then time passes */
    FEED,       /* bytes, accepted */
    FEED_FAILS, /* bytes, refused with code a */
    DONE,       /* reply complete, HTTP status a, Retry-After b ms if b > 0 */
    BREAKS,     /* the exchange ends as outcome kind a */
    PASS,       /* a ms pass */
    TOLD,
    RELIST,  /* somebody asks for a fresh list */
    SILENCE, /* the exchange may be silent for a ms */
};

struct step {
    enum step_kind kind;
    const char *text;
    int64_t a, b;
};

struct fixture {
    struct reflector *reflector;
    struct rng rng;
    struct strbuf told;
    int64_t now_ns;
};

static void tell_object(struct fixture *f, const char *what, const struct kube_object *o)
{
    struct str name = o->pod != NULL ? o->pod->name : o->node->name;
    struct str version = o->pod != NULL ? o->pod->resource_version : o->node->resource_version;
    strbuf_addf(&f->told, "%s%s %.*s@%.*s", f->told.n > 0 ? "; " : "", what, STR_ARG(name), STR_ARG(version));
}

static void on_list_begin(void *ctx)
{
    struct fixture *f = ctx;
    strbuf_addf(&f->told, "%sbegin", f->told.n > 0 ? "; " : "");
}

static void on_object(void *ctx, const struct kube_object *o)
{
    tell_object(ctx, "object", o);
}

static void on_deleted(void *ctx, const struct kube_object *o)
{
    tell_object(ctx, "deleted", o);
}

static void on_unusable(void *ctx, const struct kube_object *o, bool deleted, const struct err *why)
{
    (void)why;
    tell_object(ctx, deleted ? "unusable deleted" : "unusable", o);
}

static void on_list_end(void *ctx, bool complete, struct str version)
{
    struct fixture *f = ctx;
    strbuf_addf(&f->told, "%s%s %.*s", f->told.n > 0 ? "; " : "", complete ? "complete" : "forget", STR_ARG(version));
}

static void on_bookmark(void *ctx, struct str version)
{
    struct fixture *f = ctx;
    strbuf_addf(&f->told, "%sbookmark %.*s", f->told.n > 0 ? "; " : "", STR_ARG(version));
}

static void on_synced(void *ctx)
{
    struct fixture *f = ctx;
    strbuf_add_cstr(&f->told, "; synced");
}

static const struct reflector_handler handler = {
    .list_begin = on_list_begin,
    .object = on_object,
    .deleted = on_deleted,
    .unusable = on_unusable,
    .list_end = on_list_end,
    .bookmark = on_bookmark,
    .synced = on_synced,
};

static void offer_watch_list(struct fixture *f, enum kube_resource resource, bool with_unusable)
{
    struct reflector_handler h = handler;
    h.ctx = f;
    if (!with_unusable) {
        h.unusable = NULL;
    }
    rng_init(&f->rng, 7);
    strbuf_init(&f->told, 64 * 1024);
    f->now_ns = 1000 * NS_PER_MS;
    f->reflector = reflector_new(resource, &h, &f->rng);
}

static void finish(struct fixture *f)
{
    reflector_free(f->reflector);
    strbuf_fini(&f->told);
}

static bool has(const char *path, const char *part)
{
    return strstr(path, part) != NULL;
}

static bool is_exchange(enum step_kind kind, const struct reflector_step *next)
{
    bool watches = next->action == REFLECTOR_WATCH && has(next->path, "?watch=true&") &&
                   has(next->path, "&allowWatchBookmarks=true");
    bool fills = has(next->path, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    bool versioned = has(next->path, "&resourceVersion=");
    if (kind == FILL) {
        return watches && fills && !versioned;
    }
    if (kind == WATCH) {
        return watches && !fills && versioned;
    }
    if (kind == PROBE) {
        return next->action == REFLECTOR_LIST && versioned && has(next->path, "?limit=1&") &&
               has(next->path, "&resourceVersionMatch=NotOlderThan&");
    }
    return next->action == REFLECTOR_LIST && !versioned;
}

static void expect_exchange(struct fixture *f, const char *name, size_t at, const struct step *s)
{
    struct reflector_step next;
    reflector_next(f->reflector, f->now_ns, &next);
    if (next.action == REFLECTOR_WAIT || !is_exchange(s->kind, &next) || !has(next.path, s->text)) {
        fail_msg("%s, step %zu: action %d, path %s, expected %s", name, at, next.action,
                 next.path != NULL ? next.path : "", s->text);
    }
}

static void expect_wait(struct fixture *f, const char *name, size_t at, const struct step *s)
{
    struct reflector_step next;
    reflector_next(f->reflector, f->now_ns, &next);
    int64_t ms = (next.wait_until_ns - f->now_ns) / NS_PER_MS;
    if (next.action != REFLECTOR_WAIT || ms < s->a || ms > s->b) {
        fail_msg("%s, step %zu: action %d, wait of %lld ms", name, at, next.action, (long long)ms);
    }
    f->now_ns = next.wait_until_ns;
}

static void done(struct fixture *f, enum kube_outcome_kind kind, int status, int64_t retry_after_ms)
{
    struct kube_outcome o = {
        .kind = kind,
        .http_status = status,
        .retry_after_ms = retry_after_ms > 0 ? retry_after_ms : KUBE_NO_RETRY_AFTER,
        .detail = "as scripted",
    };
    reflector_done(f->reflector, f->now_ns, &o);
}

static void expect_feed(struct fixture *f, const char *name, size_t at, const struct step *s)
{
    struct err err = {.code = ERR_OK};
    int rc = reflector_feed(f->reflector, f->now_ns, str_of(s->text), &err);
    if (rc != (s->kind == FEED ? 0 : -(int)s->a)) {
        fail_msg("%s, step %zu: feed gave %d %s", name, at, rc, err.msg);
    }
}

/* Most scripts are about lists in pages: as with a server that does not offer WatchList. */
static void begin(struct fixture *f, enum kube_resource resource, bool with_unusable)
{
    struct reflector_step next;
    offer_watch_list(f, resource, with_unusable);
    reflector_next(f->reflector, f->now_ns, &next);
    assert_true(is_exchange(FILL, &next));
    done(f, KUBE_ANSWERED, 422, 0);
}

static void play(struct fixture *f, const char *name, const struct step *steps)
{
    for (size_t at = 0; steps[at].kind != END; at++) {
        const struct step *s = &steps[at];
        switch (s->kind) {
        case LIST:
        case FILL:
        case WATCH:
        case PROBE:
            expect_exchange(f, name, at, s);
            break;
        case WAIT:
            expect_wait(f, name, at, s);
            break;
        case FEED:
        case FEED_FAILS:
            expect_feed(f, name, at, s);
            break;
        case DONE:
            done(f, KUBE_ANSWERED, (int)s->a, s->b);
            break;
        case BREAKS:
            done(f, (enum kube_outcome_kind)s->a, 0, 0);
            break;
        case SILENCE:
            assert_int_equal(reflector_silence_ms(f->reflector), s->a);
            break;
        case PASS:
            f->now_ns += s->a * NS_PER_MS;
            break;
        case RELIST:
            reflector_relist(f->reflector);
            break;
        case TOLD:
            if (strcmp(f->told.p, s->text) != 0) {
                fail_msg("%s, step %zu: told \"%s\", expected \"%s\"", name, at, f->told.p, s->text);
            }
            strbuf_reset(&f->told);
            break;
        case END:
            break;
        }
    }
}

#define OBJECT(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define PAGE(version, token, items)                                                                                    \
    "{\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" token "\"},\"items\":[" items "]}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"
#define BOOKMARK(version)                                                                                              \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":"                           \
    "\"" version "\"},\"spec\":{\"containers\":null},\"status\":{}}}\n"
/* the bookmark that ends the list within a WatchList */
#define LIST_END(version)                                                                                              \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":"                           \
    "\"" version "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}},\"spec\":{"                             \
    "\"containers\":null},\"status\":{}}}\n"
#define ERROR_EVENT(code, reason)                                                                                      \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"" reason "\"}}\n"

/* the common start: one page, then a watch from its version */
#define SYNCED                                                                                                         \
    {LIST,                                                                                                             \
     "/api/v1/"                                                                                                        \
     "pods?limit=500&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",                            \
     0, 0},                                                                                                            \
        {FEED, PAGE("10", "", OBJECT("a", "3")), 0, 0}, {DONE, NULL, 200, 0},                                          \
        {TOLD, "begin; object a@3; complete 10; synced", 0, 0},                                                        \
    {                                                                                                                  \
        WATCH, "resourceVersion=10", 0, 0                                                                              \
    }

#define FIRST_WAIT                                                                                                     \
    {                                                                                                                  \
        WAIT, NULL, 800, 1600                                                                                          \
    }
#define SECOND_WAIT                                                                                                    \
    {                                                                                                                  \
        WAIT, NULL, 1600, 3200                                                                                         \
    }

/* Versions of the longest that is kept, and of one byte more. */
#define V100 "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
#define V127 V100 "123456789012345678901234567"
#define V128 V127 "8"

static const struct {
    const char *name;
    struct step steps[28];
} scripts[] = {
    {"the longest version is kept: of a list, an event, a bookmark",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE(V127, "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; complete " V127 "; synced", 0, 0},
      {WATCH, "resourceVersion=" V127, 0, 0},
      {FEED, EVENT("ADDED", "a", V127) BOOKMARK(V127), 0, 0},
      {TOLD, "object a@" V127 "; bookmark " V127, 0, 0}}},
    {"a bookmark of a longer version is none",
     {SYNCED,
      {FEED_FAILS, BOOKMARK(V128), ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"a bookmark without a version is none",
     {SYNCED, {FEED_FAILS, BOOKMARK(""), ERR_PARSE, 0}, {BREAKS, NULL, KUBE_ABORTED, 0}, {TOLD, "", 0, 0}}},
    {"an object of a longer version, or of none, is no object",
     {SYNCED,
      {FEED_FAILS, EVENT("ADDED", "a", V128), ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0},
      {FEED_FAILS, PAGE("10", "", OBJECT("a", "")), ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "begin; forget ", 0, 0}}},
    {"a list of a longer version is none",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE(V128, "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"list in pages, watch from the first page's version",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE("10", "t/1", OBJECT("a", "3") "," OBJECT("b", "4")), 0, 0},
      {DONE, NULL, 200, 0},
      {LIST, "&continue=t%2F1", 0, 0},
      {FEED, PAGE("11", "", OBJECT("c", "5")), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; object a@3; object b@4; object c@5; complete 10; synced", 0, 0},
      {WATCH, "resourceVersion=10", 0, 0}}},
    {"the cursor follows events and bookmarks, a clean end goes on from it",
     {SYNCED,
      {FEED, EVENT("MODIFIED", "a", "12"), 0, 0},
      {FEED, EVENT("DELETED", "a", "13") BOOKMARK("15"), 0, 0},
      {TOLD, "object a@12; deleted a@13; bookmark 15", 0, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "allowWatchBookmarks=true", 0, 0},
      {DONE, NULL, 429, 0},
      FIRST_WAIT,
      {WATCH, "resourceVersion=15", 0, 0}}},
    {"an event in pieces counts when complete",
     {SYNCED,
      {FEED, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x\",\"resource", 0, 0},
      {TOLD, "", 0, 0},
      {BREAKS, NULL, KUBE_LOST, 0},
      FIRST_WAIT,
      {PROBE, "resourceVersion=10", 0, 0},
      {FEED, PAGE("14", "", OBJECT("seen", "3")), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "", 0, 0},
      {WATCH, "resourceVersion=10", 0, 0},
      {FEED, EVENT("ADDED", "x", "11"), 0, 0},
      {TOLD, "object x@11", 0, 0}}},
    {"ERROR 410 in a 200 stream: list at once, the second time after a wait",
     {SYNCED,
      {FEED_FAILS, ERROR_EVENT("410", "Expired"), ERR_EXPIRED, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {LIST, "?limit=500", 0, 0},
      {FEED, PAGE("20", "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; complete 20", 0, 0},
      {WATCH, "resourceVersion=20", 0, 0},
      {FEED_FAILS, ERROR_EVENT("410", "Gone"), ERR_EXPIRED, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"410 as HTTP status of a watch", {SYNCED, {DONE, NULL, 410, 0}, {LIST, "?limit=500", 0, 0}}},
    {"410 in mid-list starts over",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE("10", "t1", OBJECT("a", "3")), 0, 0},
      {DONE, NULL, 200, 0},
      {LIST, "continue=t1", 0, 0},
      {DONE, NULL, 410, 0},
      {TOLD, "begin; object a@3; forget ", 0, 0},
      {LIST, "Failed", 0, 0},
      {FEED, PAGE("12", "", OBJECT("a", "11")), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; object a@11; complete 12; synced", 0, 0},
      {WATCH, "resourceVersion=12", 0, 0}}},
    {"a page that fails for a passing reason is asked for again",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE("10", "t1", OBJECT("a", "3")), 0, 0},
      {DONE, NULL, 200, 0},
      {LIST, "continue=t1", 0, 0},
      {FEED, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" OBJECT("b", "4"), 0, 0},
      {BREAKS, NULL, KUBE_LOST, 0},
      FIRST_WAIT,
      {LIST, "continue=t1", 0, 0},
      {DONE, NULL, 503, 0},
      SECOND_WAIT,
      {LIST, "continue=t1", 0, 0},
      {FEED, PAGE("10", "", OBJECT("b", "4")), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; object a@3; object b@4; object b@4; complete 10; synced", 0, 0}}},
    {"a page that keeps failing starts over",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE("10", "t1", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {LIST, "continue=t1", 0, 0},
      {DONE, NULL, 500, 0},
      FIRST_WAIT,
      {LIST, "continue=t1", 0, 0},
      {DONE, NULL, 500, 0},
      SECOND_WAIT,
      {LIST, "continue=t1", 0, 0},
      {DONE, NULL, 500, 0},
      {WAIT, NULL, 3200, 6400},
      {LIST, "continue=t1", 0, 0},
      {DONE, NULL, 500, 0},
      {WAIT, NULL, 6400, 12800},
      {LIST, "continue=t1", 0, 0},
      {DONE, NULL, 500, 0},
      {WAIT, NULL, 12800, 25600},
      {TOLD, "begin; forget ", 0, 0},
      {LIST, "Failed", 0, 0},
      {TOLD, "begin", 0, 0}}},
    {"the first list is refused: 401 and 403",
     {{LIST, "?limit=500", 0, 0},
      {DONE, NULL, 401, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0},
      {DONE, NULL, 403, 0},
      SECOND_WAIT,
      {LIST, "?limit=500", 0, 0},
      {TOLD, "begin; forget ; begin", 0, 0}}},
    {"a list that is no list",
     {{LIST, "?limit=500", 0, 0},
      {FEED, "{\"kind\":\"Status\"}", 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"a list that is cut off although HTTP says complete",
     {{LIST, "?limit=500", 0, 0},
      {FEED, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" OBJECT("a", "3"), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; object a@3; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"garbage in a list",
     {{LIST, "?limit=500", 0, 0},
      {FEED_FAILS, "{\"items\":[{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}", ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "begin; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"an odd item between others (item 11)",
     {{LIST, "?limit=500", 0, 0},
      {FEED,
       PAGE("10", "",
            OBJECT("a", "3") ",{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"4\","
                             "\"annotations\":{\"x\":\"\\u0000\"}}},{\"metadata\":{\"name\":\"c\",\"resourceVersion\":"
                             "\"5\"},\"spec\":{\"priority\":\"high\",\"x\":\"\\ud800\"}}," OBJECT("d", "6")),
       0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; object a@3; object b@4; unusable c@5; object d@6; complete 10; synced", 0, 0}}},
    {"an item without a name",
     {{LIST, "?limit=500", 0, 0},
      {FEED_FAILS, "{\"items\":[{\"metadata\":{\"resourceVersion\":\"3\"}}", ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      FIRST_WAIT}},
    {"watch 429 waits as long as asked, and does not list",
     {SYNCED, {DONE, NULL, 429, 60000}, {WAIT, NULL, 60000, 60000}, {WATCH, "resourceVersion=10", 0, 0}}},
    {"connection refused on watch: waits double up to the cap, a probe before the watch",
     {SYNCED,
      {BREAKS, NULL, KUBE_NOT_SENT, 0},
      FIRST_WAIT,
      {PROBE, "resourceVersion=10", 0, 0},
      {BREAKS, NULL, KUBE_NOT_SENT, 0},
      SECOND_WAIT,
      {PROBE, "resourceVersion=10", 0, 0},
      {BREAKS, NULL, KUBE_NOT_SENT, 0},
      {WAIT, NULL, 3200, 6400},
      {PROBE, "resourceVersion=10", 0, 0},
      {BREAKS, NULL, KUBE_SILENT, 0},
      {WAIT, NULL, 6400, 12800},
      {PROBE, "resourceVersion=10", 0, 0},
      {DONE, NULL, 429, 0},
      {WAIT, NULL, 12800, 25600},
      {PROBE, "resourceVersion=10", 0, 0},
      {DONE, NULL, 401, 0},
      {WAIT, NULL, 25600, 60000},
      {PROBE, "resourceVersion=10", 0, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=10", 0, 0}}},
    {"the wait is short again after two minutes without failure",
     {SYNCED,
      {DONE, NULL, 429, 0},
      FIRST_WAIT,
      {WATCH, "resourceVersion=10", 0, 0},
      {DONE, NULL, 429, 0},
      SECOND_WAIT,
      {WATCH, "resourceVersion=10", 0, 0},
      {PASS, NULL, 120001, 0},
      {DONE, NULL, 429, 0},
      FIRST_WAIT}},
    {"a cursor from the future: the probe's 504 means list",
     {SYNCED,
      {SILENCE, NULL, 120000, 0},
      {PASS, NULL, 90000, 0},
      {BREAKS, NULL, KUBE_SILENT, 0},
      {PROBE, "resourceVersion=10", 0, 0},
      {SILENCE, NULL, 30000, 0},
      {DONE, NULL, 504, 1000},
      {WAIT, NULL, 1000, 1600},
      {LIST, "?limit=500", 0, 0},
      {FEED, PAGE("5", "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; complete 5", 0, 0},
      {WATCH, "resourceVersion=5", 0, 0}}},
    {"a probe that says 410: list at once",
     {SYNCED,
      {PASS, NULL, 90000, 0},
      {BREAKS, NULL, KUBE_SILENT, 0},
      {PROBE, "resourceVersion=10", 0, 0},
      {DONE, NULL, 410, 0},
      {LIST, "?limit=500", 0, 0}}},
    {"a probe that is cancelled comes again",
     {SYNCED,
      {PASS, NULL, 90000, 0},
      {BREAKS, NULL, KUBE_SILENT, 0},
      {PROBE, "resourceVersion=10", 0, 0},
      {BREAKS, NULL, KUBE_CANCELLED, 0},
      {PROBE, "resourceVersion=10", 0, 0}}},
    {"watches that end again and again within a second begin a second apart",
     {SYNCED,
      {FEED, BOOKMARK("11"), 0, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=11", 0, 0},
      {PASS, NULL, 300, 0},
      {FEED, BOOKMARK("12"), 0, 0},
      {DONE, NULL, 200, 0},
      {WAIT, NULL, 700, 700},
      {WATCH, "resourceVersion=12", 0, 0},
      {FEED, BOOKMARK("13"), 0, 0},
      {DONE, NULL, 200, 0},
      {WAIT, NULL, 1000, 1000},
      {WATCH, "resourceVersion=13", 0, 0}}},
    {"401 on a watch: the watch again",
     {SYNCED, {DONE, NULL, 401, 0}, FIRST_WAIT, {WATCH, "resourceVersion=10", 0, 0}}},
    {"other statuses on a watch: list",
     {SYNCED, {DONE, NULL, 500, 0}, FIRST_WAIT, {LIST, "?limit=500", 0, 0}, {TOLD, "begin", 0, 0}}},
    {"a watch that ends at once without an event is a failure",
     {SYNCED, {PASS, NULL, 999, 0}, {DONE, NULL, 200, 0}, FIRST_WAIT, {LIST, "?limit=500", 0, 0}}},
    {"a watch that ends at once with an event is not",
     {SYNCED, {FEED, BOOKMARK("11"), 0, 0}, {DONE, NULL, 200, 0}, {WATCH, "resourceVersion=11", 0, 0}}},
    {"an idle watch that ends later is not",
     {SYNCED, {PASS, NULL, 1000, 0}, {DONE, NULL, 200, 0}, {WATCH, "resourceVersion=10", 0, 0}}},
    {"silence and a broken connection go on from the cursor",
     {SYNCED,
      {FEED, BOOKMARK("11"), 0, 0},
      {PASS, NULL, 120000, 0},
      {BREAKS, NULL, KUBE_SILENT, 0},
      {PROBE, "resourceVersion=11", 0, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=11", 0, 0},
      {FEED, BOOKMARK("12"), 0, 0},
      {BREAKS, NULL, KUBE_LOST, 0},
      {PROBE, "resourceVersion=12", 0, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=12", 0, 0}}},
    {"a stream that ends inside an event is unreadable: list",
     {SYNCED,
      {FEED, BOOKMARK("11") "{\"type\":\"ADD", 0, 0},
      {DONE, NULL, 200, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"garbage in a watch: list, nothing applied",
     {SYNCED,
      {FEED_FAILS, "<html>\n", ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"ERROR that is not 410: list after a wait",
     {SYNCED,
      {FEED_FAILS, ERROR_EVENT("500", "InternalError"), ERR_UNAVAILABLE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"ERROR 429: the watch again",
     {SYNCED,
      {FEED_FAILS, ERROR_EVENT("429", "TooManyRequests"), ERR_UNAVAILABLE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      FIRST_WAIT,
      {WATCH, "resourceVersion=10", 0, 0}}},
    {"ERROR with retryAfterSeconds: waits as long",
     {SYNCED,
      {FEED_FAILS,
       "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":429,\"reason\":"
       "\"TooManyRequests\",\"details\":{\"retryAfterSeconds\":90}}}\n",
       ERR_UNAVAILABLE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {WAIT, NULL, 90000, 90000},
      {WATCH, "resourceVersion=10", 0, 0},
      {DONE, NULL, 429, 0}, /* forgotten by then */
      SECOND_WAIT}},
    {"an object nobody can decode is told, and moves the cursor",
     {SYNCED,
      {FEED,
       "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"12\","
       "\"labels\":7}}}\n" EVENT("ADDED", "y", "13"),
       0, 0},
      {TOLD, "unusable x@12; object y@13", 0, 0},
      {PASS, NULL, 300000, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=13", 0, 0}}},
    {"an undecodable item is told within the bracket",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE("10", "", "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"2\"},\"spec\":[]}," OBJECT("y", "3")),
       0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; unusable x@2; object y@3; complete 10; synced", 0, 0}}},
    {"a list that was asked for comes after the watch, once",
     {SYNCED,
      {RELIST, NULL, 0, 0},
      {BREAKS, NULL, KUBE_CANCELLED, 0},
      {LIST, "?limit=500", 0, 0},
      {FEED, PAGE("30", "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; complete 30", 0, 0},
      {WATCH, "resourceVersion=30", 0, 0}}},
    {"cancelled in mid-list: the same page",
     {{LIST, "?limit=500", 0, 0},
      {FEED, PAGE("10", "t1", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {LIST, "continue=t1", 0, 0},
      {BREAKS, NULL, KUBE_CANCELLED, 0},
      {LIST, "continue=t1", 0, 0}}},
};

static void reflector__scripts__give_the_expected_actions(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        struct fixture f;
        begin(&f, KUBE_PODS, true);
        play(&f, scripts[i].name, scripts[i].steps);
        finish(&f);
    }
}

#define FILLED                                                                                                         \
    {FILL, "/api/v1/pods?", 0, 0}, {FEED, EVENT("ADDED", "a", "7") EVENT("ADDED", "b", "3") LIST_END("10"), 0, 0},     \
    {                                                                                                                  \
        TOLD, "begin; object a@7; object b@3; complete 10; synced", 0, 0                                               \
    }

/* Of a server that may offer WatchList. */
static const struct {
    const char *name;
    struct step steps[28];
} fill_scripts[] = {
    {"WatchList: the longest version is kept",
     {{FILL, "", 0, 0},
      {FEED, LIST_END(V127), 0, 0},
      {TOLD, "begin; complete " V127 "; synced", 0, 0},
      {DONE, NULL, 429, 0},
      FIRST_WAIT,
      {WATCH, "resourceVersion=" V127, 0, 0}}},
    {"WatchList: no end is one of a longer version, or of none",
     {{FILL, "", 0, 0},
      {FEED_FAILS, LIST_END(V128), ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "begin; forget ", 0, 0},
      FIRST_WAIT}},
    {"WatchList: no end is one without a version",
     {{FILL, "", 0, 0},
      {FEED_FAILS, LIST_END(""), ERR_PARSE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "begin; forget ", 0, 0}}},
    {"WatchList: complete with its bookmark, then the same stream is the watch",
     {{FILL, "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed", 0, 0},
      {SILENCE, NULL, 30000, 0},
      {FEED, EVENT("ADDED", "a", "7") EVENT("ADDED", "b", "3"), 0, 0},
      {TOLD, "begin; object a@7; object b@3", 0, 0},
      {FEED, LIST_END("10"), 0, 0},
      {TOLD, "complete 10; synced", 0, 0},
      {SILENCE, NULL, 120000, 0},
      {FEED, EVENT("MODIFIED", "a", "12") EVENT("DELETED", "b", "13") BOOKMARK("15"), 0, 0},
      {TOLD, "object a@12; deleted b@13; bookmark 15", 0, 0},
      {PASS, NULL, 300000, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=15", 0, 0}}},
    {"changes before the bookmark belong to the list",
     {{FILL, "", 0, 0},
      {FEED, EVENT("ADDED", "a", "7") EVENT("MODIFIED", "a", "11") EVENT("DELETED", "a", "12") LIST_END("12"), 0, 0},
      {TOLD, "begin; object a@7; object a@11; deleted a@12; complete 12; synced", 0, 0}}},
    {"the cursor of a list that is not complete is none",
     {{FILL, "", 0, 0},
      {FEED, EVENT("ADDED", "a", "7"), 0, 0},
      {BREAKS, NULL, KUBE_LOST, 0},
      {TOLD, "begin; object a@7; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0},
      {FEED, PAGE("20", "", OBJECT("a", "7")), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; object a@7; complete 20; synced", 0, 0},
      {WATCH, "resourceVersion=20", 0, 0},
      {DONE, NULL, 410, 0},
      {FILL, "", 0, 0}}}, /* once is bad luck: tried again with the next list */
    {"refused with 422: pages at once, and ever after",
     {{FILL, "", 0, 0},
      {DONE, NULL, 422, 0},
      {LIST, "?limit=500", 0, 0},
      {FEED, PAGE("20", "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; complete 20; synced", 0, 0},
      {WATCH, "resourceVersion=20", 0, 0},
      {DONE, NULL, 410, 0},
      {LIST, "?limit=500", 0, 0}}},
    {"refused with 400", {{FILL, "", 0, 0}, {DONE, NULL, 400, 0}, {LIST, "?limit=500", 0, 0}}},
    {"refused with 405", {{FILL, "", 0, 0}, {DONE, NULL, 405, 0}, {LIST, "?limit=500", 0, 0}}},
    {"not understood: a bookmark that ends nothing, twice, then pages ever after",
     {{FILL, "", 0, 0},
      {FEED_FAILS, EVENT("ADDED", "a", "7") BOOKMARK("10"), ERR_UNAVAILABLE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "begin; object a@7; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0},
      {FEED, PAGE("20", "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=20", 0, 0},
      {DONE, NULL, 410, 0},
      {FILL, "", 0, 0},
      {BREAKS, NULL, KUBE_SILENT, 0},
      SECOND_WAIT,
      {LIST, "?limit=500", 0, 0},
      {FEED, PAGE("30", "", ""), 0, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=30", 0, 0},
      {FEED, BOOKMARK("31"), 0, 0},
      {PASS, NULL, 300000, 0},
      {DONE, NULL, 410, 0},
      {LIST, "?limit=500", 0, 0}}},
    {"a clean end before the bookmark is no complete list",
     {{FILL, "", 0, 0},
      {FEED, EVENT("ADDED", "a", "7"), 0, 0},
      {DONE, NULL, 200, 0},
      {TOLD, "begin; object a@7; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"a server in trouble says nothing of WatchList",
     {{FILL, "", 0, 0},
      {BREAKS, NULL, KUBE_NOT_SENT, 0},
      FIRST_WAIT,
      {FILL, "", 0, 0},
      {DONE, NULL, 429, 20000},
      {WAIT, NULL, 20000, 20000},
      {FILL, "", 0, 0},
      {DONE, NULL, 503, 0},
      {WAIT, NULL, 3200, 6400},
      {FILL, "", 0, 0},
      {DONE, NULL, 401, 0},
      {WAIT, NULL, 6400, 12800},
      {FILL, "", 0, 0},
      {BREAKS, NULL, KUBE_LOST, 0},
      {WAIT, NULL, 12800, 25600},
      {FILL, "", 0, 0},
      {FEED, LIST_END("10"), 0, 0}}},
    {"no right to watch: pages, which say whether there is a right to list",
     {{FILL, "", 0, 0}, {DONE, NULL, 403, 0}, FIRST_WAIT, {LIST, "?limit=500", 0, 0}}},
    {"ERROR event before the bookmark",
     {{FILL, "", 0, 0},
      {FEED_FAILS, EVENT("ADDED", "a", "7") ERROR_EVENT("500", "InternalError"), ERR_UNAVAILABLE, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {TOLD, "begin; object a@7; forget ", 0, 0},
      FIRST_WAIT,
      {LIST, "?limit=500", 0, 0}}},
    {"ERROR 410 before the bookmark: pages at once",
     {{FILL, "", 0, 0},
      {FEED_FAILS, ERROR_EVENT("410", "Expired"), ERR_EXPIRED, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {LIST, "?limit=500", 0, 0}}},
    {"410 later: a WatchList again, without resourceVersion",
     {FILLED,
      {FEED_FAILS, ERROR_EVENT("410", "Expired"), ERR_EXPIRED, 0},
      {BREAKS, NULL, KUBE_ABORTED, 0},
      {FILL, "", 0, 0},
      {FEED, LIST_END("40") EVENT("ADDED", "c", "41"), 0, 0},
      {TOLD, "begin; complete 40; object c@41", 0, 0}}},
    {"a list that was asked for in mid-list begins anew",
     {{FILL, "", 0, 0},
      {FEED, EVENT("ADDED", "a", "7"), 0, 0},
      {RELIST, NULL, 0, 0},
      {BREAKS, NULL, KUBE_CANCELLED, 0},
      {TOLD, "begin; object a@7; forget ", 0, 0},
      {FILL, "", 0, 0},
      {FEED, LIST_END("10"), 0, 0},
      {TOLD, "begin; complete 10; synced", 0, 0},
      {PASS, NULL, 300000, 0},
      {DONE, NULL, 200, 0},
      {WATCH, "resourceVersion=10", 0, 0}}},
    {"a list that was asked for later is a WatchList",
     {FILLED,
      {RELIST, NULL, 0, 0},
      {BREAKS, NULL, KUBE_CANCELLED, 0},
      {FILL, "", 0, 0},
      {FEED, LIST_END("40"), 0, 0},
      {TOLD, "begin; complete 40", 0, 0}}},
};

static void reflector__watch_list__gives_the_expected_actions(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(fill_scripts); i++) {
        struct fixture f;
        offer_watch_list(&f, KUBE_PODS, true);
        play(&f, fill_scripts[i].name, fill_scripts[i].steps);
        finish(&f);
    }
}

static void reflector__undecodable_object_and_no_handler_for_it__is_a_failure(void **state)
{
    static const struct step steps[] = {
        {LIST, "?limit=500", 0, 0},
        {FEED_FAILS, PAGE("10", "", "{\"metadata\":{\"name\":\"x\"},\"spec\":[]}"), ERR_INVALID, 0},
        {BREAKS, NULL, KUBE_ABORTED, 0},
        {TOLD, "begin; forget ", 0, 0},
        FIRST_WAIT,
        {END, NULL, 0, 0},
    };
    struct fixture f;
    begin(&f, KUBE_PODS, false);
    play(&f, "no handler", steps);
    finish(&f);
}

static void reflector__nodes__have_no_selector(void **state)
{
    static const struct step steps[] = {
        {LIST, "/api/v1/nodes?limit=500", 0, 0},
        {FEED, PAGE("10", "", OBJECT("n1", "3")), 0, 0},
        {DONE, NULL, 200, 0},
        {TOLD, "begin; object n1@3; complete 10; synced", 0, 0},
        {WATCH, "/api/v1/nodes?watch=true", 0, 0},
        {FEED, EVENT("DELETED", "n1", "11"), 0, 0},
        {TOLD, "deleted n1@11", 0, 0},
        {END, NULL, 0, 0},
    };
    struct fixture f;
    begin(&f, KUBE_NODES, true);
    play(&f, "nodes", steps);
    finish(&f);
}

/* Reads timeoutSeconds of one watch after the other. */
static void reflector__watch_timeouts__are_spread_over_300_to_600(void **state)
{
    struct fixture f;
    const struct step sync[] = {SYNCED, {DONE, NULL, 429, 0}, {END, NULL, 0, 0}};
    bool low = false, high = false;
    begin(&f, KUBE_PODS, true);
    play(&f, "start", sync);
    f.now_ns += 60000 * NS_PER_MS;
    for (int i = 0; i < 200; i++) {
        struct reflector_step next;
        reflector_next(f.reflector, f.now_ns, &next);
        assert_int_equal(next.action, REFLECTOR_WATCH);
        assert_int_equal(next.silence_ms, 120000);
        long seconds = strtol(strstr(next.path, "timeoutSeconds=") + 15, NULL, 10);
        assert_in_range(seconds, 300, 600);
        low = low || seconds < 350;
        high = high || seconds > 550;
        f.now_ns += 2000 * NS_PER_MS;
        done(&f, KUBE_ANSWERED, 200, 0);
    }
    assert_true(low && high);
    finish(&f);
}

static void reflector__stats__count_what_happened(void **state)
{
    static const struct step steps[] = {
        SYNCED,
        {FEED, EVENT("ADDED", "b", "11") BOOKMARK("12"), 0, 0},
        {FEED_FAILS, ERROR_EVENT("410", "Expired"), ERR_EXPIRED, 0},
        {BREAKS, NULL, KUBE_ABORTED, 0},
        {END, NULL, 0, 0},
    };
    struct fixture f;
    begin(&f, KUBE_PODS, true);
    assert_false(reflector_stats(f.reflector)->synced);
    play(&f, "stats", steps);
    const struct reflector_stats *s = reflector_stats(f.reflector);
    assert_true(s->synced);
    assert_int_equal(s->list_n, 1);
    assert_int_equal(s->item_n, 1);
    assert_int_equal(s->watch_n, 1);
    assert_int_equal(s->watch_failed_n, 1);
    assert_int_equal(s->event_n, 1);
    assert_int_equal(s->bookmark_n, 1);
    assert_int_equal(s->expired_n, 1);
    assert_int_equal(s->last_heard_ns, f.now_ns);
    assert_int_equal(s->watch_list_n, 0);
    assert_int_equal(s->probe_n, 0);
    assert_string_equal(s->resource_version, "12");
    assert_non_null(strstr(s->last_error, "410 Expired"));
    finish(&f);
}

/* The same stream cut at every byte must tell the same. */
static void reflector__stream_cut_anywhere__tells_the_same(void **state)
{
    static const char list[] = PAGE("10", "", OBJECT("a", "3") "," OBJECT("b", "4"));
    static const char watch[] = EVENT("ADDED", "c", "11") BOOKMARK("12") EVENT("DELETED", "a", "13");
    for (size_t cut = 0; cut < sizeof(list) + sizeof(watch); cut++) {
        struct fixture f;
        struct reflector_step next;
        size_t a = cut < sizeof(list) ? cut : sizeof(list) - 1;
        size_t b = cut < sizeof(watch) ? cut : sizeof(watch) - 1;
        begin(&f, KUBE_PODS, true);
        reflector_next(f.reflector, f.now_ns, &next);
        assert_int_equal(reflector_feed(f.reflector, 0, (struct str){list, a}, NULL), 0);
        assert_int_equal(reflector_feed(f.reflector, 0, str_drop(STR(list), a), NULL), 0);
        done(&f, KUBE_ANSWERED, 200, 0);
        reflector_next(f.reflector, f.now_ns, &next);
        assert_int_equal(reflector_feed(f.reflector, 0, (struct str){watch, b}, NULL), 0);
        assert_int_equal(reflector_feed(f.reflector, 0, str_drop(STR(watch), b), NULL), 0);
        assert_string_equal(f.told.p, "begin; object a@3; object b@4; complete 10; synced; "
                                      "object c@11; bookmark 12; deleted a@13");
        finish(&f);
    }
}

/* They come in any order: a watch from one of them would miss changes (contract.md R31). */
static void reflector__objects_of_a_watch_list__are_no_cursor(void **state)
{
    static const struct step first[] = {{FILL, "", 0, 0}, {FEED, EVENT("ADDED", "a", "7"), 0, 0}, {END, NULL, 0, 0}};
    static const struct step again[] = {{FEED, LIST_END("10"), 0, 0},
                                        {DONE, NULL, 410, 0},
                                        {FILL, "", 0, 0},
                                        {FEED, EVENT("ADDED", "a", "7"), 0, 0},
                                        {END, NULL, 0, 0}};
    struct fixture f;
    offer_watch_list(&f, KUBE_PODS, true);
    play(&f, "first", first);
    assert_string_equal(reflector_stats(f.reflector)->resource_version, "");
    play(&f, "again", again);
    assert_string_equal(reflector_stats(f.reflector)->resource_version, "10");
    finish(&f);
}

static void reflector__watch_list_cut_anywhere__tells_the_same(void **state)
{
    static const char watch[] = EVENT("ADDED", "a", "3") EVENT("ADDED", "b", "4") LIST_END("10")
        EVENT("ADDED", "c", "11") BOOKMARK("12") EVENT("DELETED", "a", "13");
    for (size_t cut = 0; cut < sizeof(watch); cut++) {
        struct fixture f;
        struct reflector_step next;
        offer_watch_list(&f, KUBE_PODS, true);
        reflector_next(f.reflector, f.now_ns, &next);
        assert_int_equal(reflector_feed(f.reflector, 0, (struct str){watch, cut}, NULL), 0);
        assert_int_equal(reflector_feed(f.reflector, 0, str_drop(STR(watch), cut), NULL), 0);
        assert_string_equal(f.told.p, "begin; object a@3; object b@4; complete 10; synced; "
                                      "object c@11; bookmark 12; deleted a@13");
        assert_int_equal(reflector_stats(f.reflector)->watch_list_n, 1);
        assert_int_equal(reflector_stats(f.reflector)->item_n, 2);
        assert_int_equal(reflector_stats(f.reflector)->event_n, 2);
        finish(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reflector__scripts__give_the_expected_actions),
        cmocka_unit_test(reflector__watch_list__gives_the_expected_actions),
        cmocka_unit_test(reflector__undecodable_object_and_no_handler_for_it__is_a_failure),
        cmocka_unit_test(reflector__nodes__have_no_selector),
        cmocka_unit_test(reflector__watch_timeouts__are_spread_over_300_to_600),
        cmocka_unit_test(reflector__stats__count_what_happened),
        cmocka_unit_test(reflector__stream_cut_anywhere__tells_the_same),
        cmocka_unit_test(reflector__objects_of_a_watch_list__are_no_cursor),
        cmocka_unit_test(reflector__watch_list_cut_anywhere__tells_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
