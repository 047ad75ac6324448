/* What the summary of /state says beyond sums: fragmentation, what still fits, the shadow strategies. */
#include "routes/state_internal.h"

static void write_more(struct json_writer *w, const struct capacity_report *r)
{
    json_write_kv_array_begin(w, "moreFit");
    for (size_t i = 0; i < r->size_n; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "size", r->sizes[i].name);
        state_write_positive(w, "wholeGpus", r->sizes[i].whole_gpu_n);
        json_write_kv_i64(w, "more", (int64_t)r->sizes[i].more_n);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void state_write_capacity(struct json_writer *w, struct capacity_reporter *v)
{
    struct capacity_report r = {0};

    if (v != NULL) {
        capacity_reporter_read(v, &r);
    }
    if (!r.known) {
        return;
    }
    json_write_kv_object_begin(w, "fragmentation");
    json_write_kv_i64(w, "generation", (int64_t)r.generation);
    state_write_time(w, "asOf", r.at_ms);
    json_write_kv_i64(w, "nodes", r.node_n);
    json_write_kv_i64(w, "idleMilli", r.idle_milli);
    json_write_kv_i64(w, "fragmentedMilli", r.fragmented_milli);
    json_write_kv_i64(w, "permille", capacity_permille(&r));
    json_write_kv_i64(w, "typicalPods", (int64_t)r.typical_n);
    json_write_kv_object_begin(w, "largestHole");
    json_write_kv_i64(w, "milli", r.largest_milli);
    json_write_kv_i64(w, "memMib", r.largest_mem_mib);
    json_write_object_end(w);
    json_write_kv_object_begin(w, "mostEmpty");
    json_write_kv_cstr(w, "node", r.empty_node);
    json_write_kv_i64(w, "gpus", r.empty_gpu_n);
    json_write_object_end(w);
    write_more(w, &r);
    json_write_object_end(w);
}

/* "binpack"; several criteria as "spread, tight-fit" or "binpack 0.7, spread 0.3". */
static void write_strategies(struct json_writer *w, const struct pack_plan *plan)
{
    struct strbuf text;

    strbuf_init(&text, 1024);
    for (size_t i = 0; i < plan->criterion_n; i++) {
        int32_t weight = plan->weights_milli[i], digits = weight % 1000;

        strbuf_addf(&text, "%s%s", i > 0 ? ", " : "", plan->criteria[i]->name);
        if (weight > 0) {
            strbuf_addf(&text, " %d", (int)(weight / 1000));
        }
        for (int32_t unit = 100; weight > 0 && digits > 0; digits %= unit, unit /= 10) {
            strbuf_addf(&text, "%s%d", unit == 100 ? "." : "", (int)(digits / unit));
        }
    }
    json_write_kv_str(w, "nodeStrategy", strbuf_view(&text));
    json_write_kv_cstr(w, "deviceStrategy", plan->params.device_strategy->name);
    strbuf_fini(&text);
}

/* Half up; the mean of a sum in thousandths. */
static int64_t mean_milli(const struct shadow_report *r)
{
    int64_t n = (int64_t)r->compared_n * 1000;
    int64_t sum = 2 * r->frag_umilli + n;

    return n == 0 ? 0 : sum / (2 * n) - (sum < 0 && sum % (2 * n) != 0);
}

static void write_shadow(struct json_writer *w, const char *key, const struct shadow_report *r)
{
    json_write_kv_object_begin(w, key);
    write_strategies(w, &r->shadow);
    json_write_kv_object_begin(w, "against");
    write_strategies(w, &r->live);
    json_write_object_end(w);
    json_write_kv_i64(w, "decisions", (int64_t)r->decision_n);
    json_write_kv_i64(w, "compared", (int64_t)r->compared_n);
    json_write_kv_bool(w, "sampled", r->compared_n < r->decision_n);
    json_write_kv_i64(w, "byRules", (int64_t)r->ruled_n);
    json_write_kv_i64(w, "otherNode", (int64_t)r->other_node_n);
    json_write_kv_i64(w, "otherGpus", (int64_t)r->other_device_n);
    json_write_kv_i64(w, "fragmentationMilli", (r->frag_umilli + (r->frag_umilli < 0 ? -500 : 500)) / 1000);
    json_write_kv_i64(w, "meanFragmentationMilli", mean_milli(r));
    json_write_object_end(w);
}

void state_write_shadow(struct json_writer *w, struct shadow *s)
{
    struct shadow_report r = {0};

    if (s != NULL) {
        shadow_read(s, &r);
    }
    if (r.on) {
        write_shadow(w, "shadow", &r);
        write_shadow(w, "candidate", &r); /* the older name (decision 0047) */
    }
}
