/* The GPUs of a node from whatever its annotations, labels and allocatable say: within the
 * documented ranges, whatever the order of keys, the same when described anew by the annotation,
 * and always a fact that the ledger takes. */
#include "support/notation.h"

#include "base/json_write.h"
#include "core/dialects/dialect.h"
#include "core/inventory/inventory.h"
#include "core/ledger/ledger.h"
#include "core/ledger/snapshot.h"
#include "model/mig.h"

#define MEMORY (2U << 20)

static bool is_instance(const struct device *d)
{
    return d->profile != 0 && d->profile != DEVICE_IN_MIG_MODE;
}

static void check_inventory(const struct inventory *inv)
{
    FUZZ_CHECK(inv->source < INVENTORY_SOURCE__MAX && inv->device_n <= DEVICES_PER_NODE_MAX);
    FUZZ_CHECK(!inv->unmeasured || inv->device_n == 0); /* what nobody has measured is no device */
    FUZZ_CHECK(inv->plugin_managed_n >= 0 && inv->plugin_managed_n <= DEMAND_PLUGIN_MANAGED_MAX);
    for (size_t i = 0; i < inv->device_n; i++) {
        const struct device *d = &inv->devices[i];

        FUZZ_CHECK(d->index >= 0 && d->index <= (is_instance(d) ? INVENTORY_DEVICE_INDEX_MAX : INVENTORY_INDEX_MAX));
        FUZZ_CHECK(d->minor >= -1 && d->minor <= INVENTORY_INDEX_MAX);
        FUZZ_CHECK(d->numa >= -1 && d->numa <= INVENTORY_INDEX_MAX);
        FUZZ_CHECK(d->mem_mib >= 0 && d->mem_mib <= INT32_MAX);
        FUZZ_CHECK(d->slot_n >= 1 && d->slot_n <= INVENTORY_SLOTS_MAX);
        FUZZ_CHECK(i == 0 || d[-1].index < d->index);
        for (size_t k = 0; k < i; k++) {
            FUZZ_CHECK(d->uuid.n == 0 || !str_eq(d->uuid, inv->devices[k].uuid));
        }
    }
}

static void check_same(const struct inventory *a, const struct inventory *b)
{
    FUZZ_CHECK(a->device_n == b->device_n && a->plugin_managed_n == b->plugin_managed_n);
    for (size_t i = 0; i < a->device_n; i++) {
        const struct device *x = &a->devices[i], *y = &b->devices[i];

        FUZZ_SAME(x->uuid, y->uuid);
        FUZZ_SAME(x->model, y->model);
        FUZZ_CHECK(x->index == y->index && x->minor == y->minor && x->mem_mib == y->mem_mib && x->slot_n == y->slot_n &&
                   x->numa == y->numa && x->healthy == y->healthy && x->profile == y->profile &&
                   x->gpu_index == y->gpu_index && x->start == y->start);
    }
}

