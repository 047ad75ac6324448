/* The scheduling cycle: one pod at a time, as kube-scheduler's. */
#include "demo/scheduler/player_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CYCLES_PER_PASS 32 /* then the list of pending pods is read again */
#define IDLE_MS 5
/* The extender may refuse once more than it must because its watch is behind; kube-scheduler
 * flushes such pods after 5 minutes, which is long for a demonstration. */
#define FLUSH_NS (5 * NS_PER_S)

struct pending {
    struct bind_job job; /* names, and the decision to be */
    char *json;
    cJSON *selector; /* spec.nodeSelector; NULL: none */
};

struct pass { /* one look at all pods and nodes */
    struct player *p;
    int64_t now_ns;
    uint64_t cluster; /* changes with the set of nodes and of live bound pods */
    struct name_list nodes;
    struct pending due[CYCLES_PER_PASS];
    size_t due_n;
};

static const struct hash_key cluster_key = {1, 2};

static void see_node(void *ctx, const cJSON *node)
{
    struct pass *pass = ctx;
    const char *rv = doc_text(node, "metadata.resourceVersion");
    const char *name = doc_text(node, "metadata.name");
    pass->cluster += hash_str(cluster_key, str_of(rv)) ^ hash_str(cluster_key, str_of(name));
    if (cJSON_IsTrue(doc_at(node, "spec.unschedulable"))) {
        return; /* kube-scheduler's own filters drop it */
    }
    if ((pass->nodes.n & (pass->nodes.n - 1)) == 0) {
        size_t cap = pass->nodes.n ? pass->nodes.n * 2 : 1;
        pass->nodes.items = xreallocarray(pass->nodes.items, cap, sizeof(char *));
    }
    char *copy = strdup(name);
    BUG_ON(!copy);
    pass->nodes.items[pass->nodes.n++] = copy;
}

/* First look: which pods hold capacity. */
static void see_bound(void *ctx, const cJSON *pod)
{
    struct pass *pass = ctx;
    const char *phase = doc_text(pod, "status.phase");
    if (doc_text(pod, "spec.nodeName")[0] && strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0) {
        pass->cluster += hash_str(cluster_key, str_of(doc_text(pod, "metadata.uid")));
    }
}

static bool is_pending(const cJSON *pod)
{
    return doc_text(pod, "spec.nodeName")[0] == '\0' && strcmp(doc_text(pod, "status.phase"), "Pending") == 0 &&
           doc_text(pod, "metadata.deletionTimestamp")[0] == '\0' &&
           strcmp(doc_text(pod, "spec.schedulerName"), PLAYER_SCHEDULER) == 0;
}

static void take_pending(struct pass *pass, const cJSON *pod)
{
    struct pending *d = &pass->due[pass->due_n++];
    *d = (struct pending){.json = doc_print(pod), .selector = cJSON_Duplicate(doc_at(pod, "spec.nodeSelector"), true)};
    snprintf(d->job.uid, sizeof(d->job.uid), "%s", doc_text(pod, "metadata.uid"));
    snprintf(d->job.namespace_, sizeof(d->job.namespace_), "%s", doc_text(pod, "metadata.namespace"));
    snprintf(d->job.name, sizeof(d->job.name), "%s", doc_text(pod, "metadata.name"));
    snprintf(d->job.decision.pod, sizeof(d->job.decision.pod), "%s", doc_text(pod, "metadata.name"));
    gpu_request_text(pod, d->job.decision.gpu_request, sizeof(d->job.decision.gpu_request));
}

/* Second look, with the lock: which pending pods may be tried now. A refused one waits for another
 * state of the cluster, as the pods that an extender rejected do in kube-scheduler. */
static void see_pending(void *ctx, const cJSON *pod)
{
    struct pass *pass = ctx;
    struct player *p = pass->p;
    if (!is_pending(pod)) {
        return;
    }
    const char *uid = doc_text(pod, "metadata.uid");
    struct queue_entry *e = player_entry(p, uid);
    if (!e) {
        e = player_entry_add(p, uid);
    }
    e->seen = true;
    bool waits = e->wait_cluster == pass->cluster && pass->now_ns < e->flush_ns;
    if (!e->binding && pass->now_ns >= e->not_before_ns && !waits && pass->due_n < CYCLES_PER_PASS) {
        take_pending(pass, pod);
    }
}

