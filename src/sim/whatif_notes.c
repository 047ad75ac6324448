/* What a dry run says of the configuration's keys: which differences count, and which are not
 * judged. */
#include "sim/whatif_internal.h"

#include "base/compiler.h"

/* ---- differences that are none ---- */

/* What `fgpu serve` takes from flags; a document does not tell flags from files. */
static bool may_be_a_flag(struct str key)
{
    static const char *const keys[] = {"serving.verbsAddress", "serving.opsAddress",  "serving.healthAddress",
                                       "serving.tls.certFile", "serving.tls.keyFile", "serving.tls.clientCAFile",
                                       "signing.mode",         "signing.privateKey",  "logging.verbosity",
                                       "logging.format"};
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
#define WORDS                                                                                                          \
    "the state has the parsed requests of pods and nodes, not their text; --kubeconfig reads the "                     \
    "text"

static bool is_of(struct str key, const char *section)
{
    struct str s = str_of(section);

    return str_starts(key, s) && (key.n == s.n || key.p[s.n] == '.');
}

static bool differs(const struct config_diff *d, const char *section)
{
    for (size_t i = 0; i < d->n; i++) {
        if (is_of(d->changes[i].key, section)) {
            return true;
        }
    }
    return false;
}

/* Has a rule a nodeSelector, or else a podSelector? */
static bool selects(const struct policy *p, bool nodes)
{
    for (size_t i = 0; i < p->rule_n; i++) {
        if ((nodes ? p->rules[i].node_selector.n : p->rules[i].pod_selector.n) > 0) {
            return true;
        }
    }
    return false;
}

static bool same_names(const struct str *a, size_t a_n, const struct str *b, size_t b_n)
{
    bool same = a_n == b_n;

    for (size_t i = 0; i < a_n && same; i++) {
        same = str_eq(a[i], b[i]);
    }
    return same;
}

static bool same_size(const struct named_size *a, const struct named_size *b)
{
    bool same = a->milli == b->milli && a->mem_mib == b->mem_mib && a->count == b->count &&
                a->variant_n == b->variant_n &&
                same_names(a->namespaces, a->namespace_n, b->namespaces, b->namespace_n);

    for (size_t i = 0; i < a->variant_n && same; i++) {
        const struct size_variant *x = &a->variants[i], *y = &b->variants[i];

        same = x->milli == y->milli && x->mem_mib == y->mem_mib && x->count == y->count &&
               same_names(x->namespaces, x->namespace_n, y->namespaces, y->namespace_n);
    }
    return same;
}

/* A size that is new concerns nobody yet, and is counted as one that fits so many times. */
static bool sizes_mean_something_else(const struct policy *old, const struct policy *new)
{
    for (size_t i = 0; i < old->size_n; i++) {
        const struct named_size *b = NULL;

        for (size_t k = 0; k < new->size_n; k++) {
            b = str_eq(new->sizes[k].name, old->sizes[i].name) ? &new->sizes[k] : b;
        }
        if (b == NULL || !same_size(&old->sizes[i], b)) {
            return true;
        }
    }
    return false;
}

static void add(struct whatif *w, struct str key, const char *because)
{
    if (w->unjudged_n < WHATIF_UNJUDGED_MAX) {
        w->unjudged[w->unjudged_n++] = (struct whatif_unjudged){key, because};
    }
}

static void note(struct whatif *w, bool really, const char *key, const char *because)
{
    if (really) {
        add(w, str_of(key), because);
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
         "judged only for nodes whose settings equal those for all nodes today, because the state does not say "
         "which override applies to a node; --kubeconfig reads the labels of nodes");
    note(w, differs(&w->diff, "devices.maxSharers"), "devices.maxSharers",
         "judged only for GPUs that have as many slots as the old setting says, because the state does not say "
         "whether the node published that number; --kubeconfig reads it");
}

/* Keys that make pods and nodes mean something else, and of which nothing is known here. */
static void note_others(struct whatif *w)
{
    static const char *const known[] = {"sizes",
                                        "nodeTemplates",
                                        "nodePools",
                                        "packing",
                                        "timeWindows",
                                        "devices.overrides",
                                        "devices.memoryReserve",
                                        "devices.maxSharers",
                                        "devices.memoryOnly",
                                        "devices.overcommit"};

    for (size_t i = 0; i < w->diff.n; i++) {
        const struct config_change *c = &w->diff.changes[i];
        bool is_known = c->reload != CONFIG_RELOAD_RELIST;

        for (size_t k = 0; k < ARRAY_LEN(known) && !is_known; k++) {
            is_known = is_of(c->key, known[k]);
        }
        if (!is_known) {
            add(w, c->key, WORDS);
        }
    }
}

void whatif_note_unjudged(const struct whatif_question *q, struct whatif *ret)
{
    const struct policy *old = &q->before->policy, *new = &q->after->policy;

    if (q->state == NULL) {
        return; /* everything is */
    }
    note(ret, differs(&ret->diff, "sizes") && sizes_mean_something_else(old, new), "sizes",
         "of pods that run or wait: the state has amounts, not the names of sizes; --kubeconfig "
         "reads them. How many "
         "more fit is judged");
    note(ret, differs(&ret->diff, "nodeTemplates"), "nodeTemplates", LABELS);
    note_settings(q, ret);
    note(ret, differs(&ret->diff, "nodePools") && new->node_pool_n > 0, "nodePools", LABELS);
    note(ret, selects(old, true) || selects(new, true), "packing.rules with nodeSelector",
         "taken as if they selected no node, because " LABELS);
    note(ret, selects(old, false) || selects(new, false), "packing.rules with podSelector",
         "taken as if they selected no pod, because the state has no labels of pods; --kubeconfig "
         "reads them");
    note(ret, q->state->isolated_n > 0, "fgpu.io/isolate-from",
         "the state has no labels of pods; --kubeconfig reads them");
    note_others(ret);
}
