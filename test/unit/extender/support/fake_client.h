/* extender/support/fake_client.h - kube_client_submit() without an API server: calls stay here until the test answers
 * them.
 *
 * A program that uses this links it instead of src/kube/transport_client.c. Calls come from any thread; the test
 * answers on its own, which stands for the client's.
 */
#ifndef EXTENDER_SUPPORT_FAKE_CLIENT_H
#define EXTENDER_SUPPORT_FAKE_CLIENT_H

#include "kube/transport.h"

#include <stdbool.h>
#include <stdint.h>

#define FAKE_CLIENT_CALLS_MAX 8

/* Nothing is pending, everything is taken. */
void fake_client_reset(void);
/* From now on calls are refused, as by a client with too many in flight. */
void fake_client_refuse(bool refuses);

/* Calls of this method to a path that ends so, or has the end before a '?', and that nobody has answered. */
unsigned fake_client_pending(const char *method, const char *end);
/* Waits until there is one. */
void fake_client_await(const char *method, const char *end);
/* Of the oldest of them: its deadline in ms; a part of its body is there? The test fails if there is none. */
uint32_t fake_client_deadline_ms(const char *method, const char *end);
bool fake_client_body_has(const char *method, const char *end, const char *part);

/* Answers the oldest of them. */
void fake_client_answer(const char *method, const char *end, int http_status, int64_t retry_after_ms, const char *body);
/* All that is pending ends, as by a client that stops. */
void fake_client_cancel_all(void);
/* It ends without an answer. */
void fake_client_end(const char *method, const char *end, enum kube_outcome_kind kind);

#endif
