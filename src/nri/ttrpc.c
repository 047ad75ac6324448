#include "ttrpc.h"

#include "big_endian.h"
#include "nri.pb-c.h"

/* A reader gives back what a long message made it take: an agent idles for days after it was told of a full node. */
#define BODY_KEPT_MAX (64U * 1024)

void ttrpc_reader_init(struct ttrpc_reader *r)
{
    r->header_n = 0;
    strbuf_init(&r->body, TTRPC_BODY_MAX);
}

void ttrpc_reader_fini(struct ttrpc_reader *r)
{
    strbuf_fini(&r->body);
}

static uint32_t body_bytes(const struct ttrpc_reader *r)
{
    return big_endian_read32(r->header);
}

/* The message before this one was complete: its body was the caller's until now. */
static void begin_message(struct ttrpc_reader *r)
{
    r->header_n = 0;
    if (r->body.cap > BODY_KEPT_MAX) {
        strbuf_fini(&r->body);
        strbuf_init(&r->body, TTRPC_BODY_MAX);
    }
    strbuf_reset(&r->body);
}

static bool is_complete(const struct ttrpc_reader *r)
{
    return r->header_n == TTRPC_HEADER_BYTES && r->body.n == body_bytes(r);
}

static void fill(struct str *in, size_t missing, struct str *ret)
{
    *ret = (struct str){in->p, in->n < missing ? in->n : missing};
    *in = str_drop(*in, ret->n);
}

int ttrpc_read(struct ttrpc_reader *r, struct str *in, struct ttrpc_message *ret, struct err *reterr)
{
    struct str part;

    if (in->n > 0 && is_complete(r)) {
        begin_message(r);
    }
    if (r->header_n < TTRPC_HEADER_BYTES && in->n > 0) {
        fill(in, TTRPC_HEADER_BYTES - r->header_n, &part);
        memcpy(r->header + r->header_n, part.p, part.n);
        r->header_n += part.n;
        if (r->header_n < TTRPC_HEADER_BYTES) {
            return 0;
        }
        if (body_bytes(r) > TTRPC_BODY_MAX) {
            return err_set(reterr, ERR_LIMIT, "the runtime sent a message of %u bytes; ttrpc has none above %u",
                           (unsigned)body_bytes(r), TTRPC_BODY_MAX);
        }
    } else if (in->n == 0) {
        return 0;
    }
    fill(in, body_bytes(r) - r->body.n, &part);
    strbuf_add_str(&r->body, part);
    if (!is_complete(r)) {
        return 0;
    }
    *ret = (struct ttrpc_message){
        .stream = big_endian_read32(r->header + 4), .type = r->header[8], .body = strbuf_view(&r->body)};
    return 1;
}

bool ttrpc_reader_inside(const struct ttrpc_reader *r)
{
    return r->header_n > 0 && !is_complete(r);
}

static bool write_message(struct strbuf *out, uint32_t stream, enum ttrpc_type type, const ProtobufCMessage *body)
{
    const unsigned char type_and_flags[] = {(unsigned char)type, 0};
    const size_t body_n = protobuf_c_message_get_packed_size(body);

    strbuf_reset(out);
    if (body_n > TTRPC_BODY_MAX) {
        return false;
    }
    big_endian_add32(out, (uint32_t)body_n);
    big_endian_add32(out, stream);
    strbuf_add(out, type_and_flags, sizeof(type_and_flags));
    message_pack(out, body);
    return !out->overflowed;
}

bool ttrpc_write_request(struct strbuf *out, uint32_t stream, const char *service, const char *method,
                         struct str payload)
{
    Nri__Request request = NRI__REQUEST__INIT;

    request.service = message_bytes(str_of(service));
    request.method = message_bytes(str_of(method));
    request.payload = message_bytes(payload);
    return write_message(out, stream, TTRPC_REQUEST, &request.base);
}

bool ttrpc_write_response(struct strbuf *out, uint32_t stream, struct str payload)
{
    Nri__Response response = NRI__RESPONSE__INIT;

    response.payload = message_bytes(payload);
    return write_message(out, stream, TTRPC_RESPONSE, &response.base);
}

bool ttrpc_write_error(struct strbuf *out, uint32_t stream, enum ttrpc_code code, const char *message)
{
    Nri__Status status = NRI__STATUS__INIT;
    Nri__Response response = NRI__RESPONSE__INIT;

    status.code = (int32_t)code;
    status.message = message_bytes(str_of(message));
    response.status = &status;
    return write_message(out, stream, TTRPC_RESPONSE, &response.base);
}
