#include "extender/explain_internal.h"

#include <stdlib.h>

/* ---- what nodes say of themselves ---- */

/* Is it for what the node says of its GPUs that it takes nobody's pod? */
static bool is_of_inventory(enum verdict v)
{
    return v == VERDICT_NO_GPU || v == VERDICT_UNMEASURED || v == VERDICT_ELSEWHERE || v == VERDICT_UNCOUNTED ||
           v == VERDICT_HAND_OFF;
}

/* A text that comes when there is no room for it is counted nowhere: there are fewer texts than that in practice. */
static void count_note(struct explanation *e, const char *text, struct str node)
{
    size_t i = 0;

    while (i < e->note_n && e->notes[i].text != text) {
        i++;
    }
    if (i == EXPLAIN_NOTES_MAX) {
        return;
    }
    if (i == e->note_n) {
        e->notes[e->note_n++] = (struct explain_note){.text = text, .node = node};
    }
    e->notes[i].node_n++;
}

static int more_nodes_first(const void *a, const void *b)
{
    const struct explain_note *x = a, *y = b;

    if (x->node_n != y->node_n) {
        return x->node_n > y->node_n ? -1 : 1;
    }
    return str_cmp(x->node, y->node);
}

static bool take_notes(struct store *s, struct arena *a, const struct store_pack_answer *judged, struct explanation *e)
{
    struct str *names = ARENA_ARRAY(a, judged->n + 1, struct str);
    const char **notes = ARENA_ARRAY(a, judged->n + 1, const char *);
    size_t n = 0;

    if (names == NULL || notes == NULL) {
        return false;
    }
    for (size_t i = 0; i < judged->n; i++) {
        if (is_of_inventory(judged->results[i].verdict)) {
            names[n++] = judged->results[i].name;
        }
    }
    store_node_notes(s, names, n, notes);
    for (size_t i = 0; i < n; i++) {
        if (notes[i] != NULL) {
            count_note(e, notes[i], names[i]);
        }
    }
    qsort(e->notes, e->note_n, sizeof(*e->notes), more_nodes_first);
    return true;
}

/* ---- names that exist ---- */

static int by_text(const void *a, const void *b)
{
    const struct str *x = a, *y = b;

    return str_cmp(*x, *y);
}

static bool take_models(struct store *s, struct arena *a, struct explanation *e)
{
    struct str *models;

    if (e->counts[VERDICT_NOT_ALLOWED] == 0 || e->pod.pod.demand->model_n == 0) {
        return true;
    }
    models = store_models(s, a, &e->model_n);
    if (models == NULL) {
        return false;
    }
    qsort(models, e->model_n, sizeof(*models), by_text);
    e->models = models;
    return true;
}

bool explain_hints(const struct placement_context *c, struct arena *a, const struct store_pack_answer *judged,
                   struct explanation *ret)
{
    return take_notes(c->store, a, judged, ret) && take_models(c->store, a, ret);
}

bool explain_sizes(const struct policy *p, struct arena *a, struct explanation *ret)
{
    enum demand_defect defect = ret->pod.pod.demand->defect;
    struct str *sizes;

    if (defect != DEMAND_UNKNOWN_SIZE && defect != DEMAND_SIZE_ELSEWHERE) {
        return true;
    }
    sizes = ARENA_ARRAY(a, p->size_n + 1, struct str);
    for (size_t i = 0; sizes != NULL && i < p->size_n; i++) {
        struct named_size buffer;
        bool elsewhere;

        if (policy_size_of(p, p->sizes[i].name, ret->namespace_, &buffer, &elsewhere) != NULL) {
            sizes[ret->size_n++] = arena_str(a, p->sizes[i].name); /* the policy may be gone when this is read */
        }
    }
    ret->sizes = sizes;
    return sizes != NULL && !a->overflowed;
}
