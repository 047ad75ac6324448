#include "cmd/serve_inputs.h"

#include "cmd/commands.h"
#include "cmd/serve_options.h"
#include "cmd/terminal.h"

#include "config/describe.h"
#include "config/kubeconfig.h"
#include "extender/signing.h"
#include "kube/incluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_BYTES_MAX (1024 * 1024)
#define WRITE_BYTES_MAX (16 * 1024 * 1024)

static int read_config(const struct serve_options *o, struct config **ret)
{
    struct config_names names;
    struct strbuf report;
    struct err err;
    int rc;

    if (o->config == NULL) {
        *ret = config_defaults();
        return EXIT_OK;
    }
    cmd_config_names(&names);
    strbuf_init(&report, REPORT_BYTES_MAX);
    rc = config_load(o->config, &names, ret, &report, &err);
    if (rc != 0) {
        fprintf(stderr, "%s", report.n > 0 ? report.p : err.msg);
        fprintf(stderr, "%sfgpu serve: the configuration is not valid\n", report.n > 0 ? "" : "\n");
    }
    strbuf_fini(&report);
    return rc == 0 ? EXIT_OK : EXIT_CONFIG;
}

/* File and flags together. Not asked again when the file changes: where fgpu listens stays as it was. */
static int check_serving(const struct config *c)
{
    const char *key;
    const char *why = config_serving_problem(&c->serving, &key);

    return why == NULL ? EXIT_OK : cmd_usage_error("serve", "serving.%s: %s", key, why);
}

int serve_load_config(const struct serve_options *o, struct config **ret)
{
    int code = read_config(o, ret);

    if (code == EXIT_OK) {
        code = serve_options_override(o, *ret);
    }
    return code == EXIT_OK ? check_serving(*ret) : code;
}

int serve_write_config(const char *path, const struct config *c)
{
    struct strbuf text;
    FILE *f;
    bool ok;

    strbuf_init(&text, WRITE_BYTES_MAX);
    config_write_yaml(c, &text);
    f = fopen(path, "we");
    ok = f != NULL && fwrite(text.p, 1, text.n, f) == text.n;
    ok = f != NULL && fclose(f) == 0 && ok;
    strbuf_fini(&text);
    if (!ok) {
        fprintf(stderr, "fgpu serve: %s: %s\n", path, strerror(errno));
    }
    return ok ? EXIT_OK : EXIT_RUNTIME;
}

int serve_check_signing(const struct config *c)
{
    if (c->signing.mode == SIGNING_OFF && c->has_agents) { /* by the flag; a file that says both is not valid */
        fprintf(stderr,
                "fgpu serve: --signing-key off does not go with devices.handOff: agent in the configuration, because\n"
                "fgpu-node believes signed records only. Give --signing-key FILE, or another handOff.\n");
        return EXIT_CONFIG;
    }
    if (c->signing.mode == SIGNING_OFF || c->signing.private_key.n > 0) {
        return EXIT_OK;
    }
    fprintf(stderr,
            "fgpu serve: no signing key is given. fgpu signs the record of GPUs that it writes into a pod, so that\n"
            "nobody can forge one. Make a key, once for the cluster:\n\n"
            "    fgpu signing-key --out FILE\n\n"
            "and name it: signing.privateKey: FILE in the configuration, or --signing-key FILE.\n"
            "With \"signing: off\" or --signing-key off no key is needed; fgpu then believes everybody\n"
            "who may write annotations of pods.\n");
    return EXIT_CONFIG;
}

int serve_load_credentials(const struct serve_options *o, struct credentials *ret)
{
    struct err err;
    int rc;

    if (o->kubeconfig != NULL) {
        rc = kubeconfig_load(o->kubeconfig, o->context, ret, &err);
    } else {
        rc = incluster_load(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), INCLUSTER_DIR, ret,
                            &err);
    }
    if (rc != 0) {
        terminal_complain("serve", err.msg);
        if (o->kubeconfig == NULL) {
            fputs("fgpu serve: outside a cluster give --kubeconfig FILE\n", stderr);
        }
        return EXIT_CONFIG;
    }
    return EXIT_OK;
}

int serve_load_keys(const struct config *c, const struct log *log, struct signing **ret)
{
    const struct signing_options o = {
        .files = {c->signing.private_key.p, c->signing.public_keys, c->signing.public_key_n}, .log = log};
    struct err err;

    *ret = NULL;
    if (c->signing.mode == SIGNING_OFF) {
        LOG_WARNING(log, "Signing is off: fgpu believes everybody who may write the annotations of a pod");
        return EXIT_OK;
    }
    if (config_accept_unsigned_before_ms(&c->signing) > clock_wall_ms(clock_system())) {
        LOG_WARNING(log, "signing.acceptUnsignedBefore is in the future: until then fgpu believes everybody who "
                         "may write the annotations of a pod");
    }
    if (signing_new(&o, ret, &err) == 0) {
        return EXIT_OK;
    }
    fprintf(stderr, "fgpu serve: signing: %s\n", err.msg);
    return EXIT_CONFIG;
}
