/* A binder as `fgpu serve` puts it together, without its listeners: store, two watchers, API client and
 * binder over a simulated API server in this process.
 *
 * Nodes are node-00, node-01, ...; their GPUs gpu-0-0, gpu-0-1, ... (node, index) of 81920 MiB and 16 slots.
 * One fixture at a time. Helpers assert, so they are for the thread of the test, unless said otherwise. */
#ifndef SUPPORT_BIND_FIXTURE_H
#define SUPPORT_BIND_FIXTURE_H

#include "demo/apiserver/apiserver.h"
#include "extender/binder.h"

#include <stdbool.h>
#include <stdint.h>

struct signing;

/* Before anybody waits in vain: generous, because everything ends early. */
#define BIND_FIXTURE_PATIENCE_MS 60000

/* All zero is fine. */
struct bind_fixture_options {
    int32_t node_n;          /* 0: 2 */
    int32_t gpu_n;           /* of every node; 0: 1 */
    int64_t deadline_ms;     /* 0: so long that no test meets it */
    uint32_t max_in_flight;  /* 0: 1000 */
    bool unsynced;           /* no watchers */
    struct signing *signing; /* NULL: signing is off; there is no verifier's thread either way */
    bool binds_all_pods;
    uint32_t pods_max; /* of the ledger; 0: as many as it ever takes */
    int32_t minor;     /* of the API server's version; 0: one that looks at preconditions;
                        -1: GET /version always fails */
};

void bind_fixture_start(const struct bind_fixture_options *o);
/* Stops the binder and everything else, then asserts what must hold after any scenario: every bind was
 * answered once, the ledger keeps its invariants, the API server's objects are not over-committed. */
void bind_fixture_end(void);
/* The part of bind_fixture_end that stops binder and client; the answers can be looked at afterwards. */
void bind_fixture_stop_binder(void);

extern struct apiserver *bind_fixture_api;

/* ---- pods, all in the namespace "ns" ---- */

struct bind_fixture_pod {
    const char *name;
    const char *uid;
    int32_t milli; /* 0: asks for no GPU */
    size_t annotation_bytes;
    bool gated;
    bool names_zero; /* a limit of 0 of our resource */
    bool deleting;
};

/* Creates it; waits until the ledger knows it if it asks for a GPU and the watch runs. */
void bind_fixture_create(const struct bind_fixture_pod *p);
void bind_fixture_delete(const char *name);
/* Merge patch; gives the pod another resourceVersion. */
void bind_fixture_patch(const char *name, const char *json);
/* Bound by somebody else to GPU 0 of that node, with that one's record. Only after bind_fixture_freeze(). */
void bind_fixture_bind_by_other(const char *name, const char *uid, int node, int32_t milli);

/* The ledger sees no pod any more until bind_fixture_thaw(). */
void bind_fixture_freeze(void);
void bind_fixture_thaw(void);

/* ---- binds ---- */

struct asked; /* owned by the fixture, until bind_fixture_end */

/* From any thread. */
struct asked *bind_fixture_bind(const char *name, const char *uid, const char *node);

struct bind_fixture_answer {
    enum bind_outcome outcome;
    const char *error; /* NULL: success */
};
struct bind_fixture_answer bind_fixture_await(struct asked *a);
/* Asserts success. */
void bind_fixture_expect_bound(struct asked *a);
/* Asserts outcome and that `part` is in the text. */
void bind_fixture_expect_error(struct asked *a, enum bind_outcome outcome, const char *part);

/* ---- what became of it ---- */

/* Waits until /version was read; later replies are worked off after that. */
void bind_fixture_await_version_read(void);
/* Waits for a request that a fault delays. */
void bind_fixture_await_delayed(void);
/* Bindings sent, whatever came of them, and pods fetched. Counted when their exchange ends; the watch may answer a
 * caller before that, so these wait until nothing is in flight. */
unsigned bind_fixture_posts(void);
unsigned bind_fixture_gets(void);
unsigned bind_fixture_posts_so_far(void);
uint64_t bind_fixture_binds(void); /* Bindings that the API server accepted */
/* spec.nodeName is `node` (NULL: none), and whether a record of fgpu is there. */
void bind_fixture_expect_pod(const char *name, const char *node, bool record);
void bind_fixture_await_state(const char *uid, enum ledger_pod_state state);
void bind_fixture_expect_state(const char *uid, enum ledger_pod_state state);
/* binder_close(), which waits for so long. */
bool bind_fixture_close(int64_t wait_ms);
void bind_fixture_await_settled(void); /* no bind is in flight */
/* No whole GPU of the node can be given out. */
void bind_fixture_expect_charged(const char *node);
/* A whole GPU of the node can be given out: proves that nothing is charged on a node with one. */
void bind_fixture_expect_free(const char *node);

/* Acts on the next `times` requests that match. retry_after_s 0 counts as none. */
void bind_fixture_fault(const char *method, const char *path, int64_t times, struct fault_rule rule);
#define BIND_FIXTURE_BINDING "*/binding"
#define BIND_FIXTURE_FAULT(method_, path_, times_, ...)                                                                \
    bind_fixture_fault(method_, path_, times_, (struct fault_rule){__VA_ARGS__})

#endif
