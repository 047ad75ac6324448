/* kube/transport.c - the client: what all its calls share. */
#include "transport_internal.h"

#include "base/bug.h"
#include "base/sync.h"

#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS_DEFAULT = 64 };

static CURLcode curl_ready;

static void init_curl(void)
{
    curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int context_init(struct easy_context *c, const struct credentials *creds,
                        const struct kube_client_options *options, struct err *reterr)
{
    const struct identity_options identity = {.clock = options->clock, .log = options->log};
    c->creds = creds;
    c->clock = options->clock != NULL ? options->clock : clock_system();
    c->observe = options->observe;
    c->observe_ctx = options->observe_ctx;
    c->may_write = options->may_write;
    c->may_write_ctx = options->may_write_ctx;
    c->user_agent = str_dup(str_of(options->user_agent != NULL ? options->user_agent : "fgpu/" FGPU_VERSION));
    int rc = endpoint_init(&c->endpoint, creds, reterr);
    return rc == 0 ? identity_new(creds, &identity, &c->identity, reterr) : rc;
}

static void context_fini(struct easy_context *c)
{
    identity_free(c->identity);
    endpoint_fini(&c->endpoint);
    free(c->user_agent);
}

int kube_client_new(const struct credentials *creds, const struct kube_client_options *options,
                    struct kube_client **ret, struct err *reterr)
{
    static struct once once = ONCE_INIT;
    once_run(&once, init_curl);
    if (curl_ready != CURLE_OK) {
        return err_set(reterr, ERR_INTERNAL, "libcurl: %s", curl_easy_strerror(curl_ready));
    }
    struct kube_client *c = xcalloc(1, sizeof(*c));
    c->read_only = options->read_only;
    int rc = context_init(&c->context, creds, options, reterr);
    if (rc == 0) {
        uint32_t max = options->connections_max != 0 ? options->connections_max : CONNECTIONS_DEFAULT;
        rc = call_queue_new(&c->context, max, &c->calls, reterr);
    }
    if (rc != 0) {
        kube_client_free(c);
        return rc;
    }
    *ret = c;
    return 0;
}

void kube_client_stop(struct kube_client *c)
{
    call_queue_stop(c->calls);
}

void kube_client_free(struct kube_client *c)
{
    if (c != NULL) {
        call_queue_free(c->calls);
        context_fini(&c->context);
        free(c);
    }
}

void kube_client_identity(struct kube_client *c, struct identity_stats *ret)
{
    identity_stats(c->context.identity, ret);
}

/* Bytes that would end the line they are put into. */
static bool breaks_line(const char *text, bool blanks_too)
{
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char byte = (unsigned char)*p;
        if (byte < ' ' || byte == 0x7f || (blanks_too && byte == ' ')) {
            return true;
        }
    }
    return false;
}

bool kube_request_writes(const struct kube_request *r)
{
    return !r->asks && strcmp(r->method, "GET") != 0;
}

static int check_request(const struct kube_client *c, const struct kube_request *request, struct err *reterr)
{
    if (c->read_only && kube_request_writes(request)) {
        return err_set(reterr, ERR_INVALID, "nothing is written to the API server in a rehearsal");
    }
    if (c->context.may_write != NULL && kube_request_writes(request) && !request->unelected &&
        !c->context.may_write(c->context.may_write_ctx)) {
        return err_set(reterr, ERR_UNAVAILABLE, "this replica does not lead, so it writes nothing");
    }
    if (request->path[0] != '/' || breaks_line(request->path, true)) {
        return err_set(reterr, ERR_INVALID, "not a path: \"%s\"", request->path);
    }
    for (const char *const *h = request->headers; h != NULL && *h != NULL; h++) {
        if (breaks_line(*h, false)) {
            return err_set(reterr, ERR_INVALID, "control character in a header");
        }
    }
    return 0;
}

int kube_client_submit(struct kube_client *c, const struct kube_request *request, kube_done_fn *done, void *ctx,
                       struct err *reterr)
{
    BUG_ON(request->deadline_ms == 0);
    int rc = check_request(c, request, reterr);
    return rc != 0 ? rc : call_queue_submit(c->calls, request, done, ctx, reterr);
}
