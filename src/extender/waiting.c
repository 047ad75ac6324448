/* Entries found by the hash of the uid, and in a list by when they were last heard of: both are looked at for each
 * event of a pod with GPUs and each filter call, also where the table is full. */
#include "extender/waiting.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/sync.h"
#include "model/names.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    char *text; /* one block; NULL: free */
    uint64_t hash;
    struct entry *older, *newer; /* in the list of all */
    struct str uid, namespace_, name, scheduler_name, message;
    uint32_t asked_n, node_n, fit_n;
    int64_t asked_ms;
    uint64_t *asked; /* NULL: not known */
    size_t asked_word_n;
    uint64_t names_version;
    int64_t refused_ms;                        /* since when, without an end; 0: not */
    uint64_t generation, counts[VERDICT__MAX]; /* of the last time that it was */
    int64_t taken_ms;
    uint64_t told;
};

struct waiting {
    struct mutex lock;
    struct hashmap by_uid;
    struct entry entries[WAITING_MAX];
    struct entry ends; /* of the list, which is a ring: newer is the free or oldest one, older the one heard of last */
    char asking[KUBE_SUBDOMAIN_MAX + 1];
    size_t asking_n;
};

static void put_behind(struct entry *e, struct entry *older)
{
    e->older = older;
    e->newer = older->newer;
    older->newer->older = e;
    older->newer = e;
}

static void move_behind(struct entry *e, struct entry *older)
{
    e->older->newer = e->newer;
    e->newer->older = e->older;
    put_behind(e, older);
}

struct waiting *waiting_new(void)
{
    struct waiting *w = xcalloc(1, sizeof(*w));

    mutex_init(&w->lock, "waiting");
    hashmap_init(&w->by_uid);
    hashmap_reserve(&w->by_uid, WAITING_MAX);
    w->ends.older = w->ends.newer = &w->ends;
    for (size_t i = 0; i < WAITING_MAX; i++) {
        put_behind(&w->entries[i], w->ends.older);
    }
    return w;
}

void waiting_free(struct waiting *w)
{
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; i < WAITING_MAX; i++) {
        free(w->entries[i].text);
        free(w->entries[i].asked);
    }
    hashmap_fini(&w->by_uid);
    mutex_destroy(&w->lock);
    free(w);
}

/* ---- the table ---- */

static uint64_t hash_of(struct str uid)
{
    /* Who makes uids with equal hashes makes each look at most WAITING_MAX steps long. */
    const struct hash_key key = {0x66677075, 0x77616974};

    return hash_name(key, uid);
}

static bool has_uid(const void *owner, uint32_t value, const void *key)
{
    const struct waiting *w = owner;

    return str_eq(w->entries[value].uid, *(const struct str *)key);
}

static struct entry *find(struct waiting *w, struct str uid)
{
    uint32_t i = hashmap_find(&w->by_uid, hash_of(uid), has_uid, w, &uid);

    return i == HASHMAP_NONE ? NULL : &w->entries[i];
}

/* Free, and the next to be taken. */
static void clear(struct waiting *w, struct entry *e)
{
    if (e->text != NULL) {
        hashmap_remove(&w->by_uid, e->hash, (uint32_t)(e - w->entries));
    }
    free(e->text);
    free(e->asked);
    *e = (struct entry){.older = e->older, .newer = e->newer};
    move_behind(e, &w->ends);
}

static void heard_of(struct waiting *w, struct entry *e)
{
    if (e != w->ends.older) { /* it is there already: behind itself it would leave the list (F138) */
        move_behind(e, w->ends.older);
    }
}

/* Whole characters only. */
static struct str cut(struct str s, size_t max)
{
    if (s.n > max) {
        s.n = max;
        while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80) {
            s.n--;
        }
    }
    return s;
}

