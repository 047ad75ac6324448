#include "cli/page.h"

#include "cli/page_parts.h"

#include <string.h>

#define COLUMNS 110
#define TEXT_COLUMN_MAX 28 /* where the texts of options begin, at most */
#define LIST_COLS_MIN 15

/* Fills a paragraph from `column` on, where the first line already is. */
static void fill(struct str text, size_t column, struct strbuf *out)
{
    size_t at = column;
    struct str word;

    while (str_split(&text, ' ', &word)) {
        if (at > column && at + 1 + word.n > COLUMNS) {
            strbuf_addf(out, "\n%*s", (int)column, "");
            at = column;
        } else if (at > column) {
            strbuf_add_char(out, ' ');
            at++;
        }
        strbuf_add_str(out, word);
        at += word.n;
    }
    strbuf_add_char(out, '\n');
}

static void add_paragraphs(const char *text, struct strbuf *out)
{
    struct str rest = str_of(text), line;

    while (str_split(&rest, '\n', &line)) {
        if (str_starts(line, STR(" "))) {
            strbuf_add_str(out, line);
            strbuf_add_char(out, '\n');
        } else {
            fill(line, 0, out);
        }
    }
}

static void add_option_name(const struct page_option *o, struct strbuf *out)
{
    strbuf_add_cstr(out, "  ");
    if (o->letter != 0) {
        strbuf_addf(out, "-%c", o->letter);
    }
    if (o->name != NULL) {
        strbuf_addf(out, "%s--%s", o->letter != 0 ? ", " : "", o->name);
    }
    if (page_value_may_be_left_out(o)) {
        strbuf_addf(out, "[%s]", o->value);
    } else if (o->value != NULL) {
        strbuf_addf(out, " %s", o->value);
    }
}

/* Behind the longest name that is short enough. */
static size_t text_column(const struct page *p)
{
    size_t column = 0;

    for (size_t i = 0; i < p->option_n; i++) {
        struct strbuf name;

        strbuf_init(&name, PAGE_LINE_BYTES_MAX);
        add_option_name(&p->options[i], &name);
        if (name.n + 2 <= TEXT_COLUMN_MAX && name.n + 2 > column) {
            column = name.n + 2;
        }
        strbuf_fini(&name);
    }
    return column > 0 ? column : TEXT_COLUMN_MAX;
}

static void add_options(const struct page *p, struct strbuf *out)
{
    const size_t column = text_column(p);

    for (size_t i = 0; i < p->option_n; i++) {
        const size_t before = out->n;

        if (!page_is_shown(&p->options[i])) {
            continue;
        }
        add_option_name(&p->options[i], out);
        if (out->n - before + 2 > column) {
            strbuf_addf(out, "\n%*s", (int)column, "");
        } else {
            strbuf_addf(out, "%*s", (int)(column - (out->n - before)), "");
        }
        fill(str_of(p->options[i].text), column, out);
    }
}

const char *page_word(const struct page *p)
{
    const char *space = strrchr(p->command, ' ');

    return space != NULL ? space + 1 : p->command;
}

/* A command line, with another name for the program if it has one. */
static void add_command_line(const struct page *p, const char *called, struct str line, struct strbuf *out)
{
    const struct str name = {p->command, strcspn(p->command, " ")};

    if (called != NULL && !str_starts(str_of(called), name) && str_starts(line, name)) {
        strbuf_add_cstr(out, called);
        line = str_drop(line, name.n);
    }
    strbuf_add_str(out, line);
}

void page_help(const struct page *p, const char *called, struct strbuf *out)
{
    struct str rest = str_of(p->usage), line;
    const char *begin = "Usage: ";

    while (str_split(&rest, '\n', &line)) {
        strbuf_add_cstr(out, begin);
        add_command_line(p, called, str_of(p->command), out);
        strbuf_addf(out, "%s%.*s\n", line.n > 0 ? " " : "", STR_ARG(line));
        begin = "       ";
    }
    strbuf_add_char(out, '\n');
    add_paragraphs(p->about, out);
    if (p->option_n > 0) {
        strbuf_add_char(out, '\n');
        add_options(p, out);
    }
    if (p->notes != NULL) {
        strbuf_add_char(out, '\n');
        add_paragraphs(p->notes, out);
    }
    if (p->exit_codes != NULL) {
        struct strbuf codes;

        strbuf_init(&codes, PAGE_LINE_BYTES_MAX);
        strbuf_addf(&codes, "Exit codes: %s.", p->exit_codes);
        strbuf_add_char(out, '\n');
        fill(strbuf_view(&codes), 0, out);
        strbuf_fini(&codes);
    }
    rest = str_of(p->examples);
    strbuf_addf(out, "\nExample%s:\n", strchr(p->examples, '\n') != NULL ? "s" : "");
    while (str_split(&rest, '\n', &line)) {
        strbuf_add_cstr(out, "  ");
        add_command_line(p, called, line, out);
        strbuf_add_char(out, '\n');
    }
    if (p->list != NULL) {
        const char *text = "", *word;
        size_t widest = LIST_COLS_MIN;

        for (size_t i = 0; (word = p->list(i, &text)) != NULL; i++) {
            widest = strlen(word) > widest ? strlen(word) : widest;
        }
        strbuf_addf(out, "\n%s:\n", p->list_title);
        for (size_t i = 0; (word = p->list(i, &text)) != NULL; i++) {
            strbuf_addf(out, "  %-*s %s\n", (int)widest, word, text);
        }
    }
}
