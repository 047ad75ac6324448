/* obs/logsink.h - writes log records to a descriptor, as klog text or as JSON lines.
 *
 * Text: `I1121 08:00:00.123000    4711 bind.c:88] "Bound pod" pod="ns/name" took_us=812`, the
 * header klog writes (kubernetes/klog, klog.go: L mm dd hh:mm:ss.uuuuuu threadid file:line]); time
 * is UTC and has milliseconds, as base/clock.h does. JSON:
 * {"ts":1763712000123,"caller":"bind.c:88","msg":"Bound pod","v":0, "pod":"ns/name","took_us":812},
 * the keys of component-base's logs/json; `ts` is milliseconds; warnings and errors have "severity"
 * in place of "v".
 *
 * Every record is one write(2) of at most LOGSINK_RECORD_MAX bytes, one line: control bytes,
 * invalid UTF-8 and (in text) C1 controls are escaped, so a value from outside can neither forge a
 * record nor steer a terminal. Long values are cut and end in "...".
 *
 * A log reader that does not keep up must not stop the verbs: when the descriptor takes no more, a
 * record waits at most LOGSINK_PATIENCE_MS once, then records are dropped without waiting until
 * there is room again, and the first one written after that is preceded by a count of what was
 * lost. The descriptor is not switched to non-blocking (it may be shared with other processes); a
 * record of LOGSINK_RECORD_MAX bytes fits wherever poll(2) promises room in a pipe, so a write
 * blocks only if another process fills the same pipe in between.
 */
#ifndef OBS_LOGSINK_H
#define OBS_LOGSINK_H

#include "base/clock.h"
#include "base/log.h"

#include <stdint.h>

#define LOGSINK_RECORD_MAX 4096 /* PIPE_BUF on Linux: such a write is atomic */
#define LOGSINK_PATIENCE_MS 20

enum logsink_format {
    LOGSINK_TEXT,
    LOGSINK_JSON,
};

struct logsink;

/* `fd` is borrowed and must stay open; `clock` must outlive the sink. */
struct logsink *logsink_new(int fd, enum logsink_format format, int verbosity, const struct clock *clock);
void logsink_free(struct logsink *s); /* NULL is fine */

/* To be passed to everything that logs; valid until logsink_free. */
const struct log *logsink_log(const struct logsink *s);
/* -v at run time, any thread. */
void logsink_set_verbosity(struct logsink *s, int verbosity);
int logsink_verbosity(const struct logsink *s);

/* Records lost since the start. */
uint64_t logsink_dropped(const struct logsink *s);

#endif
