/* bench/support/serve.h - a server that lives as long as whoever started it: it prints its URL, and stops when its
 * stdin ends.
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include "httpd/server.h"

/* The exit status of the program. */
int serve_until_stdin_ends(const struct httpd_listener_config *listener);

#endif
