/* kube/exec_plugin.c - what the plugin is told, and what becomes of its answer. */
#include "kube/exec_plugin.h"

#include "base/bug.h"
#include "base/child.h"

#include <stdlib.h>

/* `first` and `last` may be NULL: then there is none. Borrowed text. */
static char **make_list(char *first, char *const *middle, char *last)
{
    size_t n = 0;
    while (middle != NULL && middle[n] != NULL) {
        n++;
    }
    char **ret = xcalloc(n + 3, sizeof(*ret)), **end = ret;
    if (first != NULL) {
        *end++ = first;
    }
    for (size_t i = 0; i < n; i++) {
        *end++ = middle[i];
    }
    *end = last;
    return ret;
}

static char *make_info(const struct credentials_exec *e)
{
    struct strbuf text;
    strbuf_init(&text, SIZE_MAX);
    strbuf_addf(&text, "KUBERNETES_EXEC_INFO=%s", e->info);
    return strbuf_take(&text, NULL);
}

static int add_hint(const struct credentials_exec *e, int rc, struct err *reterr)
{
    if (rc != -ERR_NOT_FOUND || e->install_hint == NULL || reterr == NULL) {
        return rc;
    }
    struct err why = *reterr;
    return err_set(reterr, why.code, "%s; %s", why.msg, e->install_hint);
}

int exec_plugin_run(const struct credentials_exec *e, int64_t timeout_ms, const atomic_bool *cancel,
                    struct exec_credential *ret, struct err *reterr)
{
    char *info = make_info(e);
    char **env = make_list(NULL, e->env, info), **argv = make_list(e->command, e->args, NULL);
    const struct child child = {.argv = argv, .env = env, .output_max = EXEC_PLUGIN_OUTPUT_MAX};
    struct child_end end;
    int rc = add_hint(e, child_run(&child, timeout_ms, cancel, &end, reterr), reterr);

    if (rc == 0) {
        rc = child_end_judge(&end, reterr);
        if (rc == 0) {
            rc = exec_credential_parse(strbuf_view(&end.output), e->api_version, ret, reterr);
        }
        child_end_fini(&end);
    }
    free(argv);
    free(env);
    free(info);
    return rc != 0 ? err_wrap(reterr, rc, "exec plugin %s", e->command) : 0;
}
