#include "routes/whatif.h"

#include "base/bug.h"
#include "routes/explain_internal.h"
#include "extender/decision_words.h"
#include "routes/state_internal.h"

/* Judging every node of the largest cluster takes less. */
#define ARENA_BYTES_MAX ((size_t)256 << 20)

static const char *outcome_name(enum whatif_outcome o)
{
    switch (o) {
    case WHATIF_COUNTED:
        return "counted";
    case WHATIF_INVALID:
        return "invalid";
    case WHATIF_NOT_OURS:
        return "notOurs";
    }
    BUG("unknown outcome");
}

static void write_first(struct json_writer *w, const struct whatif *i)
{
    char text[DECISION_SENTENCE_MAX];

    if (i->first.n == 0) {
        return;
    }
    json_write_kv_object_begin(w, "first");
    json_write_kv_str(w, "node", i->first);
    json_write_kv_array_begin(w, "devices");
    for (size_t k = 0; k < i->device_n; k++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "uuid", i->devices[k].uuid);
        json_write_kv_i64(w, "index", i->devices[k].index);
        json_write_kv_str(w, "model", i->devices[k].model);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    if (i->why != NULL) {
        json_write_kv_object_begin(w, "reason");
        json_write_kv_cstr(w, "text", decision_sentence(i->why, text, sizeof(text)));
        json_write_object_end(w);
    }
    json_write_object_end(w);
}

static void write_document(struct json_writer *w, const struct whatif_context *c, const struct whatif *i)
{
    char text[EXPLAIN_SENTENCE_MAX];

    json_write_object_begin(w);
    json_write_kv_cstr(w, "apiVersion", WHATIF_API_VERSION);
    json_write_kv_cstr(w, "kind", "WhatIf");
    json_write_kv_i64(w, "generation", (int64_t)i->e.generation);
    state_write_time(w, "asOf", clock_wall_ms(c->clock));
    json_write_kv_cstr(w, "outcome", outcome_name(i->outcome));
    json_write_kv_cstr(w, "text", whatif_sentence(i, text, sizeof(text)));
    state_write_request(w, i->e.pod.pod.demand);
    json_write_kv_i64(w, "asked", (int64_t)i->asked);
    json_write_kv_i64(w, "fitting", (int64_t)i->fitting);
    state_write_if(w, "atLeast", i->at_least);
    write_first(w, i);
    json_write_kv_i64(w, "nodeCount", (int64_t)i->e.node_n);
    state_write_verdicts(w, "verdicts", i->next);
    explain_write_nearest(w, &i->e);
    if (i->outcome == WHATIF_INVALID) {
        explain_write_invalid(w, &i->e);
    }
    json_write_object_end(w);
}

static enum httpd_action answer(struct whatif_context *c, const struct whatif_question *q, struct httpd_response *resp)
{
    const struct rules *rules = policy_set_take(c->policies);
    struct whatif i;
    struct arena a;
    struct err err;
    int rc;

    arena_init(&a, ARENA_BYTES_MAX);
    rc = whatif_ask(&rules->placement, &a, q, EXPLAIN_NODES_DEFAULT, &i, &err);
    if (rc == 0) {
        struct json_writer w;

        json_writer_init(&w, &resp->body);
        write_document(&w, c, &i);
        BUG_ON(!httpd_response_header(resp, "Cache-Control", STR("no-store")));
    }
    whatif_end(&i);
    arena_fini(&a);
    rules_put(rules);
    return rc == 0 ? HTTPD_REPLY : state_refuse(resp, 503, &err);
}

enum httpd_action whatif_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct whatif_context *c = ctx;
    struct whatif_question q;
    enum httpd_action action;
    struct err err;

    if (whatif_read(httpd_request_body(req), httpd_request_arena(req), &q, &err) != 0) {
        return state_refuse(resp, httpd_request_arena(req)->refused ? 503 : 400, &err);
    }
    if (!state_take_place(&c->reader_n, WHATIF_READERS_MAX, "such questions are already being answered; try again",
                          resp)) {
        return HTTPD_REPLY;
    }
    action = answer(c, &q, resp);
    atomic_fetch_sub(&c->reader_n, 1);
    return action;
}
