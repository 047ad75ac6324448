/* core/record/assignment.h - the record of a decision, written with the Binding and read back after a
 * restart.
 *
 * Annotation fgpu.io/assignment (design.md section 5):
 *   {"v":1,"id":"<decision>","containers":[{"name":"main","init":false,
 *     "devices":[{"uuid":"GPU-a","index":0,"milli":300,"memMib":4096}]}]}
 * with "qos":"best-effort" or "equal-share" behind the id, where it is not fixed-share (model/qos.h).
 * What the containers are to see of it stands in further annotations, which are the dialect's: core/dialects/dialect.h.
 *
 * A whole GPU that nobody else may share has "exclusive":true, which its amounts do not tell: they are those of the day
 * on which it was given, and capacities change.
 *
 * A MIG instance has its UUID ("MIG-..."), an index above those of GPUs, and "mig":"1g.5gb". It is held by one
 * container alone.
 *
 * A record may end in its signature (design.md 5a): "sig":{"key":"<id>","value":"<base64, 64 bytes>"}, over what
 * assignment_signed_bytes makes of the pod's uid, the node's name and every field of the record that this header has,
 * however it was spelled in JSON. The core knows where a signature stands, not whether it holds: include/sign does.
 *
 * Keys that this version does not know are skipped, signed or not: they are covered by no signature that it can check,
 * and it gives them no meaning, so they can neither grant nor take. A later version that adds a field says so in a
 * member of its own beside "sig" (with a signature under another SIGNED_DOMAIN, over the new field, too) and believes
 * the field only where that one holds. "sig" stays what it is here, so that the version before still reads the record.
 *
 * Reading back what was written gives the same record (property test). What a record is worth is not decided here
 * (design.md 3.1, rule 1; core/ledger/ledger.h). An index that the node does not have is a number like any other here:
 * whoever knows the node decides.
 */
#ifndef CORE_RECORD_ASSIGNMENT_H
#define CORE_RECORD_ASSIGNMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/device.h"
#include "model/pod.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSIGNMENT_KEY "fgpu.io/assignment"

/* Ranges of what is read back; the lower end is 0 (1 byte for a name and an id). */
#define ASSIGNMENT_BYTES_MAX 262144  /* of the whole record: what all annotations may have */
#define ASSIGNMENT_CONTAINERS_MAX 64 /* that use GPUs; as many as a demand has (DEMAND_GPU_REQUESTS_MAX) */
#define ASSIGNMENT_ID_BYTES_MAX 128
#define ASSIGNMENT_NAME_BYTES_MAX 63 /* a container name is a DNS label */
#define ASSIGNMENT_UUID_BYTES_MAX 128
#define ASSIGNMENT_INDEX_MAX INT32_MAX
#define ASSIGNMENT_MILLI_MAX 1000000 /* a whole device with its over-commit factor */
#define ASSIGNMENT_MEM_MIB_MAX INT32_MAX
#define ASSIGNMENT_SIG_KEY_BYTES_MAX 64
#define ASSIGNMENT_SIG_BYTES 64 /* Ed25519 */

struct assigned_device {
    struct str uuid; /* empty: unknown */
    int32_t index;
    int32_t milli;
    int64_t mem_mib;
    uint16_t profile;   /* of a MIG instance (model/mig.h); 0: a GPU */
    bool slice;         /* as in struct device; not part of the record */
    int32_t part_milli; /* the same */
    bool exclusive;     /* a GPU that is nobody else's; an instance always is, without saying so */
};

struct assigned_container {
    struct str name;
    bool init;
    uint16_t position;                     /* in its list; not part of the record, the names are */
    const struct assigned_device *devices; /* ascending by index */
    size_t device_n;
};

struct assignment {
    struct str id;
    const struct assigned_container *containers; /* init first, then app, each by position */
    size_t container_n;
    enum qos qos;
    enum lending lending;   /* not part of the record: what is handed to the containers says it */
    enum hand_off hand_off; /* of its node, and */
    enum gpu_vendor vendor; /* of struct inventory, as the next; neither is part of the record */
    bool needs_agent;
    const char *dialect; /* in which the pod asked, as in struct demand; not part of the record. NULL: not known */
    struct str sig_key;  /* id of the key that signed it; empty: not signed */
    const uint8_t *sig;  /* ASSIGNMENT_SIG_BYTES; NULL: not signed */
};

/* The value of ASSIGNMENT_KEY, in `a`. ERR_LIMIT when the arena is full or the record is longer than
 * ASSIGNMENT_BYTES_MAX. */
WARN_UNUSED int assignment_format(const struct assignment *as, struct arena *a, struct str *ret, struct err *reterr);
/* Reads the value of ASSIGNMENT_KEY strictly. Whoever wrote it may be hostile: amounts, indexes and
 * counts are range-checked, names unique, devices of a container distinct and in ascending order.
 * Unknown keys are skipped (later versions may add some); every key named above must be there.
 * `position` is left 0; text is borrowed from `text`. ERR_PARSE, ERR_INVALID or ERR_LIMIT, the text
 * naming the annotation. */
WARN_UNUSED int assignment_parse(struct str text, struct arena *a, struct assignment *ret, struct err *reterr);

/* What a signature of this record covers, in `a`: domain and version, the pod's uid, the node's name, and every field
 * but the signature itself, each text behind its length, so that two different records never give the same bytes.
 * ERR_LIMIT when the arena is full. */
WARN_UNUSED int assignment_signed_bytes(const struct assignment *as, struct str pod_uid, struct str node_name,
                                        struct arena *a, struct str *ret, struct err *reterr);

/* ERR_LIMIT: the arena of a request is full. */
int assignment_no_memory(struct err *reterr);

#endif
