#include "extender/decision_words.h"

#include "base/bug.h"
#include "base/sentence.h"
#include "core/forecast/forecast.h"

#include <inttypes.h>

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

/* ---- rsp: what the pod takes from those to come, so the sign is turned ---- */

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

static void add_gain(struct sentence *t, const struct decision_note *d)
{
    bool first = true, fine = is_close(d->best_score, d->next_score);

    sentence_add(t, ": there it takes ");
    add_milli(t, -d->best_score, fine);
    sentence_add(t, " milli of what expected pods could use, on %.*s ", STR_ARG(d->next));
    add_milli(t, -d->next_score, fine);
    for (uint32_t i = 0; i < d->part_n; i++) {
        const struct reason_part *p = &d->parts[i];

        if (p->best == p->next) {
            continue;
        }
        sentence_add(t, "%s", first ? "; of this " : ", ");
        add_part_name(t, &p->of);
        fine = is_close(p->best, p->next);
        sentence_add(t, " ");
        add_milli(t, -p->best, fine);
        sentence_add(t, " and ");
        add_milli(t, -p->next, fine);
        first = false;
    }
}

/* ---- binpack, spread: of twice 100 % ---- */

static void add_used(struct sentence *t, const struct decision_note *d)
{
    sentence_add(t, ": then its GPUs are ");
    add_decimal(t, (int64_t)size_of(d->best_score) / 2);
    sentence_add(t, " %% used, those of %.*s ", STR_ARG(d->next));
    add_decimal(t, (int64_t)size_of(d->next_score) / 2);
    sentence_add(t, " %%");
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

/* ---- tight-fit ---- */

/* The smaller share that is left, or, where that is equal, the larger one. */
static void add_left(struct sentence *t, int64_t best, int64_t next)
{
    const int64_t a = -best / SCORE_PART_EMPTY_MAX, b = -next / SCORE_PART_EMPTY_MAX;
    const bool differs = a / SCORE_PART_LEFT_STEP != b / SCORE_PART_LEFT_STEP;

    sentence_add(t, "leaves ");
    add_decimal(t, differs ? a / SCORE_PART_LEFT_STEP : a % SCORE_PART_LEFT_STEP);
    sentence_add(t, " %% and ");
    add_decimal(t, differs ? b / SCORE_PART_LEFT_STEP : b % SCORE_PART_LEFT_STEP);
    sentence_add(t, " %% of %s on the GPUs that it takes",
                 differs ? "compute or memory, whichever is less," : "the other one");
}

static void add_tight(struct sentence *t, const struct decision_note *d)
{
    bool first = true;

    for (uint32_t i = 0; i < d->part_n; i++) {
        const struct reason_part *p = &d->parts[i];

        if (p->best == p->next) {
            continue;
        }
        sentence_add(t, "%s", first ? ": there and here it " : ", ");
        first = false;
        if (p->of.kind == SCORE_PART_OPENED) {
            sentence_add(t, "shares %" PRId64 " and %" PRId64 " GPUs that were empty",
                         -p->best / SCORE_PART_EMPTY_MAX / SCORE_PART_OPENING,
                         -p->next / SCORE_PART_EMPTY_MAX / SCORE_PART_OPENING);
        } else if (p->of.kind == SCORE_PART_LEFT) {
            add_left(t, p->best, p->next);
        } else {
            sentence_add(t, "leaves %" PRId64 " and %" PRId64 " GPUs empty", -p->best, -p->next);
        }
    }
}

/* ---- the sentence ---- */

static void add_strategies(struct sentence *t, const struct decision_note *d)
{
    for (uint32_t i = 0; i < d->criterion_n; i++) {
        sentence_add(t, "%s%s",
                     i == 0        ? (d->weighted ? "weighted " : "")
                     : d->weighted ? " and "
                                   : ", then ",
                     d->criteria[i]->name);
    }
    if (d->rule > 0) {
        sentence_add(t, " (packing rule %" PRIu32 ")", d->rule);
    }
}

static void add_criteria(struct sentence *t, const struct decision_note *d)
{
    for (uint32_t i = 0; i < d->part_n; i++) {
        const struct reason_part *p = &d->parts[i];

        sentence_add(t, "%s%s %" PRId64 " and %" PRId64, i == 0 ? ": scores by " : ", by ",
                     d->criteria[p->of.which]->name, p->best, p->next);
    }
}

static void add_scores(struct sentence *t, const struct decision_note *d)
{
    switch (d->part_n > 0 ? d->parts[0].of.kind : SCORE_PART__MAX) {
    case SCORE_PART_FILL:
    case SCORE_PART_CORES:
    case SCORE_PART_PLACES:
    case SCORE_PART_HOSTS:
    case SCORE_PART_GANGS:
    case SCORE_PART_SIZES:
    case SCORE_PART_GOODS:
    case SCORE_PART_STRANDED:
    case SCORE_PART_IDLE:
        add_gain(t, d);
        break;
    case SCORE_PART_USED_COMPUTE:
    case SCORE_PART_USED_MEMORY:
    case SCORE_PART_USED_UNITS:
        add_used(t, d);
        break;
    case SCORE_PART_OPENED:
    case SCORE_PART_LEFT:
    case SCORE_PART_EMPTY:
        add_tight(t, d);
        break;
    case SCORE_PART_CRITERION:
        add_criteria(t, d);
        break;
    case SCORE_PART__MAX:
        sentence_add(t, ": scores %" PRId64 " and %" PRId64, d->best_score, d->next_score);
    }
}

static void add_reason(struct sentence *t, const struct decision_note *d)
{
    add_strategies(t, d);
    sentence_add(t, " put %.*s before %.*s", STR_ARG(d->best), STR_ARG(d->next));
    switch (d->reason) {
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

char *decision_sentence(const struct decision_note *d, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    add_fit(&t, d);
    if (d->ranked_n == 0) {
        sentence_add(&t, "kube-scheduler chose without asking for an order");
        return buf;
    }
    if (d->reason == PACK_BY_NONE) {
        sentence_add(&t, "%.*s was the only choice", STR_ARG(d->best));
    } else {
        add_reason(&t, d);
    }
    if (d->node.n > 0 && !str_eq(d->node, d->best)) {
        sentence_add(&t, "; kube-scheduler chose %.*s all the same, because it also counts points of others",
                     STR_ARG(d->node));
    }
    return buf;
}
