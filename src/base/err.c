/* base/err.c - the error object. */
#include "base/err.h"

#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char CUT_MARK[] = "...";

/* Copies `text` (`n` bytes, maybe more than fit) and marks a cut. A cut never splits a UTF-8 sequence, so
 * that the message can still be written as JSON. */
static void store(char msg[ERR_MSG_MAX], const char *text, size_t n)
{
    if (n < ERR_MSG_MAX) {
        memcpy(msg, text, n);
        msg[n] = '\0';
        return;
    }
    size_t keep = ERR_MSG_MAX - sizeof(CUT_MARK);
    while (keep > 0 && ((unsigned char)text[keep] & 0xc0) == 0x80) {
        keep--;
    }
    memcpy(msg, text, keep);
    memcpy(msg + keep, CUT_MARK, sizeof(CUT_MARK));
}

/* Both functions format into a buffer of their own first: an argument may be the old message. */
int err_set(struct err *reterr, enum err_code code, const char *fmt, ...)
{
    BUG_ON(code <= ERR_OK || code >= ERR__MAX);
    if (reterr == NULL) {
        return -(int)code;
    }
    char text[ERR_MSG_MAX + 1];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    reterr->code = code;
    store(reterr->msg, text, n < 0 ? 0 : strlen(text));
    return -(int)code;
}

int err_wrap(struct err *reterr, int r, const char *fmt, ...)
{
    if (reterr == NULL) {
        return r;
    }
    char text[2 * ERR_MSG_MAX + 4];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, ERR_MSG_MAX + 1, fmt, ap);
    va_end(ap);
    size_t at = n < 0 ? 0 : strlen(text);
    size_t old_n = strnlen(reterr->msg, ERR_MSG_MAX - 1);
    memcpy(text + at, ": ", 2);
    memcpy(text + at + 2, reterr->msg, old_n);
    text[at + 2 + old_n] = '\0';
    store(reterr->msg, text, at + 2 + old_n);
    return r;
}
