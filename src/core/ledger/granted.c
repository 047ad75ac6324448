/* What signed records grant, on the node: charges, and devices that only they know of. */
#include "base/bug.h"
#include "core/ledger/device_table.h"
#include "core/ledger/cpu_only_pods.h"
#include "core/ledger/numbers.h"
#include "core/ledger/records.h"
#include "core/ledger/state.h"

/* Of one node, by ordinal; no device twice in a phase more than its containers have it. */
struct sums {
    uint64_t used;
    struct charge of[DEVICES_PER_NODE_MAX];
};

static void sum_add(struct sums *s, uint32_t ordinal, const struct charge *c)
{
    struct charge *sum = &s->of[ordinal];

    if ((s->used >> ordinal & 1) == 0) {
        s->used |= UINT64_C(1) << ordinal;
        *sum = (struct charge){.profile = c->profile};
    }
    sum->milli += c->milli; /* no overflow: amounts of a record are bounded, and so are its containers */
    sum->mem_mib += c->mem_mib;
    sum->slots += c->slots;
    sum->exclusive = sum->exclusive || c->exclusive;
}

static void sums_raise(struct sums *peak, const struct sums *s)
{
    for (uint64_t left = s->used; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);

        if ((peak->used >> i & 1) == 0) {
            peak->used |= UINT64_C(1) << i;
            peak->of[i] = s->of[i];
        } else {
            ledger_charge_max(&peak->of[i], &s->of[i]);
        }
    }
}

/* What the containers of one phase (a bit) are granted. */
static void sums_of_phase(const struct node_entry *n, const struct pod_entry *p, uint64_t phase, struct sums *s)
{
    size_t at = 0;

    s->used = 0;
    for (size_t w = 0; w < p->demand->gpu_request_n; w++) {
        const struct gpu_request *gpu_request = &p->demand->gpu_requests[w];

        for (uint16_t i = 0; i < gpu_request->count; i++, at++) {
            uint32_t ordinal = (gpu_request->phases & phase) != 0 ? ledger_device_find(n, p, p->refs[at]) : LEDGER_NONE;

            if (ordinal != LEDGER_NONE) {
                sum_add(s, ordinal, &p->record_parts[at].charge);
            }
        }
    }
}

void ledger_granted_charges(const struct node_entry *n, struct pod_entry *p)
{
    struct sums peak, of_phase;
    uint64_t phases = 0;

    peak.used = 0;
    for (size_t w = 0; w < p->demand->gpu_request_n; w++) {
        phases |= p->demand->gpu_requests[w].phases;
    }
    for (; phases != 0; phases &= phases - 1) {
        sums_of_phase(n, p, phases & -phases, &of_phase);
        sums_raise(&peak, &of_phase);
    }
    p->charge_n = 0;
    for (uint64_t left = peak.used; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);

        p->charges[p->charge_n++] = (struct pod_charge){i, peak.of[i]};
    }
}

/* ---- devices that only records know of ---- */

/* Their UUIDs stay with the pods: text that nobody has verified fills no table. */

static struct ledger_device lost_device(struct device_ref ref, const struct charge *c, uint32_t model)
{
    bool placed = c->profile != 0 && ref.index >= DEVICE_INSTANCE_INDEX(0, 0) && ref.index < DEVICE_ANONYMOUS_INDEX(0);
    int32_t place = placed ? ref.index - DEVICE_INSTANCE_INDEX(0, 0) : -1;

    return (struct ledger_device){.ref = ref,
                                  .model_id = (uint16_t)model,
                                  .profile = c->profile,
                                  .start = (int8_t)(placed ? place % 8 : -1),
                                  .gpu_index = placed ? place / 8 : -1, /* which is not to be given away whole */
                                  .lost = true,
                                  .recorded = true};
}

void ledger_keep_granted(struct ledger *l, uint32_t node)
{
    const struct node_entry *n = &l->nodes[node];

    if (!n->described) {
        return; /* nothing is decided there, and its inventory may be on its way */
    }
    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];

        for (size_t k = 0; p->record_parts != NULL && k < p->ref_n; k++) {
            if (ledger_device_find(n, p, p->refs[k]) == LEDGER_NONE && n->device_n < DEVICES_PER_NODE_MAX) {
                uint32_t model = intern_take(l->models, STR_NULL);
                const struct ledger_device lost = lost_device(p->refs[k], &p->record_parts[k].charge, model);

                if (model != INTERN_NONE) {
                    ledger_node_add_device(l, node, &lost);
                    ledger_cpu_only_node_described(l, node); /* it has GPUs, if it had none */
                }
            }
        }
    }
}

void ledger_size_granted(struct ledger *l, uint32_t node)
{
    struct node_entry *n = &l->nodes[node];
    int64_t mem_mib[DEVICES_PER_NODE_MAX] = {0};
    int32_t slot_n[DEVICES_PER_NODE_MAX] = {0};
    uint64_t recorded = 0;

    for (uint32_t i = 0; i < n->device_n; i++) {
        recorded |= (uint64_t)n->devices[i].recorded << i;
    }
    for (uint32_t i = 0; recorded != 0 && i < n->pod_n; i++) {
        struct pod_entry *p = &l->pods[n->pods[i]];

        if (p->record_parts == NULL) {
            continue;
        }
        p->charges = xreallocarray(p->charges, n->device_n, sizeof(*p->charges));
        ledger_granted_charges(n, p);
        for (size_t k = 0; k < p->charge_n; k++) {
            mem_mib[p->charges[k].ordinal] += p->charges[k].charge.mem_mib;
            slot_n[p->charges[k].ordinal] += p->charges[k].charge.slots;
        }
    }
    for (; recorded != 0; recorded &= recorded - 1) {
        struct ledger_device *d = &n->devices[__builtin_ctzll(recorded)];
        unsigned i = (unsigned)__builtin_ctzll(recorded);

        l->gpus_version += d->mem_mib != mem_mib[i];
        d->mem_mib = mem_mib[i];
        d->slot_n = slot_n[i];
    }
}
