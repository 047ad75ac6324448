/* node/usage.h - what the containers of this node use of their GPUs: now, at most, and in the mean, and who uses more
 * than the record gives.
 *
 * Told in looks, every few seconds: who holds what (the fence knows), then for each GPU that could be read its
 * processes, by container. Between two looks nothing is known: a peak is the largest of what was seen, and a process
 * that came and went between two looks was not.
 *
 * Memory is the sum over the processes of a container, contexts included, as the record's memory is what the container
 * may take of the GPU with all that belongs to it. One process whose memory is not known makes the container's unknown.
 * What is unknown is nobody's fault: a container is above its memory only while that is measured.
 *
 * Who is judged: a container with a share of a GPU. A GPU or an instance that somebody has alone is limited by itself.
 *
 * Crowding, where containers share a GPU that is busy (BUSY_MILLI or more): a container uses more compute than its
 * share by CROWDING_MILLI or more, while another one that has work gets less than its own. Its share is what the record
 * gives it, or, if that is none, the even part. Nobody is judged for using what is idle.
 *
 * Means are over the time between looks; the value of a look stands for the time since the look before. What ended
 * stays in a list of the last USAGE_ENDED_MAX, so that a short job can be sized, too.
 *
 * Pure, time is an argument. Not thread-safe. Texts are copied.
 */
#ifndef NODE_USAGE_H
#define NODE_USAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USAGE_ENDED_MAX 128
#define USAGE_BUSY_MILLI 900
#define USAGE_CROWDING_MILLI 100
#define USAGE_UNKNOWN (-1)

/* A container, and one GPU that it holds. */
struct usage_holder {
    struct str container_id;
    struct str pod_uid, namespace_, pod, container;
    struct str gpu;    /* UUID */
    int32_t milli;     /* as recorded */
    int64_t mem_bytes; /* as recorded */
    bool alone;        /* nobody else may use it: amounts are not judged */
};

struct usage_process {
    int64_t pid;
    uint64_t started;  /* tells this process from a later one with the same pid */
    int64_t mem_bytes; /* USAGE_UNKNOWN */
    int32_t milli;     /* USAGE_UNKNOWN */
};

struct usage_amount {
    int64_t now;  /* USAGE_UNKNOWN: the last look could not tell */
    int64_t peak; /* USAGE_UNKNOWN: never known */
    int64_t mean; /* likewise */
};

struct usage_row {
    struct usage_holder holder;
    int64_t since_ns; /* of the first look at it */
    int64_t seen_ns;  /* of the last one that could read its GPU */
    int64_t look_n;   /* that could */
    struct usage_amount mem_bytes, milli;
    size_t process_n; /* in the last look */
    bool touched;     /* it has ever had a process on the GPU */
    bool ended;
    int64_t over_since_ns;        /* above its memory since then; USAGE_UNKNOWN: it is not */
    struct usage_process largest; /* of its processes the one with the most memory; pid 0: none */
    bool crowding;                /* in the last look */
    int64_t crowding_ns;          /* together */
};

struct usage;

struct usage *usage_new(void);
void usage_free(struct usage *u); /* NULL is fine */

/* ---- one look: begin, all holders, all GPUs that could be read, end ---- */

void usage_look_begin(struct usage *u, int64_t now_ns);
void usage_look_holder(struct usage *u, const struct usage_holder *h);
/* This GPU could be read; its processes follow. `knows_compute`: those that are not told used none. */
void usage_look_gpu(struct usage *u, struct str gpu, bool knows_compute);
/* A process of that container on the GPU of the last usage_look_gpu. False: that container does not hold this GPU. */
bool usage_look_process(struct usage *u, struct str container_id, const struct usage_process *p);
/* Who was not told as a holder has ended. */
void usage_look_end(struct usage *u);

/* ---- what is known ---- */

/* Those that hold something; the order changes with each look. Valid until the next call that is not const. */
size_t usage_n(const struct usage *u);
const struct usage_row *usage_at(const struct usage *u, size_t i);
/* Those that have ended, the latest first. */
size_t usage_ended_n(const struct usage *u);
const struct usage_row *usage_ended_at(const struct usage *u, size_t i);
/* NULL: it holds no such GPU now. */
const struct usage_row *usage_of(const struct usage *u, struct str container_id, struct str gpu);

/* It is above its memory for at least `grace_ns` at the time of the last look, and there is a process to blame. */
bool usage_is_due(const struct usage *u, const struct usage_row *r, int64_t grace_ns);

#endif
