/* fgpu signing-key: makes the key pair that records of decisions are signed with. */
#include "cmd/commands.h"
#include "cmd/options.h"
#include "sign/key.h"

#include <stdio.h>

static const struct page_option options[] = {
    {"out", .value = "FILE", .id = 'o', .text = "the private key; the public key goes to FILE.pub"},
};

const struct page page_signing_key = {
    .command = "fgpu signing-key",
    .usage = "--out FILE",
    .about =
        "Makes an Ed25519 key pair: the private key in FILE (PKCS#8 PEM, readable by you alone), the public key in "
        "FILE.pub. Prints the id of the key. Never overwrites an existing file.\n\n"
        "fgpu serve uses the private key to sign the records that it writes into pods (signing.privateKey in its "
        "configuration). Readers of a record verify it with the public key.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = "0 made, 1 failure, 2 usage",
    .examples = "fgpu signing-key --out key.pem",
};

static void print_next_steps(const struct sign_key *key, const char *path)
{
    printf("id: %s\n"
           "private key: %s\n"
           "public key: %s.pub\n\n"
           "Next: give both to fgpu, and the private key to nobody else:\n\n"
           "  kubectl -n fgpu-system create secret generic fgpu-signing \\\n"
           "    --from-file=key.pem=%s --from-file=key.pem.pub=%s.pub\n\n"
           "Keep a copy of the private key where you keep other secrets. To replace this key later, see Signing in\n"
           "config/README.md.\n",
           key->public_.id, path, path, path, path);
}

static int make(const char *path)
{
    struct sign_key key;
    struct err err;
    int rc = sign_key_make(&key, &err);

    if (rc == 0) {
        rc = sign_key_write(&key, path, &err);
    }
    if (rc == 0) {
        print_next_steps(&key, path);
    } else {
        fprintf(stderr, "fgpu signing-key: %s\n", err.msg);
    }
    sign_key_wipe(&key);
    return rc == 0 ? EXIT_OK : EXIT_RUNTIME;
}

static int take_path(void *ret, int option, const char *value)
{
    (void)option;
    *(const char **)ret = value;
    return EXIT_OK;
}

int cmd_signing_key(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_signing_key, .take = take_path};
    const char *path = NULL;
    int code = options_read(&line, argc, argv, &path);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    if (path == NULL || path[0] == '\0') {
        return cmd_usage_error("signing-key", "--out is missing; it says where to write the key");
    }
    return make(path);
}
