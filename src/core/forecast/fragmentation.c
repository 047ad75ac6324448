/* F of FGD: the compute of a node that typical pods cannot use (fragmentation.h says what counts as such).
 *
 * For each typical pod there is one reason why it cannot use what is idle, or it can use a part. What it cannot use,
 * times the probability of the pod, is added to the sum of that reason; at the end the sums are added in the order of
 * the enumeration. That order is part of the result: floating point sums depend on it, and the published scores are to
 * be met bit by bit (decision 0017). O(typical pods x devices).
 */
#include "core/forecast/fragmentation.h"

/* Why a typical pod leaves compute unusable, in the order of the published sum. */
enum cause {
    CAUSE_CPU_AND_GPU,
    CAUSE_GPU,
    CAUSE_CPU,
    CAUSE_GPULESS,
    CAUSE_GPULESS_CPU, /* wants no GPU, and not even its cores are there */
    CAUSE_MODEL,
    CAUSE__MAX
};

/* Pods of the plugin run here, or there is nothing but the plugin: what counts are its GPUs. */
static bool counts_plugin(const struct fragmentation_node *n)
{
    return n->plugin_managed_cap > 0 && (n->device_n == 0 || n->plugin_managed_free < n->plugin_managed_cap);
}

static int64_t plugin_idle_milli(const struct fragmentation_node *n)
{
    return n->plugin_managed_free > 0 ? plugin_units_milli(n->plugin_managed_free, n->plugin_managed_per_gpu) : 0;
}

int64_t fragmentation_idle_milli(const struct fragmentation_node *n)
{
    int64_t idle = 0;

    if (counts_plugin(n)) {
        return plugin_idle_milli(n);
    }
    for (size_t i = 0; i < n->device_n; i++) {
        idle += device_idle_milli(&n->devices[i]);
    }
    return idle;
}

/* What the node has for a pod that wants GPUs. */
struct offer {
    bool right_kind;      /* some GPU of a model it takes, handed out by whom it asks */
    int32_t enough_n;     /* GPUs with room for one of its parts */
    int64_t usable_milli; /* idle on these */
};

static struct offer offer_of_plugin(const struct fragmentation_node *n, const struct forecast_typical *t)
{
    int64_t idle = plugin_idle_milli(n);

    return (struct offer){t->plugin_managed && t->model_n == 0, (int32_t)(idle / DEVICE_MILLI), idle};
}

static struct offer offer_of_devices(const struct fragmentation_node *n, const struct forecast_typical *t)
{
    struct offer o = {0};
    bool used = false;

    for (size_t i = 0; i < n->device_n; i++) {
        const struct device_state *d = &n->devices[i];
        int64_t idle = device_idle_milli(d);

        if (d->profile != 0) {
            continue; /* MIG is another kind of GPU, which nobody here asks for */
        }
        used = used || (d->flags & DEVICE_IN_USE) != 0;
        if (t->allowed_models != NULL && t->allowed_models[d->model_id] == 0) {
            continue;
        }
        o.right_kind = true;
        if (idle >= t->milli) {
            o.enough_n++;
            o.usable_milli += idle;
        }
    }
    if (t->plugin_managed && (n->plugin_managed_cap == 0 || used)) {
        o.right_kind = false; /* shares keep the plugin's pods away */
    }
    return o;
}

static bool has_cpu(const struct fragmentation_node *n, const struct forecast_typical *t)
{
    return n->host.cpu_cap_milli == 0 || t->cpu_milli <= n->host.cpu_free_milli;
}

static enum cause cause_of(const struct fragmentation_node *n, const struct forecast_typical *t, bool plugin,
                           int64_t *ret_usable)
{
    bool cpu = has_cpu(n, t);
    struct offer o;

    *ret_usable = 0;
    if (t->count == 0) {
        return cpu ? CAUSE_GPULESS : CAUSE_GPULESS_CPU;
    }
    o = plugin ? offer_of_plugin(n, t) : offer_of_devices(n, t);
    if (!o.right_kind) {
        return CAUSE_MODEL;
    }
    if (o.enough_n < t->count) {
        return cpu ? CAUSE_GPU : CAUSE_CPU_AND_GPU;
    }
    if (!cpu) {
        return CAUSE_CPU;
    }
    *ret_usable = o.usable_milli;
    return CAUSE_GPU; /* what is too little for it on single GPUs */
}

double fragmentation_milli(const struct fragmentation_node *n, const struct forecast_typical *typical, size_t typical_n)
{
    int64_t idle = fragmentation_idle_milli(n);
    double sums[CAUSE__MAX] = {0}, sum = 0;
    bool plugin = counts_plugin(n);

    for (size_t i = 0; i < typical_n; i++) {
        const struct forecast_typical *t = &typical[i];
        int64_t usable;
        enum cause cause = cause_of(n, t, plugin, &usable);

        sums[cause] += t->probability * (double)(idle - usable);
    }
    for (int c = 0; c < CAUSE__MAX; c++) {
        sum += sums[c];
    }
    return sum;
}
