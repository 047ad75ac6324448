/* sim/api_internal.h - what the two halves of the API servers share: calls (api.c) and streams (api_watch.c). */
#ifndef SIM_API_INTERNAL_H
#define SIM_API_INTERNAL_H

#include "api.h"
#include "etcd.h"

#include <stddef.h>

extern struct weather weather;

void watch_init(unsigned server_n);
/* Breaks the streams of the process. */
void watch_cut(const struct process *p);
/* Some ms, or seldom up to a second. */
int64_t api_delay_ns(void);
/* {"kind":"PodList", ...}; at most `limit` items. The caller's to free. */
char *api_list(enum kind k, size_t limit);

#endif
