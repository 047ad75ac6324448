#include "kube/outcome.h"

#include <stdio.h>

static const char *const names[KUBE_OUTCOME_KIND__MAX] = {
    [KUBE_ANSWERED] = "answered",   [KUBE_NOT_SENT] = "not_sent",   [KUBE_LOST] = "lost",
    [KUBE_TIMED_OUT] = "timed_out", [KUBE_SILENT] = "silent",       [KUBE_ABORTED] = "aborted",
    [KUBE_TOO_LARGE] = "too_large", [KUBE_CANCELLED] = "cancelled",
};

const char *kube_outcome_name(enum kube_outcome_kind kind)
{
    return names[kind];
}

struct kube_outcome kube_outcome_of(enum kube_outcome_kind kind, const char *detail)
{
    struct kube_outcome o = {.kind = kind, .retry_after_ms = KUBE_NO_RETRY_AFTER};

    (void)snprintf(o.detail, sizeof(o.detail), "%.*s", (int)sizeof(o.detail) - 1, detail);
    return o;
}
