#include "config/warnings.h"

#include "base/compiler.h"
#include "model/kv.h"

#include <stdarg.h>
#include <string.h>

#define ONE 1000             /* a factor of 1 */
#define HOLD_OFF_MS_MIN 5000 /* TCP_USER_TIMEOUT of the API client (F122) */
#define DAY_MIN 1440
#define WEEK_MIN (7 * DAY_MIN)

struct warnings {
    const struct config *file;          /* with every window closed */
    const struct config_window *window; /* whose values are looked at; NULL: those of the file */
    struct strbuf *out;
    size_t n;
};

static void warn(struct warnings *w, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* What a window says has no place of its own: the list's is told, and the name of the window. */
static void warn(struct warnings *w, const char *key, const char *fmt, ...)
{
    va_list ap;

    config_origin_text(w->file, str_of(w->window != NULL ? "timeWindows" : key), w->out);
    strbuf_addf(w->out, ": warning: %s: ", key);
    if (w->window != NULL) {
        strbuf_addf(w->out, "while the window %.*s is open, ", STR_ARG(w->window->name));
    }
    va_start(ap, fmt);
    strbuf_vaddf(w->out, fmt, ap);
    va_end(ap);
    strbuf_add_char(w->out, '\n');
    w->n++;
}

/* ---- over-commit ---- */

static bool is_same_override(const struct policy *a, const struct policy *b, size_t i)
{
    return i < b->override_n &&
           a->overrides[i].settings.overcommit_mem_milli == b->overrides[i].settings.overcommit_mem_milli;
}

/* `known` is what was looked at before; it is not told again. */
static void check_overcommit(struct warnings *w, const struct policy *p, const struct policy *known)
{
    static const char why[] = "pods can be given more memory than a GPU has, and a program that then uses its share "
                              "fails with out of memory; use 1 unless something swaps";

    if (p->overcommit_mem_milli > ONE && (known == NULL || known->overcommit_mem_milli != p->overcommit_mem_milli)) {
        warn(w, "devices.overcommit.memory", "%s", why);
    }
    for (size_t i = 0; i < p->override_n; i++) {
        if (p->overrides[i].settings.overcommit_mem_milli > ONE && (known == NULL || !is_same_override(p, known, i))) {
            warn(w, "devices.overrides", "element %zu, overcommit.memory: %s", i, why);
        }
    }
}

/* ---- candidate strategies ---- */

static bool is_none(struct str name)
{
    return str_eq_cstr(name, POLICY_NO_SHADOW);
}

/* With rules or several criteria the strategies in use are not one name. */
static void check_candidate(struct warnings *w, const struct policy *p)
{
    if (p->rule_n > 0 || p->node_criteria.n > 1 ||
        (is_none(p->shadow_node_strategy) && is_none(p->shadow_device_strategy))) {
        return;
    }
    if ((is_none(p->shadow_node_strategy) || str_eq(p->shadow_node_strategy, p->node_strategy)) &&
        (is_none(p->shadow_device_strategy) || str_eq(p->shadow_device_strategy, p->device_strategy))) {
        warn(w,
             is_none(p->shadow_node_strategy) ? "packing.candidate.deviceStrategy" : "packing.candidate.nodeStrategy",
             "the candidate is the strategy in use, so the two never differ; name another one, or "
             "remove the key");
    }
}

/* ---- node pools ---- */

static const char *state_word(enum node_pool_state s)
{
    return s == NODE_POOL_CLOSED ? "closed" : "open";
}

/* The last entry that a node is in holds. So an earlier one with all labels of a later one, and perhaps more, never
 * holds. Entries from `early` on are compared with those from `late` on: what a window says against the file is meant.
 */
static void check_pools(struct warnings *w, const struct policy *p, size_t early, size_t late, size_t end)
{
    for (size_t i = early; i < end; i++) {
        for (size_t j = i < late ? late : i + 1; j < end; j++) {
            const struct node_pool *a = &p->node_pools[i], *b = &p->node_pools[j];

            if (a->state != b->state && kv_has_all(a->selector, b->selector)) {
                warn(w, "nodePools",
                     "entry %zu says %s and never holds, because entry %zu has all of its nodes and says %s; "
                     "remove one, or put the one with more labels last",
                     i, state_word(a->state), j, state_word(b->state));
                break;
            }
        }
    }
}

/* As core/time/change_over.h reads it: of entries with the name the last one says it. */
static bool is_pool_open(const struct policy *p, struct str name)
{
    enum node_pool_state state = NODE_POOL_CLOSED;

    for (size_t i = 0; i < p->node_pool_n; i++) {
        state = str_eq(p->node_pools[i].name, name) ? p->node_pools[i].state : state;
    }
    return state == NODE_POOL_OPEN;
}

static size_t count_open(const struct policy *p, const struct change_over_group *g)
{
    size_t n = 0;

    for (size_t k = 0; k < g->pool_n; k++) {
        n += is_pool_open(p, g->pools[k]);
    }
    return n;
}

/* `known` is what was looked at before; it is not told again. */
static void check_groups(struct warnings *w, const struct policy *p, const struct policy *known)
{
    for (size_t i = 0; i < p->change_over_n; i++) {
        const struct change_over_group *g = &p->change_overs[i];

        if (count_open(p, g) > 1 && (known == NULL || count_open(known, g) <= 1)) {
            warn(
                w, "changeOvers",
                "%zu pools of the group %.*s are open, so none of them is opened: leave one open, and close the others",
                count_open(p, g), STR_ARG(g->name));
        }
    }
}

/* ---- time windows ---- */

/* The minutes of a week in which the window is open, by its own clock. */
static void mark_week(const struct time_window *t, bool week[WEEK_MIN])
{
    const int32_t end = t->to_min + (t->to_min <= t->from_min ? DAY_MIN : 0);

    memset(week, 0, WEEK_MIN * sizeof(*week));
    for (int32_t day = 0; day < 7; day++) {
        for (int32_t m = t->from_min; (t->days >> day & 1) != 0 && m < end; m++) {
            week[(day * DAY_MIN + m) % WEEK_MIN] = true;
        }
    }
}

static size_t count_minutes(const bool week[WEEK_MIN], const bool other[WEEK_MIN])
{
    size_t n = 0;

    for (size_t i = 0; i < WEEK_MIN; i++) {
        n += week[i] && (other == NULL || other[i]);
    }
    return n;
}

/* Clocks of two zones are not compared: such windows may meet. */
static bool can_meet(const struct time_window *a, const struct time_window *b)
{
    bool week_a[WEEK_MIN], week_b[WEEK_MIN];

    mark_week(a, week_a);
    mark_week(b, week_b);
    return !str_eq(a->zone->name, b->zone->name) || count_minutes(week_a, week_b) > 0;
}

static void check_time(struct warnings *w, const struct time_window *t)
{
    bool week[WEEK_MIN];
    size_t n;

    mark_week(t, week);
    n = count_minutes(week, NULL);
    if (n == 0) {
        warn(w, "timeWindows", "which is never: give days and times");
    } else if (n == WEEK_MIN) {
        warn(w, "timeWindows", "which is always: its values belong to the top of the file");
    }
}

static void check_window(struct warnings *w, size_t at)
{
    const struct config *c = w->file, *open = config_at(c, UINT32_C(1) << at);
    const size_t own = c->policy.node_pool_n;

    w->window = &c->windows[at];
    check_time(w, &c->timetable.windows[at]);
    if (w->window->holds == NULL) {
        warn(w, "timeWindows", "nothing is different; give it keys, or remove it");
    }
    check_overcommit(w, &open->policy, &c->policy);
    check_pools(w, &open->policy, own, own, open->policy.node_pool_n);
    check_groups(w, &open->policy, &c->policy);
    config_free(open);
}

/* What two windows say about one node while both are open. */
static void check_pair(struct warnings *w, size_t first, size_t second)
{
    const struct config *c = w->file;
    const struct config *one = config_at(c, UINT32_C(1) << first);
    const struct config *both = config_at(c, UINT32_C(1) << first | UINT32_C(1) << second);
    const size_t own = c->policy.node_pool_n, late = one->policy.node_pool_n;

    if (late > own && both->policy.node_pool_n > late &&
        can_meet(&c->timetable.windows[first], &c->timetable.windows[second])) {
        w->window = &c->windows[second];
        check_pools(w, &both->policy, own, late, both->policy.node_pool_n);
    }
    config_free(one);
    config_free(both);
}

/* ---- API server ---- */

/* With consistency: strict nothing rests on it. */
static void check_hold_off(struct warnings *w, const struct config *c)
{
    if (c->client.hold_off_ms < HOLD_OFF_MS_MIN && c->policy.consistency != CONSISTENCY_STRICT) {
        warn(w, "clientConnection.holdOff",
             "less than 5s: the system may send what an earlier fgpu has written for 5 s after its end, so a Binding "
             "may land after the hold-off; use 6s");
    }
}

size_t config_warnings(const struct config *c, struct strbuf *out)
{
    struct warnings w = {.file = c, .out = out};

    check_overcommit(&w, &c->policy, NULL);
    check_hold_off(&w, c);
    check_candidate(&w, &c->policy);
    check_pools(&w, &c->policy, 0, 0, c->policy.node_pool_n);
    check_groups(&w, &c->policy, NULL);
    for (size_t i = 0; i < c->window_n; i++) {
        check_window(&w, i);
        for (size_t j = 0; j < i; j++) {
            check_pair(&w, j, i);
        }
    }
    return w.n;
}
