#include "kube/incluster.h"

#include "base/bug.h"
#include "base/file.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CA_BYTES_MAX = 1024 * 1024, PATH_BYTES_MAX = 4096, SERVER_BYTES_MAX = 512 };

/* Address or name: enough to know that it stays the host when it is put into a URL. */
static bool is_host(const char *host)
{
    for (const char *p = host; *p != '\0'; p++) {
        bool alnum = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (!alnum && *p != '.' && *p != '-') {
            return false;
        }
    }
    return *host != '\0';
}

static int server_url(const char *host, const char *port, struct strbuf *ret, struct err *reterr)
{
    struct in6_addr v6;
    uint64_t number;
    bool is_v6 = inet_pton(AF_INET6, host, &v6) == 1;
    if (!is_v6 && !is_host(host)) {
        return err_set(reterr, ERR_INVALID, "KUBERNETES_SERVICE_HOST is not a host: \"%s\"", host);
    }
    if (!str_to_u64(str_of(port), UINT16_MAX, &number) || number == 0) {
        return err_set(reterr, ERR_INVALID, "KUBERNETES_SERVICE_PORT is not a port: \"%s\"", port);
    }
    strbuf_addf(ret, is_v6 ? "https://[%s]:%" PRIu64 : "https://%s:%" PRIu64, host, number);
    return ret->overflowed ? err_set(reterr, ERR_INVALID, "KUBERNETES_SERVICE_HOST is too long") : 0;
}

static int file_path(const char *dir, const char *name, struct strbuf *ret, struct err *reterr)
{
    strbuf_addf(ret, "%s/%s", dir, name);
    return ret->overflowed ? err_set(reterr, ERR_INVALID, "%s: path too long", dir) : 0;
}

static int read_ca(const char *path, struct strbuf *ret, struct err *reterr)
{
    int rc = file_read(path, ret, reterr);
    if (rc == 0 && strstr(ret->p, "-----BEGIN CERTIFICATE-----") == NULL) {
        return err_set(reterr, ERR_INVALID, "%s: no certificate in it", path);
    }
    return rc;
}

int incluster_load(const char *host, const char *port, const char *dir, struct credentials *ret, struct err *reterr)
{
    struct strbuf server CLEANUP(strbuf_fini), token CLEANUP(strbuf_fini);
    struct strbuf ca_file CLEANUP(strbuf_fini), ca CLEANUP(strbuf_fini);
    strbuf_init(&server, SERVER_BYTES_MAX);
    strbuf_init(&token, PATH_BYTES_MAX);
    strbuf_init(&ca_file, PATH_BYTES_MAX);
    strbuf_init(&ca, CA_BYTES_MAX);
    if (host == NULL || *host == '\0' || port == NULL || *port == '\0') {
        return err_set(reterr, ERR_NOT_FOUND,
                       "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
                       "not set; give --kubeconfig");
    }
    int rc = server_url(host, port, &server, reterr);
    if (rc == 0) {
        rc = file_path(dir, "token", &token, reterr);
    }
    if (rc == 0 && access(token.p, R_OK) != 0) {
        rc = err_set(reterr, ERR_NOT_FOUND, "%s cannot be read: does the pod have automountServiceAccountToken: false?",
                     token.p);
    }
    if (rc == 0) {
        rc = file_path(dir, "ca.crt", &ca_file, reterr);
    }
    if (rc == 0) {
        rc = read_ca(ca_file.p, &ca, reterr);
    }
    if (rc == 0) {
        *ret = (struct credentials){
            .server = strbuf_take(&server, NULL),
            .ca_pem = strbuf_take(&ca, NULL),
            .token_file = strbuf_take(&token, NULL),
        };
    }
    return rc;
}
