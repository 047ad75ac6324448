#include "config/load.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "config/schema_internal.h"

#include <inttypes.h>
#include <stdio.h>

/* 256 KiB of YAML make at most 130,000 nodes of about 100 bytes. */
#define TREE_BYTES_MAX (64 * 1024 * 1024)

int64_t config_accept_unsigned_before_ms(const struct config_signing *s)
{
    int64_t ms = 0;

    BUG_ON(s->accept_unsigned_before.n > 0 && !clock_rfc3339_parse(s->accept_unsigned_before, &ms));
    return ms;
}

void config_hash_text(struct str text, char ret[CONFIG_HASH_LEN + 1])
{
    (void)snprintf(ret, CONFIG_HASH_LEN + 1, "%016" PRIx64, hash_str((struct hash_key){0, 0}, text));
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
            diagnostics_add(c->d, n->pos, "%s is '%.*s'; this program reads '%s'", marks[i].key, STR_ARG(word),
                            marks[i].value);
            ours = false;
        }
    }
    return ours;
}

static void decode_root(struct decode *c, const struct yaml_doc_node *root, struct config *config)
{
    if (root == NULL || yaml_doc_is_null(root)) {
        diagnostics_add(c->d, (struct text_pos){1, 1},
                        "the file is empty; it needs at least 'apiVersion: %s' and 'kind: %s'", CONFIG_API_VERSION,
                        CONFIG_KIND);
    } else if (is_ours(c, root)) {
        config_decode_value(c, &schema_root, root, config);
        config->has_agents = c->agent_at != NULL;
        if (config->has_agents && config->signing.mode == SIGNING_OFF) {
            config_decode_error(
                c, c->agent_at,
                "handOff is agent and signing is off, but fgpu-node believes signed records only and would "
                "refuse every container with a GPU; give signing.privateKey (fgpu signing-key --out FILE "
                "makes a key), or another handOff");
        }
    }
}

int config_parse(struct str file, struct str text, const struct config_names *names, struct config **ret,
                 struct strbuf *report, struct err *reterr)
{
    struct config *config = config_defaults();
    const struct yaml_doc_node *root = NULL;
    struct diagnostics d;
    struct arena scratch;
    int rc = 0;

    arena_init(&scratch, TREE_BYTES_MAX);
    diagnostics_init(&d, &scratch, file, text);
    struct decode c = {
        .d = &d, .arena = &config->arena, .names = names, .origins = config->origins, .origin_max = schema_key_count()};
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
        rc = diagnostics_to_err(&d, ERR_INVALID, reterr);
        config_free(config);
    } else {
        config_hash_text(text, config->hash);
        config->origin_n = c.origin_n;
        overlay_make_timetable(config);
        config->file = arena_str(&config->arena, file);
        *ret = config;
    }
    arena_fini(&scratch);
    return rc;
}

int config_read(const char *path, struct strbuf *ret, struct err *reterr)
{
    strbuf_init(ret, CONFIG_BYTES_MAX);
    return file_or_pipe_read(path, ret, reterr);
}

int config_load(const char *path, const struct config_names *names, struct config **ret, struct strbuf *report,
                struct err *reterr)
{
    struct strbuf text;
    struct err err;

    int rc = config_read(path, &text, &err);
    if (rc < 0) {
        if (report != NULL) {
            strbuf_addf(report, "%s\n", err.msg);
        }
        err_set(reterr, err.code, "%s", err.msg);
    } else {
        rc = config_parse(str_of(path), strbuf_view(&text), names, ret, report, reterr);
    }
    strbuf_fini(&text);
    return rc;
}
