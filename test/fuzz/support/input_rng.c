#include "support/input_rng.h"

#include "base/rng.h"

static struct fuzz_input *source;

void input_rng_use(struct fuzz_input *in)
{
    source = in;
}

uint64_t __wrap_rng_below(struct rng *r, uint64_t n);
uint64_t __wrap_rng_below(struct rng *r, uint64_t n)
{
    (void)r;
    return fuzz_below(source, (uint32_t)n);
}
