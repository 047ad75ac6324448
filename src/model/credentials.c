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

void credentials_fini(struct credentials *c)
{
    wipe(&c->server);
    wipe(&c->ca_pem);
    wipe(&c->tls_server_name);
    wipe(&c->token);
    wipe(&c->token_file);
    wipe(&c->client_cert_pem);
    wipe(&c->client_key_pem);
    wipe(&c->username);
    wipe(&c->password);
}
