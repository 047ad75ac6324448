#include "extender/elsewhere_pods.h"

#include "base/bug.h"
#include "base/hash.h"

#include <stdlib.h>

/* A pod that was heard of so recently keeps its place: kube-scheduler tries each again after five minutes at the
 * latest, and who loses its place begins with a new budget. */
#define KEEP_NS (2 * ELSEWHERE_VAIN_PAUSE_MAX_MS * NS_PER_MS)

static void forget(struct elsewhere_pod *p)
{
    free(p->uid);
    free(p->demand);
    free(p->asked.bits);
    free(p->tried.bits);
    *p = (struct elsewhere_pod){0};
}

void elsewhere_pods_free(struct elsewhere_pods *all)
{
    for (size_t i = 0; i < ELSEWHERE_PODS_MAX; i++) {
        forget(&all->pods[i]);
    }
    forget(&all->others);
}

static uint64_t hash_of(struct str uid)
{
    const struct hash_key key = {0x66677075, 0x656c7365}; /* equal hashes cost a comparison */

    return hash_name(key, uid);
}

/* Its own, a free one, or that of the pod that was not heard of for the longest time; else what the rest shares. */
static struct elsewhere_pod *find_place(struct elsewhere_pods *all, struct str uid, int64_t now_ns)
{
    const uint64_t hash = hash_of(uid);
    struct elsewhere_pod *oldest = &all->pods[0];

    for (size_t i = 0; i < ELSEWHERE_PODS_MAX; i++) {
        struct elsewhere_pod *p = &all->pods[i];

        if (p->uid != NULL && p->hash == hash && str_eq(p->uid_text, uid)) {
            return p;
        }
        if (oldest->uid != NULL && (p->uid == NULL || p->heard_ns < oldest->heard_ns)) {
            oldest = p;
        }
    }
    if (oldest->uid != NULL) {
        if (now_ns - oldest->heard_ns < KEEP_NS) {
            return &all->others;
        }
        forget(oldest);
    }
    oldest->hash = hash;
    return oldest;
}

struct elsewhere_pod *elsewhere_pods_of(struct elsewhere_pods *all, const struct elsewhere_question *q,
                                        uint64_t rules_generation, int64_t now_ns)
{
    struct elsewhere_pod *p = find_place(all, q->pod.uid, now_ns);

    if (p->uid == NULL && p != &all->others) {
        char *at = p->uid = xmalloc(q->pod.uid.n + 1);

        p->uid_text = str_put(&at, q->pod.uid);
    }
    if (p->rules_generation != rules_generation ||
        (p != &all->others && (p->demand == NULL || !demand_equal(p->demand, q->demand)))) {
        free(p->demand);
        p->demand = p != &all->others ? demand_copy(q->demand) : NULL;
        p->rules_generation = rules_generation;
        free(p->asked.bits);
        free(p->tried.bits);
        p->asked = p->tried = (struct store_tried){0};
    }
    p->heard_ns = now_ns;
    return p;
}

size_t elsewhere_add_asked(struct store_tried *t, const struct elsewhere_question *q)
{
    size_t fresh_n = 0;

    if (q->names_version != t->names_version) {
        return 1; /* nodes have come or gone since: it was asked about other ones, whatever they were */
    }
    for (size_t i = 0; i < q->asked_word_n && i < t->word_n; i++) {
        fresh_n += (size_t)__builtin_popcountll(q->asked[i] & ~t->bits[i]);
        t->bits[i] |= q->asked[i];
    }
    return fresh_n;
}
