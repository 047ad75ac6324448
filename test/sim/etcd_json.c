/* Objects as the API servers show them, and what a node offers. */
#include "etcd.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int start;
} profiles[PROFILES] = {{"3g.40gb", 0}, {"2g.20gb", 4}, {"1g.10gb", 6}};

static void instance_uuid(const struct gpu *g, size_t profile, char ret[24])
{
    snprintf(ret, 24, "MIG-%.5s-%zu", g->uuid + 4, profile);
}

size_t gpu_offers(const struct gpu *g, struct offer ret[PROFILES])
{
    if (!g->mig) {
        ret[0] = (struct offer){.mem_mib = g->mem_mib};
        memcpy(ret[0].uuid, g->uuid, sizeof(g->uuid));
        return 1;
    }
    for (unsigned i = 0; i < PROFILES; i++) {
        ret[i] = (struct offer){.mem_mib = 1, .profile = i + 1, .name = profiles[i].name, .start = profiles[i].start};
        instance_uuid(g, i, ret[i].uuid);
    }
    return PROFILES;
}

size_t object_offers(const struct object *o, struct offer ret[ETCD_DEVICES_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < o->gpu_n && !o->agent; i++) {
        n += o->gpus[i].gone || o->gpus[i].sick ? 0 : gpu_offers(&o->gpus[i], ret + n);
    }
    return n;
}

struct text {
    char *p;
    size_t n, room;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
    for (;;) {
        va_list args;
        int n;

        va_start(args, format);
        n = vsnprintf(t->p + t->n, t->room - t->n, format, args);
        va_end(args);
        BUG_ON(n < 0);
        if ((size_t)n < t->room - t->n) {
            t->n += (size_t)n;
            return;
        }
        t->room = t->room * 2 + (size_t)n;
        t->p = xreallocarray(t->p, t->room, 1);
    }
}

static void add_string(struct text *t, const char *s)
{
    const size_t most = 2 * strlen(s) + 3;

    if (t->room - t->n < most) {
        t->room = t->room * 2 + most;
        t->p = xreallocarray(t->p, t->room, 1);
    }
    t->p[t->n++] = '"';
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\' || *s == '\n') {
            t->p[t->n++] = '\\';
        }
        t->p[t->n++] = *s == '\n' ? 'n' : *s;
    }
    t->p[t->n++] = '"';
    t->p[t->n] = '\0';
}

static void add_note(struct text *t, const char *key, const char *value, const char **comma)
{
    add(t, "%s", *comma);
    add_string(t, key);
    add(t, ":");
    add_string(t, value);
    *comma = ",";
}

static void add_pod_notes(struct text *t, const struct object *o)
{
    const char *comma = "";
    char text[32];

    if (o->ask.by_annotation && o->ask.milli != 0) {
        snprintf(text, sizeof(text), "0.%03d", o->ask.milli);
        add_note(t, "fgpu.io/gpu-fraction", text, &comma);
    }
    if (o->ask.by_annotation && o->ask.mem_mib != 0) {
        snprintf(text, sizeof(text), "%dMi", o->ask.mem_mib);
        add_note(t, "fgpu.io/gpu-memory", text, &comma);
    }
    if (o->ask.kind == ASK_SIZE_NOTE) {
        snprintf(text, sizeof(text), "size-%u", o->ask.size);
        add_note(t, "fgpu.io/size", text, &comma);
    }
    if (o->ask.kind == ASK_MIG) {
        add_note(t, "fgpu.io/mig-profile", profiles[o->ask.size].name, &comma);
    }
    if (o->patched > 0) {
        snprintf(text, sizeof(text), "%u", o->patched);
        add_note(t, "example.com/touched", text, &comma);
    }
    for (size_t i = 0; i < o->note_n; i++) {
        add_note(t, o->notes[i].key, o->notes[i].value, &comma);
    }
}

static void add_instances(struct text *t, const struct gpu *g)
{
    add(t, ",\"mig\":[");
    for (size_t i = 0; i < PROFILES; i++) {
        char uuid[24];

        instance_uuid(g, i, uuid);
        add(t, "%s{\"uuid\":\"%s\",\"profile\":\"%s\",\"start\":%d}", i == 0 ? "" : ",", uuid, profiles[i].name,
            profiles[i].start);
    }
    add(t, "]");
}

static void add_inventory(struct text *t, const struct object *o)
{
    struct text value = {xmalloc(256), 0, 256};
    const char *comma = "";

    add(&value, "{\"v\":1,\"gpus\":[");
    for (size_t i = 0, n = 0; i < o->gpu_n; i++) {
        const struct gpu *g = &o->gpus[i];

        if (g->gone) {
            continue;
        }
        add(&value,
            "%s{\"uuid\":\"%s\",\"index\":%zu,\"minor\":%zu,\"model\":\"NVIDIA-A100-SXM4-80GB\",\"memMib\":%d,"
            "\"healthy\":%s",
            n++ == 0 ? "" : ",", g->uuid, i, i, g->mem_mib, g->sick ? "false" : "true");
        if (g->mig) {
            add_instances(&value, g);
        }
        add(&value, "}");
    }
    add(&value, "]}");
    add_note(t, "fgpu.io/gpus", value.p, &comma);
    if (o->agent) {
        add_note(t, "hami.io/node-nvidia-register", "[]", &comma);
    }
    free(value.p);
}

