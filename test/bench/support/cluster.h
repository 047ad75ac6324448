/* bench/support/cluster.h - the cluster of the benchmarks: every object is a function of its
 * number, so that 20,000 nodes and 50,000 pods need no memory and two runs see the same bytes.
 *
 * Nodes come in five loads, by number modulo 5: empty; whole GPUs and shares side by side; two with
 * shares of many sizes; one that is nearly full. Objects carry what real ones carry that fgpu has
 * to read past (managedFields, volumes, conditions, images), because reading past it is most of the
 * work.
 */
#ifndef BENCH_CLUSTER_H
#define BENCH_CLUSTER_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct bench_cluster {
    uint32_t node_n;
    uint32_t gpu_n;     /* per node, 1..16 */
    uint32_t per_node;  /* bound pods per node on average; node loads vary from none to twice that */
    uint32_t pending_n; /* pods that wait, in namespace "bench" */
    bool full;          /* no node is empty, and the last pod that waits is a hungry one, which fits nowhere */
    bool scattered;     /* shares of any size, so that hardly two nodes are alike; else a few dozen kinds of nodes */
};

#define BENCH_NAME_MAX 48

/* Numbers of bound pods: 0..bench_bound_n-1. */
uint32_t bench_bound_n(const struct bench_cluster *c);

char *bench_node_name(uint32_t node, char buf[BENCH_NAME_MAX]);
char *bench_pending_name(uint32_t i, char buf[BENCH_NAME_MAX]);
char *bench_pending_uid(uint32_t i, char buf[BENCH_NAME_MAX]);

/* The names of `node_n` nodes from `first` on as a JSON list, in the kind of order in which kube-scheduler sends them:
 * its workers take pieces of some dozen consecutive nodes each and finish them in any order. */
void bench_write_names(struct strbuf *out, uint32_t first, uint32_t node_n, uint32_t piece, uint64_t seed);
#define BENCH_PIECE 64

/* One object of the API, without apiVersion and kind, as in a list. */
void bench_write_node(struct strbuf *out, const struct bench_cluster *c, uint32_t node, uint64_t version);
void bench_write_bound(struct strbuf *out, const struct bench_cluster *c, uint32_t pod, uint64_t version);

/* A bound pod without GPUs, on the nodes in turn. */
void bench_write_cpu_only(struct strbuf *out, const struct bench_cluster *c, uint32_t pod, uint64_t version);

/* A waiting pod. Odd shapes never repeat within some thousand pods; else every pod asks for the
 * same. With `node` it is bound there with these annotations, as the API server shows it after a
 * Binding. */
struct bench_binding {
    struct str node_name;
    struct str annotations; /* "key":"value",... without braces, already JSON */
};
void bench_write_pending(struct strbuf *out, uint32_t i, bool odd_shape, const struct bench_binding *at,
                         uint64_t version);
/* One that asks for all GPUs of a node. */
void bench_write_hungry(struct strbuf *out, const struct bench_cluster *c, uint32_t i, uint64_t version);

#endif
