/* fuzz_nri.c - what a container runtime may send. First byte: bit 0, the rest is raw bytes of the connection, else
 * calls (method, length, payload); bit 1, the plugin is synchronized before; bit 2, a call may take little memory.
 * Second byte: how the bytes are cut.
 *
 * However they are cut: the same callbacks, the same answers, the same end. Nothing is decided before everything there
 * is was told. What is sent are whole messages in frames that the other end can read, one answer for each call. */
#include "fuzz.h"

#include "base/rng.h"
#include "nri/session.h"
#include "nri/support/told.h"
#include "nri/support/wire.h"

#include <string.h>

#define MEMORY (32U << 20)

struct run {
    struct told told;
    bool begun, ready;
    struct nri_plugin_stats stats;
    struct clock_manual clock;
    struct session session;
    struct strbuf sent, message;
    int rc;
    struct err end;
};

static void on_sync_begin(void *ctx)
{
    struct run *r = ctx;

    FUZZ_CHECK(!r->begun);
    r->begun = true;
    strbuf_add_cstr(&r->told.text, "begin\n");
}

static void on_sync_end(void *ctx)
{
    struct run *r = ctx;

    FUZZ_CHECK(r->begun && !r->ready);
    r->ready = true;
    strbuf_add_cstr(&r->told.text, "end\n");
}

static void tell_pod(struct run *r, const struct nri_pod *pod)
{
    strbuf_add_str(&r->told.text, pod->id);
    strbuf_add_str(&r->told.text, pod->uid);
    strbuf_add_str(&r->told.text, pod->namespace);
    for (size_t i = 0; i < pod->annotations.n; i++) {
        strbuf_add_str(&r->told.text, pod->annotations.items[i].key);
        strbuf_add_str(&r->told.text, pod->annotations.items[i].value);
    }
}

static void tell_container(struct run *r, const struct nri_container *c)
{
    strbuf_add_str(&r->told.text, c->id);
    strbuf_add_str(&r->told.text, c->cgroups_path);
    strbuf_addf(&r->told.text, " %d %u ", c->state, c->pid);
    for (size_t i = 0; i < c->env_n; i++) {
        strbuf_add_str(&r->told.text, c->env[i]);
    }
    for (size_t i = 0; i < c->cdi_device_n; i++) {
        strbuf_add_str(&r->told.text, c->cdi_devices[i]);
    }
    for (size_t i = 0; i < c->mount_n; i++) {
        strbuf_add_str(&r->told.text, c->mounts[i].source);
        for (size_t j = 0; j < c->mounts[i].option_n; j++) {
            strbuf_add_str(&r->told.text, c->mounts[i].options[j]);
        }
    }
    for (size_t i = 0; i < c->device_n; i++) {
        strbuf_add_str(&r->told.text, c->devices[i].path);
        strbuf_add_i64(&r->told.text, c->devices[i].minor);
    }
}

static void on_sync_pod(void *ctx, const struct nri_pod *pod)
{
    struct run *r = ctx;

    FUZZ_CHECK(r->begun && !r->ready);
    tell_pod(r, pod);
}

static void on_sync_container(void *ctx, const struct nri_container *c)
{
    struct run *r = ctx;

    FUZZ_CHECK(r->begun && !r->ready);
    tell_container(r, c);
}

/* Adds what the container has, so that every kind of thing is written; refuses some. */
static int on_create(void *ctx, const struct nri_pod *pod, const struct nri_container *c, struct arena *arena,
                     struct nri_adjustment *ret, struct err *reterr)
{
    struct run *r = ctx;

    (void)arena;
    FUZZ_CHECK(r->ready && c->id.n > 0);
    tell_pod(r, pod);
    tell_container(r, c);
    *ret = (struct nri_adjustment){.env = pod->annotations,
                                   .cdi_devices = c->env,
                                   .cdi_device_n = c->env_n,
                                   .mounts = c->mounts,
                                   .mount_n = c->mount_n,
                                   .devices = c->devices,
                                   .device_n = c->device_n};
    return c->id.p[0] == 'x' ? err_set(reterr, ERR_INVALID, "refused: %.*s", STR_ARG(pod->name)) : 0;
}

static int on_start(void *ctx, const struct nri_pod *pod, const struct nri_container *c, struct err *reterr)
{
    return on_create(ctx, pod, c, NULL, &(struct nri_adjustment){.env = {NULL, 0}}, reterr);
}

static void feed(struct run *r, struct str bytes)
{
    struct str out;

    r->rc = session_feed(&r->session, bytes, &r->end);
    out = session_output(&r->session);
    strbuf_add_str(&r->sent, out);
    session_sent(&r->session, out.n);
    FUZZ_CHECK(r->stats.synchronized == r->ready && r->stats.connections == r->ready);
    FUZZ_CHECK((r->rc == 0) == (r->end.code == ERR_OK));
}

