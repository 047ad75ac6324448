/* A decision over many nodes, in sections short enough for writers to wait. */
#include "extender/store_sections_internal.h"

/* A decision that had to begin again so often, because nodes come and go without end, takes one long section. */
enum { BEGIN_AGAIN_MAX = 8 };

static int begin_decision(struct store_sections *d, struct store *s, struct arena *a, const struct ledger_view *v,
                          struct store_pack_answer *ret, struct err *reterr)
{
    uint64_t *seen = arena_calloc(a, v->node_n / 64 + 1, sizeof(*seen));

    if (seen == NULL) {
        return err_set(reterr, ERR_LIMIT, "the request does not fit its memory");
    }
    store_sight_take(&d->sight, s);
    d->names_version = v->names_version;
    d->done = 0;
    d->begun_n++;
    ret->n = 0;
    ret->generation = v->generation;
    d->ops->begin(d, v, seen);
    return 0;
}

/* Under the lock: the next names. A node that came or went since the first ones means to begin anew: the indexes stand
 * for other names, and one of them could be answered twice or not at all. So does another forecast. */
static int judge_section(struct store_sections *d, struct store *s, struct arena *a, struct store_pack_answer *ret,
                         struct err *reterr)
{
    struct ledger_view v;
    size_t n;
    int rc;

    if (!d->ops->look_ahead(d, s)) {
        return 0;
    }
    rc = ledger_view(s->ledger, a, d->question->pod, &v, reterr);
    if (rc == 0 && (d->done == 0 || v.names_version != d->names_version || !store_sight_holds(&d->sight, s))) {
        rc = begin_decision(d, s, a, &v, ret, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    d->at_once = d->begun_n > BEGIN_AGAIN_MAX || v.nomination_n > 0;
    n = d->question->name_n - d->done;
    if (n > d->section_n && !d->at_once) {
        n = d->section_n;
    }
    if (n > 0) { /* a caller may ask about no node at all: then there is no array either */
        d->done += d->ops->judge(d, s, &v, n, ret);
    }
    return 0;
}

int store_answer_in_sections(struct store *s, struct arena *a, struct store_sections *d, struct store_pack_answer *ret,
                             struct err *reterr)
{
    int rc;

    do {
        store_lock(s);
        rc = judge_section(d, s, a, ret, reterr);
        store_unlock(s);
    } while (rc == 0 && (d->begun_n == 0 || d->done < d->question->name_n));
    return rc;
}
