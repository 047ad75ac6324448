/* An explanation in words: for Events, /state and people. */
#include "extender/explain_internal.h"

#include "extender/decision_words.h"

#include <inttypes.h>
#include <stdlib.h>

/* Reasons, pods, and models or sizes that a sentence names. */
enum { REASONS_NAMED = 3, PODS_NAMED = 3, NAMES_NAMED = 8 };

/* Rounded up, so that freeing as much as is said is enough. */
static void add_memory(struct sentence *t, int64_t mib)
{
    if (mib < 1024) {
        sentence_add(t, "%" PRId64 " MiB of memory", mib);
    } else {
        int64_t tenths = (mib * 10 + 1023) / 1024;

        sentence_add(t, "%" PRId64 ".%" PRId64 " GiB of memory", tenths / 10, tenths % 10);
    }
}

static void add_amounts(struct sentence *t, const struct shortfall_device *d)
{
    const char *between = "";

    if (d->milli > 0) {
        sentence_add(t, "%d milli of compute", d->milli);
        between = d->mem_mib > 0 && d->slots > 0 ? ", " : " and ";
    }
    if (d->mem_mib > 0) {
        sentence_add(t, "%s", between);
        add_memory(t, d->mem_mib);
        between = " and ";
    }
    if (d->slots > 0) {
        sentence_add(t, "%sroom for one more sharer", between);
    }
}

static void add_lacks(struct sentence *t, const struct nearest *n)
{
    const struct shortfall_device *d = &n->lacks.devices[0];

    sentence_add(t, "GPU %d", n->indexes[0]);
    if (d->too_small_mib > 0) {
        sentence_add(t, " is too small by ");
        add_memory(t, d->too_small_mib);
    } else if (d->held) {
        sentence_add(t, " is in use and cannot be shared with this pod");
    } else {
        sentence_add(t, " lacks ");
        add_amounts(t, d);
    }
    if (n->lacks.missing_n > 1) {
        sentence_add(t, ", %u GPUs are missing in all", n->lacks.missing_n);
    }
}

static void add_pods(struct sentence *t, const struct nearest *n)
{
    sentence_add(t, "it would fit if ");
    for (size_t i = 0; i < n->cost.pod_n && i < PODS_NAMED; i++) {
        sentence_add(t, "%s%.*s/%.*s",
                     i == 0                   ? ""
                     : i + 1 == n->cost.pod_n ? " and "
                                              : ", ",
                     STR_ARG(n->leaving[i].namespace_), STR_ARG(n->leaving[i].name));
    }
    if (n->cost.pod_n > PODS_NAMED) {
        sentence_add(t, " and %zu more", n->cost.pod_n - PODS_NAMED);
    }
    sentence_add(t, n->cost.pod_n == 1 && n->leaving[0].deleting ? ", which is terminating, ended" : " ended");
}

static void add_node(struct sentence *t, const struct nearest *n, bool names_pods)
{
    if (n->untolerated) {
        sentence_add(t, "it is cordoned or has a taint that the pod does not tolerate");
    }
    if (n->lacks.device_n > 0) {
        sentence_add(t, n->untolerated ? "; " : "");
        add_lacks(t, n);
    }
    if (n->cost.pod_n > 0 && names_pods) {
        sentence_add(t, n->lacks.device_n > 0 ? "; " : "");
        add_pods(t, n);
    }
}

char *explain_node_sentence(const struct nearest *n, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    add_node(&t, n, true);
    return buf;
}

/* ---- the whole ---- */

void explain_add_reasons(struct sentence *t, const uint64_t counts[VERDICT__MAX])
{
    enum verdict order[VERDICT__MAX];
    size_t n = verdicts_by_count(counts, order);

    for (size_t i = 0; i < n && i < REASONS_NAMED; i++) {
        sentence_add(t, "%s%" PRIu64 " %s", i == 0 ? ": " : ", ", counts[order[i]], verdict_text(order[i]));
    }
    if (n > REASONS_NAMED) {
        sentence_add(t, ", and %zu more reasons", n - REASONS_NAMED);
    }
}

static void add_names(struct sentence *t, const struct str *names, size_t n)
{
    for (size_t i = 0; i < n && i < NAMES_NAMED; i++) {
        sentence_add(t, "%s%.*s", i == 0 ? "" : ", ", STR_ARG(names[i]));
    }
    if (n > NAMES_NAMED) {
        sentence_add(t, " and %zu more", n - NAMES_NAMED);
    }
}

static void add_models(struct sentence *t, const struct explanation *e)
{
    const struct demand *d = e->pod.pod.demand;

    if (e->model_n == 0) {
        return;
    }
    sentence_add(t, "; it asks for model ");
    for (size_t i = 0; i < d->model_n && i < NAMES_NAMED; i++) {
        sentence_add(t, "%s%s%.*s", i == 0 ? "" : ",", d->models[i].exclude ? "!" : "", STR_ARG(d->models[i].text));
    }
    sentence_add(t, ", and the cluster has ");
    add_names(t, e->models, e->model_n);
}

/* What is the matter with the nodes that nobody's pod can have: the most frequent note is said, the others are in the
 * document. */
static void add_note(struct sentence *t, const struct explanation *e)
{
    const struct explain_note *n = &e->notes[0];

    if (e->note_n == 0) {
        return;
    }
    sentence_add(t, "; %.*s", STR_ARG(n->node));
    if (n->node_n > 1) {
        sentence_add(t, " and %" PRIu64 " more", n->node_n - 1);
    }
    sentence_add(t, ": %s", n->text);
}

