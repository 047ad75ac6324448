/* kube/lease.h - the Lease (coordination.k8s.io/v1) by which one of several processes is elected (decision 0097).
 *
 * Encoding and decoding only. An update is a PUT that carries the metadata as they were read, uid and resourceVersion
 * among them: it takes effect on exactly that revision or never, whenever it reaches etcd, and it keeps the labels and
 * annotations that others have given the object. So do the two fields of coordinated election.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdint.h>

#define LEASE_REVISION_BYTES 64
#define LEASE_UID_BYTES 64
#define LEASE_HOLDER_BYTES 192 /* HOSTNAME_UUID: 63 + 1 + 36, and room for names of others */
#define LEASE_TIME_BYTES 48
#define LEASE_PATH_MAX 700
#define LEASE_BODY_MAX (2U * 1024 * 1024)

/* What decisions need of one revision. "" and 0 where the object has nothing. */
struct lease_record {
    char revision[LEASE_REVISION_BYTES]; /* resourceVersion; never "" after lease_read */
    char uid[LEASE_UID_BYTES];
    char holder[LEASE_HOLDER_BYTES]; /* one that does not fit is cut: it is nobody's of ours */
    char acquired[LEASE_TIME_BYTES]; /* these two as they stand there */
    char renewed[LEASE_TIME_BYTES];
    int64_t duration_s;
    int64_t transition_n;
};

/* The rest of the object, kept for the PUT: JSON values as they were read, "" where there is none. */
struct lease_kept {
    struct strbuf metadata, strategy, preferred_holder;
};
void lease_kept_init(struct lease_kept *k);
void lease_kept_fini(struct lease_kept *k);

/* ERR_PARSE, ERR_INVALID, ERR_LIMIT; `kept` may be NULL. */
WARN_UNUSED int lease_read(struct str body, struct lease_record *ret, struct lease_kept *kept, struct err *reterr);

/* Appends the path of the object, or of the collection that it is created in; `object` is "NAMESPACE/NAME". */
void lease_path(struct str object, struct strbuf *path);
void lease_create_path(struct str object, struct strbuf *path);

/* Appends what is sent: `r` says holder, times, duration and transitions, `kept` the rest; NULL: it is created. */
void lease_body(struct str object, const struct lease_record *r, const struct lease_kept *kept, struct strbuf *body);

/* "2026-11-20T08:00:00.123456Z": MicroTime has exactly six digits, else the API server answers 400. */
void lease_time(int64_t wall_us, char buf[LEASE_TIME_BYTES]);

#endif
