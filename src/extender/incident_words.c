#include "extender/incident_words.h"

#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>

/* Pods that a sentence names. */
enum { NAMED_MAX = 4 };

struct cut_text {
    char *p;
    size_t size, n;
};

static void add(struct cut_text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add(struct cut_text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->p + t->n, t->size - t->n, fmt, ap);
    va_end(ap);
    BUG_ON(n < 0);
    t->n = (size_t)n < t->size - t->n ? t->n + (size_t)n : t->size - 1;
}

static void add_pods(struct cut_text *t, const struct incident *in)
{
    for (size_t i = 0; i < in->pod_n && i < NAMED_MAX; i++) {
        add(t, "%s%.*s/%.*s",
            i == 0               ? ""
            : i + 1 == in->pod_n ? " and "
                                 : ", ",
            STR_ARG(in->pods[i].namespace_), STR_ARG(in->pods[i].name));
    }
    if (in->pod_n > NAMED_MAX) {
        add(t, " and %zu more", in->pod_n - NAMED_MAX);
    }
}

static void add_gpu(struct cut_text *t, const struct incident *in)
{
    add(t, "GPU %d%s%.*s%s of node %.*s", in->index, in->uuid.n > 0 ? " (" : "", STR_ARG(in->uuid),
        in->uuid.n > 0 ? ")" : "", STR_ARG(in->node_name));
}

char *incident_sentence(const struct incident *in, char *buf, size_t size)
{
    struct cut_text t = {buf, size, 0};

    BUG_ON(size == 0);
    buf[0] = '\0';
    if (in->kind == INCIDENT_FOREIGN_DECISION) {
        add(&t, "pod ");
        add_pods(&t, in);
        add(&t, " was bound to node %.*s by a decision that this fgpu did not make or had given up",
            STR_ARG(in->node_name));
    } else if (in->ends) {
        add_gpu(&t, in);
        add(&t, " is no longer given out twice");
    } else {
        add_gpu(&t, in);
        add(&t, " is given to ");
        add_pods(&t, in);
        add(&t, ", together more than it has");
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