static void run_init(struct run *r, uint8_t how)
{
    struct nri_handler *h = &r->told.handler;
    const struct session_setup setup = {.handler = h,
                                        .name = "fgpu",
                                        .index = "10",
                                        .clock = &r->clock.clock,
                                        .stats = &r->stats,
                                        .call_max = (how & 4) != 0 ? 2000 : 0};

    memset(r, 0, sizeof(*r));
    told_init(&r->told);
    strbuf_fini(&r->told.text);
    strbuf_init(&r->told.text, MEMORY);
    strbuf_init(&r->sent, MEMORY);
    strbuf_init(&r->message, MEMORY);
    h->ctx = r;
    h->connected = NULL;
    h->sync_begin = on_sync_begin;
    h->sync_pod = on_sync_pod;
    h->sync_container = on_sync_container;
    h->sync_unreadable = NULL;
    h->sync_end = on_sync_end;
    h->create = on_create;
    h->start = on_start;
    h->stop = h->remove = NULL;
    h->sandbox_removed = NULL;
    clock_manual_init(&r->clock, 1, 1);
    session_init(&r->session, &setup);
    feed(r, STR_NULL); /* what it sends first */
}

static void run_fini(struct run *r)
{
    session_fini(&r->session);
    told_fini(&r->told);
    strbuf_fini(&r->sent);
    strbuf_fini(&r->message);
}

static void feed_all(struct run *r, struct str bytes, uint8_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    while (bytes.n > 0 && r->rc == 0) {
        size_t n = seed == 0 ? bytes.n : seed < 50 ? 1 : 1 + rng_below(&rng, bytes.n);

        feed(r, (struct str){bytes.p, n});
        bytes = str_drop(bytes, n);
    }
}

static void check_sent(struct run *r)
{
    struct str in = strbuf_view(&r->sent);
    struct wire_answer a;
    uint64_t answers = 0;

    FUZZ_CHECK(!r->sent.overflowed && !r->told.text.overflowed);
    FUZZ_CHECK(wire_take(&in, &r->message, &a) && a.id == MUX_RUNTIME && a.type == TTRPC_REQUEST);
    while (wire_take(&in, &r->message, &a)) {
        FUZZ_CHECK(a.id == MUX_PLUGIN && a.type == TTRPC_RESPONSE);
        FUZZ_CHECK((a.code == 0) == (a.message.n == 0));
        answers++;
    }
    FUZZ_CHECK(in.n == 0 && answers == r->stats.requests);
}

static void add_calls(struct strbuf *out, struct fuzz_input in)
{
    static const char *const methods[] = {"Configure",        "Synchronize", "CreateContainer", "StartContainer",
                                          "StopContainer",    "StateChange", "RemoveContainer", "Shutdown",
                                          "RemovePodSandbox", "Nonsense"};

    for (uint32_t stream = 5; in.n > 0; stream += 2) {
        const char *method = methods[fuzz_below(&in, ARRAY_LEN(methods))];
        size_t n = fuzz_u8(&in);

        n = n << 8 | fuzz_u8(&in);
        n = n < in.n ? n : in.n;
        wire_call(out, stream, method, (struct str){(const char *)in.p, n});
        in = (struct fuzz_input){in.p + n, in.n - n};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct run whole, cut;
    struct fuzz_input in = {data, size};
    uint8_t how = fuzz_u8(&in), seed = fuzz_u8(&in);
    struct strbuf bytes;

    strbuf_init(&bytes, MEMORY);
    if ((how & 2) != 0) {
        wire_ready(&bytes);
    }
    if ((how & 1) != 0) {
        strbuf_add_str(&bytes, fuzz_rest(&in));
    } else {
        add_calls(&bytes, in);
    }
    run_init(&whole, how);
    run_init(&cut, how);
    feed_all(&whole, strbuf_view(&bytes), 0);
    feed_all(&cut, strbuf_view(&bytes), seed == 0 ? 1 : seed);
    FUZZ_CHECK(whole.rc == cut.rc);
    FUZZ_SAME(str_of(whole.end.msg), str_of(cut.end.msg));
    FUZZ_SAME(strbuf_view(&whole.told.text), strbuf_view(&cut.told.text));
    FUZZ_SAME(strbuf_view(&whole.sent), strbuf_view(&cut.sent));
    FUZZ_CHECK(whole.rc != 0 || session_waits(&whole.session) == session_waits(&cut.session));
    check_sent(&whole);
    run_fini(&cut);
    run_fini(&whole);
    strbuf_fini(&bytes);
    return 0;
}