/* What the object says now; counts stay. */
static void write(struct entry *e, const struct pod *pod, struct str message)
{
    struct str scheduler = cut(pod->scheduler_name, KUBE_SUBDOMAIN_MAX);
    char *text = xmalloc(pod->uid.n + pod->namespace_.n + pod->name.n + scheduler.n + message.n + 1);
    char *before = e->text, *at = text;

    e->text = text;
    e->uid = str_put(&at, pod->uid);
    e->namespace_ = str_put(&at, pod->namespace_);
    e->name = str_put(&at, pod->name);
    e->scheduler_name = str_put(&at, scheduler);
    e->message = str_put(&at, message);
    free(before);
}

/* In a free place, or that of the one heard of the longest time ago. */
static struct entry *add(struct waiting *w, const struct pod *pod, struct str message)
{
    struct entry *e = w->ends.newer;

    clear(w, e);
    write(e, pod, message);
    e->hash = hash_of(pod->uid);
    hashmap_insert(&w->by_uid, e->hash, (uint32_t)(e - w->entries));
    return e;
}

/* A caller may send what it likes. */
static bool can_be_kept(const struct pod *p)
{
    return p->uid.n > 0 && p->uid.n <= KUBE_SUBDOMAIN_MAX && p->name.n <= KUBE_SUBDOMAIN_MAX &&
           p->namespace_.n <= KUBE_LABEL_MAX;
}

/* ---- what is heard ---- */

void waiting_observed(struct waiting *w, const struct pod *pod)
{
    struct str message = cut(pod->unscheduled_message, WAITING_MESSAGE_MAX);
    struct entry *e;

    mutex_lock(&w->lock);
    e = find(w, pod->uid);
    if (pod->node_name.n > 0 || pod_is_terminal(pod)) {
        if (e != NULL) {
            clear(w, e);
        }
    } else if (can_be_kept(pod)) {
        if (e != NULL) {
            write(e, pod, message);
        } else {
            e = add(w, pod, message);
        }
        heard_of(w, e);
    }
    mutex_unlock(&w->lock);
}

void waiting_gone(struct waiting *w, struct str uid)
{
    struct entry *e;

    mutex_lock(&w->lock);
    e = find(w, uid);
    if (e != NULL) {
        clear(w, e);
    }
    mutex_unlock(&w->lock);
}

static void keep_asked(struct entry *e, const struct node_set *asked)
{
    if (e->asked == NULL || e->asked_word_n != asked->word_n) {
        free(e->asked);
        e->asked = xcalloc(asked->word_n, sizeof(*e->asked));
    }
    memcpy(e->asked, asked->bits, asked->word_n * sizeof(*e->asked));
    e->asked_word_n = asked->word_n;
    e->names_version = asked->names_version;
}

static void keep_answer(struct entry *e, const struct waiting_answer *answer, int64_t now_ms)
{
    e->asked_n++;
    e->node_n = (uint32_t)answer->node_n;
    e->fit_n = (uint32_t)answer->fit_n;
    e->asked_ms = now_ms;
    if (answer->fit_n == 0) {
        e->refused_ms = e->refused_ms > 0 ? e->refused_ms : now_ms;
        e->generation = answer->generation;
        memcpy(e->counts, answer->counts, sizeof(e->counts));
    } else {
        e->refused_ms = 0;
    }
    if (answer->fit_n == 0 && answer->asked.bits != NULL) {
        keep_asked(e, &answer->asked);
    } else {
        free(e->asked);
        e->asked = NULL;
    }
}

void waiting_asked(struct waiting *w, const struct pod *pod, const struct waiting_answer *answer, int64_t now_ms)
{
    struct str asking = cut(pod->scheduler_name, KUBE_SUBDOMAIN_MAX);
    struct entry *e;

    mutex_lock(&w->lock);
    e = find(w, pod->uid);
    if (e == NULL && can_be_kept(pod)) {
        e = add(w, pod, STR_NULL);
    }
    if (e != NULL) {
        keep_answer(e, answer, now_ms);
        heard_of(w, e);
    }
    if (asking.n > 0) {
        memcpy(w->asking, asking.p, asking.n);
    }
    w->asking_n = asking.n;
    mutex_unlock(&w->lock);
}

/* ---- what is asked ---- */

