#include "cmd/inquiry.h"

#include "base/bug.h"
#include "base/file.h"
#include "cmd/commands.h"
#include "kube/transport.h"
#include "sim/state_file.h"

#include <string.h>

#define SILENCE_MS 30000
#define PEM_BYTES_MAX (1024 * 1024)

/* For who has named no address, and has no fgpu on this machine. */
#define ELSEWHERE "; if fgpu runs elsewhere, name it by --server, or in a cluster use kubectl fgpu"

static const char *default_server = INQUIRY_SERVER;

void inquiry_set_default_server(const char *url)
{
    default_server = url;
}

int inquiry_take(void *ret, int option, const char *value)
{
    struct inquiry *q = ret;

    BUG_ON(option != 'o');
    q->json = strcmp(value, "json") == 0;
    return q->json || strcmp(value, "table") == 0
               ? EXIT_OK
               : cmd_usage_error(q->command, "cannot use \"%s\"; there are table and json", value);
}

bool inquiry_read(const struct command_line *l, int argc, char **argv, struct inquiry *q, int *ret_code)
{
    int code;

    *q = (struct inquiry){.command = l->page != NULL ? page_word(l->page) : l->command, .server = default_server};
    code = options_read(l, argc, argv, q);
    if (code == EXIT_OK && q->state_file != NULL && (strcmp(q->server, default_server) != 0 || q->token_file != NULL)) {
        code = cmd_usage_error(q->command, "give --state or --server, not both");
    }
    if (code == EXIT_OK && (q->cert_file == NULL) != (q->key_file == NULL)) {
        code = cmd_usage_error(q->command, "--cert-file and --key-file belong together");
    }
    *ret_code = code == -1 ? EXIT_OK : code;
    return code == EXIT_OK;
}

static int take_body(void *ctx, struct str bytes, struct err *reterr)
{
    struct strbuf *out = ctx;

    strbuf_add_str(out, bytes);
    return out->overflowed ? err_set(reterr, ERR_LIMIT, "the answer is larger than %zu bytes", out->max_bytes) : 0;
}

static int judge(const struct inquiry *q, const struct kube_outcome *o, struct err *reterr)
{
    enum err_code code = ERR_UNAVAILABLE;

    if (o->kind == KUBE_ANSWERED && o->http_status == 200) {
        return 0;
    }
    if (o->http_status == 401 || o->http_status == 403) {
        code = ERR_DENIED;
    } else if (o->http_status == 400) {
        code = ERR_INVALID;
    }
    if (o->http_status == 404) {
        return err_set(reterr, code,
                       "%s: no such path there; give the address of the ops listener of fgpu, by default %s", q->server,
                       INQUIRY_SERVER);
    }
    if (o->http_status != 0) {
        return err_set(reterr, code, "%s: HTTP status %d%s%s", q->server, o->http_status,
                       o->detail[0] != '\0' ? ": " : "", o->detail);
    }
    return err_set(reterr, code, "%s: %s%s", q->server, o->detail[0] != '\0' ? o->detail : kube_outcome_name(o->kind),
                   strcmp(q->server, INQUIRY_SERVER) == 0 ? ELSEWHERE : "");
}

static int get(const struct inquiry *q, struct kube_client *client, const char *path, struct strbuf *out,
               struct err *reterr)
{
    const struct kube_stream_request request = {
        .path = path, .silence_ms = SILENCE_MS, .verb = "get", .resource = "state"};
    struct kube_outcome outcome;
    struct kube_stream *stream;
    int rc = kube_stream_new(client, &stream, reterr);

    if (rc == 0) {
        kube_stream_run(stream, &request, take_body, out, &outcome);
        rc = judge(q, &outcome, reterr);
        kube_stream_free(stream);
    }
    return rc;
}

/* A file and no pipe: kube/identity.h reads it again. */
static int read_pem(const char *file, char **ret_file, char **ret_pem, struct err *reterr)
{
    struct strbuf pem;
    int rc = 0;

    if (file != NULL) {
        strbuf_init(&pem, PEM_BYTES_MAX);
        rc = file_read(file, &pem, reterr);
        *ret_pem = rc == 0 ? str_dup(strbuf_view(&pem)) : NULL;
        *ret_file = str_dup(str_of(file));
        strbuf_wipe(&pem); /* it may be a key */
        strbuf_fini(&pem);
    }
    return rc;
}

static int read_files(const struct inquiry *q, struct credentials *creds, struct err *reterr)
{
    int rc = read_pem(q->ca_file, &creds->ca_file, &creds->ca_pem, reterr);

    rc = rc == 0 ? read_pem(q->cert_file, &creds->client_cert_file, &creds->client_cert_pem, reterr) : rc;
    return rc == 0 ? read_pem(q->key_file, &creds->client_key_file, &creds->client_key_pem, reterr) : rc;
}

int inquiry_get(const struct inquiry *q, const char *path, struct strbuf *out, struct err *reterr)
{
    struct credentials creds = {.server = NULL};
    struct str server = str_of(q->server);
    struct kube_client *client;
    int rc;

    while (str_ends(server, STR("/"))) {
        server.n--;
    }
    creds.server = str_dup(server);
    creds.token_file = q->token_file != NULL ? str_dup(str_of(q->token_file)) : NULL;
    rc = read_files(q, &creds, reterr);
    if (rc == 0) {
        rc = kube_client_new(&creds, &(struct kube_client_options){0}, &client, reterr);
    }
    if (rc == 0) {
        rc = get(q, client, path, out, reterr);
        kube_client_free(client);
    }
    credentials_fini(&creds);
    return rc;
}

const char *inquiry_source(const struct inquiry *q)
{
    return q->state_file != NULL ? q->state_file : q->server;
}

int inquiry_state(const struct inquiry *q, bool summary, struct strbuf *out, struct err *reterr)
{
    if (q->state_file != NULL) {
        return file_or_pipe_read(q->state_file, out, reterr);
    }
    return inquiry_get(q, summary ? "/state?fields=summary" : "/state", out, reterr);
}
