/* bench/support/program.h - what the programs of this folder have in common. An option that is no number ends the
 * program with a sentence that names it.
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include "base/str.h"

#include <stdint.h>

/* The value of an option. */
uint32_t option_number(const char *text);
/* The text behind the first `open`, up to the next `close`; neither is in it. Empty when there is none. */
struct str text_between(struct str text, const char *open, const char *close);

#endif
