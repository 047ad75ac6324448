/* core/outlook_internal.h - the outlook's layout, shared by outlook*.c only. */
#ifndef CORE_OUTLOOK_INTERNAL_H
#define CORE_OUTLOOK_INTERNAL_H

#include "core/mix.h"
#include "core/outlook.h"

struct outlook_typicals {
    struct outlook_typical *shapes;
    uint8_t *allowed;
    size_t n;
    uint64_t version; /* counts */
    bool known;       /* from: */
    uint64_t mix_version;
    uint32_t model_n;
};

struct outlook {
    const struct mix *given; /* NULL: the ledger's */
    struct outlook_typicals typical;
};

static inline const struct mix *outlook_mix(const struct outlook *o, const struct mix *learned)
{
    return o->given != NULL ? o->given : learned;
}

/* typical pods (outlook_typical.c) */
void outlook_typicals_follow(struct outlook *o, const struct ledger *l);
void outlook_typicals_fini(struct outlook_typicals *t);

#endif
