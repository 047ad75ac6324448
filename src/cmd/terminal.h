/* cmd/terminal.h - the ways in which commands print what others wrote (base/printable.h). */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include "base/strbuf.h"

/* Lines on stdout, whose words have been made printable or are ours; what slipped through does no harm. */
void terminal_print(struct str text);
/* A JSON document on stdout. */
void terminal_print_json(struct str text);
/* "fgpu COMMAND: MESSAGE" and a line end on stderr. The message may have several lines. */
void terminal_complain(const char *command, const char *message);

#endif
