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

static void is_waited_for(struct process *of, const char *uid, const char *node, int64_t left_ns)
{
    if (of != sender && sim_now_ns() - left_ns < HOLD_OFF_MS * NS_PER_MS) {
        found("fgpu %u sends a Binding, and that of pod %s to %s which fgpu %u sent %.3f s ago may still land",
              sender->number, uid, node, of->number, (double)(sim_now_ns() - left_ns) / 1e9);
    }
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
    if (strstr(c->path, "/binding") != NULL) {
        api_each_pending(is_waited_for);
    }
}
