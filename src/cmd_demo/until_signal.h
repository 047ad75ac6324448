/* cmd_demo/until_signal.h - runs a command that SIGINT or SIGTERM ends in order. */
#ifndef CMD_DEMO_UNTIL_SIGNAL_H
#define CMD_DEMO_UNTIL_SIGNAL_H

/* What run(ctx) returns, before which the first of these signals calls stop() on a thread of its own; or EXIT_RUNTIME
 * where there is no thread, which is told in the name of `command`. Before any thread is started: from then on all of
 * them block both signals. */
int until_signal(const char *command, int (*run)(void *ctx), void *ctx, void (*stop)(void));

#endif
