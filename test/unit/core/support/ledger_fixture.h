/* Short ways to say ledger facts in tests. Everything borrows static or caller storage. */
#ifndef TEST_LEDGER_FIXTURE_H
#define TEST_LEDGER_FIXTURE_H

#include "core/ledger/ledger.h"
#include "core/ledger/snapshot.h"
#include "core/placement/pack.h"

#include <stdbool.h>

#define GIB 1024 /* in MiB, as memory of devices is counted */

/* A pod of namespace "default" that asks for a view. */
#define VIEW_POD(uid_, demand_)                                                                                        \
    (&(struct view_pod){.uid = str_of(uid_), .namespace_ = STR("default"), .demand = (demand_)})

/* The strategy at both levels; valid until the next call. */
const struct pack_params *fixture_params(const char *strategy);

struct ledger_fixture {
    struct ledger *l;
    struct host_capacity host; /* of nodes described from now on */
    struct arena arena;
    struct snapshot snapshot;
};

/* An empty, synced ledger with over-commit factors 1.0. */
void fixture_init(struct ledger_fixture *f);
void fixture_init_limited(struct ledger_fixture *f, const struct ledger_limits *limits); /* ... with these */
void fixture_fini(struct ledger_fixture *f);                                             /* also runs ledger_check() */

/* gpu_n healthy devices "GPU-<name>-<i>" of mem_mib each, 16 slots. */
void fixture_node(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib);
void fixture_node_plugin_managed(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib,
                                 int32_t plugin_managed_n);
/* Devices known by index only. */
void fixture_node_indexes(struct ledger_fixture *f, const char *name, int gpu_n, int64_t mem_mib);

/* Demands of one container "main"; `w` is their GPU request and must live as long as they do. */
struct demand fixture_share(struct gpu_request *w, int32_t milli); /* milli only */
struct demand fixture_both(struct gpu_request *w, int32_t milli, int64_t mem_mib);
struct demand fixture_whole(struct gpu_request *w, uint16_t count);
struct demand fixture_annotated(struct gpu_request *w, int32_t milli); /* editable request */
struct demand fixture_memory(struct gpu_request *w, int64_t mem_mib);  /* memory only */

/* The same where nobody needs the GPU request itself; good until the end of the block that they stand in. */
#define SHARE_OF(milli) fixture_share(&(struct gpu_request){.count = 0}, (milli))
#define SHARE_AND_MEMORY_OF(milli, mem_mib) fixture_both(&(struct gpu_request){.count = 0}, (milli), (mem_mib))
#define WHOLE_GPUS(count_) fixture_whole(&(struct gpu_request){.count = 0}, (count_))
#define ANNOTATED_SHARE_OF(milli) fixture_annotated(&(struct gpu_request){.count = 0}, (milli))
#define MEMORY_OF(mem_mib) fixture_memory(&(struct gpu_request){.count = 0}, (mem_mib))

/* Facts, to be changed before they are told: node `name` with this inventory, which is borrowed, and pod
 * "default/<uid>" (node NULL: pending; record NULL: none). */
struct ledger_op fixture_description(const char *name, const struct inventory *inventory);
struct ledger_op fixture_observation(const char *uid, const struct demand *d, const char *node,
                                     const struct assignment *record);
/* Tells it; the test fails if the ledger refuses it or is not in order afterwards. */
void fixture_apply(struct ledger_fixture *f, const struct ledger_op *op);
/* What became of the signature of a pod's record. */
void fixture_judge(struct ledger_fixture *f, const char *uid, const char *proof, bool valid);

/* Tells fixture_observation(). */
int fixture_pod(struct ledger_fixture *f, const char *uid, const struct demand *d, const char *node,
                const struct assignment *record);
/* Searches with tight-fit and reserves; 0 or an error, or the verdict as a positive number. */
int fixture_reserve(struct ledger_fixture *f, const char *uid, const char *node);
int fixture_name_op(struct ledger_fixture *f, enum ledger_op_kind kind, const char *name);
int fixture_bracket(struct ledger_fixture *f, enum ledger_op_kind kind);

/* All names at once, nothing remembered and none left out. */
void fixture_pack(const struct ledger_view *v, const struct pack_params *p, const struct pack_tentative *holds,
                  size_t hold_n, const struct str *names, size_t name_n, struct pack_result *ret);

/* A record with one container on one device. */
struct assignment fixture_record(struct assigned_container *c, struct assigned_device *d, const char *id,
                                 const char *uuid, int32_t index, int32_t milli, int64_t mem_mib);
/* The same where nobody needs its parts; good until the end of the block that it stands in. */
#define RECORD_OF(id_, uuid_, index_, milli_, mem_mib_)                                                                \
    fixture_record(&(struct assigned_container){.device_n = 0}, &(struct assigned_device){.index = 0}, (id_), (uuid_), \
                   (index_), (milli_), (mem_mib_))

/* Numbers of one device, from a fresh snapshot. */
const struct snapshot_node *fixture_state(struct ledger_fixture *f, const char *node);
int32_t fixture_milli_free(struct ledger_fixture *f, const char *node, size_t device);
int64_t fixture_mem_free(struct ledger_fixture *f, const char *node, size_t device);
/* NULL: it is not in the snapshot. */
const struct snapshot_pod *fixture_pod_in(const struct snapshot *s, struct str uid);
enum ledger_pod_state fixture_pod_state(struct ledger_fixture *f, const char *uid);
bool fixture_knows_pod(struct ledger_fixture *f, const char *uid);

#endif
