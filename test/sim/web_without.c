/* What the simulated web server does not have: streams and TLS. The verbs need neither. */
#include "base/bug.h"
#include "httpd/stream.h"
#include "httpd/tls.h"

struct httpd_stream *httpd_stream_new(const struct httpd_stream_source *source)
{
    (void)source;
    BUG("no stream is asked for");
}

struct httpd_stream *httpd_stream_ref(struct httpd_stream *s)
{
    return s;
}

void httpd_stream_unref(struct httpd_stream *s)
{
    (void)s;
}

void httpd_stream_wake(struct httpd_stream *s)
{
    (void)s;
}

int httpd_tls_new(const struct httpd_tls_config *config, struct httpd_tls **ret, struct err *reterr)
{
    (void)config;
    (void)ret;
    return err_set(reterr, ERR_INTERNAL, "no TLS here");
}

int httpd_tls_self_signed(int64_t now_ms, struct httpd_tls **ret, struct err *reterr)
{
    (void)now_ms;
    (void)ret;
    return err_set(reterr, ERR_INTERNAL, "no TLS here");
}

int httpd_tls_reload(struct httpd_tls *t, struct err *reterr)
{
    (void)t;
    (void)reterr;
    return 0;
}

void httpd_tls_free(struct httpd_tls *t)
{
    (void)t;
}

void httpd_tls_stats(struct httpd_tls *t, struct httpd_tls_stats *ret)
{
    (void)t;
    *ret = (struct httpd_tls_stats){0};
}
