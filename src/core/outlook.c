#include "core/outlook.h"

#include "base/bug.h"
#include "core/outlook_internal.h"

#include <stdlib.h>

struct outlook *outlook_new(void)
{
    return xcalloc(1, sizeof(struct outlook));
}

void outlook_free(struct outlook *o)
{
    if (o != NULL) {
        outlook_typicals_fini(&o->typical);
    }
    free(o);
}

void outlook_give_mix(struct outlook *o, const struct mix *m)
{
    o->given = m;
    o->typical.known = false;
}

bool outlook_follow(struct outlook *o, const struct ledger *l, const struct strategy *s)
{
    if (s->looks_ahead) {
        outlook_typicals_follow(o, l);
    }
    return true;
}
