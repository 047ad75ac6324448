/* nri/ttrpc.h - the messages on one connection of the mux: calls and their answers. No I/O.
 *
 * A message is a header of 10 bytes (length of the body and stream id, 32 bits big endian each; type; flags) and a
 * body, which is a protobuf Request or Response (src/nri/nri.proto). A call and its answer have the same stream id; the
 * caller counts 1, 3, 5. No ping, no reset. The first body that is too long ends the connection: nothing tells where
 * the next header is.
 *
 * Source: containerd/ttrpc channel.go, request.proto.
 */
#ifndef NRI_TTRPC_H
#define NRI_TTRPC_H

#include "base/err.h"
#include "base/strbuf.h"
#include "messages.h"

#include <stdint.h>

#define TTRPC_HEADER_BYTES 10
#define TTRPC_BODY_MAX (4U * 1024 * 1024)

enum ttrpc_type {
    TTRPC_REQUEST = 1,
    TTRPC_RESPONSE = 2,
};

/* Of gRPC's codes those that are used here. */
enum ttrpc_code {
    TTRPC_OK = 0,
    TTRPC_INVALID_ARGUMENT = 3,
    TTRPC_FAILED_PRECONDITION = 9, /* said no, with a reason */
    TTRPC_UNIMPLEMENTED = 12,      /* no such method: the runtime may know an older one */
};

struct ttrpc_reader {
    unsigned char header[TTRPC_HEADER_BYTES];
    size_t header_n;
    struct strbuf body;
};

struct ttrpc_message {
    uint32_t stream;
    uint8_t type; /* enum ttrpc_type, or what nobody should have sent */
    struct str body;
};

void ttrpc_reader_init(struct ttrpc_reader *r);
void ttrpc_reader_fini(struct ttrpc_reader *r);

/* Takes bytes off the front of *in, up to the end of a message. 1: it is in *ret, valid until the next call. 0: all
 * bytes are taken, and more are needed. ERR_LIMIT: a body that is too long; nothing can be read any more. */
WARN_UNUSED int ttrpc_read(struct ttrpc_reader *r, struct str *in, struct ttrpc_message *ret, struct err *reterr);
/* In the middle of a message. */
bool ttrpc_reader_inside(const struct ttrpc_reader *r);

/* Each gives the whole message in `out`, which is emptied first; false: it is too long, or there is no memory for it.
 */
WARN_UNUSED bool ttrpc_write_request(struct strbuf *out, uint32_t stream, const char *service, const char *method,
                                     struct str payload);
WARN_UNUSED bool ttrpc_write_response(struct strbuf *out, uint32_t stream, struct str payload);
WARN_UNUSED bool ttrpc_write_error(struct strbuf *out, uint32_t stream, enum ttrpc_code code, const char *message);

#endif
