/* What was given away first: an oracle that remembers which devices each pod was granted, and how much of them, and
 * knows nothing of the ledger's numbers. Whatever is written, edited or forgotten afterwards, a pod that lives has what
 * it was first granted; so at every further grant the sum of those on a device, the new one included, must be within
 * what the node was last described with (design.md 3.1.11).
 *
 * It counts what a record says, and of containers that run one after the other only the largest: so it never accuses
 * wrongly, and sees every device that is given twice.
 */
#ifndef TEST_CORE_FIRST_GRANTS_H
#define TEST_CORE_FIRST_GRANTS_H

#include "core/record/assignment.h"
#include "core/request/demand.h"
#include "model/device.h"

#define FIRST_GRANTS_MAX 4096
#define FIRST_GRANTS_DEVICES_MAX 1024

struct first_grants {
    struct {
        char node[24], uuid[24];
        int64_t milli, mem_mib, slots; /* as last described, with the factors */
        enum memory_only_mode memory_only;
    } devices[FIRST_GRANTS_DEVICES_MAX];
    size_t device_n;
    struct {
        unsigned pod;
        size_t device; /* into devices */
        int64_t milli, mem_mib, slots;
        int64_t of_milli, of_mem_mib; /* as the device was when it was granted */
        enum memory_only_mode of_memory_only;
        bool alone;
    } grants[FIRST_GRANTS_MAX];
    size_t grant_n;
    int64_t factor_milli, factor_mem_milli;
};

void first_grants_init(struct first_grants *g, int32_t factor_milli, int32_t factor_mem_milli);
void first_grants_describe(struct first_grants *g, struct str node, const struct inventory *inv);
/* NULL, or what is wrong with giving the pod these devices. Devices without a UUID are not followed. */
const char *first_grants_give(struct first_grants *g, unsigned pod, struct str node, const struct demand *d,
                              const struct assignment *as);
void first_grants_end(struct first_grants *g, unsigned pod); /* it is gone, or it never got them */

#endif
