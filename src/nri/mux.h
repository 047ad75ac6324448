/* nri/mux.h - two connections over one: the frames between runtime and plugin. No I/O.
 *
 * A frame is a header of 8 bytes, the id of a connection and the length of the payload (both 32 bits, big endian), and
 * the payload. There is no greeting; ids are fixed.
 *
 * Reading: each id is a stream of bytes. Where its frames begin means nothing: a long message comes in several.
 *
 * Writing: the other end (Go) reads one frame at a time, into the buffer that it happens to read with, and drops the
 * connection when the frame does not fit, or when 256 frames wait to be read. At the beginning of a message that buffer
 * has 4096 bytes; after that it is as long as what is left of the message. So a message is two frames at most: the
 * first has up to 4096 bytes, the second all the rest; and none holds the end of one message and the beginning of the
 * next.
 *
 * Source: containerd/nri pkg/net/multiplex, containerd/ttrpc channel.go; test/nri tries it with long answers.
 */
#ifndef NRI_MUX_H
#define NRI_MUX_H

#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

#define MUX_HEADER_BYTES 8
#define MUX_READ_MAX (4U * 1024 * 1024 + 10) /* of payload: a longer frame is no frame; the other end says the same */
#define MUX_FIRST_MAX 4096U                  /* of payload, in the first frame of a message */

enum mux_id {
    MUX_PLUGIN = 1,  /* the runtime calls us */
    MUX_RUNTIME = 2, /* we call the runtime */
};

/* All zero: at the beginning of a frame. */
struct mux_reader {
    unsigned char header[MUX_HEADER_BYTES];
    size_t header_n; /* of it have come */
    uint32_t id;
    uint32_t left; /* bytes of its payload that have not come */
};

/* Takes bytes off the front of *in, up to the end of a piece of payload. 1: *ret_piece is part of `in` and belongs to
 * *ret_id. 0: all bytes are taken, and more are needed. ERR_LIMIT: no frame; nothing can be read any more. */
WARN_UNUSED int mux_read(struct mux_reader *r, struct str *in, uint32_t *ret_id, struct str *ret_piece,
                         struct err *reterr);
/* In the middle of a frame. */
bool mux_reader_inside(const struct mux_reader *r);

/* Adds one whole message as frames. */
void mux_write(struct strbuf *out, enum mux_id id, struct str message);

#endif
