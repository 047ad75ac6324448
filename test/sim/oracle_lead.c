/* Who may send, where processes elect one by a Lease: by the calls alone. */
#include "api.h"
#include "fiber.h"
#include "net.h"
#include "oracle_internal.h"
#include "process.h"
#include "trace.h"

#include "base/clock.h"

#include <string.h>

static struct process *sender; /* of the last write */

static bool is_of_lease(const struct call *c)
{
    return strstr(c->path, "/leases") != NULL;
}

void oracle_answered(const struct call *c, int http_status)
{
    if (is_of_lease(c) && c->writes && !c->answered && c->client != NULL &&
        (http_status == 200 || http_status == 201) && strstr(c->body, "\"holderIdentity\":\"\"") == NULL &&
        c->leaves_ns > c->of->renewed_ns) {
        c->of->renewed_ns = c->leaves_ns;
    }
}

static size_t holder_of(const char *spec, const char **ret)
{
    static const char key[] = "\"holderIdentity\":\"";
    const char *at = strstr(spec, key);

    *ret = at != NULL ? at + sizeof(key) - 1 : "";
    return strcspn(*ret, "\"");
}

/* Nobody who leads by what he knows: the next one asks nobody. */
static void is_given_back(const struct process *by)
{
    for (const struct process *p = process_next(NULL); p != NULL; p = process_next(p)) {
        if (p != by && !p->cut && !p->lost && p->renewed_ns > 0 &&
            sim_now_ns() < p->renewed_ns + RENEW_DEADLINE_MS * NS_PER_MS) {
            found("fgpu %u gives the Lease back while fgpu %u may lead: it renewed it %.3f s ago", by->number,
                  p->number, (double)(sim_now_ns() - p->renewed_ns) / 1e9);
        }
    }
}

void oracle_renewed(const struct call *c, const char *before, const char *after)
{
    const char *was, *is;
    const size_t was_n = holder_of(before, &was), is_n = holder_of(after, &is);

    if (is_n == 0 && strstr(after, "\"leaseDurationSeconds\":1,") != NULL) {
        is_given_back(c->of);
    }
    if (c->of->renewed_ns > 0 && is_n > 0 && (was_n != is_n || memcmp(was, is, is_n) != 0)) {
        found("fgpu %u takes the Lease back from \"%.*s\"", c->of->number, (int)was_n, was);
    }
}

static void is_waited_for(struct process *of, const char *uid, const char *node, int64_t left_ns)
{
    if (of != sender && !oracle_gave_nothing(uid) && sim_now_ns() - left_ns < HOLD_OFF_MS * NS_PER_MS) {
        found("fgpu %u sends a Binding, and that of pod %s to %s which fgpu %u sent %.3f s ago may still land",
              sender->number, uid, node, of->number, (double)(sim_now_ns() - left_ns) / 1e9);
    }
}

/* Whoever was before it and has not ended in order. */
static void has_held_off(const struct process *p)
{
    for (unsigned n = process_n(); n > 0; n--) {
        const struct process *o = process_at(n);
        const int64_t ago_ns = sim_now_ns() - o->bound_ns;

        if (o != p && o->bound_ns > 0 && !o->in_order && ago_ns < HOLD_OFF_MS * NS_PER_MS) {
            found("fgpu %u begins to send Bindings %.3f s after the last one of fgpu %u", p->number,
                  (double)ago_ns / 1e9, o->number);
        }
    }
}

/* A pod that asks for no GPU, as its process reads it, is bound at any time. */
static bool gives_gpus(const struct call *c)
{
    return strstr(c->path, "/binding") != NULL && strstr(c->body, "\"fgpu.io/assignment\"") != NULL;
}

void oracle_leaves(const struct call *c)
{
    struct process *p = c->of;

    if (oracle_fleet != FLEET_LEASE || !c->writes || is_of_lease(c)) {
        return;
    }
    if (p->renewed_ns == 0 || sim_now_ns() >= p->renewed_ns + RENEW_DEADLINE_MS * NS_PER_MS) {
        found("fgpu %u sends %s %s, and the last renewal of its Lease that it knows of is %.3f s old", p->number,
              c->method, c->path, (double)(sim_now_ns() - p->renewed_ns) / 1e9);
    }
    if (p->succeeded) {
        found("fgpu %u sends %s %s after fgpu %u has begun to", p->number, c->method, c->path, sender->number);
    }
    if (sender != p) {
        oracle_counts.successor_n += sender != NULL;
        TRACE("fgpu %u leads", p->number);
        if (sender != NULL) {
            sender->succeeded = true;
        }
    }
    sender = p;
    if (gives_gpus(c)) {
        if (p->bound_ns == 0) {
            has_held_off(p);
        }
        p->bound_ns = sim_now_ns();
        api_each_pending(is_waited_for);
    }
}
