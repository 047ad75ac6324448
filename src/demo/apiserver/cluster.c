#include "demo/apiserver/cluster.h"

#include "base/rng.h"
#include "base/strbuf.h"
#include "demo/apiserver/apiserver.h"

#include <inttypes.h>
#include <stdio.h>

struct gpu_type {
    const char *model;
    int32_t mem_mib;
};

static const struct gpu_type types[] = {
    {"NVIDIA-A100-SXM4-80GB", 81920},
    {"NVIDIA-L40S", 46068},
    {"NVIDIA-H100-80GB-HBM3", 81559},
    {"Tesla-T4", 15360},
};

/* The annotation's value, as text within text. */
static void add_gpus(struct strbuf *out, const struct gpu_type *type, int32_t node, int32_t gpu_n)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)node + 1);
    strbuf_add_cstr(out, "{\\\"v\\\":1,\\\"gpus\\\":[");
    for (int32_t i = 0; i < gpu_n; i++) {
        uint64_t a = rng_u64(&rng);
        strbuf_addf(out, "%s{\\\"uuid\\\":\\\"GPU-%08" PRIx32 "-%04x-4000-8000-%08" PRIx32 "%04x\\\",",
                    i > 0 ? "," : "", (uint32_t)(a >> 32), (unsigned)a & 0xffffU, (uint32_t)node, (unsigned)i);
        strbuf_addf(out, "\\\"index\\\":%d,\\\"minor\\\":%d,\\\"model\\\":\\\"%s\\\",\\\"memMib\\\":%d,", i, i,
                    type->model, type->mem_mib);
        strbuf_addf(out, "\\\"slots\\\":16,\\\"numa\\\":%d,\\\"healthy\\\":true}", i * 2 / gpu_n);
    }
    strbuf_add_cstr(out, "]}");
}

static void add_node(struct strbuf *out, int32_t node, int32_t node_n, int32_t gpu_n)
{
    char name[32];
    snprintf(name, sizeof(name), "node-%0*d", node_n > 1000 ? 4 : node_n > 100 ? 3 : 2, node);
    strbuf_addf(out, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"kubernetes.io/hostname\":\"%s\"},", name, name);
    strbuf_add_cstr(out, "\"annotations\":{\"fgpu.io/gpus\":\"");
    add_gpus(out, &types[(node / 2) % (int32_t)ARRAY_LEN(types)], node, gpu_n);
    strbuf_add_cstr(
        out, "\"}},\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"96\",\"memory\":\"768Gi\",\"pods\":\"250\"},"
             "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
}

int cluster_create(struct apiserver *a, int32_t node_n, int32_t gpu_n, struct err *reterr)
{
    if (node_n < 1 || node_n > CLUSTER_NODES_MAX) {
        return err_set(reterr, ERR_INVALID, "%d nodes: give 1 to %d", node_n, CLUSTER_NODES_MAX);
    }
    if (gpu_n < 1 || gpu_n > CLUSTER_GPUS_MAX) {
        return err_set(reterr, ERR_INVALID, "%d GPUs a node: give 1 to %d", gpu_n, CLUSTER_GPUS_MAX);
    }
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    int rc = 0;
    for (int32_t i = 0; i < node_n && rc == 0; i++) {
        strbuf_reset(&out);
        add_node(&out, i, node_n, gpu_n);
        rc = apiserver_create(a, APISERVER_NODES, out.p, reterr);
    }
    strbuf_fini(&out);
    return rc;
}
