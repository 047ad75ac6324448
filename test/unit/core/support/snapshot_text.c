#include "core/support/snapshot_text.h"

#include "support/cmocka.h"

#include <stdlib.h>

void text_init(struct text *t)
{
    *t = (struct text){0};
    arena_init(&t->arena, 64U << 20);
    strbuf_init(&t->nodes, 64U << 20);
}

void text_fini(struct text *t)
{
    arena_fini(&t->arena);
    strbuf_fini(&t->nodes);
    free(t->pods);
}

static void put_str(struct strbuf *b, struct str s)
{
    strbuf_add_str(b, s);
    strbuf_add_char(b, ' ');
}

static void text_device(struct text *t, const struct snapshot *s, const struct snapshot_device *d)
{
    put_str(&t->nodes, d->uuid);
    put_str(&t->nodes, d->model);
    strbuf_addf(&t->nodes, "%d %d%d%d%d %d/%d %ld/%ld %d/%d\n", d->index, d->healthy, d->lost, d->exclusive,
                d->overcommitted, d->milli_charged, d->milli_cap, (long)d->mem_charged_mib, (long)d->mem_cap_mib,
                d->slot_charged, d->slot_cap);
    for (size_t i = 0; i < d->allocation_n; i++) {
        put_str(&t->nodes, s->pods[d->allocations[i].pod].uid);
        put_str(&t->nodes, d->allocations[i].container);
        strbuf_addf(&t->nodes, "%d %d %ld %d %lx\n", d->allocations[i].init, d->allocations[i].milli,
                    (long)d->allocations[i].mem_mib, d->allocations[i].kind, (unsigned long)d->allocations[i].phases);
    }
    for (size_t i = 0; i < d->raised_n; i++) {
        put_str(&t->nodes, s->pods[d->raised[i].pod].uid);
        strbuf_addf(&t->nodes, "raised %d %ld\n", d->raised[i].charge.milli, (long)d->raised[i].charge.mem_mib);
    }
}

static void sum_device(struct text *t, const struct snapshot_device *d)
{
    t->device_n++;
    t->milli_cap += d->milli_cap;
    t->milli_charged += d->milli_charged;
    t->mem_cap_mib += d->mem_cap_mib;
    t->mem_charged_mib += d->mem_charged_mib;
}

void text_pod(struct text *t, const struct snapshot_pod *p)
{
    struct strbuf b;

    strbuf_init(&b, 1 << 20);
    put_str(&b, p->uid);
    put_str(&b, p->namespace_);
    put_str(&b, p->name);
    put_str(&b, p->node_name);
    put_str(&b, p->decision_id);
    strbuf_addf(&b, "%s %d %d %d %d %d %d %zu %ld %s", p->dialect, p->state, p->defect, p->deleting,
                p->plugin_managed_n, p->priority, p->source, p->demand == NULL ? 0 : p->demand->gpu_request_n,
                (long)p->since_ms, p->conflict ? p->conflict_text : "-");
    t->pods = realloc(t->pods, (t->pod_n + 1) * sizeof(*t->pods));
    t->pods[t->pod_n++] = arena_str(&t->arena, strbuf_view(&b));
    strbuf_fini(&b);
    t->by_state[p->state]++;
}

void text_add(struct text *t, const struct snapshot *s)
{
    for (size_t i = 0; i < s->node_n; i++) {
        const struct snapshot_node *n = &s->nodes[i];

        strbuf_addf(&t->nodes, "node ");
        put_str(&t->nodes, n->name);
        put_str(&t->nodes, n->uid);
        strbuf_addf(&t->nodes, "%d%d %d %s %d/%d %d/%d %d/%d\n", n->described, n->schedulable, n->source,
                    n->note == NULL ? "" : n->note, n->plugin_managed_used, n->plugin_managed_cap,
                    n->host.cpu_free_milli, n->host.cpu_cap_milli, n->host.mem_free_mib, n->host.mem_cap_mib);
        put_str(&t->nodes, n->host_group);
        strbuf_addf(&t->nodes, "%ld\n", (long)n->host_gpu_mem_mib);
        for (size_t j = 0; j < n->device_n; j++) {
            text_device(t, s, &n->devices[j]);
            if (n->described) {
                sum_device(t, &n->devices[j]);
            }
        }
        for (size_t j = 0; j < n->pod_n; j++) { /* those that first_pod promises */
            assert_true(str_eq(s->pods[n->first_pod + j].node_name, n->name));
        }
    }
    for (size_t i = 0; i < s->pod_n; i++) {
        text_pod(t, &s->pods[i]);
    }
}
