/* demo/apiserver/reviews_internal.h - TokenReview, SubjectAccessReview and SelfSubjectAccessReview of the simulated API
 * server: scripted answers (demo/apiserver/apiserver.h). Safe for several threads. */
#ifndef DEMO_APISERVER_REVIEWS_INTERNAL_H
#define DEMO_APISERVER_REVIEWS_INTERNAL_H

#include "base/sync.h"

#include <stdbool.h>
#include <stdint.h>

struct api_reply;
struct api_request;
struct cJSON;

struct reviews {
    struct mutex lock;
    struct cJSON *script; /* NULL: nobody is known */
    struct cJSON *last;   /* spec of the last SubjectAccessReview; or NULL */
    uint64_t token_n, access_n, self_n;
};

void reviews_init(struct reviews *v);
void reviews_fini(struct reviews *v);
/* False: the request is about something else. */
bool reviews_serve(struct reviews *v, const struct api_request *q, struct api_reply *r);

#endif
