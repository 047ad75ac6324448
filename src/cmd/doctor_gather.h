/* cmd/doctor_gather.h - reads what `fgpu doctor` looks at: from the ops listener of a running extender, from the API
 * server, from a file.
 *
 * Reads only: lists, gets, and reviews of rights (a SubjectAccessReview is a POST that changes nothing). A source that
 * cannot be read is marked with the reason (struct doctor_facts), and the others are read all the same.
 */
#ifndef CMD_DOCTOR_GATHER_H
#define CMD_DOCTOR_GATHER_H

#include "cmd/inquiry.h"
#include "doctor/facts.h"

struct doctor_sources {
    const struct inquiry *extender;
    const char *no_way;         /* NULL; else why there is no way to it, and it is not asked */
    const char *kubeconfig;     /* NULL: $KUBECONFIG, or ~/.kube/config, or that of the pod */
    const char *context;        /* NULL: current-context */
    const char *scheduler_file; /* NULL: key scheduler.yaml of the ConfigMap fgpu-config */
    const char *fgpu_namespace; /* of that ConfigMap, and of the user of fgpu */
    const char *fgpu_user;      /* NULL: system:serviceaccount:NAMESPACE:fgpu */
};

/* `f` as doctor_facts_init made it. Its config is the caller's to free. */
void doctor_gather(const struct doctor_sources *s, struct doctor_facts *f);

#endif
