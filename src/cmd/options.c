#include "cmd/options.h"

#include "base/bug.h"
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 64
#define HELP_BYTES_MAX (1 << 20)

/* False: it has been given before, and only one is possible. */
static bool take_text(const struct command_line *l, const char **ret)
{
    if (l->once && *ret != NULL) {
        return false;
    }
    *ret = optarg;
    return true;
}

/* What getopt_long is to know of a page. */
struct grammar {
    struct option options[OPTIONS_MAX];
    char letters[OPTIONS_MAX * 2];
    char command[64]; /* without the program's name */
};

static int id_of(const struct page_option *o)
{
    return o->id != 0 ? o->id : o->letter;
}

static void read_page(const struct page *p, struct grammar *g)
{
    char *letter = g->letters;
    size_t n = 0;

    BUG_ON(p->option_n + 2 > OPTIONS_MAX);
    *letter++ = ':';
    *letter++ = 'h';
    for (size_t i = 0; i < p->option_n; i++) {
        const struct page_option *o = &p->options[i];
        const int value = o->value == NULL ? no_argument : o->value[0] == '=' ? optional_argument : required_argument;

        if (o->name != NULL) {
            g->options[n++] = (struct option){o->name, value, NULL, id_of(o)};
        }
        if (o->letter != 0) {
            *letter++ = o->letter;
            *letter = ':';
            letter += value == required_argument;
        }
    }
    *letter = '\0';
    g->options[n++] = (struct option){"help", no_argument, NULL, 'h'};
    g->options[n] = (struct option){NULL, 0, NULL, 0};
    snprintf(g->command, sizeof(g->command), "%s", page_word(p));
}

static int id_of_letter(const struct page *p, int c)
{
    for (size_t i = 0; p != NULL && i < p->option_n; i++) {
        if (p->options[i].letter == c) {
            return id_of(&p->options[i]);
        }
    }
    return c;
}

static const char *called_as; /* NULL: by our name */

void options_are_called_as(const char *name)
{
    called_as = name;
}

void options_print_help(const struct page *p)
{
    struct strbuf out;

    strbuf_init(&out, HELP_BYTES_MAX);
    page_help(p, called_as, &out);
    fputs(out.p, stdout);
    strbuf_fini(&out);
}

static int read_line(const struct command_line *l, int argc, char **argv, void *ret)
{
    int c, at = 0, code = EXIT_OK;

    optind = 1;
    opterr = 0;
    while (code == EXIT_OK && (c = getopt_long(argc, argv, l->letters, l->options, &at)) != -1) {
        if (c == 'h') {
            if (l->page != NULL) {
                options_print_help(l->page);
            } else {
                l->print_help();
            }
            return -1;
        }
        if (c == ':' || c == '?') {
            return cmd_usage_error(l->command, c == ':' ? "%s needs a value" : "unknown option %s", argv[optind - 1]);
        }
        c = c < 256 ? id_of_letter(l->page, c) : c;
        if (c < OPTION_TEXT_VALUE) {
            code = l->take(ret, c, optarg);
        } else if (!take_text(l, (const char **)(void *)((char *)ret + (c - OPTION_TEXT_VALUE)))) {
            code = cmd_usage_error(l->command, "--%s is given twice; one file is possible", l->options[at].name);
        }
    }
    if (code == EXIT_OK && l->word_at > 0 && optind < argc) {
        *(const char **)(void *)((char *)ret + l->word_at) = argv[optind++];
    }
    return code == EXIT_OK && optind < argc ? cmd_usage_error(l->command, "unexpected \"%s\"", argv[optind]) : code;
}

const char *options_name(const struct page *p, int option)
{
    for (size_t i = 0; i < p->option_n; i++) {
        if (id_of(&p->options[i]) == option) {
            return p->options[i].name;
        }
    }
    BUG("an option of another page");
}

int options_read(const struct command_line *l, int argc, char **argv, void *ret)
{
    struct command_line line = *l;
    struct grammar g;

    if (l->page != NULL) {
        read_page(l->page, &g);
        line.command = g.command;
        line.options = g.options;
        line.letters = g.letters;
    }
    return read_line(&line, argc, argv, ret);
}
