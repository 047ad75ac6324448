/* Certificates and keys of a kubeconfig: from files, or as base64 in the file itself. */
#include "config/kubeconfig_internal.h"

#include "base/base64.h"
#include "base/bug.h"
#include "base/file.h"

#include <stdlib.h>
#include <string.h>

#define PEM_BYTES_MAX (1024 * 1024)

/* `s` is followed by a NUL and must hold none. */
static bool is_pem(struct str s)
{
    return s.n > 0 && strlen(s.p) == s.n && strstr(s.p, "-----BEGIN ") != NULL;
}

static void take_pem_data(struct kubeconfig *k, const struct yaml_doc_node *n, const char *key, char **slot)
{
    size_t size = n->text.n / 4 * 3 + 4; /* and a NUL */
    unsigned char *bytes = xcalloc(1, size);
    struct str pem = {(const char *)bytes, 0};

    if (!base64_decode(n->text, bytes, &pem.n)) {
        diagnostics_add(k->d, n->pos, "%s is not base64", key);
    } else if (!is_pem(pem)) {
        diagnostics_add(k->d, n->pos, "%s does not hold PEM (a text with -----BEGIN ...)", key);
    } else {
        kubeconfig_set(slot, pem);
    }
    explicit_bzero(bytes, size);
    free(bytes);
}

static void take_pem_file(struct kubeconfig *k, const struct yaml_doc_node *n, const char *key, char **slot)
{
    struct str relative = kubeconfig_path(k, n->text);
    char *path = str_dup(relative);
    struct strbuf text;
    struct err err;

    strbuf_init(&text, PEM_BYTES_MAX);
    if (file_or_pipe_read(path, &text, &err) < 0) {
        diagnostics_add(k->d, n->pos, "%s: %s", key, err.msg);
    } else if (!is_pem(strbuf_view(&text))) {
        diagnostics_add(k->d, n->pos, "%s: %s does not hold PEM (a text with -----BEGIN ...)", key, path);
    } else {
        kubeconfig_set(slot, strbuf_view(&text));
    }
    strbuf_wipe(&text);
    strbuf_fini(&text);
    free(path);
}

void kubeconfig_take_pem(struct kubeconfig *k, const struct yaml_doc_node *map, const char *file_key,
                         const char *data_key, char **pem, char **path)
{
    const struct yaml_doc_node *file, *data;

    (void)kubeconfig_text(k, map, file_key, &file);
    (void)kubeconfig_text(k, map, data_key, &data);
    if (data != NULL) {
        take_pem_data(k, data, data_key, pem);
    } else if (file != NULL) {
        take_pem_file(k, file, file_key, pem);
        kubeconfig_set(path, kubeconfig_path(k, file->text));
    }
}
