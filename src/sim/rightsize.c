#include "sim/rightsize_internal.h"

#include "base/bug.h"
#include "model/device.h"

#include <stdlib.h>

/* What Kubernetes draws random letters from, and writes hashes of pod templates with (k8s.io/apimachinery
 * pkg/util/rand). */
#define RANDOM_LETTERS "bcdfghjklmnpqrstvwxz2456789"
#define RANDOM_N 5
#define HASH_MIN 6 /* a hash of 32 bits in decimal digits, each of which is replaced by a letter */
#define HASH_MAX 10

const char *rightsize_verdict_name(enum rightsize_verdict v)
{
    static const char *const names[RIGHTSIZE_VERDICT__MAX] = {
        [RIGHTSIZE_FITS] = "fits",           [RIGHTSIZE_SMALLER] = "smaller", [RIGHTSIZE_LARGER] = "larger",
        [RIGHTSIZE_UNTOUCHED] = "untouched", [RIGHTSIZE_BRIEF] = "brief",     [RIGHTSIZE_NOT_TOLD] = "not-told",
        [RIGHTSIZE_INSTANCE] = "instance"};

    BUG_ON((unsigned)v >= RIGHTSIZE_VERDICT__MAX);
    return names[v];
}

/* ---- workloads ---- */

/* What stands behind the last dash; the whole of it and *ret_rest empty, if there is none. */
static struct str last_part(struct str name, struct str *ret_rest)
{
    size_t n = name.n;

    while (n > 0 && name.p[n - 1] != '-') {
        n--;
    }
    *ret_rest = (struct str){name.p, n > 0 ? n - 1 : 0};
    return str_drop(name, n);
}

static bool is_made_of(struct str s, const char *letters, size_t min, size_t max)
{
    return s.n >= min && s.n <= max && str_span(s, letters) == s.n;
}

struct str rightsize_workload_name(struct str pod)
{
    struct str rest, before;
    const struct str last = last_part(pod, &rest);

    if (rest.n == 0) {
        return pod;
    }
    if (is_made_of(last, RANDOM_LETTERS, RANDOM_N, RANDOM_N)) {
        return is_made_of(last_part(rest, &before), RANDOM_LETTERS, HASH_MIN, HASH_MAX) && before.n > 0 ? before : rest;
    }
    return is_made_of(last, STR_DIGITS, 1, 9) ? rest : pod;
}

static int compare_uses(const void *a, const void *b)
{
    const struct rightsize_use *x = *(struct rightsize_use *const *)a, *y = *(struct rightsize_use *const *)b;
    int order = str_cmp(x->namespace_, y->namespace_);

    order = order != 0 ? order : str_cmp(rightsize_workload_name(x->pod), rightsize_workload_name(y->pod));
    order = order != 0 ? order : str_cmp(x->container, y->container);
    return order != 0 ? order : str_cmp(x->uid, y->uid);
}

static bool belongs(const struct rightsize_workload *w, const struct rightsize_use *u)
{
    return str_eq(w->namespace_, u->namespace_) && str_eq(w->container, u->container) &&
           str_eq(w->name, rightsize_workload_name(u->pod));
}

static void raise_to(int64_t *most, int64_t value)
{
    *most = value > *most ? value : *most;
}

/* What is known of all of them; one that was seen without being told makes it unknown. */
struct totals {
    double milli_s, mem_s; /* mean x seconds */
    bool told, touched, watched, instance;
};

