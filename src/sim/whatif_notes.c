/* What a dry run says of the configuration's keys: which differences count, and which are not judged. */
#include "sim/whatif_internal.h"

#include "base/bug.h"

#include <string.h>

/* ---- differences that are none ---- */

/* What `fgpu serve` takes from flags; a document does not tell flags from files. */
static bool may_be_a_flag(struct str key)
{
    static const char *const keys[] = {"serving.verbsAddress", "serving.opsAddress",
                                       "serving.healthAddress", "serving.tls.certFile",
                                       "serving.tls.keyFile", "serving.tls.clientCAFile",
                                       "logging.verbosity", "logging.format"};
    bool found = false;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        found = found || str_eq_cstr(key, keys[i]);
    }
    return found;
}

static bool is_given(const struct config *c, struct str key)
{
    struct strbuf origin;
    bool given;

    strbuf_init(&origin, 1 << 16);
    config_origin_text(c, key, &origin);
    given = !str_eq_cstr(strbuf_view(&origin), "default");
    strbuf_fini(&origin);
    return given;
}

void whatif_forget_flags(struct config_diff *d, const struct config *next)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++) {
        if (!may_be_a_flag(d->changes[i].key) || is_given(next, d->changes[i].key)) {
            d->changes[n++] = d->changes[i];
        }
    }
    d->n = n;
}

/* ---- what is not judged ---- */

#define LABELS "the state has no labels of nodes; --kubeconfig reads them"
#define WORDS "the state has amounts, not the words of requests; --kubeconfig reads them"

static bool differs(const struct config_diff *d, const char *section)
{
    struct str s = str_of(section);

    for (size_t i = 0; i < d->n; i++) {
        if (str_starts(d->changes[i].key, s) && (d->changes[i].key.n == s.n || d->changes[i].key.p[s.n] == '.')) {
            return true;
        }
    }
    return false;
}

static bool selects_nodes(const struct policy *p)
{
    for (size_t i = 0; i < p->rule_n; i++) {
        if (p->rules[i].node_selector.n > 0) {
            return true;
        }
    }
    return false;
}

static bool selects_pods(const struct policy *p)
{
    for (size_t i = 0; i < p->rule_n; i++) {
        if (p->rules[i].pod_selector.n > 0) {
            return true;
        }
    }
    return false;
}

/* A size that is new concerns nobody yet, and is counted as one that fits so many times. */
static bool sizes_mean_something_else(const struct policy *old, const struct policy *new)
{
    for (size_t i = 0; i < old->size_n; i++) {
        const struct named_size *a = &old->sizes[i], *b = NULL;

        for (size_t k = 0; k < new->size_n; k++) {
            b = str_eq(new->sizes[k].name, a->name) ? &new->sizes[k] : b;
        }
        if (b == NULL || a->milli != b->milli || a->mem_mib != b->mem_mib || a->count != b->count) {
            return true;
        }
    }
    return false;
}

static void note(struct whatif *w, bool really, const char *key, const char *because)
{
    if (really) {
        BUG_ON(w->unjudged_n == WHATIF_UNJUDGED_MAX);
        w->unjudged[w->unjudged_n++] = (struct whatif_unjudged){key, because};
    }
}

static void note_settings(const struct whatif_question *q, struct whatif *w)
{
    static const char *const keys[] = {"devices.memoryReserve", "devices.maxSharers", "devices.memoryOnly",
                                       "devices.overcommit"};
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        any = any || differs(&w->diff, keys[i]);
    }
    note(w, differs(&w->diff, "devices.overrides"), "devices.overrides", LABELS);
    note(w, any && q->before->policy.override_n > 0 && !differs(&w->diff, "devices.overrides"), "devices",
         "judged for nodes whose settings equal those for all nodes today, because which override a node goes by is "
         "not in the state; --kubeconfig reads the labels of nodes");
    note(w, differs(&w->diff, "devices.maxSharers"), "devices.maxSharers",
         "judged for GPUs that have as many slots as the old setting says, because the state does not tell whether "
         "the node published that number; --kubeconfig reads it");
}

void whatif_note_unjudged(const struct whatif_question *q, struct whatif *ret)
{
    const struct policy *old = &q->before->policy, *new = &q->after->policy;

    if (q->state == NULL) {
        return; /* everything is */
    }
    note(ret, differs(&ret->diff, "resources"), "resources", WORDS);
    note(ret, differs(&ret->diff, "sizes") && sizes_mean_something_else(old, new), "sizes",
         "of pods that run or wait: the state has amounts, not the names of sizes; --kubeconfig reads them. How many "
         "more fit is judged");
    note(ret, differs(&ret->diff, "nodeTemplates"), "nodeTemplates", LABELS);
    note_settings(q, ret);
    note(ret, differs(&ret->diff, "nodePools") && new->node_pool_n > 0, "nodePools", LABELS);
    note(ret, selects_nodes(old) || selects_nodes(new), "packing.rules with nodeSelector",
         "taken as if they selected no node, because " LABELS);
    note(ret, selects_pods(old) || selects_pods(new), "packing.rules with podSelector",
         "taken as if they selected no pod, because the state has no labels of pods; --kubeconfig reads them");
    note(ret, q->state->isolated_n > 0, "fgpu.io/isolate-from",
         "the state has no labels of pods; --kubeconfig reads them");
}
