/* What each process knew when it decided. */
#include "etcd.h"
#include "fiber.h"
#include "net.h"
#include "oracle_internal.h"
#include "process.h"
#include "trace.h"

#include "base/bug.h"

#include <stdio.h>
#include <string.h>

#define DECISIONS_MAX 4096
#define ID_N 20 /* of a decision, or the uid of a pod */

/* What its process had been told when it sent the Binding for the first time. */
struct decision {
    char id[ID_N];
    struct oracle_known known;
};

static struct decision decisions[DECISIONS_MAX]; /* a ring */
static size_t decision_at;

static const struct decision *find(const char *id)
{
    for (size_t i = 0; i < DECISIONS_MAX; i++) {
        const struct decision *d = &decisions[(decision_at + DECISIONS_MAX - 1 - i) % DECISIONS_MAX];

        if (strcmp(d->id, id) == 0) {
            return d;
        }
    }
    return NULL;
}

const struct oracle_known *oracle_decided(const char *id)
{
    const struct decision *d = find(id);

    return d != NULL ? &d->known : NULL;
}

bool oracle_gave_nothing(const char *uid)
{
    return find(uid) != NULL;
}

static void uid_of(const char *body, char ret[ID_N])
{
    static const char key[] = "\"uid\":\"";
    const char *at = strstr(body, key);

    BUG_ON(at == NULL);
    at += sizeof(key) - 1;
    snprintf(ret, ID_N, "%.*s", (int)strcspn(at, "\""), at);
}

/* Of a pod without a record: its uid. */
static void id_of(const char *body, char ret[ID_N])
{
    static const char key[] = "\\\"id\\\":\\\"";
    const char *at = strstr(body, key);

    if (at != NULL) {
        at += sizeof(key) - 1;
        snprintf(ret, ID_N, "%.*s", (int)strcspn(at, "\\"), at);
    } else {
        uid_of(body, ret);
    }
}

/* ---- when strict ones decide ---- */

/* What a process had been told when it was asked to bind a pod. It decides later than that, and writes the intent
 * before it sends the Binding, after as many others as there are. */
struct asked {
    char uid[24];
    unsigned process;
    int64_t at_ns;
    uint64_t pods_seen, nodes_seen;
};

static struct asked asked[DECISIONS_MAX]; /* a ring */
static size_t asked_at;

void oracle_asked(const struct process *p, const char *uid)
{
    struct asked *a = &asked[asked_at % DECISIONS_MAX];

    if (oracle_fleet == FLEET_STRICT) {
        asked_at++;
        *a = (struct asked){
            .process = p->number, .at_ns = sim_now_ns(), .pods_seen = p->pods_seen, .nodes_seen = p->nodes_seen};
        snprintf(a->uid, sizeof(a->uid), "%s", uid);
    }
}

/* Of the first of those calls that it may still be at. */
static struct oracle_known known_when_asked(const struct process *p, const char *uid)
{
    struct oracle_known known = oracle_knows(p);

    for (size_t i = 0; i < DECISIONS_MAX && i < asked_at; i++) {
        const struct asked *a = &asked[(asked_at - 1 - i) % DECISIONS_MAX];

        if (a->at_ns < known.decided_ns) {
            break;
        }
        if (a->process == p->number && strcmp(a->uid, uid) == 0) {
            known.pods_seen = a->pods_seen;
            known.nodes_seen = a->nodes_seen;
        }
    }
    return known;
}

static struct oracle_known known_when_decided(const struct call *c)
{
    char uid[ID_N];

    uid_of(c->body, uid);
    return known_when_asked(c->of, uid); /* that of now, if it is none of them */
}

void oracle_submitted(const struct call *c)
{
    struct decision d;
    const struct object *o;

    if (strstr(c->path, "/binding") == NULL) {
        return;
    }
    d.known = known_when_decided(c);
    id_of(c->body, d.id);
    if (find(d.id) != NULL) {
        return;
    }
    o = etcd_find_uid(d.id);
    if (o != NULL && !oracle_is_none(&d.known, &o->ask)) {
        found("a Binding of pod %s without a record: %s", o->uid, c->body);
    }
    decisions[decision_at++ % DECISIONS_MAX] = d;
}
