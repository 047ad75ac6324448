/* nri/messages.h - protobuf messages (src/nri/nri.proto) read into an arena and written into a buffer; pods and
 * containers as the facts of nri/container.h, and an adjustment as what CreateContainer is answered.
 *
 * What is read is copied into the arena and released with it. Unknown fields are passed over. The arena bounds what a
 * message may become in memory, which can be many times its length.
 */
#ifndef NRI_MESSAGES_H
#define NRI_MESSAGES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "nri/container.h"

#include <protobuf-c/protobuf-c.h>

/* For a field to be written: borrowed. */
ProtobufCBinaryData message_bytes(struct str s);
/* Of a field that was read. */
struct str message_text(ProtobufCBinaryData b);

/* NULL with ERR_PARSE: this is no such message, or the arena is full. `what` names it in the error. */
WARN_UNUSED void *message_read(const ProtobufCMessageDescriptor *type, struct str bytes, struct arena *a,
                               const char *what, struct err *reterr);
void message_pack(struct strbuf *out, const ProtobufCMessage *m);

struct Nri__Pod;
struct Nri__Container;

/* False: the arena is full. A NULL message gives empty facts. */
WARN_UNUSED bool message_pod(const struct Nri__Pod *m, struct arena *a, struct nri_pod *ret);
WARN_UNUSED bool message_container(const struct Nri__Container *m, struct arena *a, struct nri_container *ret);

/* The payload of the answer to CreateContainer; nothing to add gives none. False: the arena is full. */
WARN_UNUSED bool message_add_adjustment(struct strbuf *out, const struct nri_adjustment *adjustment, struct arena *a);

#endif
