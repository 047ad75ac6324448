#include "support/cluster.h"

#include "base/bug.h"
#include "base/json_write.h"
#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOADS = 5, MEM_MIB = 81920 };

/* Pods on a node of this load. */
static uint32_t pods_of_load(const struct bench_cluster *c, uint32_t load)
{
    static const uint32_t HALVES[LOADS] = {0, 2, 2, 2, 4};
    uint32_t halves = c->full && load == 0 ? 2 : HALVES[load];

    return c->per_node * halves / 2;
}

/* ... on five nodes in a row, one of each load. */
static uint32_t pods_of_group(const struct bench_cluster *c)
{
    uint32_t n = 0;

    for (uint32_t load = 0; load < LOADS; load++) {
        n += pods_of_load(c, load);
    }
    return n;
}

uint32_t bench_bound_n(const struct bench_cluster *c)
{
    uint32_t n = c->node_n / LOADS * pods_of_group(c);

    for (uint32_t load = 0; load < c->node_n % LOADS; load++) {
        n += pods_of_load(c, load);
    }
    return n;
}

/* Pods are numbered along the nodes. */
static void find_bound(const struct bench_cluster *c, uint32_t pod, uint32_t *ret_node, uint32_t *ret_nth)
{
    uint32_t group = pods_of_group(c);
    uint32_t nth = pod % group, load = 0;

    while (nth >= pods_of_load(c, load)) {
        nth -= pods_of_load(c, load++);
    }
    *ret_node = pod / group * LOADS + load;
    *ret_nth = nth;
}

char *bench_node_name(uint32_t node, char buf[BENCH_NAME_MAX])
{
    snprintf(buf, BENCH_NAME_MAX, "gpu-node-%05" PRIu32, node);
    return buf;
}

char *bench_pending_name(uint32_t i, char buf[BENCH_NAME_MAX])
{
    snprintf(buf, BENCH_NAME_MAX, "waiting-%06" PRIu32, i);
    return buf;
}

char *bench_pending_uid(uint32_t i, char buf[BENCH_NAME_MAX])
{
    snprintf(buf, BENCH_NAME_MAX, "77777777-0000-4000-8000-%012" PRIu32, i);
    return buf;
}

