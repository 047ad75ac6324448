/* extender/run_keeper_internal.h - the keeper of the run object (extender/run_keeper.h), and how it talks to the API
 * server: one call at a time of each kind, which it waits for. */
#ifndef EXTENDER_RUN_KEEPER_INTERNAL_H
#define EXTENDER_RUN_KEEPER_INTERNAL_H

#include "base/sync.h"
#include "extender/run_keeper.h"

/* One call at a time of each kind. */
struct exchange {
    struct run_keeper *of;
    bool under_way;
    enum run_answer answer;
    struct run_object object; /* of ANSWER_OBJECT */
};

struct run_keeper {
    struct run_keeper_options o;
    struct run_claim claim; /* of the thread; after run_keeper_stop() of whoever calls */
    char wake[RUN_REVISION_BYTES];
    int64_t alone_ns; /* from then on nobody else can live and not have looked */
    bool was_ours;
    char warned_of[RUN_ID_BYTES]; /* another process */
    struct thread thread;
    bool joined;

    struct mutex lock; /* of the rest */
    struct condvar changed;
    bool stopping;
    struct exchange run, wake_read;
};

/* Starts a GET of the run object; a PATCH of k->claim.seen; a PATCH of the wake object. */
void run_keeper_get(struct run_keeper *k, uint32_t deadline_ms);
void run_keeper_write(struct run_keeper *k, enum run_state state, int64_t hold_off_ms, uint32_t deadline_ms);
void run_keeper_wake(struct run_keeper *k, uint32_t deadline_ms);
/* Reads the revision of the wake object into k->wake, which stays as it is if that cannot be read. Blocks. */
void run_keeper_read_wake(struct run_keeper *k, uint32_t deadline_ms);
/* A GET of the run object, and of the wake object if k->wake is not known. False: as wait. Blocks. */
bool run_keeper_ask(struct run_keeper *k, uint32_t deadline_ms);
/* False: we are stopping, and the answers may still come. */
bool run_keeper_wait(struct run_keeper *k);

#endif
