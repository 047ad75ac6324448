/* cli/completion.h - what the word under the cursor may become.
 *
 * The shells ask the program itself, so that nothing of it is written down twice: PROGRAM __complete WORD... with the
 * words of the command line up to the cursor. It answers with lines "WORD<tab>WHAT IT MEANS" and a last line
 * ":DIRECTIVE". These are the words of Cobra, which kubectl speaks with its plugins.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/page.h"

#define COMPLETION_COMMAND "__complete"

enum completion_directive {
    COMPLETION_FILES = 0,    /* if nothing fits, names of files */
    COMPLETION_NO_FILES = 4, /* only what was listed */
};

/* Adds `word` if it begins with what is there. */
void completion_offer(struct strbuf *out, const char *there, const char *word, const char *text);

/* What the last of `words` (n > 0) may become; the command's own name is not among them. Ends with the directive. */
void completion_of_page(const struct page *p, int n, char *const *words, struct strbuf *out);
void completion_end(struct strbuf *out, enum completion_directive d);

/* The script for bash, zsh or fish that asks the program `program`; NULL: another shell. */
const char *completion_script(const char *shell);
page_words_fn completion_shells;

#endif
