#include "cmd_node/health_tell.h"

#include "cmd_node/api.h"

#include <stdio.h>

#define PODS_BYTES_MAX (256U << 10)
#define PODS_TOLD_MAX 256

static void record(const struct health_watch_options *o, const struct event_object *about,
                   const struct health_change *c, const char *note)
{
    const struct event e = {
        .reason = c->now.kind == HEALTH_WELL ? EVENT_DEVICE_HEALTHY : EVENT_DEVICE_UNHEALTHY,
        .regarding = *about,
        .note = str_of(note),
    };

    o->record(o->ctx, &e);
}

static const char *remedy_of(enum health_kind kind)
{
    switch (kind) {
    case HEALTH_XID:
        return "Drain the node, reset the GPU or boot the machine, and start fgpu-node again";
    case HEALTH_LOST:
        return "Look at the machine's kernel log; it may need to be booted";
    case HEALTH_UNWATCHED:
        return "Look at the machine's kernel log and whether nvidia-smi answers";
    case HEALTH_WELL:
        break;
    }
    return "Containers get it again";
}

static void tell_node(const struct health_watch_options *o, const struct health_change *c, const char *words,
                      size_t pod_n)
{
    const struct event_object node = node_event_object(o->node);
    char note[EVENT_NOTE_MAX];

    if (c->now.kind == HEALTH_WELL) {
        snprintf(note, sizeof(note), "GPU %.*s is well again. %s", STR_ARG(c->uuid), remedy_of(HEALTH_WELL));
    } else {
        snprintf(note, sizeof(note), "GPU %.*s %s. No new container gets it; %zu pod%s hold%s it. %s", STR_ARG(c->uuid),
                 words, pod_n, pod_n == 1 ? "" : "s", pod_n == 1 ? "s" : "", remedy_of(c->now.kind));
    }
    record(o, &node, c, note);
}

static void tell_pod(const struct health_watch_options *o, const struct fence_pod *pod, const struct health_change *c,
                     const char *words)
{
    const struct event_object about = {
        .kind = EVENT_OBJECT_POD, .namespace_ = pod->namespace_, .name = pod->name, .uid = pod->uid};
    char note[EVENT_NOTE_MAX];

    if (c->now.kind == HEALTH_WELL) {
        snprintf(note, sizeof(note), "GPU %.*s, which this pod holds, is well again", STR_ARG(c->uuid));
    } else {
        snprintf(note, sizeof(note),
                 "GPU %.*s, which this pod holds, %s. What runs goes on, but a container of it that starts again does "
                 "not get the GPU; delete the pod so that it is placed again",
                 STR_ARG(c->uuid), words);
    }
    record(o, &about, c, note);
}

void health_tell(const struct health_watch_options *o, const struct health_change *c)
{
    struct fence_pod pods[PODS_TOLD_MAX];
    char words[HEALTH_WORDS_BYTES];
    struct arena a;
    size_t n;

    arena_init(&a, PODS_BYTES_MAX);
    n = answers_pods_on(o->answers, c->uuid, &a, pods, PODS_TOLD_MAX);
    health_words(c->now, words);
    if (!c->of_its_gpu) {
        if (c->now.kind == HEALTH_WELL) {
            LOG_INFO(o->log, "A GPU is well again", LOG_STR("gpu", c->uuid));
        } else {
            LOG_ERROR(o->log, "A GPU is ill; no new container gets it", LOG_STR("gpu", c->uuid), LOG_CSTR("why", words),
                      LOG_I64("pods", (int64_t)n), LOG_CSTR("remedy", remedy_of(c->now.kind)));
        }
        tell_node(o, c, words, n);
    }
    for (size_t i = 0; i < n; i++) {
        tell_pod(o, &pods[i], c, words);
    }
    arena_fini(&a);
}
