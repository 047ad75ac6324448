#include "core/plan/node_facts.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/quantity.h"
#include "core/inventory/host_group.h"
#include "core/plan/block.h"
#include "core/request/toleration.h"

#include <stdlib.h>

struct node_facts_table {
    struct node_facts **items; /* each one block; NULL: free */
    uint32_t n, cap, used_n;
    uint32_t *free_places;
    uint32_t free_n;
    struct hashmap index; /* by name */
    uint64_t version;
};

/* Nobody chooses names of nodes but who may create them. */
static const struct hash_key key = {0x706c616e, 0x6e6f646573};

struct node_facts_table *node_facts_table_new(void)
{
    struct node_facts_table *t = xcalloc(1, sizeof(*t));

    hashmap_init(&t->index);
    return t;
}

void node_facts_clear(struct node_facts_table *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        free(t->items[i]);
    }
    hashmap_fini(&t->index);
    t->n = t->used_n = t->free_n = 0;
    t->version++;
}

void node_facts_table_free(struct node_facts_table *t)
{
    if (t != NULL) {
        node_facts_clear(t);
        hashmap_fini(&t->index);
        free(t->items);
        free(t->free_places);
        free(t);
    }
}

static bool has_name(const void *owner, uint32_t value, const void *wanted)
{
    const struct node_facts_table *t = owner;
    const struct str *name = wanted;

    return str_eq(t->items[value]->name, *name);
}

static uint32_t place_of(const struct node_facts_table *t, struct str name)
{
    return hashmap_find(&t->index, hash_name(key, name), has_name, t, &name);
}

const struct node_facts *node_facts_find(const struct node_facts_table *t, struct str name)
{
    uint32_t at = place_of(t, name);

    return at == HASHMAP_NONE ? NULL : t->items[at];
}

uint64_t node_facts_version(const struct node_facts_table *t)
{
    return t->version;
}

uint32_t node_facts_count(const struct node_facts_table *t)
{
    return t->used_n;
}

/* ---- a node's facts ---- */

static int by_key(const void *a, const void *b)
{
    const struct kv *x = a, *y = b;

    return label_key_order(x->key, y->key);
}

static int32_t pods_max_of(const struct node *node)
{
    const struct str *text = kv_find(node->allocatable, STR("pods"));
    struct quantity q;

    if (text == NULL || quantity_parse(*text, &q) != QUANTITY_OK || q.nano < 0) {
        return 0;
    }
    return quantity_value(q) > INT32_MAX ? INT32_MAX : (int32_t)quantity_value(q);
}

static void keep(struct block *b, struct node_facts *f, const struct node_facts *from)
{
    struct taint *taints = block_keep(b, from->taints, from->taint_n * sizeof(*taints));

    for (size_t i = 0; i < from->taint_n; i++) {
        struct str taint_key = block_text(b, from->taints[i].key), value = block_text(b, from->taints[i].value);

        if (taints != NULL) {
            taints[i].key = taint_key;
            taints[i].value = value;
        }
    }
    *f = *from;
    f->taints = taints;
    f->name = block_text(b, from->name);
    f->labels = block_pairs(b, from->labels);
}

static struct node_facts *copy_of(const struct node_facts *from)
{
    struct block b = {.used = sizeof(struct node_facts)};
    struct node_facts counted, *f;

    keep(&b, &counted, from);
    if (b.used > NODE_FACTS_BYTES_MAX) {
        return NULL;
    }
    b.base = xcalloc(1, b.used);
    b.fills = true;
    b.used = sizeof(struct node_facts);
    f = (void *)b.base;
    keep(&b, f, from);
    return f;
}

static bool equal(const struct node_facts *a, const struct node_facts *b)
{
    bool same = a->labels.n == b->labels.n && a->pods_max == b->pods_max && a->shares_gpus == b->shares_gpus &&
                taints_equal(a->taints, a->taint_n, b->taints, b->taint_n);

    for (size_t i = 0; same && i < a->labels.n; i++) {
        same = str_eq(a->labels.items[i].key, b->labels.items[i].key) &&
               str_eq(a->labels.items[i].value, b->labels.items[i].value);
    }
    return same;
}

/* What the node says, text borrowed, arrays in `a`. False: too much. */
static bool read_node(const struct node *node, struct arena *a, struct node_facts *ret)
{
    struct kv *labels = arena_calloc(a, node->labels.n + 1, sizeof(*labels));

    *ret = (struct node_facts){
        .name = node->name, .pods_max = pods_max_of(node), .shares_gpus = host_group_of_node(node).name.n > 0};
    if (labels == NULL || !taints_of_node(node, a, &ret->taints, &ret->taint_n)) {
        return false;
    }
    if (node->labels.n > 0) {
        memcpy(labels, node->labels.items, node->labels.n * sizeof(*labels));
        qsort(labels, node->labels.n, sizeof(*labels), by_key);
    }
    ret->labels = (struct kv_list){labels, node->labels.n};
    return true;
}

/* ---- the table ---- */

static uint32_t take_place(struct node_facts_table *t)
{
    if (t->free_n > 0) {
        return t->free_places[--t->free_n];
    }
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 64 : t->cap * 2;
        t->items = xreallocarray(t->items, t->cap, sizeof(struct node_facts *));
        t->free_places = xreallocarray(t->free_places, t->cap, sizeof(*t->free_places));
    }
    return t->n++;
}

void node_facts_remove(struct node_facts_table *t, struct str name)
{
    uint32_t at = place_of(t, name);

    if (at == HASHMAP_NONE) {
        return;
    }
    hashmap_remove(&t->index, hash_name(key, name), at);
    free(t->items[at]);
    t->items[at] = NULL;
    t->free_places[t->free_n++] = at;
    t->used_n--;
    t->version++;
}

static void enter(struct node_facts_table *t, struct node_facts *f)
{
    uint32_t at = place_of(t, f->name);

    if (at == HASHMAP_NONE) {
        at = take_place(t);
        t->items[at] = NULL;
        hashmap_insert(&t->index, hash_name(key, f->name), at);
        t->used_n++;
    }
    free(t->items[at]);
    t->items[at] = f;
    t->version++;
}

bool node_facts_put(struct node_facts_table *t, const struct node *node)
{
    const struct node_facts *before = node_facts_find(t, node->name);
    struct node_facts read, *copy;
    struct arena a;
    bool known;

    arena_init(&a, 4 * NODE_FACTS_BYTES_MAX);
    known = read_node(node, &a, &read);
    if (known && (before == NULL || !equal(before, &read))) {
        copy = copy_of(&read);
        known = copy != NULL;
        if (known) {
            enter(t, copy);
        }
    }
    if (!known) {
        node_facts_remove(t, node->name);
    }
    arena_fini(&a);
    return known;
}
