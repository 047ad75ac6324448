#include "sim/state_file.h"

#include "base/bug.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "core/request/demand_histogram.h"
#include "sim/state_file_internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* Everything that is made of a document, beside its text. */
#define ARENA_BYTES_MAX ((size_t)2 << 30)

static void reader_fini(struct file_reader *f)
{
    free(f->nodes);
    free(f->gpus);
    free(f->holds);
    free(f->raised);
    free(f->pods);
    free(f);
}

/* "nodes[3].gpus[0]: " in front of what the reader says. */
static int place(const struct file_reader *f, int r, struct err *reterr)
{
    if (f->section == NULL) {
        return r;
    }
    return f->gpu_at >= 0 ? err_wrap(reterr, r, "%s[%zu].gpus[%" PRId64 "]", f->section, f->at, f->gpu_at)
                          : err_wrap(reterr, r, "%s[%zu]", f->section, f->at);
}

int state_file_parse(const char *name, struct str text, const struct config_names *names, struct state_file *ret,
                     struct err *reterr)
{
    struct state_file file = {.text = NULL};
    struct file_reader *f = xcalloc(1, sizeof(*f));
    int rc;

    arena_init(&file.arena, ARENA_BYTES_MAX);
    f->file = &file;
    f->arena = &file.arena;
    json_reader_init(&f->json, text, &file.arena);
    state_file_decode(f);
    rc = json_read_end(&f->json, reterr);
    rc = rc != 0 ? place(f, rc, reterr) : state_file_build(f, names, reterr);
    reader_fini(f);
    if (rc != 0) {
        state_file_fini(&file);
        return err_wrap(reterr, rc, "%s", name);
    }
    *ret = file;
    return 0;
}

int state_file_read(const char *path, const struct config_names *names, struct state_file *ret, struct err *reterr)
{
    struct strbuf text;
    int rc;

    strbuf_init(&text, STATE_FILE_BYTES_MAX);
    rc = file_or_pipe_read(path, &text, reterr);
    if (rc == 0) {
        rc = state_file_parse(path, strbuf_view(&text), names, ret, reterr);
    }
    if (rc == 0) {
        ret->text = strbuf_take(&text, NULL);
    }
    strbuf_fini(&text);
    return rc;
}

void state_file_fini(struct state_file *f)
{
    config_free(f->file_config);
    config_free(f->config);
    demand_histogram_free(f->mix);
    f->mix = NULL;
    arena_fini(&f->arena);
    free(f->text);
    f->text = NULL;
    f->config = NULL;
    f->file_config = NULL;
}

int state_file_ledger(const struct state_file *f, struct ledger **ret, struct err *reterr)
{
    struct ledger *l = ledger_new(&f->limits);

    for (size_t i = 0; i < f->op_n; i++) {
        int rc = ledger_apply(l, &f->ops[i], reterr);

        if (rc != 0) {
            ledger_free(l);
            return rc;
        }
    }
    *ret = l;
    return 0;
}
