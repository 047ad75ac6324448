#include "mux.h"

#include "big_endian.h"

/* Of the header and of payload alike: as many bytes as are there, at most n. */
static struct str take(struct str *in, size_t n)
{
    struct str taken = {in->p, in->n < n ? in->n : n};

    *in = str_drop(*in, taken.n);
    return taken;
}

static int begin_frame(struct mux_reader *r, struct err *reterr)
{
    r->header_n = 0;
    r->id = big_endian_read32(r->header);
    r->left = big_endian_read32(r->header + 4);
    if (r->left > MUX_READ_MAX) {
        return err_set(reterr, ERR_LIMIT, "the runtime sent a frame of %u bytes; NRI has none above %u",
                       (unsigned)r->left, MUX_READ_MAX);
    }
    return 0;
}

int mux_read(struct mux_reader *r, struct str *in, uint32_t *ret_id, struct str *ret_piece, struct err *reterr)
{
    while (in->n > 0) {
        if (r->left > 0) {
            *ret_id = r->id;
            *ret_piece = take(in, r->left);
            r->left -= (uint32_t)ret_piece->n;
            return 1;
        }
        struct str part = take(in, MUX_HEADER_BYTES - r->header_n);
        memcpy(r->header + r->header_n, part.p, part.n);
        r->header_n += part.n;
        if (r->header_n == MUX_HEADER_BYTES) {
            int rc = begin_frame(r, reterr);
            if (rc != 0) {
                return rc;
            }
        }
    }
    return 0;
}

bool mux_reader_inside(const struct mux_reader *r)
{
    return r->header_n > 0 || r->left > 0;
}

static void write_frame(struct strbuf *out, enum mux_id id, struct str payload)
{
    if (payload.n > 0) {
        big_endian_add32(out, id);
        big_endian_add32(out, (uint32_t)payload.n);
        strbuf_add_str(out, payload);
    }
}

void mux_write(struct strbuf *out, enum mux_id id, struct str message)
{
    write_frame(out, id, take(&message, MUX_FIRST_MAX));
    write_frame(out, id, message);
}
