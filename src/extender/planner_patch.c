/* The patches of the planner, over the API client. */
#include "extender/planner.h"

#include "base/bug.h"
#include "base/strbuf.h"
#include "kube/transport.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEADLINE_MS = 3000, PATH_BYTES_MAX = 1024, BODY_BYTES_MAX = 1024 };

struct exchange {
    struct planner *planner;
    struct planner_call *call;
};

static void patched(void *ctx, const struct kube_response *response)
{
    struct exchange x = *(struct exchange *)ctx;
    const struct kube_outcome *o = &response->outcome;
    const struct nomination_answer a = nomination_classify(o);
    char detail[KUBE_OUTCOME_DETAIL_MAX + 40];

    free(ctx);
    (void)snprintf(detail, sizeof(detail), "%s", o->detail[0] != '\0' ? o->detail : kube_outcome_name(o->kind));
    if (o->detail[0] == '\0' && o->http_status != 0) {
        (void)snprintf(detail, sizeof(detail), "the API server answered %d", o->http_status);
    }
    planner_sent(x.planner, x.call, &a, detail);
}

static int submit(struct kube_client *client, struct exchange *x, const struct nomination *n, struct err *reterr)
{
    struct strbuf path, body;
    int rc;

    strbuf_init(&path, PATH_BYTES_MAX);
    strbuf_init(&body, BODY_BYTES_MAX);
    rc = kube_nomination_request(n, &path, &body, reterr);
    if (rc == 0) {
        const struct kube_request request = {.method = "PATCH",
                                             .path = path.p,
                                             .body = strbuf_view(&body),
                                             .content_type = NOMINATION_CONTENT_TYPE,
                                             .deadline_ms = DEADLINE_MS,
                                             .verb = "patch",
                                             .resource = "pods/status"};

        rc = kube_client_submit(client, &request, patched, x, reterr);
    }
    strbuf_fini(&path);
    strbuf_fini(&body);
    return rc;
}

void planner_patch_send(struct kube_client *client, struct planner *p, struct planner_call *call,
                        const struct nomination *n)
{
    struct exchange *x = xcalloc(1, sizeof(*x));
    struct err err;

    *x = (struct exchange){p, call};
    if (submit(client, x, n, &err) != 0) {
        /* Nothing was sent: as if the API server had given no answer. */
        free(x);
        planner_sent(p, call, &(struct nomination_answer){.reply = NOMINATION_FAILED}, err.msg);
    }
}
