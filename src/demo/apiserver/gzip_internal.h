/* demo/apiserver/gzip_internal.h - content coding of large replies. */
#ifndef DEMO_APISERVER_GZIP_INTERNAL_H
#define DEMO_APISERVER_GZIP_INTERNAL_H

#include "base/str.h"
#include "base/strbuf.h"

#include <stdbool.h>

/* Whether an Accept-Encoding header names gzip; weights are not looked at. */
bool gzip_is_offered(struct str accept_encoding);
/* Replaces the text by its gzip form, at the real server's level 1. */
void gzip_pack(struct strbuf *body);

#endif
