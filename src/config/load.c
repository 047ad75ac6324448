#include "config/load.h"

#include "base/bug.h"
#include "base/hash.h"
#include "config/file_internal.h"
#include "config/schema_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* 256 KiB of YAML make at most 130,000 nodes of about 100 bytes. */
#define TREE_BYTES_MAX (64 * 1024 * 1024)
#define CONFIG_ARENA_BYTES_MAX (16 * 1024 * 1024)
#define EXIT_INVALID_CONFIG 3

struct config *config_defaults(void)
{
    struct config *c = xcalloc(1, sizeof(*c));

    arena_init(&c->arena, CONFIG_ARENA_BYTES_MAX);
    c->policy = *policy_defaults();
    c->serving = (struct config_serving){
        .verbs = {.host = "127.0.0.1", .port = 9443},
        .ops = {.host = "127.0.0.1", .port = 9442},
        .health = {.host = "127.0.0.1", .port = 9441},
    };
    c->election = ELECTION_NONE;
    c->client = (struct config_client){
        .bind_deadline_ms = 5000, .binds_in_flight_max = 1000, .wake_object = STR("fgpu-system/fgpu-wake")};
    c->logging = (struct config_logging){.format = LOG_FORMAT_TEXT, .verbosity = 2};
    c->limits = (struct config_limits){
        .body_bytes = INT64_C(16) << 20,
        .bytes_in_flight = INT64_C(64) << 20,
        .connections = 2048,
    };
    (void)snprintf(c->hash, sizeof(c->hash), "built-in");
    c->generation = 1;
    return c;
}

void config_free(struct config *c)
{
    if (c != NULL) {
        arena_fini(&c->arena);
        free(c);
    }
}

/* A file that is of another kind would otherwise be a long list of unknown keys. */
static bool is_ours(struct decode *c, const struct yaml_doc_node *root)
{
    static const struct {
        const char *key;
        const char *value;
    } marks[] = {{"apiVersion", CONFIG_API_VERSION}, {"kind", CONFIG_KIND}};
    bool ours = true;

    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const struct yaml_doc_node *n = yaml_doc_find(root, str_of(marks[i].key));
        if (n != NULL && n->type == YAML_DOC_TEXT && !str_eq_cstr(n->text, marks[i].value)) {
            struct str word = diagnostics_word(c->d, n->text);
            diagnostics_add(c->d, n->pos, "%s is '%.*s'; this program reads '%s'", marks[i].key,
                            STR_ARG(word), marks[i].value);
            ours = false;
        }
    }
    return ours;
}

static void decode_root(struct decode *c, const struct yaml_doc_node *root, struct config *config)
{
    if (root == NULL || yaml_doc_is_null(root)) {
        diagnostics_add(c->d, (struct text_pos){1, 1},
                        "the file is empty; it needs at least 'apiVersion: %s' and 'kind: %s'",
                        CONFIG_API_VERSION, CONFIG_KIND);
    } else if (is_ours(c, root)) {
        config_decode_value(c, &schema_root, root, config);
    }
}

int config_parse(struct str file, struct str text, const struct config_names *names,
                 struct config **ret, struct strbuf *report, struct err *reterr)
{
    struct config *config = config_defaults();
    const struct yaml_doc_node *root = NULL;
    struct diagnostics d;
    struct arena scratch;
    int r = 0;

    arena_init(&scratch, TREE_BYTES_MAX);
    diagnostics_init(&d, &scratch, file, text);
    struct decode c = {.d = &d, .arena = &config->arena, .names = names};
    if (text.n > CONFIG_BYTES_MAX) {
        diagnostics_add(&d, (struct text_pos){0, 0}, "larger than %d KiB", CONFIG_BYTES_MAX / 1024);
    } else if (yaml_doc_read(text, &scratch, &d, &root) == 0) {
        decode_root(&c, root, config);
    }
    BUG_ON(config->arena.overflowed); /* its cap is far above what CONFIG_BYTES_MAX can fill */
    if (diagnostics_any(&d)) {
        if (report != NULL) {
            diagnostics_render(&d, report);
        }
        r = diagnostics_to_err(&d, ERR_INVALID, reterr);
        config_free(config);
    } else {
        uint64_t hash = hash_str((struct hash_key){0, 0}, text);
        (void)snprintf(config->hash, sizeof(config->hash), "%016" PRIx64, hash);
        *ret = config;
    }
    arena_fini(&scratch);
    return r;
}

int config_load(const char *path, const struct config_names *names, struct config **ret,
                struct strbuf *report, struct err *reterr)
{
    struct strbuf text;
    struct err err;

    strbuf_init(&text, 2 * CONFIG_BYTES_MAX);
    int r = config_file_read(path, CONFIG_BYTES_MAX, &text, &err);
    if (r < 0) {
        if (report != NULL) {
            strbuf_addf(report, "%s\n", err.msg);
        }
        err_set(reterr, err.code, "%s", err.msg);
    } else {
        r = config_parse(str_of(path), strbuf_view(&text), names, ret, report, reterr);
    }
    strbuf_fini(&text);
    return r;
}

int config_check_file(const char *path, const struct config_names *names, struct strbuf *out)
{
    struct config *config = NULL;

    if (config_load(path, names, &config, out, NULL) < 0) {
        return EXIT_INVALID_CONFIG;
    }
    strbuf_addf(out, "%s: valid, hash %s\n", path, config->hash);
    config_free(config);
    return 0;
}
