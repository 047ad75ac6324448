/* Full listeners, and peers that are slow in any direction. */
#include "base/bug.h"
#include "httpd/server_internal.h"
#include "httpd/support/fixture.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET_OK "GET /ok HTTP/1.1\r\nHost: x\r\n\r\n"
#define BIG_BYTES ((size_t)48 << 20) /* more than the kernel keeps for a connection */

static struct {
    pthread_mutex_t lock;
    struct httpd_request *waiting[8];
    size_t n;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum httpd_action handler_hold(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx, (void)resp;
    pthread_mutex_lock(&held.lock);
    BUG_ON(held.n == ARRAY_LEN(held.waiting));
    held.waiting[held.n++] = req;
    pthread_mutex_unlock(&held.lock);
    return HTTPD_SUSPENDED;
}

static enum httpd_action handler_big(void *ctx, struct httpd_request *req, struct httpd_response *resp)
{
    (void)ctx, (void)req;
    static const char block[65536];
    for (size_t n = 0; n < BIG_BYTES; n += sizeof(block)) {
        strbuf_add(&resp->body, block, sizeof(block));
    }
    return HTTPD_REPLY;
}

static const struct httpd_route ROUTES[] = {
    {.method = "GET", .path = "/ok", .handle = handler_ok},
    {.method = "GET", .path = "/hold", .handle = handler_hold},
    {.method = "GET", .path = "/big", .handle = handler_big},
    {.method = "POST", .path = "/echo", .handle = handler_echo},
};

static void start(struct fixture *f, struct httpd_config config, unsigned connection_max)
{
    const struct httpd_listener_config listener = {.name = "test",
                                                   .address = "127.0.0.1:0",
                                                   .routes = ROUTES,
                                                   .route_n = ARRAY_LEN(ROUTES),
                                                   .thread_n = 2,
                                                   .connection_max = connection_max};
    struct err err = {.code = ERR_OK};
    config.listeners = &listener;
    config.listener_n = 1;
    if (httpd_server_new(&config, &f->server, &err) != 0 || httpd_server_start(f->server, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    f->port = httpd_server_port(f->server, 0);
}

static void ask(struct client *c, const char *text)
{
    struct reply r;
    assert_true(client_text(c, text));
    assert_true(client_reply(c, &r));
    assert_int_equal(r.status, 200);
    reply_fini(&r);
}

/* The state of a connection changes a moment after its client has seen the answer. */
static void wait_until_idle_n(struct fixture *f, size_t want)
{
    for (;;) {
        size_t n = 0;
        mutex_lock(&f->server->conns_lock);
        struct httpd_conn *c;
        LIST_FOREACH (c, &f->server->conns, link) {
            n += httpd_conn_phase(atomic_load(&c->state)) == CONN_IDLE;
        }
        mutex_unlock(&f->server->conns_lock);
        if (n == want) {
            return;
        }
        usleep(1000);
    }
}

static void wait_until_open_n(struct fixture *f, size_t want)
{
    for (size_t n = 0; n < want; usleep(1000)) {
        n = 0;
        mutex_lock(&f->server->conns_lock);
        const struct httpd_conn *c;
        LIST_FOREACH (c, &f->server->conns, link) {
            n++;
        }
        mutex_unlock(&f->server->conns_lock);
    }
}

static uint64_t drops(const struct fixture *f, enum httpd_drop why)
{
    return httpd_server_drops(f->server, 0, why);
}

static void full__newcomer__takes_the_place_of_the_oldest_idle(void **state)
{
    struct fixture f;
    struct client c[5];
    start(&f, (struct httpd_config){.listeners = NULL}, 4);
    for (size_t i = 0; i < 4; i++) {
        client_open(&c[i], f.port);
        ask(&c[i], GET_OK);
        wait_until_idle_n(&f, i + 1);
    }
    ask(&c[0], GET_OK); /* now c[1] has been idle for longest */
    wait_until_idle_n(&f, 4);
    client_open(&c[4], f.port);
    ask(&c[4], GET_OK);
    assert_true(client_at_end(&c[1]));
    static const size_t others[] = {0, 2, 3};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        ask(&c[others[i]], GET_OK);
    }
    assert_int_equal(drops(&f, HTTPD_DROP_EVICTED), 1);
    assert_int_equal(drops(&f, HTTPD_DROP_FULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        client_close(&c[i]);
    }
    fixture_stop(&f);
}

static void full__who_never_asked_anything__goes_first(void **state)
{
    struct fixture f;
    struct client c[4];
    start(&f, (struct httpd_config){.listeners = NULL}, 3);
    client_open(&c[0], f.port);
    ask(&c[0], GET_OK); /* the oldest, but known */
    wait_until_idle_n(&f, 1);
    client_open(&c[1], f.port);
    client_text(&c[1], "GET /o");
    wait_until_open_n(&f, 2); /* two threads accept; which is first is a matter of luck */
    client_open(&c[2], f.port);
    client_text(&c[2], "GET /ok HTTP/1.1\r\nHost");
    wait_until_open_n(&f, 3);
    client_open(&c[3], f.port);
    ask(&c[3], GET_OK);
    assert_true(client_at_end(&c[1]));
    ask(&c[0], GET_OK);
    client_text(&c[2], ": x\r\n\r\n");
    assert_true(client_wait_for(&c[2], "200"));
    for (size_t i = 0; i < ARRAY_LEN(c); i++) {
        client_close(&c[i]);
    }
    fixture_stop(&f);
}

static void full__of_requests_being_worked_on__newcomer_is_turned_away(void **state)
{
    struct fixture f;
    struct client c[3];
    struct reply r;
    start(&f, (struct httpd_config){.listeners = NULL}, 2);
    held.n = 0;
    for (size_t i = 0; i < 2; i++) {
        client_open(&c[i], f.port);
        client_text(&c[i], "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for (size_t n = 0; n < 2;) {
        pthread_mutex_lock(&held.lock);
        n = held.n;
        pthread_mutex_unlock(&held.lock);
    }
    client_open(&c[2], f.port);
    client_text(&c[2], GET_OK);
    client_drain(&c[2]);
    assert_int_equal(drops(&f, HTTPD_DROP_FULL), 1);
    for (size_t i = 0; i < 2; i++) {
        struct httpd_response resp;
        httpd_response_init(&resp, 100);
        httpd_response_text(&resp, 200, "held");
        httpd_resume(held.waiting[i], &resp); /* not necessarily that of c[i] */
    }
    for (size_t i = 0; i < 2; i++) {
        assert_true(client_reply(&c[i], &r));
        assert_string_equal(r.body, "held");
        reply_fini(&r);
    }
    for (size_t i = 0; i < 3; i++) {
        client_close(&c[i]);
    }
    fixture_stop(&f);
}

/* All callers of this machine share an address, so what one address may do is shown on made-up
 * ones. */
static void address__over_its_part__loses_its_own_oldest(void **state)
{
    struct httpd_server server = {
        .config = {.clock = clock_system(), .head_deadline_ms = 5000, .body_deadline_ms = 5000}};
    struct httpd_listener l = {.server = &server, .config = {.connection_max = 10, .connection_max_per_address = 2}};
    struct httpd_conn conns[4];
    struct sockaddr_storage sa[3];
    static const char *const addresses[] = {"10.0.0.1:5", "10.0.0.2:5", "127.0.0.1:5"};
    mutex_init(&server.conns_lock, "httpd connections");
    for (size_t i = 0; i < 3; i++) {
        struct address a;
        assert_int_equal(address_parse(str_of(addresses[i]), &a, NULL), 0);
        (void)address_to_sockaddr(&a, &sa[i]);
    }
    /* two of the first address, busy and idle; one of the second; one of loopback */
    static const size_t of[] = {0, 0, 1, 2};
    for (size_t i = 0; i < 4; i++) {
        conns[i] = (struct httpd_conn){.server = &server, .listener = &l, .counted = true, .fd = -1};
        LIST_INSERT_HEAD(&server.conns, &conns[i], link);
        atomic_init(&conns[i].state, (int64_t)4096 | (i == 0 ? CONN_BUSY : CONN_IDLE));
        assert_true(httpd_conn_peer((const struct sockaddr *)&sa[of[i]], &conns[i].peer));
    }
    l.conn_n = 4;

    assert_int_equal(httpd_admit(&l, (const struct sockaddr *)&sa[1], sizeof(sa[1])), MHD_YES);
    assert_true(conns[1].counted);
    assert_int_equal(httpd_admit(&l, (const struct sockaddr *)&sa[0], sizeof(sa[0])), MHD_YES);
    assert_false(conns[1].counted); /* its own, not the idle one of somebody else */
    assert_true(conns[2].counted);
    assert_int_equal(l.conn_n, 3);

    conns[1].counted = true;
    atomic_store(&conns[1].state, (int64_t)4096 | CONN_BUSY);
    assert_int_equal(httpd_admit(&l, (const struct sockaddr *)&sa[0], sizeof(sa[0])), MHD_NO);
    assert_int_equal(atomic_load(&l.drops[HTTPD_DROP_FULL_FOR_ADDRESS]), 1);
    l.config.connection_max_per_address = 1;
    assert_int_equal(httpd_admit(&l, (const struct sockaddr *)&sa[2], sizeof(sa[2])), MHD_YES);
    mutex_destroy(&server.conns_lock);
}

static void slow__in_any_direction__cut_off_and_counted(void **state)
{
    static const struct {
        const char *name, *text;
        enum httpd_drop why;
    } rows[] = {
        {"request line", "GET /ok HT", HTTPD_DROP_SLOW_HEAD},
        {"head", "GET /ok HTTP/1.1\r\nHost: x\r\n", HTTPD_DROP_SLOW_HEAD},
        {"body", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel", HTTPD_DROP_SLOW_BODY},
        {"body not begun", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", HTTPD_DROP_SLOW_BODY},
        {"reading", "GET /big HTTP/1.1\r\nHost: x\r\n\r\n", HTTPD_DROP_SLOW_READER},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        struct client c;
        start(&f, (struct httpd_config){.head_deadline_ms = 60, .body_deadline_ms = 60, .send_deadline_ms = 60}, 8);
        client_open(&c, f.port);
        client_text(&c, rows[i].text);
        while (drops(&f, rows[i].why) == 0) {
            usleep(5000); /* and nothing is read; ctest's limit ends a server that never cuts */
        }
        client_drain(&c);
        client_close(&c);
        for (size_t why = 0; why < HTTPD_DROP__MAX; why++) {
            if (drops(&f, (enum httpd_drop)why) != (why == rows[i].why ? 1 : 0)) {
                fail_msg("%s: %s counted", rows[i].name, httpd_drop_name((enum httpd_drop)why));
            }
        }
        fixture_stop(&f);
    }
}

/* Large, but taken steadily: the deadline is for the whole answer and long enough. */
static void reader__takes_its_time_within_the_deadline__gets_all(void **state)
{
    struct fixture f;
    struct client c;
    struct reply r;
    start(&f, (struct httpd_config){.head_deadline_ms = 60, .body_deadline_ms = 60}, 8);
    client_open(&c, f.port);
    client_text(&c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    usleep(200000);
    assert_true(client_reply(&c, &r));
    assert_true(r.complete);
    assert_int_equal(r.body_n, BIG_BYTES);
    reply_fini(&r);
    client_close(&c);
    fixture_stop(&f);
}

static void *come_and_go(void *arg)
{
    const uint16_t *port = arg;
    const struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (;;) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        BUG_ON(fd < 0);
        const bool there = connect(fd, (const struct sockaddr *)&in, sizeof(in)) == 0;
        (void)send(fd, GET_OK, sizeof(GET_OK) - 1, MSG_NOSIGNAL);
        close(fd);
        if (!there) {
            return NULL;
        }
    }
}

/* libmicrohttpd's own way of not accepting any more aborts the process when a thread is awake. */
static void stop__while_clients_come_and_go__orderly(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct fixture f;
        pthread_t clients[3];
        start(&f, (struct httpd_config){.listeners = NULL}, 100);
        for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
            assert_int_equal(pthread_create(&clients[i], NULL, come_and_go, &f.port), 0);
        }
        usleep(1000 + 100 * (useconds_t)round);
        httpd_server_stop(f.server, 0);
        for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
            pthread_join(clients[i], NULL);
        }
        assert_true(client_refused(f.port));
        fixture_stop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full__newcomer__takes_the_place_of_the_oldest_idle),
        cmocka_unit_test(full__who_never_asked_anything__goes_first),
        cmocka_unit_test(full__of_requests_being_worked_on__newcomer_is_turned_away),
        cmocka_unit_test(address__over_its_part__loses_its_own_oldest),
        cmocka_unit_test(slow__in_any_direction__cut_off_and_counted),
        cmocka_unit_test(reader__takes_its_time_within_the_deadline__gets_all),
        cmocka_unit_test(stop__while_clients_come_and_go__orderly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
