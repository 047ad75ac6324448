/* cmd/options.h - reads a command line of options, and at most one word beside them, whose values go into a struct. */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cli/page.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#define OPTION_TEXT_VALUE 1024 /* and more: where in the struct the text goes */

/* The id of a page_option whose text is kept in a const char * of the struct, and belongs to argv. */
#define OPTION_AT(struct_, member_) (OPTION_TEXT_VALUE + (int)offsetof(struct_, member_))

/* A row of command_line.options: the text is kept in a const char * and belongs to argv. */
#define OPTION_TEXT(name_, struct_, member_)                                                                           \
    {                                                                                                                  \
        (name_), required_argument, NULL, OPTION_TEXT_VALUE + (int)offsetof(struct_, member_)                          \
    }

struct command_line {
    const char *command;
    const struct option *options; /* --help has the value 'h', others of their own are below OPTION_TEXT_VALUE */
    const char *letters;          /* as of getopt_long, with ':' in front and 'h' */
    bool once; /* a text may be given once; else the last one counts. Only where they are NULL at first */
    void (*print_help)(void);
    /* Takes an option of its own: EXIT_OK, or EXIT_USAGE with the reason on stderr. */
    int (*take)(void *ret, int option, const char *value);
    size_t word_at; /* where in the struct the one word beside the options goes, a const char *; 0: there is none */
    /* Instead of command, options, letters and print_help. An id below OPTION_TEXT_VALUE is an option of its own; that
     * of an option without one is its letter. */
    const struct page *page;
};

/* Help shows this instead of the name of the program. */
void options_are_called_as(const char *name);

/* What --help prints. */
void options_print_help(const struct page *p);

/* EXIT_OK, EXIT_USAGE with the reason on stderr, or -1: help was printed. */
int options_read(const struct command_line *l, int argc, char **argv, void *ret);

/* The name of the option that `take` was given, without its dashes: for who refuses its value. */
const char *options_name(const struct page *p, int option);

#endif
