/* bench/support/client.h - one keep-alive connection that measures.
 *
 * Blocking, one request at a time, on the loopback. Whatever goes wrong ends the program with a
 * sentence: a benchmark that goes on after an error measures something else.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include "base/strbuf.h"

#include <stdint.h>

struct client {
    int fd;
    struct strbuf out;
    struct strbuf in;
};

/* `address` is "127.0.0.1:PORT", with or without "http://" before it. */
void client_open(struct client *c, const char *address);
void client_close(struct client *c);

struct client_reply {
    int status;
    struct str body; /* until the next call */
    int64_t took_ns; /* from before the first byte sent to after the last byte received */
};
struct client_reply client_call(struct client *c, const char *method, const char *path, struct str body);

int64_t client_now_ns(void);

#endif
