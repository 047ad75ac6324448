#include "model/credentials.h"

#include <stdlib.h>
#include <string.h>

static void wipe(char **p)
{
    if (*p != NULL) {
        explicit_bzero(*p, strlen(*p));
        free(*p);
        *p = NULL;
    }
}

static void wipe_list(char ***list)
{
    for (char **p = *list; p != NULL && *p != NULL; p++) {
        wipe(p);
    }
    free(*list);
    *list = NULL;
}

static void exec_free(struct credentials_exec *e)
{
    if (e != NULL) {
        wipe(&e->api_version);
        wipe(&e->command);
        wipe_list(&e->args);
        wipe_list(&e->env);
        wipe(&e->install_hint);
        wipe(&e->info);
        free(e);
    }
}

void credentials_fini(struct credentials *c)
{
    char **const texts[] = {
        &c->server,          &c->proxy_url,  &c->ca_pem,          &c->ca_file,          &c->tls_server_name,
        &c->token,           &c->token_file, &c->client_cert_pem, &c->client_cert_file, &c->client_key_pem,
        &c->client_key_file, &c->username,   &c->password,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        wipe(texts[i]);
    }
    exec_free(c->exec);
    c->exec = NULL;
}
