/* base/log.c - the gate in front of the sink. */
#include "base/log.h"

void log_write(const struct log *log, enum log_level level, int verbosity, const char *file, int line, const char *msg,
               const struct log_field *fields, size_t field_n)
{
    if (log == NULL || log->write == NULL) {
        return;
    }
    if (level == LOG_LEVEL_INFO && verbosity > __atomic_load_n(&log->verbosity, __ATOMIC_RELAXED)) {
        return;
    }
    const struct log_record rec = {
        .level = level,
        .verbosity = verbosity,
        .file = file,
        .line = line,
        .msg = msg,
        .fields = fields,
        .field_n = field_n,
    };
    log->write(log->ctx, &rec);
}
