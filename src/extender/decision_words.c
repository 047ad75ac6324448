#include "extender/decision_words.h"

#include "base/bug.h"
#include "base/sentence.h"
#include "core/forecast/forecast.h"

#include <inttypes.h>
#include <string.h>

static const char CUT[] = "...";

/* ---- numbers: both of a pair with so many decimals that they differ ---- */

static uint64_t size_of(int64_t v)
{
    return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static void add_decimal(struct sentence *t, int64_t hundredths)
{
    sentence_add(t, "%s%" PRIu64 ".%02" PRIu64, hundredths < 0 ? "-" : "", size_of(hundredths) / 100,
                 size_of(hundredths) % 100);
}

/* A score unit is 1/FORECAST_MILLI milli. Whole milli, rounded, or with four decimals. */
static void add_milli(struct sentence *t, int64_t score, bool fine)
{
    uint64_t v = size_of(score);

    if (fine) {
        sentence_add(t, "%s%" PRIu64 ".%04" PRIu64, score < 0 ? "-" : "", v / FORECAST_MILLI,
                     v % FORECAST_MILLI * 10000 / FORECAST_MILLI);
    } else {
        v = (v + FORECAST_MILLI / 2) / FORECAST_MILLI;
        sentence_add(t, "%s%" PRIu64, score < 0 && v > 0 ? "-" : "", v);
    }
}

static bool is_close(int64_t best, int64_t next)
{
    return best - next < FORECAST_MILLI && next - best < FORECAST_MILLI;
}

/* ---- parts of rsp: what the pod takes from those to come, so the sign is turned ---- */

static void add_size(struct sentence *t, const struct score_part *p)
{
    if (p->milli > 0 && p->milli < DEVICE_MILLI) {
        sentence_add(t, " with %d milli free", p->milli);
    }
    if (p->mem_mib > 0) {
        sentence_add(t, "%s %d MiB free", p->milli > 0 && p->milli < DEVICE_MILLI ? " and" : " with", p->mem_mib);
    }
}

static void add_part_name(struct sentence *t, const struct score_part *p)
{
    static const char *const names[SCORE_PART__MAX] = {
        [SCORE_PART_FILL] = "what expected pods would fill",
        [SCORE_PART_CORES] = "the same beside pods that take cores alone",
        [SCORE_PART_PLACES] = "places for each kind of pods",
        [SCORE_PART_GOODS] = "other scarce goods",
        [SCORE_PART_STRANDED] = "the charge for GPUs and cores left idle while cores are short",
        [SCORE_PART_IDLE] = "the charge for idle GPUs",
    };
    const char *gpus = p->plugin_managed ? "whole GPUs" : "GPUs"; /* of a device plugin, or any */

    if (p->kind == SCORE_PART_HOSTS) {
        sentence_add(t, "idle %s of the nodes that certain pods need", gpus);
    } else if (p->kind == SCORE_PART_GANGS) {
        sentence_add(t, "places for pods of %d %s", p->count, gpus);
        add_size(t, p);
    } else if (p->kind == SCORE_PART_SIZES) {
        sentence_add(t, "%s", gpus);
        add_size(t, p);
    } else {
        BUG_ON(names[p->kind] == NULL);
        sentence_add(t, "%s", names[p->kind]);
    }
}

/* ---- scores, as what they stand for; `part_n`: what they are the sums of ---- */

static void add_gain(struct sentence *t, const struct decision_note *d, bool fine)
{
    sentence_add(t, "there it takes ");
    add_milli(t, -d->best_score, fine);
    sentence_add(t, " milli of what expected pods could use, on %.*s ", STR_ARG(d->next));
    add_milli(t, -d->next_score, fine);
}

static void add_gain_parts(struct sentence *t, const struct decision_note *d)
{
    bool first = true;

    for (uint32_t i = 0; i < d->part_n; i++) {
        const struct reason_part *p = &d->parts[i];
        bool fine = is_close(p->best, p->next);

        if (p->best == p->next) {
            continue;
        }
        sentence_add(t, "%s", first ? "; of this " : ", ");
        add_part_name(t, &p->of);
        sentence_add(t, " ");
        add_milli(t, -p->best, fine);
        sentence_add(t, " and ");
        add_milli(t, -p->next, fine);
        first = false;
    }
}

/* Of twice 100 %. */
static void add_used(struct sentence *t, const struct decision_note *d)
{
    sentence_add(t, "then its GPUs are ");
    add_decimal(t, (int64_t)size_of(d->best_score) / 2);
    sentence_add(t, " %% used, those of %.*s ", STR_ARG(d->next));
    add_decimal(t, (int64_t)size_of(d->next_score) / 2);
    sentence_add(t, " %%");
}

static void add_used_parts(struct sentence *t, const struct decision_note *d)
{
    for (uint32_t i = 0; i < d->part_n; i++) {
        const struct reason_part *p = &d->parts[i];

        if (p->best != p->next && p->of.kind != SCORE_PART_USED_UNITS) {
            sentence_add(t, "; %s ", p->of.kind == SCORE_PART_USED_COMPUTE ? "compute" : "memory");
            add_decimal(t, (int64_t)size_of(p->best));
            sentence_add(t, " %% and ");
            add_decimal(t, (int64_t)size_of(p->next));
            sentence_add(t, " %%");
        }
    }
}

/* ---- tight-fit: three numbers in one, so parts say nothing more ---- */

struct unpacked {
    uint64_t opened, left, empty;
};

static struct unpacked unpack(int64_t score)
{
    const uint64_t left = size_of(score) / SCORE_PART_EMPTY_MAX;

    return (struct unpacked){left / SCORE_PART_OPENING, left % SCORE_PART_OPENING,
                             size_of(score) % SCORE_PART_EMPTY_MAX};
}

/* The smaller share that is left, or, where that is equal, the larger one. */
static void add_left(struct sentence *t, uint64_t best, uint64_t next)
{
    const bool differs = best / SCORE_PART_LEFT_STEP != next / SCORE_PART_LEFT_STEP;

    sentence_add(t, "leaves ");
    add_decimal(t, (int64_t)(differs ? best / SCORE_PART_LEFT_STEP : best % SCORE_PART_LEFT_STEP));
    sentence_add(t, " %% and ");
    add_decimal(t, (int64_t)(differs ? next / SCORE_PART_LEFT_STEP : next % SCORE_PART_LEFT_STEP));
    sentence_add(t, " %% of %s on the GPUs that it takes",
                 differs ? "compute or memory, whichever is less," : "the other one");
}

static void add_packed(struct sentence *t, const struct decision_note *d)
{
    const struct unpacked best = unpack(d->best_score), next = unpack(d->next_score);
    const char *separator = "there and here it ";

    if (best.opened != next.opened) {
        sentence_add(t, "%sshares %" PRIu64 " and %" PRIu64 " GPUs that were empty", separator, best.opened,
                     next.opened);
        separator = ", ";
    }
    if (best.left != next.left) {
        sentence_add(t, "%s", separator);
        add_left(t, best.left, next.left);
        separator = ", ";
    }
    if (best.empty != next.empty) {
        sentence_add(t, "%sleaves %" PRIu64 " and %" PRIu64 " GPUs empty", separator, best.empty, next.empty);
    }
}

static void add_scores_of(struct sentence *t, const struct strategy *s, const struct decision_note *d)
{
    switch (s->unit) {
    case SCORE_IN_MILLI:
        add_gain(t, d, is_close(d->best_score, d->next_score));
        break;
    case SCORE_IN_SHARES:
        add_used(t, d);
        break;
    case SCORE_PACKED:
        add_packed(t, d);
        break;
    case SCORE_IN_POINTS:
        sentence_add(t, "scores %" PRId64 " and %" PRId64, d->best_score, d->next_score);
    }
}

/* ---- several criteria ---- */

/* Thousandths, as many decimals as it takes: so that what is added up here is added up there, too. */
static void add_points(struct sentence *t, int64_t milli)
{
    int64_t part = milli % 1000;
    int digits = 3;

    while (digits > 0 && part % 10 == 0) {
        part /= 10;
        digits--;
    }
    if (digits == 0) {
        sentence_add(t, "%" PRId64, milli / 1000);
    } else {
        sentence_add(t, "%" PRId64 ".%0*" PRId64, milli / 1000, digits, part);
    }
}

static void add_weighted(struct sentence *t, const struct decision_note *d)
{
    int64_t most = 0;

    for (uint32_t i = 0; i < d->criterion_n; i++) {
        most += d->weights_milli[i];
    }
    sentence_add(t, ": ");
    add_points(t, d->best_score);
    sentence_add(t, " and ");
    add_points(t, d->next_score);
    sentence_add(t, " of %" PRId64 " points", most);
    for (uint32_t i = 0; i < d->part_n; i++) {
        const struct reason_part *p = &d->parts[i];

        sentence_add(t, "%s%s ", i == 0 ? "; of this by " : ", by ", d->criteria[p->of.which]->name);
        add_points(t, p->best);
        sentence_add(t, " and ");
        add_points(t, p->next);
    }
}

static void add_chain(struct sentence *t, const struct decision_note *d)
{
    if (d->part_n == 0) {
        return;
    }
    sentence_add(t, ": ");
    for (uint32_t i = 0; i < d->decided_by; i++) {
        sentence_add(t, "%s%s", i == 0 ? "equal by " : " and ", d->criteria[i]->name);
    }
    sentence_add(t, "%sby %s ", d->decided_by > 0 ? ", and " : "", d->criteria[d->decided_by]->name);
    add_scores_of(t, d->criteria[d->decided_by], d);
}

/* ---- the sentence ---- */

static void add_strategies(struct sentence *t, const struct decision_note *d)
{
    const bool weighted = d->weights_milli[0] > 0;

    for (uint32_t i = 0; i < d->criterion_n; i++) {
        sentence_add(t, "%s%s",
                     i == 0     ? (weighted ? "weighted " : "")
                     : weighted ? " and "
                                : ", then ",
                     d->criteria[i]->name);
        if (weighted) {
            sentence_add(t, " ");
            add_points(t, d->weights_milli[i]);
        }
    }
    if (d->rule > 0) {
        sentence_add(t, " (%.*s)", STR_ARG(d->rule_text));
    }
}

static void add_scores(struct sentence *t, const struct decision_note *d)
{
    if (d->weights_milli[0] > 0) {
        add_weighted(t, d);
    } else if (d->criterion_n > 1) {
        add_chain(t, d);
    } else {
        sentence_add(t, ": ");
        add_scores_of(t, d->criteria[0], d);
        if (d->criteria[0]->unit == SCORE_IN_MILLI) {
            add_gain_parts(t, d);
        } else if (d->criteria[0]->unit == SCORE_IN_SHARES) {
            add_used_parts(t, d);
        }
    }
}

static void add_reason(struct sentence *t, const struct decision_note *d)
{
    add_strategies(t, d);
    sentence_add(t, " put %.*s before %.*s", STR_ARG(d->best), STR_ARG(d->next));
    switch (d->reason) {
    case PACK_BY_DOUBT:
        sentence_add(t, ": an earlier decision for the latter may still take effect, so bind refuses it now");
        break;
    case PACK_BY_PROMISE:
        sentence_add(t, ": the latter has no room beside pods that were just promised it");
        break;
    case PACK_BY_RULE:
        sentence_add(t, ": a later packing rule, or none, holds on the latter");
        break;
    case PACK_BY_SLACK:
        sentence_add(t, ": less of a fixed slice is wasted");
        break;
    case PACK_BY_SCORE:
        add_scores(t, d);
        break;
    case PACK_BY_NAME:
        sentence_add(t, ": they are equal, and it is the first by name");
        break;
    case PACK_BY_NONE:
    case PACK_BY__MAX:
        BUG("no next node");
    }
}

static void add_fit(struct sentence *t, const struct decision_note *d)
{
    if (d->asked_n > 0) {
        sentence_add(t, "of %" PRIu32 " nodes %" PRIu32 " fit", d->asked_n, d->fit_n);
        if (d->ranked_n > 0 && d->ranked_n != d->fit_n) {
            sentence_add(t, ", and kube-scheduler asked for an order of %" PRIu32, d->ranked_n);
        }
        sentence_add(t, "; ");
    }
}

/* ---- rules ---- */

static void add_selector(struct sentence *t, const char *key, struct kv_list labels, const char **separator)
{
    for (size_t i = 0; i < labels.n; i++) {
        sentence_add(t, "%s%s%.*s: %.*s", i == 0 ? *separator : ", ", i == 0 ? key : "", STR_ARG(labels.items[i].key),
                     STR_ARG(labels.items[i].value));
    }
    if (labels.n > 0) {
        sentence_add(t, "}");
        *separator = ", ";
    }
}

char *packing_rule_words(const struct packing_rule *r, size_t at, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);
    const char *separator = "";

    sentence_add(&t, "packing.rules[%zu] {", at);
    for (size_t i = 0; i < r->namespace_n; i++) {
        sentence_add(&t, "%s%.*s", i == 0 ? "namespaces: [" : ", ", STR_ARG(r->namespaces[i]));
    }
    if (r->namespace_n > 0) {
        sentence_add(&t, "]");
        separator = ", ";
    }
    add_selector(&t, "podSelector: {", r->pod_selector, &separator);
    add_selector(&t, "nodeSelector: {", r->node_selector, &separator);
    sentence_add(&t, "}");
    if (t.n == size - 1) {
        memcpy(buf + size - sizeof(CUT), CUT, sizeof(CUT));
    }
    return buf;
}

char *decision_sentence(const struct decision_note *d, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    if (d->lost) {
        sentence_add(
            &t,
            "why is not known any more: more than %d pods waited for their bind, and the oldest were forgotten; "
            "bind asked for %.*s",
            DECISIONS_CONSIDERED, STR_ARG(d->node));
        return buf;
    }
    add_fit(&t, d);
    if (d->ranked_n == 0) {
        sentence_add(&t, "nobody asked this fgpu for their order; bind asked for %.*s", STR_ARG(d->node));
        return buf;
    }
    if (d->reason == PACK_BY_NONE) {
        sentence_add(&t, "%.*s was the only choice", STR_ARG(d->best));
    } else {
        add_reason(&t, d);
    }
    if (d->node.n > 0 && !str_eq(d->node, d->best)) {
        sentence_add(&t, "; bind asked for %.*s all the same", STR_ARG(d->node));
    }
    return buf;
}