static void list_pods(struct pass *pass)
{
    struct player *p = pass->p;
    pass->now_ns = clock_mono_ns(p->clock);
    apiserver_each(p->apiserver, APISERVER_NODES, see_node, pass);
    apiserver_each(p->apiserver, APISERVER_PODS, see_bound, pass);
    pass->cluster |= 1; /* 0 means "waits for nothing" */
    mutex_lock(&p->lock);
    apiserver_each(p->apiserver, APISERVER_PODS, see_pending, pass);
    player_sweep(p);
    mutex_unlock(&p->lock);
}

static void write_condition(struct player *p, const struct bind_job *job, const char *message)
{
    struct strbuf b;
    struct json_writer w;
    strbuf_init(&b, 4096);
    strbuf_add_cstr(&b, "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
                        "\"reason\":\"Unschedulable\",\"message\":");
    json_writer_init(&w, &b);
    json_write_cstr(&w, message);
    strbuf_add_cstr(&b, "}]}}");
    /* The pod may be gone or bound meanwhile: then nobody needs the condition. */
    (void)!apiserver_patch(p->apiserver, APISERVER_PODS, job->namespace_, job->name, b.p, NULL);
    strbuf_fini(&b);
}

static void refused(struct pass *pass, struct bind_job *job, const struct filter_result *f)
{
    struct player *p = pass->p;
    struct decision *d = &job->decision;
    size_t at = 0;
    d->kind = DECISION_REFUSED;
    for (size_t i = 0; i < f->reason_n && at < sizeof(d->reason); i++) {
        int n = snprintf(d->reason + at, sizeof(d->reason) - at, "%s%zu %s", i ? ", " : "", f->reasons[i].n,
                         f->reasons[i].text);
        at += n > 0 ? (size_t)n : 0;
    }
    uint64_t hash = hash_str(cluster_key, str_of(d->reason));
    bool write = false;

    mutex_lock(&p->lock);
    p->stats.refusals++;
    player_record(p, d);
    struct queue_entry *e = player_entry(p, job->uid);
    if (e) {
        e->refused = true;
        e->wait_cluster = pass->cluster;
        e->flush_ns = clock_mono_ns(p->clock) + player_scaled_ns(p, FLUSH_NS);
        player_back_off(p, e);
        write = e->condition != hash;
        e->condition = hash;
    }
    mutex_unlock(&p->lock);
    if (write) {
        char message[sizeof(d->reason) + 64];
        snprintf(message, sizeof(message), "0/%zu nodes are available: %s.", pass->nodes.n, d->reason);
        write_condition(p, job, message);
    }
}

/* The place of the winner among the feasible: highest score, ties at random. */
static size_t choose(struct player *p, const int64_t *scores, size_t n)
{
    size_t best = 0, ties = 1;
    for (size_t i = 1; i < n; i++) {
        if (scores[i] > scores[best]) {
            best = i;
            ties = 1;
        } else if (scores[i] == scores[best] && rng_below(&p->rng, ++ties) == 0) {
            best = i;
        }
    }
    return best;
}

static void add_latency(struct player *p, struct latency *l, struct decision *d, int64_t us)
{
    d->us += us;
    mutex_lock(&p->lock);
    latency_add(l, us);
    mutex_unlock(&p->lock);
}

/* ---- NodeAffinity, as far as nodeSelector goes ---- */

struct selected {
    const cJSON *selector;
    const struct name_list *nodes;
    struct name_list names; /* borrowed from `nodes` */
};

static int by_text(const void *key, const void *item)
{
    return strcmp(key, *(char *const *)item);
}

static void select_node(void *ctx, const cJSON *node)
{
    struct selected *s = ctx;
    const cJSON *want;
    char **name = s->nodes->n > 0
                      ? bsearch(doc_text(node, "metadata.name"), s->nodes->items, s->nodes->n, sizeof(char *), by_text)
                      : NULL;
    if (!name) {
        return; /* cordoned, or new since this pass began */
    }
    cJSON_ArrayForEach(want, s->selector)
    {
        const char *has = cJSON_GetStringValue(doc_field(doc_at(node, "metadata.labels"), want->string));
        if (!has || !cJSON_IsString(want) || strcmp(has, want->valuestring) != 0) {
            return;
        }
    }
    s->names.items[s->names.n++] = *name;
}

