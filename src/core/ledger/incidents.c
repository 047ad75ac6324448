/* Incidents: GPUs given twice, and pods that somebody else decided about. */
#include "core/ledger/incidents.h"

#include "base/bug.h"
#include "base/order.h"
#include "core/ledger/device_table.h"
#include "core/ledger/incident_table.h"
#include "core/ledger/numbers.h"
#include "core/ledger/pod_table.h"
#include "core/ledger/state.h"

#include <stdlib.h>

/* What nobody takes is not kept for ever. */
#define NEWS_MAX 1024

const char *incident_kind_name(enum incident_kind k)
{
    static const char *const names[INCIDENT_KIND__MAX] = {
        [INCIDENT_DOUBLE_BOOKING] = "double_booking",
        [INCIDENT_FOREIGN_DECISION] = "foreign_decision",
    };

    BUG_ON((unsigned)k >= INCIDENT_KIND__MAX);
    return names[k];
}

void incidents_free(struct incident *list)
{
    while (list != NULL) {
        struct incident *next = list->next;

        free(list);
        list = next;
    }
}

struct incident_count ledger_incident_count(const struct ledger *l, enum incident_kind k)
{
    return l->incidents.counts[k];
}

/* ---- descriptions ---- */

static int by_age(const void *a, const void *b)
{
    const struct pod_entry *const *x = a, *const *y = b;

    if ((*x)->created_ms != (*y)->created_ms) {
        return ORDER((*x)->created_ms, (*y)->created_ms);
    }
    return str_cmp((*x)->uid, (*y)->uid);
}

/* A copy of `head`, with the pods, in one block. Sorts `pods`; those attached since `joined_since` have joined. */
static struct incident *incident_new(const struct incident *head, const struct pod_entry **pods, size_t pod_n,
                                     uint64_t joined_since)
{
    size_t fixed = sizeof(*head) + pod_n * sizeof(head->pods[0]);
    size_t text = head->node_name.n + head->uuid.n;
    struct incident *in;
    char *at;

    for (size_t i = 0; i < pod_n; i++) {
        text += pods[i]->uid.n + pods[i]->namespace_.n + pods[i]->name.n + str_of(pods[i]->decision_id).n;
    }
    if (pod_n > 1) {
        qsort(pods, pod_n, sizeof(const struct pod_entry *), by_age);
    }
    in = xmalloc(fixed + text);
    *in = *head;
    at = (char *)in + fixed;
    in->node_name = str_put(&at, head->node_name);
    in->uuid = str_put(&at, head->uuid);
    in->pod_n = pod_n;
    for (size_t i = 0; i < pod_n; i++) {
        in->pods[i] = (struct incident_pod){
            .namespace_ = str_put(&at, pods[i]->namespace_),
            .name = str_put(&at, pods[i]->name),
            .uid = str_put(&at, pods[i]->uid),
            .decision_id = str_put(&at, str_of(pods[i]->decision_id)),
            .decided_here = pods[i]->reserved_here,
            .joined = pods[i]->attached >= joined_since,
        };
    }
    return in;
}

static struct incident booking_head(const struct ledger *l, uint32_t node, const struct ledger_device *d)
{
    return (struct incident){
        .kind = INCIDENT_DOUBLE_BOOKING,
        .since_ms = d->booked_ms,
        .node_name = l->names[node],
        .uuid = ledger_device_uuid(l, &l->nodes[node], d),
        .index = d->ref.index,
    };
}

/* ---- who holds a device ---- */

/* Pods whose devices are known, this one among them. */
struct holders {
    const struct pod_entry **pods; /* of the caller of holders_of() to free */
    size_t n;
    uint64_t newest; /* pod_entry.attached of the last that came */
    bool exceed;     /* together they are more than it has */
};

/* What `p` is charged on the device; NULL: it is not known to hold it, or only by a record that anybody may have
 * written. */
