#include "core/report/history.h"

#include <string.h>

#define MS_PER_S 1000

void history_init(struct history *h)
{
    h->interval_s = 1;
    h->read_ms = -1;
    h->n = 0;
}

bool history_is_due(const struct history *h, int64_t now_ms)
{
    int64_t every_s = h->interval_s < HISTORY_READING_MAX_S ? h->interval_s : HISTORY_READING_MAX_S;

    return h->read_ms < 0 || now_ms - h->read_ms >= every_s * MS_PER_S;
}

static void absorb(struct history_sample *into, const struct history_sample *later)
{
    into->wall_ms = later->wall_ms;
    into->reading_n += later->reading_n;
    for (size_t i = 0; i < HISTORY_VALUE__MAX; i++) {
        into->sums[i] += later->sums[i];
    }
}

/* Two intervals become one. What has a gap for a neighbour stays alone. */
static void double_interval(struct history *h)
{
    size_t kept = 0;

    h->interval_s *= 2;
    for (size_t i = 0; i < h->n; i++) {
        struct history_sample s = h->samples[i];

        s.slot /= 2;
        if (kept > 0 && h->samples[kept - 1].slot == s.slot) {
            absorb(&h->samples[kept - 1], &s);
        } else {
            h->samples[kept++] = s;
        }
    }
    h->n = kept;
}

static void make_room(struct history *h)
{
    while (h->n == HISTORY_SAMPLES_MAX && h->interval_s < HISTORY_INTERVAL_MAX_S) {
        double_interval(h);
    }
    if (h->n == HISTORY_SAMPLES_MAX) {
        memmove(h->samples, h->samples + 1, --h->n * sizeof(*h->samples));
    }
}

static int64_t slot_at(const struct history *h, int64_t now_ms)
{
    return now_ms / (h->interval_s * MS_PER_S);
}

void history_add(struct history *h, int64_t now_ms, int64_t wall_ms, const int64_t values[HISTORY_VALUE__MAX])
{
    struct history_sample s = {.wall_ms = wall_ms, .reading_n = 1};

    memcpy(s.sums, values, sizeof(s.sums));
    h->read_ms = now_ms;
    if (h->n == HISTORY_SAMPLES_MAX && h->samples[h->n - 1].slot != slot_at(h, now_ms)) {
        make_room(h);
    }
    s.slot = slot_at(h, now_ms);
    if (h->n > 0 && h->samples[h->n - 1].slot == s.slot) {
        absorb(&h->samples[h->n - 1], &s);
    } else {
        h->samples[h->n++] = s;
    }
}

int64_t history_mean(const struct history_sample *s, enum history_value v)
{
    return (s->sums[v] + s->reading_n / 2) / s->reading_n;
}
