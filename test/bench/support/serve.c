#include "support/serve.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int serve_until_stdin_ends(const struct httpd_listener_config *listener)
{
    const struct httpd_config config = {.listeners = listener, .listener_n = 1};
    struct httpd_server *server;
    struct err err;
    char drop[64];

    if (httpd_server_new(&config, &server, &err) != 0 || httpd_server_start(server, &err) != 0) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, err.msg);
        return 1;
    }
    printf("http://127.0.0.1:%u\n", (unsigned)httpd_server_port(server, 0));
    fflush(stdout);
    while (read(STDIN_FILENO, drop, sizeof(drop)) > 0) {
    }
    httpd_server_free(server);
    return 0;
}