static void add_use(struct rightsize_workload *w, struct totals *t, const struct rightsize_use *u)
{
    w->running += !u->ended;
    w->alone = w->alone || u->alone;
    t->instance = t->instance || u->instance;
    raise_to(&w->given_milli, u->milli);
    raise_to(&w->given_mem_mib, u->mem_mib);
    raise_to(&w->gpu_mem_mib, u->gpu_mem_mib);
    if (!u->watched || u->looks == 0) {
        return;
    }
    t->watched = true;
    t->touched = t->touched || u->touched;
    t->told = t->told && u->peak_milli != RIGHTSIZE_UNKNOWN && u->peak_mem_mib != RIGHTSIZE_UNKNOWN;
    w->seconds += u->seconds;
    w->looks += u->looks;
    raise_to(&w->peak_milli, u->peak_milli);
    raise_to(&w->peak_mem_mib, u->peak_mem_mib);
    t->milli_s += (double)u->mean_milli * (double)u->seconds;
    t->mem_s += (double)u->mean_mem_mib * (double)u->seconds;
}

/* ---- sizes ---- */

static int64_t round_up(int64_t value, int64_t step)
{
    return value <= 0 ? step : (value + step - 1) / step * step;
}

static int64_t with_margin(int64_t value, int percent)
{
    return (value * (100 + percent) + 99) / 100;
}

/* What a size gives on such a GPU, as design.md section 5 has it. False: it asks for several GPUs, or for a whole one.
 */
static bool size_gives(const struct named_size *s, int64_t gpu_mem_mib, int64_t *ret_milli, int64_t *ret_mem_mib)
{
    if (s->count > 1 || (s->milli == 0 && s->mem_mib == 0) || s->milli > DEVICE_MILLI || gpu_mem_mib == 0) {
        return false;
    }
    *ret_milli = s->milli > 0 ? s->milli : DEVICE_MILLI * s->mem_mib / gpu_mem_mib;
    *ret_mem_mib = s->mem_mib > 0 ? s->mem_mib : gpu_mem_mib * s->milli / DEVICE_MILLI;
    return true;
}

/* The part of a GPU that this takes: who is larger in either way takes more. */
static double part_of(int64_t milli, int64_t mem_mib, int64_t gpu_mem_mib)
{
    const double compute = (double)milli / DEVICE_MILLI, memory = (double)mem_mib / (double)gpu_mem_mib;

    return compute > memory ? compute : memory;
}

/* The smallest named size that has at least what `w` is proposed; then that is what is proposed. */
static void take_named_size(struct rightsize_workload *w, const struct policy *p)
{
    const int64_t milli = w->milli, mem_mib = w->mem_mib;
    double least = 2;

    for (size_t i = 0; p != NULL && i < p->size_n; i++) {
        struct named_size buffer;
        bool elsewhere;
        const struct named_size *s = policy_size_of(p, p->sizes[i].name, w->namespace_, &buffer, &elsewhere);
        int64_t its_milli, its_mem_mib;

        if (s == NULL || !size_gives(s, w->gpu_mem_mib, &its_milli, &its_mem_mib) || its_milli < milli ||
            its_mem_mib < mem_mib || part_of(its_milli, its_mem_mib, w->gpu_mem_mib) >= least) {
            continue;
        }
        least = part_of(its_milli, its_mem_mib, w->gpu_mem_mib);
        w->size = s->name;
        w->milli = its_milli;
        w->mem_mib = its_mem_mib;
    }
}

static enum rightsize_verdict propose(struct rightsize_workload *w, const struct rightsize_rules *rules)
{
    const bool over = !w->alone && w->peak_mem_mib > w->given_mem_mib;
    int64_t mem_mib = round_up(with_margin(w->peak_mem_mib, rules->margin_percent), RIGHTSIZE_MEM_STEP_MIB);
    int64_t milli = round_up(with_margin(w->peak_milli, rules->margin_percent), RIGHTSIZE_MILLI_STEP);

    if (!over && mem_mib > w->given_mem_mib) { /* what was given has held */
        mem_mib = w->given_mem_mib;
    }
    if (w->gpu_mem_mib > 0 && mem_mib > w->gpu_mem_mib) {
        mem_mib = w->gpu_mem_mib;
    }
    milli = milli > w->given_milli ? w->given_milli : milli;
    w->milli = milli;
    w->mem_mib = mem_mib;
    take_named_size(w, rules->policy);
    if (over) {
        return RIGHTSIZE_LARGER;
    }
    return w->milli < w->given_milli || w->mem_mib < w->given_mem_mib ? RIGHTSIZE_SMALLER : RIGHTSIZE_FITS;
}