static void find_asked(const struct entry *e, struct arena *a, struct node_set *ret)
{
    uint64_t *bits = e->asked == NULL ? NULL : ARENA_ARRAY(a, e->asked_word_n, uint64_t);

    if (bits != NULL) {
        memcpy(bits, e->asked, e->asked_word_n * sizeof(*bits));
        *ret = (struct node_set){bits, e->asked_word_n, e->names_version};
    }
}

void waiting_find(struct waiting *w, struct arena *a, struct str uid, struct waiting_note *ret)
{
    const struct entry *e;

    mutex_lock(&w->lock);
    e = find(w, uid);
    *ret = (struct waiting_note){.known = e != NULL, .asking = arena_str(a, (struct str){w->asking, w->asking_n})};
    if (e != NULL) {
        ret->scheduler_name = arena_str(a, e->scheduler_name);
        ret->message = arena_str(a, e->message);
        ret->asked_n = e->asked_n;
        ret->node_n = e->node_n;
        ret->fit_n = e->fit_n;
        ret->asked_ms = e->asked_ms;
        find_asked(e, a, &ret->asked);
    }
    mutex_unlock(&w->lock);
}

static int by_uid(const void *a, const void *b)
{
    const struct waiting_refusal *x = a, *y = b;

    return str_cmp(x->uid, y->uid);
}

size_t waiting_refusals(struct waiting *w, struct arena *a, const struct waiting_refusal **ret)
{
    struct waiting_refusal *all;
    size_t n = 0;

    mutex_lock(&w->lock);
    for (size_t i = 0; i < WAITING_MAX; i++) {
        n += w->entries[i].refused_ms > 0;
    }
    all = ARENA_ARRAY(a, n + 1, struct waiting_refusal);
    n = 0;
    for (size_t i = 0; all != NULL && i < WAITING_MAX; i++) {
        const struct entry *e = &w->entries[i];

        if (e->refused_ms > 0) {
            all[n] = (struct waiting_refusal){.uid = arena_str(a, e->uid),
                                              .since_ms = e->refused_ms,
                                              .last_ms = e->asked_ms,
                                              .generation = e->generation,
                                              .node_n = e->node_n};
            memcpy(all[n++].counts, e->counts, sizeof(e->counts));
        }
    }
    mutex_unlock(&w->lock);
    if (n > 1) {
        qsort(all, n, sizeof(*all), by_uid);
    }
    *ret = all;
    return n;
}

const struct waiting_refusal *waiting_refusal_of(const struct waiting_refusal *all, size_t n, struct str uid)
{
    const struct waiting_refusal key = {.uid = uid};

    return n == 0 ? NULL : bsearch(&key, all, n, sizeof(key), by_uid);
}

/* Who was looked at the longest time ago, or never: where more are due than looks are made, all get their turn. */
static bool goes_first(const struct entry *a, const struct entry *b)
{
    return a->taken_ms != b->taken_ms ? a->taken_ms < b->taken_ms : a->refused_ms < b->refused_ms;
}

bool waiting_take_refused(struct waiting *w, struct arena *a, int64_t now_ms, int64_t after_ms, int64_t again_ms,
                          struct waiting_refused *ret)
{
    struct entry *found = NULL;

    mutex_lock(&w->lock);
    for (size_t i = 0; i < WAITING_MAX; i++) {
        struct entry *e = &w->entries[i];

        if (e->refused_ms > 0 && now_ms - e->refused_ms >= after_ms &&
            (e->taken_ms == 0 || now_ms - e->taken_ms >= again_ms) && (found == NULL || goes_first(e, found))) {
            found = e;
        }
    }
    if (found != NULL) {
        found->taken_ms = now_ms;
        *ret = (struct waiting_refused){.namespace_ = arena_str(a, found->namespace_),
                                        .name = arena_str(a, found->name),
                                        .uid = arena_str(a, found->uid),
                                        .told = found->told};
    }
    mutex_unlock(&w->lock);
    return found != NULL;
}

void waiting_told(struct waiting *w, struct str uid, uint64_t told)
{
    struct entry *e;

    mutex_lock(&w->lock);
    e = find(w, uid);
    if (e != NULL) {
        e->told = told;
    }
    mutex_unlock(&w->lock);
}
