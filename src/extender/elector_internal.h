/* extender/elector_internal.h - the elector: elector.c has its thread and its life, elector_exchange.c what it asks and
 * writes. */
#ifndef EXTENDER_ELECTOR_INTERNAL_H
#define EXTENDER_ELECTOR_INTERNAL_H

#include "base/rng.h"
#include "base/sync.h"
#include "extender/elector.h"

#include <stdatomic.h>

struct elector {
    struct elector_options o;
    char identity[LEASE_HOLDER_BYTES];
    struct rng rng;
    struct thread thread;
    bool started;
    /* The span in which this process may write, of boot_ns(); an empty one at first. */
    atomic_int_least64_t from_ns, until_ns;

    struct lease_machine machine;    /* of the thread, unless it follows */
    struct follow_machine follow;    /* ... then this */
    enum lease_step step;            /* told last */
    char holder[LEASE_HOLDER_BYTES]; /* that was logged last */
    struct lease_kept kept;          /* of the revision in machine.seen; in `answered` until it is taken */
    bool told;                       /* elected was called */
    enum lease_answer last_answer;

    struct mutex lock; /* of the rest */
    struct condvar changed;
    bool stopping, declines, telling, under_way;
    bool gives_back;
    int64_t give_up_ns;
    enum lease_answer answer;
    struct lease_record object;
    struct lease_kept object_kept;
    int http_status;
    int64_t answered_ns;
};

int64_t elector_boot_ns(void);

/* On its thread. Sends what the machine has told and waits for the answer; false: the thread is to end, and does not
 * wait for it. */
bool elector_exchange(struct elector *e, enum lease_step step);
/* Then: the machine hears of it. */
void elector_take_answer(struct elector *e);

#endif
