/* support/wire.h - the runtime's half of the wire, written and read byte by byte: nothing of src/nri and no protobuf
 * library is in it, so that a mistake there is not made here, too.
 */
#ifndef UNIT_NRI_SUPPORT_WIRE_H
#define UNIT_NRI_SUPPORT_WIRE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- fields of a protobuf message ---- */

void wire_text(struct strbuf *m, unsigned field, struct str text); /* or a message that is in `text` */
void wire_cstr(struct strbuf *m, unsigned field, const char *text);
void wire_number(struct strbuf *m, unsigned field, uint64_t number);
/* field { key=1 value=2 } */
void wire_pair(struct strbuf *m, unsigned field, const char *key, const char *value);

/* ---- calls of the runtime ---- */

/* In frames of at most `frame_max` bytes. */
void wire_message(struct strbuf *out, uint32_t id, uint32_t stream, uint8_t type, struct str body, size_t frame_max);
/* Of the service Plugin, in one frame. */
void wire_call(struct strbuf *out, uint32_t stream, const char *method, struct str payload);
/* The answer to RegisterPlugin. */
void wire_registered(struct strbuf *out);
/* Configure and a Synchronize of nothing, streams 1 and 3. */
void wire_ready(struct strbuf *out);

/* pod=1 and container=2 of the calls about a container. */
void wire_pod_and_container(struct strbuf *m, unsigned pod_field, const char *pod, const char *container);

/* ---- answers of the plugin ---- */

struct wire_answer {
    uint32_t id, stream;
    uint8_t type;
    uint64_t code;      /* of the Status; 0 without one */
    struct str message; /* of the Status */
    struct str payload;
    struct str service, method; /* of a request */
};

/* Takes the next message off; it may be in two frames. False: there is no whole one. `memory` holds its body. */
bool wire_take(struct str *in, struct strbuf *memory, struct wire_answer *ret);

#endif
