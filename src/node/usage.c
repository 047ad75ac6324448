#include "node/usage.h"

#include "base/bug.h"

#include <stdlib.h>
#include <string.h>

/* A mean over the time between looks. */
struct mean {
    double sum; /* value x ns */
    double ns;
};

/* One block with its texts. */
struct entry {
    struct usage_row row;
    struct mean mem, milli;
    bool told;                /* as a holder, in this look */
    bool read, knows_compute; /* its GPU, in this look */
    int64_t look_mem_bytes;   /* of this look so far; USAGE_UNKNOWN */
    int64_t look_milli;       /* likewise */
    size_t look_process_n;
    struct usage_process look_largest;
};

struct entries {
    struct entry **at;
    size_t n, cap;
};

struct usage {
    struct entries holding;
    struct entry *ended[USAGE_ENDED_MAX]; /* a ring */
    size_t ended_n, ended_next;
    int64_t now_ns;
    struct str gpu; /* of the last usage_look_gpu; of the caller */
};

struct usage *usage_new(void)
{
    return xcalloc(1, sizeof(struct usage));
}

void usage_free(struct usage *u)
{
    if (u == NULL) {
        return;
    }
    for (size_t i = 0; i < u->holding.n; i++) {
        free(u->holding.at[i]);
    }
    for (size_t i = 0; i < u->ended_n; i++) {
        free(u->ended[i]);
    }
    free(u->holding.at);
    free(u);
}

/* ---- rows ---- */

static struct entry *find(const struct usage *u, struct str container_id, struct str gpu)
{
    for (size_t i = 0; i < u->holding.n; i++) {
        struct entry *e = u->holding.at[i];

        if (str_eq(e->row.holder.container_id, container_id) && str_eq(e->row.holder.gpu, gpu)) {
            return e;
        }
    }
    return NULL;
}

static struct entry *entry_new(const struct usage_holder *h, int64_t now_ns)
{
    struct entry *e =
        xmalloc(sizeof(*e) + h->container_id.n + h->pod_uid.n + h->namespace_.n + h->pod.n + h->container.n + h->gpu.n);
    char *text = (char *)(e + 1);

    *e = (struct entry){.row = {.holder = *h,
                                .since_ns = now_ns,
                                .seen_ns = now_ns,
                                .mem_bytes = {USAGE_UNKNOWN, USAGE_UNKNOWN, USAGE_UNKNOWN},
                                .milli = {USAGE_UNKNOWN, USAGE_UNKNOWN, USAGE_UNKNOWN},
                                .over_since_ns = USAGE_UNKNOWN}};
    e->row.holder.container_id = str_put(&text, h->container_id);
    e->row.holder.pod_uid = str_put(&text, h->pod_uid);
    e->row.holder.namespace_ = str_put(&text, h->namespace_);
    e->row.holder.pod = str_put(&text, h->pod);
    e->row.holder.container = str_put(&text, h->container);
    e->row.holder.gpu = str_put(&text, h->gpu);
    return e;
}

static struct entry *entry_of(struct usage *u, const struct usage_holder *h)
{
    struct entries *l = &u->holding;
    struct entry *e = find(u, h->container_id, h->gpu);

    if (e != NULL) {
        return e;
    }
    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 16 : 2 * l->cap;
        l->at = xreallocarray(l->at, l->cap, sizeof(struct entry *));
    }
    e = entry_new(h, u->now_ns);
    l->at[l->n++] = e;
    return e;
}

static void keep_ended(struct usage *u, struct entry *e)
{
    struct usage_row *r = &e->row;

    r->ended = true;
    r->mem_bytes.now = r->milli.now = USAGE_UNKNOWN;
    r->over_since_ns = USAGE_UNKNOWN;
    r->process_n = 0;
    r->largest.pid = 0;
    r->crowding = false;
    free(u->ended[u->ended_next]);
    u->ended[u->ended_next] = e;
    u->ended_next = (u->ended_next + 1) % USAGE_ENDED_MAX;
    u->ended_n += u->ended_n < USAGE_ENDED_MAX;
}

/* ---- a look ---- */

void usage_look_begin(struct usage *u, int64_t now_ns)
{
    u->now_ns = now_ns;
    u->gpu = STR_NULL;
    for (size_t i = 0; i < u->holding.n; i++) {
        struct entry *e = u->holding.at[i];

        e->told = e->read = false;
    }
}

void usage_look_holder(struct usage *u, const struct usage_holder *h)
{
    struct entry *e = entry_of(u, h);

    e->told = true;
    e->row.holder.milli = h->milli;
    e->row.holder.mem_bytes = h->mem_bytes;
    e->row.holder.alone = h->alone;
}

void usage_look_gpu(struct usage *u, struct str gpu, bool knows_compute)
{
    u->gpu = gpu;
    for (size_t i = 0; i < u->holding.n; i++) {
        struct entry *e = u->holding.at[i];

        if (str_eq(e->row.holder.gpu, gpu)) {
            e->read = true;
            e->look_mem_bytes = 0;
            e->look_milli = knows_compute ? 0 : USAGE_UNKNOWN;
            e->look_process_n = 0;
            e->look_largest = (struct usage_process){.pid = 0};
        }
    }
}

/* Sums of what is known; unknown stays unknown. */
static int64_t plus(int64_t a, int64_t b)
{
    return a == USAGE_UNKNOWN || b == USAGE_UNKNOWN ? USAGE_UNKNOWN : a + b;
}

