/* demo/scheduler/verbs_internal.h - the scheduler's side of the extender protocol (contract section 2).
 *
 * Replies are read as strictly as fgpu promises to write them, which is stricter than
 * kube-scheduler is: every deviation is ERR_PARSE or ERR_INVALID, so that a run of the
 * demonstration also is a conformance run.
 */
#ifndef DEMO_SCHEDULER_VERBS_INTERNAL_H
#define DEMO_SCHEDULER_VERBS_INTERNAL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/strbuf.h"
#include "demo/http_client_internal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_list { /* ascending, unique */
    char **items;
    size_t n;
};
void name_list_fini(struct name_list *l);

#define VERBS_REASONS_MAX 6

struct filter_result {
    size_t *feasible; /* places in the node list, in the order of the reply; malloc'ed */
    size_t feasible_n;
    /* when nothing is feasible: how many nodes gave which reason, most frequent first */
    struct {
        char text[128];
        size_t n;
    } reasons[VERBS_REASONS_MAX];
    size_t reason_n;
};

struct verbs { /* one user at a time */
    struct http_client *http;
    const char *base_url;
    struct strbuf request, reply;
    struct arena arena;
    struct json_reader reader;
};

WARN_UNUSED struct verbs *verbs_new(const char *base_url, const atomic_bool *stop);
void verbs_free(struct verbs *v);

/* `pod` is the object as JSON. *ret_us: the duration of the call. Both are set on success; the
 * caller frees ret->feasible. An answer with a non-empty Error is ERR_UNAVAILABLE. */
WARN_UNUSED int verbs_filter(struct verbs *v, struct str pod, const struct name_list *nodes, struct filter_result *ret,
                             int64_t *ret_us, struct err *reterr);
/* scores[i] belongs to feasible[i]. */
WARN_UNUSED int verbs_prioritize(struct verbs *v, struct str pod, const struct name_list *nodes,
                                 const struct filter_result *filtered, int64_t *scores, int64_t *ret_us,
                                 struct err *reterr);
WARN_UNUSED int verbs_bind(struct verbs *v, const char *namespace_, const char *name, const char *uid, const char *node,
                           int64_t *ret_us, struct err *reterr);

#endif
