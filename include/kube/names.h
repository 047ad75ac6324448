/* kube/names.h - names inside URLs. */
#ifndef KUBE_NAMES_H
#define KUBE_NAMES_H

#include "base/strbuf.h"
#include "model/names.h"

/* Appends `s` with everything but RFC 3986's unreserved characters percent-encoded. */
void kube_url_escape(struct strbuf *out, struct str s);

#endif
