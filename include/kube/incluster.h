/* kube/incluster.h - the credentials that Kubernetes puts into every container with a service
 * account.
 *
 * Source: client-go rest/config.go InClusterConfig (contract.md 5.6). The token is not read here:
 * its file is named in the credentials, because the kubelet replaces it while we run.
 */
#ifndef KUBE_INCLUSTER_H
#define KUBE_INCLUSTER_H

#include "base/compiler.h"
#include "base/err.h"
#include "model/credentials.h"

#define INCLUSTER_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* `host`, `port`: the values of KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, NULL when not
 * set. `dir` has the files `token` and `ca.crt`. *ret is filled on success; end it with
 * credentials_fini.
 *   ERR_NOT_FOUND  not inside a cluster, or a file is missing
 *   ERR_INVALID    a value that cannot be a host, a port, or certificates */
WARN_UNUSED int incluster_load(const char *host, const char *port, const char *dir, struct credentials *ret,
                               struct err *reterr);

#endif
