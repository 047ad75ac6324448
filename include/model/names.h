/* model/names.h - names as the API server accepts them.
 *
 * Whatever is put into a path is checked with these first, so a hostile name cannot leave its path segment. Source
 * of the rules: apimachinery pkg/util/validation (IsDNS1123Subdomain, IsDNS1123Label, IsQualifiedName) and
 * pkg/api/validation (annotation keys are compared in lower case).
 */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include "base/str.h"

#include <stdbool.h>

#define KUBE_SUBDOMAIN_MAX 253
#define KUBE_LABEL_MAX 63

/* Lower-case labels joined by dots, 1..253 bytes: names of pods and nodes. */
bool kube_name_is_subdomain(struct str s);
/* One lower-case label, 1..63 bytes: namespaces. */
bool kube_name_is_label(struct str s);
/* Letters, digits, '-', '_' and '.', letters or digits at both ends, 1..63 bytes: what stands behind the prefix of a
 * key. Values of labels are like it, or empty. */
bool kube_name_is_qualified(struct str s);
/* "name" or "prefix/name", the prefix a DNS-1123 subdomain in any case: keys of annotations. */
bool kube_name_is_annotation_key(struct str s);
/* The same with a prefix in lower case: keys of labels. */
bool kube_name_is_label_key(struct str s);

#endif
