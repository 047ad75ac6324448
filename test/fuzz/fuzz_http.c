/* Bytes on connections to the real server with the real routes, over loopback: verbs, ops and
 * health. First byte: which listener; second: where the bytes are cut on their way.
 *
 * Whatever comes in, what goes out is a row of well-formed answers, and how the bytes were cut does
 * not change the first of them. The bind verb runs over a store that is not ready, so it answers at
 * once.
 */
#define _GNU_SOURCE /* memmem */
#include "fuzz.h"

#include "base/rng.h"
#include "kube/transport.h"
#include "obs/catalog.h"
#include "routes/health.h"
#include "routes/ops.h"
#include "routes/verbs.h"
#include "support/canned.h"
#include "support/read_json.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTENERS 3
#define REPLY_MAX (4U << 20)
#define MOMENT_MS 15

static struct cluster_model {
    struct canned cluster;
    struct store *empty; /* never synced: for the binder */
    struct kube_client *client;
    struct policy_set *empty_policies;
    struct verbs verbs;
    struct ops ops;
    struct health health;
    struct health_handlers health_handlers;
    struct config_slot *slot;
    struct httpd_route verb_routes[VERB_ROUTES], ops_table[OPS_ROUTES], health_table[HEALTH_ROUTES];
    struct httpd_server *server;
} w;

static struct policy_set *policies_of(const struct ingest *facts)
{
    const struct rules *rules;

    FUZZ_CHECK(rules_new(facts, 1, NULL, NULL, &rules, NULL) == 0);
    return policy_set_new(rules);
}

static void cluster_model_start(void)
{
    const struct ledger_limits limits = {.hash_key = {1, 1}, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    const struct binder_options options = {.deadline_ms = 100, .max_in_flight = 4};
    static char nowhere[] = "http://127.0.0.1:9"; /* nobody answers: binds are refused before they would ask */
    static const struct credentials nobody = {.server = nowhere};
    const struct httpd_listener_config listeners[LISTENERS] = {
        {.name = "verbs", .address = "127.0.0.1:0", .routes = w.verb_routes, .route_n = VERB_ROUTES},
        {.name = "ops", .address = "127.0.0.1:0", .routes = w.ops_table, .route_n = OPS_ROUTES},
        {.name = "health", .address = "127.0.0.1:0", .routes = w.health_table, .route_n = HEALTH_ROUTES},
    };
    const struct httpd_config config = {.listeners = listeners,
                                        .listener_n = LISTENERS,
                                        .body_max_bytes = 4096,
                                        .head_deadline_ms = 2000,
                                        .body_deadline_ms = 2000};

    signal(SIGPIPE, SIG_IGN);
    canned_init(&w.cluster);
    w.empty = store_new(&limits, clock_system());
    w.empty_policies = policies_of(&(struct ingest){.store = w.empty, .policy = policy_defaults()});
    FUZZ_CHECK(kube_client_new(&nobody, &(struct kube_client_options){0}, &w.client, NULL) == 0);
    FUZZ_CHECK(binder_new(w.empty_policies, w.client, clock_system(), NULL, &options, &w.verbs.binder, NULL) == 0);
    w.verbs.policies = policies_of(&w.cluster.ingest);
    w.verbs.clock = clock_system();
    verbs_routes(&w.verbs, w.verb_routes);
    w.slot = config_slot_new(config_defaults(), "fgpu.yaml", 0);
    w.ops.state.store = w.cluster.store;
    w.ops.state.clock = clock_system();
    w.ops.state.config = w.slot;
    w.ops.state.version = FGPU_VERSION;
    w.ops.config = w.slot;
    w.ops.metrics = catalog_metrics_new();
    ops_routes(&w.ops, w.ops_table);
    health_init(&w.health);
    health_routes(&w.health_handlers, &w.health, false, w.health_table);
    FUZZ_CHECK(httpd_server_new(&config, &w.server, NULL) == 0 && httpd_server_start(w.server, NULL) == 0);
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    const struct linger reset = {.l_onoff = 1}; /* no TIME_WAIT: thousands of connections a second */
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    FUZZ_CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    FUZZ_CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0 &&
               setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0);
    return fd;
}

