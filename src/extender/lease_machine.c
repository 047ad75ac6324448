#include "extender/lease_machine.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static const char WHY_TIME[] = "it could not be renewed in time";
static const char WHY_TAKEN[] = "somebody else has changed it";
static const char WHY_GONE[] = "it was deleted";

void lease_machine_init(struct lease_machine *m, const struct lease_options *o)
{
    BUG_ON(o->duration_ms <= o->renew_deadline_ms || o->renew_deadline_ms * 10 <= o->retry_ms * 12 || o->retry_ms <= 0);
    BUG_ON(o->duration_ms % 1000 != 0 || strlen(o->identity) >= LEASE_HOLDER_BYTES || o->identity[0] == '\0');
    memset(m, 0, sizeof(*m));
    m->o = *o;
    m->others_until_ns = INT64_MAX;
    m->leads_until_ns = INT64_MIN;
    m->wake_ns = INT64_MIN;
}

/* ---- what was seen ---- */

static int64_t duration_ns(const struct lease_machine *m, const struct lease_record *r)
{
    return r->duration_s > 0 ? r->duration_s * NS_PER_S : m->o.duration_ms * NS_PER_MS;
}

static bool was_released(const struct lease_record *r)
{
    return r->holder[0] == '\0' && r->duration_s == LEASE_RELEASED_S;
}

static bool is_mine(const struct lease_machine *m, const struct lease_record *r)
{
    return strcmp(r->holder, m->o.identity) == 0;
}

/* How long after its last renewal was sent may the writer of `r` believe that it leads? */
static int64_t lead_ns(const struct lease_machine *m, const struct lease_record *r)
{
    const int64_t own_ns = m->o.renew_deadline_ms * NS_PER_MS, theirs_ns = duration_ns(m, r);

    return theirs_ns == m->o.duration_ms * NS_PER_MS || theirs_ns < own_ns ? own_ns : theirs_ns;
}

/* By this record our own write has taken effect: the same words, of the same object. */
static bool has_landed(const struct lease_machine *m, const struct lease_record *r)
{
    return m->unconfirmed && strcmp(r->holder, m->next.holder) == 0 && strcmp(r->renewed, m->next.renewed) == 0 &&
           (!m->exists || strcmp(r->uid, m->seen.uid) == 0);
}

/* It is as we know it, perhaps but for what means nothing (labels). */
static bool is_unchanged(const struct lease_machine *m, const struct lease_record *r)
{
    return m->looked && m->exists && strcmp(r->uid, m->seen.uid) == 0 && strcmp(r->holder, m->seen.holder) == 0 &&
           strcmp(r->renewed, m->seen.renewed) == 0 && r->duration_s == m->seen.duration_s &&
           r->transition_n == m->seen.transition_n;
}

static void lose(struct lease_machine *m, const char *why)
{
    m->phase = LEASE_HAS_LOST;
    m->why = why;
}

/* Somebody who follows has read this. What we wrote ourselves over a revision that we knew, without hearing of it, is
 * no sign of somebody else. */
static void note(struct lease_machine *m, const struct lease_record *r, int64_t now_ns)
{
    if (!is_unchanged(m, r)) {
        m->seen_ns = now_ns;
        if (!m->exists || !has_landed(m, r)) {
            m->others_until_ns = now_ns + (was_released(r) ? 0 : lead_ns(m, r));
        }
    }
    m->seen = *r;
    m->looked = m->exists = true;
}

static void note_missing(struct lease_machine *m, int64_t now_ns)
{
    const struct lease_record nobody = {.duration_s = 0};

    if (!m->looked || m->exists) {
        m->others_until_ns = now_ns + lead_ns(m, m->exists ? &m->seen : &nobody);
    }
    m->looked = true;
    m->exists = false;
}

static bool can_be_acquired(const struct lease_machine *m, int64_t now_ns)
{
    return !m->exists || m->seen.holder[0] == '\0' || is_mine(m, &m->seen) ||
           now_ns >= m->seen_ns + duration_ns(m, &m->seen);
}

/* ---- what is written ---- */

/* Of an unconfirmed write the same words again: whichever of the copies lands, it is known again. */
static void prepare(struct lease_machine *m, int64_t wall_us)
{
    const bool gives_back = m->phase == LEASE_GIVES_BACK;
    const bool changes = !m->exists || !is_mine(m, &m->seen);
    struct lease_record *r = &m->next;

    if (m->unconfirmed) {
        return;
    }
    /* Each write differs from all before it, even if the wall clock stands still or goes back: one that changes nothing
     * makes no revision, and nobody would see it. */
    m->last_renewed_us = wall_us > m->last_renewed_us ? wall_us : m->last_renewed_us + 1;
    *r = (struct lease_record){.duration_s = gives_back ? LEASE_RELEASED_S : m->o.duration_ms / 1000};
    lease_time(m->last_renewed_us, r->renewed);
    snprintf(r->holder, sizeof(r->holder), "%s", gives_back ? "" : m->o.identity);
    if (changes || m->seen.acquired[0] == '\0') {
        memcpy(r->acquired, r->renewed, sizeof(r->acquired));
    } else {
        memcpy(r->acquired, m->seen.acquired, sizeof(r->acquired));
    }
    r->transition_n = m->exists ? m->seen.transition_n + (changes && !gives_back) : 0;
}

static enum lease_step write_now(struct lease_machine *m, int64_t now_ns, int64_t wall_us)
{
    prepare(m, wall_us);
    m->sent_ns = now_ns;
    m->unconfirmed = true;
    return m->exists ? LEASE_UPDATE : LEASE_CREATE;
}

