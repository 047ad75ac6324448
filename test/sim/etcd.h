/* sim/etcd.h - what is stored: pods, nodes and the objects that fgpu writes, their revisions and their history.
 *
 * One counter numbers all changes, as etcd does; an object carries that of its last one as resourceVersion. A change is
 * kept as the JSON that a watch would send. Whoever asks for older ones than the last ETCD_HISTORY is told 410.
 * The oracle (oracle.h) hears of every change here, before anybody else.
 */
#ifndef SIM_ETCD_H
#define SIM_ETCD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETCD_HISTORY 4096
#define ETCD_GPUS_MAX 8
#define ETCD_NOTES_MAX 24

enum kind { PODS, NODES, RUN_OBJECT, WAKE_OBJECT, LEASE, INTENTS, KIND__MAX };
enum life { PENDING, RUNNING, SUCCEEDED }; /* of a pod */

/* In whose words a pod asks. */
enum ask_kind {
    ASK_NATIVE,    /* milli, mem_mib, count */
    ASK_SIZE,      /* fgpu.io/size.size-N: 1 */
    ASK_SIZE_NOTE, /* the annotation fgpu.io/size: size-N */
    ASK_VGPU,      /* nvidia.com/vgpu: units */
    ASK_VCUDA,     /* tencent.com/vcuda-core: units, perhaps of several GPUs */
    ASK_GPUSHARE,  /* aliyun.com/gpu-mem: mem_mib, perhaps with aliyun.com/gpu-count */
    ASK_HAMI,      /* nvidia.com/gpumem: mem_mib */
    ASK_MIG,       /* the annotation fgpu.io/mig-profile: an instance of profile `size` (object_devices()) */
    ASK__MAX
};

/* What a pod asks for, as its user wrote it. What it means, says meaning.h. */
struct ask {
    enum ask_kind kind;
    bool by_annotation; /* of milli and memory; else limits of its container */
    int milli;          /* 0: not said; neither that nor memory: whole GPUs */
    int mem_mib;
    int count; /* 0: not said */
    int units;
    unsigned size;
};

struct gpu {
    char uuid[24];
    int mem_mib;
    bool gone; /* not published */
    bool sick; /* published as not healthy */
    bool mig;  /* cut into an instance of each profile */
};

struct note { /* an annotation that somebody else than the user wrote */
    char *key, *value;
};

struct object {
    struct object *next;
    enum kind kind;
    char name[32], ns[16]; /* names are used once in all namespaces */
    char uid[24];
    uint64_t version, born; /* of its last change, of its first */
    char *json;             /* of this version */
    /* pods */
    char node[32]; /* "": not bound */
    enum life phase;
    bool deleting;
    bool finalizer; /* of INTENTS: it is deleted only when that is gone */
    int64_t created_ns;
    struct ask ask;
    struct note notes[ETCD_NOTES_MAX];
    size_t note_n;
    int priority;
    char nominated[32]; /* status.nominatedNodeName; "": none */
    unsigned patched;   /* status patches, edits that mean nothing */
    unsigned edited;    /* what it asks for, by its user */
    uint64_t condition; /* which failure its status tells (scheduler.h) */
    uint64_t stranger;  /* version in which it was bound without a record by whom its request is nothing, or by others;
                           0: not */
    bool odd; /* bound by nobody of ours, or its record was edited: what it is charged depends on who saw what */
    /* nodes */
    struct gpu gpus[ETCD_GPUS_MAX];
    size_t gpu_n;
    bool agent;    /* another system has registered its GPUs */
    unsigned pool; /* its label: none, a, b */
    /* RUN_OBJECT: JSON of data; WAKE_OBJECT: of annotations; LEASE, INTENTS: of spec; NULL: none */
    char *data;
};

enum change_type { ADDED, MODIFIED, DELETED };
struct change {
    uint64_t version;
    enum kind kind;
    enum change_type type;
    bool shown;             /* to watches, whose selector leaves terminal pods out: */
    enum change_type shows; /* as what */
    char uid[24];           /* of the object */
    char *json;
};

uint64_t etcd_version(void);
struct object *etcd_first(enum kind k); /* in no particular order */
struct object *etcd_at(enum kind k, uint64_t n);
struct object *etcd_find(enum kind k, const char *name);
struct object *etcd_find_uid(const char *uid);
size_t etcd_count(enum kind k);
/* A new object, not written yet: fill it in, then etcd_write(). */
struct object *etcd_new(enum kind k, const char *name);
/* What of the node can be given to pods: GPUs, and instances of those that are cut. */
#define PROFILES 3
#define ETCD_DEVICES_MAX (ETCD_GPUS_MAX * PROFILES)
struct offer {
    char uuid[24];
    int mem_mib;
    unsigned profile; /* 1 to PROFILES; 0: a GPU */
    const char *name; /* of the profile of an instance, */
    int start;        /* and its first slice */
};
/* The GPU itself, or its instances. */
size_t gpu_offers(const struct gpu *g, struct offer ret[PROFILES]);
size_t object_offers(const struct object *o, struct offer ret[ETCD_DEVICES_MAX]);
/* What was changed in the object becomes a revision; the change is told to whoever follows. */
void etcd_write(struct object *o);
void etcd_delete(struct object *o); /* frees it */
void object_note(struct object *o, const char *key, const char *value);
const char *object_note_of(const struct object *o, const char *key); /* NULL: none */
/* As of its version; the caller's to free. */
char *object_json(const struct object *o);
/* The change after that version, of this kind; NULL: none. *ret_gone: the history does not reach back so far. */
const struct change *etcd_next(enum kind k, uint64_t after, bool *ret_gone);
/* Called after every change; at most ETCD_FOLLOWERS_MAX follow. */
#define ETCD_FOLLOWERS_MAX 4
void etcd_follow(void (*fn)(const struct change *c));

#endif
