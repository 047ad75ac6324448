/* "decisions" of /state: why pods landed where they are. */
#include "routes/state_internal.h"

#include "extender/decision_words.h"

static void write_pair(struct json_writer *w, int64_t best, int64_t next)
{
    json_write_kv_i64(w, "best", best);
    json_write_kv_i64(w, "next", next);
}

static void write_part(struct json_writer *w, const struct decision_note *d, const struct reason_part *p)
{
    json_write_object_begin(w);
    json_write_kv_cstr(w, "part", score_part_name(p->of.kind));
    if (p->of.kind == SCORE_PART_CRITERION) {
        json_write_kv_cstr(w, "strategy", d->criteria[p->of.which]->name);
    }
    state_write_if(w, "plugin", p->of.plugin_managed);
    state_write_positive(w, "count", p->of.count);
    state_write_positive(w, "milli", p->of.milli);
    state_write_positive(w, "memMib", p->of.mem_mib);
    write_pair(w, p->best, p->next);
    json_write_object_end(w);
}

static void write_scores(struct json_writer *w, const struct decision_note *d)
{
    if (d->reason != PACK_BY_SCORE && d->reason != PACK_BY_NAME) {
        return;
    }
    if (d->part_n > 0 && d->parts[0].of.kind == SCORE_PART_CRITERION && d->weights_milli[0] == 0) {
        json_write_kv_cstr(w, "decidedBy", d->criteria[d->decided_by]->name);
    }
    json_write_kv_object_begin(w, "scores");
    write_pair(w, d->best_score, d->next_score);
    json_write_object_end(w);
    json_write_kv_array_begin(w, "parts");
    for (uint32_t i = 0; i < d->part_n; i++) {
        write_part(w, d, &d->parts[i]);
    }
    json_write_array_end(w);
}

static void write_weights(struct json_writer *w, const struct decision_note *d)
{
    if (d->weights_milli[0] == 0) {
        return;
    }
    json_write_kv_bool(w, "weighted", true);
    json_write_kv_array_begin(w, "weightsMilli");
    for (uint32_t i = 0; i < d->criterion_n; i++) {
        json_write_i64(w, d->weights_milli[i]);
    }
    json_write_array_end(w);
}

static void write_ranking(struct json_writer *w, const struct decision_note *d)
{
    json_write_kv_array_begin(w, "strategies");
    for (uint32_t i = 0; i < d->criterion_n; i++) {
        json_write_cstr(w, d->criteria[i]->name);
    }
    json_write_array_end(w);
    write_weights(w, d);
    if (d->rule > 0) {
        json_write_kv_i64(w, "rule", d->rule);
        json_write_kv_str(w, "ruleText", d->rule_text);
    }
    json_write_kv_i64(w, "ranked", d->ranked_n);
    json_write_kv_str(w, "best", d->best);
    json_write_kv_str(w, "next", d->next);
    json_write_kv_cstr(w, "by", pack_reason_name(d->reason));
    write_scores(w, d);
}

void state_write_reason(struct json_writer *w, const struct decision_note *d)
{
    char text[DECISION_SENTENCE_MAX];

    json_write_object_begin(w);
    json_write_kv_str(w, "decision", d->id);
    state_write_time(w, "at", d->at_ms);
    json_write_kv_str(w, "namespace", d->namespace_);
    json_write_kv_str(w, "pod", d->name);
    json_write_kv_str(w, "uid", d->uid);
    json_write_kv_str(w, "node", d->node);
    state_write_if(w, "lost", d->lost);
    if (d->asked_n > 0) {
        json_write_kv_i64(w, "asked", d->asked_n);
        json_write_kv_i64(w, "fit", d->fit_n);
    }
    if (d->ranked_n > 0) {
        write_ranking(w, d);
    }
    json_write_kv_cstr(w, "text", decision_sentence(d, text, sizeof(text)));
    json_write_object_end(w);
}
