/* What the files of the kubeconfig reader share: kubeconfig.c decides, kubeconfig_entries.c finds
 * clusters, users and contexts by name, kubeconfig_pem.c takes certificates and keys,
 * kubeconfig_exec.c takes an exec plugin. Findings go to the diagnostics; no function fails. */
#ifndef CONFIG_KUBECONFIG_INTERNAL_H
#define CONFIG_KUBECONFIG_INTERNAL_H

#include "config/diagnostics.h"
#include "config/yaml_doc.h"
#include "model/credentials.h"

struct kubeconfig {
    struct arena *arena;
    struct diagnostics *d;
    struct str folder; /* of the kubeconfig, with its slash; empty: the current one */
};

/* One value (kubeconfig_value.c). */

/* The text under `key`, empty when absent or null; *ret_n (may be NULL) is its node, NULL when
 * empty. */
struct str kubeconfig_text(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key,
                           const struct yaml_doc_node **ret_n);
/* NULL when absent, null or, which is told, no list. */
const struct yaml_doc_node *kubeconfig_list(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key);
/* False when absent. */
bool kubeconfig_flag(struct kubeconfig *k, const struct yaml_doc_node *map, const char *key);

/* A NUL-terminated copy in the heap into *slot, unless `s` is empty. */
void kubeconfig_set(char **slot, struct str s);
struct str kubeconfig_path(struct kubeconfig *k, struct str path); /* from the folder; in the arena */

/* Lists of {name, <kind>: {...}}. */
struct kubeconfig_section {
    const char *list; /* "clusters" */
    const char *kind; /* "cluster" */
};

extern const struct kubeconfig_section kubeconfig_clusters, kubeconfig_users, kubeconfig_contexts;

/* The entry called `name`; NULL, after a finding, when there is no usable one. An absent one is
 * reported at `at`. */
const struct yaml_doc_node *kubeconfig_entry(struct kubeconfig *k, const struct yaml_doc_node *root,
                                             const struct kubeconfig_section *s, struct str name, struct text_pos at);
/* "; there are: a, b" or nothing, for messages. */
struct str kubeconfig_names(struct kubeconfig *k, const struct yaml_doc_node *root, const struct kubeconfig_section *s);

/* The PEM text under data_key (base64), else of the file named under file_key; then also its path.
 */
void kubeconfig_take_pem(struct kubeconfig *k, const struct yaml_doc_node *map, const char *file_key,
                         const char *data_key, char **pem, char **path);

/* `exec` is the mapping under that key. `cluster` and what *ret already has of it are told to the
 * plugin if it wants them. */
void kubeconfig_take_exec(struct kubeconfig *k, const struct yaml_doc_node *exec, const struct yaml_doc_node *cluster,
                          struct credentials *ret);

#endif
