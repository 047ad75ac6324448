#include "demo/scheduler/verbs_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/json_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERBS_BYTES_MAX (64 << 20)
#define VERBS_TIMEOUT_MS 10000 /* httpTimeout of the sample scheduler configurations */

void name_list_fini(struct name_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i]);
    }
    free(l->items);
    *l = (struct name_list){0};
}

struct verbs *verbs_new(const char *base_url, const atomic_bool *stop)
{
    struct verbs *v = xcalloc(1, sizeof(*v));
    v->http = http_client_new(stop);
    v->base_url = base_url;
    strbuf_init(&v->request, VERBS_BYTES_MAX);
    strbuf_init(&v->reply, VERBS_BYTES_MAX);
    arena_init(&v->arena, 1 << 20);
    return v;
}

void verbs_free(struct verbs *v)
{
    if (v) {
        http_client_free(v->http);
        strbuf_fini(&v->request);
        strbuf_fini(&v->reply);
        arena_fini(&v->arena);
        free(v);
    }
}

/* Sends v->request and leaves the reader at the start of the reply. */
static int call(struct verbs *v, const char *verb, int64_t *ret_us, struct err *reterr)
{
    char url[256];
    const struct clock *clock = clock_system();
    snprintf(url, sizeof(url), "%s/%s", v->base_url, verb);
    int64_t start_ns = clock_mono_ns(clock);
    int rc = http_client_post(v->http, url, strbuf_view(&v->request), VERBS_TIMEOUT_MS, &v->reply, reterr);
    if (rc == 0) {
        *ret_us = (clock_mono_ns(clock) - start_ns) / 1000;
        arena_reset(&v->arena);
        json_reader_init(&v->reader, strbuf_view(&v->reply), &v->arena);
    }
    return rc;
}

/* ExtenderArgs. `chosen` NULL: all nodes. */
static void write_args(struct verbs *v, struct str pod, const struct name_list *nodes, const size_t *chosen,
                       size_t chosen_n)
{
    struct json_writer w;
    strbuf_reset(&v->request);
    json_writer_init(&w, &v->request);
    json_write_object_begin(&w);
    json_write_key(&w, "Pod");
    json_write_raw(&w, pod);
    json_write_key(&w, "Nodes");
    json_write_null(&w);
    json_write_key(&w, "NodeNames");
    json_write_array_begin(&w);
    for (size_t i = 0; i < (chosen ? chosen_n : nodes->n); i++) {
        json_write_cstr(&w, nodes->items[chosen ? chosen[i] : i]);
    }
    json_write_array_end(&w);
    json_write_object_end(&w);
}

/* The place of a name, or -1. */
static ptrdiff_t place_of(const struct name_list *nodes, struct str name)
{
    size_t lo = 0, hi = nodes->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(str_of(nodes->items[mid]), name);
        if (c == 0) {
            return (ptrdiff_t)mid;
        }
        if (c < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return -1;
}

/* A node of the request, not seen before in this reply. */
static bool take_node(struct json_reader *r, const struct name_list *nodes, struct str name, bool *seen,
                      size_t *ret_place)
{
    ptrdiff_t i = place_of(nodes, name);
    if (i < 0) {
        json_fail(r, ERR_INVALID, "a node that was not asked for");
        return false;
    }
    if (seen[i]) {
        json_fail(r, ERR_INVALID, "a node appears twice");
        return false;
    }
    seen[i] = true;
    *ret_place = (size_t)i;
    return true;
}

static void read_names(struct json_reader *r, const struct name_list *nodes, bool *seen, struct filter_result *f)
{
    struct str name;
    if (json_accept_null(r)) {
        return;
    }
    json_array_begin(r);
    while (json_array_next(r)) {
        if (json_string(r, &name) && take_node(r, nodes, name, seen, &f->feasible[f->feasible_n])) {
            f->feasible_n++;
        }
    }
}

static void count_reason(struct filter_result *f, struct str text)
{
    for (size_t i = 0; i < f->reason_n; i++) {
        if (str_eq(str_of(f->reasons[i].text), text)) {
            f->reasons[i].n++;
            return;
        }
    }
    if (f->reason_n < VERBS_REASONS_MAX) {
        snprintf(f->reasons[f->reason_n].text, sizeof(f->reasons[0].text), "%.*s", STR_ARG(text));
        f->reasons[f->reason_n++].n = 1;
    }
}

static void read_failed(struct json_reader *r, const struct name_list *nodes, bool *seen, struct filter_result *f)
{
    struct str name, reason;
    size_t place;
    if (json_accept_null(r)) {
        return;
    }
    json_object_begin(r);
    while (json_object_next(r, &name)) {
        if (json_string(r, &reason) && take_node(r, nodes, name, seen, &place)) {
            count_reason(f, reason);
        }
    }
}

static int read_filter(struct verbs *v, const struct name_list *nodes, bool *seen, struct filter_result *f,
                       struct err *reterr)
{
    struct json_reader *r = &v->reader;
    struct str key, error = STR_NULL;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("NodeNames"))) {
            read_names(r, nodes, seen, f);
        } else if (str_eq(key, STR("FailedNodes")) || str_eq(key, STR("FailedAndUnresolvableNodes"))) {
            read_failed(r, nodes, seen, f);
        } else if (str_eq(key, STR("Error"))) {
            json_string(r, &error);
        } else {
            json_skip(r);
        }
    }
    int rc = json_read_end(r, reterr);
    if (rc) {
        return err_wrap(reterr, rc, "filter reply");
    }
    if (error.n) {
        return err_set(reterr, ERR_UNAVAILABLE, "filter: %.*s", STR_ARG(error));
    }
    for (size_t i = 0; i < nodes->n && f->feasible_n == 0; i++) {
        if (!seen[i]) {
            return err_set(reterr, ERR_INVALID, "filter reply: no node fits and %s has no reason", nodes->items[i]);
        }
    }
    return 0;
}

