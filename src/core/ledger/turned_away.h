/* core/ledger/turned_away.h - pods for which the ledger has no room. */
#ifndef CORE_LEDGER_TURNED_AWAY_H
#define CORE_LEDGER_TURNED_AWAY_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct ledger;
struct ledger_pod_fact;

/* Pods that found no room. Of the bound ones, which hold something: those since the present list of all pods began, and
 * those before, until that list is complete. */
struct turned_away {
    uint64_t now_n, before_n;
    uint64_t total_n;
    char *text; /* of the last one, in one block */
    struct str namespace_, name, node_name;
};

/* For a pod that the ledger does not know, and for the name of its node? */
bool ledger_has_room_for(const struct ledger *l, const struct ledger_pod_fact *f);
void ledger_turn_away(struct ledger *l, const struct ledger_pod_fact *f);
/* A node whose object was not known is being described: may pods be on it that nobody charged? */
void ledger_turned_away_node_described(struct ledger *l, uint32_t node);
void ledger_turned_away_list_begins(struct ledger *l); /* pod_epoch is that of the list already */
void ledger_turned_away_list_ends(struct ledger *l);
/* May a later list enter a pod that the present one turned away? Then annotations must count there as in this one. */
bool ledger_turned_away_come_again(const struct ledger *l);
const char *ledger_check_turned_away(const struct ledger *l); /* as ledger_check() */

#endif
