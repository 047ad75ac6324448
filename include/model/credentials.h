/* model/credentials.h - how to reach an API server and who we are there.
 *
 * Filled from a kubeconfig (config/kubeconfig.h) or from the files a pod finds in its container
 * (kube/incluster.h); used by kube/transport.h. Owned text: credentials_fini frees and wipes it.
 */
#ifndef MODEL_CREDENTIALS_H
#define MODEL_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

struct credentials {
    char *server;          /* "https://10.0.0.1:6443", no trailing slash */
    char *ca_pem;          /* NULL: system trust store */
    char *tls_server_name; /* NULL: the host of `server` */
    bool insecure_skip_tls_verify;
    char *token;           /* NULL: none; bearer token given literally */
    char *token_file;      /* NULL: none; read again at least every minute, wins over `token` */
    char *client_cert_pem; /* NULL: none */
    char *client_key_pem;
    char *username;        /* NULL: none; basic authentication */
    char *password;
};

/* Frees and wipes everything; c may be all zero. */
void credentials_fini(struct credentials *c);

#endif
