#include "nri/support/wire.h"

#include "base/bug.h"

static void varint(struct strbuf *m, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) {
        strbuf_add_char(m, (char)(0x80 | (v & 0x7f)));
    }
    strbuf_add_char(m, (char)v);
}

void wire_text(struct strbuf *m, unsigned field, struct str text)
{
    varint(m, field << 3 | 2);
    varint(m, text.n);
    strbuf_add_str(m, text);
}

void wire_cstr(struct strbuf *m, unsigned field, const char *text)
{
    wire_text(m, field, str_of(text));
}

void wire_number(struct strbuf *m, unsigned field, uint64_t number)
{
    varint(m, field << 3);
    varint(m, number);
}

void wire_pair(struct strbuf *m, unsigned field, const char *key, const char *value)
{
    struct strbuf pair;

    strbuf_init(&pair, 1U << 20);
    wire_cstr(&pair, 1, key);
    wire_cstr(&pair, 2, value);
    wire_text(m, field, strbuf_view(&pair));
    strbuf_fini(&pair);
}

static void be32(struct strbuf *out, size_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        strbuf_add_char(out, (char)(v >> shift));
    }
}

void wire_message(struct strbuf *out, uint32_t id, uint32_t stream, uint8_t type, struct str body, size_t frame_max)
{
    struct strbuf m;

    strbuf_init(&m, 8U << 20);
    be32(&m, body.n);
    be32(&m, stream);
    strbuf_add_char(&m, (char)type);
    strbuf_add_char(&m, 0);
    strbuf_add_str(&m, body);
    for (struct str rest = strbuf_view(&m); rest.n > 0;) {
        struct str frame = {rest.p, rest.n < frame_max ? rest.n : frame_max};

        be32(out, id);
        be32(out, frame.n);
        strbuf_add_str(out, frame);
        rest = str_drop(rest, frame.n);
    }
    strbuf_fini(&m);
}

void wire_call(struct strbuf *out, uint32_t stream, const char *method, struct str payload)
{
    struct strbuf body;

    strbuf_init(&body, 8U << 20);
    wire_cstr(&body, 1, "nri.pkg.api.v1alpha1.Plugin");
    wire_cstr(&body, 2, method);
    wire_text(&body, 3, payload);
    wire_number(&body, 4, 1999999999); /* what is left of the time, as ttrpc sends it */
    wire_message(out, 1, stream, 1, strbuf_view(&body), SIZE_MAX);
    strbuf_fini(&body);
}

void wire_registered(struct strbuf *out)
{
    wire_message(out, 2, 1, 2, STR_NULL, SIZE_MAX);
}

void wire_ready(struct strbuf *out)
{
    struct strbuf configure;

    strbuf_init(&configure, 100);
    wire_cstr(&configure, 2, "containerd");
    wire_cstr(&configure, 3, "v2.4.2");
    wire_number(&configure, 5, 2000);
    wire_call(out, 1, "Configure", strbuf_view(&configure));
    wire_registered(out);
    wire_call(out, 3, "Synchronize", STR_NULL);
    strbuf_fini(&configure);
}

void wire_pod_and_container(struct strbuf *m, unsigned pod_field, const char *pod, const char *container)
{
    struct strbuf text;

    strbuf_init(&text, 1000);
    wire_cstr(&text, 1, pod);
    wire_text(m, pod_field, strbuf_view(&text));
    strbuf_reset(&text);
    wire_cstr(&text, 1, container);
    wire_text(m, pod_field + 1, strbuf_view(&text));
    strbuf_fini(&text);
}

/* ---- reading ---- */

static uint32_t read32(struct str *in)
{
    const unsigned char *p = (const unsigned char *)in->p;
    uint32_t v = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];

    *in = str_drop(*in, 4);
    return v;
}

static uint64_t read_varint(struct str *in)
{
    uint64_t v = 0;

    for (unsigned shift = 0;; shift += 7) {
        unsigned char c = (unsigned char)in->p[0];

        *in = str_drop(*in, 1);
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            return v;
        }
    }
}

/* A field; numbers in *ret_number, all else in *ret_text. False: that was the last one. */
static bool read_field(struct str *in, unsigned *ret_field, uint64_t *ret_number, struct str *ret_text)
{
    uint64_t key;

    if (in->n == 0) {
        return false;
    }
    key = read_varint(in);
    *ret_field = (unsigned)(key >> 3);
    *ret_number = read_varint(in);
    *ret_text = STR_NULL;
    BUG_ON((key & 7) != 0 && (key & 7) != 2);
    if ((key & 7) == 2) {
        BUG_ON(*ret_number > in->n);
        *ret_text = (struct str){in->p, *ret_number};
        *in = str_drop(*in, ret_text->n);
    }
    return true;
}

static void read_status(struct str status, struct wire_answer *ret)
{
    unsigned field;
    uint64_t number;
    struct str text;

    while (read_field(&status, &field, &number, &text)) {
        if (field == 1) {
            ret->code = number;
        } else if (field == 2) {
            ret->message = text;
        }
    }
}

static void read_body(struct str body, struct wire_answer *ret)
{
    unsigned field;
    uint64_t number;
    struct str text;

    while (read_field(&body, &field, &number, &text)) {
        if (ret->type == 2 && field == 1) {
            read_status(text, ret);
        } else if (ret->type == 2 && field == 2) {
            ret->payload = text;
        } else if (field == 1) {
            ret->service = text;
        } else if (field == 2) {
            ret->method = text;
        } else if (field == 3) {
            ret->payload = text;
        }
    }
}

static bool take_frame(struct str *in, uint32_t *ret_id, struct strbuf *memory)
{
    struct str rest = *in;
    uint32_t n;

    if (rest.n < 8) {
        return false;
    }
    *ret_id = read32(&rest);
    n = read32(&rest);
    if (rest.n < n) {
        return false;
    }
    strbuf_add(memory, rest.p, n);
    *in = str_drop(rest, n);
    return true;
}

bool wire_take(struct str *in, struct strbuf *memory, struct wire_answer *ret)
{
    struct str rest = *in, body;
    uint32_t n = 0;

    *ret = (struct wire_answer){0};
    strbuf_reset(memory);
    do {
        uint32_t id;

        if (!take_frame(&rest, &id, memory)) {
            return false;
        }
        BUG_ON(memory->n < 10 || (ret->id != 0 && ret->id != id));
        ret->id = id;
        body = strbuf_view(memory);
        n = read32(&body);
        ret->stream = read32(&body);
        ret->type = (uint8_t)body.p[0];
        body = str_drop(body, 2);
        BUG_ON(body.n > n); /* no frame holds two messages */
    } while (body.n < n);
    *in = rest;
    read_body(body, ret);
    return true;
}
