#include "demo/apiserver/cluster.h"

#include "base/json_write.h"
#include "base/rng.h"
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

static void write_gpus(struct strbuf *out, const struct gpu_type *type, int32_t node, int32_t gpu_n)
{
    struct json_writer w;
    struct rng rng;
    rng_init(&rng, (uint64_t)node + 1);
    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_i64(&w, "v", 1);
    json_write_key(&w, "gpus");
    json_write_array_begin(&w);
    for (int32_t i = 0; i < gpu_n; i++) {
        char uuid[48];
        uint64_t a = rng_u64(&rng);
        snprintf(uuid, sizeof(uuid), "GPU-%08" PRIx32 "-%04x-4000-8000-%08" PRIx32 "%04x", (uint32_t)(a >> 32),
                 (unsigned)a & 0xffffU, (uint32_t)node, (unsigned)i);
        json_write_object_begin(&w);
        json_write_kv_cstr(&w, "uuid", uuid);
        json_write_kv_i64(&w, "index", i);
        json_write_kv_i64(&w, "minor", i);
        json_write_kv_cstr(&w, "model", type->model);
        json_write_kv_i64(&w, "memMib", type->mem_mib);
        json_write_kv_i64(&w, "slots", 16);
        json_write_kv_i64(&w, "numa", i * 2 / gpu_n);
        json_write_kv_bool(&w, "healthy", true);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    json_write_object_end(&w);
}

static void write_node(struct strbuf *out, struct strbuf *gpus, int32_t node, int32_t node_n, int32_t gpu_n)
{
    struct json_writer w;
    char name[32];
    snprintf(name, sizeof(name), "node-%0*d", node_n > 1000 ? 4 : node_n > 100 ? 3 : 2, node);
    write_gpus(gpus, &types[(node / 2) % (int32_t)ARRAY_LEN(types)], node, gpu_n);

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_key(&w, "metadata");
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "name", name);
    json_write_key(&w, "labels");
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "kubernetes.io/hostname", name);
    json_write_object_end(&w);
    json_write_key(&w, "annotations");
    json_write_object_begin(&w);
    json_write_kv_str(&w, "fgpu.io/gpus", strbuf_view(gpus));
    json_write_object_end(&w);
    json_write_object_end(&w);
    json_write_key(&w, "spec");
    json_write_raw(&w, STR("{}"));
    json_write_key(&w, "status");
    json_write_raw(&w, STR("{\"allocatable\":{\"cpu\":\"96\",\"memory\":\"768Gi\",\"pods\":\"250\"},"
                           "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}"));
    json_write_object_end(&w);
}

int cluster_create(struct apiserver *a, int32_t node_n, int32_t gpu_n, struct err *reterr)
{
    if (node_n < 1 || node_n > CLUSTER_NODES_MAX) {
        return err_set(reterr, ERR_INVALID, "%d nodes: give 1 to %d", node_n, CLUSTER_NODES_MAX);
    }
    if (gpu_n < 1 || gpu_n > CLUSTER_GPUS_MAX) {
        return err_set(reterr, ERR_INVALID, "%d GPUs a node: give 1 to %d", gpu_n, CLUSTER_GPUS_MAX);
    }
    struct strbuf out, gpus;
    strbuf_init(&out, 1 << 20);
    strbuf_init(&gpus, 1 << 20);
    int rc = 0;
    for (int32_t i = 0; i < node_n && rc == 0; i++) {
        strbuf_reset(&out);
        strbuf_reset(&gpus);
        write_node(&out, &gpus, i, node_n, gpu_n);
        rc = apiserver_create(a, APISERVER_NODES, out.p, reterr);
    }
    strbuf_fini(&gpus);
    strbuf_fini(&out);
    return rc;
}
