/* The objects of `consistency: strict`: what is due of each node, one exchange at a time (extender/intents.h). What the
 * binds of the node do next is bind_intent.c. */
#include "extender/bind_node.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static const char TEXT_VERSIONS[] = "consistency: strict needs an API server of 1.23 or newer, and its version is not "
                                    "known, or it is older: nothing was bound";
static const char TEXT_NO_VERSION[] = "consistency: strict needs the resourceVersion of the pod: nothing was bound";
static const char TEXT_HOST_GROUP[] =
    "consistency: strict does not cover nodes that share physical GPUs (host groups): nothing was bound";
static const char TEXT_UNREAD[] = "what is on its way to this node was not known yet: nothing was bound; try again";

#define DOUBTS_LOOK_MS 1000
#define DOUBTS_ASK_MS 30000

/* ---- nodes ---- */

static void free_node(struct bind_node *n)
{
    BUG_ON(n->busy);
    strbuf_fini(&n->text);
    strbuf_fini(&n->sent_text);
    intents_fini(&n->held);
    intents_fini(&n->sent);
    free(n->asked_uid);
    free(n->name);
    free(n);
}

static bool is_used(const struct bind_node *n)
{
    for (const struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n) {
            return true;
        }
    }
    return n->busy || n->looking;
}

/* Filter and prioritize hear of it, if it is news. */
static void tell_rank(struct bind_node *n, bool last)
{
    struct binder *b = n->binder;

    if (last == n->ranks_last) {
        return;
    }
    n->ranks_last = last;
    b->ranks_last_n += last ? 1 : UINT32_MAX;
    store_doubt(b->store, str_of(n->name), last);
    if (last && b->ranks_last_n == 1) {
        const int64_t now_ns = clock_mono_ns(b->clock);

        b->doubts_ask_at_ns = now_ns + DOUBTS_ASK_MS * NS_PER_MS;
        b->doubts_at_ns = now_ns + DOUBTS_LOOK_MS * NS_PER_MS;
        bind_wake_at(b, b->doubts_at_ns);
    }
}

/* It may have come again since: nobody could take back what is told of it afterwards. */
static void forget_node(struct bind_node *n)
{
    tell_rank(n, false);
    free_node(n);
}

void bind_node_drop_gone(struct bind_node **at)
{
    while (*at != NULL) {
        struct bind_node *n = *at;

        if (is_used(n) || store_has_node(n->binder->store, str_of(n->name))) {
            at = &n->next;
        } else {
            *at = n->next;
            forget_node(n);
        }
    }
}

struct bind_node *bind_node_of(struct binder *b, struct str name)
{
    const struct hash_key key = {0, 0};
    struct bind_node **at = &b->nodes[hash_str(key, name) % BIND_NODE_BUCKETS];
    struct bind_node *n;

    for (n = *at; n != NULL; n = n->next) {
        if (str_eq(str_of(n->name), name)) {
            return n;
        }
    }
    bind_node_drop_gone(at);
    n = xcalloc(1, sizeof(*n));
    n->binder = b;
    n->name = str_dup(name);
    n->again_ns = INT64_MIN;
    strbuf_init(&n->text, INTENT_OBJECT_BYTES_MAX);
    strbuf_init(&n->sent_text, INTENTS_BYTES_MAX);
    n->next = *at;
    *at = n;
    return n;
}

void binder_free_nodes(struct binder *b)
{
    for (size_t i = 0; b->nodes != NULL && i < BIND_NODE_BUCKETS; i++) {
        while (b->nodes[i] != NULL) {
            struct bind_node *n = b->nodes[i];

            b->nodes[i] = n->next;
            forget_node(n);
        }
    }
    free(b->nodes);
    free(b->intent_objects);
}

/* ---- what is known ---- */

/* The bind whose Binding this intent is of. */
static bool is_open(const struct bind_node *n, const struct intent *i)
{
    for (const struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n && b->reserved && b->machine.resolution == BIND_OPEN && b->intent_version == i->version &&
            str_eq(b->request.pod_uid, i->uid)) {
            return true;
        }
    }
    return false;
}

enum intent_sight bind_node_sight(void *ctx, const struct intent *i)
{
    const struct bind_node *n = ctx;
    const bool is_ours = str_eq(i->decider, str_of(n->binder->process));
    uint64_t version = 0;
    const enum pod_place place = store_pod_place(n->binder->store, i->uid, str_of(n->name), &version);

    return intent_judge(i, is_ours, is_ours && place != POD_PLACE_HERE && is_open(n, i), place, version);
}

/* The first intent that this process knows nothing certain about; NULL: devices may be chosen. */
static struct intent *unproven(struct bind_node *n)
{
    struct intent *i = intents_unproven(&n->held, bind_node_sight, n);

    n->in_doubt = n->in_doubt && i != NULL;
    return i;
}

bool bind_node_is_in_doubt(struct bind_node *n)
{
    return (n->illegible || (n->in_doubt && unproven(n) != NULL)) && store_has_node(n->binder->store, str_of(n->name));
}

/* After whatever may begin or end a doubt. */
static void look_at_doubt(struct bind_node *n)
{
    tell_rank(n, bind_node_is_in_doubt(n));
}

/* Returns how many nodes are. */
static uint32_t look_at_doubts(struct binder *b)
{
    for (size_t i = 0; b->nodes != NULL && i < BIND_NODE_BUCKETS; i++) {
        for (struct bind_node *n = b->nodes[i]; n != NULL; n = n->next) {
            look_at_doubt(n);
        }
    }
    return b->ranks_last_n;
}

