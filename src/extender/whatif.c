#include "extender/whatif.h"

#include "core/dialects/dialect.h"
#include "extender/decision_words.h"
#include "extender/explain_internal.h"

#include <inttypes.h>

static int too_large(struct err *reterr)
{
    return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
}

/* The pod as decisions would see it; text is the question's. */
static bool read_request(const struct placement_context *c, struct arena *a, const struct whatif_question *q,
                         struct view_pod *ret)
{
    struct container *container = ARENA_NEW(a, struct container);
    struct demand *demand = ARENA_NEW(a, struct demand);
    struct pod pod = {.namespace_ = q->namespace_, .annotations = q->annotations, .container_n = 1};

    if (container == NULL || demand == NULL) {
        return false;
    }
    /* The API server makes requests of limits where there are none. */
    *container = (struct container){.name = STR("main"), .limits = q->limits, .requests = q->limits};
    pod.containers = container;
    *ret = (struct view_pod){.uid = STR(""), .namespace_ = q->namespace_, .demand = demand};
    return dialect_demand(c->policy, &pod, a, demand) &&
           dialect_label_hashes(&pod, a, &ret->label_hashes, &ret->label_n);
}

/* Why the best node is the best, if it is the one that is chosen. */
static struct decision_note *reason(const struct placement_context *c, struct arena *a, const struct whatif *w,
                                    const struct explain_choice *choice)
{
    size_t fit_n = w->e.counts[VERDICT_FITS];
    struct decision_note *d;

    if (!choice->open[0]) {
        return NULL;
    }
    d = store_explain(c->store, a, &w->e.pod.pod, STR(""), &c->plans, &choice->answer, fit_n);
    d->asked_n = (uint32_t)choice->answer.n;
    d->fit_n = (uint32_t)fit_n;
    return d;
}

/* Nodes that fit become what they say to one more. */
static void note_next(struct whatif *w, const enum verdict *next, size_t n)
{
    for (size_t v = 0; v < VERDICT__MAX; v++) {
        w->next[v] = w->e.counts[v];
    }
    for (size_t i = 0; i < n; i++) {
        w->next[VERDICT_FITS]--;
        w->next[next[i]]++;
    }
}

static int count(const struct placement_context *c, struct arena *a, const struct explain_choice *choice,
                 struct whatif *w, struct err *reterr)
{
    struct str *names = ARENA_ARRAY(a, w->e.open_fit_n + 1, struct str);
    struct store_repeat_question q = {.pod = &w->e.pod.pod,
                                      .plans = &c->plans,
                                      .names = names,
                                      .max = w->asked,
                                      .work = WHATIF_WORK_MAX,
                                      .prices = &choice->answer.prices};
    struct store_repeat_answer answer;
    int rc;

    if (names == NULL) {
        return too_large(reterr);
    }
    for (size_t i = 0; i < w->e.counts[VERDICT_FITS]; i++) {
        if (choice->open[i]) {
            names[q.name_n++] = choice->names[i];
        }
    }
    rc = store_repeat(c->store, a, &q, &answer, reterr);
    if (rc != 0) {
        return rc;
    }
    w->fitting = answer.fitting;
    w->at_least = answer.at_least;
    note_next(w, answer.next, q.name_n);
    if (q.name_n > 0 && w->fitting > 0) {
        w->first = names[0];
        w->devices = answer.devices;
        w->device_n = answer.device_n;
        w->why = reason(c, a, w, choice);
    }
    return 0;
}

int whatif_ask(const struct placement_context *c, struct arena *a, const struct whatif_question *q, size_t node_max,
               struct whatif *ret, struct err *reterr)
{
    struct explain_choice choice;
    int rc;

    *ret = (struct whatif){.asked = q->count, .e = {.kind = EXPLAIN_WAITING, .namespace_ = q->namespace_}};
    if (!store_is_synced(c->store)) {
        return err_set(reterr, ERR_UNAVAILABLE, "pods and nodes have not been read yet");
    }
    ret->e.generation = store_generation(c->store);
    if (!read_request(c, a, q, &ret->e.pod.pod)) {
        return too_large(reterr);
    }
    if (ret->e.pod.pod.demand->defect != DEMAND_OK) {
        ret->outcome = WHATIF_INVALID;
        ret->e.kind = EXPLAIN_INVALID;
        return explain_sizes(c->policy, a, &ret->e) ? 0 : too_large(reterr);
    }
    if (demand_is_empty(ret->e.pod.pod.demand)) {
        ret->outcome = WHATIF_NOT_OURS;
        return 0;
    }
    rc = explain_waiting(c, a, node_max, &ret->e, &choice, reterr);
    return rc != 0 ? rc : count(c, a, &choice, ret, reterr);
}

void whatif_end(struct whatif *w)
{
    decision_put(w->why);
    w->why = NULL;
}

/* ---- words ---- */

static void add_counted(struct sentence *t, const struct whatif *w)
{
    if (w->asked == 1) {
        sentence_add(t, "it fits now, on %zu of %zu nodes; the best is %.*s", w->e.open_fit_n, w->e.node_n,
                     STR_ARG(w->first));
    } else if (w->fitting == w->asked) {
        sentence_add(t, "all %" PRIu64 " fit now", w->asked);
    } else {
        sentence_add(t, "%s%" PRIu64 " of %" PRIu64 " fit now", w->at_least ? "at least " : "", w->fitting, w->asked);
        sentence_add(t, w->at_least ? "; not all that is possible was counted" : "; no node has GPUs for one more");
        explain_add_reasons(t, w->next);
        if (w->e.has_tenant && w->next[VERDICT_TENANT_LIMIT] > 0) {
            explain_add_tenant(t, &w->e.tenant);
        }
    }
    explain_add_doubt(t, &w->e);
    if (w->e.not_ready != NULL) {
        sentence_add(t, "; %s", w->e.not_ready);
    }
}

char *whatif_sentence(const struct whatif *w, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    if (w->outcome == WHATIF_NOT_OURS) {
        sentence_add(&t, "it asks for no GPU: none of its limits and annotations is a request for one");
    } else if (w->outcome == WHATIF_INVALID || w->fitting == 0) {
        return explain_sentence(&w->e, buf, size);
    } else {
        add_counted(&t, w);
    }
    return buf;
}