/* Cuts one whole answer off; its status, or 0 when the rest holds none. */
static int take_answer(struct str *rest)
{
    static const int known[] = {100, 200, 304, 400, 404, 405, 411, 413, 414, 415, 417, 421, 431, 501, 503, 505};
    const char *end = rest->n > 0 ? memmem(rest->p, rest->n, "\r\n\r\n", 4) : NULL;
    struct str head = {rest->p, end != NULL ? (size_t)(end - rest->p) + 4 : 0}, lines = head, line, body;
    uint64_t status, length = 0;
    bool json = false, chunked = false, is_known = false;

    if (end == NULL) {
        return 0;
    }
    FUZZ_CHECK(head.n >= 15 && (str_starts(head, STR("HTTP/1.1 ")) || str_starts(head, STR("HTTP/1.0 "))));
    FUZZ_CHECK(str_to_u64((struct str){head.p + 9, 3}, 599, &status));
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        is_known = is_known || known[i] == (int)status;
    }
    if (!is_known) {
        fuzz_differ(__FILE__, __LINE__, "a status nobody decided upon", head, *rest);
    }
    while (str_split(&lines, '\n', &line)) {
        if (str_starts(line, STR("Content-Length: "))) {
            FUZZ_CHECK(str_to_u64(str_trim(str_drop(line, 16)), REPLY_MAX, &length));
        }
        json = json || str_starts(line, STR("Content-Type: application/json"));
        chunked = chunked || str_starts(line, STR("Transfer-Encoding: chunked"));
    }
    body = str_drop(*rest, head.n);
    if (str_starts(body, STR("HTTP/1."))) { /* that was the answer to a HEAD */
        *rest = body;
        return (int)status;
    }
    if (chunked ? !str_ends(body, STR("0\r\n\r\n")) : body.n < length) {
        return 0;
    }
    if (json && length > 0) {
        cJSON *c = read_json((struct str){body.p, length});

        FUZZ_CHECK(c != NULL);
        cJSON_Delete(c);
    }
    *rest = str_drop(body, chunked ? body.n : (size_t)length);
    return (int)status;
}

/* Sends everything, in pieces if there is a generator, and reads until there is a whole answer, the
 * server has closed, or nothing has come for a moment: then the server waits for the rest of a
 * request. */
static void talk(uint16_t port, struct str bytes, struct rng *cuts, struct strbuf *ret)
{
    struct pollfd p = {.fd = dial(port), .events = POLLIN};
    ssize_t n = 1;

    while (bytes.n > 0 && n > 0) {
        n = send(p.fd, bytes.p, cuts != NULL ? 1 + rng_below(cuts, bytes.n) : bytes.n, 0);
        bytes = n > 0 ? str_drop(bytes, (size_t)n) : bytes;
    }
    while (poll(&p, 1, MOMENT_MS) > 0) {
        struct str all;
        char *room = strbuf_reserve(ret, 65536);

        FUZZ_CHECK(room != NULL);
        n = recv(p.fd, room, 65536, 0);
        if (n <= 0) {
            break;
        }
        strbuf_commit(ret, (size_t)n);
        all = strbuf_view(ret);
        if (take_answer(&all) > 100) {
            break;
        }
    }
    close(p.fd);
}

/* The status of the first answer, 0 when there is none. Every later one is checked too. */
static int check_answers(struct str all)
{
    int first = 0, status;

    do {
        status = take_answer(&all);
        first = first == 0 || first == 100 ? status : first;
    } while (status != 0);
    return first;
}

/* Does the head of the first request say twice, or in two ways, how long its body is? */
static bool is_ambiguous(struct str bytes)
{
    struct str rest = bytes, line;
    unsigned lengths = 0, encodings = 0;

    while (str_split(&rest, '\n', &line) && str_trim(line).n > 0) {
        struct str name;

        str_split(&line, ':', &name);
        lengths += line.p != NULL && str_ieq(name, STR("Content-Length"));
        encodings += line.p != NULL && str_ieq(name, STR("Transfer-Encoding"));
    }
    return lengths + encodings > 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    size_t listener = fuzz_below(&in, LISTENERS);
    uint8_t seed = fuzz_u8(&in);
    struct strbuf once, again;
    struct rng cuts;
    int first, second;

    if (w.server == NULL) {
        cluster_model_start();
    }
    rng_init(&cuts, seed);
    strbuf_init(&once, REPLY_MAX);
    strbuf_init(&again, REPLY_MAX);
    talk(httpd_server_port(w.server, listener), fuzz_rest(&in), NULL, &once);
    talk(httpd_server_port(w.server, listener), fuzz_rest(&in), &cuts, &again);
    first = check_answers(strbuf_view(&once));
    second = check_answers(strbuf_view(&again));
    if (first != second && first != 0 && second != 0) {
        fuzz_differ(__FILE__, __LINE__, "another status when the bytes are cut elsewhere", strbuf_view(&once),
                    strbuf_view(&again));
    }
    /* Whoever stands between the caller and us might have read another request. */
    FUZZ_CHECK(!is_ambiguous(fuzz_rest(&in)) || first != 200);
    strbuf_fini(&again);
    strbuf_fini(&once);
    return 0;
}
