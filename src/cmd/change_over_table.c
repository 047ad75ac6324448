#include "cmd/change_over_table.h"

#include "base/json_members.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdio.h>

#define PODS_BYTES_MAX 4096 /* of one group; more is cut */

enum { PODS_SHOWN = 3 };

struct group_text {
    struct str group, step, since, opens, open, failed, error;
    int64_t pod_n;
    size_t shown_n;
    struct strbuf pods;
};

static void add_pod(struct json_reader *r, void *to)
{
    struct group_text *g = to;
    struct str namespace_ = STR_NULL, pod = STR_NULL, node = STR_NULL, eviction = STR_NULL;

    json_members(r, JSON_MEMBERS({"namespace", .shown = &namespace_}, {"pod", .shown = &pod}, {"node", .shown = &node},
                                 {"eviction", .shown = &eviction}));
    if (g->shown_n++ < PODS_SHOWN) {
        strbuf_addf(&g->pods, "%s%.*s/%.*s on %.*s", g->pods.n == 0 ? "" : ", ", STR_ARG(namespace_), STR_ARG(pod),
                    STR_ARG(node));
        if (eviction.n > 0) {
            strbuf_addf(&g->pods, " (not evicted: %.*s)", STR_ARG(eviction));
        }
    }
}

static void print_step(const struct group_text *g)
{
    if (str_eq_cstr(g->step, "open")) {
        printf("%.*s is open since %.*s", STR_ARG(g->opens), STR_ARG(g->since));
    } else if (str_eq_cstr(g->step, "closed")) {
        printf("all of its pools are closed since %.*s", STR_ARG(g->since));
    } else if (str_eq_cstr(g->step, "conflict")) {
        printf("no pool is open: the configuration has several of them open since %.*s", STR_ARG(g->since));
    } else if (g->opens.n > 0) {
        printf("to %.*s: %.*s since %.*s", STR_ARG(g->opens), STR_ARG(g->step), STR_ARG(g->since));
    } else {
        printf("to no pool: %.*s since %.*s", STR_ARG(g->step), STR_ARG(g->since));
    }
}

static void print_group(const struct group_text *g, bool first)
{
    printf("%s%.*s  ", first ? "Change-over: " : "             ", STR_ARG(g->group));
    print_step(g);
    if (g->pod_n > 0) {
        printf("; waits for %" PRId64 " pod%s: %.*s%s", g->pod_n, g->pod_n == 1 ? "" : "s",
               STR_ARG(strbuf_view(&g->pods)), g->pod_n > PODS_SHOWN ? ", ..." : "");
    }
    if (g->failed.n > 0) {
        printf("; the command of %.*s fails: %.*s", STR_ARG(g->failed), STR_ARG(g->error));
    }
    printf("\n");
}

int change_over_table_print(struct json_reader *r, struct str groups, struct arena *a, struct err *reterr)
{
    struct group_text g = {.pod_n = 0};
    bool first = true;
    int rc;

    strbuf_init(&g.pods, PODS_BYTES_MAX);
    json_reader_init(r, groups, a);
    json_array_begin(r);
    while (json_array_next(r)) {
        strbuf_reset(&g.pods);
        g = (struct group_text){.pods = g.pods};
        json_members(r, JSON_MEMBERS({"group", .shown = &g.group}, {"step", .shown = &g.step},
                                     {"since", .shown = &g.since}, {"opens", .shown = &g.opens},
                                     {"open", .shown = &g.open}, {"podCount", .i64 = &g.pod_n},
                                     {"pods", .element = add_pod, .to = &g}, {"failed", .shown = &g.failed},
                                     {"error", .shown = &g.error}));
        if (!json_failed(r)) {
            print_group(&g, first);
        }
        first = false;
    }
    strbuf_fini(&g.pods);
    rc = json_read_end(r, reterr);
    return rc != 0 ? err_wrap(reterr, rc, "the value of \"changeOvers\"") : 0;
}