static void sort_reasons(struct filter_result *f)
{
    for (size_t i = 1; i < f->reason_n; i++) {
        for (size_t k = i; k > 0 && f->reasons[k - 1].n < f->reasons[k].n; k--) {
            __typeof__(f->reasons[0]) swap = f->reasons[k];
            f->reasons[k] = f->reasons[k - 1];
            f->reasons[k - 1] = swap;
        }
    }
}

int verbs_filter(struct verbs *v, struct str pod, const struct name_list *nodes, struct filter_result *ret,
                 int64_t *ret_us, struct err *reterr)
{
    struct filter_result f = {.feasible = xcalloc(nodes->n + 1, sizeof(size_t))};
    bool *seen = xcalloc(nodes->n + 1, sizeof(bool));
    write_args(v, pod, nodes, NULL, 0);
    int rc = call(v, "filter", ret_us, reterr);
    if (rc == 0) {
        rc = read_filter(v, nodes, seen, &f, reterr);
    }
    free(seen);
    if (rc) {
        free(f.feasible);
        return rc;
    }
    sort_reasons(&f);
    *ret = f;
    return 0;
}

/* One {"Host":...,"Score":...}; returns false on any deviation. */
static void read_score(struct json_reader *r, const struct name_list *nodes, const struct filter_result *f, bool *seen,
                       int64_t *scores)
{
    struct str key, host = STR_NULL;
    int64_t score = -1;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("Host"))) {
            json_string(r, &host);
        } else if (str_eq(key, STR("Score"))) {
            json_i64(r, &score);
        } else {
            json_skip(r);
        }
    }
    if (json_failed(r)) {
        return;
    }
    if (score < 0 || score > 10) {
        json_fail(r, ERR_INVALID, "a score outside 0..10");
        return;
    }
    ptrdiff_t place = place_of(nodes, host);
    for (size_t i = 0; i < f->feasible_n; i++) {
        if ((ptrdiff_t)f->feasible[i] == place && !seen[i]) {
            seen[i] = true;
            scores[i] = score;
            return;
        }
    }
    json_fail(r, ERR_INVALID, "a host that was not asked for, or twice");
}

int verbs_prioritize(struct verbs *v, struct str pod, const struct name_list *nodes,
                     const struct filter_result *filtered, int64_t *scores, int64_t *ret_us, struct err *reterr)
{
    size_t n = 0;
    write_args(v, pod, nodes, filtered->feasible, filtered->feasible_n);
    int rc = call(v, "prioritize", ret_us, reterr);
    if (rc) {
        return rc;
    }
    bool *seen = xcalloc(filtered->feasible_n + 1, sizeof(bool));
    json_array_begin(&v->reader);
    while (json_array_next(&v->reader)) {
        read_score(&v->reader, nodes, filtered, seen, scores);
        n++;
    }
    free(seen);
    rc = json_read_end(&v->reader, reterr);
    if (rc) {
        return err_wrap(reterr, rc, "prioritize reply");
    }
    return n == filtered->feasible_n
               ? 0
               : err_set(reterr, ERR_INVALID, "prioritize reply: %zu scores for %zu nodes", n, filtered->feasible_n);
}

int verbs_bind(struct verbs *v, const char *namespace_, const char *name, const char *uid, const char *node,
               int64_t *ret_us, struct err *reterr)
{
    struct json_writer w;
    struct str key, error = STR_NULL;
    strbuf_reset(&v->request);
    json_writer_init(&w, &v->request);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "PodName", name);
    json_write_kv_cstr(&w, "PodNamespace", namespace_);
    json_write_kv_cstr(&w, "PodUID", uid);
    json_write_kv_cstr(&w, "Node", node);
    json_write_object_end(&w);
    int rc = call(v, "bind", ret_us, reterr);
    if (rc) {
        return rc;
    }
    json_object_begin(&v->reader);
    while (json_object_next(&v->reader, &key)) {
        if (str_eq(key, STR("Error"))) {
            json_string(&v->reader, &error);
        } else {
            json_skip(&v->reader);
        }
    }
    rc = json_read_end(&v->reader, reterr);
    if (rc) {
        return err_wrap(reterr, rc, "bind reply");
    }
    return error.n ? err_set(reterr, ERR_CONFLICT, "bind: %.*s", STR_ARG(error)) : 0;
}