void binder_doubts_turn(struct binder *b)
{
    const int64_t now_ns = clock_mono_ns(b->clock);

    if (b->ranks_last_n > 0 && now_ns >= b->doubts_at_ns) {
        (void)look_at_doubts(b);
        b->doubts_at_ns = now_ns + DOUBTS_LOOK_MS * NS_PER_MS;
    }
    if (b->ranks_last_n > 0 && now_ns >= b->doubts_ask_at_ns) {
        binder_ask_about_doubts(b);
        b->doubts_ask_at_ns = now_ns + DOUBTS_ASK_MS * NS_PER_MS;
    }
    if (b->ranks_last_n > 0) {
        bind_wake_at(b, b->doubts_at_ns);
    }
}

uint32_t binder_nodes_in_doubt(struct binder *b)
{
    uint32_t n;

    mutex_lock(&b->lock);
    n = look_at_doubts(b);
    mutex_unlock(&b->lock);
    return n;
}

bool bind_node_has(const struct bind_node *n, enum bind_intent intent)
{
    for (const struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n && b->intent == intent) {
            return true;
        }
    }
    return false;
}

/* All binds that wait so go on from there. */
void bind_node_give_turn(struct bind_node *n, enum bind_intent from, enum bind_intent to)
{
    for (struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n && b->intent == from) {
            b->intent = to;
            b->turn = true;
            bind_wake_at(n->binder, clock_mono_ns(n->binder->clock));
        }
    }
}

bool bind_node_is_waited_for(const struct bind_node *n)
{
    for (const struct bind *b = n->binder->binds; b != NULL; b = b->next) {
        if (b->node == n && b->intent != BIND_INTENT_NONE) {
            return true;
        }
    }
    return false;
}

void bind_node_pause(struct bind_node *n, const char *why)
{
    n->error = why;
    bind_node_end_look(n);
    if (bind_node_is_waited_for(n)) {
        n->again_ns = clock_mono_ns(n->binder->clock) + bind_pause_ns(n->failed_n++);
        bind_wake_at(n->binder, n->again_ns);
    }
}

void bind_node_go_on(struct bind_node *n)
{
    n->error = NULL;
    n->again_ns = INT64_MIN;
    n->failed_n = 0;
}

/* ---- one after the other ---- */

/* By a bind that has to choose devices, or without one. */
static bool is_asked_about(const struct bind_node *n)
{
    return n->looking || bind_node_has(n, BIND_INTENT_AWAITS_NODE);
}

static void take_step(struct bind_node *n)
{
    struct intent *open;

    if (n->busy || n->binder->stopping) {
        return;
    }
    if (clock_mono_ns(n->binder->clock) < n->again_ns) {
        bind_wake_at(n->binder, n->again_ns);
        return;
    }
    if (!n->read) {
        bind_node_give_turn(n, BIND_INTENT_WANTED, BIND_INTENT_FAILED);
        if (is_asked_about(n)) {
            bind_node_read(n);
        }
        return;
    }
    if (bind_node_has(n, BIND_INTENT_WANTED)) {
        bind_node_write(n);
    }
    if (!n->busy && n->read && is_asked_about(n)) {
        open = unproven(n);
        if (open != NULL) {
            bind_node_read_pod(n, open);
        } else {
            bind_node_give_turn(n, BIND_INTENT_AWAITS_NODE, BIND_INTENT_AWAITS_NODE);
            bind_node_looked_at(n);
        }
    }
}

/* The rank is told last: what was read may be found illegible again. */
void bind_node_advance(struct bind_node *n)
{
    take_step(n);
    look_at_doubt(n);
}

bool bind_node_is_ready(struct bind *b)
{
    struct binder *binder = b->binder;

    if (binder->intent_objects == NULL || !store_has_node(binder->store, b->request.node_name) ||
        !store_knows_pod(binder->store, b->request.pod_uid)) {
        return true;
    }
    b->node = bind_node_of(binder, b->request.node_name);
    if (b->node->read && unproven(b->node) == NULL) {
        b->node_reading = b->node->reading;
        return true;
    }
    b->intent = BIND_INTENT_AWAITS_NODE;
    bind_node_advance(b->node);
    bind_wake_at(binder, b->machine.deadline_ns);
    return false;
}

int64_t bind_node_due_ns(const struct bind *b)
{
    const struct bind_node *n = b->node;

    return n->busy || n->again_ns == INT64_MIN ? INT64_MAX : n->again_ns;
}

const char *bind_intent_obstacle(const struct bind *b)
{
    if (b->binder->intent_objects == NULL || !b->reserved) {
        return NULL;
    }
    if (b->node == NULL) { /* pod or node came between the look at the node and the choice of devices */
        return TEXT_UNREAD;
    }
    if (!binder_versions_hold(b->binder)) {
        return TEXT_VERSIONS;
    }
    if (b->machine.version == 0) {
        return TEXT_NO_VERSION;
    }
    return store_is_in_host_group(b->binder->store, b->request.node_name) ? TEXT_HOST_GROUP : NULL;
}

/* A second Binding of the same version stands in the same intent. */
bool bind_has_intent(struct bind *b)
{
    if (b->binder->intent_objects == NULL || !b->reserved || b->intent_version == b->machine.version) {
        return true;
    }
    b->intent = BIND_INTENT_WANTED;
    bind_node_advance(b->node);
    return false;
}
