#include "kube/excerpt.h"

#include <inttypes.h>

void cut_text_init(struct cut_text *t, enum excerpt_kind kind, const struct kube_field *fields)
{
    *t = (struct cut_text){.excerpt = excerpt_new(kind, fields)};
    strbuf_init(&t->begun, CUT_TEXT_MAX);
}

void cut_text_fini(struct cut_text *t)
{
    strbuf_fini(&t->begun);
    excerpt_free(t->excerpt);
}

void cut_text_reset(struct cut_text *t)
{
    strbuf_reset(&t->begun);
    t->is_cut = false;
}

bool cut_text_is_empty(const struct cut_text *t)
{
    return t->begun.n == 0 && !t->is_cut;
}

int cut_text_add(struct cut_text *t, struct str part, bool ends, const char *what, struct str *ret, struct err *reterr)
{
    t->note = (struct excerpt_note){0};
    *ret = part;
    if (!t->is_cut && part.n <= CUT_TEXT_MAX - t->begun.n) {
        if (!ends || t->begun.n > 0) {
            strbuf_add_str(&t->begun, part);
            *ret = strbuf_view(&t->begun);
        }
        return 0;
    }
    if (!t->is_cut) {
        t->is_cut = true;
        excerpt_reset(t->excerpt);
        excerpt_feed(t->excerpt, strbuf_view(&t->begun));
        strbuf_reset(&t->begun);
    }
    enum excerpt_state state = excerpt_feed(t->excerpt, part);
    if (state == EXCERPT_BROKEN || (ends && state != EXCERPT_DONE)) {
        return err_set(reterr, ERR_PARSE, "%s of more than %u bytes that is no object", what, CUT_TEXT_MAX);
    }
    if (ends) {
        *ret = excerpt_text(t->excerpt);
        t->note = excerpt_note(t->excerpt);
    }
    return 0;
}

int cut_text_judge(const struct cut_text *t, struct err *reterr)
{
    return t->note.bytes == 0 || t->note.whole
               ? 0
               : err_set(reterr, ERR_LIMIT, "%" PRIu64 " bytes, and what is read of them does not fit either",
                         t->note.bytes);
}
