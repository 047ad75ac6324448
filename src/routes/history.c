#include "routes/history.h"

#include "base/bug.h"
#include "routes/state_internal.h"

#include <stdlib.h>

static const char *const value_keys[HISTORY_VALUE__MAX] = {
    [HISTORY_COMPUTE_PERMILLE] = "computePermille",
    [HISTORY_MEMORY_PERMILLE] = "memoryPermille",
    [HISTORY_FRAGMENTATION_PERMILLE] = "fragmentationPermille",
    [HISTORY_PENDING] = "pending",
    [HISTORY_BOUND] = "bound",
};

static void write_sample(struct json_writer *w, const struct history_sample *s)
{
    json_write_object_begin(w);
    state_write_time(w, "time", s->wall_ms);
    for (size_t i = 0; i < HISTORY_VALUE__MAX; i++) {
        json_write_kv_i64(w, value_keys[i], history_mean(s, (enum history_value)i));
    }
    json_write_object_end(w);
}

static void write_document(struct json_writer *w, const struct history_context *c, const struct history *h)
{
    json_write_object_begin(w);
    json_write_kv_cstr(w, "apiVersion", HISTORY_API_VERSION);
    json_write_kv_cstr(w, "kind", "History");
    json_write_kv_object_begin(w, "metadata");
    json_write_kv_i64(w, "generation", (int64_t)store_generation(c->store));
    state_write_time(w, "asOf", clock_wall_ms(c->clock));
    json_write_object_end(w);
    json_write_kv_i64(w, "intervalSeconds", h->interval_s);
    json_write_kv_array_begin(w, "samples");
    for (size_t i = 0; i < h->n; i++) {
        write_sample(w, &h->samples[i]);
    }
    json_write_array_end(w);
    json_write_object_end(w);
}

enum httpd_action history_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    struct history_context *c = ctx;
    struct json_writer w;
    struct history *h;

    (void)req;
    if (c->keeper == NULL) {
        httpd_response_text(resp, 404, "no history is kept here\n");
        return HTTPD_REPLY;
    }
    h = xcalloc(1, sizeof(*h));
    history_keeper_read(c->keeper, h);
    json_writer_init(&w, &resp->body);
    write_document(&w, c, h);
    BUG_ON(!httpd_response_header(resp, "Cache-Control", STR("no-store")));
    free(h);
    return HTTPD_REPLY;
}