static enum lease_step next(struct lease_machine *m, int64_t now_ns, int64_t wall_us)
{
    if (m->phase == LEASE_LEADS && now_ns >= m->leads_until_ns) {
        lose(m, WHY_TIME);
    }
    if (m->phase == LEASE_HAS_LOST) {
        return LEASE_LOST;
    }
    if (m->phase == LEASE_HAS_ENDED) {
        return LEASE_RELEASED;
    }
    if (now_ns < m->wake_ns) {
        return LEASE_WAIT;
    }
    if (m->phase == LEASE_FOLLOWS) {
        /* Each try begins with a look: what has been the same for so long must be the same now. */
        if (m->must_look || !m->looked || !can_be_acquired(m, now_ns)) {
            return LEASE_GET;
        }
        m->must_look = true;
        return write_now(m, now_ns, wall_us);
    }
    return m->must_look ? LEASE_GET : write_now(m, now_ns, wall_us);
}

enum lease_step lease_machine_next(struct lease_machine *m, int64_t now_ns, int64_t wall_us)
{
    m->step = next(m, now_ns, wall_us);
    return m->step;
}

/* ---- what came of it ---- */

static void pause(struct lease_machine *m, int64_t now_ns, uint32_t random)
{
    const int64_t retry_ns = m->o.retry_ms * NS_PER_MS;
    const int64_t jitter_ns =
        m->phase == LEASE_FOLLOWS ? retry_ns / 100 * LEASE_JITTER_PERCENT / 1000 * (random % 1001) : 0;

    m->wake_ns = now_ns + retry_ns + jitter_ns;
}

/* It leads, and every moment counts. */
static void pause_briefly(struct lease_machine *m, int64_t now_ns)
{
    m->wake_ns = now_ns + m->o.retry_ms * NS_PER_MS / 4;
}

static bool gave_back(const struct lease_machine *m)
{
    return m->phase == LEASE_GIVES_BACK && m->next.holder[0] == '\0';
}

/* A write was answered with success, so it took effect after it was sent. */
static void written(struct lease_machine *m, const struct lease_record *r, int64_t now_ns, uint32_t random)
{
    const bool took = strcmp(r->holder, m->next.holder) == 0 && strcmp(r->renewed, m->next.renewed) == 0 &&
                      (!m->exists || strcmp(r->revision, m->seen.revision) != 0);

    m->must_look = !took; /* a webhook has changed it, or somebody answers who is no API server */
    if (!took) {
        pause(m, now_ns, random);
        return;
    }
    /* That it did not exist is no revision: others may have made it, led and lost it to an administrator who deleted
     * it, since we looked. */
    if (!m->exists) {
        m->others_until_ns = now_ns + m->o.renew_deadline_ms * NS_PER_MS;
    }
    m->unconfirmed = false;
    m->seen = *r;
    m->exists = m->looked = true;
    m->seen_ns = now_ns;
    if (gave_back(m)) {
        m->phase = LEASE_HAS_ENDED;
    } else if (m->phase == LEASE_GIVES_BACK) {
        m->wake_ns = now_ns; /* that was a renewal; now to what was asked for */
    } else {
        m->phase = LEASE_LEADS;
        m->leads_until_ns = m->sent_ns + m->o.renew_deadline_ms * NS_PER_MS;
        pause(m, now_ns, random);
    }
}

static void looked(struct lease_machine *m, const struct lease_record *r, int64_t now_ns, uint32_t random)
{
    const bool landed = has_landed(m, r), ours = landed || is_unchanged(m, r);
    /* What was sent over a revision that is over never lands. */
    const bool settled = landed || !m->exists || strcmp(r->revision, m->seen.revision) != 0;

    m->must_look = false;
    if (m->phase == LEASE_FOLLOWS) {
        note(m, r, now_ns);
        if (!can_be_acquired(m, now_ns)) {
            m->must_look = true;
            pause(m, now_ns, random);
        }
    } else if (!ours) {
        lose(m, WHY_TAKEN);
    } else {
        m->seen = *r;
        m->phase = landed && gave_back(m) ? LEASE_HAS_ENDED : m->phase;
    }
    m->unconfirmed = m->unconfirmed && !settled;
}

static void missing(struct lease_machine *m, int64_t now_ns)
{
    m->must_look = false;
    if (m->phase == LEASE_FOLLOWS) {
        m->unconfirmed = m->unconfirmed && !m->exists;
        note_missing(m, now_ns);
    } else {
        lose(m, WHY_GONE);
    }
}

void lease_machine_answered(struct lease_machine *m, enum lease_answer a, const struct lease_record *r, int64_t now_ns,
                            uint32_t random)
{
    const bool wrote = m->step == LEASE_CREATE || m->step == LEASE_UPDATE;

    if (a == LEASE_ANSWER_OBJECT && wrote) {
        written(m, r, now_ns, random);
    } else if (a == LEASE_ANSWER_OBJECT) {
        looked(m, r, now_ns, random);
    } else if (a == LEASE_ANSWER_MISSING && !wrote) {
        missing(m, now_ns);
    } else {
        m->must_look = true;
        if (m->phase == LEASE_FOLLOWS) {
            pause(m, now_ns, random);
        } else {
            pause_briefly(m, now_ns);
        }
    }
}

bool lease_machine_give_back(struct lease_machine *m, int64_t now_ns)
{
    if (m->phase != LEASE_LEADS || now_ns < m->others_until_ns) {
        m->phase = LEASE_HAS_ENDED;
        return false;
    }
    m->phase = LEASE_GIVES_BACK;
    m->must_look = m->must_look || m->unconfirmed;
    m->wake_ns = now_ns;
    return true;
}
