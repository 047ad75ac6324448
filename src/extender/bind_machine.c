#include "extender/bind_machine.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stddef.h>

/* The first pause between tries, and the longest. */
#define PAUSE_MIN_NS (200 * NS_PER_MS)
#define PAUSE_MAX_NS (2000 * NS_PER_MS)
/* After the caller has its answer nobody waits. */
#define CALM_MIN_NS (2000 * NS_PER_MS)
#define CALM_MAX_NS (30000 * NS_PER_MS)

static const char TEXT_UNKNOWN[] =
    "the API server did not answer in time: whether the pod was bound is not known yet; its GPUs stay charged";
static const char TEXT_UNREACHABLE[] = "the API server could not be reached: nothing was bound";
static const char TEXT_BUSY[] = "the API server is overloaded: nothing was bound";
static const char TEXT_CHANGED[] =
    "the pod was changed or is being deleted since its GPUs were chosen: nothing was bound";
static const char TEXT_ELSEWHERE[] = "the pod is already bound by somebody else";
static const char TEXT_GONE[] = "the pod no longer exists";
static const char TEXT_UNAUTHORIZED[] = "the API server does not accept the credentials of fgpu";
static const char TEXT_REFUSED[] = "the API server refused the binding";
static const char TEXT_NOT_BOUND[] = "the API server did not take the binding: nothing was bound";

void bind_machine_init(struct bind_machine *m, uint64_t version, int64_t deadline_ns)
{
    *m = (struct bind_machine){
        .deadline_ns = deadline_ns,
        .wake_ns = INT64_MIN,
        .next = BIND_POST,
        .resolution = BIND_OPEN,
        .version = version,
    };
}

static int64_t doubled(int64_t first_ns, uint32_t n, int64_t max_ns)
{
    int64_t pause_ns = n < 8 ? first_ns << n : max_ns;

    return pause_ns < max_ns ? pause_ns : max_ns;
}

int64_t bind_pause_ns(uint32_t n)
{
    return doubled(PAUSE_MIN_NS, n, PAUSE_MAX_NS);
}

int64_t bind_calm_pause_ns(uint32_t n)
{
    return doubled(CALM_MIN_NS, n, CALM_MAX_NS);
}

static int64_t next_pause_ns(struct bind_machine *m, int64_t now_ns)
{
    return now_ns < m->deadline_ns ? bind_pause_ns(m->pause_n++) : bind_calm_pause_ns(m->calm_n++);
}

static void wait_then(struct bind_machine *m, enum bind_action next, int64_t until_ns)
{
    m->next = next;
    m->wake_ns = until_ns;
}

static void resolve(struct bind_machine *m, enum bind_resolution r, const char *error)
{
    m->resolution = r;
    m->next = BIND_END;
    if (!m->answered) {
        m->error = error;
    }
}

static void note_send(struct bind_machine *m)
{
    m->sent_without = m->sent_without || m->version == 0;
    if (m->version > m->sent_version) {
        m->sent_version = m->version;
    }
}

enum bind_action bind_machine_next(struct bind_machine *m, int64_t now_ns)
{
    if (m->next == BIND_END) {
        return BIND_END;
    }
    if (now_ns >= m->deadline_ns && m->next == BIND_POST && !m->unknown) {
        /* Nothing is on its way, and nobody would learn of a success. */
        resolve(m, BIND_RELEASED, m->error != NULL ? m->error : TEXT_UNREACHABLE);
        return BIND_END;
    }
    if (m->wake_ns > now_ns) {
        return BIND_WAIT;
    }
    if (m->next == BIND_POST) {
        note_send(m);
    }
    return m->next;
}

bool bind_machine_take_answer(struct bind_machine *m, const char **ret_error)
{
    if (m->answered || m->resolution == BIND_OPEN) {
        return false;
    }
    m->answered = true;
    *ret_error = m->error;
    return true;
}

bool bind_machine_expire(struct bind_machine *m, int64_t now_ns, const char **ret_error)
{
    if (m->answered || m->resolution != BIND_OPEN || now_ns < m->deadline_ns) {
        return false;
    }
    m->answered = true;
    *ret_error = TEXT_UNKNOWN;
    return true;
}

void bind_machine_join(struct bind_machine *m, int64_t deadline_ns, int64_t now_ns)
{
    BUG_ON(m->resolution != BIND_OPEN);
    m->answered = false;
    m->error = NULL;
    m->deadline_ns = deadline_ns;
    m->pause_n = 0;
    m->calm_n = 0;
    m->renewal_n = 0;
    if (m->wake_ns > now_ns) {
        m->wake_ns = now_ns;
    }
}

/* An answer that asks for another try. While an earlier send is unknown it settles nothing, and a GET comes first. */
static void try_again(struct bind_machine *m, int64_t at_ns, const char *text)
{
    m->error = text;
    if (m->unknown) {
        wait_then(m, BIND_GET, at_ns);
    } else if (at_ns < m->deadline_ns) {
        wait_then(m, BIND_POST, at_ns);
    } else {
        resolve(m, BIND_RELEASED, text);
    }
}

