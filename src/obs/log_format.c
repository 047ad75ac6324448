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

/* The length of a valid UTF-8 sequence at p, 0 when there is none. Overlong forms, surrogates
 * and values above U+10FFFF are not valid. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    static const struct {
        unsigned char mask, lead, length;
        uint32_t min;
    } forms[] = {{0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
    if (p[0] < 0x80) {
        return 1;
    }
    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        if ((p[0] & forms[f].mask) != forms[f].lead || n < forms[f].length) {
            continue;
        }
        uint32_t rune = p[0] & (uint32_t)(unsigned char)~forms[f].mask;
        for (size_t i = 1; i < forms[f].length; i++) {
            if ((p[i] & 0xc0) != 0x80) {
                return 0;
            }
            rune = rune << 6 | (p[i] & 0x3fU);
        }
        const bool surrogate = rune >= 0xd800 && rune <= 0xdfff;
        return rune >= forms[f].min && rune <= 0x10ffff && !surrogate ? forms[f].length : 0;
    }
    return 0;
}

/* At most `max` bytes, not through the middle of a character. */
static struct str cut(struct str s, size_t max)
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

/* Quoted as Go's %q does for what matters here: the line stays one line and prints without side
 * effects. */
static void add_quoted(struct strbuf *out, struct str s, size_t max)
{
    const struct str shown = cut(s, max);
    strbuf_add_char(out, '"');
    for (size_t i = 0; i < shown.n;) {
        const unsigned char *p = (const unsigned char *)shown.p + i;
        const size_t n = utf8_length(p, shown.n - i);
        const struct str c = {shown.p + i, n};
        if (*p == '"' || *p == '\\') {
            strbuf_add_char(out, '\\');
            strbuf_add_char(out, (char)*p);
        } else if (*p == '\n') {
            strbuf_add_cstr(out, "\\n");
        } else if (*p == '\t') {
            strbuf_add_cstr(out, "\\t");
        } else if (*p == '\r') {
            strbuf_add_cstr(out, "\\r");
        } else if (n > 1 && printable_disturbs(c)) {
            strbuf_addf(out, "\\u%04x", (unsigned)printable_code(c));
        } else if (n == 0 || *p < 0x20 || *p == 0x7f) {
            strbuf_addf(out, "\\x%02x", (unsigned)*p);
        } else {
            strbuf_add(out, p, n);
        }
        i += n > 0 ? n : 1;
    }
    strbuf_add_cstr(out, shown.n < s.n ? "...\"" : "\"");
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
    add_quoted(out, str_of(rec->msg), value_max);
    for (size_t i = 0; i < rec->field_n; i++) {
        const struct log_field *f = &rec->fields[i];
        strbuf_add_char(out, ' ');
        strbuf_add_cstr(out, f->key);
        strbuf_add_char(out, '=');
        switch (f->type) {
        case LOG_FIELD_STR:
            add_quoted(out, f->s, value_max);
            break;
        case LOG_FIELD_I64:
            strbuf_add_i64(out, f->i);
            break;
        }
    }
}

static void write_value(struct json_writer *w, struct str s, size_t max)
{
    const struct str shown = cut(s, max);
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
