/* PATCHes for pods that have none of their own left (extender/elsewhere.h): one bucket for all of them, so that their
 * number does not matter. It is the thread's own. */
#ifndef EXTENDER_ELSEWHERE_BUDGET_H
#define EXTENDER_ELSEWHERE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct elsewhere_budget {
    uint64_t left_n;    /* one more for each ELSEWHERE_REFILL_MS that nobody asks in */
    int64_t counted_ns; /* up to then; in the future: the next one was promised for that time */
    int64_t due_ns;     /* when the last that was asked for is sent */
    int64_t unit_ms;    /* the longer, the more in a row led to nothing */
};

void elsewhere_budget_init(struct elsewhere_budget *b, int64_t now_ns);
/* In how many ms there is one for a pod, not less than `least_ms`. Whoever asks before that shares it. `most`: it holds
 * no more than that. */
int64_t elsewhere_budget_ask_ms(struct elsewhere_budget *b, uint64_t most, int64_t least_ms, int64_t now_ns);
/* A pod that was waiting has been shown a new node. True: the one that was promised is to be sent sooner, in
 * ELSEWHERE_REFILL_MS. */
bool elsewhere_budget_progress(struct elsewhere_budget *b, int64_t now_ns);

#endif
