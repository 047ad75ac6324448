/* obs/log_format.c - klog text and JSON lines.
 *
 * A record that does not fit is written again with ever shorter values, so that a cut line is still
 * a well-formed one. That costs only the rare long record.
 */
#include "obs/log_format_internal.h"

#include "base/bug.h"
#include "base/json_write.h"
#include "base/printable.h"

#include <string.h>
#include <time.h>

static struct str base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return str_of(slash != NULL ? slash + 1 : path);
}

/* At most `max` bytes, not through the middle of a character. */
static struct str cut_text(struct str s, size_t max)
{
    if (s.n <= max) {
        return s;
    }
    size_t n = max;
    while (n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80) {
        n--;
    }
    return (struct str){s.p, n > 0 ? n : max};
}

void log_add_quoted(struct strbuf *out, struct str s, size_t max_bytes)
{
    static const char from[] = "\"\\\n\t\r", to[] = "\"\\ntr";
    struct str rest = cut_text(s, max_bytes);
    const char *dots = rest.n < s.n ? "...\"" : "\"";

    strbuf_add_char(out, '"');
    while (rest.n > 0) {
        const struct str c = {rest.p, printable_char_len(rest)};
        const char *short_form = *c.p != '\0' ? strchr(from, *c.p) : NULL;

        if (short_form != NULL) {
            strbuf_add_char(out, '\\');
            strbuf_add_char(out, to[short_form - from]);
        } else if (printable_disturbs(c)) {
            strbuf_addf(out, c.n > 1 ? "\\u%04x" : "\\x%02x", (unsigned)printable_code(c));
        } else {
            strbuf_add_str(out, c);
        }
        rest = str_drop(rest, c.n);
    }
    strbuf_add_cstr(out, dots);
}

static char level_letter(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_INFO:
        return 'I';
    case LOG_LEVEL_WARNING:
        return 'W';
    case LOG_LEVEL_ERROR:
        return 'E';
    case LOG_LEVEL__MAX:
        break;
    }
    BUG("log level out of range");
}

static void add_text(struct strbuf *out, const struct log_record *rec, struct log_stamp stamp, size_t value_max)
{
    const time_t s = (time_t)(stamp.wall_ms / 1000);
    struct tm tm;
    gmtime_r(&s, &tm);
    strbuf_addf(out, "%c%02d%02d %02d:%02d:%02d.%03d000 %7d %.*s:%d] ", level_letter(rec->level), tm.tm_mon + 1,
                tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(stamp.wall_ms % 1000), stamp.thread_id,
                STR_ARG(base_name(rec->file)), rec->line);
    log_add_quoted(out, str_of(rec->msg), value_max);
    for (size_t i = 0; i < rec->field_n; i++) {
        const struct log_field *f = &rec->fields[i];
        strbuf_add_char(out, ' ');
        strbuf_add_cstr(out, f->key);
        strbuf_add_char(out, '=');
        switch (f->type) {
        case LOG_FIELD_STR:
            log_add_quoted(out, f->s, value_max);
            break;
        case LOG_FIELD_I64:
            strbuf_add_i64(out, f->i);
            break;
        }
    }
}

static void write_value(struct json_writer *w, struct str s, size_t max)
{
    const struct str shown = cut_text(s, max);
    if (shown.n == s.n) {
        json_write_str(w, s);
        return;
    }
    struct strbuf with_dots;
    strbuf_init(&with_dots, LOGSINK_RECORD_MAX + 8);
    strbuf_add_str(&with_dots, shown);
    strbuf_add_cstr(&with_dots, "...");
    json_write_str(w, strbuf_view(&with_dots));
    strbuf_fini(&with_dots);
}

static void add_json(struct strbuf *out, const struct log_record *rec, struct log_stamp stamp, size_t value_max)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_i64(&w, "ts", stamp.wall_ms);
    struct strbuf caller;
    strbuf_init(&caller, 256);
    strbuf_addf(&caller, "%.*s:%d", STR_ARG(base_name(rec->file)), rec->line);
    json_write_kv_str(&w, "caller", strbuf_view(&caller));
    strbuf_fini(&caller);
    json_write_key(&w, "msg");
    write_value(&w, str_of(rec->msg), value_max);
    if (rec->level == LOG_LEVEL_INFO) {
        json_write_kv_i64(&w, "v", rec->verbosity);
    } else {
        json_write_kv_cstr(&w, "severity", rec->level == LOG_LEVEL_ERROR ? "error" : "warning");
    }
    for (size_t i = 0; i < rec->field_n; i++) {
        const struct log_field *f = &rec->fields[i];
        json_write_key(&w, f->key);
        switch (f->type) {
        case LOG_FIELD_STR:
            write_value(&w, f->s, value_max);
            break;
        case LOG_FIELD_I64:
            json_write_i64(&w, f->i);
            break;
        }
    }
    json_write_object_end(&w);
}

void log_format(struct strbuf *out, enum logsink_format format, const struct log_record *rec, struct log_stamp stamp)
{
    static const size_t value_max[] = {2048, 512, 128, 32, 8};
    struct log_record shown = *rec;
    for (size_t i = 0;;) {
        strbuf_reset(out);
        switch (format) {
        case LOGSINK_TEXT:
            add_text(out, &shown, stamp, value_max[i]);
            break;
        case LOGSINK_JSON:
            add_json(out, &shown, stamp, value_max[i]);
            break;
        }
        strbuf_add_char(out, '\n');
        if (!out->overflowed) {
            return;
        }
        if (i + 1 < ARRAY_LEN(value_max)) {
            i++;
        } else {
            BUG_ON(shown.field_n == 0);
            shown.field_n /= 2; /* hundreds of fields: nobody writes such a record on purpose */
        }
    }
}
