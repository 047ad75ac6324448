/* "demandHistogram" of the summary: what decisions go by beyond the devices. */
#include "routes/state_internal.h"

#include "base/bug.h"

static int64_t permille(uint64_t part, uint64_t all)
{
    return all == 0 ? 0 : (int64_t)((part * 1000 + all / 2) / all);
}

static int64_t of_sixteenths(int32_t v)
{
    return (v * 1000 + FORECAST_SIXTEENTHS / 2) / FORECAST_SIXTEENTHS;
}

/* As state_request.c writes one GPU request. */
static void write_shape(struct json_writer *w, const struct demand_histogram_report_shape *s, uint64_t all)
{
    json_write_object_begin(w);
    json_write_kv_i64(w, "permille", permille(s->weight, all));
    json_write_kv_i64(w, "weight", (int64_t)s->weight);
    json_write_kv_i64(w, "count", s->count);
    if (s->plugin_managed) {
        json_write_kv_bool(w, "plugin", true);
    } else if (s->count > 0) {
        json_write_kv_cstr(w, "kind", gpu_request_kind_name(s->kind));
        state_write_positive(w, "milli", gpu_request_kind_has_milli(s->kind) ? s->milli : 0);
        state_write_positive(w, "memMib", s->mem_mib);
    }
    state_write_positive(w, "cpuMilli", s->host.cpu_milli);
    state_write_positive(w, "hostMemMib", s->host.mem_mib);
    if (s->models[0] != '\0' || s->models_cut) {
        json_write_kv_cstr(w, "models", s->models);
    }
    state_write_if(w, "modelsCut", s->models_cut);
    json_write_object_end(w);
}

static const char *good_name(enum forecast_good g)
{
    switch (g) {
    case FORECAST_HOSTS:
        return "hosts";
    case FORECAST_PLACES:
        return "places";
    case FORECAST_SIZE:
        return "size";
    }
    BUG("no such good");
}

static void write_scarce(struct json_writer *w, const struct forecast_scarce *s)
{
    json_write_object_begin(w);
    json_write_kv_cstr(w, "good", good_name(s->good));
    state_write_if(w, "plugin", s->plugin_managed);
    json_write_kv_i64(w, "nodes", s->node_n);
    state_write_positive(w, "count", s->count);
    state_write_positive(w, "milli", s->milli);
    state_write_positive(w, "memMib", s->mem_mib);
    json_write_kv_i64(w, "permille", s->share_permille);
    json_write_kv_i64(w, "supplyMilli", s->supply_milli);
    json_write_kv_i64(w, "pricePermille", s->price_permille);
    json_write_object_end(w);
}

static void write_prices(struct json_writer *w, const struct forecast_report *o)
{
    json_write_kv_object_begin(w, "prices");
    json_write_kv_i64(w, "churnPermille", of_sixteenths(o->churn));
    json_write_kv_i64(w, "scarceCpuPermille", of_sixteenths(o->scarce_cpu));
    json_write_kv_i64(w, "unseenPermille", o->prior_permille);
    json_write_kv_array_begin(w, "scarce");
    for (size_t i = 0; i < o->scarce_n; i++) {
        write_scarce(w, &o->scarce[i]);
    }
    json_write_array_end(w);
    json_write_object_end(w);
}

static void write_demand_histogram(struct json_writer *w, const char *key, const struct store_head *h)
{
    json_write_kv_object_begin(w, key);
    json_write_kv_i64(w, "arrived", (int64_t)h->demand_histogram.arrived_n);
    json_write_kv_i64(w, "departed", (int64_t)h->demand_histogram.departed_n);
    json_write_kv_i64(w, "churnPermille", of_sixteenths(h->demand_histogram.churn));
    json_write_kv_i64(w, "kinds", (int64_t)h->demand_histogram.shape_n);
    json_write_kv_i64(w, "weight", (int64_t)h->demand_histogram.weight);
    json_write_kv_array_begin(w, "shapes");
    for (size_t i = 0; i < h->demand_histogram.top_n; i++) {
        write_shape(w, &h->demand_histogram.top[i], h->demand_histogram.weight);
    }
    json_write_array_end(w);
    if (h->forecast.known) {
        write_prices(w, &h->forecast);
    }
    json_write_object_end(w);
}

void state_write_demand_histogram(struct json_writer *w, const struct store_head *h)
{
    write_demand_histogram(w, "demandHistogram", h);
    write_demand_histogram(w, "mix", h); /* the older name (decision 0047) */
}
