#include "extender/incident_words.h"

#include "base/bug.h"
#include "base/sentence.h"

/* Pods that a sentence names. */
enum { NAMED_MAX = 4 };

static void add_pods(struct sentence *t, const struct incident *in)
{
    for (size_t i = 0; i < in->pod_n && i < NAMED_MAX; i++) {
        sentence_add(t, "%s%.*s/%.*s",
                     i == 0               ? ""
                     : i + 1 == in->pod_n ? " and "
                                          : ", ",
                     STR_ARG(in->pods[i].namespace_), STR_ARG(in->pods[i].name));
    }
    if (in->pod_n > NAMED_MAX) {
        sentence_add(t, " and %zu more", in->pod_n - NAMED_MAX);
    }
}

static void add_gpu(struct sentence *t, const struct incident *in)
{
    sentence_add(t, "GPU %d%s%.*s%s of node %.*s", in->index, in->uuid.n > 0 ? " (" : "", STR_ARG(in->uuid),
                 in->uuid.n > 0 ? ")" : "", STR_ARG(in->node_name));
}

char *incident_sentence(const struct incident *in, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    if (in->kind == INCIDENT_FOREIGN_DECISION) {
        sentence_add(&t, "pod ");
        add_pods(&t, in);
        sentence_add(&t, " was bound to node %.*s by a decision that this fgpu did not make or had given up",
                     STR_ARG(in->node_name));
    } else if (in->ends) {
        add_gpu(&t, in);
        sentence_add(&t, " is no longer given out twice");
    } else {
        add_gpu(&t, in);
        sentence_add(&t, " is given to ");
        add_pods(&t, in);
        sentence_add(&t, ", together more than it has");
    }
    return buf;
}

const char *incident_remedy(enum incident_kind k)
{
    static const char *const remedies[INCIDENT_KIND__MAX] = {
        [INCIDENT_DOUBLE_BOOKING] =
            "Delete the youngest of them, so that it is placed again, and make sure that only one fgpu runs",
        [INCIDENT_FOREIGN_DECISION] =
            "Another fgpu runs, or a Binding that was given up came late, perhaps from an earlier fgpu, or "
            "somebody writes fgpu.io/assignment: make sure that only one fgpu writes it",
    };

    BUG_ON((unsigned)k >= INCIDENT_KIND__MAX);
    return remedies[k];
}

const struct incident_pod *incident_youngest(const struct incident *in)
{
    BUG_ON(in->pod_n == 0);
    return &in->pods[in->pod_n - 1];
}
