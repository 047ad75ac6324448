/* `fgpu whatif`, for people. */
#include "cmd/whatif_show.h"

#include "base/clock.h"
#include "base/printable.h"

#include <inttypes.h>
#include <stdio.h>

#define LINES_MAX 20 /* of each list; -o json has more */

enum { BEFORE, AFTER };

/* What others named: it cannot begin a line of its own. */
static void add_foreign(struct strbuf *out, struct str s)
{
    (void)printable_add(out, s, SIZE_MAX, "");
}

static void add_more(struct strbuf *out, size_t n)
{
    if (n > LINES_MAX) {
        strbuf_addf(out, "... and %zu more (-o json)\n", n - LINES_MAX);
    }
}

static size_t lines(size_t n)
{
    return n < LINES_MAX ? n : LINES_MAX;
}

/* ---- the configuration ---- */

static void add_open_windows(struct strbuf *out, const struct config *c)
{
    bool any = false;

    for (size_t i = 0; i < c->window_n; i++) {
        if ((c->open >> i & 1) != 0) {
            strbuf_addf(out, "%s%.*s", any ? ", " : "", STR_ARG(c->windows[i].name));
            any = true;
        }
    }
    strbuf_add_cstr(out, any ? "" : "none");
}

static void table_windows(const struct whatif_shown *s, struct strbuf *out)
{
    char at[CLOCK_RFC3339_MAX];

    if (s->configs[BEFORE]->window_n == 0 && s->configs[AFTER]->window_n == 0) {
        return;
    }
    strbuf_addf(out, "Time windows open at %s: ", clock_rfc3339(s->at_ms, at));
    add_open_windows(out, s->configs[BEFORE]);
    strbuf_add_cstr(out, " -> ");
    add_open_windows(out, s->configs[AFTER]);
    strbuf_add_cstr(out, "\n\n");
}

static void table_changes(const struct whatif *x, struct strbuf *out)
{
    if (x->diff.n == 0) {
        strbuf_add_cstr(out, "No setting differs.\n");
    } else {
        strbuf_addf(out, "%-32s %-20s %-20s %s\n", "SETTING", "BEFORE", "AFTER", "APPLIES");
    }
    for (size_t i = 0; i < x->diff.n; i++) {
        const struct config_change *c = &x->diff.changes[i];

        strbuf_addf(out, "%-32.*s %-20.*s %-20.*s %s\n", STR_ARG(c->key), STR_ARG(c->before), STR_ARG(c->after),
                    config_reload_text(c->reload));
    }
    for (size_t i = 0; i < x->unjudged_n; i++) {
        strbuf_addf(out, "%snot judged: %.*s: %s\n", i == 0 ? "\n" : "", STR_ARG(x->unjudged[i].key),
                    x->unjudged[i].because);
    }
}

/* ---- numbers ---- */

static void table_pair(struct strbuf *out, const char *what, int64_t before, int64_t after)
{
    strbuf_addf(out, "%-36s %12" PRId64 " %12" PRId64 "\n", what, before, after);
}

static void table_sums(struct strbuf *out, const char *what, const size_t n[2])
{
    table_pair(out, what, (int64_t)n[BEFORE], (int64_t)n[AFTER]);
}

static void table_sizes(const struct whatif *x, struct strbuf *out)
{
    for (size_t i = 0; i < x->size_n; i++) {
        char before[24] = "-", after[24] = "-", name[96];

        if (x->sizes[i].before >= 0) {
            snprintf(before, sizeof(before), "%" PRId64, x->sizes[i].before);
        }
        if (x->sizes[i].after >= 0) {
            snprintf(after, sizeof(after), "%" PRId64, x->sizes[i].after);
        }
        snprintf(name, sizeof(name), "more fit: %s", x->sizes[i].name);
        strbuf_addf(out, "%-36s %12s %12s\n", name, before, after);
    }
}

static void table_numbers(const struct whatif *x, struct strbuf *out)
{
    const struct capacity_totals *b = &x->capacity_totals[BEFORE], *a = &x->capacity_totals[AFTER];
    size_t pod_n = x->pod_n[AFTER] > x->pod_n[BEFORE] ? x->pod_n[AFTER] : x->pod_n[BEFORE];

    strbuf_addf(out,
                "\n%zu of %zu pods would be charged differently, %zu of %zu nodes would be read differently. "
                "No pod is moved.\n\n",
                x->recharged_n, pod_n, x->reread_n, x->node_n);
    strbuf_addf(out, "%-36s %12s %12s\n", "", "BEFORE", "AFTER");
    table_sums(out, "pods with GPUs", x->pod_n);
    table_sums(out, "of these, counted on every GPU", x->foreign_n);
    table_sums(out, "requests not understood", x->defect_n);
    table_sums(out, "closed nodes", x->closed_n);
    table_sums(out, "pods on closed nodes", x->pod_on_closed_n);
    table_sums(out, "over-committed GPUs", x->overcommitted_n);
    table_pair(out, "idle milli", b->idle_milli, a->idle_milli);
    table_pair(out, "fragmented milli", b->fragmented_milli, a->fragmented_milli);
    table_pair(out, "largest free milli of a GPU", b->largest_milli, a->largest_milli);
    table_pair(out, "its free memory, MiB", b->largest_mem_mib, a->largest_mem_mib);
    table_pair(out, "most empty GPUs on a node", b->empty_gpu_n, a->empty_gpu_n);
    table_sizes(x, out);
}

/* ---- lists ---- */

