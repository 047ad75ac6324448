/* cmd/forward.h - a way from this machine to the ops listener of the fgpu of a cluster, under the user's own rights:
 * `kubectl port-forward` as a child (decision 0083).
 *
 * It ends with forward_close, and if this process is killed. Its user needs get and list of pods and create of
 * pods/portforward in the namespace; messages name the right that is missing, in kubectl's words.
 */
#ifndef CMD_FORWARD_H
#define CMD_FORWARD_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Text is borrowed; NULL: as kubectl decides. */
struct forward_target {
    const char *kubeconfig, *context;
    const char *fgpu_namespace; /* where fgpu runs; never NULL */
    uint16_t port;              /* of its ops listener */
};

struct forward {
    pid_t pid;
    int out, err;  /* what it says */
    uint16_t port; /* on 127.0.0.1 */
    char pod[256];
};

/* 0, or
 *   ERR_NOT_FOUND    there is no kubectl, or no pod of fgpu in that namespace
 *   ERR_UNAVAILABLE  kubectl could not do it: its own words */
WARN_UNUSED int forward_open(const struct forward_target *t, struct forward *f, struct err *reterr);
/* What kubectl complained of meanwhile, in one line; "" if of nothing. */
void forward_complaints(struct forward *f, struct strbuf *out);
/* Waits until it ends by itself. */
void forward_wait(struct forward *f);
void forward_close(struct forward *f);

/* The namespace that kubectl would take, "default" if it names none. */
WARN_UNUSED int forward_namespace(const struct forward_target *t, struct strbuf *ret, struct err *reterr);

#endif
