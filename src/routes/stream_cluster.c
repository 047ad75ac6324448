/* The event "cluster": what /state says beside its nodes. */
#include "routes/stream_internal.h"

#include <stdlib.h>

/* ---- conflicts ---- */

/* Where the node is, or would be. */
static size_t find(const struct stream_conflicts *all, struct str node, bool *ret_found)
{
    size_t low = 0, high = all->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (str_cmp(all->items[mid].node, node) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    *ret_found = low < all->n && str_eq(all->items[low].node, node);
    return low;
}

static void drop(struct stream_conflict *c)
{
    free((char *)(uintptr_t)c->node.p);
    strbuf_fini(&c->text);
}

void stream_conflicts_remove(struct stream_conflicts *all, struct str node)
{
    bool found;
    size_t at = find(all, node, &found);

    if (found) {
        drop(&all->items[at]);
        memmove(&all->items[at], &all->items[at + 1], (all->n - at - 1) * sizeof(*all->items));
        all->n--;
    }
}

void stream_conflicts_clear(struct stream_conflicts *all)
{
    for (size_t i = 0; i < all->n; i++) {
        drop(&all->items[i]);
    }
    free(all->items);
    *all = (struct stream_conflicts){.n = 0};
}

static void insert(struct stream_conflicts *all, struct str node, struct strbuf *text)
{
    bool found;
    size_t at = find(all, node, &found);

    if (all->n == all->cap) {
        all->cap = all->cap == 0 ? 16 : all->cap * 2;
        all->items = xreallocarray(all->items, all->cap, sizeof(*all->items));
    }
    memmove(&all->items[at + 1], &all->items[at], (all->n - at) * sizeof(*all->items));
    all->items[at] = (struct stream_conflict){.node = {str_dup(node), node.n}, .text = *text};
    all->n++;
}

void stream_conflicts_put(struct stream_conflicts *all, struct state_document *d, const struct node_item *item)
{
    const struct snapshot_node *n = item->node;
    struct strbuf text;
    struct json_writer w;

    stream_conflicts_remove(all, n->name);
    strbuf_init(&text, STREAM_PIECE_BYTES_MAX);
    for (size_t i = 0; i < n->pod_n; i++) {
        const struct snapshot_pod *p = &d->section.pods[n->first_pod + i];

        if (p->conflict) {
            json_writer_init(&w, &text);
            state_write_pod_conflict(&w, p);
            strbuf_add_char(&text, ',');
        }
    }
    d->node_conflicts.n = 0;
    state_keep_node_conflicts(d, n);
    for (size_t i = 0; i < d->node_conflicts.n; i++) {
        json_writer_init(&w, &text);
        state_write_node_conflict(&w, &d->node_conflicts.items[i]);
        strbuf_add_char(&text, ',');
    }
    if (text.n > 0 && !text.overflowed) {
        insert(all, n->name, &text);
    } else {
        strbuf_fini(&text);
    }
}

static void write_conflicts(struct json_writer *w, const struct stream_conflicts *all, struct state_document *d)
{
    json_write_kv_array_begin(w, "conflicts");
    for (size_t i = 0; i < d->conflicts.n; i++) { /* pods without a node */
        state_write_pod_conflict(w, &d->conflicts.items[i]);
    }
    for (size_t i = 0; i < all->n; i++) {
        json_write_raw(w, (struct str){all->items[i].text.p, all->items[i].text.n - 1});
    }
    json_write_array_end(w);
}

/* ---- the event ---- */

static void write_pending(struct json_writer *w, const struct state_document *d)
{
    size_t n = d->pending.n < STREAM_PENDING_MAX ? d->pending.n : STREAM_PENDING_MAX;

    json_write_kv_array_begin(w, "pending");
    for (size_t i = 0; i < n; i++) {
        const struct snapshot_pod *p = &d->pending.items[i];

        state_write_pending(w, p, waiting_refusal_of(d->refusals, d->refusal_n, p->uid));
    }
    json_write_array_end(w);
    json_write_kv_i64(w, "pendingCount", (int64_t)d->pending.n);
}

static void write_incidents(struct json_writer *w, const struct state_document *d)
{
    json_write_kv_array_begin(w, "incidents");
    for (const struct incident *in = d->head.incidents; in != NULL; in = in->next) {
        state_write_incident(w, in);
    }
    json_write_array_end(w);
}

void stream_write_cluster(struct strbuf *out, struct state_document *d, const struct stream_conflicts *conflicts)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    state_write_summary_member(&w, d);
    state_write_audit(&w, d);
    write_pending(&w, d);
    write_incidents(&w, d);
    write_conflicts(&w, conflicts, d);
    json_write_object_end(&w);
}
