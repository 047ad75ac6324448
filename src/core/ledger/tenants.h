/* core/ledger/tenants.h - what tenants hold (core/tenancy/tenancy.h), kept by the ledger. */
#ifndef CORE_LEDGER_TENANTS_H
#define CORE_LEDGER_TENANTS_H

#include "core/tenancy/tenancy.h"

struct ledger;
struct pod_entry;

void ledger_count_pod(struct ledger *l, struct pod_entry *p);
void ledger_count_node(struct ledger *l, uint32_t node); /* before its pods */

struct holding ledger_tenant_residual(const struct ledger *l, struct str namespace_);

/* May some placement of this demand be too much for what is left? If not, none need be looked at. */
bool ledger_may_pass_tenant(const struct ledger *l, const struct demand *d, struct holding residual);
const char *ledger_check_tenancy(const struct ledger *l); /* as ledger_check() */

#endif
