#include "extender/bind_machine.h"

#include "base/bug.h"

#include <stddef.h>

/* The first pause between tries, and the longest. */
#define PAUSE_MIN_NS (INT64_C(200) * 1000000)
#define PAUSE_MAX_NS (INT64_C(2000) * 1000000)
/* After the caller has its answer nobody waits: ask more calmly. */
#define BACKGROUND_NS (INT64_C(2000) * 1000000)

static const char TEXT_UNKNOWN[] =
    "the API server did not answer in time: whether the pod was bound is not known yet; its GPUs stay charged";
static const char TEXT_UNREACHABLE[] = "the API server could not be reached: nothing was bound";
static const char TEXT_BUSY[] = "the API server is overloaded: nothing was bound";
static const char TEXT_CONFLICT[] =
    "the API server refused the binding: the pod is being deleted, gated or was changed";
static const char TEXT_ELSEWHERE[] = "the pod is already bound by somebody else";
static const char TEXT_GONE[] = "the pod no longer exists";
static const char TEXT_UNAUTHORIZED[] = "the API server does not accept the credentials of fgpu";
static const char TEXT_REFUSED[] = "the API server refused the binding";
static const char TEXT_NOT_BOUND[] = "the API server lost the binding: nothing was bound";

void bind_machine_init(struct bind_machine *m, int64_t deadline_ns)
{
    *m = (struct bind_machine){
        .deadline_ns = deadline_ns,
        .last_unsure_ns = INT64_MIN,
        .wake_ns = INT64_MIN,
        .next = BIND_POST,
        .resolution = BIND_OPEN,
    };
}

int64_t bind_pause_ns(uint32_t n)
{
    int64_t pause_ns = n < 8 ? PAUSE_MIN_NS << n : PAUSE_MAX_NS;

    return pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
}

static int64_t next_pause_ns(struct bind_machine *m)
{
    return bind_pause_ns(m->pause_n++);
}

static bool unsure(const struct bind_machine *m)
{
    return m->last_unsure_ns != INT64_MIN;
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

/* Only a GET decides: now, or when it can prove that a lost send will never be applied. */
static void ask(struct bind_machine *m, int64_t at_ns)
{
    wait_then(m, BIND_GET, at_ns);
}

enum bind_action bind_machine_next(struct bind_machine *m, int64_t now_ns)
{
    if (m->next == BIND_END) {
        return BIND_END;
    }
    if (now_ns >= m->deadline_ns && m->next == BIND_POST) {
        /* No send after the deadline: the caller has been told, and would not learn of a success. */
        if (unsure(m)) {
            ask(m, m->last_unsure_ns + BIND_PROOF_NS);
        } else {
            resolve(m, BIND_RELEASED, m->error != NULL ? m->error : TEXT_UNREACHABLE);
            return BIND_END;
        }
    }
    if (m->wake_ns > now_ns) {
        return BIND_WAIT;
    }
    m->sent_ns = now_ns;
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

/* A send that was certainly not applied, and may be tried again. */
static void try_again(struct bind_machine *m, int64_t at_ns, const char *text)
{
    m->error = text;
    if (at_ns < m->deadline_ns) {
        wait_then(m, BIND_POST, at_ns);
    } else if (unsure(m)) {
        ask(m, m->last_unsure_ns + BIND_PROOF_NS);
    } else {
        resolve(m, BIND_RELEASED, text);
    }
}

/* A refusal that settles this send, but not an earlier one whose reply was lost. */
static void refused(struct bind_machine *m, const char *text, int64_t now_ns)
{
    if (unsure(m)) {
        ask(m, now_ns);
    } else {
        resolve(m, BIND_RELEASED, text);
    }
}

void bind_machine_posted(struct bind_machine *m, const struct bind_answer *answer, int64_t now_ns)
{
    int64_t pause_ns;

    if (answer->maybe_bound) {
        m->last_unsure_ns = m->sent_ns;
    }
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
        pause_ns = next_pause_ns(m);
        if (pause_ns < answer->retry_after_ms * 1000000) {
            pause_ns = answer->retry_after_ms * 1000000;
        }
        try_again(m, now_ns + pause_ns, TEXT_BUSY);
        return;
    case BIND_CONFLICT:
    case BIND_LOST:
        ask(m, now_ns);
        return;
    case BIND_NOT_SENT:
        try_again(m, now_ns + next_pause_ns(m), TEXT_UNREACHABLE);
        return;
    case BIND_REFUSED:
        refused(m, answer->reason != NULL ? answer->reason : TEXT_REFUSED, now_ns);
        return;
    case BIND_REPLY__MAX:
        break;
    }
    BUG("unknown answer to a Binding");
}

/* The pod is unbound in a quorum read. */
static void got_unbound(struct bind_machine *m, int64_t now_ns)
{
    if (!unsure(m)) {
        resolve(m, BIND_RELEASED, TEXT_CONFLICT);
    } else if (m->sent_ns >= m->last_unsure_ns + BIND_PROOF_NS) {
        resolve(m, BIND_RELEASED, TEXT_NOT_BOUND);
    } else if (now_ns < m->deadline_ns) {
        /* Sending again is safe: a second success is impossible, a duplicate is a 409 that a GET settles. */
        m->error = TEXT_NOT_BOUND;
        wait_then(m, BIND_POST, now_ns + next_pause_ns(m));
    } else {
        ask(m, m->last_unsure_ns + BIND_PROOF_NS);
    }
}

void bind_machine_got(struct bind_machine *m, enum bind_get_outcome o, int64_t now_ns)
{
    switch (o) {
    case BIND_GET_GONE:
        resolve(m, BIND_RELEASED, TEXT_GONE);
        return;
    case BIND_GET_OURS:
        resolve(m, BIND_CONFIRMED, NULL);
        return;
    case BIND_GET_ELSEWHERE:
        resolve(m, BIND_RELEASED, TEXT_ELSEWHERE);
        return;
    case BIND_GET_UNBOUND:
        got_unbound(m, now_ns);
        return;
    case BIND_GET_FAILED:
        ask(m, now_ns + (now_ns < m->deadline_ns ? next_pause_ns(m) : BACKGROUND_NS));
        return;
    case BIND_GET__MAX:
        break;
    }
    BUG("unknown outcome of a GET");
}
