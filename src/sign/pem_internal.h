/* sign/pem_internal.h - files of keys, shared by key.c and keyring.c. */
#ifndef SIGN_PEM_INTERNAL_H
#define SIGN_PEM_INTERNAL_H

#include "base/strbuf.h"
#include "sign/key.h"

#include <gnutls/gnutls.h>
#include <stddef.h>

/* The text of a file. End it with pem_wipe: it may hold a secret. After a failure there is nothing to end. */
WARN_UNUSED int pem_read(const char *path, struct strbuf *ret, struct err *reterr);
void pem_wipe(struct strbuf *text);

/* Cuts the next block off *rest: "-----BEGIN LABEL-----" to its end. False: none is left. A block without an end has
 * an empty text. */
bool pem_next(struct str *rest, struct str *ret_label, struct str *ret_block);

/* A library's verdict on a file. */
int pem_refuse(const char *path, const char *what, int code, struct err *reterr);

/* From a block "PUBLIC KEY" or "CERTIFICATE" of the file. */
WARN_UNUSED int sign_public_parse(const char *path, struct str label, struct str block, struct sign_public *ret,
                                  struct err *reterr);

#endif
