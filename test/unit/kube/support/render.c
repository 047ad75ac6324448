#include "kube/support/render.h"

#include "base/compiler.h"

/* With its length, so that no two lists of texts look the same. */
static void add(struct strbuf *out, struct str s)
{
    strbuf_addf(out, "%zu:", s.n);
    strbuf_add_str(out, s);
    strbuf_add_char(out, '\n');
}

static void add_list(struct strbuf *out, struct kv_list l)
{
    strbuf_addf(out, "%zu items\n", l.n);
    for (size_t i = 0; i < l.n; i++) {
        add(out, l.items[i].key);
        add(out, l.items[i].value);
    }
}

static void add_containers(struct strbuf *out, const struct container *c, size_t n)
{
    strbuf_addf(out, "%zu containers\n", n);
    for (size_t i = 0; i < n; i++) {
        add(out, c[i].name);
        strbuf_addf(out, "sidecar %d\n", c[i].sidecar);
        add_list(out, c[i].limits);
        add_list(out, c[i].requests);
    }
}

static void add_requirements(struct strbuf *out, const struct node_requirement *q, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add(out, q[i].key);
        strbuf_addf(out, "operator %d\n", (int)q[i].operator_);
        for (size_t k = 0; k < q[i].value_n; k++) {
            add(out, q[i].values[k]);
        }
    }
}

static void add_constraints(struct strbuf *out, const struct pod *p)
{
    strbuf_addf(out, "only %x, requires %d, host network %d, ours %d\n", pod_scheduler_only(p), p->requires_nodes,
                p->host_network, p->nominated_by_planner);
    add_list(out, p->node_selector);
    for (size_t i = 0; i < p->node_term_n; i++) {
        strbuf_addf(out, "term\n");
        add_requirements(out, p->node_terms[i].expressions, p->node_terms[i].expression_n);
        strbuf_addf(out, "of fields\n");
        add_requirements(out, p->node_terms[i].fields, p->node_terms[i].field_n);
    }
}

void render_pod(struct strbuf *out, const struct pod *p)
{
    const struct str texts[] = {p->namespace_,          p->name,          p->uid, p->resource_version, p->node_name,
                                p->nominated_node_name, p->scheduler_name};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        add(out, texts[i]);
    }
    strbuf_addf(out, "phase %d deleting %d priority %d\n", (int)p->phase, p->deleting, p->priority);
    add_list(out, p->labels);
    add_list(out, p->annotations);
    add_containers(out, p->init_containers, p->init_container_n);
    add_containers(out, p->containers, p->container_n);
    add_constraints(out, p);
}

void render_node(struct strbuf *out, const struct node *n)
{
    add(out, n->name);
    add(out, n->uid);
    add(out, n->resource_version);
    strbuf_addf(out, "unschedulable %d\n", n->unschedulable);
    add_list(out, n->labels);
    add_list(out, n->annotations);
    add_list(out, n->allocatable);
}
