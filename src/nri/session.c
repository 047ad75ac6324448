#include "session.h"

#include "nri.pb-c.h"

#define RUNTIME_SERVICE "nri.pkg.api.v1alpha1.Runtime"
#define REGISTER_STREAM 1U           /* our only call */
#define OUT_MAX (16U * 1024 * 1024)  /* of answers that nobody takes */
#define ARENA_KEPT_MAX (64U * 1024U) /* an arena that was larger gives all back */

static void register_plugin(struct session *s)
{
    Nri__RegisterPluginRequest request = NRI__REGISTER_PLUGIN_REQUEST__INIT;

    request.name = message_bytes(str_of(s->setup.name));
    request.index = message_bytes(str_of(s->setup.index));
    request.nri_version = message_bytes(STR(SESSION_NRI_VERSION));
    message_pack(&s->payload, &request.base);
    BUG_ON(!ttrpc_write_request(&s->message, REGISTER_STREAM, RUNTIME_SERVICE, "RegisterPlugin",
                                strbuf_view(&s->payload)));
    mux_write(&s->out, MUX_RUNTIME, strbuf_view(&s->message));
}

void session_init(struct session *s, const struct session_setup *setup)
{
    const size_t call_max = setup->call_max > 0 ? setup->call_max : SESSION_CALL_MAX;

    *s = (struct session){.setup = *setup};
    s->setup.stats->synchronized = false;
    ttrpc_reader_init(&s->calls);
    ttrpc_reader_init(&s->answers);
    arena_init(&s->arena, call_max);
    arena_init(&s->one, call_max);
    strbuf_init(&s->payload, TTRPC_BODY_MAX);
    strbuf_init(&s->message, TTRPC_BODY_MAX + TTRPC_HEADER_BYTES);
    strbuf_init(&s->out, OUT_MAX);
    register_plugin(s);
}

void session_fini(struct session *s)
{
    s->setup.stats->synchronized = false;
    ttrpc_reader_fini(&s->calls);
    ttrpc_reader_fini(&s->answers);
    arena_fini(&s->arena);
    arena_fini(&s->one);
    strbuf_fini(&s->payload);
    strbuf_fini(&s->message);
    strbuf_fini(&s->out);
}

static void forget(struct arena *a)
{
    if (a->used_bytes > ARENA_KEPT_MAX) {
        arena_fini(a);
    } else {
        arena_reset(a);
    }
}

/* Negative: the runtime does not take our answers. */
static int send_message(struct session *s, bool written, struct err *reterr)
{
    if (written) {
        mux_write(&s->out, MUX_PLUGIN, strbuf_view(&s->message));
    }
    if (!written || s->out.overflowed) {
        return err_set(reterr, ERR_LIMIT, "an answer to the runtime is too long, or %u bytes of answers wait for it",
                       OUT_MAX);
    }
    return 0;
}

static int answer(struct session *s, uint32_t stream, const Nri__Request *request, struct err *reterr)
{
    struct err why = {.code = ERR_OK};
    enum ttrpc_code code = TTRPC_OK;
    int rc;

    strbuf_reset(&s->payload);
    rc = service_call(s, message_text(request->service), message_text(request->method), message_text(request->payload),
                      &code, &why);
    return send_message(s,
                        rc < 0 ? ttrpc_write_error(&s->message, stream, code, why.msg)
                               : ttrpc_write_response(&s->message, stream, strbuf_view(&s->payload)),
                        reterr);
}

static int take_call(struct session *s, const struct ttrpc_message *m, struct err *reterr)
{
    const bool was_ready = s->stage == SESSION_READY;
    const int64_t began_ns = clock_mono_ns(s->setup.clock);
    const Nri__Request *request;
    struct err why;
    int rc;

    if (m->type != TTRPC_REQUEST) {
        return err_set(reterr, ERR_PARSE, "the runtime sent a message of type %u where it calls us", m->type);
    }
    request = message_read(&nri__request__descriptor, m->body, &s->arena, "a call of the runtime", &why);
    if (request != NULL) {
        rc = answer(s, m->stream, request, reterr);
    } else {
        s->setup.stats->unreadable++;
        rc = send_message(s, ttrpc_write_error(&s->message, m->stream, TTRPC_INVALID_ARGUMENT, why.msg), reterr);
    }
    forget(&s->arena);
    forget(&s->one);
    s->setup.stats->requests++;
    if (was_ready) {
        const int64_t took_ns = clock_mono_ns(s->setup.clock) - began_ns;

        s->setup.stats->slowest_ns = took_ns > s->setup.stats->slowest_ns ? took_ns : s->setup.stats->slowest_ns;
    }
    return rc;
}

static int take_answer(struct session *s, const struct ttrpc_message *m, struct err *reterr)
{
    const Nri__Response *response;
    int rc = 0;

    if (m->type != TTRPC_RESPONSE || m->stream != REGISTER_STREAM) {
        return err_set(reterr, ERR_PARSE, "the runtime sent a message of type %u for stream %u where it answers us",
                       m->type, (unsigned)m->stream);
    }
    response = message_read(&nri__response__descriptor, m->body, &s->arena, "the answer to RegisterPlugin", reterr);
    if (response == NULL) {
        rc = -ERR_PARSE;
    } else if (response->status != NULL && response->status->code != TTRPC_OK) {
        struct str text = message_text(response->status->message);

        rc = err_set(reterr, ERR_DENIED, "the runtime does not take plugin %s-%s: %.*s", s->setup.index, s->setup.name,
                     STR_ARG(text));
    }
    forget(&s->arena);
    return rc;
}

static int take_piece(struct session *s, uint32_t id, struct str piece, struct err *reterr)
{
    struct ttrpc_reader *r = id == MUX_PLUGIN ? &s->calls : &s->answers;
    struct ttrpc_message m;
    int rc;

    if (id != MUX_PLUGIN && id != MUX_RUNTIME) {
        return 0; /* of a connection that nobody opened: the other end passes over such frames, too */
    }
    while ((rc = ttrpc_read(r, &piece, &m, reterr)) > 0) {
        rc = id == MUX_PLUGIN ? take_call(s, &m, reterr) : take_answer(s, &m, reterr);
        if (rc < 0) {
            return rc;
        }
    }
    return rc;
}

int session_feed(struct session *s, struct str bytes, struct err *reterr)
{
    uint32_t id;
    struct str piece;
    int rc;

    while ((rc = mux_read(&s->mux, &bytes, &id, &piece, reterr)) > 0) {
        rc = take_piece(s, id, piece, reterr);
        if (rc < 0) {
            return rc;
        }
    }
    return rc;
}

struct str session_output(const struct session *s)
{
    return str_drop(strbuf_view(&s->out), s->out_sent);
}

void session_sent(struct session *s, size_t n)
{
    BUG_ON(n > s->out.n - s->out_sent);
    s->out_sent += n;
    if (s->out_sent == s->out.n) {
        strbuf_reset(&s->out);
        s->out_sent = 0;
    }
}

bool session_waits(const struct session *s)
{
    return s->stage == SESSION_REGISTERING || s->out_sent < s->out.n || mux_reader_inside(&s->mux) ||
           ttrpc_reader_inside(&s->calls) || ttrpc_reader_inside(&s->answers);
}
