/* kube/exec_plugin.c - what the plugin is told, and what becomes of its answer. */
#include "kube/exec_plugin.h"

#include "base/bug.h"
#include "base/child.h"

#include <stdlib.h>
#include <string.h>

/* The configured variables and the information. Borrowed text. */
static char **make_environment(const struct credentials_exec *e, char *info)
{
    size_t n = 0;
    while (e->env != NULL && e->env[n] != NULL) {
        n++;
    }
    char **ret = xcalloc(n + 2, sizeof(*ret));
    for (size_t i = 0; i < n; i++) {
        ret[i] = e->env[i];
    }
    ret[n] = info;
    return ret;
}

static char **make_arguments(const struct credentials_exec *e)
{
    size_t n = 0;
    while (e->args != NULL && e->args[n] != NULL) {
        n++;
    }
    char **ret = xcalloc(n + 2, sizeof(*ret));
    ret[0] = e->command;
    for (size_t i = 0; i < n; i++) {
        ret[i + 1] = e->args[i];
    }
    return ret;
}

static char *make_info(const struct credentials_exec *e)
{
    static const char name[] = "KUBERNETES_EXEC_INFO=";
    size_t n = strlen(e->info);
    char *ret = xmalloc(sizeof(name) + n);
    memcpy(ret, name, sizeof(name) - 1);
    memcpy(ret + sizeof(name) - 1, e->info, n + 1);
    return ret;
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
    char **env = make_environment(e, info), **argv = make_arguments(e);
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
