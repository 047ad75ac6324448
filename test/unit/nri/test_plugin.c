#include "nri/plugin.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "nri/support/told.h"
#include "nri/support/wire.h"
#include "support/cmocka.h"
#include "support/temp_dir.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* How long a test waits for what must come; how fast it comes is not asked. */
#define PATIENCE_MS 60000

/* The runtime is the test itself. */
struct fixture {
    struct temp_dir dir;
    char path[128];
    int listener;
    int connection;
    struct told told; /* of the plugin's thread until it is stopped */
    struct nri_plugin_options options;
    struct nri_plugin *plugin;
    struct strbuf in, memory, out;
};

static void listen_again(struct fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)unlink(f->path);
    memcpy(address.sun_path, f->path, strlen(f->path));
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_return_code(bind(f->listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_return_code(listen(f->listener, 5), 0);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    temp_dir_init(&f->dir);
    temp_dir_path(&f->dir, "nri.sock", f->path, sizeof(f->path));
    f->listener = f->connection = -1;
    told_init(&f->told);
    f->options = (struct nri_plugin_options){.socket_path = f->path, .name = "fgpu", .index = "10"};
    strbuf_init(&f->in, 1U << 20);
    strbuf_init(&f->memory, 8U << 20);
    strbuf_init(&f->out, 8U << 20);
    *state = f;
    return 0;
}

static void start(struct fixture *f)
{
    struct err err = {.code = ERR_OK};

    if (nri_plugin_start(&f->options, &f->told.handler, &f->plugin, &err) != 0) {
        fail_msg("%s", err.msg);
    }
}

static void stop(struct fixture *f)
{
    nri_plugin_stop(f->plugin);
    f->plugin = NULL;
}

static void hang_up(struct fixture *f)
{
    close(f->connection);
    f->connection = -1;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    stop(f);
    close(f->listener);
    close(f->connection);
    told_fini(&f->told);
    strbuf_fini(&f->in);
    strbuf_fini(&f->memory);
    strbuf_fini(&f->out);
    temp_dir_fini(&f->dir);
    free(f);
    return 0;
}

static void must_come(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    if (poll(&p, 1, PATIENCE_MS) != 1) {
        fail_msg("nothing came");
    }
}

static void must_connect(struct fixture *f)
{
    must_come(f->listener);
    f->connection = accept(f->listener, NULL, NULL);
    assert_return_code(f->connection, 0);
    strbuf_reset(&f->in);
}

/* False: the plugin hung up. */
static bool receive(struct fixture *f, struct wire_answer *ret)
{
    for (;;) {
        struct str in = strbuf_view(&f->in);
        ssize_t n;
        char *to;

        if (wire_take(&in, &f->memory, ret)) {
            memmove(f->in.p, in.p, in.n);
            f->in.n = in.n;
            return true;
        }
        must_come(f->connection);
        to = strbuf_reserve(&f->in, 4096);
        n = read(f->connection, to, 4096);
        if (n <= 0) {
            return false;
        }
        strbuf_commit(&f->in, (size_t)n);
    }
}

static struct wire_answer must_receive(struct fixture *f)
{
    struct wire_answer a;

    if (!receive(f, &a)) {
        fail_msg("the plugin hung up");
    }
    return a;
}

static void must_hang_up(struct fixture *f)
{
    char some[4096];

    do {
        must_come(f->connection);
    } while (read(f->connection, some, sizeof(some)) > 0);
    hang_up(f);
}

static void send_all(struct fixture *f)
{
    assert_int_equal(send(f->connection, f->out.p, f->out.n, MSG_NOSIGNAL), f->out.n);
    strbuf_reset(&f->out);
}

static void make_ready(struct fixture *f)
{
    must_connect(f);
    assert_int_equal(must_receive(f).id, 2);
    wire_ready(&f->out);
    send_all(f);
    assert_int_equal(must_receive(f).stream, 1);
    assert_int_equal(must_receive(f).stream, 3);
}

/* With a plugin that waits for a moment only, a test on a busy machine may come too late: then again. */
static void make_ready_in_time(struct fixture *f)
{
    struct wire_answer a;
    bool sent;

    for (;;) {
        must_connect(f);
        wire_ready(&f->out);
        sent = receive(f, &a) && send(f->connection, f->out.p, f->out.n, MSG_NOSIGNAL) == (ssize_t)f->out.n;
        strbuf_reset(&f->out);
        if (sent && receive(f, &a) && receive(f, &a)) {
            return;
        }
        hang_up(f);
    }
}

static void must_have_told(struct fixture *f, const char *text)
{
    stop(f);
    assert_string_equal(f->told.text.p, text);
}

#define READY "connected containerd v2.4.2  2000; begin; end; "

static void plugin__no_runtime__stops(void **state)
{
    struct fixture *f = *state;

    start(f);
    must_have_told(f, "");
}

static void plugin__runtime_that_asks__answers_until_it_is_stopped(void **state)
{
    struct fixture *f = *state;

    listen_again(f);
    start(f);
    make_ready(f);
    strbuf_reset(&f->memory);
    wire_pod_and_container(&f->memory, 1, "p", "c");
    wire_call(&f->out, 5, "CreateContainer", strbuf_view(&f->memory));
    send_all(f);
    assert_int_equal(must_receive(f).stream, 5);
    must_have_told(f, READY "create p/c; disconnected: asked to stop; ");
    must_hang_up(f);
}

static void plugin__runtime_restarts__comes_again(void **state)
{
    struct fixture *f = *state;

    start(f); /* before there is a socket */
    for (int i = 0; i < 2; i++) {
        listen_again(f);
        make_ready(f);
        hang_up(f);
        close(f->listener);
    }
    listen_again(f);
    make_ready(f);
    must_have_told(f, READY "disconnected: the runtime closed the connection; " READY
                            "disconnected: the runtime closed the connection; " READY "disconnected: asked to stop; ");
}

static void plugin__runtime_sends_nonsense__leaves_and_comes_again(void **state)
{
    struct fixture *f = *state;

    listen_again(f);
    start(f);
    must_connect(f);
    strbuf_add_str(&f->out, STR("HTTP/1.1 400 Bad Request\r\n"));
    send_all(f);
    must_hang_up(f);
    make_ready(f);
    must_have_told(f, READY "disconnected: asked to stop; ");
}

/* Accepted and forgotten; and stopped in the middle of a message. */
static void plugin__runtime_hangs__leaves_and_comes_again(void **state)
{
    struct fixture *f = *state;

    f->options.stall_ms = 50;
    listen_again(f);
    start(f);
    must_connect(f);
    must_hang_up(f);
    make_ready_in_time(f);
    strbuf_add_str(&f->out, STR("\0\0\0\x01\0\0\0"));
    send_all(f);
    must_hang_up(f);
    stop(f);
    assert_true(str_ends(strbuf_view(&f->told.text), STR(READY "disconnected: no sign from the runtime in 50 ms; ")));
}

/* A runtime that is in good order says nothing for days. */
static void plugin__nothing_happens__stays(void **state)
{
    struct fixture *f = *state;
    struct pollfd quiet;

    f->options.stall_ms = 20;
    listen_again(f);
    start(f);
    make_ready_in_time(f);
    quiet = (struct pollfd){.fd = f->connection, .events = POLLIN};
    assert_int_equal(poll(&quiet, 1, 100), 0);
}

static void plugin__runtime_reads_slowly__gets_all(void **state)
{
    static char megabyte[1 << 20];
    struct fixture *f = *state;
    const struct kv long_one = {STR("A"), {megabyte, sizeof(megabyte)}};

    f->told.add.env = (struct kv_list){&long_one, 1};
    listen_again(f);
    start(f);
    make_ready(f);
    strbuf_fini(&f->in);
    strbuf_init(&f->in, 8U << 20);
    strbuf_reset(&f->memory);
    wire_pod_and_container(&f->memory, 1, "p", "c");
    for (uint32_t i = 0; i < 12; i++) {
        wire_call(&f->out, 5 + 2 * i, "CreateContainer", strbuf_view(&f->memory));
    }
    send_all(f);
    for (uint32_t i = 0; i < 12; i++) {
        struct wire_answer a = must_receive(f);

        assert_int_equal(a.stream, 5 + 2 * i);
        assert_true(a.payload.n > sizeof(megabyte));
    }
}

static void plugin_stats__connected_and_not__say_so(void **state)
{
    struct fixture *f = *state;
    struct nri_plugin_stats stats;

    listen_again(f);
    start(f);
    nri_plugin_stats(f->plugin, &stats);
    assert_false(stats.synchronized);
    make_ready(f);
    wire_call(&f->out, 5, "Shutdown", STR_NULL);
    send_all(f);
    must_receive(f);
    do { /* the numbers are there a moment after the answer */
        nri_plugin_stats(f->plugin, &stats);
    } while (stats.requests < 3);
    assert_true(stats.synchronized);
    assert_int_equal(stats.connections, 1);
    hang_up(f);
    do {
        nri_plugin_stats(f->plugin, &stats);
    } while (stats.synchronized);
}

static void must_not_start(struct fixture *f, const char *words)
{
    struct err err;

    assert_int_equal(nri_plugin_start(&f->options, &f->told.handler, &f->plugin, &err), -ERR_INVALID);
    assert_string_equal(err.msg, words);
}

static void plugin_start__wrong_options__are_named(void **state)
{
    char path[200];
    struct fixture *f = *state;

    f->options.name = "f gpu";
    must_not_start(f, "NRI plugin: the name \"f gpu\" has to be letters, digits, '_', '.', '+' and '-'");
    f->options.name = NULL;
    must_not_start(f, "NRI plugin: the name \"\" has to be letters, digits, '_', '.', '+' and '-'");
    f->options.name = "fgpu";
    f->options.index = "1";
    must_not_start(f, "NRI plugin: the index \"1\" has to be two digits");
    f->options.index = "1x";
    must_not_start(f, "NRI plugin: the index \"1x\" has to be two digits");
    f->options.index = "10";
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    f->options.socket_path = path;
    assert_int_equal(nri_plugin_start(&f->options, &f->told.handler, &f->plugin, NULL), -ERR_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(plugin__no_runtime__stops),
        TEST(plugin__runtime_that_asks__answers_until_it_is_stopped),
        TEST(plugin__runtime_restarts__comes_again),
        TEST(plugin__runtime_sends_nonsense__leaves_and_comes_again),
        TEST(plugin__runtime_hangs__leaves_and_comes_again),
        TEST(plugin__nothing_happens__stays),
        TEST(plugin__runtime_reads_slowly__gets_all),
        TEST(plugin_stats__connected_and_not__say_so),
        TEST(plugin_start__wrong_options__are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
