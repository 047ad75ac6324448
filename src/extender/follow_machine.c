#include "extender/follow_machine.h"

#include "base/bug.h"
#include "base/clock.h"

#include <string.h>

static const char WHY_TAKEN[] = "the scheduler of another replica has the Lease";
static const char WHY_CHANGED[] = "somebody else has changed it";
static const char WHY_GONE[] = "it was deleted";

void follow_machine_init(struct follow_machine *m, const struct follow_options *o)
{
    BUG_ON(o->duration_ms <= o->renew_deadline_ms || o->retry_ms <= 0 || o->host[0] == '\0');
    *m = (struct follow_machine){.o = *o,
                                 .named_ns = INT64_MIN,
                                 .alive_ns = INT64_MIN,
                                 .held_until_ns = INT64_MAX,
                                 .others_until_ns = INT64_MAX,
                                 .silent_since_ns = INT64_MAX,
                                 .wake_ns = INT64_MIN};
}

/* Is that the identity of a scheduler on this host? HOST_UUID, as client-go's users write it. A host name may hold `_`
 * itself, a UUID does not: so fgpu-a is not meant by fgpu-a_b_UUID. */
static bool names_us(const struct follow_machine *m, const struct lease_record *r)
{
    const size_t n = strlen(m->o.host);

    return strncmp(r->holder, m->o.host, n) == 0 && r->holder[n] == '_' && r->holder[n + 1] != '\0' &&
           strchr(&r->holder[n + 1], '_') == NULL;
}

void follow_machine_span(const struct follow_machine *m, int64_t *ret_from_ns, int64_t *ret_until_ns)
{
    *ret_from_ns = INT64_MAX;
    *ret_until_ns = INT64_MIN;
    if (m->phase == FOLLOW_NAMED && m->named_ns != INT64_MIN && m->alive_ns != INT64_MIN) {
        const int64_t fresh_ns = m->named_ns + FOLLOW_AGE_MS * NS_PER_MS;
        const int64_t alive_ns = m->alive_ns + m->o.renew_deadline_ms * NS_PER_MS;

        *ret_from_ns = m->others_until_ns;
        *ret_until_ns = fresh_ns < alive_ns ? fresh_ns : alive_ns;
    }
}

/* ---- what was seen ---- */

static bool is_same(const struct lease_record *a, const struct lease_record *b)
{
    return strcmp(a->uid, b->uid) == 0 && strcmp(a->holder, b->holder) == 0 && strcmp(a->renewed, b->renewed) == 0 &&
           strcmp(a->acquired, b->acquired) == 0 && a->duration_s == b->duration_s &&
           a->transition_n == b->transition_n;
}

/* How long after its last renewal may the fgpu beside the holder send? Its renewDeadline is not in the Lease: it is
 * ours where the duration is ours, and at most the duration anywhere. */
static int64_t lead_ns(const struct follow_machine *m, const struct lease_record *r)
{
    const int64_t theirs_ms = r->duration_s * 1000;

    return NS_PER_MS *
           (theirs_ms == m->o.duration_ms || theirs_ms < m->o.renew_deadline_ms ? m->o.renew_deadline_ms : theirs_ms);
}

static void lose(struct follow_machine *m, const char *why)
{
    m->phase = FOLLOW_HAS_LOST;
    m->why = why;
}

/* Others have it, or nobody, and so it was before: `changed` since the last look. */
static void note_others(struct follow_machine *m, const struct lease_record *r, bool changed, int64_t now_ns)
{
    if (r->holder[0] == '\0') {
        m->is_free = true;
        return;
    }
    m->is_free = false;
    if (changed) {
        m->held_until_ns = now_ns + lead_ns(m, r);
    }
}

/* Somebody may have been named, and have looked, for long enough to open his gate since we looked last. */
static bool has_gap(const struct follow_machine *m, int64_t now_ns)
{
    return now_ns >= m->seen_asked_ns + FOLLOW_AGE_MS * NS_PER_MS;
}

/* It was taken from the one that we saw, when its time was over, and not given away: then its last renewal is the last
 * that we saw. A later one would not have run out since we looked, if its time is longer than that; and one that is
 * given away at once comes from a scheduler that had not given up yet when we looked (F143). */
static bool has_run_out(const struct follow_machine *m, int64_t now_ns)
{
    return !m->is_free && m->seen_asked_ns >= m->held_until_ns && !has_gap(m, now_ns) &&
           now_ns < m->seen_asked_ns + m->seen.duration_s * NS_PER_S;
}

/* We are named, and were not when we looked last, if we ever did. Who was named in between may have looked until now,
 * also where nobody was when we looked: an administrator may have named us in its place, by the same number (F141). */
