/* The search for devices against the brute-force oracle, for demands and nodes drawn from the
 * input, with every strategy. */
#include "support/input_rng.h"

#include "base/rng.h"
#include "core/fit/feasibility.h"
#include "core/support/oracle.h"
#include "core/support/random_demand.h"

#include <stdio.h>
#include <stdlib.h>

#define GPU_REQUESTS 4
#define DEVICES 4

static void check_charges(const struct random_case *c, const struct placement *p)
{
    for (size_t i = 0; i < c->node.device_n; i++) {
        struct charge charge = placement_charge(&c->demand, p, c->devices, i);

        FUZZ_CHECK(charge.milli >= 0 && charge.mem_mib >= 0 && charge.slots >= 0);
        FUZZ_CHECK(charge.slots == 0 || device_takes(&c->devices[i], &charge));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct rng unused;
    struct random_case c;
    struct placement p;
    bool possible;

    input_rng_use(&in);
    rng_init(&unused, 0);
    random_case_draw(&unused, GPU_REQUESTS, DEVICES, &c);
    random_case_cut(&unused, &c);
    possible = (c.node.plugin_managed_used == 0 || !demand_takes_shares(&c.demand)) &&
               oracle_places(c.devices, c.node.device_n, c.allowed_models, &c.demand, NULL);
    for (size_t i = 0; strategies[i] != NULL; i++) {
        enum verdict v = feasibility_place(&c.node, c.devices, c.allowed_models, &c.demand, strategies[i], &p);

        if (v == VERDICT_SEARCH_LIMIT || (v == VERDICT_FITS) != possible) {
            fprintf(stderr, "%s says %s\n%s", strategies[i]->name, verdict_name(v), random_case_text(&c));
            fuzz_fail(__FILE__, __LINE__, "search and oracle differ");
        }
        if (v == VERDICT_FITS) {
            FUZZ_SOUND(
                oracle_objection(c.devices, c.node.device_n, c.allowed_models, &c.demand, c.demand.gpu_request_n, &p));
            check_charges(&c, &p);
        }
    }
    return 0;
}
