/* demo/apiserver/api_internal.h - requests and replies of the simulated API server, without sockets.
 *
 * api_serve() turns one request into one reply; a watch reply carries a `struct watch`, which the
 * HTTP side drains as events come. What the replies must look like: contract 4.2 (Binding) and 5
 * (list and watch), recorded from the real server; the files below cite what is not obvious.
 */
#ifndef DEMO_APISERVER_API_INTERNAL_H
#define DEMO_APISERVER_API_INTERNAL_H

#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "demo/apiserver/apiserver.h"
#include "demo/apiserver/objects_internal.h"
#include "demo/apiserver/reviews_internal.h"
#include "model/kv.h"

#include <stdatomic.h>

struct watch;

struct api { /* everything the handlers share */
    struct objects *store;
    const struct clock *clock;
    struct rng rng; /* of uids, under the store's lock */
    int64_t bookmark_interval_ns;
    atomic_int watch_list; /* enum apiserver_watch_list */
    struct reviews reviews;
    struct faults *faults; /* of watches; NULL: none */
    atomic_uint_fast64_t binds;
    atomic_uint_fast64_t bind_conflicts;
    atomic_int minor;        /* of the version */
    struct held_write *held; /* under the store's lock, oldest first */
    uint64_t landed_n;       /* likewise: of those that were held */
};

struct api_request {
    struct str method;
    struct str path;      /* decoded, without the query */
    struct kv_list query; /* decoded */
    bool hold;            /* a Binding or PATCH is to be held: FAULT_COMMIT_LATE */
    struct str content_type;
    struct str body;
};

struct api_reply {
    int status;
    int32_t retry_after_s; /* < 0: none */
    struct strbuf body;
    struct watch *watch; /* a stream instead of `body` */
};

void api_reply_init(struct api_reply *r);
void api_reply_fini(struct api_reply *r);

void api_serve(struct api *api, const struct api_request *q, struct api_reply *r);

/* What a path names. Texts are NUL-terminated copies; "" when the path does not have the part. */
#define API_NAME_MAX 254
struct api_target {
    enum apiserver_kind kind;
    char namespace_[API_NAME_MAX];
    char name[API_NAME_MAX];
    char subresource[24];
    bool strict; /* an Event through events.k8s.io/v1; through /api/v1 nothing is checked but its name */
};
/* GROUP[/namespaces/NS]/RESOURCE[/NAME[/SUBRESOURCE]]; false: there is no such path. */
bool api_target_parse(struct str path, struct api_target *ret);
/* "namespace/name", or "name" for nodes. */
#define API_KEY_MAX (2 * API_NAME_MAX)
void api_key(const struct api_target *t, char buf[API_KEY_MAX]);
bool api_is_namespaced(enum apiserver_kind kind);
const char *api_resource_name(enum apiserver_kind kind); /* "pods" */
const char *api_kind_name(enum apiserver_kind kind);     /* "Pod" */
const char *api_version_name(enum apiserver_kind kind);  /* "v1" */

/* The decoded value, or NULL. Valid as long as the request; the bytes are NUL-terminated. */
const char *api_query(const struct api_request *q, const char *key);
bool api_query_true(const struct api_request *q, const char *key);

/* Now as metav1.Time: whole seconds. Returns buf. */
const char *api_time(const struct api *api, char buf[CLOCK_RFC3339_MAX]);

/* ---- replies ---- */

/* A Failure Status. `reason` NULL: the usual one of the code. */
void api_fail(struct api_reply *r, int status, const char *reason, const char *fmt, ...) PRINTF_LIKE(4, 5);
void api_not_found(struct api_reply *r, const struct api_target *t);
void api_conflict(struct api_reply *r, const char *resource, const char *name, const char *fmt, ...) PRINTF_LIKE(4, 5);
void api_success(struct api_reply *r, int status);
/* The object with its kind and apiVersion in front. */
void api_object(struct api_reply *r, int status, enum apiserver_kind kind, const struct version *v);
void api_add_object(struct strbuf *b, enum apiserver_kind kind, const char *json, size_t json_n);
/* The Status document alone, for ERROR events. retry_after_s < 0: none. */
void api_add_status(struct strbuf *b, int status, const char *reason, const char *message, int32_t retry_after_s);

/* ---- the verbs; the store's lock is not held ---- */

void api_list(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r);
void api_get(struct api *api, const struct api_target *t, struct api_reply *r);
void api_create(struct api *api, const struct api_request *q, const struct api_target *t, bool keep_status,
                struct api_reply *r);
/* `patch`: the body is a merge patch. `whole`: in-process callers change spec and status at once.
 */
void api_update(struct api *api, const struct api_request *q, const struct api_target *t, bool patch, bool whole,
                struct api_reply *r);
void api_delete(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r);
void api_evict(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r);
void api_bind(struct api *api, const struct api_request *q, const struct api_target *t, struct api_reply *r);
/* With the lock: what the object has become; NULL: replied. */
struct version *api_patch(struct api *api, const struct api_target *t, const struct cJSON *body, struct api_reply *r);
/* The same for a Binding; counted. False: it does not land, as `r` says, or the pod is not there. */
bool api_assign(struct api *api, const struct api_target *t, const struct cJSON *b, struct api_reply *r);

/* ---- writes that are held (api_held.c), and land (api_landing.c) ---- */

struct held_write {
    struct held_write *next;
    struct api_target target;
    bool binds; /* a Binding; else a PATCH */
    struct cJSON *body;
};
/* With the lock. */
void api_hold(struct api *api, const struct api_target *t, bool binds, const struct cJSON *body);
/* With the lock: the oldest, for api_free_held(); NULL: there is none. */
struct held_write *api_take_held(struct api *api);
void api_free_held(struct held_write *h);
/* All of them, the oldest first; returns how many took effect. */
uint32_t api_commit_held(struct api *api);
void api_count_held(struct api *api, uint32_t *ret_held, uint64_t *ret_landed);
void api_drop_held(struct api *api);

#endif