static const struct charge *known_charge(const struct ledger *l, uint32_t node, const struct pod_entry *p,
                                         uint32_t ordinal)
{
    struct placement at;

    if (p->trust == RECORD_PROVISIONAL && !p->reserved_here) {
        return NULL;
    }
    for (size_t i = 0; i < p->charge_n; i++) {
        if (p->charges[i].ordinal == ordinal) {
            bool known = !ledger_pod_is_counted(&l->rows[node], p) && ledger_pod_placement(&l->nodes[node], p, &at) &&
                         (placement_devices(&at, p->demand->gpu_request_n) >> ordinal & 1) != 0;

            return known ? &p->charges[i].charge : NULL; /* a contested pod is charged where nobody knows it to be */
        }
    }
    return NULL;
}

static struct holders holders_of(const struct ledger *l, uint32_t node, uint32_t ordinal)
{
    const struct node_entry *n = &l->nodes[node];
    struct device_state left = ledger_empty_state(n, &n->devices[ordinal]);
    struct holders h = {.pods = xmalloc(n->pod_n * sizeof(const struct pod_entry *) + 1)};

    for (uint32_t i = 0; i < n->pod_n; i++) {
        const struct pod_entry *p = &l->pods[n->pods[i]];
        const struct charge *c = known_charge(l, node, p, ordinal);

        if (c != NULL) {
            device_take(&left, c);
            h.pods[h.n++] = p;
            h.newest = p->attached > h.newest ? p->attached : h.newest;
        }
    }
    h.exceed = h.n > 1 && device_is_overcommitted(&left);
    return h;
}

/* ---- double bookings ---- */

static void announce_incident(struct ledger *l, struct incident *in)
{
    struct incidents *all = &l->incidents;

    if (all->news_n == NEWS_MAX) {
        incidents_free(in);
        return;
    }
    *(all->news == NULL ? &all->news : &all->news_last->next) = in;
    all->news_last = in;
    all->news_n++;
}

static void booking_begins(struct ledger *l, struct ledger_device *d, int64_t at_ms)
{
    d->booked = true;
    d->booked_ms = at_ms;
    l->incidents.counts[INCIDENT_DOUBLE_BOOKING].now_n++;
    l->incidents.counts[INCIDENT_DOUBLE_BOOKING].begun_n++;
}

void ledger_booking_gone(struct ledger *l, uint32_t node, struct ledger_device *d)
{
    struct incident head = booking_head(l, node, d);

    if (d->booked) {
        head.ends = true;
        announce_incident(l, incident_new(&head, NULL, 0, 0));
        d->booked = false;
        l->incidents.counts[INCIDENT_DOUBLE_BOOKING].now_n--;
    }
}

void ledger_booking_follow(struct ledger *l, uint32_t node, uint32_t ordinal, int64_t at_ms)
{
    struct ledger_device *d = &l->nodes[node].devices[ordinal];
    struct holders h = {0};

    if (d->overcommitted) { /* known holders are a part of all that is charged */
        h = holders_of(l, node, ordinal);
    }
    if (!h.exceed) {
        ledger_booking_gone(l, node, d);
        d->fitted = l->generation + 1;
    } else if (d->booked ? h.newest == l->generation + 1 : h.newest > d->fitted) {
        uint64_t joined_since = d->booked ? l->generation + 1 : 0;
        struct incident head;

        if (!d->booked) {
            booking_begins(l, d, at_ms);
        }
        head = booking_head(l, node, d);
        announce_incident(l, incident_new(&head, h.pods, h.n, joined_since));
    }
    free(h.pods);
}

struct incident *ledger_take_incidents(struct ledger *l)
{
    struct incident *list = l->incidents.news;

    l->incidents.news = l->incidents.news_last = NULL;
    l->incidents.news_n = 0;
    return list;
}

/* ---- foreign decisions ---- */

static struct incident *decision_new(const struct ledger *l, const struct pod_entry *p)
{
    const struct incident head = {.kind = INCIDENT_FOREIGN_DECISION,
                                  .since_ms = p->usurped_ms,
                                  .node_name = p->node == LEDGER_NONE ? STR_NULL : l->names[p->node],
                                  .index = -1};

