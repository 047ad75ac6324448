/* obs/api_calls.h - the kinds of requests to the API server whose time is measured: by verb and resource. A metric has
 * as many series as there are kinds, so that none of them can push another one out (obs/metrics.h). A kind that is not
 * in the table is a bug that the first test which sends it finds: builds for tests end there (src/cmd/telemetry.c). */
#ifndef OBS_API_CALLS_H
#define OBS_API_CALLS_H

#include <stdbool.h>
#include <stddef.h>

struct api_call {
    const char *verb, *resource;
};

#define API_CALL_N 23
/* Of `i` below API_CALL_N. */
struct api_call api_call_at(size_t i);
bool api_call_is_known(const char *verb, const char *resource);

#endif
