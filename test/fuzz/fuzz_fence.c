/* The fence of a node (include/node/fence.h) under containers that come, go, and are told of late, as the input
 * decides: test/unit/node/support/fence_model.h says what must hold after every step. */
#include "support/input_rng.h"

#include "node/support/fence_model.h"

#include <stdlib.h>

#define STEPS_MAX 400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fence_model *m;

    setenv("CMOCKA_TEST_ABORT", "1", 1); /* its checks fail through cmocka */
    input_rng_use(&in);
    m = fence_model_new(0);
    for (unsigned i = 0; i < STEPS_MAX && in.n > 0; i++) {
        fence_model_step(m);
    }
    fence_model_free(m);
    return 0;
}
