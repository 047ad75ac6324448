#include "cmd_node/findings.h"

#include "base/sentence.h"

static const struct finding_words {
    const char *says;
    enum event_reason reason; /* EVENT_REASON__MAX: nobody has to do anything, no Event */
} words[] = {
    [AGENT_RUNS_WITHOUT] = {"runs without the GPU of its record, because it was created while fgpu-node was away; "
                            "delete the pod so that it is created again",
                            EVENT_GPU_NOT_HANDED_OVER},
    [AGENT_HAS_ANOTHER] = {"has a GPU that its record does not grant, so nobody else gets that GPU until it has ended; "
                           "delete the pod, and see who hands out devices of this node beside fgpu-node",
                           EVENT_GPU_NOT_GRANTED},
    [AGENT_HAS_NO_GRANT] = {"has a GPU without a record that holds (from a device plugin, a ResourceClaim, or by a key "
                            "that is gone), so nobody else gets that GPU until it has ended",
                            EVENT_REASON__MAX},
};

static void post(const struct agent_finding *f, const struct finding_words *w, struct events *events)
{
    char note[EVENT_NOTE_MAX + 1];
    struct sentence t = sentence_begin(note, sizeof(note));
    struct event e = {
        .reason = w->reason,
        .regarding = {.kind = EVENT_OBJECT_POD, .namespace_ = f->namespace_, .name = f->pod, .uid = f->pod_uid}};

    sentence_add(&t, "container %.*s %s (/dev/nvidia%d)", STR_ARG(f->container), w->says, f->minor);
    e.note = str_of(note);
    events_record(events, &e);
}

void findings_tell(const struct agent_finding *found, size_t n, struct events *events, const struct log *log)
{
    for (size_t i = 0; i < n; i++) {
        const struct agent_finding *f = &found[i];
        const struct finding_words *w = &words[f->kind];

        LOG_WARNING(log, "A container that runs is not as it should be", LOG_CSTR("it", w->says),
                    LOG_STR("namespace", f->namespace_), LOG_STR("pod", f->pod), LOG_STR("container", f->container),
                    LOG_I64("minor", f->minor));
        if (w->reason != EVENT_REASON__MAX) {
            post(f, w, events);
        }
    }
}
