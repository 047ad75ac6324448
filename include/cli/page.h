/* cli/page.h - what a command is told and says of itself, once: its options with their texts, from which --help, the
 * manual page and completion are made (decision 0083).
 *
 * Text is static, and is written without line ends where it is to be filled. In `about` and `notes` a line is a
 * paragraph; lines that begin with a space are shown as they are, and an empty line stands between paragraphs.
 */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* The word at i, and what it means ("" if that is not said); NULL: there are no more. */
typedef const char *page_words_fn(size_t i, const char **ret_text);

struct page_option {
    const char *name;     /* without the dashes; NULL: it has a letter alone */
    char letter;          /* 0: none */
    const char *value;    /* as help shows it: FILE, HOST:PORT; choices in small letters, table|json. NULL: a flag. What
                           * begins with '=' may be left out: "=true|false" */
    const char *text;     /* one paragraph; NULL: accepted, and shown nowhere */
    int id;               /* for who reads the command line */
    page_words_fn *words; /* what the value may be, beside the choices of `value`, also in a list with commas */
};

struct page {
    const char *command; /* as it is called: "fgpu state" */
    const char *usage;   /* what follows it; several lines are several forms */
    const char *about;   /* what it does */
    const struct page_option *options;
    size_t option_n;
    const char *notes;      /* after the options; NULL: none */
    const char *list_title; /* of `list`: "Strategies"; NULL: none */
    page_words_fn *list;
    const char *exit_codes; /* "0 ok, 1 no answer, 2 usage"; NULL: those of any program */
    const char *examples;   /* a command in each line */
    const char *word;       /* what stands beside the options, as help shows it: FILE; NULL: nothing does */
    page_words_fn *words;   /* what that may be; NULL: see completion.h */
};

/* A row of struct program (cmd/dispatch.h), or one page alone. */
struct page_entry {
    const char *name;    /* of the page and its file: "fgpu-state" */
    const char *section; /* of the manual: "1" */
    const char *summary; /* in a line */
};

/* The last word of `command`: "state". */
const char *page_word(const struct page *p);

/* Text for a terminal of 110 columns. */
void page_help(const struct page *p, struct strbuf *out);

/* The same in mdoc(7). `see_also`: pages with their section, "fgpu 1"; a list that NULL ends. */
void page_man(const struct page *p, const struct page_entry *e, const char *const *see_also, struct strbuf *out);

/* ---- parts, for pages that are made of something else ---- */

void page_man_begin(const struct page_entry *e, struct strbuf *out); /* up to NAME */
void page_man_text(struct str text, struct strbuf *out);             /* a line, with what mdoc would take for its own */
void page_man_see(const char *const *see_also, struct strbuf *out);

/* Writes DIR/NAME.SECTION. 0, or the reason in *reterr. */
struct err;
int page_man_write(const char *dir, const struct page_entry *e, const struct strbuf *text, struct err *reterr);

#endif
