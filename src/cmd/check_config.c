/* fgpu check-config: every error of a configuration file at once, and what there is to configure. */
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "config/describe.h"
#include "config/load.h"
#include "config/warnings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define REPORT_BYTES_MAX (16 * 1024 * 1024) /* the longest lists a file can hold, written out */

static const struct page_option options[] = {
    {"strict", .text = "makes warnings errors"},
    {"effective", .text = "prints every key with its value and where the value comes from"},
    {"keys", .text = "lists all keys with range, default and meaning"},
    {"schema", .text = "prints the JSON Schema"},
};

const struct page page_check_config = {
    .command = "fgpu check-config",
    .usage = "[--strict] FILE...\n--effective FILE\n--keys\n--schema",
    .about =
        "Checks configuration files of kind FgpuConfiguration and prints the errors (the first 20 of a file) with "
        "their places, and warns of what is valid and hardly meant: memory over-commit, a candidate strategy that is "
        "the one in use, pools that contradict each other, time windows without effect.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = "0 valid, also with warnings, 3 invalid, 2 usage",
    .examples = "fgpu check-config fgpu.yaml\nfgpu check-config --effective fgpu.yaml",
    .word = "FILE...",
};

/* What `show` says about one file, or the report on it. */
static int check_file(const char *path, const struct config_names *names, struct strbuf *out,
                      void (*show)(const struct config *c, struct strbuf *out))
{
    struct config *config = NULL;
    int code = config_load(path, names, &config, out, NULL) == 0 ? EXIT_OK : EXIT_CONFIG;

    if (code == EXIT_OK) {
        show(config, out);
    }
    config_free(config);
    fputs(out->p, code == EXIT_OK ? stdout : stderr);
    strbuf_reset(out);
    return code;
}

static int check_one(const char *path, const struct config_names *names, bool strict, struct strbuf *out)
{
    struct config *config = NULL;
    int code = config_load(path, names, &config, out, NULL) == 0 ? EXIT_OK : EXIT_CONFIG;

    if (code == EXIT_OK && config_warnings(config, out) > 0 && strict) {
        code = EXIT_CONFIG;
    }
    fputs(out->p, stderr);
    strbuf_reset(out);
    if (code == EXIT_OK) {
        printf("%s: valid, hash %s\n", path, config->hash);
    }
    config_free(config);
    return code;
}

static int check_files(char **paths, int n, const struct config_names *names, bool strict, struct strbuf *out)
{
    int worst = EXIT_OK;

    for (int i = 0; i < n; i++) {
        int code = check_one(paths[i], names, strict, out);

        worst = code != EXIT_OK ? code : worst;
    }
    return worst;
}

static int run_check(int argc, char **argv, struct strbuf *out)
{
    const char *option = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
    struct config_names names;

    cmd_config_names(&names);
    if (option[0] == '\0' && argc > 1) {
        return check_files(argv + 1, argc - 1, &names, false, out);
    }
    if (strcmp(option, "--strict") == 0 && argc > 2 && argv[2][0] != '-') {
        return check_files(argv + 2, argc - 2, &names, true, out);
    }
    if (strcmp(option, "--effective") == 0 && argc == 3) {
        return check_file(argv[2], &names, out, config_write_effective);
    }
    if (strcmp(option, "--keys") == 0 && argc == 2) {
        config_reference(out);
    } else if (strcmp(option, "--schema") == 0 && argc == 2) {
        config_json_schema(&names, out);
    } else {
        return cmd_usage_error("check-config",
                               "give files, --strict and files, --effective and one file, --keys, or --schema");
    }
    fputs(out->p, stdout);
    return EXIT_OK;
}

int cmd_check_config(int argc, char **argv)
{
    struct strbuf out;
    int code;

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        options_print_help(&page_check_config);
        return EXIT_OK;
    }
    strbuf_init(&out, REPORT_BYTES_MAX);
    code = run_check(argc, argv, &out);
    strbuf_fini(&out);
    return code;
}