/* A named size that takes no smaller part of the GPU than what was given saves nothing. */
static bool saves_nothing(const struct rightsize_workload *w)
{
    return w->gpu_mem_mib > 0 &&
           part_of(w->milli, w->mem_mib, w->gpu_mem_mib) >= part_of(w->given_milli, w->given_mem_mib, w->gpu_mem_mib);
}

static void judge(struct rightsize_workload *w, const struct totals *t, const struct rightsize_rules *rules)
{
    if (w->seconds > 0 && t->told) {
        w->mean_milli = (int64_t)(t->milli_s / (double)w->seconds);
        w->mean_mem_mib = (int64_t)(t->mem_s / (double)w->seconds);
    }
    if (t->instance) {
        w->verdict = RIGHTSIZE_INSTANCE;
    } else if (!t->watched) {
        w->verdict = RIGHTSIZE_NOT_TOLD;
    } else if (w->seconds < rules->least_seconds) {
        w->verdict = RIGHTSIZE_BRIEF;
    } else if (!t->touched) {
        w->verdict = RIGHTSIZE_UNTOUCHED;
    } else if (!t->told) {
        w->verdict = RIGHTSIZE_NOT_TOLD;
    } else {
        w->verdict = propose(w, rules);
        if (w->verdict == RIGHTSIZE_SMALLER && saves_nothing(w)) {
            w->verdict = RIGHTSIZE_FITS;
        }
    }
}

/* ---- all of it ---- */

struct rightsize_use **rightsize_sorted(const struct rightsize *r, int (*compare)(const void *, const void *),
                                        size_t *ret_n)
{
    struct rightsize_use **list;
    size_t n = 0;

    for (struct rightsize_use *u = r->uses; u != NULL; u = u->next) {
        n++;
    }
    list = ARENA_ARRAY(r->arena, n + 1, struct rightsize_use *);
    *ret_n = n;
    n = 0;
    for (struct rightsize_use *u = r->uses; list != NULL && u != NULL; u = u->next) {
        list[n++] = u;
    }
    if (list != NULL) {
        qsort(list, n, sizeof(struct rightsize_use *), compare);
    }
    return list;
}

int rightsize_judge(struct rightsize *r, const struct rightsize_rules *rules, const struct rightsize_workload **ret,
                    size_t *ret_n, struct err *reterr)
{
    size_t use_n, n = 0;
    struct rightsize_use **uses = rightsize_keep_newest(r) ? rightsize_sorted(r, compare_uses, &use_n) : NULL;
    struct rightsize_workload *list = uses == NULL ? NULL : ARENA_ARRAY(r->arena, use_n + 1, struct rightsize_workload);

    if (list == NULL) {
        return err_set(reterr, ERR_LIMIT, "more containers than there is memory for");
    }
    for (size_t i = 0; i < use_n; n++) {
        struct rightsize_workload *w = &list[n];
        struct totals t = {.told = true};
        struct str uid = STR_NULL;

        *w = (struct rightsize_workload){.namespace_ = uses[i]->namespace_,
                                         .name = rightsize_workload_name(uses[i]->pod),
                                         .container = uses[i]->container,
                                         .peak_milli = RIGHTSIZE_UNKNOWN,
                                         .peak_mem_mib = RIGHTSIZE_UNKNOWN,
                                         .mean_milli = RIGHTSIZE_UNKNOWN,
                                         .mean_mem_mib = RIGHTSIZE_UNKNOWN};
        for (; i < use_n && belongs(w, uses[i]); i++) {
            w->pods += w->pods == 0 || !str_eq(uid, uses[i]->uid);
            uid = uses[i]->uid;
            add_use(w, &t, uses[i]);
        }
        judge(w, &t, rules);
    }
    *ret = list;
    *ret_n = n;
    return 0;
}