    return incident_new(&head, &p, 1, 0);
}

bool ledger_decision_is_open(const struct ledger *l, const struct ledger_op *op)
{
    uint32_t pod = LEDGER_NONE;

    if (op->deciding && op->kind == LEDGER_POD_OBSERVED && op->pod.node_name.n > 0) {
        pod = ledger_pod_lookup(l, op->pod.uid);
    }
    return pod != LEDGER_NONE && (l->pods[pod].state == LEDGER_PENDING || l->pods[pod].state == LEDGER_RESERVED);
}

static void usurp(struct ledger *l, struct pod_entry *p, int64_t at_ms)
{
    p->usurped = true;
    p->usurped_ms = at_ms;
    l->incidents.counts[INCIDENT_FOREIGN_DECISION].now_n++;
    l->incidents.counts[INCIDENT_FOREIGN_DECISION].begun_n++;
    announce_incident(l, decision_new(l, p));
}

void ledger_decision_observed(struct ledger *l, const struct ledger_op *op, bool was_open)
{
    uint32_t pod = was_open ? ledger_pod_lookup(l, op->pod.uid) : LEDGER_NONE;
    struct pod_entry *p;

    if (pod == LEDGER_NONE) {
        return;
    }
    p = &l->pods[pod];
    if ((p->state != LEDGER_BOUND && p->state != LEDGER_FOREIGN) || p->reserved_here || str_of(p->decision_id).n == 0) {
        return;
    }
    if (p->trust == RECORD_PROVISIONAL) { /* as yet anybody may have written it */
        p->usurping = true;
    } else {
        usurp(l, p, op->at_ms);
    }
}

void ledger_decision_verified(struct ledger *l, uint32_t pod, int64_t at_ms)
{
    struct pod_entry *p = &l->pods[pod];

    if (p->usurping) {
        p->usurping = false;
        usurp(l, p, at_ms);
    }
}

void ledger_decision_gone(struct ledger *l, const struct pod_entry *p)
{
    l->incidents.counts[INCIDENT_FOREIGN_DECISION].now_n -= p->usurped;
}

/* ---- all that there are ---- */

static void list_add(struct incident ***end, struct incident *in)
{
    in->next = NULL;
    **end = in;
    *end = &in->next;
}

/* How many of a kind a list of at most `max` has. */
static size_t listed_n(const struct ledger *l, enum incident_kind k, size_t max)
{
    return l->incidents.counts[k].now_n < max ? l->incidents.counts[k].now_n : max;
}

static void list_bookings(const struct ledger *l, size_t left, struct incident ***end)
{
    for (uint32_t i = 0; i < l->node_n && left > 0; i++) {
        for (uint32_t j = 0; l->nodes[i].used && j < l->nodes[i].device_n && left > 0; j++) {
            if (l->nodes[i].devices[j].booked) {
                struct incident head = booking_head(l, i, &l->nodes[i].devices[j]);
                struct holders h = holders_of(l, i, j);

                list_add(end, incident_new(&head, h.pods, h.n, 0));
                free(h.pods);
                left--;
            }
        }
    }
}

static void list_decisions(const struct ledger *l, size_t left, struct incident ***end)
{
    for (uint32_t i = 0; i < l->pod_n && left > 0; i++) {
        const struct pod_entry *p = &l->pods[i];

        if (p->used && p->usurped) {
            list_add(end, decision_new(l, p));
            left--;
        }
    }
}

struct incident *ledger_incidents(const struct ledger *l, size_t max)
{
    struct incident *list = NULL, **end = &list;
    size_t booked_n = listed_n(l, INCIDENT_DOUBLE_BOOKING, max);

    list_bookings(l, booked_n, &end);
    list_decisions(l, listed_n(l, INCIDENT_FOREIGN_DECISION, max - booked_n), &end);
    return list;
}