static void table_nodes(const struct whatif *x, struct strbuf *out)
{
    static const char *const states[] = {"open", "closed"};

    for (size_t i = 0; i < lines(x->changed_n); i++) {
        const struct whatif_node *n = &x->nodes[i];

        strbuf_addf(out, "%snode ", i == 0 ? "\n" : "");
        add_foreign(out, n->name);
        strbuf_add_char(out, ':');
        if (n->gpu_n[BEFORE] != n->gpu_n[AFTER]) {
            strbuf_addf(out, " %zu -> %zu GPUs", n->gpu_n[BEFORE], n->gpu_n[AFTER]);
        } else if (n->capacity) {
            strbuf_add_cstr(out, " GPUs of other capacities");
        }
        if (n->closed[BEFORE] != n->closed[AFTER]) {
            strbuf_addf(out, " %s -> %s", states[n->closed[BEFORE]], states[n->closed[AFTER]]);
        }
        strbuf_add_char(out, '\n');
    }
    add_more(out, x->changed_n);
    for (size_t i = 0; i < lines(x->gpu_n); i++) {
        strbuf_addf(out, "%swould be over-committed: ", i == 0 ? "\n" : "");
        add_foreign(out, x->gpus[i].node);
        strbuf_addf(out, " GPU %d ", (int)x->gpus[i].index);
        add_foreign(out, x->gpus[i].uuid);
        strbuf_add_char(out, '\n');
    }
    add_more(out, x->gpu_n);
}

static void add_holding(struct strbuf *out, struct holding h, bool there)
{
    if (there) {
        strbuf_addf(out, "%" PRId64 " milli and %" PRId64 " MiB", h.milli, h.mem_mib);
    } else {
        strbuf_add_cstr(out, "nothing");
    }
}

static void table_charges(const struct whatif *x, struct strbuf *out)
{
    for (size_t i = 0; i < lines(x->recharged_n); i++) {
        const struct whatif_charge *c = &x->charges[i];

        strbuf_addf(out, "%scharged otherwise: ", i == 0 ? "\n" : "");
        add_foreign(out, c->namespace_);
        strbuf_add_char(out, '/');
        add_foreign(out, c->name);
        strbuf_add_cstr(out, " on ");
        add_foreign(out, c->node);
        strbuf_add_cstr(out, ": ");
        add_holding(out, c->held[BEFORE], c->there[BEFORE]);
        strbuf_add_cstr(out, " -> ");
        add_holding(out, c->held[AFTER], c->there[AFTER]);
        strbuf_add_char(out, '\n');
    }
    add_more(out, x->recharged_n);
}

static void add_limited(struct strbuf *out, int64_t held, int64_t limit, const char *unit)
{
    strbuf_addf(out, "%" PRId64 " of ", held);
    if (limit == INT64_MAX) {
        strbuf_addf(out, "any %s", unit);
    } else {
        strbuf_addf(out, "%" PRId64 " %s", limit, unit);
    }
}

static void add_tenant(struct strbuf *out, const struct whatif_tenant *t, int side)
{
    if (!t->there[side]) {
        strbuf_add_cstr(out, "no such tenant");
        return;
    }
    add_limited(out, t->held[side].milli, t->limit[side].milli, "milli");
    strbuf_add_cstr(out, ", ");
    add_limited(out, t->held[side].mem_mib, t->limit[side].mem_mib, "MiB");
    strbuf_add_cstr(out, whatif_tenant_is_over(t, side) ? " (over its limit)" : "");
}

static void table_tenants(const struct whatif *x, struct strbuf *out)
{
    for (size_t i = 0; i < x->tenant_n; i++) {
        strbuf_addf(out, "%stenant ", i == 0 ? "\n" : "");
        add_foreign(out, x->tenants[i].name);
        strbuf_add_cstr(out, ": ");
        add_tenant(out, &x->tenants[i], BEFORE);
        strbuf_add_cstr(out, " -> ");
        add_tenant(out, &x->tenants[i], AFTER);
        strbuf_add_char(out, '\n');
    }
}

static void add_place(struct strbuf *out, const struct whatif_pod *p, int side)
{
    static const char *const words[] = {
        [WHATIF_NOWHERE] = "nowhere",
        [WHATIF_NO_GPU] = "asks for no GPU",
        [WHATIF_DEFECT] = "its request is not understood",
        [WHATIF_UNKNOWN] = "not judged: it depends on labels of other pods, GPU UUIDs or nominations",
    };

    if (p->place[side] == WHATIF_NODE) {
        add_foreign(out, p->node[side]);
    } else {
        strbuf_add_cstr(out, words[p->place[side]]);
    }
}

static void table_pending(const struct whatif *x, struct strbuf *out)
{
    size_t n = x->pending_n < WHATIF_LIST_MAX ? x->pending_n : WHATIF_LIST_MAX;

    for (size_t i = 0; i < n; i++) {
        const struct whatif_pod *p = &x->pending[i];

        strbuf_addf(out, "%spending ", i == 0 ? "\n" : "");
        add_foreign(out, p->namespace_);
        strbuf_add_char(out, '/');
        add_foreign(out, p->name);
        strbuf_add_cstr(out, ": ");
        add_place(out, p, BEFORE);
        strbuf_add_cstr(out, " -> ");
        add_place(out, p, AFTER);
        strbuf_add_char(out, '\n');
    }
    if (x->pending_n > n) {
        strbuf_addf(out, "... and %zu more that wait\n", x->pending_n - n);
    }
}

void whatif_show_table(const struct whatif_shown *s, struct strbuf *out)
{
    const struct whatif *x = s->result;

    table_windows(s, out);
    table_changes(x, out);
    table_numbers(x, out);
    table_nodes(x, out);
    table_charges(x, out);
    table_tenants(x, out);
    table_pending(x, out);
}
