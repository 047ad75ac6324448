/* kube/token.h - the bearer token of the moment.
 *
 * A token in a file is replaced while we run (the kubelet does so at 80 % of its life): it is read
 * again when the copy is older than TOKEN_AGE_MAX_S, and at the next use after the API server
 * rejected it. When reading fails the old token is kept, unless it was rejected. Source: client-go
 * transport/token_source.go.
 *
 * Safe to use from several threads. Tokens are wiped from memory when replaced.
 */
#ifndef KUBE_TOKEN_H
#define KUBE_TOKEN_H

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "model/credentials.h"

#include <stdint.h>

#define TOKEN_AGE_MAX_S 50 /* a minute, less 10 s that a request may take */
#define TOKEN_BYTES_MAX (64U * 1024)

struct token_source;

/* Borrows `creds`. */
struct token_source *token_source_new(const struct credentials *creds);
void token_source_free(struct token_source *t);

/* Appends the token, nothing when the credentials have none. *ret_generation names this token for
 * token_source_reject.
 *   ERR_INVALID  the file holds something that cannot be a token   or what reading the file gave */
WARN_UNUSED int token_source_get(struct token_source *t, int64_t now_ns, struct strbuf *ret,
                                 uint64_t *ret_generation, struct err *reterr);

/* The server answered 401 to the token of that generation. An older generation is ignored: the
 * token was replaced in the meantime. */
void token_source_reject(struct token_source *t, uint64_t generation);

#endif