static const char *when(int64_t ns, char buf[CLOCK_RFC3339_MAX])
{
    clock_rfc3339(INT64_C(1800000000000) + ns / NS_PER_S * 1000, buf);
    return buf;
}

static void add_limit(struct text *t, const char *name, int amount, const char **comma)
{
    if (amount != 0) {
        add(t, "%s\"%s\":\"%d\"", *comma, name, amount);
        *comma = ",";
    }
}

static void add_limits(struct text *t, const struct ask *a)
{
    const char *comma = "";

    switch (a->kind) {
    case ASK_NATIVE:
        add_limit(t, "fgpu.io/gpu-milli", a->by_annotation ? 0 : a->milli, &comma);
        add_limit(t, "fgpu.io/gpu-memory-mib", a->by_annotation ? 0 : a->mem_mib, &comma);
        add_limit(t, "fgpu.io/gpu-count", a->by_annotation ? 0 : a->count, &comma);
        break;
    case ASK_SIZE:
        add(t, "\"fgpu.io/size.size-%u\":\"1\"", a->size);
        break;
    case ASK_VGPU:
        add_limit(t, "nvidia.com/vgpu", a->units, &comma);
        break;
    case ASK_VCUDA:
        add_limit(t, "tencent.com/vcuda-core", a->units, &comma);
        break;
    case ASK_GPUSHARE:
        add_limit(t, "aliyun.com/gpu-mem", a->mem_mib, &comma);
        add_limit(t, "aliyun.com/gpu-count", a->count, &comma);
        break;
    case ASK_HAMI:
        add_limit(t, "nvidia.com/gpumem", a->mem_mib, &comma);
        break;
    case ASK_SIZE_NOTE:
    case ASK_MIG:
    case ASK__MAX:
        break;
    }
}

static void add_pod(struct text *t, const struct object *o)
{
    static const char *const phases[] = {"Pending", "Running", "Succeeded"};
    char buf[CLOCK_RFC3339_MAX];

    add_pod_notes(t, o);
    add(t, "}");
    if (o->deleting) {
        add(t, ",\"deletionGracePeriodSeconds\":30,\"deletionTimestamp\":\"%s\"", when(o->created_ns, buf));
    }
    add(t, "},\"spec\":{\"schedulerName\":\"fgpu\",\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{");
    add_limits(t, &o->ask);
    add(t, "}}}]");
    if (o->node[0] != '\0') {
        add(t, ",\"nodeName\":\"%s\"", o->node);
    }
    if (o->priority != 0) {
        add(t, ",\"priority\":%d", o->priority);
    }
    add(t, "},\"status\":{\"phase\":\"%s\"", phases[o->phase]);
    if (o->nominated[0] != '\0') {
        add(t, ",\"nominatedNodeName\":\"%s\"", o->nominated);
    }
    add(t, "}}");
}

static void add_intents(struct text *t, const struct object *o)
{
    const char *comma = "";
    char buf[CLOCK_RFC3339_MAX];

    for (size_t i = 0; i < o->note_n; i++) {
        add_note(t, o->notes[i].key, o->notes[i].value, &comma);
    }
    add(t, "},\"labels\":{\"fgpu.io/intents\":\"\"}");
    if (o->deleting) {
        add(t, ",\"deletionGracePeriodSeconds\":0,\"deletionTimestamp\":\"%s\"", when(o->created_ns, buf));
    }
    if (o->finalizer) {
        add(t, ",\"finalizers\":[\"fgpu.io/intents\"]");
    }
    add(t, "},\"spec\":%s}", o->data != NULL ? o->data : "{}");
}

char *object_json(const struct object *o)
{
    static const char *const kinds[] = {"Pod", "Node", "ConfigMap", "CSIStorageCapacity", "Lease", "Lease"};
    struct text t = {xmalloc(1024), 0, 1024};
    char buf[CLOCK_RFC3339_MAX], more[64] = "";

    if (o->kind != NODES) {
        snprintf(more, sizeof(more), "\"namespace\":\"%s\",", o->ns);
    } else if (o->pool > 0) {
        snprintf(more, sizeof(more), "\"labels\":{\"node.example.com/pool\":\"%c\"},", (char)('a' + o->pool - 1));
    }
    add(&t,
        "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",%s\"uid\":\"%s\",\"resourceVersion\":"
        "\"%llu\",\"creationTimestamp\":\"%s\",\"annotations\":{",
        kinds[o->kind], o->name, more, o->uid, (unsigned long long)o->version, when(o->created_ns, buf));
    if (o->kind == PODS) {
        add_pod(&t, o);
    } else if (o->kind == NODES) {
        add_inventory(&t, o);
        add(&t, "}},\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"512Gi\"}}}");
    } else if (o->kind == INTENTS) {
        add_intents(&t, o);
    } else {
        add(&t, "}},\"%s\":%s}", o->kind == LEASE ? "spec" : "data", o->data != NULL ? o->data : "{}");
    }
    return t.p;
}
