/* A node in all vocabularies together: the sources of an inventory, in their order, asked of every dialect that claims
 * the node. Contract: core/inventory/inventory.h. */
#include "core/dialects/dialect.h"
#include "core/dialects/foreign_internal.h"

/* The dialects whose words the node has, a bit each in the order of the table. */
static uint64_t claims_of_node(const struct policy *p, const struct node *node)
{
    uint64_t claims = 0;

    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (dialects[i]->claims_node != NULL && dialects[i]->claims_node(p, node)) {
            claims |= UINT64_C(1) << i;
        }
    }
    return claims;
}

/* What plugins sell beside the devices, before anybody says what the devices are. */
static void read_offers(struct inventory_draft *d, uint64_t claims)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (claims & UINT64_C(1) << i) {
            (void)dialects[i]->parse_node(d, INVENTORY_NONE);
        }
    }
}

static enum source_result read_source(struct inventory_draft *d, uint64_t claims, enum inventory_source source)
{
    enum source_result r = SOURCE_ABSENT;

    for (size_t i = 0; dialects[i] != NULL && r == SOURCE_ABSENT; i++) {
        if (claims & UINT64_C(1) << i) {
            r = dialects[i]->parse_node(d, source);
        }
    }
    return r == SOURCE_ABSENT ? inventory_from_machine(d, source) : r;
}

static enum inventory_source read_devices(struct inventory_draft *d, uint64_t claims)
{
    for (enum inventory_source s = INVENTORY_ANNOTATION; s < INVENTORY_SOURCE__MAX; s++) {
        switch (read_source(d, claims, s)) {
        case SOURCE_ABSENT:
        case SOURCE_DEFERRED:
            break;
        case SOURCE_READ:
            return s;
        case SOURCE_MALFORMED:
            d->device_n = 0;
            return s;
        }
    }
    return INVENTORY_NONE;
}

bool dialect_inventory(const struct policy *p, const struct node *node, struct arena *a, struct inventory *ret,
                       const char **ret_note)
{
    struct inventory_draft d; /* large, and only its start is touched: not cleared */
    uint64_t claims = claims_of_node(p, node);
    enum inventory_source source;

    inventory_begin(&d, p, node, a);
    read_offers(&d, claims);
    source = read_devices(&d, claims);
    d.foreign = foreign_agent(p, node);
    return inventory_finish(&d, source, ret, ret_note);
}
