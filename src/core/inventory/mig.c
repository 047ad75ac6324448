/* MIG instances as NVIDIA's device plugin, GPU Feature Discovery and MIG manager publish them.
 *
 * mixed: resources nvidia.com/mig-<profile> in allocatable, and labels
 * nvidia.com/mig-<profile>.memory and others; GPUs that are not in MIG mode remain nvidia.com/gpu,
 * but nobody says which ones they are. single: every GPU is cut alike, nvidia.com/gpu counts
 * instances, and nvidia.com/gpu.product ends in "-MIG-1g.10gb". Either way kubelet picks, so that
 * there are numbers but no places. Source: k8s-device-plugin, internal/lm and internal/rm.
 */
#include "core/inventory/internal.h"
#include "core/request/demand.h"
#include "model/mig.h"

#include <string.h>

#define PRODUCT_LABEL "nvidia.com/gpu.product"
#define MEMORY_LABEL "nvidia.com/gpu.memory"
#define STATE_LABEL "nvidia.com/mig.config.state"

enum { PROFILES_MAX = DEVICES_PER_NODE_MAX }; /* with one instance more it is too many anyway */

static const char NOTE_TOO_MANY[] = "more than 64 MIG instances on the node";
static const char NOTE_NONE[] = "labels name MIG instances but the device plugin offers none";
static const char NOTE_SHARED[] = "the device plugin shares MIG instances itself: fgpu does not count their replicas";

/* What allocatable says, by profile. */
struct offer {
    size_t n;
    int64_t sum;
    struct {
        uint16_t profile;
        int64_t amount;
    } of[PROFILES_MAX];
};

bool inventory_mig_is_changing(const struct node *node)
{
    const struct str *state = kv_find(node->labels, STR(STATE_LABEL));

    return state != NULL && !str_eq(*state, STR("success")); /* pending, rebooting, failed */
}

static void add_offer(struct inventory_draft *d, struct offer *o, uint16_t profile, int64_t amount)
{
    size_t at = 0;

    if (profile == MIG_NO_PROFILE) {
        inventory_add_note(d, "a MIG resource in allocatable has a profile that fgpu does not know");
        return;
    }
    o->sum += amount;
    while (at < o->n && o->of[at].profile < profile) {
        at++;
    }
    if (at < o->n && o->of[at].profile == profile) { /* under two names */
        o->of[at].amount += amount;
    } else if (amount > 0 && o->n < PROFILES_MAX) {
        memmove(&o->of[at + 1], &o->of[at], (o->n - at) * sizeof(o->of[0]));
        o->of[at].profile = profile;
        o->of[at].amount = amount;
        o->n++;
    }
}

/* False when a number is none. */
static bool read_offer(struct inventory_draft *d, struct offer *ret)
{
    *ret = (struct offer){.n = 0};
    for (size_t i = 0; i < d->node->allocatable.n; i++) {
        const struct kv *r = &d->node->allocatable.items[i];
        int64_t amount;

        if (!str_starts(r->key, STR(MIG_RESOURCE_PREFIX))) {
            continue;
        }
        if (!inventory_read_amount(r->value, DEMAND_PLUGIN_MANAGED_MAX, &amount)) {
            return false;
        }
        add_offer(d, ret, mig_profile_of_resource(r->key), amount);
    }
    return true;
}

/* "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb" in two. A label value has no '+', which becomes '.'. */
static bool split_product(struct str product, struct str *ret_model, uint16_t *ret_profile)
{
    static const char mark[] = "-MIG-";
    char resource[64] = MIG_RESOURCE_PREFIX;
    size_t prefix = strlen(resource);

    for (size_t i = 0; i + sizeof(mark) - 1 < product.n; i++) {
        struct str rest = str_drop(product, i);

        if (str_starts(rest, STR(mark)) && rest.n - strlen(mark) < sizeof(resource) - prefix) {
            rest = str_drop(rest, strlen(mark));
            memcpy(resource + prefix, rest.p, rest.n);
            *ret_model = (struct str){product.p, i};
            *ret_profile = mig_profile_of_resource((struct str){resource, prefix + rest.n});
            return true;
        }
    }
    return false;
}

/* Memory of one instance: the node's own label, else the table. */
static int64_t memory_of(const struct inventory_draft *d, uint16_t profile, const char *label,
                         const struct mig_family *family)
{
    const struct str *text = label == NULL ? NULL : kv_find(d->node->labels, str_of(label));
    const struct mig_shape *s = family == NULL ? NULL : mig_shape_find(family, profile);
    uint64_t v;

    if (text != NULL && str_to_u64(*text, DEMAND_MEM_MIB_MAX, &v)) {
        return (int64_t)v;
    }
    return s == NULL ? 0 : s->mem_mib;
}

static void add_counted(struct inventory_draft *d, uint16_t profile, int64_t n, struct str model, int64_t mem_mib)
{
    for (; n > 0; n--) {
        d->devices[d->device_n] = (struct device){
            .index = DEVICE_ANONYMOUS_INDEX((int32_t)d->device_n),
            .minor = -1,
            .model = model,
            .mem_mib = mem_mib,
            .slot_n = 1,
            .numa = -1,
            .healthy = true,
            .profile = profile,
            .gpu_index = -1,
            .start = -1,
            .counted = true,
        };
        d->device_n++;
    }
}

static enum source_result from_single(struct inventory_draft *d, struct str model, uint16_t profile)
{
    const struct mig_family *family = mig_family_of(model, 0);

