#include "kube/token.h"

#include "file_internal.h"

#include "base/bug.h"
#include "base/str.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct token_source {
    const struct credentials *creds;
    pthread_mutex_t lock; /* of everything below */
    struct strbuf token;
    uint64_t generation; /* 0: nothing read yet */
    int64_t read_ns;
    bool rejected;
};

struct token_source *token_source_new(const struct credentials *creds)
{
    struct token_source *t = xcalloc(1, sizeof(*t));
    t->creds = creds;
    BUG_ON(pthread_mutex_init(&t->lock, NULL) != 0);
    strbuf_init(&t->token, TOKEN_BYTES_MAX);
    return t;
}

static void wipe(struct strbuf *b)
{
    if (b->cap > 0) {
        explicit_bzero(b->p, b->cap);
    }
    strbuf_reset(b);
}

void token_source_free(struct token_source *t)
{
    if (t != NULL) {
        wipe(&t->token);
        strbuf_fini(&t->token);
        pthread_mutex_destroy(&t->lock);
        free(t);
    }
}

/* RFC 6750 b64token is narrower; what matters is that nothing can end the header line. */
static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~') {
            return false;
        }
    }
    return s.n > 0;
}

static int read_token(const struct credentials *creds, struct strbuf *ret, struct err *reterr)
{
    if (creds->token_file == NULL) {
        strbuf_add_cstr(ret, creds->token);
    } else {
        int rc = file_read(creds->token_file, ret, reterr);
        if (rc != 0) {
            return rc;
        }
    }
    if (!is_token(str_trim(strbuf_view(ret)))) {
        return err_set(reterr, ERR_INVALID, "%s is not a bearer token",
                       creds->token_file != NULL ? creds->token_file
                                                 : "the token of the credentials");
    }
    return 0;
}

static bool is_due(const struct token_source *t, int64_t now_ns)
{
    if (t->generation == 0 || t->rejected) {
        return true;
    }
    return t->creds->token_file != NULL &&
           now_ns - t->read_ns >= TOKEN_AGE_MAX_S * INT64_C(1000000000);
}

static int renew(struct token_source *t, int64_t now_ns, struct err *reterr)
{
    struct strbuf fresh;
    strbuf_init(&fresh, TOKEN_BYTES_MAX);
    int rc = read_token(t->creds, &fresh, reterr);
    if (rc == 0) {
        wipe(&t->token);
        strbuf_add_str(&t->token, str_trim(strbuf_view(&fresh)));
        t->generation++;
        t->read_ns = now_ns;
        t->rejected = false;
    } else if (t->generation > 0 && !t->rejected) {
        rc = 0; /* the old one may still do; try the file again at the next use */
    }
    wipe(&fresh);
    strbuf_fini(&fresh);
    return rc;
}

int token_source_get(struct token_source *t, int64_t now_ns, struct strbuf *ret,
                     uint64_t *ret_generation, struct err *reterr)
{
    if (t->creds->token_file == NULL && t->creds->token == NULL) {
        *ret_generation = 0;
        return 0;
    }
    pthread_mutex_lock(&t->lock);
    int rc = is_due(t, now_ns) ? renew(t, now_ns, reterr) : 0;
    if (rc == 0) {
        strbuf_add_str(ret, strbuf_view(&t->token));
        *ret_generation = t->generation;
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

void token_source_reject(struct token_source *t, uint64_t generation)
{
    pthread_mutex_lock(&t->lock);
    if (generation != 0 && generation == t->generation) {
        t->rejected = true;
    }
    pthread_mutex_unlock(&t->lock);
}