static void describe_instances(const struct inventory *inv, int32_t gpu_index, struct json_writer *w)
{
    json_write_key(w, "mig");
    json_write_array_begin(w);
    for (size_t i = 0; i < inv->device_n; i++) {
        const struct device *d = &inv->devices[i];
        char text[MIG_PROFILE_BYTES_MAX];

        if (!is_instance(d) || d->gpu_index != gpu_index) {
            continue;
        }
        json_write_object_begin(w);
        json_write_kv_str(w, "uuid", d->uuid);
        json_write_kv_cstr(w, "profile", mig_profile_text(d->profile, text));
        json_write_kv_i64(w, "start", d->start);
        if (d->mem_mib > 0) {
            json_write_kv_i64(w, "memMib", d->mem_mib);
        }
        json_write_kv_bool(w, "healthy", d->healthy);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static struct str describe(const struct inventory *inv, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_i64(&w, "v", 1);
    json_write_key(&w, "gpus");
    json_write_array_begin(&w);
    for (size_t i = 0; i < inv->device_n; i++) {
        const struct device *d = &inv->devices[i];

        if (is_instance(d)) {
            continue; /* stands in its GPU */
        }
        json_write_object_begin(&w);
        json_write_kv_str(&w, "uuid", d->uuid);
        json_write_kv_i64(&w, "index", d->index);
        if (d->minor >= 0) {
            json_write_kv_i64(&w, "minor", d->minor);
        }
        if (d->numa >= 0) {
            json_write_kv_i64(&w, "numa", d->numa);
        }
        if (d->model.n > 0) {
            json_write_kv_str(&w, "model", d->model);
        }
        json_write_kv_i64(&w, "memMib", d->mem_mib);
        json_write_kv_i64(&w, "slots", d->slot_n);
        json_write_kv_bool(&w, "healthy", d->healthy);
        if (d->profile == DEVICE_IN_MIG_MODE) {
            describe_instances(inv, d->index, &w);
        }
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    json_write_object_end(&w);
    return strbuf_view(out);
}

/* What the annotation said, said again. */
static void check_round_trip(const struct policy *p, struct notation *n, const struct inventory *inv, struct arena *a)
{
    struct policy no_reserve = *p;
    struct inventory again;
    struct strbuf text;
    struct kv kv;
    const char *note;

    if (inv->source != INVENTORY_ANNOTATION || inv->device_n == 0 || p->mem_reserve_mib > 0) {
        return;
    }
    strbuf_init(&text, MEMORY);
    kv = (struct kv){STR("fgpu.io/gpus"), describe(inv, &text)};
    n->node.annotations = (struct kv_list){&kv, 1};
    FUZZ_CHECK(dialect_inventory(&no_reserve, &n->node, a, &again, &note));
    check_same(inv, &again);
    strbuf_fini(&text);
}

static void check_ledger(const struct inventory *inv, const char *note, struct arena *a)
{
    const struct ledger_limits limits = {.hash_key = {3, 4}, .overcommit_milli = 1500, .overcommit_mem_milli = 1100};
    struct ledger *l = ledger_new(&limits);
    struct ledger_op op = {.kind = LEDGER_NODE_DESCRIBED,
                           .node = {.name = STR("n"), .uid = STR("nu"), .inventory = inv, .note = note}};
    struct snapshot snap;

    FUZZ_CHECK(ledger_apply(l, &op, NULL) == 0);
    FUZZ_SOUND(ledger_check(l));
    FUZZ_CHECK(ledger_apply(l, &op, NULL) == 0);
    FUZZ_SOUND(ledger_check(l));
    FUZZ_CHECK(snapshot_take(l, a, STR_NULL, STR_NULL, &snap, NULL) == 0 && snap.node_n == 1);
    FUZZ_CHECK(snap.nodes[0].device_n == inv->device_n);
    for (size_t i = 0; i < inv->device_n; i++) {
        FUZZ_SAME(snap.nodes[0].devices[i].uuid, inv->devices[i].uuid);
        FUZZ_CHECK(snap.nodes[0].devices[i].index == inv->devices[i].index);
    }
    ledger_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct notation n;
    struct fuzz_input in = {data, size};
    const struct policy *p = notation_policy(&in);
    struct inventory inv, other;
    const char *note, *other_note;
    struct arena a;

    arena_init(&a, MEMORY);
    notation_read(&in, &a, &n);
    FUZZ_CHECK(dialect_inventory(p, &n.node, &a, &inv, &note));
    check_inventory(&inv);
    if (kv_find(n.node.annotations, STR("fgpu.io/gpus")) != NULL) {
        FUZZ_CHECK(inv.source == INVENTORY_ANNOTATION);
    }
    notation_reverse(&n);
    FUZZ_CHECK(dialect_inventory(p, &n.node, &a, &other, &other_note));
    FUZZ_CHECK(inv.elsewhere == other.elsewhere && inv.unmeasured == other.unmeasured);
    FUZZ_CHECK(inv.source == other.source && (note == NULL) == (other_note == NULL));
    check_same(&inv, &other);
    check_ledger(&inv, note, &a);
    check_round_trip(p, &n, &inv, &a);
    arena_fini(&a);
    return 0;
}
