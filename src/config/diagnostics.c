#include "config/diagnostics.h"

#include "base/bug.h"
#include "base/printable.h"
#include "config/text_internal.h"

#include <stdarg.h>
#include <string.h>

#define MESSAGE_MAX 400   /* characters */
#define WORD_CHARS 60     /* of a quoted word */
#define EXCERPT_CHARS 100 /* of a quoted line; a JSON file may be one line of 200 KiB */

void diagnostics_init(struct diagnostics *d, struct arena *arena, struct str file, struct str text)
{
    memset(d, 0, sizeof(*d));
    d->arena = arena;
    d->file = file;
    d->text = text;
}

static bool is_before(struct text_pos a, struct text_pos b)
{
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

static struct str stored_message(struct arena *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

static struct str stored_message(struct arena *a, const char *fmt, va_list ap)
{
    struct strbuf raw, clean;

    strbuf_init(&raw, 4 * MESSAGE_MAX);
    strbuf_init(&clean, 8 * MESSAGE_MAX);
    strbuf_vaddf(&raw, fmt, ap);
    if (!printable_add(&clean, strbuf_view(&raw), MESSAGE_MAX, "")) {
        strbuf_add_cstr(&clean, "...");
    }
    struct str message = arena_str(a, strbuf_view(&clean));
    strbuf_fini(&raw);
    strbuf_fini(&clean);
    return message.n > 0 ? message : STR("the file is too large to read");
}

struct str diagnostics_word(struct diagnostics *d, struct str s)
{
    size_t n = 0;

    for (size_t chars = 0; n < s.n && chars < WORD_CHARS; chars++) {
        n += printable_char_len(str_drop(s, n));
    }
    return n == s.n ? s : arena_printf(d->arena, "%.*s...", (int)n, s.p);
}

void diagnostics_add(struct diagnostics *d, struct text_pos pos, const char *fmt, ...)
{
    size_t at = d->n;
    va_list ap;

    while (at > 0 && is_before(pos, d->items[at - 1].pos)) {
        at--;
    }
    if (d->n == DIAGNOSTICS_MAX) {
        d->dropped++;
        if (at == DIAGNOSTICS_MAX) {
            return;
        }
        d->n--;
    }
    memmove(&d->items[at + 1], &d->items[at], (d->n - at) * sizeof(d->items[0]));
    va_start(ap, fmt);
    d->items[at] = (struct diagnostic){pos, stored_message(d->arena, fmt, ap)};
    va_end(ap);
    d->n++;
}

/* The quoted line and the caret below it, both starting at the same character of the line. */
static void render_excerpt(const struct diagnostics *d, struct text_pos pos, struct strbuf *out)
{
    struct str line;
    uint32_t from = 1;

    if (d->secret || !text_line(d->text, pos.line, &line) || str_trim(line).n == 0) {
        return;
    }
    if (pos.column > EXCERPT_CHARS - 20) {
        from = pos.column - EXCERPT_CHARS / 2;
        for (uint32_t i = 1; i < from && line.n > 0; i++) {
            line = str_drop(line, printable_char_len(line));
        }
    }
    strbuf_add_cstr(out, from > 1 ? "  ..." : "  ");
    bool whole = printable_add(out, line, EXCERPT_CHARS, "\t");
    strbuf_add_cstr(out, whole ? "\n" : "...\n");
    strbuf_add_cstr(out, from > 1 ? "     " : "  ");
    for (uint32_t i = from; i < pos.column; i++) {
        strbuf_add_char(out, line.n > 0 && line.p[0] == '\t' ? '\t' : ' ');
        line = line.n > 0 ? str_drop(line, printable_char_len(line)) : line;
    }
    strbuf_add_cstr(out, "^\n");
}

static void add_place(const struct diagnostics *d, struct text_pos pos, struct strbuf *out)
{
    (void)printable_add(out, d->file, SIZE_MAX, "");
    if (pos.line > 0) {
        strbuf_addf(out, ":%u:%u", pos.line, pos.column);
    }
    strbuf_add_cstr(out, ": ");
}

void diagnostics_render(const struct diagnostics *d, struct strbuf *out)
{
    for (size_t i = 0; i < d->n; i++) {
        add_place(d, d->items[i].pos, out);
        strbuf_add_str(out, d->items[i].message);
        strbuf_add_char(out, '\n');
        if (d->items[i].pos.line > 0) {
            render_excerpt(d, d->items[i].pos, out);
        }
    }
    if (d->dropped > 0) {
        strbuf_addf(out, "and %zu more; correct these first\n", d->dropped);
    }
}

int diagnostics_to_err(const struct diagnostics *d, enum err_code code, struct err *reterr)
{
    struct strbuf place;
    size_t more = d->n + d->dropped - 1;

    BUG_ON(d->n == 0);
    strbuf_init(&place, ERR_MSG_MAX);
    add_place(d, d->items[0].pos, &place);
    int rc = more == 0 ? err_set(reterr, code, "%s%.*s", place.p, STR_ARG(d->items[0].message))
                       : err_set(reterr, code, "%s%.*s (and %zu more)", place.p, STR_ARG(d->items[0].message), more);
    strbuf_fini(&place);
    return rc;
}
