#include "core/trial.h"

#include "core/fragmentation.h"
#include "core/outlook.h"

/* ---- choosing ---- */

struct trial_choice trial_choose(const struct trial *t, const struct pack_params *p)
{
    struct trial_choice best = {.fits = false};
    int64_t best_score = 0;

    for (size_t i = 0; i < t->node_n; i++) {
        uint32_t node = t->nodes[i];
        struct placement at;
        int64_t score = 0;

        if (choice_make(p, &t->mirror->nodes[node], mirror_devices(t->mirror, node),
                        t->allowed_models, t->demand, &at, &score) != VERDICT_FITS) {
            continue;
        }
        if (!best.fits || score > best_score ||
            (score == best_score &&
             str_cmp(t->mirror->names[node], t->mirror->names[best.node]) < 0)) {
            best = (struct trial_choice){true, node, at};
            best_score = score;
        }
    }
    return best;
}

/* ---- comparing ---- */

static void devices_after(const struct trial *t, const struct trial_choice *c,
                          struct device_state *ret)
{
    choice_take(&t->mirror->nodes[c->node], mirror_devices(t->mirror, c->node), t->demand, &c->at,
                ret);
}

static bool same_set(const struct device_state *a, const struct device_state *b, size_t n)
{
    bool used[DEVICES_PER_NODE_MAX] = {false};

    for (size_t i = 0; i < n; i++) {
        size_t j = 0;

        while (j < n && (used[j] || !device_equal(&a[i], &b[j]))) {
            j++;
        }
        if (j == n) {
            return false;
        }
        used[j] = true;
    }
    return true;
}

static int32_t less(int32_t free, int32_t taken)
{
    int32_t left;

    return __builtin_sub_overflow(free, taken, &left) ? INT32_MIN : left;
}

static double fragmentation_of(const struct trial *t, const struct outlook *o, uint32_t node,
                               const struct device_state *devices, bool with_pod)
{
    const struct node_state *n = &t->mirror->nodes[node];
    struct fragmentation_node f = {.devices = devices,
                                   .device_n = n->device_n,
                                   .unsteered_cap = n->unsteered_cap,
                                   .unsteered_free = n->unsteered_cap - n->unsteered_used,
                                   .host = n->host};

    if (with_pod) {
        f.unsteered_free -= t->demand->unsteered_n;
        f.host.cpu_free_milli = less(n->host.cpu_free_milli, t->demand->host.cpu_milli);
        f.host.mem_free_mib = less(n->host.mem_free_mib, t->demand->host.mem_mib);
    }
    return fragmentation_milli(&f, outlook_typical(o), outlook_typical_n(o));
}

/* What the pod adds to F. */
static double added(const struct trial *t, const struct outlook *o, const struct trial_choice *c,
                    const struct device_state *after)
{
    return fragmentation_of(t, o, c->node, after, true) -
           fragmentation_of(t, o, c->node, mirror_devices(t->mirror, c->node), false);
}

struct trial_difference trial_compare(const struct trial *t, const struct outlook *o,
                                      const struct trial_choice *a, const struct trial_choice *b)
{
    struct device_state after_a[DEVICES_PER_NODE_MAX], after_b[DEVICES_PER_NODE_MAX];
    struct trial_difference d = {.node = a->node != b->node};

    devices_after(t, a, after_a);
    devices_after(t, b, after_b);
    d.devices = !d.node && !same_set(after_a, after_b, t->mirror->nodes[a->node].device_n);
    if (d.node || d.devices) {
        d.frag_milli = added(t, o, b, after_b) - added(t, o, a, after_a);
    }
    return d;
}