void explain_add_doubt(struct sentence *t, const struct explanation *e)
{
    if (e->in_doubt_n > 0) {
        sentence_add(t,
                     "; bind refuses %zu of these now, because an earlier decision for the node may still take effect",
                     e->in_doubt_n);
    }
}

static void add_waiting(struct sentence *t, const struct explanation *e, bool names_pods)
{
    sentence_add(t, "%" PRIu64 "/%zu nodes have GPUs for it", e->counts[VERDICT_FITS], e->node_n);
    explain_add_reasons(t, e->counts);
    if (e->counts[VERDICT_FITS] > e->open_fit_n) {
        sentence_add(t, "; %" PRIu64 " of those with room cannot be chosen: a taint, or kube-scheduler did not ask",
                     e->counts[VERDICT_FITS] - e->open_fit_n);
    }
    if (e->open_fit_n == 0) {
        add_models(t, e);
        add_note(t, e);
    }
    if (e->fitting_n > 0) {
        sentence_add(t, "; the best is %.*s; it is not for want of GPUs that the pod waits", STR_ARG(e->fitting[0]));
        explain_add_doubt(t, e);
    } else if (e->counts[VERDICT_NO_GPU] == e->node_n) {
        sentence_add(t, "; `fgpu state` says of each node what fgpu knows about its GPUs");
    } else if (e->shown_n > 0 && (e->nodes[0].lacks.device_n > 0 || e->nodes[0].cost.pod_n > 0)) {
        sentence_add(t, "; nearest is %.*s: ", STR_ARG(e->nodes[0].node_name));
        add_node(t, &e->nodes[0], names_pods);
    }
}

/* A node without room says so before it says that the limit is reached, so the limit is told in any case. */
void explain_add_tenant(struct sentence *t, const struct ledger_tenant *of)
{
    const char *between = "";

    if (of->limit.milli == INT64_MAX && of->limit.mem_mib == INT64_MAX) {
        return;
    }
    sentence_add(t, "; its tenant %.*s holds ", STR_ARG(of->name));
    if (of->limit.milli != INT64_MAX) {
        sentence_add(t, "%" PRId64 " of at most %" PRId64 " milli", of->held.milli, of->limit.milli);
        between = " and ";
    }
    if (of->limit.mem_mib != INT64_MAX) {
        sentence_add(t, "%s%" PRId64 " of at most %" PRId64 " MiB", between, of->held.mem_mib, of->limit.mem_mib);
    }
}

/* What speaks against the pod beside GPUs. */
static void add_scheduler(struct sentence *t, const struct explanation *e)
{
    struct str own[EXPLAIN_REASONS_MAX];
    size_t n = explain_scheduler_reasons(e->waiting.message, own);
    char unasked[EXPLAIN_SENTENCE_MAX];

    for (size_t i = 0; i < n && i < REASONS_NAMED; i++) {
        sentence_add(t, "%s%.*s", i == 0 ? "; kube-scheduler itself objects: " : ", ", STR_ARG(own[i]));
    }
    if (e->not_ready == NULL && explain_unasked_sentence(&e->waiting, unasked, sizeof(unasked))[0] != '\0') {
        sentence_add(t, "; %s", unasked);
    }
}

static void add_placed(struct sentence *t, const struct explanation *e)
{
    char text[DECISION_SENTENCE_MAX];

    sentence_add(t, "%s to %.*s", e->pod.state == LEDGER_RESERVED ? "its Binding is on its way" : "bound",
                 STR_ARG(e->pod.node_name));
    if (e->pod.state == LEDGER_FOREIGN) {
        sentence_add(t, " by somebody else: nobody knows which GPUs it uses, so it counts on all that it could be "
                        "using");
    } else if (e->decision != NULL) {
        sentence_add(t, ": %s", decision_sentence(e->decision, text, sizeof(text)));
    } else {
        sentence_add(t, "; why is not known any more: fgpu keeps its last decisions until it restarts");
    }
}

static void add_invalid(struct sentence *t, const struct explanation *e)
{
    const struct demand *d = e->pod.pod.demand;

    sentence_add(t, "%s; it is refused on every node until it is corrected", demand_defect_text(d->defect));
    if (d->as_written.n > 0) {
        sentence_add(t, "; it says %.*s", STR_ARG(d->as_written));
    }
    if (e->size_n > 0) {
        sentence_add(t, "; sizes for namespace %.*s: ", STR_ARG(e->namespace_));
        add_names(t, e->sizes, e->size_n);
    }
}

char *explain_sentence(const struct explanation *e, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    switch (e->kind) {
    case EXPLAIN_UNKNOWN:
        sentence_add(&t, "fgpu knows no pod %.*s/%.*s that asks for GPUs and has not ended", STR_ARG(e->namespace_),
                     STR_ARG(e->name));
        break;
    case EXPLAIN_INVALID:
        add_invalid(&t, e);
        break;
    case EXPLAIN_WAITING:
        add_waiting(&t, e, true);
        if (e->has_tenant && e->open_fit_n == 0) {
            explain_add_tenant(&t, &e->tenant);
        }
        if (e->not_ready != NULL) {
            sentence_add(&t, "; %s", e->not_ready);
        }
        add_scheduler(&t, e);
        break;
    case EXPLAIN_PLACED:
        add_placed(&t, e);
        break;
    }
    return buf;
}

char *explain_tenant_sentence(const struct explanation *e, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    add_waiting(&t, e, false);
    return buf;
}

uint64_t explain_kinds(const struct explanation *e)
{
    uint64_t kinds = UINT64_C(1) << 63;

    _Static_assert(VERDICT__MAX < 63, "a bit for each");
    for (unsigned v = 0; v < VERDICT__MAX; v++) {
        kinds |= (uint64_t)(e->counts[v] > 0) << v;
    }
    return kinds;
}
