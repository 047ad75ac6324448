/* bench_load: the cycles of a scheduler, measured. Each round is one pod: filter over all nodes,
 * prioritize over what filter left, bind to the best. After each verb the echo server gets the same
 * bytes and answers with the same bytes, and after the bind the API server gets a Binding directly,
 * so that bind can be read without the API's own time. Every other round the order is turned round.
 *
 * bench_load -f FGPU -e ECHO -a API -n NODES -r ROUNDS [-b FIRST_NODE] [-s FIRST_POD] [-o] [-q] [-p]
 *   -b  number of the first node to ask about
 *   -s  number of the first waiting pod to use (each is bound once)
 *   -o  odd shapes: every pod asks for something else
 *   -q  filter only, and no binding: nothing changes between the calls
 *   -p  prioritize over all names, not over those that filter left
 * One JSON object on standard output, progress on standard error.
 */
#include "base/json_write.h"
#include "support/client.h"
#include "support/cluster.h"
#include "support/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHUFFLES = 8, WARM_UP = 20 };

enum series { FILTER, FILTER_ECHO, PRIORITIZE, PRIORITIZE_ECHO, BIND, BIND_ECHO, API, SERIES };

static const char *const series_names[SERIES] = {"filter", "filter_echo", "prioritize", "prioritize_echo",
                                                 "bind",   "bind_echo",   "api_binding"};

struct load {
    struct client fgpu, echo, api;
    uint32_t first_node, node_n, round_n, first_pod;
    bool odd_shapes, quiet, all_names;
    struct strbuf names[SHUFFLES]; /* ["a","b",...] in orders of their own */
    struct strbuf pod, body, left, best;
    int64_t *took_ns[SERIES];
    size_t request_bytes[SERIES], reply_bytes[SERIES];
    bool echo_knows[SERIES];
};

static __attribute__((noreturn)) void wrong(const char *what, struct str reply)
{
    fprintf(stderr, "bench_load: %s: %.*s\n", what, (int)(reply.n < 400 ? reply.n : 400), reply.p);
    exit(1);
}

static void expect(const struct client_reply *r, enum series s, int status)
{
    if (r->status != status) {
        wrong(series_names[s], r->body);
    }
}

/* `s` is the verb, s + 1 its echo. The caller sees fgpu's reply in l->fgpu until its next call. */
static struct str both(struct load *l, enum series s, const char *path, uint32_t round)
{
    struct str body = strbuf_view(&l->body);
    struct client_reply r, e = {0};
    bool echo_first = l->echo_knows[s] && round % 2 == 1;

    if (echo_first) {
        e = client_call(&l->echo, "POST", path, body);
    }
    r = client_call(&l->fgpu, "POST", path, body);
    expect(&r, s, 200);
    if (!l->echo_knows[s] || l->reply_bytes[s] != r.body.n) {
        e = client_call(&l->echo, "PUT", path, r.body);
        expect(&e, s + 1, 200);
        l->echo_knows[s] = true;
        l->reply_bytes[s] = r.body.n;
        l->request_bytes[s] = body.n;
        echo_first = false;
    }
    if (!echo_first) {
        e = client_call(&l->echo, "POST", path, body);
    }
    expect(&e, s + 1, 200);
    l->took_ns[s][round] = r.took_ns;
    l->took_ns[s + 1][round] = e.took_ns;
    return r.body;
}

static void args_body(struct load *l, struct str names)
{
    strbuf_reset(&l->body);
    strbuf_add_cstr(&l->body, "{\"Pod\":");
    strbuf_add_str(&l->body, strbuf_view(&l->pod));
    strbuf_add_cstr(&l->body, ",\"Nodes\":null,\"NodeNames\":");
    strbuf_add_str(&l->body, names);
    strbuf_add_char(&l->body, '}');
}

static void keep(struct strbuf *to, struct str text)
{
    strbuf_reset(to);
    strbuf_add_str(to, text);
}

static void bind_pod(struct load *l, uint32_t pod, uint32_t round)
{
    char name[BENCH_NAME_MAX], uid[BENCH_NAME_MAX], path[128];
    struct client_reply r;
    struct str reply;

    strbuf_reset(&l->body);
    strbuf_addf(&l->body, "{\"PodName\":\"%s\",\"PodNamespace\":\"bench\",\"PodUID\":\"%s\",\"Node\":\"%.*s\"}",
                bench_pending_name(pod, name), bench_pending_uid(pod, uid), (int)l->best.n, l->best.p);
    reply = both(l, BIND, "/v1/bind", round);
    if (!str_eq(reply, STR("{\"Error\":\"\"}"))) {
        wrong("bind", reply);
    }
    /* What fgpu sends, within some bytes; "nobody" is no pod, so no event follows. */
    strbuf_reset(&l->body);
    strbuf_addf(&l->body,
                "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"nobody\","
                "\"namespace\":"
                "\"bench\",\"uid\":\"%s\",\"annotations\":{\"fgpu.io/assignment\":\"%0*d\"}},\"target\":{"
                "\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%.*s\"}}",
                uid, 500, 0, (int)l->best.n, l->best.p);
    snprintf(path, sizeof(path), "/api/v1/namespaces/bench/pods/nobody/binding?timeout=4s");
    r = client_call(&l->api, "POST", path, strbuf_view(&l->body));
    expect(&r, API, 201);
    l->took_ns[API][round] = r.took_ns;
}