    d->mig_counted = d->mig_single = true;
    if (profile == MIG_NO_PROFILE) { /* "-SHARED" behind it, or a new kind */
        return inventory_malformed(d, NOTE_SHARED);
    }
    if (d->plugin_managed_n > DEVICES_PER_NODE_MAX) {
        return inventory_malformed(d, NOTE_TOO_MANY);
    }
    if (d->plugin_managed_bad || d->plugin_managed_n == 0) {
        inventory_add_note(d, NOTE_NONE);
    }
    add_counted(d, profile, d->plugin_managed_bad ? 0 : d->plugin_managed_n, model,
                memory_of(d, profile, MEMORY_LABEL, family));
    return SOURCE_READ;
}

/* A label of this profile, as nvidia.com/mig-1g.10gb.me.memory; NULL when the name is too long. */
static const char *profile_label(uint16_t profile, const char *suffix, char *buf, size_t size)
{
    char text[MIG_PROFILE_BYTES_MAX];
    size_t n = sizeof(MIG_RESOURCE_PREFIX) - 1, text_n, suffix_n = strlen(suffix);

    mig_profile_text(profile, text);
    text_n = strlen(text);
    if (n + text_n + suffix_n >= size) {
        return NULL;
    }
    memcpy(buf, MIG_RESOURCE_PREFIX, n);
    for (size_t i = 0; i < text_n; i++) {
        buf[n + i] = text[i] == '+' ? '.' : text[i];
    }
    memcpy(buf + n + text_n, suffix, suffix_n + 1);
    return buf;
}

static bool is_replicated(const struct inventory_draft *d, uint16_t profile)
{
    char buf[80];
    const char *label = profile_label(profile, ".replicas", buf, sizeof(buf));
    const struct str *text = label == NULL ? NULL : kv_find(d->node->labels, str_of(label));

    return text != NULL && !str_eq(*text, STR("0")) && !str_eq(*text, STR("1"));
}

static enum source_result from_mixed(struct inventory_draft *d, const struct offer *o)
{
    const struct str *product = kv_find(d->node->labels, STR(PRODUCT_LABEL));
    struct str model = product == NULL ? STR_NULL : *product;

    d->mig_counted = true;
    if (o->sum > DEVICES_PER_NODE_MAX) {
        return inventory_malformed(d, NOTE_TOO_MANY);
    }
    for (size_t i = 0; i < o->n; i++) {
        char buf[80];
        uint16_t profile = o->of[i].profile;

        if (is_replicated(d, profile)) {
            return inventory_malformed(d, NOTE_SHARED);
        }
        add_counted(
            d, profile, o->of[i].amount, model,
            memory_of(d, profile, profile_label(profile, ".memory", buf, sizeof(buf)), mig_family_of(model, 0)));
    }
    return SOURCE_READ;
}

/* Labels of instances without any in allocatable: the plugin is not there yet, or not any more. */
static bool has_mig_labels(const struct node *node)
{
    for (size_t i = 0; i < node->labels.n; i++) {
        struct kv label = node->labels.items[i];
        if (str_starts(label.key, STR(MIG_RESOURCE_PREFIX)) && str_ends(label.key, STR(".count")) &&
            !str_eq(label.value, STR("0"))) {
            return true;
        }
    }
    return false;
}

enum source_result inventory_from_mig_plugin(struct inventory_draft *d)
{
    const struct str *product = kv_find(d->node->labels, STR(PRODUCT_LABEL));
    struct offer o;
    struct str model;
    uint16_t profile;

    if (!read_offer(d, &o)) {
        return inventory_malformed(d, "MIG resource in allocatable is not a whole number");
    }
    if (o.n > 0) {
        return from_mixed(d, &o);
    }
    if (product != NULL && split_product(*product, &model, &profile)) {
        return from_single(d, model, profile);
    }
    if (has_mig_labels(d->node)) {
        d->mig_counted = true;
        return inventory_malformed(d, NOTE_NONE);
    }
    return SOURCE_ABSENT;
}

/* ---- beside the annotation ---- */

static void count_as(struct inventory_draft *d, uint16_t profile, int64_t amount)
{
    for (size_t i = 0; i < d->device_n; i++) {
        struct device *dev = &d->devices[i];

        if (dev->profile != profile) {
            continue;
        }
        dev->counted = true;
        if (dev->healthy && amount-- <= 0) {
            dev->healthy = false; /* nobody knows which one the plugin does not offer */
            inventory_add_note(d, "the device plugin offers fewer MIG instances than the annotation lists");
        }
    }
    if (amount > 0) {
        inventory_add_note(d, "the device plugin offers more MIG instances than the annotation lists");
    }
}

void inventory_compare_mig_plugin(struct inventory_draft *d)
{
    const struct str *product = kv_find(d->node->labels, STR(PRODUCT_LABEL));
    struct str model;
    uint16_t profile;
    struct offer o;

    if (!read_offer(d, &o)) {
        inventory_add_note(d, "MIG resource in allocatable is not a whole number");
        o.n = 0;
        d->mig_counted = true;
    }
    d->mig_counted = d->mig_counted || o.n > 0;
    if (!d->mig_counted && d->plugin_managed_n > 0 && product != NULL && split_product(*product, &model, &profile)) {
        d->mig_counted = d->mig_single = true;
        count_as(d, profile, d->plugin_managed_n);
    }
    for (size_t i = 0; d->mig_counted && !d->mig_single && i < d->device_n; i++) {
        uint16_t p = d->devices[i].profile;

        if (p != 0 && p != DEVICE_IN_MIG_MODE && !d->devices[i].counted) {
            size_t k = 0;

            while (k < o.n && o.of[k].profile != p) {
                k++;
            }
            count_as(d, p, k < o.n ? o.of[k].amount : 0);
        }
    }
}
