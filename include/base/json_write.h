/* base/json_write.h - appends JSON to a strbuf; commas and nesting are kept by the writer.
 *
 * Numbers are integers. Text is escaped for JSON and, like Go's encoder, < > & and U+2028/2029 are written
 * as \uXXXX, so that a reply is also safe inside HTML. Invalid UTF-8 becomes U+FFFD. A broken sequence of
 * calls (a value without its key) is a bug. Overflow is the strbuf's: check it once at the end.
 */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

#define JSON_WRITE_DEPTH_MAX 32

struct json_writer {
    struct strbuf *out;
    uint32_t depth;
    bool after_key;
    struct {
        bool is_object;
        bool any;
    } levels[JSON_WRITE_DEPTH_MAX + 1]; /* [0]: outside the one outermost value */
};

void json_writer_init(struct json_writer *w, struct strbuf *out);

void json_write_object_begin(struct json_writer *w);
void json_write_object_end(struct json_writer *w);
void json_write_array_begin(struct json_writer *w);
void json_write_array_end(struct json_writer *w);
void json_write_key(struct json_writer *w, const char *key); /* plain ASCII, not escaped */
void json_write_key_str(struct json_writer *w, struct str key);

void json_write_str(struct json_writer *w, struct str s);
bool json_is_plain(struct str s); /* the same text between quotes is what json_write_str() writes */
void json_write_cstr(struct json_writer *w, const char *s); /* NULL writes null */
void json_write_i64(struct json_writer *w, int64_t v);
void json_write_bool(struct json_writer *w, bool v);
void json_write_null(struct json_writer *w);
void json_write_raw(struct json_writer *w, struct str json); /* one complete value, trusted */

/* key and value in one line, the common case */
void json_write_kv_str(struct json_writer *w, const char *key, struct str s);
void json_write_kv_cstr(struct json_writer *w, const char *key, const char *s);
void json_write_kv_i64(struct json_writer *w, const char *key, int64_t v);
void json_write_kv_bool(struct json_writer *w, const char *key, bool v);
/* a key, and the beginning of its value */
void json_write_kv_object_begin(struct json_writer *w, const char *key);
void json_write_kv_array_begin(struct json_writer *w, const char *key);

#endif
