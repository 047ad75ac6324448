/* demo/apiserver/selector_internal.h - fieldSelector and labelSelector of list and watch. */
#ifndef DEMO_APISERVER_SELECTOR_INTERNAL_H
#define DEMO_APISERVER_SELECTOR_INTERNAL_H

#include "base/compiler.h"
#include "demo/apiserver/apiserver.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum term_op { TERM_EQUAL, TERM_NOT_EQUAL, TERM_EXISTS, TERM_ABSENT };

struct selector_term {
    const char *key;
    const char *value;
    enum term_op op;
    bool label;
};

#define SELECTOR_TERMS_MAX 16

struct selector {     /* all zero: matches everything */
    char *text;       /* the keys and values */
    char *namespace_; /* NULL: all */
    struct selector_term terms[SELECTOR_TERMS_MAX];
    size_t term_n;
};

/* Texts may be NULL. NULL on success, else a static sentence for a 400. Operators: fields = == !=,
 * labels also `key` and `!key`; a comma is AND. Field keys are those the real server knows for the
 * kind. */
WARN_UNUSED const char *selector_init(struct selector *s, enum apiserver_kind kind, const char *namespace_,
                                      const char *fields, const char *labels);
void selector_fini(struct selector *s);
bool selector_matches(const struct selector *s, const cJSON *object);

#endif