static void begin(struct follow_machine *m, const struct lease_record *r, int64_t now_ns)
{
    const bool at_once =
        m->looked && m->exists && strcmp(m->seen.uid, r->uid) == 0 && r->transition_n == m->seen.transition_n + 1;

    m->phase = FOLLOW_NAMED;
    m->has_led = false;
    m->alive_ns = INT64_MIN;
    m->others_until_ns = now_ns + FOLLOW_AGE_MS * NS_PER_MS;
    m->silent_since_ns = at_once && has_run_out(m, now_ns) ? m->held_until_ns : m->others_until_ns;
}

/* By this record, does what began when we were named last go on? */
static bool goes_on(const struct follow_machine *m, const struct lease_record *r)
{
    if (!m->exists || strcmp(m->seen.uid, r->uid) != 0) {
        return false;
    }
    if (r->holder[0] == '\0') {
        return r->transition_n == m->seen.transition_n;
    }
    return names_us(m, r) && (r->transition_n == m->seen.transition_n + 1 ||
                              (r->transition_n == m->seen.transition_n && strcmp(r->holder, m->seen.holder) == 0));
}

/* Until now. */
static void note_span(struct follow_machine *m, int64_t now_ns)
{
    int64_t from_ns, until_ns;

    follow_machine_span(m, &from_ns, &until_ns);
    m->has_led = m->has_led || (from_ns < until_ns && from_ns <= now_ns);
}

static void stop_being_named(struct follow_machine *m, const char *why)
{
    if (m->has_led) {
        lose(m, why);
        return;
    }
    m->phase = FOLLOW_OTHERS;
    m->named_ns = INT64_MIN;
    m->is_free = false;
    m->held_until_ns = INT64_MAX;
}

static void named(struct follow_machine *m, const struct lease_record *r, bool changed, int64_t now_ns)
{
    if (has_gap(m, now_ns)) {
        m->others_until_ns = m->silent_since_ns = now_ns + FOLLOW_AGE_MS * NS_PER_MS;
    }
    if (changed) {
        m->alive_ns = m->seen_asked_ns;
    }
    m->named_ns = r->holder[0] != '\0' ? m->asked_ns : INT64_MIN;
}

static void looked(struct follow_machine *m, const struct lease_record *r, int64_t now_ns)
{
    const bool known = m->looked && m->exists, changed = !known || !is_same(&m->seen, r);

    if (m->phase == FOLLOW_NAMED && !goes_on(m, r)) {
        stop_being_named(m, r->holder[0] != '\0' && !names_us(m, r) ? WHY_TAKEN : WHY_CHANGED);
    }
    if (m->phase == FOLLOW_OTHERS && names_us(m, r)) {
        begin(m, r, now_ns);
        m->named_ns = m->asked_ns;
    } else if (m->phase == FOLLOW_NAMED) {
        named(m, r, changed, now_ns);
    } else if (m->phase == FOLLOW_OTHERS) {
        note_others(m, r, changed, now_ns);
    }
    m->seen = *r;
    m->looked = m->exists = true;
    m->seen_asked_ns = m->asked_ns;
}

static void missing(struct follow_machine *m)
{
    if (m->phase == FOLLOW_NAMED) {
        stop_being_named(m, WHY_GONE);
    }
    m->is_free = false;
    m->held_until_ns = INT64_MAX;
    m->looked = true;
    m->exists = false;
}

/* ---- what to do ---- */

enum lease_step follow_machine_next(struct follow_machine *m, int64_t now_ns)
{
    if (m->phase == FOLLOW_HAS_LOST) {
        return LEASE_LOST;
    }
    note_span(m, now_ns);
    if (now_ns < m->wake_ns) {
        return LEASE_WAIT;
    }
    m->asked_ns = now_ns;
    return LEASE_GET;
}

/* Who follows looks twice as often: by so much less time is nobody named. */
static int64_t pause_ns(const struct follow_machine *m)
{
    const int64_t ms = m->phase == FOLLOW_NAMED && m->has_led ? m->o.retry_ms / 2 : m->o.retry_ms / 4;

    return (ms < 1 ? 1 : ms > FOLLOW_LOOK_MS_MAX ? FOLLOW_LOOK_MS_MAX : ms) * NS_PER_MS;
}

void follow_machine_answered(struct follow_machine *m, enum lease_answer a, const struct lease_record *r,
                             int64_t now_ns)
{
    note_span(m, now_ns);
    if (a == LEASE_ANSWER_OBJECT) {
        looked(m, r, now_ns);
    } else if (a == LEASE_ANSWER_MISSING) {
        missing(m);
    }
    m->wake_ns = now_ns + pause_ns(m);
}
