/* nri/plugin.h - a plugin of the container runtime (containerd, CRI-O) over NRI, the Node Resource Interface.
 *
 * It connects to the runtime's socket, registers, and is asked about containers; when the connection ends, for whatever
 * reason, it connects again until it is stopped. One thread does all of it: callbacks run on that thread, one at a
 * time, never after nri_plugin_stop() has returned.
 *
 * Of one connection: connected, sync_begin, sync_pod and sync_container in any number, sync_end; then create, start,
 * stop and remove, as it happens; disconnected at the end, once, wherever it ended after connected. Every connection
 * tells all there is anew, so that whoever starts from nothing at sync_begin is right after sync_end.
 *
 * Time: the runtime waits 2 s (its default) for the plugins of a container, all together and with a lock that stops
 * every other container of the node. A plugin that is late is dropped, and the container is made *without* what it
 * would have added. The same goes for a plugin that is not there, or ends in the middle. So a callback never waits for
 * a network or a driver, and no container may be able to use a GPU because nobody edited it.
 *
 * Facts and their sources: nri/container.h; the wire is described where it is spoken (src/nri/mux.h, src/nri/ttrpc.h).
 */
#ifndef NRI_PLUGIN_H
#define NRI_PLUGIN_H

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "nri/container.h"

#include <stdbool.h>
#include <stdint.h>

#define NRI_STALL_MS 30000 /* a runtime that stops in the middle of something is given up after that long */
#define NRI_SOCKET_DEFAULT "/var/run/nri/nri.sock"

/* Who is at the other end. */
struct nri_runtime {
    struct str name;            /* "containerd", "cri-o" */
    struct str version;         /* "v2.4.2"; a distribution may write it in its own way */
    struct str nri_version;     /* empty before 0.12 */
    int64_t request_timeout_ms; /* of all plugins together; 0 where the runtime does not say (before 0.10) */
};

/* Callbacks; each may be NULL, then nothing happens and a container is let through as it is. `ctx` is handed to
 * each. */
struct nri_handler {
    void *ctx;
    void (*connected)(void *ctx, const struct nri_runtime *runtime);

    /* What there is: all pods, all containers. A container may come before its pod: join them by pod_id at the end.
     * Sandboxes linger, stopped containers are listed: what holds a device is a container that runs, or was created. */
    void (*sync_begin)(void *ctx);
    void (*sync_pod)(void *ctx, const struct nri_pod *pod);
    void (*sync_container)(void *ctx, const struct nri_container *container);
    /* One of them cannot be read, and nobody knows what it holds; the others go on. `what` is "pod" or "container". It
     * takes a message that is no NRI, or one that would fill 64 MiB of memory. */
    void (*sync_unreadable)(void *ctx, const char *what, const struct err *why);
    void (*sync_end)(void *ctx);

    /* A container is about to be made. 0: with what *ret says (all zero: as it is), arrays and texts from `arena` or
     * from pod and container. Negative: it is not made; the message of `reterr` reaches the user as an Event of the
     * pod, and kubelet tries again. */
    int (*create)(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct arena *arena,
                  struct nri_adjustment *ret, struct err *reterr);
    /* Its cgroup and process exist, its program does not run yet. Negative: as above with containerd; CRI-O writes the
     * error to its log and goes on. */
    int (*start)(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct err *reterr);
    /* It runs no more (containerd says so after the stop). It may still be there, and never start again. Also told of
     * one whose creation or start was refused (seen with containerd 2.4.2), and then remove: neither may surprise. */
    void (*stop)(void *ctx, const struct nri_pod *pod, const struct nri_container *container);
    /* It is gone; also when no stop was told of it. */
    void (*remove)(void *ctx, const struct nri_pod *pod, const struct nri_container *container);

    /* A pod's sandbox is gone, and its containers with it. */
    void (*sandbox_removed)(void *ctx, const struct nri_pod *pod);

    /* Nothing is heard any more: until the next sync_end, containers come and go unseen. */
    void (*disconnected)(void *ctx, const struct err *why);
};

/* Zero values are fine but for name and index. Borrowed: log; copied: the texts. */
struct nri_plugin_options {
    const char *socket_path; /* NULL: NRI_SOCKET_DEFAULT */
    const char *name;        /* letters, digits, '_', '.', '+', '-' */
    const char *index;       /* two digits; plugins are asked in ascending order */
    /* From NRI 0.12.5 on: while this plugin is late or dies in a request, the container is refused. Older ones do not
     * know it and go on without. */
    bool fail_request;
    int64_t stall_ms; /* 0: NRI_STALL_MS */
    const struct log *log;
};

struct nri_plugin;

/* Returns at once; a runtime that is not there yet is waited for. ERR_INVALID: name, index or path cannot be used. */
WARN_UNUSED int nri_plugin_start(const struct nri_plugin_options *options, const struct nri_handler *handler,
                                 struct nri_plugin **ret, struct err *reterr);

/* Ends the connection, joins the thread and frees; waits for a callback that runs. NULL is fine. Not from a callback.
 */
void nri_plugin_stop(struct nri_plugin *p);

struct nri_plugin_stats {
    bool synchronized;    /* connected, and sync_end was told */
    uint64_t connections; /* that came as far as that */
    uint64_t requests;    /* answered, of whatever kind */
    uint64_t refusals;    /* containers that were not made or not started because a callback said so */
    uint64_t unreadable;  /* pods, containers and requests that could not be read */
    int64_t slowest_ns;   /* from the last byte of a request to its answer, of those after sync_end */
};

/* From any thread. */
void nri_plugin_stats(struct nri_plugin *p, struct nri_plugin_stats *ret);

#endif
