#include "extender/notices.h"

#include "extender/binder.h"
#include "extender/incident_words.h"

#include <stdarg.h>
#include <stdio.h>

static void post_notice(struct events *events, enum event_reason reason, const struct event_object *regarding,
                        struct str related_node, const char *fmt, ...) PRINTF_LIKE(5, 6);

static void post_notice(struct events *events, enum event_reason reason, const struct event_object *regarding,
                        struct str related_node, const char *fmt, ...)
{
    char note[EVENT_NOTE_MAX + 1];
    struct event e = {.reason = reason, .regarding = *regarding, .note = {note, 0}};
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(note, sizeof(note), fmt, ap);
    va_end(ap);
    e.note.n = n < 0 ? 0 : (size_t)n < sizeof(note) ? (size_t)n : sizeof(note) - 1;
    if (related_node.n > 0) {
        e.related = (struct event_object){.kind = EVENT_OBJECT_NODE, .name = related_node};
    }
    events_record(events, &e);
}

/* ---- pods ---- */

static bool became(const struct ledger_pod_status *before, const struct ledger_pod_status *after,
                   enum ledger_pod_state state)
{
    return after->state == state && (!before->known || before->state != state);
}

/* Then a foreign decision is an incident (notice_incident). */
static bool was_open(const struct ledger_pod_status *before)
{
    return before->known && (before->state == LEDGER_PENDING || before->state == LEDGER_RESERVED);
}

/* Before the store is ready, a binding may be a predecessor's that was still on its way. */
static void pod_changed(struct events *events, const struct ledger_pod_fact *f, const struct ledger_pod_status *before,
                        const struct ledger_pod_status *after, struct store *s)
{
    const struct event_object pod = {EVENT_OBJECT_POD, f->namespace_, f->name, f->uid};

    if (!after->known) {
        return;
    }
    if (f->node_name.n == 0 && after->defect != DEMAND_OK && (!before->known || before->defect != after->defect)) {
        post_notice(events, EVENT_REQUEST_INVALID, &pod, STR_NULL,
                    "%s. The pod is refused on every node until it is corrected", demand_defect_text(after->defect));
    }
    if (after->claims_record && !before->claims_record) {
        post_notice(
            events, EVENT_ASSIGNMENT_FORGED, &pod, STR_NULL,
            "The pod had annotation fgpu.io/assignment before it was bound. fgpu ignores and replaces it; remove "
            "it from the template of the pod");
    }
    if (became(before, after, LEDGER_FOREIGN)) {
        post_notice(events, EVENT_ASSIGNMENT_MISSING, &pod, f->node_name,
                    "%s. Bind pods that use GPUs through the scheduler that asks fgpu",
                    after->conflict == NULL ? "bound without a known assignment" : after->conflict);
    } else if (became(before, after, LEDGER_BOUND) && after->devices_known && !after->decided_here &&
               !was_open(before) && store_is_ready(s)) {
        post_notice(
            events, EVENT_ASSIGNMENT_FOREIGN, &pod, f->node_name,
            "Bound with an assignment that this fgpu did not decide; /state shows its charge. Make sure that only "
            "one fgpu, and no user, writes fgpu.io/assignment");
    }
    if (after->state == LEDGER_BOUND && after->conflict != NULL && after->conflict != before->conflict) {
        post_notice(events, EVENT_ASSIGNMENT_CONFLICT, &pod, f->node_name, "%s", after->conflict);
    }
}

void notice_preemption_refused(struct events *events, const struct pod *pod, enum verdict why)
{
    const struct event_object regarding = {EVENT_OBJECT_POD, pod->namespace_, pod->name, pod->uid};

    post_notice(events, EVENT_PREEMPTION_REFUSED, &regarding, STR_NULL,
                "No pod was preempted, because that would not make this pod fit: %s. See pending in /state for what it "
                "asks for",
                verdict_text(why));
}

/* ---- nodes ---- */

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

/* Of a node with fgpu-node nothing: that tells of each GPU what is wrong with it, on its pods, too. */
static void health_changed(struct events *events, const struct event_object *node,
                           const struct ledger_node_status *before, const struct ledger_node_status *after)
{
    if (after->unhealthy_n > before->unhealthy_n) {
        post_notice(events, EVENT_DEVICE_UNHEALTHY, node, STR_NULL,
                    "%u GPU%s of the node %s reported unhealthy; no new pod is put there", after->unhealthy_n,
                    plural(after->unhealthy_n), after->unhealthy_n == 1 ? "is" : "are");
    } else if (after->unhealthy_n == 0 && before->unhealthy_n > 0) {
        post_notice(events, EVENT_DEVICE_HEALTHY, node, STR_NULL, "No GPU of the node is reported unhealthy any more");
    }
}

static void node_changed(struct events *events, const struct ledger_node_fact *f,
                         const struct ledger_node_status *before, const struct ledger_node_status *after)
{
    const struct event_object node = {EVENT_OBJECT_NODE, STR_NULL, f->name, f->uid};

    if (after->note != NULL && after->note != before->note) {
        post_notice(events, EVENT_INVENTORY_INVALID, &node, STR_NULL, "%s", after->note);
    } else if (after->note == NULL && before->note != NULL) {
        post_notice(events, EVENT_INVENTORY_RESTORED, &node, STR_NULL, "fgpu can read the inventory of GPUs again");
    }
    if (before->known && after->closed && !before->closed) {
        post_notice(events, EVENT_NODE_CLOSED, &node, STR_NULL,
                    "The node pool takes no new pods with GPUs now. %u pod%s with GPUs may run until the end",
                    after->pod_n, plural(after->pod_n));
    } else if (before->closed && !after->closed) {
        post_notice(events, EVENT_NODE_OPENED, &node, STR_NULL, "The node pool takes pods with GPUs again");
    }
    if (after->lost_n > before->lost_n) {
        post_notice(events, EVENT_DEVICE_LOST, &node, STR_NULL,
                    "%u GPU%s that pods hold left the inventory of the node. The pods stay charged there; "
                    "drain them",
                    after->lost_n, plural(after->lost_n));
    } else if (after->lost_n < before->lost_n && after->lost_n == 0) {
        post_notice(events, EVENT_DEVICE_RETURNED, &node, STR_NULL,
                    "Every GPU that pods hold is in the inventory of the node again");
    }
    if (f->inventory == NULL || !f->inventory->needs_agent) {
        health_changed(events, &node, before, after);
    }
}