/* The nodes whose labels the pod asks for. The caller frees the array, not the names. */
static struct name_list nodes_for(const struct pass *pass, const struct pending *pod)
{
    struct selected s = {.selector = pod->selector, .nodes = &pass->nodes};
    s.names.items = xcalloc(pass->nodes.n > 0 ? pass->nodes.n : 1, sizeof(char *));
    if (pod->selector) {
        apiserver_each(pass->p->apiserver, APISERVER_NODES, select_node, &s);
    } else if (pass->nodes.n > 0) {
        memcpy(s.names.items, pass->nodes.items, pass->nodes.n * sizeof(char *));
        s.names.n = pass->nodes.n;
    }
    return s.names;
}

/* Nodes that were not even offered to the extender come behind its own reasons. */
static void add_unselected(struct filter_result *f, size_t n)
{
    if (n > 0 && f->reason_n < VERBS_REASONS_MAX) {
        f->reasons[f->reason_n].n = n;
        snprintf(f->reasons[f->reason_n++].text, sizeof(f->reasons[0].text),
                 "node(s) didn't match Pod's node affinity/selector");
    }
}

static void cycle(struct pass *pass, const struct name_list *nodes, struct verbs *v, struct pending *pod)
{
    struct player *p = pass->p;
    struct filter_result f = {0};
    struct err err;
    int64_t us;
    struct str json = str_of(pod->json);
    if (nodes->n == 0) {
        add_unselected(&f, pass->nodes.n);
        refused(pass, &pod->job, &f);
        return;
    }
    if (verbs_filter(v, json, nodes, &f, &us, &err)) {
        player_failed(p, pod->job.uid, &pod->job.decision, &err);
        return;
    }
    add_latency(p, f.feasible_n == 0 ? &p->stats.refusal : &p->stats.filter, &pod->job.decision, us);
    if (f.feasible_n == 0) {
        add_unselected(&f, pass->nodes.n - nodes->n);
        refused(pass, &pod->job, &f);
        free(f.feasible);
        return;
    }
    size_t place = 0;
    if (f.feasible_n > 1) {
        int64_t *scores = xcalloc(f.feasible_n, sizeof(*scores));
        if (verbs_prioritize(v, json, nodes, &f, scores, &us, &err) == 0) {
            add_latency(p, &p->stats.prioritize, &pod->job.decision, us);
            place = choose(p, scores, f.feasible_n);
        } else {
            /* kube-scheduler goes on with whatever scores it has; it is counted all the same. */
            player_failed(p, NULL, &pod->job.decision, &err);
            place = (size_t)rng_below(&p->rng, f.feasible_n);
        }
        free(scores);
    }
    snprintf(pod->job.node, sizeof(pod->job.node), "%s", nodes->items[f.feasible[place]]);
    snprintf(pod->job.decision.node, sizeof(pod->job.decision.node), "%.63s", pod->job.node);
    free(f.feasible);
    player_submit(p, &pod->job);
}

void *player_schedule(void *ctx)
{
    struct player *p = ctx;
    struct verbs *v = verbs_new(p->verbs_url, &p->stop);
    struct pass *pass = xcalloc(1, sizeof(*pass));
    while (!atomic_load(&p->stop)) {
        *pass = (struct pass){.p = p};
        list_pods(pass);
        for (size_t i = 0; i < pass->due_n; i++) {
            if (!atomic_load(&p->stop)) {
                struct name_list nodes = nodes_for(pass, &pass->due[i]);
                cycle(pass, &nodes, v, &pass->due[i]);
                free(nodes.items);
            }
            free(pass->due[i].json);
            cJSON_Delete(pass->due[i].selector);
        }
        name_list_fini(&pass->nodes);
        if (pass->due_n == 0) {
            player_sleep_ms(IDLE_MS);
        }
    }
    free(pass);
    verbs_free(v);
    return NULL;
}
