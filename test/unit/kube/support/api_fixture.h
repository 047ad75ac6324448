/* A client, and a server whose answers are chosen by the path; for the tests of the transport. */
#ifndef TEST_KUBE_API_FIXTURE_H
#define TEST_KUBE_API_FIXTURE_H

#include "kube/support/call.h"
#include "kube/support/http_server.h"
#include "support/temp_dir.h"

#include "kube/transport.h"

#include <pthread.h>
#include <stdbool.h>

struct api_fixture {
    struct http_server *server;
    struct kube_client *client;
    struct credentials creds;
    struct kube_client_options options;
    char server_url[64];
    struct temp_dir dir;
    char token_file[128];
    char token[16], user[16], password[16], base_path[128];

    pthread_mutex_t lock; /* of what the server saw and the observer was told */
    pthread_cond_t changed;
    unsigned seen_n;
    char last[4096];
    char observed[256];
    bool release;
};

extern struct api_fixture f;

int api_setup(void **state);
int api_teardown(void **state);
void connect_client(void); /* with f.creds and f.options */

/* For the path /gate, which answers when released. */
void release(void);
void wait_until_seen(unsigned n); /* requests */

struct kube_request get(const char *path);
struct kube_request post(const char *path);
/* Makes the call and fails the test when it ends otherwise. */
void expect(const struct kube_request *request, enum kube_outcome_kind kind, bool sent, int status);

#endif
