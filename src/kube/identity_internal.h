/* kube/identity_internal.h - what the identity's files share: identity.c decides, identity_files.c
 * reads, identity_proof.c keeps, identity_plugin.c runs the exec plugin. */
#ifndef KUBE_IDENTITY_INTERNAL_H
#define KUBE_IDENTITY_INTERNAL_H

#include "kube/exec_plugin.h"
#include "kube/identity.h"

#include "base/strbuf.h"
#include "base/sync.h"

#include <stdatomic.h>

/* ---- texts of one moment ---- */

/* Owned; a buffer without memory (n == 0) is absent. */
struct material {
    struct strbuf token, ca, cert, key;
};

void material_init(struct material *m);
void material_fini(struct material *m); /* wipes */
bool material_eq(const struct material *a, const struct material *b);

enum material_file { MATERIAL_TOKEN, MATERIAL_CA, MATERIAL_PAIR, MATERIAL_FILE__MAX };

/* Fills *ret (initialised, empty) from the files of `creds`, and from its texts where there is no
 * file. Every part that cannot be read is left out, counted in the result and described in `why`,
 * which may be NULL elsewhere. */
unsigned material_read(const struct credentials *creds, struct material *ret, struct err why[MATERIAL_FILE__MAX]);
/* RFC 6750 b64token is narrower; what matters is that nothing can end the header line. */
bool material_is_token(struct str s);

/* ---- proofs ---- */

/* Takes nothing over. `before` (may be NULL) lends the files whose content did not change, so that
 * connections stay usable. ERR_INTERNAL. */
WARN_UNUSED int proof_new(uint64_t generation, const struct material *m, const struct proof *before,
                          const struct proof **ret, struct err *reterr);
const struct proof *proof_ref(const struct proof *p);

/* ---- the exec plugin's thread ---- */

struct plugin {
    struct thread thread;
    bool started; /* the thread exists; the owner's */
    atomic_bool stopping;
    struct condvar wake; /* with identity.lock */

    /* under identity.lock */
    bool wanted; /* somebody needs a new answer */
    bool running;
    bool answered;           /* there is an answer, perhaps an expired one */
    unsigned failed_n;       /* runs in a row */
    int64_t not_before_ns;   /* of the next run */
    int64_t expires_wall_ms; /* of the present answer; INT64_MAX: never */
    int64_t renew_wall_ms;
    struct err why; /* of the last run that failed */
};

struct identity {
    const struct credentials *creds;
    const struct clock *clock;
    const struct log *log;
    struct plugin plugin;

    struct mutex lock;         /* of everything below and of the plugin's second half */
    struct material material;  /* of the present proof */
    const struct proof *proof; /* NULL: none yet */
    uint64_t generation;
    bool looked; /* the files were read at least once */
    int64_t read_ns;
    bool doubtful;      /* read the files again at the next use */
    bool token_missing; /* there is none to use; `why` says why */
    struct err why;
    bool unreadable_told; /* in the log, until it can be read again */
    unsigned rejected_n;  /* 401s in a row that counted */
    bool proof_rejected;  /* the present proof had one of them */
    int64_t rejected_ns;  /* when the last of them was counted */
    int64_t hold_ns;      /* nothing is sent before, once rejected_n >= 2 */
    struct identity_stats stats;
};

/* Makes a proof of `m` unless it is what we have. Takes the texts over in any case. With the lock.
 * Whether there is a new one. */
bool identity_adopt(struct identity *id, struct material *m);

WARN_UNUSED int plugin_start(struct identity *id, struct err *reterr);
void plugin_stop(struct identity *id);
/* With the lock: whether there is an answer that has not expired. */
bool plugin_has_answer(const struct identity *id);
/* With the lock: asks for a run as soon as it may be. */
void plugin_want(struct identity *id);
/* With the lock: whether an answer is to be expected soon. */
bool plugin_is_at_work(const struct identity *id);

#endif
