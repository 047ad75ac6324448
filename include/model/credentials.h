/* model/credentials.h - how to reach an API server and who we are there.
 *
 * Filled from a kubeconfig (config/kubeconfig.h) or from the files a pod finds in its container
 * (kube/incluster.h); used by kube/transport.h. Owned text: credentials_fini frees and wipes it.
 *
 * What stood in a file has both its path and its content as of loading: the path, because files are
 * replaced while we run (kube/identity.h reads them again), the content, because it was checked.
 * What was given as text (the *-data keys) has no path and never changes.
 */
#ifndef MODEL_CREDENTIALS_H
#define MODEL_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

/* A program that makes credentials: client-go's exec plugins, client.authentication.k8s.io. It is
 * run without a terminal and without a shell. */
struct credentials_exec {
    char *api_version;  /* "client.authentication.k8s.io/v1" or ".../v1beta1" */
    char *command;      /* with a slash: a path; without: looked for in PATH */
    char **args;        /* without the command; ends with NULL; or NULL */
    char **env;         /* "NAME=value", added to ours; ends with NULL; or NULL */
    char *install_hint; /* NULL: none; for people, when the command is missing */
    char *info;         /* value of KUBERNETES_EXEC_INFO: an ExecCredential as JSON */
};

struct credentials {
    char *server;          /* "https://10.0.0.1:6443", no trailing slash */
    char *proxy_url;       /* NULL: none; may hold a password */
    char *ca_pem;          /* NULL: system trust store */
    char *ca_file;         /* NULL: ca_pem was given as text */
    char *tls_server_name; /* NULL: the host of `server` */
    bool insecure_skip_tls_verify;
    bool disable_compression; /* ask for nothing compressed */
    char *token;              /* NULL: none; bearer token given literally */
    char *token_file;         /* NULL: none; read again at least every minute, wins over `token` */
    char *client_cert_pem;    /* NULL: none */
    char *client_cert_file;
    char *client_key_pem;
    char *client_key_file;
    char *username; /* NULL: none; basic authentication */
    char *password;
    struct credentials_exec *exec; /* NULL: none; then there is no token and no certificate */
};

/* Frees and wipes everything; c may be all zero. */
void credentials_fini(struct credentials *c);

#endif
