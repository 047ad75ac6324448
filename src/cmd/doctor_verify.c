/* The connection of kube-scheduler to its extender, tried from here. */
#include "base/file.h"
#include "cmd/doctor_api.h"
#include "kube/transport.h"

#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define SILENCE_MS 10000

/* A file of tlsConfig, with what is in it; where none is named, nothing. */
static int take_file(const char *key, struct str path, char **ret_path, char **ret_text, struct err *reterr)
{
    struct strbuf text;
    int rc;

    if (path.n == 0) {
        return 0;
    }
    *ret_path = str_dup(path);
    strbuf_init(&text, FILE_BYTES_MAX);
    rc = file_read(*ret_path, &text, reterr);
    *ret_text = rc == 0 ? str_dup(strbuf_view(&text)) : NULL;
    strbuf_wipe(&text); /* one of them is a key */
    strbuf_fini(&text);
    return rc != 0
               ? err_wrap(reterr, rc, "tlsConfig.%s is on the machine of kube-scheduler, run fgpu doctor there", key)
               : 0;
}

static int take_files(const struct scheduler_extender *e, struct credentials *creds, struct err *reterr)
{
    int rc = take_file("caFile", e->ca_file, &creds->ca_file, &creds->ca_pem, reterr);

    rc = rc == 0 ? take_file("certFile", e->cert_file, &creds->client_cert_file, &creds->client_cert_pem, reterr) : rc;
    rc = rc == 0 ? take_file("keyFile", e->key_file, &creds->client_key_file, &creds->client_key_pem, reterr) : rc;
    creds->tls_server_name = e->server_name.n > 0 ? str_dup(e->server_name) : NULL;
    return rc;
}

static int pass_over(void *ctx, struct str bytes, struct err *reterr)
{
    (void)ctx;
    (void)bytes;
    (void)reterr;
    return 0;
}

static int try_it(struct kube_client *client, struct arena *a, struct str *ret_trouble, struct err *reterr)
{
    const struct kube_stream_request request = {
        .path = "/", .silence_ms = SILENCE_MS, .verb = "get", .resource = "verbs"};
    struct kube_stream *stream;
    struct kube_outcome o;
    int rc = kube_stream_new(client, &stream, reterr);

    if (rc != 0) {
        return rc;
    }
    kube_stream_run(stream, &request, pass_over, NULL, &o);
    kube_stream_free(stream);
    if (o.http_status > 0) {
        return 0; /* whatever it says: the connection stands */
    }
    if (strstr(o.detail, "ertificate") == NULL) { /* libcurl has no code of its own for each fault */
        return err_set(reterr, ERR_UNAVAILABLE, "%s", o.detail[0] != '\0' ? o.detail : kube_outcome_name(o.kind));
    }
    *ret_trouble = arena_str(a, str_of(o.detail));
    return 0;
}

int doctor_api_verify(const struct scheduler_extender *e, struct arena *a, struct str *ret_trouble, struct err *reterr)
{
    const struct str server = arena_printf(a, "https://%.*s:%u", STR_ARG(e->url_host), e->url_port);
    struct credentials creds = {.server = str_dup(server)};
    struct kube_client *client;
    int rc = take_files(e, &creds, reterr);

    if (rc == 0) {
        rc = kube_client_new(&creds, &(struct kube_client_options){.read_only = true}, &client, reterr);
    }
    if (rc == 0) {
        rc = try_it(client, a, ret_trouble, reterr);
        kube_client_free(client);
    }
    credentials_fini(&creds);
    return rc;
}
