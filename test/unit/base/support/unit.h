/* What every unit test of this layer includes: cmocka with the headers it needs, text comparison, and the
 * check that a misuse stops the process. */
#ifndef UNIT_BASE_SUPPORT_UNIT_H
#define UNIT_BASE_SUPPORT_UNIT_H

#include "base/str.h"
#include "support/cmocka.h"

#include <stdbool.h>

/* Fails with both texts in the message. `row` names the row of the table, or NULL. */
void expect_text(struct str got, const char *want, const char *row);

/* Runs `fn` in a child process whose stderr is closed; true if it aborts. */
bool unit_aborts(void (*fn)(void));
/* Likewise; fails unless it aborts and its stderr contains `text`. */
void expect_bug(void (*fn)(void), const char *text);

#define expect_row(row, cond)                                                                                          \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            fail_msg("row '%s': not true: %s", (row), #cond);                                                          \
        }                                                                                                              \
    } while (0)

#endif
