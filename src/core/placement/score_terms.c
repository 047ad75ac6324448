/* A few terms beside each node, the rest of those that have more in a table that grows. */
#include "core/placement/score_terms.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

enum { MORE_FIRST = 16 };

void score_terms_fini(struct score_terms *t)
{
    free(t->nodes);
    free(t->more);
    *t = (struct score_terms){0};
}

void score_terms_forget(struct score_terms *t)
{
    if (t->node_n > 0) {
        memset(t->nodes, 0, t->node_n * sizeof(*t->nodes));
    }
    t->more_n = 0;
}

void score_terms_grow(struct score_terms *t, uint32_t node_n)
{
    t->nodes = xreallocarray(t->nodes, node_n, sizeof(*t->nodes));
    memset(t->nodes + t->node_n, 0, (node_n - t->node_n) * sizeof(*t->nodes));
    t->node_n = node_n;
}

size_t score_terms_bytes(const struct score_terms *t)
{
    return t->node_n * sizeof(*t->nodes) + t->more_cap * sizeof(*t->more);
}

static struct score_terms_more *more_of(struct score_terms *t, struct score_terms_node *n)
{
    if (n->more == 0) {
        if (t->more_n == t->more_cap) {
            t->more_cap = t->more_cap == 0 ? MORE_FIRST : t->more_cap + t->more_cap / 2;
            t->more = xreallocarray(t->more, t->more_cap, sizeof(*t->more));
        }
        n->more = ++t->more_n;
    }
    return &t->more[n->more - 1];
}

void score_terms_keep(struct score_terms *t, uint32_t node, const struct forecast_terms *terms)
{
    struct score_terms_node *n;

    BUG_ON(node >= t->node_n);
    n = &t->nodes[node];
    n->n = terms->n <= FORECAST_TERMS_MAX ? terms->n : 0;
    memcpy(n->few, terms->after, sizeof(n->few));
    if (n->n > SCORE_TERMS_FEW) {
        memcpy(more_of(t, n)->places, terms->after + SCORE_TERMS_FEW,
               (n->n - SCORE_TERMS_FEW) * sizeof(terms->after[0]));
    }
}

static struct forecast_places few_of(const struct score_terms_node *n)
{
    return (struct forecast_places){n->few, n->n > SCORE_TERMS_FEW ? SCORE_TERMS_FEW : n->n};
}

static struct forecast_places rest_of(const struct score_terms *t, const struct score_terms_node *n)
{
    bool many = n->n > SCORE_TERMS_FEW;

    return (struct forecast_places){many ? t->more[n->more - 1].places : NULL, many ? n->n - SCORE_TERMS_FEW : 0};
}

bool score_terms_gain(const struct score_terms *t, uint32_t node, const struct forecast *o,
                      const struct forecast_prices *p, int64_t *ret)
{
    const struct score_terms_node *n = &t->nodes[node];

    return n->n > 0 && forecast_gain_again(o, p, node, few_of(n), rest_of(t, n), ret);
}

size_t score_terms_parts(const struct score_terms *t, uint32_t node, const struct forecast *o,
                         const struct forecast_prices *p, struct score_part *ret)
{
    const struct score_terms_node *n = &t->nodes[node];

    return n->n > 0 ? forecast_gain_parts_again(o, p, node, few_of(n), rest_of(t, n), ret) : 0;
}
