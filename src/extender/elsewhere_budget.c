#include "extender/elsewhere_budget.h"

#include "extender/elsewhere.h"

#define REFILL_NS (ELSEWHERE_REFILL_MS * NS_PER_MS)

void elsewhere_budget_init(struct elsewhere_budget *b, int64_t now_ns)
{
    *b = (struct elsewhere_budget){.counted_ns = now_ns, .due_ns = now_ns, .unit_ms = ELSEWHERE_REFILL_MS};
}

static int64_t until_ms(int64_t at_ns, int64_t now_ns)
{
    return (at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
}

/* Nobody asked for as long as the last pause was: who did is bound, or gone, or has given up. */
static void refill(struct elsewhere_budget *b, uint64_t most, int64_t now_ns)
{
    const int64_t idle_ns = now_ns - b->counted_ns;

    if (idle_ns >= b->unit_ms * NS_PER_MS) {
        const uint64_t n = (uint64_t)(idle_ns / REFILL_NS);

        b->left_n = b->left_n + n < most ? b->left_n + n : most;
        b->counted_ns += (int64_t)n * REFILL_NS;
        b->unit_ms = ELSEWHERE_REFILL_MS;
    }
}

int64_t elsewhere_budget_ask_ms(struct elsewhere_budget *b, uint64_t most, int64_t least_ms, int64_t now_ns)
{
    int64_t delay_ms = least_ms > REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS ? least_ms : REQUEUE_TRIGGER_ELSEWHERE_PAUSE_MS;

    if (b->due_ns > now_ns) {
        return until_ms(b->due_ns, now_ns);
    }
    refill(b, most, now_ns);
    if (b->left_n > 0) {
        b->left_n--;
    } else {
        delay_ms = delay_ms > b->unit_ms ? delay_ms : b->unit_ms;
        b->counted_ns = now_ns + delay_ms * NS_PER_MS;
        b->unit_ms = b->unit_ms * 2 < ELSEWHERE_VAIN_PAUSE_MAX_MS ? b->unit_ms * 2 : ELSEWHERE_VAIN_PAUSE_MAX_MS;
    }
    b->due_ns = now_ns + delay_ms * NS_PER_MS;
    return delay_ms;
}

bool elsewhere_budget_progress(struct elsewhere_budget *b, int64_t now_ns)
{
    const int64_t soon_ns = now_ns + REFILL_NS;

    b->unit_ms = ELSEWHERE_REFILL_MS;
    if (b->due_ns <= soon_ns) {
        return false;
    }
    b->due_ns = b->counted_ns = soon_ns;
    return true;
}
