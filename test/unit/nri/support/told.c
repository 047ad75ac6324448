#include "nri/support/told.h"

static void on_connected(void *ctx, const struct nri_runtime *r)
{
    struct told *t = ctx;

    strbuf_addf(&t->text, "connected %.*s %.*s %.*s %d; ", STR_ARG(r->name), STR_ARG(r->version),
                STR_ARG(r->nri_version), (int)r->request_timeout_ms);
}

static void on_sync_begin(void *ctx)
{
    strbuf_add_cstr(&((struct told *)ctx)->text, "begin; ");
}

static void on_sync_pod(void *ctx, const struct nri_pod *pod)
{
    strbuf_addf(&((struct told *)ctx)->text, "pod %.*s; ", STR_ARG(pod->id));
}

static void on_sync_container(void *ctx, const struct nri_container *c)
{
    strbuf_addf(&((struct told *)ctx)->text, "container %.*s of %.*s; ", STR_ARG(c->id), STR_ARG(c->pod_id));
}

static void on_sync_unreadable(void *ctx, const char *what, const struct err *why)
{
    strbuf_addf(&((struct told *)ctx)->text, "unreadable %s: %s; ", what, why->msg);
}

static void on_sync_end(void *ctx)
{
    strbuf_add_cstr(&((struct told *)ctx)->text, "end; ");
}

static int happens(struct told *t, const char *what, const struct nri_pod *pod, const struct nri_container *c,
                   struct err *reterr)
{
    strbuf_addf(&t->text, "%s ", what);
    strbuf_add_str(&t->text, pod->id);
    strbuf_add_char(&t->text, '/');
    strbuf_add_str(&t->text, c->id);
    strbuf_add_cstr(&t->text, "; ");
    return t->refuse != NULL ? err_set(reterr, t->refuse_code, "%s", t->refuse) : 0;
}

static int on_create(void *ctx, const struct nri_pod *pod, const struct nri_container *c, struct arena *arena,
                     struct nri_adjustment *ret, struct err *reterr)
{
    (void)arena;
    *ret = ((struct told *)ctx)->add;
    return happens(ctx, "create", pod, c, reterr);
}

static int on_start(void *ctx, const struct nri_pod *pod, const struct nri_container *c, struct err *reterr)
{
    return happens(ctx, "start", pod, c, reterr);
}

static void on_stop(void *ctx, const struct nri_pod *pod, const struct nri_container *c)
{
    (void)happens(ctx, "stop", pod, c, NULL);
}

static void on_remove(void *ctx, const struct nri_pod *pod, const struct nri_container *c)
{
    (void)happens(ctx, "remove", pod, c, NULL);
}

static void on_sandbox_removed(void *ctx, const struct nri_pod *pod)
{
    strbuf_addf(&((struct told *)ctx)->text, "sandbox removed %.*s; ", STR_ARG(pod->id));
}

static void on_disconnected(void *ctx, const struct err *why)
{
    strbuf_addf(&((struct told *)ctx)->text, "disconnected: %s; ", why->msg);
}

void told_init(struct told *t)
{
    *t = (struct told){.refuse_code = ERR_INVALID,
                       .handler = {.ctx = t,
                                   .connected = on_connected,
                                   .sync_begin = on_sync_begin,
                                   .sync_pod = on_sync_pod,
                                   .sync_container = on_sync_container,
                                   .sync_unreadable = on_sync_unreadable,
                                   .sync_end = on_sync_end,
                                   .create = on_create,
                                   .start = on_start,
                                   .stop = on_stop,
                                   .remove = on_remove,
                                   .sandbox_removed = on_sandbox_removed,
                                   .disconnected = on_disconnected}};
    strbuf_init(&t->text, 1U << 20);
}

void told_fini(struct told *t)
{
    strbuf_fini(&t->text);
}