/* A refusal that settles this send, but not an earlier one. */
static void refused(struct bind_machine *m, const char *text, int64_t now_ns)
{
    if (m->unknown) {
        wait_then(m, BIND_GET, now_ns);
    } else {
        resolve(m, BIND_RELEASED, text);
    }
}

static void asked_for_patience(struct bind_machine *m, int64_t retry_after_ms, int64_t now_ns)
{
    int64_t pause_ns = next_pause_ns(m, now_ns), longest_ms = CALM_MAX_NS / NS_PER_MS;

    if (m->unknown && retry_after_ms > longest_ms) {
        retry_after_ms = longest_ms;
    }
    if (pause_ns < retry_after_ms * NS_PER_MS) {
        pause_ns = retry_after_ms * NS_PER_MS;
    }
    try_again(m, now_ns + pause_ns, TEXT_BUSY);
}

void bind_machine_posted(struct bind_machine *m, const struct bind_answer *answer, int64_t now_ns)
{
    m->unknown = m->unknown || answer->maybe_bound;
    switch (answer->reply) {
    case BIND_BOUND:
        resolve(m, BIND_CONFIRMED, NULL);
        return;
    case BIND_UNAUTHORIZED:
        if (m->unauthorized_once) {
            refused(m, TEXT_UNAUTHORIZED, now_ns);
        } else {
            m->unauthorized_once = true;
            try_again(m, now_ns, TEXT_UNAUTHORIZED);
        }
        return;
    case BIND_RETRY_AFTER:
        asked_for_patience(m, answer->retry_after_ms, now_ns);
        return;
    case BIND_CONFLICT:
    case BIND_LOST:
        m->unknown = true;
        wait_then(m, BIND_GET, now_ns);
        return;
    case BIND_NOT_SENT:
        try_again(m, now_ns + next_pause_ns(m, now_ns), TEXT_UNREACHABLE);
        return;
    case BIND_REFUSED:
        refused(m, answer->reason != NULL ? answer->reason : TEXT_REFUSED, now_ns);
        return;
    case BIND_REPLY__MAX:
        break;
    }
    BUG("unknown answer to a Binding");
}

/* Can none of the sends land any more? Versions of one object only grow, so one that is greater than all that were
 * sent was carried by none of them, and none of theirs comes back. */
static bool proves_all_dead(const struct bind_machine *m, const struct bind_sight *s)
{
    return s->versions_hold && !m->sent_without && s->version > m->sent_version;
}

bool bind_machine_is_settled_by(const struct bind_machine *m, const struct bind_sight *s)
{
    return m->unknown && proves_all_dead(m, s);
}

static void seen_unbound(struct bind_machine *m, const struct bind_sight *s, int64_t now_ns)
{
    if (m->unknown && !proves_all_dead(m, s)) {
        /* The same Binding again, after the deadline, too: the reservation stands, and what may land is just this. */
        m->error = TEXT_NOT_BOUND;
        wait_then(m, BIND_POST, now_ns + next_pause_ns(m, now_ns));
        return;
    }
    m->unknown = false;
    if (!s->as_decided) {
        resolve(m, BIND_RELEASED, TEXT_CHANGED);
    } else if (now_ns >= m->deadline_ns || m->answered || m->renewal_n == BIND_RENEWALS_MAX) {
        resolve(m, BIND_RELEASED, TEXT_NOT_BOUND);
    } else {
        m->version = s->version;
        m->error = TEXT_NOT_BOUND;
        wait_then(m, BIND_POST, m->renewal_n == 0 ? now_ns : now_ns + next_pause_ns(m, now_ns));
        m->renewal_n++;
    }
}

void bind_machine_seen(struct bind_machine *m, const struct bind_sight *s, int64_t now_ns)
{
    switch (s->kind) {
    case BIND_SEEN_GONE:
        resolve(m, BIND_RELEASED, TEXT_GONE);
        return;
    case BIND_SEEN_OURS:
        resolve(m, BIND_CONFIRMED, NULL);
        return;
    case BIND_SEEN_OTHER_RECORD:
        resolve(m, BIND_SUPERSEDED, TEXT_ELSEWHERE);
        return;
    case BIND_SEEN_ELSEWHERE:
        resolve(m, BIND_RELEASED, TEXT_ELSEWHERE);
        return;
    case BIND_SEEN_UNBOUND:
        seen_unbound(m, s, now_ns);
        return;
    case BIND_SEEN_NOTHING:
        wait_then(m, BIND_GET, now_ns + next_pause_ns(m, now_ns));
        return;
    case BIND_SEEN__MAX:
        break;
    }
    BUG("unknown sight of a pod");
}
