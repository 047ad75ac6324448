#include "extender/verifier.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "extender/notices.h"
#include "extender/record.h"
#include "extender/warn_limit.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A proof is a record in other words: 250 bytes for one device. */
enum { BATCH = 64, BATCH_BYTES = 4 * 1024 * 1024, ROUNDS_MAX = 32 };

struct batch_result {
    size_t n;      /* waited */
    size_t told_n; /* have their verdict now */
};

static void refuted(const struct ingest *in, const struct store_unverified *u)
{
    uint64_t withheld;

    notice_record_refuted(in->events, u);
    if (warn_limit_take(in->warnings, u->uid, "signature", &withheld)) {
        LOG_WARNING(in->log, "The signature of a record is not valid; the record grants nothing",
                    LOG_STR("namespace", u->namespace_), LOG_STR("pod", u->name), LOG_STR("uid", u->uid),
                    LOG_I64("warningsWithheld", (int64_t)withheld));
    }
}

static bool tell_verdict(const struct ingest *in, const struct store_unverified *u, bool valid, bool key_gone)
{
    struct ledger_op op = {.kind = LEDGER_RECORD_JUDGED,
                           .judged = {.uid = u->uid, .proof = u->proof, .valid = valid, .key_gone = key_gone}};
    struct err err;

    if (store_apply(in->store, &op, &err) != 0) {
        LOG_ERROR(in->log, "Cannot apply the verdict on a record", LOG_STR("uid", u->uid), LOG_CSTR("err", err.msg));
        return false;
    }
    signing_count(in->signing, valid ? SIGNING_VERIFIED : key_gone ? SIGNING_IGNORED : SIGNING_REFUTED);
    if (!valid && !key_gone) {
        refuted(in, u);
    }
    return true;
}

static struct batch_result verify_batch(const struct ingest *in, struct str node_name, struct arena *a)
{
    struct store_unverified batch[BATCH];
    struct batch_result result = {.n = store_unverified(in->store, node_name, a, batch, BATCH)};
    const struct sign_keyring *keys;

    if (result.n == 0) {
        return result;
    }
    keys = signing_take(in->signing);
    for (size_t i = 0; i < result.n; i++) {
        const bool valid = record_proof_holds(keys, batch[i].proof);

        result.told_n += tell_verdict(in, &batch[i], valid, !record_proof_has_key(keys, batch[i].proof));
    }
    sign_keyring_put(keys);
    return result;
}

bool verify_records(const struct ingest *in, struct str node_name)
{
    struct batch_result result = {0, 1};
    struct arena a;

    if (in->signing == NULL) {
        return true;
    }
    arena_init(&a, BATCH_BYTES);
    for (int round = 0; result.told_n > 0 && round < ROUNDS_MAX; round++) {
        arena_reset(&a);
        result = verify_batch(in, node_name, &a);
    }
    arena_fini(&a);
    return result.n == 0;
}

/* ---- the thread ---- */

struct verifier {
    struct verifier_options o;
    struct thread thread;
    atomic_bool stopping;
};

static void look_at_keys(struct verifier *v, bool at_once)
{
    if (signing_look(v->o.signing, at_once)) {
        v->o.keys_changed(v->o.ctx);
    }
}

void verifier_look(struct verifier *v)
{
    look_at_keys(v, true);
}

/* A batch at a time, so that the end is never far. */
static bool verify_some(struct verifier *v, struct arena *a)
{
    const struct rules *rules = policy_set_take_newest(v->o.policies);
    struct batch_result result;

    arena_reset(a);
    result = verify_batch(&rules->ingest, STR_NULL, a);
    rules_put(rules);
    return result.told_n > 0;
}

static int64_t next_look_ns(void)
{
    return clock_mono_ns(clock_system()) + NS_PER_MS * VERIFIER_LOOK_MS;
}

/* Looks at the files in time, however many records come meanwhile. */
static void *verifier_main(void *arg)
{
    struct verifier *v = arg;
    int64_t look_at_ns = next_look_ns();
    struct arena a;

    arena_init(&a, BATCH_BYTES);
    while (!atomic_load(&v->stopping)) {
        if (!verify_some(v, &a)) {
            (void)signing_wait(v->o.signing, VERIFIER_LOOK_MS);
        }
        if (clock_mono_ns(clock_system()) >= look_at_ns) {
            look_at_keys(v, false);
            look_at_ns = next_look_ns();
        }
    }
    arena_fini(&a);
    return NULL;
}

int verifier_start(const struct verifier_options *o, struct verifier **ret, struct err *reterr)
{
    struct verifier *v = xcalloc(1, sizeof(*v));
    int rc;

    v->o = *o;
    atomic_init(&v->stopping, false);
    rc = thread_start(&v->thread, "verifier", verifier_main, v, reterr);
    if (rc != 0) {
        free(v);
        return rc;
    }
    *ret = v;
    return 0;
}

void verifier_stop(struct verifier *v)
{
    if (v == NULL) {
        return;
    }
    atomic_store(&v->stopping, true);
    signing_wake(v->o.signing);
    thread_join(&v->thread);
    free(v);
}
