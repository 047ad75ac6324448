#include "kube/outcome.h"

static const char *const names[KUBE_OUTCOME_KIND__MAX] = {
    [KUBE_ANSWERED] = "answered",   [KUBE_NOT_SENT] = "not_sent",   [KUBE_LOST] = "lost",
    [KUBE_TIMED_OUT] = "timed_out", [KUBE_SILENT] = "silent",       [KUBE_ABORTED] = "aborted",
    [KUBE_TOO_LARGE] = "too_large", [KUBE_CANCELLED] = "cancelled",
};

const char *kube_outcome_name(enum kube_outcome_kind kind)
{
    return names[kind];
}
