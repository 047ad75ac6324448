/* The flight recorder read as text. Bytes are copied under the lock, and become lines without it. */
#include "extender/store_internal.h"
#include "extender/store_trace.h"

#include <string.h>

enum {
    FRAMES_BYTES_MAX = 1 << 30, /* one frame and a section: less than a ring has */
    TEXT_BYTES_MAX = 1 << 30,
};

bool store_trace_open(struct store *s, struct store_trace *ret)
{
    if (s->recorder == NULL) {
        return false;
    }
    *ret = (struct store_trace){.at = 0};
    strbuf_init(&ret->frames, FRAMES_BYTES_MAX);
    strbuf_init(&ret->text, TEXT_BYTES_MAX);
    mutex_lock(&s->lock);
    recorder_open(s->recorder, &ret->cursor);
    ret->first = recorder_first(s->recorder);
    ret->next = recorder_next(s->recorder);
    ret->generation = ledger_generation(s->ledger);
    mutex_unlock(&s->lock);
    ret->seq = ret->first;
    return true;
}

void store_trace_close(struct store_trace *t)
{
    strbuf_fini(&t->frames);
    strbuf_fini(&t->text);
}

/* The next section of frames behind those that are not whole yet. */
static bool fetch(struct store *s, struct store_trace *t, size_t *ret_n)
{
    char *to = strbuf_reserve(&t->frames, STORE_TRACE_SECTION);
    bool there;

    BUG_ON(to == NULL);
    mutex_lock(&s->lock);
    there = recorder_read(s->recorder, &t->cursor, to, STORE_TRACE_SECTION, ret_n);
    mutex_unlock(&s->lock);
    strbuf_commit(&t->frames, *ret_n);
    return there;
}

/* All whole frames become text. */
static void write_lines(struct store_trace *t)
{
    struct str left = strbuf_view(&t->frames);
    size_t rest, n;

    strbuf_reset(&t->text);
    t->at = 0;
    while ((n = recorder_line(left, t->seq, &t->text)) > 0) {
        left = str_drop(left, n);
        t->seq++;
    }
    rest = left.n;
    memmove(t->frames.p, left.p, rest);
    strbuf_truncate(&t->frames, rest);
}

bool store_trace_read(struct store *s, struct store_trace *t, char *buf, size_t max, size_t *ret_n)
{
    size_t n = 0;

    *ret_n = 0;
    while (t->at == t->text.n) {
        if (!fetch(s, t, &n) || t->text.overflowed) {
            return false;
        }
        if (n == 0) {
            return true;
        }
        write_lines(t);
    }
    n = t->text.n - t->at < max ? t->text.n - t->at : max;
    memcpy(buf, t->text.p + t->at, n);
    t->at += n;
    *ret_n = n;
    return true;
}
