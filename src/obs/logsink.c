/* obs/logsink.c - sends records, and loses them rather than wait. */
#define _GNU_SOURCE /* gettid, strerrordesc_np */
#include "obs/logsink.h"

#include "base/bug.h"
#include "base/sync.h"
#include "obs/log_format_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct logsink {
    struct log log;
    int fd;
    enum logsink_format format;
    const struct clock *clock;
    atomic_uint_fast64_t dropped;

    struct mutex lock; /* one writer, so that poll's promise holds for the write behind it */
    bool stuck;        /* the last record was dropped: do not wait again */
    uint64_t reported; /* of `dropped` */
    int error;         /* errno of the last write that failed; 0: none since the last report */
};

static bool is_writable(const struct logsink *s, int patience_ms)
{
    struct pollfd p = {.fd = s->fd, .events = POLLOUT};
    int rc;
    do { /* the patience begins anew: who was stopped is not late */
        rc = poll(&p, 1, patience_ms);
    } while (rc < 0 && errno == EINTR);
    return rc > 0 && (p.revents & POLLOUT) != 0;
}

static bool send_record(struct logsink *s, struct str text)
{
    ssize_t n;
    do {
        n = write(s->fd, text.p, text.n);
    } while (n < 0 && errno == EINTR);
    s->error = n < 0 ? errno : s->error;
    return n == (ssize_t)text.n; /* a part of a record is a lost record */
}

/* Under the lock, when the descriptor can be written to. */
static void report_losses(struct logsink *s)
{
    const uint64_t dropped = atomic_load(&s->dropped);
    if (dropped == s->reported) {
        return;
    }
    const char *error = s->error != 0 ? strerrordesc_np(s->error) : NULL;
    const struct log_field fields[] = {LOG_I64("count", (int64_t)(dropped - s->reported)),
                                       LOG_CSTR("err", error != NULL ? error : "")};
    const struct log_record rec = {.level = LOG_LEVEL_WARNING,
                                   .file = __FILE__,
                                   .line = __LINE__,
                                   .msg = error != NULL ? "Log records lost because they could not be written"
                                                        : "Log records lost because their reader was too slow",
                                   .fields = fields,
                                   .field_n = error != NULL ? 2 : 1};
    struct strbuf text;
    strbuf_init(&text, LOGSINK_RECORD_MAX);
    log_format(&text, s->format, &rec, (struct log_stamp){.wall_ms = clock_wall_ms(s->clock), .thread_id = gettid()});
    if (send_record(s, strbuf_view(&text))) {
        s->reported = dropped;
        s->error = 0;
    }
    strbuf_fini(&text);
}

static void sink_write(void *ctx, const struct log_record *rec)
{
    struct logsink *s = ctx;
    struct strbuf text;
    strbuf_init(&text, LOGSINK_RECORD_MAX);
    log_format(&text, s->format, rec, (struct log_stamp){.wall_ms = clock_wall_ms(s->clock), .thread_id = gettid()});

    mutex_lock(&s->lock);
    bool sent = false;
    if (is_writable(s, s->stuck ? 0 : LOGSINK_PATIENCE_MS)) {
        report_losses(s);
        /* the report may have filled the pipe */
        sent = is_writable(s, 0) && send_record(s, strbuf_view(&text));
    }
    s->stuck = !sent;
    if (!sent) {
        atomic_fetch_add(&s->dropped, 1);
    }
    mutex_unlock(&s->lock);
    strbuf_fini(&text);
}

struct logsink *logsink_new(int fd, enum logsink_format format, int verbosity, const struct clock *clock)
{
    struct logsink *s = xcalloc(1, sizeof(*s));
    s->log = (struct log){.write = sink_write, .ctx = s, .verbosity = verbosity};
    s->fd = fd;
    s->format = format;
    s->clock = clock;
    mutex_init(&s->lock, "logsink");
    return s;
}

void logsink_free(struct logsink *s)
{
    if (s != NULL) {
        mutex_destroy(&s->lock);
        free(s);
    }
}

const struct log *logsink_log(const struct logsink *s)
{
    return &s->log;
}

void logsink_set_verbosity(struct logsink *s, int verbosity)
{
    __atomic_store_n(&s->log.verbosity, verbosity, __ATOMIC_RELAXED);
}

int logsink_verbosity(const struct logsink *s)
{
    return __atomic_load_n(&s->log.verbosity, __ATOMIC_RELAXED);
}

uint64_t logsink_dropped(const struct logsink *s)
{
    return atomic_load(&s->dropped);
}
