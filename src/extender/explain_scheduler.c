/* What kube-scheduler says of a pod, told apart from what it repeats of fgpu; and why fgpu was not asked. */
#include "extender/explain.h"

#include "base/sentence.h"

#include <ctype.h>

static struct str between(struct str s, size_t from, size_t to)
{
    return (struct str){s.p + from, to - from};
}

/* "0/5 nodes are available: 1 Insufficient cpu, 4 too few empty GPUs. preemption: 0/5 nodes are ..." without what
 * stands before the first colon and after the sentence. */
static struct str reasons_of(struct str message)
{
    struct str rest = message, head = STR_NULL;
    size_t end;

    if (!str_split(&rest, ':', &head)) {
        return STR_NULL;
    }
    for (end = 0; end + 1 < rest.n && !(rest.p[end] == '.' && rest.p[end + 1] == ' '); end++) {
    }
    end = end + 1 < rest.n ? end : rest.n;
    rest = str_trim(between(rest, 0, end));
    return str_ends(rest, STR(".")) ? between(rest, 0, rest.n - 1) : rest;
}

/* A comma stands in some reasons, too; the next one begins with its number of nodes. */
static struct str next_reason(struct str *rest)
{
    struct str part = *rest;

    for (size_t i = 0; i + 2 < rest->n; i++) {
        if (rest->p[i] == ',' && rest->p[i + 1] == ' ' && isdigit((unsigned char)rest->p[i + 2])) {
            part = between(*rest, 0, i);
            *rest = str_drop(*rest, i + 2);
            return part;
        }
    }
    *rest = STR_NULL;
    return part;
}

static bool is_ours(struct str reason)
{
    struct str text = reason, number;

    if (!str_split(&text, ' ', &number)) {
        return false;
    }
    for (unsigned v = 1; v < VERDICT__MAX; v++) {
        if (str_eq_cstr(text, verdict_text((enum verdict)v))) {
            return true;
        }
    }
    for (unsigned d = 1; d < DEMAND_DEFECT__MAX; d++) {
        if (str_eq_cstr(text, demand_defect_text((enum demand_defect)d))) {
            return true;
        }
    }
    return false;
}

/* What filter answers as an error stands alone in the condition, and so does an error of the call. */
static bool says_not_ready(struct str message)
{
    return str_starts(message, STR("fgpu is not ready: "));
}

static bool says_not_reached(struct str message)
{
    return str_starts(message, STR("Post \""));
}

static bool counts_nodes(struct str message)
{
    struct str rest = message, head = STR_NULL;

    return str_split(&rest, ':', &head) && str_ends(head, STR(" nodes are available"));
}

size_t explain_scheduler_reasons(struct str message, struct str ret[EXPLAIN_REASONS_MAX])
{
    struct str rest;
    size_t n = 0;

    if (message.n == 0 || says_not_ready(message)) {
        return 0;
    }
    if (!counts_nodes(message)) {
        ret[0] = message;
        return 1;
    }
    rest = reasons_of(message);
    while (rest.n > 0 && n < EXPLAIN_REASONS_MAX) {
        struct str reason = next_reason(&rest);

        if (!is_ours(reason)) {
            ret[n++] = reason;
        }
    }
    return n;
}

char *explain_unasked_sentence(const struct waiting_note *n, char *buf, size_t size)
{
    struct sentence t = sentence_begin(buf, size);

    if (!n->known || n->asked_n > 0) {
        return buf;
    }
    if (says_not_ready(n->message)) {
        sentence_add(&t, "kube-scheduler asked while fgpu was not ready, and asks again by itself");
        return buf;
    }
    if (says_not_reached(n->message)) {
        sentence_add(&t,
                     "kube-scheduler could not ask fgpu; if this stays, check urlPrefix in the section extenders of "
                     "its KubeSchedulerConfiguration");
        return buf;
    }
    sentence_add(&t, "fgpu has not been asked about it since it started: ");
    if (n->asking.n == 0) {
        sentence_add(&t,
                     "no scheduler has asked about any pod with GPUs; check the section extenders of its "
                     "KubeSchedulerConfiguration, and that scheduler %.*s runs",
                     STR_ARG(n->scheduler_name));
    } else if (!str_eq(n->asking, n->scheduler_name)) {
        sentence_add(&t,
                     "it names scheduler %.*s, and %.*s is the one that asks; correct spec.schedulerName and create "
                     "it again, or let %.*s ask fgpu",
                     STR_ARG(n->scheduler_name), STR_ARG(n->asking), STR_ARG(n->scheduler_name));
    } else {
        sentence_add(&t, "either kube-scheduler rules out every node before, or it does not know that the pod is for "
                         "fgpu (managedResources)");
    }
    return buf;
}
