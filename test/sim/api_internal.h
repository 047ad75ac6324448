/* sim/api_internal.h - what the parts of the API servers share: calls (api.c), what they do (api_land.c), and to Leases
 * (api_leases.c), streams (api_watch.c), lists (api_pages.c). */
#ifndef SIM_API_INTERNAL_H
#define SIM_API_INTERNAL_H

#include "api.h"
#include "etcd.h"

#include <cjson/cJSON.h>
#include <stddef.h>

extern struct weather weather;

struct call;

/* The write takes effect, if its preconditions hold. Returns the HTTP status. */
int api_land(const struct call *c, int64_t left_ns);
int api_may_bind(const struct object *o, const cJSON *body);
int api_land_lease(const struct call *c);
/* Do uid and resourceVersion of that member hold, as far as they are said? */
bool api_is_of_version(const struct object *o, const cJSON *body, const char *member);
/* The one object that is meant, if it is there and neither pod nor node; such a Lease; the name of the pod. */
struct object *api_special(const struct call *c);
struct object *api_lease(const struct call *c);
const char *api_pod_name(const char *path, char name[64]);
/* o[a], or o[a][b] where `b` is given; "": no text. */
const char *api_text(const cJSON *o, const char *a, const char *b);

void watch_init(unsigned server_n);
/* Breaks the streams of the process. */
void watch_cut(const struct process *p);
/* Some ms, or seldom up to a second. */
int64_t api_delay_ns(void);
/* What a list is answered with, {"kind":"PodList", ...}, or a page of it, as `path` asks; the caller's to free. NULL:
 * 410, the list is too old to go on with. *ret_version: what the list is of; 0: more pages follow. */
char *api_page(enum kind k, const char *path, uint64_t *ret_version);

#endif
