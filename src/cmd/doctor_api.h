/* cmd/doctor_api.h - the questions that `fgpu doctor` puts to the API server, one after the other. Nothing is changed.
 */
#ifndef CMD_DOCTOR_API_H
#define CMD_DOCTOR_API_H

#include "doctor/facts.h"

#define DOCTOR_API_BYTES_MAX ((size_t)64 << 20) /* of one answer */

struct doctor_api;

/* As kubectl finds it: this file; NULL: $KUBECONFIG, else ~/.kube/config, else the service account of the pod. Errors
 * of config/kubeconfig.h and kube/transport.h. */
WARN_UNUSED int doctor_api_open(const char *kubeconfig, const char *context, struct doctor_api **ret,
                                struct err *reterr);
void doctor_api_close(struct doctor_api *api); /* NULL is fine */

/* The body of the answer. ERR_NOT_FOUND: 404. ERR_DENIED: 401, 403. ERR_UNAVAILABLE: no answer, or another one. */
WARN_UNUSED int doctor_api_get(struct doctor_api *api, const char *path, struct strbuf *out, struct err *reterr);
WARN_UNUSED int doctor_api_config_map(struct doctor_api *api, struct str namespace_, struct str name,
                                      struct strbuf *out, struct err *reterr);
WARN_UNUSED int doctor_api_has_config_map(struct doctor_api *api, struct str namespace_, struct str name, bool *ret,
                                          struct err *reterr);

/* All of them, into the facts; after the state. */
WARN_UNUSED int doctor_api_nodes(struct doctor_api *api, struct doctor_facts *f, struct err *reterr);
WARN_UNUSED int doctor_api_pods(struct doctor_api *api, struct doctor_facts *f, struct err *reterr);

/* Sets is_denied. */
WARN_UNUSED int doctor_api_review(struct doctor_api *api, struct str user, struct doctor_right *right,
                                  struct err *reterr);

/* How far its clock is ahead of the one here, from the Date of its answer, and its minor version (kube_minor_of). */
WARN_UNUSED int doctor_api_clock(struct doctor_api *api, int64_t *ret_ahead_ms, uint32_t *ret_minor,
                                 struct err *reterr);

/* Makes a TLS connection to an extender with the files that kube-scheduler has for it. *ret_trouble: what is wrong with
 * a certificate; empty: nothing. ERR_NOT_FOUND and others: a file cannot be read here; ERR_UNAVAILABLE: nobody
 * answers. */
WARN_UNUSED int doctor_api_verify(const struct scheduler_extender *e, struct arena *a, struct str *ret_trouble,
                                  struct err *reterr);

#endif
