#include "cli/page.h"

#include "base/build_info.h"
#include "base/err.h"
#include "cli/page_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Text inside a line: a backslash is a command everywhere. */
static void add_escaped(struct str text, struct strbuf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\') {
            strbuf_add_cstr(out, "\\e");
        } else {
            strbuf_add_char(out, text.p[i]);
        }
    }
}

void page_man_text(struct str text, struct strbuf *out)
{
    if (text.n > 0 && (text.p[0] == '.' || text.p[0] == '\'')) {
        strbuf_add_cstr(out, "\\&");
    }
    add_escaped(text, out);
    strbuf_add_char(out, '\n');
}

/* Each sentence begins a line: so the formatter puts the right space behind it. */
static void add_paragraph(struct str text, struct strbuf *out)
{
    size_t from = 0;

    for (size_t i = 0; i + 2 < text.n; i++) {
        const bool ends = text.p[i] == '.' && text.p[i + 1] == ' ' && text.p[i + 2] >= 'A' && text.p[i + 2] <= 'Z';

        if (ends) {
            page_man_text((struct str){text.p + from, i + 1 - from}, out);
            from = i + 2;
        }
    }
    page_man_text(str_drop(text, from), out);
}

/* A word of a macro line. */
static void add_word(const char *word, struct strbuf *out)
{
    strbuf_add_char(out, '"');
    add_escaped(str_of(word), out);
    strbuf_add_char(out, '"');
}

static void begin_literal(bool *open, struct strbuf *out)
{
    if (!*open) {
        strbuf_add_cstr(out, ".Bd -literal\n");
    }
    *open = true;
}

static void end_literal(bool *open, struct strbuf *out)
{
    if (*open) {
        strbuf_add_cstr(out, ".Ed\n");
    }
    *open = false;
}

static void add_paragraphs(const char *text, struct strbuf *out)
{
    struct str rest = str_of(text), line;
    bool literal = false, next_begins = false;

    while (str_split(&rest, '\n', &line)) {
        if (line.n == 0) {
            end_literal(&literal, out);
            next_begins = true;
        } else if (str_starts(line, STR(" "))) {
            begin_literal(&literal, out);
            page_man_text(line, out);
            next_begins = false;
        } else {
            end_literal(&literal, out);
            strbuf_add_cstr(out, next_begins ? ".Pp\n" : "");
            next_begins = false;
            add_paragraph(line, out);
        }
    }
    end_literal(&literal, out);
}

static void add_options(const struct page *p, struct strbuf *out)
{
    strbuf_add_cstr(out, ".Pp\nThe options are:\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < p->option_n; i++) {
        const struct page_option *o = &p->options[i];

        if (!page_is_shown(o)) {
            continue;
        }
        strbuf_add_cstr(out, ".It");
        if (o->letter != 0) {
            strbuf_addf(out, " Fl %c", o->letter);
        }
        if (o->name != NULL) {
            strbuf_addf(out, "%s Fl -%s", o->letter != 0 ? " ," : "", o->name);
        }
        if (page_value_may_be_left_out(o)) {
            strbuf_addf(out, " Ns Op Ar ");
            add_word(o->value, out);
        } else if (o->value != NULL) {
            strbuf_add_cstr(out, " Ar ");
            add_word(o->value, out);
        }
        strbuf_add_char(out, '\n');
        add_paragraph(str_of(o->text), out);
    }
    strbuf_add_cstr(out, ".El\n");
}

static void add_list(const struct page *p, struct strbuf *out)
{
    const char *text = "", *word;

    strbuf_addf(out, ".Pp\n%s:\n.Bl -tag -width Ds\n", p->list_title);
    for (size_t i = 0; (word = p->list(i, &text)) != NULL; i++) {
        strbuf_add_cstr(out, ".It Cm ");
        add_word(word, out);
        strbuf_add_char(out, '\n');
        page_man_text(str_of(text), out);
    }
    strbuf_add_cstr(out, ".El\n");
}

static void add_lines(const char *text, const char *before, struct strbuf *out)
{
    struct str rest = str_of(text), line;

    strbuf_add_cstr(out, ".Bd -literal\n");
    while (str_split(&rest, '\n', &line)) {
        struct strbuf whole;

        strbuf_init(&whole, PAGE_LINE_BYTES_MAX);
        strbuf_addf(&whole, "%s%s%.*s", before, before[0] != '\0' && line.n > 0 ? " " : "", STR_ARG(line));
        page_man_text(strbuf_view(&whole), out);
        strbuf_fini(&whole);
    }
    strbuf_add_cstr(out, ".Ed\n");
}

void page_man_begin(const struct page_entry *e, struct strbuf *out)
{
    strbuf_addf(out, ".\\\" Made by `fgpu man`: the words are those of --help.\n.Dd %s\n.Dt ", build_date);
    for (const char *c = e->name; *c != '\0'; c++) {
        strbuf_add_char(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    }
    strbuf_addf(out, " %s\n.Os fgpu %s\n.Sh NAME\n.Nm %s\n.Nd ", e->section, FGPU_VERSION, e->name);
    page_man_text(str_of(e->summary), out);
}

void page_man_see(const char *const *see_also, struct strbuf *out)
{
    strbuf_add_cstr(out, ".Sh SEE ALSO\n");
    for (; *see_also != NULL; see_also++) {
        strbuf_addf(out, ".Xr %s%s\n", *see_also, see_also[1] != NULL ? " ," : "");
    }
}

void page_man(const struct page *p, const struct page_entry *e, const char *const *see_also, struct strbuf *out)
{
    page_man_begin(e, out);
    strbuf_add_cstr(out, ".Sh SYNOPSIS\n");
    add_lines(p->usage, p->command, out);
    strbuf_add_cstr(out, ".Sh DESCRIPTION\n");
    add_paragraphs(p->about, out);
    if (p->option_n > 0) {
        add_options(p, out);
    }
    if (p->notes != NULL) {
        strbuf_add_cstr(out, ".Pp\n");
        add_paragraphs(p->notes, out);
    }
    if (p->list != NULL) {
        add_list(p, out);
    }
    if (p->exit_codes != NULL) {
        strbuf_add_cstr(out, ".Sh EXIT STATUS\n");
        strbuf_addf(out, "%s.\n", p->exit_codes);
    }
    strbuf_add_cstr(out, ".Sh EXAMPLES\n");
    add_lines(p->examples, "", out);
    page_man_see(see_also, out);
}

int page_man_write(const char *dir, const struct page_entry *e, const struct strbuf *text, struct err *reterr)
{
    char path[PATH_MAX];
    FILE *f;
    bool complete;

    if (snprintf(path, sizeof(path), "%s/%s.%s", dir, e->name, e->section) >= (int)sizeof(path)) {
        return err_set(reterr, ERR_INVALID, "%s: the name is too long", dir);
    }
    f = fopen(path, "we");
    if (f == NULL) {
        return err_set(reterr, ERR_INTERNAL, "cannot write %s: %s", path, strerror(errno));
    }
    complete = fwrite(text->p, 1, text->n, f) == text->n;
    complete = fclose(f) == 0 && complete && !text->overflowed;
    return complete ? 0 : err_set(reterr, ERR_INTERNAL, "cannot write %s: %s", path, strerror(errno));
}
