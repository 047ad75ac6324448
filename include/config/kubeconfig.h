/* config/kubeconfig.h - reads a kubeconfig (YAML or JSON) into struct credentials.
 *
 * Other tools own the format, so unknown keys are ignored; the structure is checked strictly, and
 * what would change who we are or whom we trust is never ignored: auth providers and impersonation
 * are refused as not supported. Source of the keys: client-go clientcmd/api/v1 Config.
 *
 *   - *-data (base64) wins over the file of the same name; relative paths count from the
 *     kubeconfig's folder;
 *   - tokenFile wins over token; only its path is taken here, the transport reads it;
 *   - exec is checked and described (model/credentials.h), run by kube/exec_plugin.h; it excludes
 *     other credentials; a command with a slash counts from the kubeconfig's folder too;
 *   - a named user that is absent is an error, a context without a user is anonymous.
 */
#ifndef CONFIG_KUBECONFIG_H
#define CONFIG_KUBECONFIG_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "model/credentials.h"

#define KUBECONFIG_BYTES_MAX (1024 * 1024)

/* `context` NULL or "": current-context. On success the caller owns *ret and ends it with
 * credentials_fini; on failure it is untouched. Messages name the place, never a value that could
 * be secret, and never quote a line.
 *   ERR_NOT_FOUND, ERR_DENIED, ERR_INTERNAL  the kubeconfig cannot be read
 *   ERR_LIMIT    it is larger than KUBECONFIG_BYTES_MAX
 *   ERR_INVALID  anything wrong in it, "FILE:L:C: ..."; or a file named in it cannot be read */
WARN_UNUSED int kubeconfig_load(const char *path, const char *context, struct credentials *ret, struct err *reterr);

/* The same for text in memory. Relative paths count from the folder of `path`. */
WARN_UNUSED int kubeconfig_parse(const char *path, struct str text, const char *context, struct credentials *ret,
                                 struct err *reterr);

#endif