int notices_apply(struct store *s, struct events *events, struct ledger_op *op, struct err *reterr)
{
    struct ledger_status before, after;
    int rc;

    if (events == NULL) {
        return store_apply(s, op, reterr);
    }
    rc = store_apply_noting(s, op, &before, &after, reterr);
    if (rc == 0 && op->kind == LEDGER_POD_OBSERVED) {
        pod_changed(events, &op->pod, &before.pod, &after.pod, s);
    } else if (rc == 0 && op->kind == LEDGER_NODE_DESCRIBED) {
        node_changed(events, &op->node, &before.node, &after.node);
    }
    return rc;
}

/* ---- others ---- */

void notice_bind_resolved(struct events *events, const struct bind_request *request, const char *decision_id,
                          bool bound)
{
    const struct event_object pod = {EVENT_OBJECT_POD, request->pod_namespace, request->pod_name, request->pod_uid};

    post_notice(events, EVENT_BIND_RESOLVED, &pod, request->node_name,
                "The API server had not answered in time whether the pod was bound to %.*s: it %s%s%s%s",
                STR_ARG(request->node_name), bound ? "is bound" : "is not bound; its GPUs are free again",
                decision_id[0] != '\0' ? " (decision " : "", decision_id, decision_id[0] != '\0' ? ")" : "");
}

void notice_pod_waits(struct events *events, const struct event_object *pod, const char *why)
{
    post_notice(events, EVENT_POD_WAITS, pod, STR_NULL, "%s. \"fgpu explain pod/%.*s/%.*s\" says more", why,
                STR_ARG(pod->namespace_), STR_ARG(pod->name));
}

void notice_overcommit(struct events *events, const struct ledger_overcommit *o)
{
    const struct event_object node = {.kind = EVENT_OBJECT_NODE, .name = o->node_name};

    if (o->begins) {
        post_notice(
            events, EVENT_OVERCOMMITTED, &node, STR_NULL,
            "GPU %d (%.*s) is charged with more than it has. It takes no new pods as long as this lasts; /state "
            "shows its pods",
            o->index, STR_ARG(o->uuid));
    } else {
        post_notice(events, EVENT_RECOVERED, &node, STR_NULL,
                    "GPU %d (%.*s) is within its capacity again and takes new pods", o->index, STR_ARG(o->uuid));
    }
}

static void tell_pod(struct events *events, const struct incident *in, const struct incident_pod *p)
{
    const struct event_object pod = {EVENT_OBJECT_POD, p->namespace_, p->name, p->uid};
    char sentence[INCIDENT_SENTENCE_MAX];

    (void)incident_sentence(in, sentence, sizeof(sentence));
    if (in->kind == INCIDENT_DOUBLE_BOOKING) { /* long names are cut at the end */
        const struct incident_pod *youngest = incident_youngest(in);

        post_notice(events, EVENT_DOUBLE_BOOKED, &pod, in->node_name,
                    "A GPU is given out twice. Delete the younger pod, %.*s/%.*s, so that it is placed again, and make "
                    "sure that only one fgpu runs. The GPU takes no new pods until then. %s",
                    STR_ARG(youngest->namespace_), STR_ARG(youngest->name), sentence);
    } else {
        post_notice(events, EVENT_ASSIGNMENT_FOREIGN, &pod, in->node_name,
                    "Bound by a decision that this fgpu did not make or had given up. /state shows its charge. %s",
                    incident_remedy(in->kind));
    }
}

void notice_incident(struct events *events, const struct incident *in)
{
    for (size_t i = 0; i < in->pod_n; i++) {
        if (in->pods[i].joined) {
            tell_pod(events, in, &in->pods[i]);
        }
    }
}

void notice_record_refuted(struct events *events, const struct store_unverified *pod)
{
    const struct event_object object = {EVENT_OBJECT_POD, pod->namespace_, pod->name, pod->uid};

    post_notice(events, EVENT_RECORD_REFUTED, &object, STR_NULL,
                "The signature of annotation fgpu.io/assignment is not valid: somebody changed it, or copied it from "
                "another pod. It grants nothing; delete the pod, and check who may write annotations");
}

void notice_drift(struct events *events, struct str namespace_, struct str name, enum ledger_drift drift)
{
    const struct event_object object = {
        .kind = namespace_.n > 0 ? EVENT_OBJECT_POD : EVENT_OBJECT_NODE,
        .namespace_ = namespace_,
        .name = name,
    };

    post_notice(events, EVENT_DRIFT_REPAIRED, &object, STR_NULL,
                "fgpu had missed a change (%s). An audit found it and corrected the ledger", ledger_drift_name(drift));
}

void notice_self(struct events *events, enum event_reason reason, const char *note)
{
    const struct event_object self = {.kind = EVENT_OBJECT_SELF};

    post_notice(events, reason, &self, STR_NULL, "%s", note);
}