bool usage_look_process(struct usage *u, struct str container_id, const struct usage_process *p)
{
    struct entry *e = find(u, container_id, u->gpu);

    if (e == NULL || !e->read) {
        return false;
    }
    e->look_process_n++;
    e->look_mem_bytes = plus(e->look_mem_bytes, p->mem_bytes);
    e->look_milli = plus(e->look_milli, p->milli);
    if (p->mem_bytes > 0 && (e->look_largest.pid == 0 || p->mem_bytes > e->look_largest.mem_bytes)) {
        e->look_largest = *p;
    }
    return true;
}

static void take_amount(struct usage_amount *a, struct mean *mean, int64_t value, int64_t ns)
{
    a->now = value;
    if (value == USAGE_UNKNOWN) {
        return;
    }
    a->peak = value > a->peak ? value : a->peak;
    mean->sum += (double)value * (double)ns;
    mean->ns += (double)ns;
    a->mean = mean->ns > 0 ? (int64_t)(mean->sum / mean->ns) : value; /* the first look stands for no time */
}

/* Judged, and measured. */
static bool is_over(const struct usage_row *r)
{
    return !r->holder.alone && r->holder.mem_bytes > 0 && r->mem_bytes.now > r->holder.mem_bytes;
}

static void finish(struct entry *e, int64_t now_ns)
{
    struct usage_row *r = &e->row;

    if (!e->read) {
        r->mem_bytes.now = r->milli.now = USAGE_UNKNOWN;
        r->over_since_ns = USAGE_UNKNOWN;
        r->largest.pid = 0;
        r->crowding = false;
        return;
    }
    take_amount(&r->mem_bytes, &e->mem, e->look_mem_bytes, now_ns - r->seen_ns);
    take_amount(&r->milli, &e->milli, e->look_milli, now_ns - r->seen_ns);
    r->process_n = e->look_process_n;
    r->touched = r->touched || r->process_n > 0;
    r->largest = e->look_largest;
    r->look_n++;
    if (!is_over(r)) {
        r->over_since_ns = USAGE_UNKNOWN;
    } else if (r->over_since_ns == USAGE_UNKNOWN) {
        r->over_since_ns = now_ns;
    }
}

/* ---- crowding ---- */

/* The compute that is meant for a container. */
static int64_t share_of(const struct usage_row *r, size_t sharer_n)
{
    return r->holder.milli > 0 ? r->holder.milli : 1000 / (int64_t)sharer_n;
}

/* How many hold the GPU of `r`, and what all of them use of its compute. */
static size_t sharers_of(const struct usage *u, const struct usage_row *r, int64_t *ret_milli)
{
    size_t n = 1;

    *ret_milli = r->milli.now > 0 ? r->milli.now : 0;
    for (size_t i = 0; i < u->holding.n; i++) {
        const struct usage_row *o = &u->holding.at[i]->row;

        if (o != r && str_eq(o->holder.gpu, r->holder.gpu)) {
            n++;
            *ret_milli += o->milli.now > 0 ? o->milli.now : 0;
        }
    }
    return n;
}

static bool somebody_lacks(const struct usage *u, const struct usage_row *r, size_t sharer_n)
{
    for (size_t i = 0; i < u->holding.n; i++) {
        const struct usage_row *o = &u->holding.at[i]->row;

        if (o != r && str_eq(o->holder.gpu, r->holder.gpu) && o->milli.now > 0 &&
            o->milli.now < share_of(o, sharer_n)) {
            return true;
        }
    }
    return false;
}

static bool is_crowding(const struct usage *u, const struct usage_row *r)
{
    int64_t all;
    const size_t n = sharers_of(u, r, &all);

    return r->milli.now >= share_of(r, n) + USAGE_CROWDING_MILLI && all >= USAGE_BUSY_MILLI && somebody_lacks(u, r, n);
}

static void judge_crowding(struct usage *u)
{
    for (size_t i = 0; i < u->holding.n; i++) {
        struct entry *e = u->holding.at[i];

        if (e->read) {
            e->row.crowding = is_crowding(u, &e->row);
            e->row.crowding_ns += e->row.crowding ? u->now_ns - e->row.seen_ns : 0;
        }
    }
}

void usage_look_end(struct usage *u)
{
    for (size_t i = u->holding.n; i-- > 0;) {
        struct entry *e = u->holding.at[i];

        if (e->told) {
            finish(e, u->now_ns);
        } else {
            u->holding.at[i] = u->holding.at[--u->holding.n];
            keep_ended(u, e);
        }
    }
    judge_crowding(u);
    for (size_t i = 0; i < u->holding.n; i++) {
        struct entry *e = u->holding.at[i];

        e->row.seen_ns = e->read ? u->now_ns : e->row.seen_ns;
    }
    u->gpu = STR_NULL;
}

/* ---- what is known ---- */

size_t usage_n(const struct usage *u)
{
    return u->holding.n;
}

const struct usage_row *usage_at(const struct usage *u, size_t i)
{
    return &u->holding.at[i]->row;
}

size_t usage_ended_n(const struct usage *u)
{
    return u->ended_n;
}

const struct usage_row *usage_ended_at(const struct usage *u, size_t i)
{
    return &u->ended[(u->ended_next + USAGE_ENDED_MAX - 1 - i) % USAGE_ENDED_MAX]->row;
}

const struct usage_row *usage_of(const struct usage *u, struct str container_id, struct str gpu)
{
    const struct entry *e = find(u, container_id, gpu);

    return e == NULL ? NULL : &e->row;
}

bool usage_is_due(const struct usage *u, const struct usage_row *r, int64_t grace_ns)
{
    return r->over_since_ns != USAGE_UNKNOWN && r->largest.pid > 0 && u->now_ns - r->over_since_ns >= grace_ns;
}
