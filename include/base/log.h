/* base/log.h - structured log records and the interface of their sink. No formatting, no output here.
 *
 * A record is a constant message and a few fields, in the manner of klog's structured calls:
 *
 *     LOG_INFO(log, "Bound pod", LOG_STR("pod", name), LOG_I64("took_us", us));
 *
 * Levels follow upstream: verbosity 0 always shown, 2 steady state, 4 decisions, 6 wire. Error and warning
 * have no verbosity. Message texts are constant, so that repeats can be counted. Secrets never go in.
 * A sink must be safe to call from several threads.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR, LOG_LEVEL__MAX };

enum log_field_type { LOG_FIELD_STR, LOG_FIELD_I64 };

struct log_field {
    const char *key;
    enum log_field_type type;
    struct str s;
    int64_t i;
};

struct log_record {
    enum log_level level;
    int verbosity;    /* of LOG_LEVEL_INFO: shown when <= the sink's -v */
    const char *file; /* __FILE__ */
    int line;
    const char *msg;
    const struct log_field *fields;
    size_t field_n;
};

struct log {
    void (*write)(void *ctx, const struct log_record *rec);
    void *ctx;
    int verbosity; /* read without a lock; change it with __atomic_store_n */
};

/* `log` may be NULL: nothing happens. */
void log_write(const struct log *log, enum log_level level, int verbosity, const char *file, int line, const char *msg,
               const struct log_field *fields, size_t field_n);

#define LOG_STR(key_, str_) ((struct log_field){.key = (key_), .type = LOG_FIELD_STR, .s = (str_)})
#define LOG_CSTR(key_, cstr_) LOG_STR(key_, str_of(cstr_))
#define LOG_I64(key_, i_) ((struct log_field){.key = (key_), .type = LOG_FIELD_I64, .i = (i_)})

#define LOG_AT(log_, level_, v_, msg_, ...)                                                                            \
    do {                                                                                                               \
        const struct log_field log_fields_[] = {{.key = NULL}, ##__VA_ARGS__};                                         \
        log_write((log_), (level_), (v_), __FILE__, __LINE__, (msg_), log_fields_ + 1,                                 \
                  sizeof(log_fields_) / sizeof(log_fields_[0]) - 1);                                                   \
    } while (0)

#define LOG_ERROR(log_, ...) LOG_AT(log_, LOG_LEVEL_ERROR, 0, __VA_ARGS__)
#define LOG_WARNING(log_, ...) LOG_AT(log_, LOG_LEVEL_WARNING, 0, __VA_ARGS__)
#define LOG_INFO(log_, ...) LOG_AT(log_, LOG_LEVEL_INFO, 0, __VA_ARGS__)
#define LOG_V(log_, v_, ...) LOG_AT(log_, LOG_LEVEL_INFO, (v_), __VA_ARGS__)

#endif