void bench_write_names(struct strbuf *out, uint32_t first, uint32_t node_n, uint32_t piece, uint64_t seed)
{
    uint32_t piece_n = (node_n + piece - 1) / piece, written = 0;
    uint32_t *order = xcalloc(piece_n, sizeof(*order));
    char name[BENCH_NAME_MAX];
    struct rng rng;

    rng_init(&rng, seed);
    for (uint32_t i = 0; i < piece_n; i++) {
        uint32_t j = (uint32_t)rng_below(&rng, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    strbuf_add_char(out, '[');
    for (uint32_t i = 0; i < piece_n; i++) {
        for (uint32_t k = order[i] * piece; k < (order[i] + 1) * piece && k < node_n; k++) {
            strbuf_addf(out, "%s\"%s\"", written++ > 0 ? "," : "", bench_node_name(first + k, name));
        }
    }
    strbuf_add_char(out, ']');
    free(order);
}

static void gpu_uuid(uint32_t node, uint32_t gpu, char buf[BENCH_NAME_MAX])
{
    uint32_t mixed = (node + 1) * 2654435761U ^ gpu * 40503U;

    snprintf(buf, BENCH_NAME_MAX, "GPU-%08" PRIx32 "-5a5a-4000-8000-%06" PRIx32 "%06" PRIx32, mixed, node, gpu);
}

static void write_inventory(struct strbuf *out, uint32_t node, uint32_t gpu_n)
{
    char uuid[BENCH_NAME_MAX];

    strbuf_add_cstr(out, "{\"v\":1,\"gpus\":[");
    for (uint32_t i = 0; i < gpu_n; i++) {
        gpu_uuid(node, i, uuid);
        strbuf_addf(out,
                    "%s{\"uuid\":\"%s\",\"index\":%" PRIu32 ",\"minor\":%" PRIu32
                    ",\"model\":\"NVIDIA-%s\",\"memMib\":%d,\"slots\":16,\"numa\":%" PRIu32 ",\"healthy\":true}",
                    i > 0 ? "," : "", uuid, i, i, node / LOADS % 2 == 0 ? "A100-SXM4-80GB" : "H100-80GB-HBM3", MEM_MIB,
                    i * 2 / gpu_n);
    }
    strbuf_add_cstr(out, "]}");
}

static void write_managed_fields(struct strbuf *out)
{
    strbuf_add_cstr(out, "\"managedFields\":[{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":"
                         "\"v1\","
                         "\"time\":\"2026-11-20T08:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:"
                         "metadata\":{"
                         "\"f:annotations\":{\".\":{},\"f:fgpu.io/"
                         "assignment\":{}},\"f:labels\":{\".\":{},\"f:app\":{},"
                         "\"f:pod-template-hash\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}"
                         "\":{"
                         "\".\":{},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:name\":{},\"f:resources\":{\".\":{},"
                         "\"f:limits\":{\".\":{},\"f:fgpu.io/"
                         "gpu-milli\":{}}},\"f:volumeMounts\":{}}},\"f:dnsPolicy\":{},"
                         "\"f:restartPolicy\":{},\"f:schedulerName\":{},\"f:securityContext\":{}},\"f:status\":{"
                         "\"f:conditions\":{\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},\"f:status\":{}}},\"f:"
                         "phase\":{}}}}]");
}

void bench_write_node(struct strbuf *out, const struct bench_cluster *c, uint32_t node, uint64_t version)
{
    char name[BENCH_NAME_MAX];
    struct strbuf inventory;
    struct json_writer w;

    strbuf_init(&inventory, 1 << 20);
    write_inventory(&inventory, node, c->gpu_n);
    bench_node_name(node, name);
    strbuf_addf(out,
                "{\"metadata\":{\"name\":\"%s\",\"uid\":\"55555555-0000-4000-8000-%012" PRIu32
                "\",\"resourceVersion\":\"%" PRIu64 "\",\"creationTimestamp\":\"2026-11-20T08:00:00Z\","
                "\"labels\":{\"kubernetes.io/hostname\":\"%s\",\"kubernetes.io/arch\":\"amd64\","
                "\"kubernetes.io/os\":\"linux\",\"topology.kubernetes.io/zone\":\"a\"},"
                "\"annotations\":{\"node.alpha.kubernetes.io/ttl\":\"0\",\"fgpu.io/gpus\":",
                name, node, version, name);
    json_writer_init(&w, out);
    json_write_str(&w, strbuf_view(&inventory));
    strbuf_add_cstr(out, "},");
    write_managed_fields(out);
    strbuf_add_cstr(out, "},\"spec\":{\"podCIDR\":\"10.1.2.0/24\"},\"status\":{"
                         "\"allocatable\":{\"cpu\":\"96\",\"memory\":\"768Gi\",\"pods\":\"250\"},"
                         "\"capacity\":{\"cpu\":\"96\",\"memory\":\"768Gi\",\"pods\":\"250\"},\"conditions\":["
                         "{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\","
                         "\"message\":\"kubelet is posting ready status\"}],\"images\":[");
    for (int i = 0; i < 8; i++) {
        strbuf_addf(out,
                    "%s{\"names\":[\"registry.example/team/image-%d@sha256:"
                    "8d2f1c0b5e6a79483746f5e4d3c2b1a098f7e6d5c4b3a29180706f5e4d3c2b1a\"],\"sizeBytes\":%d}",
                    i > 0 ? "," : "", i, 123456789 + i);
    }
    strbuf_add_cstr(out, "]}}");
    strbuf_fini(&inventory);
}

/* Everything of a pod between its metadata's first fields and its end. */
static void write_pod_rest(struct strbuf *out, struct str limits, struct str node_name)
{
    write_managed_fields(out);
    strbuf_addf(out,
                "},\"spec\":{\"schedulerName\":\"fgpu-scheduler\",%s%.*s%s\"restartPolicy\":\"Always\","
                "\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":\"ClusterFirst\",\"priority\":0,"
                "\"serviceAccountName\":\"default\",\"enableServiceLinks\":true,\"volumes\":[{\"name\":"
                "\"kube-api-access\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
                "\"expirationSeconds\":3607,\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca."
                "crt\","
                "\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}}],\"defaultMode\":420}}],"
                "\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\","
                "\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],\"containers\":[{\"name\":\"main\","
                "\"image\":\"registry.example/team/train:1.2.3\",\"command\":[\"python\",\"train.py\"],"
                "\"env\":[{\"name\":\"NVIDIA_VISIBLE_DEVICES\",\"valueFrom\":{\"fieldRef\":{\"apiVersion\":"
                "\"v1\",\"fieldPath\":\"metadata.annotations['fgpu.io/visible-devices.c0']\"}}},"
                "{\"name\":\"EPOCHS\",\"value\":\"10\"}],\"resources\":{\"limits\":{%.*s},"
                "\"requests\":{\"cpu\":\"2\",\"memory\":\"8Gi\"}},\"volumeMounts\":[{\"name\":"
                "\"kube-api-access\",\"readOnly\":true,\"mountPath\":"
                "\"/var/run/secrets/kubernetes.io/"
                "serviceaccount\"}],\"imagePullPolicy\":\"IfNotPresent\"}]},"
                "\"status\":{\"phase\":\"%s\",\"qosClass\":\"Burstable\",\"conditions\":[{\"type\":"
                "\"PodScheduled\",\"status\":\"%s\",\"lastProbeTime\":null,\"lastTransitionTime\":"
                "\"2026-11-20T08:00:00Z\"}]}}",
                node_name.n > 0 ? "\"nodeName\":\"" : "", (int)node_name.n, node_name.n > 0 ? node_name.p : "",
                node_name.n > 0 ? "\"," : "", (int)limits.n, limits.p, node_name.n > 0 ? "Running" : "Pending",
                node_name.n > 0 ? "True" : "False");
}

struct share {
    uint32_t gpu;
    uint32_t milli; /* 1000: the whole GPU */
};

/* What the nth pod of a node of this load holds. */
static struct share share_of_bound(const struct bench_cluster *c, uint32_t node, uint32_t nth)
{
    uint32_t gpu_n = c->gpu_n, whole_n = gpu_n / 2;

    if (c->scattered && (node % LOADS != 1 || nth >= whole_n)) {
        uint32_t mixed = ((node + 1) * 2654435761U ^ (nth + 1) * 2246822519U) >> 9;
        uint32_t first = node % LOADS == 1 ? whole_n : 0;

        return (struct share){first + (nth - (first > 0 ? whole_n : 0)) % (gpu_n - first), 50 + 10 * (mixed % 26)};
    }
    switch (node % LOADS) {
    case 1:
        if (nth < whole_n) {
            return (struct share){nth, 1000};
        }
        return (struct share){whole_n + (nth - whole_n) % (gpu_n - whole_n), 150 + 50 * (nth % 3)};
    case 4:
        return (struct share){nth % gpu_n, 250 + 10 * (node % 7)};
    default:
        return (struct share){nth % gpu_n, 100 + 50 * ((node * 7 + nth * 3) % 7)};
    }
}

void bench_write_bound(struct strbuf *out, const struct bench_cluster *c, uint32_t pod, uint64_t version)
{
    char name[BENCH_NAME_MAX], uuid[BENCH_NAME_MAX], limits[96];
    uint32_t node, nth;
    struct share s;

    find_bound(c, pod, &node, &nth);
    s = share_of_bound(c, node, nth);
    gpu_uuid(node, s.gpu, uuid);
    snprintf(limits, sizeof(limits), "\"fgpu.io/gpu-milli\":\"%" PRIu32 "\"", s.milli);
    strbuf_addf(out,
                "{\"metadata\":{\"name\":\"running-%06" PRIu32 "\",\"namespace\":\"team-%" PRIu32
                "\",\"uid\":\"66666666-0000-4000-8000-%012" PRIu32 "\",\"resourceVersion\":\"%" PRIu64
                "\",\"creationTimestamp\":\"2026-11-20T08:00:00Z\",\"labels\":{\"app\":\"train\","
                "\"pod-template-hash\":\"5d8f7c\",\"job\":\"j-%" PRIu32 "\"},\"annotations\":{"
                "\"fgpu.io/visible-devices.c0\":\"%s\",\"fgpu.io/assignment\":\"{\\\"v\\\":1,\\\"id\\\":"
                "\\\"d-%" PRIu32 "\\\",\\\"containers\\\":[{\\\"name\\\":\\\"main\\\",\\\"init\\\":false,"
                "\\\"devices\\\":[{\\\"uuid\\\":\\\"%s\\\",\\\"index\\\":%" PRIu32 ",\\\"milli\\\":%" PRIu32
                ",\\\"memMib\\\":%" PRIu32 "}]}]}\"},",
                pod, pod % 40, pod, version, pod / 8, uuid, pod, uuid, s.gpu, s.milli,
                (uint32_t)((uint64_t)MEM_MIB * s.milli / 1000));
    write_pod_rest(out, str_of(limits), str_of(bench_node_name(node, name)));
}

void bench_write_cpu_only(struct strbuf *out, const struct bench_cluster *c, uint32_t pod, uint64_t version)
{
    char name[BENCH_NAME_MAX];

    strbuf_addf(out,
                "{\"metadata\":{\"name\":\"web-%06" PRIu32 "\",\"namespace\":\"team-%" PRIu32
                "\",\"uid\":\"55555555-0000-4000-8000-%012" PRIu32 "\",\"resourceVersion\":\"%" PRIu64
                "\",\"creationTimestamp\":\"2026-11-20T08:00:00Z\",\"labels\":{\"app\":\"web\","
                "\"pod-template-hash\":\"5d8f7c\"},\"annotations\":{},",
                pod, pod % 40, pod, version);
    write_pod_rest(out, STR("\"cpu\":\"4\",\"memory\":\"16Gi\""), str_of(bench_node_name(pod % c->node_n, name)));
}

static void write_waiting(struct strbuf *out, uint32_t i, const char *limits, const struct bench_binding *at,
                          uint64_t version)
{
    char name[BENCH_NAME_MAX], uid[BENCH_NAME_MAX];

    strbuf_addf(out,
                "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"bench\",\"uid\":\"%s\","
                "\"resourceVersion\":\"%" PRIu64
                "\",\"creationTimestamp\":\"2026-11-20T08:00:00Z\",\"labels\":{\"app\":\"train\","
                "\"pod-template-hash\":\"5d8f7c\"},\"annotations\":{%.*s},",
                bench_pending_name(i, name), bench_pending_uid(i, uid), version,
                at != NULL ? (int)at->annotations.n : 0, at != NULL ? at->annotations.p : "");
    write_pod_rest(out, str_of(limits), at != NULL ? at->node_name : STR_NULL);
}

void bench_write_pending(struct strbuf *out, uint32_t i, bool odd_shape, const struct bench_binding *at,
                         uint64_t version)
{
    char limits[96];

    if (odd_shape) {
        snprintf(limits, sizeof(limits),
                 "\"fgpu.io/gpu-milli\":\"%" PRIu32 "\",\"fgpu.io/gpu-memory-mib\":\"%" PRIu32 "\"", 50 + i % 97,
                 2048 + 16 * (i % 251));
    } else {
        snprintf(limits, sizeof(limits), "\"fgpu.io/gpu-milli\":\"100\"");
    }
    write_waiting(out, i, limits, at, version);
}

void bench_write_hungry(struct strbuf *out, const struct bench_cluster *c, uint32_t i, uint64_t version)
{
    char limits[96];

    snprintf(limits, sizeof(limits), "\"fgpu.io/gpu-count\":\"%" PRIu32 "\"", c->gpu_n);
    write_waiting(out, i, limits, NULL, version);
}
