/* sim/api_internal.h - what the parts of the API servers share: calls (api.c), what they do (api_land.c) and streams
 * (api_watch.c). */
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
/* Of the path: NULL, or the one object that is meant; the name of the pod. */
struct object *api_special(const char *path);
const char *api_pod_name(const char *path, char name[64]);
/* o[a], or o[a][b] where `b` is given; "": no text. */
const char *api_text(const cJSON *o, const char *a, const char *b);

void watch_init(unsigned server_n);
/* Breaks the streams of the process. */
void watch_cut(const struct process *p);
/* Some ms, or seldom up to a second. */
int64_t api_delay_ns(void);
/* {"kind":"PodList", ...}; at most `limit` items. The caller's to free. */
char *api_list(enum kind k, size_t limit);

#endif
