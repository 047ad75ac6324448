/* core/ledger/incidents.h - what cannot happen while one fgpu alone decides, and was seen all the same.
 *
 * Two kinds, whoever made them:
 *
 *   double booking     Two or more pods whose devices are known hold one GPU, and together more than it has. Pods
 *                      that are counted everywhere because nobody knows their devices are no part of it. It begins
 *                      with the pod that comes last: a GPU whose capacity or whose pods' charges changed after its
 *                      last pod came is over-committed, but nobody gave it twice. It ends when the pods fit again,
 *                      or the GPU is gone.
 *   foreign decision   A pod that was pending here, or that a decision of ours holds, is seen bound by another one:
 *                      of another fgpu, of a predecessor whose Binding landed late, of our own that was given up too
 *                      early, or of nobody at all (a user's text). Only ops with `deciding` begin it, because before
 *                      this process decides, what others decided is no surprise. It ends with the pod.
 *
 * Nothing is decided by incidents: a double-booked GPU is closed because it is over-committed (device_takes).
 *
 * The ledger can be asked for the incidents that there are, and tells each once, when it begins; a double booking also
 * for every pod that joins it, and when it ends. After a restart double bookings are found again from the objects;
 * foreign decisions are not, because what was pending then is not known.
 *
 * Pods stand by age, the oldest first: by creationTimestamp, which every process reads alike, then by UID. So whoever
 * sees an incident names the same pod as the youngest, the one to delete.
 *
 * Lock: as the ledger; a struct incident owns its text, and needs none.
 */
#ifndef CORE_LEDGER_INCIDENTS_H
#define CORE_LEDGER_INCIDENTS_H

#include "core/ledger/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum incident_kind { INCIDENT_DOUBLE_BOOKING, INCIDENT_FOREIGN_DECISION, INCIDENT_KIND__MAX };
const char *incident_kind_name(enum incident_kind k); /* "double_booking": a metric's label */

struct incident_pod {
    struct str namespace_, name, uid;
    struct str decision_id; /* empty: not known */
    bool decided_here;      /* this process chose its devices */
    bool joined;            /* of news: it was no part of the incident before */
};

/* Owns its text. */
struct incident {
    struct incident *next; /* in a list */
    enum incident_kind kind;
    bool ends;        /* of news: it is over; then no pods are named */
    int64_t since_ms; /* wall time of the op that began it */
    struct str node_name;
    struct str uuid; /* of a double booking: the GPU; empty: it is its index */
    int32_t index;
    size_t pod_n;
    struct incident_pod pods[]; /* the oldest first */
};
void incidents_free(struct incident *list); /* NULL is fine */

/* How many there are, and how many have begun since the ledger was made. */
struct incident_count {
    uint64_t now_n, begun_n;
};
struct incident_count ledger_incident_count(const struct ledger *l, enum incident_kind k);

/* The incidents that there are, at most `max`; double bookings first. The caller's to free. O(1) where there are none;
 * else O(devices) and O(pods). */
struct incident *ledger_incidents(const struct ledger *l, size_t max);

/* What has begun, grown or ended since the last call, oldest first; NULL: none. The caller's to free. What is not taken
 * for long is dropped. */
struct incident *ledger_take_incidents(struct ledger *l);

#endif
