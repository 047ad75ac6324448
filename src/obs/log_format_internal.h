/* obs/log_format_internal.h - one record as text; the sink sends it. */
#ifndef OBS_LOG_FORMAT_INTERNAL_H
#define OBS_LOG_FORMAT_INTERNAL_H

#include "base/strbuf.h"
#include "obs/logsink.h"

/* Everything a line needs besides the record itself. */
struct log_stamp {
    int64_t wall_ms;
    int thread_id;
};

/* One line with its newline, at most LOGSINK_RECORD_MAX bytes whatever the record holds: `out`,
 * initialised with that maximum, is emptied first. */
void log_format(struct strbuf *out, enum logsink_format format, const struct log_record *rec, struct log_stamp stamp);

/* `s` in quotes, cut after max_bytes and then marked with "..."; as Go's %q does for what matters here: the line stays
 * one line and prints without side effects. */
void log_add_quoted(struct strbuf *out, struct str s, size_t max_bytes);

#endif