static void run_round(struct load *l, uint32_t round)
{
    uint32_t pod = l->first_pod + round;
    struct str reply, left;

    strbuf_reset(&l->pod);
    bench_write_pending(&l->pod, pod, l->odd_shapes, NULL, 1);
    args_body(l, strbuf_view(&l->names[round % SHUFFLES]));
    reply = both(l, FILTER, "/v1/filter", round);
    left = text_between(reply, "\"NodeNames\":[", "]");
    if (left.n == 0) {
        wrong("filter", reply);
    }
    if (l->quiet) {
        return;
    }
    strbuf_reset(&l->left);
    strbuf_addf(&l->left, "[%.*s]", (int)left.n, left.p);
    args_body(l, strbuf_view(l->all_names ? &l->names[round % SHUFFLES] : &l->left));
    reply = both(l, PRIORITIZE, "/v1/prioritize", round);
    keep(&l->best, text_between(reply, "\"Host\":\"", "\""));
    bind_pod(l, pod, round);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void report(struct load *l)
{
    struct strbuf out;
    struct json_writer w;

    strbuf_init(&out, 1 << 20);
    json_writer_init(&w, &out);
    json_write_object_begin(&w);
    for (size_t s = 0; s < SERIES; s++) {
        int64_t *v = l->took_ns[s];
        size_t n = l->round_n;

        if (l->quiet && s >= PRIORITIZE) {
            break;
        }
        qsort(v, n, sizeof(*v), by_value);
        json_write_key(&w, series_names[s]);
        json_write_object_begin(&w);
        json_write_kv_i64(&w, "p50_ns", v[n / 2]);
        json_write_kv_i64(&w, "p90_ns", v[n * 9 / 10]);
        json_write_kv_i64(&w, "p99_ns", v[n * 99 / 100]);
        json_write_kv_i64(&w, "max_ns", v[n - 1]);
        json_write_kv_i64(&w, "request_bytes", (int64_t)l->request_bytes[s & ~(size_t)1]);
        json_write_kv_i64(&w, "reply_bytes", (int64_t)l->reply_bytes[s & ~(size_t)1]);
        json_write_object_end(&w);
    }
    json_write_object_end(&w);
    printf("%s\n", out.p);
    strbuf_fini(&out);
}

static void read_options(struct load *l, int argc, char **argv)
{
    const char *fgpu = NULL, *echo = NULL, *api = NULL;
    int c;

    while ((c = getopt(argc, argv, "f:e:a:n:b:r:s:oqp")) != -1) {
        switch (c) {
        case 'f':
            fgpu = optarg;
            break;
        case 'e':
            echo = optarg;
            break;
        case 'a':
            api = optarg;
            break;
        case 'n':
            l->node_n = option_number(optarg);
            break;
        case 'b':
            l->first_node = option_number(optarg);
            break;
        case 'r':
            l->round_n = option_number(optarg);
            break;
        case 's':
            l->first_pod = option_number(optarg);
            break;
        case 'o':
            l->odd_shapes = true;
            break;
        case 'q':
            l->quiet = true;
            break;
        case 'p':
            l->all_names = true;
            break;
        default:
            exit(2);
        }
    }
    if (fgpu == NULL || echo == NULL || api == NULL || l->node_n == 0 || l->round_n == 0) {
        fprintf(stderr, "bench_load: -f, -e, -a, -n and -r are needed; see the head of load.c\n");
        exit(2);
    }
    client_open(&l->fgpu, fgpu);
    client_open(&l->echo, echo);
    client_open(&l->api, api);
}

int main(int argc, char **argv)
{
    struct load l = {0};
    int64_t shown = client_now_ns();

    read_options(&l, argc, argv);
    for (size_t i = 0; i < SHUFFLES; i++) {
        strbuf_init(&l.names[i], 64 << 20);
        bench_write_names(&l.names[i], l.first_node, l.node_n, BENCH_PIECE, i + 1);
    }
    for (size_t s = 0; s < SERIES; s++) {
        l.took_ns[s] = calloc(l.round_n + WARM_UP, sizeof(int64_t));
    }
    strbuf_init(&l.pod, 1 << 20);
    strbuf_init(&l.body, 64 << 20);
    strbuf_init(&l.left, 64 << 20);
    strbuf_init(&l.best, 4096);
    for (uint32_t i = 0; i < WARM_UP; i++) {
        run_round(&l, i);
    }
    l.first_pod += WARM_UP;
    for (uint32_t i = 0; i < l.round_n; i++) {
        run_round(&l, i);
        if (client_now_ns() - shown > 5000000000) {
            shown = client_now_ns();
            fprintf(stderr, "    %" PRIu32 " of %" PRIu32 " rounds\n", i, l.round_n);
        }
    }
    report(&l);
    return 0;
}
