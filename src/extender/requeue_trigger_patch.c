/* The PATCH that wakes kube-scheduler. */
#include "base/strbuf.h"
#include "extender/requeue_trigger.h"
#include "kube/run_object.h"
#include "kube/transport.h"

#include <stdio.h>

#define PATCH_DEADLINE_MS 1500 /* pods wait for it; it is sent again soon after */

static void patched(void *ctx, const struct kube_response *response)
{
    const struct kube_outcome *o = &response->outcome;
    char detail[64];

    if (o->kind != KUBE_ANSWERED) {
        requeue_trigger_sent(ctx, WAKE_FAILED, o->detail[0] != '\0' ? o->detail : kube_outcome_name(o->kind));
        return;
    }
    if (o->http_status == 200) {
        requeue_trigger_sent(ctx, WAKE_DONE, NULL);
        return;
    }
    (void)snprintf(detail, sizeof(detail), "the API server answered %d", o->http_status);
    requeue_trigger_sent(ctx, o->http_status == 403 || o->http_status == 404 ? WAKE_IMPOSSIBLE : WAKE_FAILED, detail);
}

void requeue_trigger_patch_send(void *ctx, struct requeue_trigger *w)
{
    const struct requeue_trigger_patch *p = ctx;
    struct strbuf path, body;
    struct kube_request request = {
        .method = "PATCH",
        .content_type = "application/merge-patch+json",
        .deadline_ms = PATCH_DEADLINE_MS,
        .verb = "patch",
        .resource = "csistoragecapacities",
    };
    struct err err;

    strbuf_init(&path, RUN_OBJECT_PATH_MAX);
    wake_object_path(p->object, &path);
    request.path = path.p;
    strbuf_init(&body, WAKE_PATCH_MAX);
    wake_object_patch(clock_wall_ms(p->clock), &body);
    request.body = strbuf_view(&body);
    if (kube_client_submit(p->client, &request, patched, w, &err) != 0) {
        requeue_trigger_sent(w, WAKE_FAILED, err.msg);
    }
    strbuf_fini(&path);
    strbuf_fini(&body);
}
