/* Inventories of nodes: one notation for the node, one line of text for what was found.
 *
 * Node: words "label:KEY=V", "plain:KEY=V" (a label without domain), "alloc:KEY=V", "note:KEY=V" separated by blanks. A
 * key without '/' gets "nvidia.com/" as label and "fgpu.io/" otherwise. Inventory: source, devices
 * "index:uuid:minor:model:mem:slots:numa:health", a part of a GPU with ":500m", then "+N" whole GPUs, or "+N/R"
 * replicas or units, R a GPU ("?": nobody knows), "one" to a container. "unmeasured" and "elsewhere" as in struct
 * inventory.
 */
#include "base/compiler.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "core/dialects/dialect.h"
#include "core/inventory/inventory.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (1 << 20)
#define LIST_MAX 8

struct made_node {
    struct node node;
    struct arena arena;
    struct kv labels[LIST_MAX], annotations[LIST_MAX], allocatable[LIST_MAX];
};

static void add(struct made_node *m, struct kv_list *list, struct kv *items, const char *domain, struct str word)
{
    struct str key;
    assert_true(list->n < LIST_MAX);
    assert_true(str_split(&word, '=', &key));
    if (domain != NULL && memchr(key.p, '/', key.n) == NULL) {
        key = arena_printf(&m->arena, "%s/%.*s", domain, STR_ARG(key));
    }
    items[list->n] = (struct kv){key, word};
    *list = (struct kv_list){items, list->n + 1};
}

static void make_node(struct made_node *m, const char *notation)
{
    struct str rest = str_of(notation);
    struct str word;

    memset(m, 0, sizeof(*m));
    arena_init(&m->arena, ARENA_BYTES);
    while (str_split(&rest, ' ', &word)) {
        if (str_starts(word, STR("label:"))) {
            add(m, &m->node.labels, m->labels, "nvidia.com", str_drop(word, 6));
        } else if (str_starts(word, STR("plain:"))) {
            add(m, &m->node.labels, m->labels, NULL, str_drop(word, 6));
        } else if (str_starts(word, STR("alloc:"))) {
            add(m, &m->node.allocatable, m->allocatable, "fgpu.io", str_drop(word, 6));
        } else if (str_starts(word, STR("note:"))) {
            add(m, &m->node.annotations, m->annotations, "fgpu.io", str_drop(word, 5));
        } else {
            assert_int_equal(word.n, 0);
        }
    }
}

static void render(struct strbuf *b, const struct inventory *inv)
{
    static const char *const sources[] = {"none", "annotation", "gfd", "resources", "template"};

    strbuf_add_cstr(b, sources[inv->source]);
    for (size_t i = 0; i < inv->device_n; i++) {
        const struct device *d = &inv->devices[i];
        strbuf_addf(b, " %d:%.*s:%d:%.*s:%lld:%d:%d:%s", d->index, STR_ARG(d->uuid), d->minor, STR_ARG(d->model),
                    (long long)d->mem_mib, d->slot_n, d->numa, d->healthy ? "ok" : "ill");
        strbuf_add_cstr(b, d->slice ? ":slice" : "");
        if (d->part_milli > 0) {
            strbuf_addf(b, ":%dm", d->part_milli);
        }
        if (d->profile == DEVICE_IN_MIG_MODE) {
            strbuf_add_cstr(b, ":mig");
        } else if (d->profile != 0) {
            char text[MIG_PROFILE_BYTES_MAX];
            strbuf_addf(b, ":%s@%d/%d%s", mig_profile_text(d->profile, text), d->gpu_index, d->start,
                        d->counted ? "#" : "");
        }
    }
    strbuf_add_cstr(b, inv->mig_changing ? " changing" : "");
    strbuf_add_cstr(b, inv->mig_single ? " single" : "");
    strbuf_add_cstr(b, inv->unmeasured ? " unmeasured" : "");
    strbuf_add_cstr(b, inv->elsewhere ? " elsewhere" : "");
    if (inv->vendor != VENDOR_NVIDIA) {
        strbuf_addf(b, " %s", gpu_vendor_name(inv->vendor));
    }
    if (inv->plugin_managed_n != 0) {
        strbuf_addf(b, " +%d", inv->plugin_managed_n);
        if (inv->plugin_managed_per_gpu == 0) {
            strbuf_add_cstr(b, "/?");
        } else if (inv->plugin_managed_per_gpu > 1) {
            strbuf_addf(b, "/%d", inv->plugin_managed_per_gpu);
        }
        strbuf_add_cstr(b, inv->plugin_managed_one ? " one" : "");
    }
}

struct row {
    const char *name, *node, *want;
    const char *note; /* words that must be in the note; NULL: no note */
};

static void check_rows(const struct policy *p, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct made_node m;
        struct inventory inv;
        struct strbuf got;
        const char *note = "left alone";

        make_node(&m, rows[i].node);
        strbuf_init(&got, 65536);
        assert_true(dialect_inventory(p, &m.node, &m.arena, &inv, &note));
        render(&got, &inv);
        if (!str_eq_cstr(strbuf_view(&got), rows[i].want)) {
            fail_msg("%s:\n got  \"%s\"\n want \"%s\"\n note %s", rows[i].name, got.p, rows[i].want,
                     note ? note : "none");
        }
        if ((note == NULL) != (rows[i].note == NULL) || (note != NULL && strstr(note, rows[i].note) == NULL)) {
            fail_msg("%s: note \"%s\", want \"%s\"", rows[i].name, note ? note : "none",
                     rows[i].note ? rows[i].note : "none");
        }
        strbuf_fini(&got);
        arena_fini(&m.arena);
    }
}

#define GPU_A "{\"uuid\":\"GPU-a\",\"index\":0,\"memMib\":81920}"
#define GPU_B "{\"uuid\":\"GPU-b\",\"index\":1,\"memMib\":40960}"
#define VOUCHED " label:fgpu.io/allocatable=whole-gpus"
#define GPUS(list) "note:gpus={\"v\":1,\"gpus\":[" list "]}"

static void inventory__annotation__as_written(void **state)
{
    static const struct row rows[] = {
        {"two", GPUS(GPU_A "," GPU_B), "annotation 0:GPU-a:-1::81920:16:-1:ok 1:GPU-b:-1::40960:16:-1:ok", NULL},
        {"sorted", GPUS(GPU_B "," GPU_A), "annotation 0:GPU-a:-1::81920:16:-1:ok 1:GPU-b:-1::40960:16:-1:ok", NULL},
        {"everything",
         GPUS("{\"uuid\":\"GPU-a\",\"index\":3,\"minor\":2,\"model\":\"A100\",\"memMib\":7,"
              "\"slots\":10,\"numa\":1,"
              "\"healthy\":false,\"mig\":[]}"),
         "annotation 3:GPU-a:2:A100:7:10:1:ill:mig", NULL},
        {"nulls",
         GPUS("{\"uuid\":\"GPU-a\",\"index\":3,\"minor\":null,\"model\":null,\"memMib\":7,"
              "\"slots\":null,"
              "\"numa\":null,\"healthy\":null,\"mig\":null,\"x\":null}"),
         "annotation 3:GPU-a:-1::7:16:-1:ok", NULL},
        {"additions",
         "note:gpus={\"v\":1,\"new\":{},\"gpus\":[{\"new\":[1],\"uuid\":\"a\",\"index\":0,"
         "\"memMib\":1}]}",
         "annotation 0:a:-1::1:16:-1:ok", NULL},
        {"escapes", GPUS("{\"uuid\":\"GPU-\\u0061\",\"index\":0,\"memMib\":1}"), "annotation 0:GPU-a:-1::1:16:-1:ok",
         NULL},
        {"none", GPUS(""), "annotation", NULL},
        {"wins over everything else",
         GPUS(GPU_A) " label:gpu.count=1 label:gpu.memory=5 alloc:gpu-milli=1000 label:pool=gpu",
         "annotation 0:GPU-a:-1::81920:16:-1:ok", NULL},
        {"wins over another count", GPUS(GPU_A) " alloc:nvidia.com/gpu=8", "annotation 0:GPU-a:-1::81920:16:-1:ok +8",
         "another number of whole GPUs"},
        {"wins over another GFD count", GPUS(GPU_A) " label:gpu.count=8", "annotation 0:GPU-a:-1::81920:16:-1:ok",
         "gpu.count"},
        {"same count", GPUS(GPU_A) " alloc:nvidia.com/gpu=1", "annotation 0:GPU-a:-1::81920:16:-1:ok +1", NULL},
        {"plugin leaves the unhealthy one out",
         GPUS(GPU_A ",{\"uuid\":\"b\",\"index\":1,\"memMib\":1,\"healthy\":false}") " alloc:nvidia."
                                                                                    "com/gpu=1",
         "annotation 0:GPU-a:-1::81920:16:-1:ok 1:b:-1::1:16:-1:ill +1", NULL},
        {"smaller advertised total", GPUS(GPU_A "," GPU_B) " alloc:gpu-milli=1000",
         "annotation 0:GPU-a:-1::81920:16:-1:ok 1:GPU-b:-1::40960:16:-1:ok", NULL},
        {"wins on a shared node", GPUS(GPU_A) " label:gpu.replicas=4 label:gpu.count=1",
         "annotation 0:GPU-a:-1::81920:16:-1:ok", NULL},
    };
    check_rows(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void inventory__malformed_annotation__no_devices_and_no_other_source(void **state)
{
    static const struct row rows[] = {
        {"empty", "note:gpus= label:gpu.count=4", "annotation", "not valid JSON"},
        {"no JSON", "note:gpus=8 alloc:nvidia.com/gpu=8", "annotation +8", "not valid JSON"},
        {"truncated", "note:gpus={\"v\":1,\"gpus\":[" GPU_A, "annotation", "not valid JSON"},
        {"behind a good one", GPUS(GPU_A) "x", "annotation", "not valid JSON"},
        {"no version", "note:gpus={\"gpus\":[]}", "annotation", "v or gpus is missing"},
        {"no list", "note:gpus={\"v\":1}", "annotation", "v or gpus is missing"},
        {"version 2", "note:gpus={\"v\":2,\"gpus\":[]}", "annotation", "v must be 1"},
        {"version as text", "note:gpus={\"v\":\"1\",\"gpus\":[]}", "annotation", "not valid JSON"},
        {"list null", "note:gpus={\"v\":1,\"gpus\":null}", "annotation", "not valid JSON"},
        {"no uuid", GPUS("{\"index\":0,\"memMib\":1}"), "annotation", "lacks"},
        {"no index", GPUS("{\"uuid\":\"a\",\"memMib\":1}"), "annotation", "lacks"},
        {"no memory", GPUS("{\"uuid\":\"a\",\"index\":0}"), "annotation", "lacks"},
        {"uuid null", GPUS("{\"uuid\":null,\"index\":0,\"memMib\":1}"), "annotation", "not valid JSON"},
        {"uuid empty", GPUS("{\"uuid\":\"\",\"index\":0,\"memMib\":1}"), "annotation", "uuid"},
        {"uuid with a comma", GPUS("{\"uuid\":\"a,b\",\"index\":0,\"memMib\":1}"), "annotation", "uuid"},
        {"same uuid", GPUS(GPU_A ",{\"uuid\":\"GPU-a\",\"index\":1,\"memMib\":1}"), "annotation", "same uuid"},
        {"same index", GPUS(GPU_A ",{\"uuid\":\"GPU-b\",\"index\":0,\"memMib\":1}"), "annotation",
         "same uuid or index"},
        {"index -1", GPUS("{\"uuid\":\"a\",\"index\":-1,\"memMib\":1}"), "annotation", "index must"},
        {"index 1024", GPUS("{\"uuid\":\"a\",\"index\":1024,\"memMib\":1}"), "annotation", "index must"},
        {"index 2^32", GPUS("{\"uuid\":\"a\",\"index\":4294967296,\"memMib\":1}"), "annotation", "index must"},
        {"index a fraction", GPUS("{\"uuid\":\"a\",\"index\":0.5,\"memMib\":1}"), "annotation", "not valid JSON"},
        {"no memory at all", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":0}"), "annotation", "memMib must"},
        {"negative memory", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":-5}"), "annotation", "memMib must"},
        {"huge memory", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":16777217}"), "annotation", "memMib must"},
        {"slots 0", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":1,\"slots\":0}"), "annotation", "slots must"},
        {"slots 32768", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":1,\"slots\":32768}"), "annotation", "slots must"},
        {"minor -2", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":1,\"minor\":-2}"), "annotation", "minor must"},
        {"numa 1024", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":1,\"numa\":1024}"), "annotation", "numa must"},
        {"health as text", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":1,\"healthy\":\"no\"}"), "annotation",
         "not valid JSON"},
        {"mig an object", GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":1,\"mig\":{}}"), "annotation", "not valid JSON"},
        {"key twice", GPUS("{\"uuid\":\"a\",\"uuid\":\"b\",\"index\":0,\"memMib\":1}"), "annotation", "not valid JSON"},
        {"bad one behind a partitioned one",
         GPUS("{\"uuid\":\"a\",\"index\":0,\"memMib\":1,\"mig\":[]},{\"uuid\":\"b\",\"index\":0,"
              "\"memMib\":1}"),
         "annotation", "same uuid or index"},
    };
    check_rows(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void inventory__gfd_labels__devices_are_indexes(void **state)
{
    static const struct row rows[] = {
        {"all labels", "label:gpu.count=2 label:gpu.memory=81920 label:gpu.product=A100",
         "gfd 0::-1:A100:81920:16:-1:ok 1::-1:A100:81920:16:-1:ok", NULL},
        {"with its plugin", "label:gpu.count=1 label:gpu.memory=5 alloc:nvidia.com/gpu=1", "gfd 0::-1::5:16:-1:ok +1",
         NULL},
        {"plugin shows fewer", "label:gpu.count=2 alloc:nvidia.com/gpu=1", "gfd 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +1",
         "another number of whole GPUs"},
        {"plugin shows none", "label:gpu.count=1 alloc:nvidia.com/gpu=0", "gfd 0::-1::0:16:-1:ok", NULL},
        {"not shared",
         "label:gpu.count=1 label:gpu.replicas=1 label:gpu.sharing-strategy=none "
         "label:mig.strategy=single",
         "gfd 0::-1::0:16:-1:ok", NULL},
        {"memory from resources", "label:gpu.count=2 alloc:gpu-memory-mib=20",
         "gfd 0::-1::10:16:-1:ok 1::-1::10:16:-1:ok", NULL},
        {"no GPUs", "label:gpu.count=0 alloc:gpu-milli=1000", "gfd", NULL},
        {"memory without a count", "label:gpu.memory=5", "none", NULL},
        {"count no number", "label:gpu.count=four", "gfd", "gpu.count"},
        {"count negative", "label:gpu.count=-1", "gfd", "gpu.count"},
        {"count 65", "label:gpu.count=65", "gfd", "more than 64"},
        {"count 2^32", "label:gpu.count=4294967296", "gfd", "gpu.count"},
        {"memory no number", "label:gpu.count=1 label:gpu.memory=80Gi", "gfd", "gpu.memory"},
        {"memory huge", "label:gpu.count=1 label:gpu.memory=16777217", "gfd", "gpu.memory"},
        {"memory of a TiB", "label:gpu.count=1 label:gpu.memory=1048576", "gfd", "gpu.memory"},
        {"memory below a TiB", "label:gpu.count=1 label:gpu.memory=1048575", "gfd 0::-1::1048575:16:-1:ok", NULL},
        {"memory in bytes", "label:gpu.count=1 label:gpu.memory=85520809984", "gfd 0::-1::81559:16:-1:ok", NULL},
        {"memory of few bytes", "label:gpu.count=1 label:gpu.memory=1073741823", "gfd", "gpu.memory"},
        {"memory of a GiB in bytes", "label:gpu.count=1 label:gpu.memory=1073741824", "gfd 0::-1::1024:16:-1:ok", NULL},
        {"memory below a TiB in bytes", "label:gpu.count=1 label:gpu.memory=1099511627775",
         "gfd 0::-1::1048575:16:-1:ok", NULL},
        {"memory of a TiB in bytes", "label:gpu.count=1 label:gpu.memory=1099511627776", "gfd", "gpu.memory"},
        {"memory of 2^64 bytes", "label:gpu.count=1 label:gpu.memory=18446744073709551616", "gfd", "gpu.memory"},
        {"replicas", "label:gpu.count=2 label:gpu.replicas=4 alloc:nvidia.com/gpu=8",
         "gfd 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +8/4", NULL},
        {"replicas, all that GFD says",
         "label:gpu.count=1 label:gpu.memory=24576 label:gpu.replicas=20 label:gpu.sharing-strategy=time-slicing "
         "label:gpu.product=NVIDIA-A10-SHARED alloc:nvidia.com/gpu=20",
         "gfd 0::-1:NVIDIA-A10:24576:16:-1:ok +20/20", NULL},
        {"replicas under another name",
         "label:gpu.count=1 label:gpu.replicas=20 label:gpu.sharing-strategy=time-slicing "
         "label:gpu.product=NVIDIA-A10 alloc:nvidia.com/gpu=0 alloc:nvidia.com/gpu.shared=20",
         "gfd 0::-1:NVIDIA-A10:0:16:-1:ok +20/20", NULL},
        {"replicas of MPS",
         "label:gpu.count=1 label:gpu.replicas=4 label:gpu.sharing-strategy=mps alloc:nvidia.com/gpu.shared=4",
         "gfd 0::-1::0:16:-1:ok +4/4 one", NULL},
        {"replicas of an unhealthy GPU left out", "label:gpu.count=2 label:gpu.replicas=4 alloc:nvidia.com/gpu=4",
         "gfd 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +4/4", "another number of replicas"},
        {"replicas under two names",
         "label:gpu.count=2 label:gpu.replicas=4 alloc:nvidia.com/gpu=1 alloc:nvidia.com/gpu.shared=4",
         "gfd 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +5/4", "several names"},
        {"replicas without their number",
         "label:gpu.count=2 label:gpu.sharing-strategy=time-slicing alloc:nvidia.com/gpu=8",
         "gfd 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +8/?", "how many replicas"},
        {"replicas of a MIG parent", "label:gpu.count=2 label:gpu.replicas=0", "gfd", "resources.whole"},
        {"strategy", "label:gpu.count=2 label:gpu.sharing-strategy=mps", "gfd", "resources.whole"},
        {"shared product", "label:gpu.count=2 label:gpu.product=Tesla-T4-SHARED", "gfd", "resources.whole"},
        {"shared under a name of its own", "label:gpu.count=2 label:gpu.replicas=4 alloc:nvidia.com/sliced=8", "gfd",
         "resources.whole"},
        {"MIG single", "label:gpu.count=14 label:mig.strategy=single label:gpu.product=NVIDIA-A100-MIG-1g.10gb",
         "gfd single", "offers none"},
        {"MIG mixed", "label:gpu.count=2 label:mig.strategy=mixed label:mig-1g.10gb.count=7", "gfd", "offers none"},
        {"MIG mixed with no instances", "label:gpu.count=1 label:mig.strategy=mixed label:mig-1g.10gb.count=0",
         "gfd 0::-1::0:16:-1:ok", NULL},
    };
    check_rows(policy_defaults(), rows, ARRAY_LEN(rows));
}

#define MIG_A(list)                                                                                                    \
    GPUS("{\"uuid\":\"GPU-a\",\"index\":0,\"model\":\"NVIDIA-A100-SXM4-40GB\",\"memMib\":40960,\"mig\":[" list "]}")
#define IN(uuid, profile, start) "{\"uuid\":\"" uuid "\",\"profile\":\"" profile "\",\"start\":" #start "}"
#define OFFERED(size, starts)                                                                                          \
    "note:gpus={\"v\":1,\"gpus\":[{\"uuid\":\"GPU-a\",\"index\":0,\"memMib\":40960,\"migProfiles\":[{"                 \
    "\"profile\":\"1g.5gb\",\"size\":" size ",\"starts\":" starts "}],\"mig\":[" IN("a", "1g.5gb", 0) "]}]}"
#define A40 ":-1:NVIDIA-A100-SXM4-40GB:"

static void inventory__mig_in_the_annotation__instances_beside_their_gpu(void **state)
{
    static const struct row rows[] = {
        {"two of a GPU, and a whole one",
         "note:gpus={\"v\":1,\"gpus\":[{\"uuid\":\"GPU-a\",\"index\":0,\"model\":\"NVIDIA-A100-SXM4-40GB\","
         "\"memMib\":40960,\"mig\":[" IN("MIG-b", "3g.20gb", 4) "," IN("MIG-a", "1g.5gb+me", 0) "]}," GPU_B "]}",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1:GPU-b:-1::40960:16:-1:ok 1024:MIG-a" A40
         "4864:1:-1:ok:1g.5gb+me@0/0 1028:MIG-b" A40 "19968:1:-1:ok:3g.20gb@0/4",
         NULL},
        {"as the driver offers, whatever the tables say",
         "note:gpus={\"v\":1,\"gpus\":[{\"uuid\":\"GPU-a\",\"index\":0,\"model\":\"NVIDIA-A100-SXM4-40GB\","
         "\"memMib\":40960,\"mig\":[" IN("MIG-a", "1g.9gb",
                                         3) "],\"migProfiles\":[{\"profile\":\"1g.9gb\",\"size\":2,"
                                            "\"starts\":[1,3],\"max\":2,\"memMib\":9000,\"new\":[{}]}]}]}",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1027:MIG-a" A40 "9000:1:-1:ok:1g.9gb@0/3", NULL},
        {"seven 1g.5gb",
         MIG_A(IN("M0", "1g.5gb", 0) "," IN("M1", "1g.5gb", 1) "," IN("M2", "1g.5gb", 2) "," IN(
             "M3", "1g.5gb", 3) "," IN("M4", "1g.5gb", 4) "," IN("M5", "1g.5gb", 5) "," IN("M6", "1g.5gb", 6)),
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1024:M0" A40 "4864:1:-1:ok:1g.5gb@0/0 1025:M1" A40
         "4864:1:-1:ok:1g.5gb@0/1 1026:M2" A40 "4864:1:-1:ok:1g.5gb@0/2 1027:M3" A40
         "4864:1:-1:ok:1g.5gb@0/3 1028:M4" A40 "4864:1:-1:ok:1g.5gb@0/4 1029:M5" A40
         "4864:1:-1:ok:1g.5gb@0/5 1030:M6" A40 "4864:1:-1:ok:1g.5gb@0/6",
         NULL},
        {"no instance yet", MIG_A(""), "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig", NULL},
        {"its own memory and health",
         MIG_A("{\"uuid\":\"M\",\"profile\":\"1g.5gb\",\"start\":6,\"memMib\":4750,\"healthy\":false,\"x\":[]}"),
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1030:M" A40 "4750:1:-1:ill:1g.5gb@0/6", NULL},
        {"being changed", MIG_A("") " label:mig.config.state=pending",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig changing", NULL},
        {"change failed", GPUS(GPU_A) " label:mig.config.state=failed",
         "annotation 0:GPU-a:-1::81920:16:-1:ok changing", NULL},
        {"change done", GPUS(GPU_A) " label:mig.config.state=success", "annotation 0:GPU-a:-1::81920:16:-1:ok", NULL},
        {"unknown model",
         GPUS("{\"uuid\":\"GPU-a\",\"index\":0,\"model\":\"X\",\"memMib\":99,\"mig\":[" IN("M", "1g.24gb", 7) "]}"),
         "annotation 0:GPU-a:-1:X:99:16:-1:ok:mig 1031:M:-1:X:0:1:-1:ok:1g.24gb@0/7", "fgpu does not know"},
        {"a plugin has them", MIG_A(IN("M0", "1g.5gb", 0) "," IN("M1", "1g.5gb", 1)) " alloc:nvidia.com/mig-1g.5gb=2",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1024:M0" A40 "4864:1:-1:ok:1g.5gb@0/0# 1025:M1" A40
         "4864:1:-1:ok:1g.5gb@0/1#",
         NULL},
        {"a plugin has fewer", MIG_A(IN("M0", "1g.5gb", 0) "," IN("M1", "1g.5gb", 1)) " alloc:nvidia.com/mig-1g.5gb=1",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1024:M0" A40 "4864:1:-1:ok:1g.5gb@0/0# 1025:M1" A40
         "4864:1:-1:ill:1g.5gb@0/1#",
         "fewer MIG instances"},
        {"a plugin has more", MIG_A(IN("M0", "1g.5gb", 0)) " alloc:nvidia.com/mig-1g.5gb=3",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1024:M0" A40 "4864:1:-1:ok:1g.5gb@0/0#", "more MIG instances"},
        {"a plugin has them as whole GPUs",
         MIG_A(IN("M0", "1g.5gb", 0)) " label:gpu.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gb alloc:nvidia.com/gpu=1",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1024:M0" A40 "4864:1:-1:ok:1g.5gb@0/0# single +1", NULL},
    };
    check_rows(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void inventory__mig_that_cannot_be__no_devices_and_the_reason(void **state)
{
    static const struct row rows[] = {
        {"four 2g.10gb",
         MIG_A(IN("a", "2g.10gb", 0) "," IN("b", "2g.10gb", 2) "," IN("c", "2g.10gb", 4) "," IN("d", "2g.10gb", 6)),
         "annotation", "three 2g"},
        {"on top of each other", MIG_A(IN("a", "2g.10gb", 0) "," IN("b", "1g.5gb", 1)), "annotation", "overlap"},
        {"between the starts", MIG_A(IN("a", "3g.20gb", 2)), "annotation", "overlap"},
        {"two with media engines", MIG_A(IN("a", "1g.5gb+me", 0) "," IN("b", "1g.5gb+me", 1)), "annotation", "overlap"},
        {"not as the driver offers", OFFERED("2", "[1,3]"), "annotation", "overlap"},
        {"size of a profile", OFFERED("9", "[0]"), "annotation", "size must"},
        {"start of a profile too far", OFFERED("2", "[0,7]"), "annotation", "migProfiles"},
        {"profile without starts", OFFERED("2", "[]"), "annotation", "migProfiles"},
        {"profile of another model", MIG_A(IN("a", "1g.12gb", 0)), "annotation", "does not have"},
        {"no profile at all", MIG_A(IN("a", "small", 0)), "annotation", "profile must be"},
        {"start 8", MIG_A(IN("a", "1g.5gb", 8)), "annotation", "start must"},
        {"without a uuid", MIG_A("{\"profile\":\"1g.5gb\",\"start\":0}"), "annotation", "lacks"},
        {"without a start", MIG_A("{\"profile\":\"1g.5gb\",\"uuid\":\"a\"}"), "annotation", "lacks"},
        {"without a profile", MIG_A("{\"start\":0,\"uuid\":\"a\"}"), "annotation", "lacks"},
        {"the GPU's uuid", MIG_A(IN("GPU-a", "1g.5gb", 0)), "annotation", "same uuid"},
        {"one uuid twice", MIG_A(IN("a", "1g.5gb", 0) "," IN("a", "1g.5gb", 1)), "annotation", "same uuid"},
        {"uuid of spaces", MIG_A(IN("\\t", "1g.5gb", 0)), "annotation", "uuid must"},
        {"too much memory", MIG_A("{\"uuid\":\"a\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":40961}"), "annotation",
         "more memory than"},
        {"as much memory as there is", MIG_A("{\"uuid\":\"a\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":40960}"),
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig 1024:a" A40 "40960:1:-1:ok:1g.5gb@0/0", NULL},
        {"together more than there is",
         MIG_A("{\"uuid\":\"a\",\"profile\":\"1g.5gb\",\"start\":0,\"memMib\":40959},"
               "{\"uuid\":\"b\",\"profile\":\"1g.5gb\",\"start\":1,\"memMib\":2}"),
         "annotation", "more memory than"},
        {"no number in allocatable", MIG_A("") " alloc:nvidia.com/mig-1g.5gb=x",
         "annotation 0:GPU-a" A40 "40960:16:-1:ok:mig", "not a whole number"},
    };
    check_rows(policy_defaults(), rows, ARRAY_LEN(rows));
}

static void inventory__mig_of_a_plugin__counted_by_profile(void **state)
{
    static const struct row rows[] = {
        {"mixed",
         "label:gpu.count=1 label:mig.strategy=mixed label:gpu.product=NVIDIA-A100-SXM4-40GB "
         "label:mig-1g.5gb.count=1 "
         "label:mig-1g.5gb.memory=4800 alloc:nvidia.com/mig-1g.5gb=1 alloc:nvidia.com/mig-2g.10gb=1",
         "gfd 16384:" A40 "4800:1:-1:ok:1g.5gb@-1/-1# 16385:" A40 "9830:1:-1:ok:2g.10gb@-1/-1#", NULL},
        {"mixed, with whole GPUs that nobody can name",
         "label:gpu.count=2 alloc:nvidia.com/mig-1g.5gb=1 alloc:nvidia.com/gpu=1",
         "gfd 16384::-1::0:1:-1:ok:1g.5gb@-1/-1# +1", NULL},
        {"without labels", "alloc:nvidia.com/mig-1g.5gb.me=1", "resources 16384::-1::0:1:-1:ok:1g.5gb+me@-1/-1#", NULL},
        {"of none", "label:gpu.count=1 alloc:nvidia.com/mig-1g.5gb=0", "gfd 0::-1::0:16:-1:ok", NULL},
        {"an unknown profile", "alloc:nvidia.com/mig-1g.5gb.gfx=1", "none", "does not know"},
        {"shared again", "label:mig-1g.5gb.replicas=4 alloc:nvidia.com/mig-1g.5gb=28", "resources", "replicas"},
        {"not shared", "label:mig-1g.5gb.replicas=1 alloc:nvidia.com/mig-1g.5gb=1",
         "resources 16384::-1::0:1:-1:ok:1g.5gb@-1/-1#", NULL},
        {"65", "alloc:nvidia.com/mig-1g.5gb=65", "resources", "more than 64"},
        {"no number", "alloc:nvidia.com/mig-1g.5gb=1500m", "resources", "whole number"},
        {"single",
         "label:gpu.count=1 label:mig.strategy=single label:gpu.memory=4864 "
         "label:gpu.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gb alloc:nvidia.com/gpu=1",
         "gfd 16384:" A40 "4864:1:-1:ok:1g.5gb@-1/-1# single +1", NULL},
        {"single, shared again",
         "label:gpu.count=1 label:gpu.product=NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED alloc:nvidia.com/gpu=4",
         "gfd single +4/?", "replicas"},
    };
    check_rows(policy_defaults(), rows, ARRAY_LEN(rows));
}

#define PART(index_, mem_, milli_) #index_ "::-1::" #mem_ ":16:-1:ok:" #milli_ "m"

/* F59: 500 units of 1000 were refused, and with picks: kubelet one GPU. Memory is that of the whole GPU. */
static void inventory__part_of_a_gpu__never_rounded_up(void **state)
{
    static const struct row rows[] = {
        {"half", "alloc:gpu-milli=500", "resources " PART(0, 0, 500), NULL},
        {"one and a half", "alloc:gpu-milli=1500", "resources 0::-1::0:16:-1:ok " PART(1, 0, 500), NULL},
        {"all but a milli", "alloc:x/percent=99", "resources " PART(0, 0, 990), NULL},
        {"rounded down", "alloc:x/thirds=1", "resources " PART(0, 0, 333), NULL},
        {"a crumb", "alloc:x/crumbs=999", "resources", "less than a thousandth"},
        {"a GPU and a crumb", "alloc:x/crumbs=1000999", "resources 0::-1::0:16:-1:ok", NULL},
        {"a crumb beside a half", "alloc:gpu-milli=500 alloc:x/crumbs=1", "resources", "less than a thousandth"},
        {"64 and a part", "alloc:gpu-milli=64001", "resources", "more than 64"},
        {"63 and a part of one kubelet picks", "alloc:x/units=12801", "resources +12801/200", "more than 64"},
        {"kubelet picks", "alloc:x/units=50", "resources " PART(0, 0, 250) " +50/200", NULL},
        {"kubelet picks of two", "alloc:x/units=350", "resources 0::-1::0:16:-1:ok " PART(1, 0, 750) " +350/200", NULL},
        {"own memory", "alloc:gpu-milli=500 alloc:gpu-memory-mib=8192", "resources " PART(0, 16384, 500), NULL},
        {"own memory of one and a half", "alloc:gpu-milli=1500 alloc:gpu-memory-mib=24576",
         "resources 0::-1::16384:16:-1:ok " PART(1, 16384, 500), NULL},
        {"own memory above what any GPU has", "alloc:gpu-milli=500 alloc:gpu-memory-mib=8388609", "resources",
         "whole number"},
        {"memory of the card by label", "alloc:gpu-milli=500 label:gpu.memory=16384", "resources " PART(0, 16384, 500),
         NULL},
        {"memory of a virtual GPU by label", "alloc:gpu-milli=250 label:gpu.memory=4096 label:vgpu.present=true",
         "resources " PART(0, 16384, 250), NULL},
        {"a virtual GPU that is gone", "label:gpu.count=0 label:gpu.memory=4096 label:vgpu.present=true", "gfd", NULL},
        {"no virtual GPU", "alloc:gpu-milli=250 label:gpu.memory=4096 label:vgpu.present=false",
         "resources " PART(0, 4096, 250), NULL},
        {"labels count more", "label:gpu.count=1 label:gpu.memory=16384 alloc:gpu-milli=500",
         "gfd " PART(0, 16384, 500), "fgpu uses allocatable"},
        {"labels count more, kubelet picks", "label:gpu.count=2 alloc:x/units=300",
         "gfd 0::-1::0:16:-1:ok " PART(1, 0, 500) " +300/200", "fgpu uses allocatable"},
        {"labels count fewer", "label:gpu.count=1 alloc:gpu-milli=1500", "gfd 0::-1::0:16:-1:ok", NULL},
        {"labels, and the plugin is gone", "label:gpu.count=1 alloc:gpu-milli=0", "gfd 0::-1::0:16:-1:ok", NULL},
        {"labels, and no number", "label:gpu.count=1 alloc:gpu-milli=x", "gfd", "whole number"},
        {"a profile names its own memory", "plain:vgpu.type=v100-4q-4GB alloc:gpu-milli=250",
         "resources 0::-1:v100-4q-4GB:4096:1:-1:ok:slice:250m", NULL},
        {"a profile and less memory", "plain:vgpu.type=v100-4q-4GB alloc:gpu-milli=250 alloc:gpu-memory-mib=2048",
         "resources 0::-1:v100-4q-4GB:2048:1:-1:ok:slice:250m", NULL},
    };
    static const struct compute_resource compute[] = {{STR("fgpu.io/gpu-milli"), 1000},
                                                      {STR("x/percent"), 100},
                                                      {STR("x/thirds"), 3},
                                                      {STR("x/crumbs"), 1000000},
                                                      {STR("x/units"), 200, ABOVE_REFUSE, PICKS_KUBELET}};
    struct policy p = *policy_defaults();

    p.compute_resources = compute;
    p.compute_resource_n = ARRAY_LEN(compute);
    check_rows(&p, rows, ARRAY_LEN(rows));
}

#define IDX0 "0::-1::0:16:-1:ok"

/* F60: half a share was bound on an FPGA, with values for MPS. */
static void inventory__names_of_plugins__shared_only_if_somebody_says_so(void **state)
{
    static const struct row rows[] = {
        {"an FPGA", "alloc:x/fpga=1" VOUCHED, "resources unmeasured other +1", "shareable: true"},
        {"an FPGA, none left", "alloc:x/fpga=0" VOUCHED, "resources unmeasured other", "shareable: true"},
        {"an FPGA with a template", "alloc:x/fpga=1 label:x/pool=t4", "resources unmeasured other +1",
         "shareable: true"},
        {"AMD", "alloc:amd.com/gpu=1" VOUCHED, "resources unmeasured amd +1", "shareable: true"},
        {"AMD, vouched for and said", "alloc:amd.com/npu=1" VOUCHED, "resources " IDX0 " amd +1", NULL},
        {"AMD, said and not vouched for", "alloc:amd.com/npu=1", "resources unmeasured amd +1", "no shares"},
        {"Intel in units", "alloc:gpu.intel.com/units=100", "resources " IDX0 " intel", NULL},
        {"an FPGA beside GPUs", "alloc:x/fpga=2 alloc:nvidia.com/gpu=1" VOUCHED, "resources " IDX0 " +3",
         "several names"},
        {"an FPGA beside labels", "alloc:x/fpga=1 label:gpu.count=1", "gfd " IDX0 " +1", NULL},
        {"two vendors", "alloc:amd.com/npu=1 alloc:nvidia.com/gpu=1" VOUCHED,
         "resources " IDX0 " 1::-1::0:16:-1:ok other +2", "several names"},
        {"an annotation of AMD", GPUS(GPU_A) " alloc:amd.com/gpu=1", "annotation 0:GPU-a:-1::81920:16:-1:ok amd +1",
         NULL},
    };
    static const struct str wholes[] = {STR("nvidia.com/gpu"), STR("x/fpga"), STR("amd.com/gpu"), STR("amd.com/npu")};
    static const struct plugin_resource plugins[] = {{STR("amd.com/npu"), VENDOR_AMD, true}};
    static const struct compute_resource compute[] = {{STR("gpu.intel.com/units"), 100}};
    static const struct node_template templates[] = {{STR("x/pool"), STR("t4"), 1, 16384, STR("T4")}};
    struct policy p = *policy_defaults();

    p.whole_resources = wholes;
    p.whole_resource_n = ARRAY_LEN(wholes);
    p.plugins = plugins;
    p.plugin_n = ARRAY_LEN(plugins);
    p.compute_resources = compute;
    p.compute_resource_n = ARRAY_LEN(compute);
    p.templates = templates;
    p.template_n = ARRAY_LEN(templates);
    check_rows(&p, rows, ARRAY_LEN(rows));
}

/* A reserve is of the whole card; a part has its share of it. */
static void inventory__part_of_a_gpu__reserve_in_proportion(void **state)
{
    static const struct row rows[] = {
        {"half", "alloc:gpu-milli=500 alloc:gpu-memory-mib=8192", "resources " PART(0, 15360, 500), NULL},
    };
    struct policy p = *policy_defaults();

    p.mem_reserve_mib = 1024;
    check_rows(&p, rows, ARRAY_LEN(rows));
}

static void inventory__resources__totals_are_divided(void **state)
{
    static const struct row rows[] = {
        {"nothing", "label:x/y=1 alloc:cpu/x=4", "none", NULL},
        {"zero", "alloc:gpu-milli=0 alloc:gpu-memory-mib=0 alloc:nvidia.com/gpu=0", "none", NULL},
        {"milli", "alloc:gpu-milli=2k", "resources 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok", NULL},
        {"milli and memory", "alloc:gpu-milli=2000 alloc:gpu-memory-mib=20Ki",
         "resources 0::-1::10240:16:-1:ok 1::-1::10240:16:-1:ok", NULL},
        {"uneven memory of three", "alloc:gpu-milli=3000 alloc:gpu-memory-mib=20",
         "resources 0::-1::6:16:-1:ok 1::-1::6:16:-1:ok 2::-1::6:16:-1:ok", "not a multiple"},
        {"even memory of three", "alloc:gpu-milli=3000 alloc:gpu-memory-mib=21",
         "resources 0::-1::7:16:-1:ok 1::-1::7:16:-1:ok 2::-1::7:16:-1:ok", NULL},
        {"uneven memory", "alloc:gpu-milli=2000 alloc:gpu-memory-mib=21",
         "resources 0::-1::10:16:-1:ok 1::-1::10:16:-1:ok", "rounded down"},
        {"memory from GFD, model too", "alloc:gpu-milli=1000 label:gpu.memory=7 label:gpu.product=T4",
         "resources 0::-1:T4:7:16:-1:ok", NULL},
        {"own memory before GFD", "alloc:gpu-milli=1000 alloc:gpu-memory-mib=5 label:gpu.memory=7",
         "resources 0::-1::5:16:-1:ok", NULL},
        {"metagpu", "alloc:cnvrg.io/metagpu=200", "resources 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok", NULL},
        {"count", "alloc:gpu-count=1" VOUCHED, "resources 0::-1::0:16:-1:ok", NULL},
        {"whole", "alloc:nvidia.com/gpu=2" VOUCHED, "resources 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +2", NULL},
        {"milli before whole", "alloc:gpu-milli=1000 alloc:nvidia.com/gpu=2", "resources 0::-1::0:16:-1:ok +2",
         "another number of whole GPUs"},
        {"two that agree", "alloc:gpu-milli=1000 alloc:cnvrg.io/metagpu=100 alloc:gpu-count=1",
         "resources 0::-1::0:16:-1:ok", NULL},
        {"two that disagree", "alloc:gpu-milli=1000 alloc:gpu-count=2", "resources", "disagree"},
        {"two that agree about a part", "alloc:gpu-milli=500 alloc:cnvrg.io/metagpu=50", "resources " PART(0, 0, 500),
         NULL},
        {"two that disagree about a part", "alloc:gpu-milli=500 alloc:cnvrg.io/metagpu=51", "resources", "disagree"},
        {"a part and a count", "alloc:gpu-milli=500 alloc:gpu-count=1", "resources", "disagree"},
        {"65 GPUs", "alloc:gpu-milli=65000", "resources", "more than 64"},
        {"65 whole GPUs", "alloc:nvidia.com/gpu=65" VOUCHED, "resources +65", "more than 64"},
        {"2^63-1", "alloc:gpu-count=9223372036854775807" VOUCHED, "resources", "more than 64"},
        {"negative", "alloc:gpu-milli=-1000", "resources", "whole number"},
        {"fraction", "alloc:gpu-milli=500m", "resources", "whole number"},
        {"no number", "alloc:gpu-count=two", "resources", "whole number"},
        {"1e400", "alloc:gpu-count=1e400", "resources", "whole number"},
        {"whole no number", "alloc:nvidia.com/gpu=two", "resources", "whole number"},
        {"whole too many to be true", "alloc:nvidia.com/gpu=65537", "resources", "whole number"},
        {"whole no number beside an annotation", GPUS(GPU_A) " alloc:nvidia.com/gpu=-1",
         "annotation 0:GPU-a:-1::81920:16:-1:ok", "whole number"},
        {"memory without a number of GPUs", "alloc:gpu-memory-mib=81920", "resources", "without a number of GPUs"},
        {"memory no number", "alloc:gpu-milli=1000 alloc:gpu-memory-mib=x", "resources", "whole number"},
        {"huge memory", "alloc:gpu-milli=1000 alloc:gpu-memory-mib=16777217", "resources", "whole number"},
        {"memory label no number", "alloc:gpu-milli=1000 label:gpu.memory=x", "resources", "gpu.memory"},
        {"time-slicing", "alloc:nvidia.com/gpu=8 label:gpu.replicas=4",
         "resources 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +8/4", NULL},
        {"time-slicing, not a multiple", "alloc:nvidia.com/gpu=5 label:gpu.replicas=4",
         "resources 0::-1::0:16:-1:ok " PART(1, 0, 250) " +5/4", NULL},
        {"replicas without labels", "alloc:nvidia.com/gpu.shared=8", "resources unmeasured +8/?", "how many replicas"},
        {"replicas without labels, vouched for", "alloc:nvidia.com/gpu.shared=8" VOUCHED, "resources +8/?",
         "how many replicas"},
        {"units of a plugin", "alloc:x/units=400 label:gpu.memory=1024",
         "resources 0::-1::1024:16:-1:ok 1::-1::1024:16:-1:ok +400/200", NULL},
        {"units of a plugin beside an annotation", GPUS(GPU_A) " alloc:x/units=200",
         "annotation 0:GPU-a:-1::81920:16:-1:ok +200/200", NULL},
        {"own resource on a time-sliced node", "alloc:gpu-milli=1000 label:gpu.replicas=4",
         "resources 0::-1::0:16:-1:ok", NULL},
    };
    static const struct compute_resource compute[] = {{STR("fgpu.io/gpu-milli"), 1000},
                                                      {STR("cnvrg.io/metagpu"), 100},
                                                      {STR("x/units"), 200, ABOVE_REFUSE, PICKS_KUBELET}};
    struct policy p = *policy_defaults();

    p.compute_resources = compute;
    p.compute_resource_n = ARRAY_LEN(compute);
    check_rows(&p, rows, ARRAY_LEN(rows));
}

static void inventory__templates__last_resort_and_memory_of_others(void **state)
{
    static const struct row rows[] = {
        {"matches", "label:x/pool=t4", "template 0::-1:T4:16384:16:-1:ok", NULL},
        {"first match", "label:x/pool=t4 label:x/zone=a", "template 0::-1:T4:16384:16:-1:ok", NULL},
        {"other value", "label:x/pool=v100", "none", NULL},
        {"no memory and model", "label:x/zone=a", "template 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok", NULL},
        {"product label before nothing", "label:x/zone=a label:gpu.product=K80",
         "template 0::-1:K80:0:16:-1:ok 1::-1:K80:0:16:-1:ok", NULL},
        {"memory for a plugin's count", "label:x/pool=t4 alloc:nvidia.com/gpu=2", "template 0::-1:T4:16384:16:-1:ok +2",
         "another number of whole GPUs"},
        {"memory for a plugin's count that is vouched for", "label:x/pool=t4 alloc:nvidia.com/gpu=2" VOUCHED,
         "resources 0::-1:T4:16384:16:-1:ok 1::-1:T4:16384:16:-1:ok +2", NULL},
        {"memory for GFD", "label:x/pool=t4 label:gpu.count=1 label:gpu.product=P4", "gfd 0::-1:P4:16384:16:-1:ok",
         NULL},
        {"not for an annotation", "label:x/pool=t4 " GPUS(""), "annotation", NULL},
        {"not in place of a bad source", "label:x/pool=t4 alloc:gpu-milli=x", "resources", "whole number"},
        {"memory of a whole GPU for a part", "label:x/pool=t4 alloc:gpu-milli=1",
         "resources 0::-1:T4:16384:16:-1:ok:1m", NULL},
        {"plugin gone", "label:x/pool=t4 alloc:nvidia.com/gpu=0", "template 0::-1:T4:16384:16:-1:ok", NULL},
    };
    static const struct node_template templates[] = {
        {STR("x/pool"), STR("t4"), 1, 16384, STR("T4")},
        {STR("x/zone"), STR("a"), 2, 0, STR("")},
    };
    struct policy p = *policy_defaults();

    p.templates = templates;
    p.template_n = ARRAY_LEN(templates);
    check_rows(&p, rows, ARRAY_LEN(rows));
}

/* Issue item 15: ten tenths of one GPU in allocatable were ten GPUs for shares. */
static void inventory__item_15_allocatable_alone__no_devices_without_the_word_of_the_admin(void **state)
{
    static const struct row rows[] = {
        {"whole GPUs of a plugin", "alloc:nvidia.com/gpu=10", "resources unmeasured +10", "no shares are placed here"},
        {"under the other name", "alloc:nvidia.com/gpu.shared=10", "resources unmeasured +10/?", "how many replicas"},
        {"one", "alloc:nvidia.com/gpu=1", "resources unmeasured +1", "fgpu.io/allocatable=whole-gpus"},
        {"a count of fgpu's own", "alloc:gpu-count=10", "resources unmeasured", "nodeTemplates"},
        {"a count beside compute", "alloc:gpu-count=1 alloc:gpu-milli=1000", "resources 0::-1::0:16:-1:ok", NULL},
        {"units whose number a GPU the configuration knows", "alloc:x/units=400",
         "resources 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +400/200", NULL},
        {"units beside whole GPUs", "alloc:x/units=400 alloc:nvidia.com/gpu=2", "resources unmeasured +402/?",
         "several names"},
        {"nothing shared, says the plugin, but not how many GPUs", "alloc:nvidia.com/gpu=10 label:gpu.replicas=1",
         "resources unmeasured +10", "no shares"},
        {"memory does not make GPUs either", "alloc:nvidia.com/gpu=10 label:gpu.memory=81920",
         "resources unmeasured +10", "no shares"},
        {"the label", "alloc:nvidia.com/gpu=2" VOUCHED, "resources 0::-1::0:16:-1:ok 1::-1::0:16:-1:ok +2", NULL},
        {"another value of the label", "alloc:nvidia.com/gpu=2 label:fgpu.io/allocatable=yes",
         "resources unmeasured +2", "no shares"},
        {"a template that counts", "alloc:nvidia.com/gpu=10 label:x/pool=one", "template 0::-1:T4:16384:16:-1:ok +10",
         "another number of whole GPUs"},
        {"a template that counts, and nobody knows the replicas", "alloc:nvidia.com/gpu.shared=10 label:x/pool=one",
         "template 0::-1:T4:16384:16:-1:ok +10/?", NULL},
        {"a template that believes allocatable", "alloc:nvidia.com/gpu=2 label:x/pool=all",
         "resources 0::-1:T4:16384:16:-1:ok 1::-1:T4:16384:16:-1:ok +2", NULL},
        {"that template, and no plugin", "label:x/pool=all", "none", NULL},
        {"a template of other nodes", "alloc:nvidia.com/gpu=10 label:x/pool=none", "resources unmeasured +10",
         "no shares"},
        {"feature discovery measures", "alloc:nvidia.com/gpu=10 label:gpu.count=1", "gfd 0::-1::0:16:-1:ok +10",
         "another number of whole GPUs"},
        {"replicas of feature discovery", "alloc:nvidia.com/gpu=10 label:gpu.replicas=10",
         "resources 0::-1::0:16:-1:ok +10/10", NULL},
        {"the annotation", "alloc:nvidia.com/gpu=10 " GPUS(GPU_A), "annotation 0:GPU-a:-1::81920:16:-1:ok +10",
         "another number of whole GPUs"},
        {"the profile of virtual GPUs", "alloc:nvidia.com/gpu=1 plain:vgpu.type=v100-4q-4GB",
         "resources 0::-1:v100-4q-4GB:4096:1:-1:ok:slice +1", NULL},
    };
    static const struct compute_resource compute[] = {{STR("fgpu.io/gpu-milli"), 1000},
                                                      {STR("x/units"), 200, ABOVE_REFUSE, PICKS_KUBELET}};
    static const struct node_template templates[] = {
        {STR("x/pool"), STR("one"), 1, 16384, STR("T4")},
        {STR("x/pool"), STR("all"), 0, 16384, STR("T4"), ALLOCATABLE_WHOLE_GPUS},
    };
    struct policy p = *policy_defaults();

    p.compute_resources = compute;
    p.compute_resource_n = ARRAY_LEN(compute);
    p.templates = templates;
    p.template_n = ARRAY_LEN(templates);
    check_rows(&p, rows, ARRAY_LEN(rows));
}

static void inventory__item_15_agent_of_another_system__devices_stay_and_take_no_shares(void **state)
{
#define A GPUS(GPU_A) " "
#define A_ELSEWHERE "annotation 0:GPU-a:-1::81920:16:-1:ok elsewhere"
    static const struct row rows[] = {
        {"HAMi", A "note:hami.io/node-nvidia-register=[]", A_ELSEWHERE, "HAMi assigns"},
        {"HAMi before 2.4, empty", A "note:hami.io/node-nvidia-register=", A_ELSEWHERE, "HAMi assigns"},
        {"HAMi for other vendors", A "note:hami.io/node-dcu-register=x", A_ELSEWHERE, "HAMi assigns"},
        {"HAMi for Ascend", A "note:hami.io/node-register-Ascend910B=x", A_ELSEWHERE, "HAMi assigns"},
        {"HAMi's handshake alone", A "note:hami.io/node-handshake=Requesting", "annotation 0:GPU-a:-1::81920:16:-1:ok",
         NULL},
        {"Volcano", A "note:volcano.sh/node-vgpu-register=GPU-a,10,81920,A100,false,hami-core:", A_ELSEWHERE,
         "Volcano assigns"},
        {"MetaX", A "note:metax-tech.com/node-gpu-devices=x", A_ELSEWHERE, "HAMi assigns"},
        {"nos", A "note:nos.nebuly.com/status-gpu-0-10gb-free=1", A_ELSEWHERE, "nos assigns"},
        {"gpushare", A "alloc:aliyun.com/gpu-count=1 alloc:aliyun.com/gpu-mem=80", A_ELSEWHERE, "gpushare assigns"},
        {"gpushare is switched off", A "alloc:aliyun.com/gpu-count=0 alloc:aliyun.com/gpu-mem=0",
         "annotation 0:GPU-a:-1::81920:16:-1:ok", NULL},
        {"an amount that is none", A "alloc:aliyun.com/gpu-mem=many", A_ELSEWHERE, "gpushare assigns"},
        {"Volcano's gpushare", A "alloc:volcano.sh/gpu-memory=80", A_ELSEWHERE, "Volcano assigns"},
        {"Koordinator", A "alloc:koordinator.sh/gpu-core=100", A_ELSEWHERE, "Koordinator assigns"},
        {"elastic-gpu", A "alloc:elasticgpu.io/gpu-core=100", A_ELSEWHERE, "elastic-gpu assigns"},
        {"gpu-manager", A "alloc:tencent.com/vcuda-core=100", A_ELSEWHERE, "gpu-manager assigns"},
        {"metagpu", A "alloc:cnvrg.io/metagpu=100", A_ELSEWHERE, "metagpu assigns"},
        {"nvshare", A "alloc:nvshare.com/gpu=10", A_ELSEWHERE, "nvshare assigns"},
        {"AWS", A "alloc:k8s.amazonaws.com/vgpu=10", A_ELSEWHERE, "AWS virtual GPU plugin assigns"},
        {"a resource that the configuration serves", A "alloc:tencent.com/vcuda-memory=320",
         "annotation 0:GPU-a:-1::81920:16:-1:ok", NULL},
        {"measured by feature discovery",
         "label:gpu.count=1 alloc:nvidia.com/gpu=10 note:hami.io/node-nvidia-register=[]",
         "gfd 0::-1::0:16:-1:ok elsewhere +10", "HAMi assigns"},
        {"its whole GPUs alone", "alloc:nvidia.com/gpu=10 note:hami.io/node-nvidia-register=[]",
         "resources unmeasured elsewhere +10", "HAMi assigns"},
    };
#undef A
#undef A_ELSEWHERE
    static const struct str memory[] = {STR("tencent.com/vcuda-memory")};
    struct policy p = *policy_defaults();

    p.memory_resources = memory;
    p.memory_resource_n = ARRAY_LEN(memory);
    check_rows(&p, rows, ARRAY_LEN(rows));
}

static void inventory__reserve_and_slots__from_the_policy(void **state)
{
    static const struct row rows[] = {
        {"annotation", GPUS(GPU_B), "annotation 1:GPU-b:-1::40860:3:-1:ok", NULL},
        {"labels", "label:gpu.count=1 label:gpu.memory=5000", "gfd 0::-1::4900:3:-1:ok", NULL},
        {"unknown stays unknown", "label:gpu.count=1", "gfd 0::-1::0:3:-1:ok", NULL},
        {"one left", "label:gpu.count=1 label:gpu.memory=101", "gfd 0::-1::1:3:-1:ok", NULL},
        {"none left", "label:gpu.count=1 label:gpu.memory=100", "gfd 0::-1::0:3:-1:ok", "reserve"},
        {"never below zero", "label:gpu.count=1 label:gpu.memory=50", "gfd 0::-1::0:3:-1:ok", "reserve"},
    };
    struct policy p = *policy_defaults();

    p.mem_reserve_mib = 100;
    p.max_sharers = 3;
    check_rows(&p, rows, ARRAY_LEN(rows));
}

static void inventory__override__settings_of_the_nodes_it_selects(void **state)
{
    static const struct kv pool = {{"nvidia.com/pool", 15}, {"x", 1}};
    static const struct device_override override = {.node_selector = {&pool, 1},
                                                    .settings = {100, 3, 1500, DEVICES_AS_ELSEWHERE, MEMORY_ONLY_FREE}};
    static const struct row rows[] = {
        {"selected", "label:gpu.count=1 label:gpu.memory=5000 label:pool=x", "gfd 0::-1::4900:3:-1:ok", NULL},
        {"selected, annotation", GPUS(GPU_B) " label:pool=x", "annotation 1:GPU-b:-1::40860:3:-1:ok", NULL},
        {"not selected", "label:gpu.count=1 label:gpu.memory=5000 label:pool=y", "gfd 0::-1::5000:16:-1:ok", NULL},
    };
    struct policy p = *policy_defaults();
    struct made_node m;
    struct inventory inv;
    const char *note;

    p.overrides = &override;
    p.override_n = 1;
    p.overcommit_mem_milli = 1250;
    check_rows(&p, rows, ARRAY_LEN(rows));
    make_node(&m, "label:gpu.count=1 label:pool=x");
    assert_true(dialect_inventory(&p, &m.node, &m.arena, &inv, &note));
    assert_int_equal(inv.overcommit_milli, 1500);
    assert_int_equal(inv.overcommit_mem_milli, 1250);
    assert_int_equal(inv.memory_only, MEMORY_ONLY_FREE);
    arena_fini(&m.arena);
}

static void inventory__annotation_counts__bounded(void **state)
{
    for (int over = 0; over < 2; over++) {
        struct strbuf b;
        struct made_node m;
        struct inventory inv;
        const char *note;
        strbuf_init(&b, 1 << 20);
        strbuf_add_cstr(&b, "note:gpus={\"v\":1,\"gpus\":[");
        for (int i = DEVICES_PER_NODE_MAX + over; i > 0; i--) {
            strbuf_addf(&b, "{\"uuid\":\"u%d\",\"index\":%d,\"memMib\":1}%s", i, i - 1, i > 1 ? "," : "]}");
        }
        make_node(&m, b.p);
        assert_true(dialect_inventory(policy_defaults(), &m.node, &m.arena, &inv, &note));
        assert_int_equal(inv.device_n, over ? 0 : DEVICES_PER_NODE_MAX);
        assert_int_equal(note != NULL, over);
        for (size_t i = 0; i < inv.device_n; i++) {
            assert_int_equal(inv.devices[i].index, i);
        }
        arena_fini(&m.arena);
        strbuf_fini(&b);
    }
}

static void inventory__arena_full__says_so_and_leaves_the_results(void **state)
{
    static const char *const nodes[] = {GPUS(GPU_A), "label:gpu.count=1", "alloc:gpu-milli=1000",
                                        GPUS("{\"uuid\":\"GPU-\\u0061\",\"index\":0,\"memMib\":1}")};
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        struct made_node m;
        struct arena tiny;
        struct inventory inv = {.plugin_managed_n = -7};
        const char *note = "left alone";
        make_node(&m, nodes[i]);
        arena_init(&tiny, 1);
        assert_false(dialect_inventory(policy_defaults(), &m.node, &tiny, &inv, &note));
        assert_int_equal(inv.plugin_managed_n, -7);
        assert_string_equal(note, "left alone");
        arena_fini(&tiny);
        arena_fini(&m.arena);
    }
}

static void inventory__random_damage__indexes_stay_unique_and_in_range(void **state)
{
    static const char text[] = "{\"v\":1,\"gpus\":[" GPU_A ",{\"uuid\":\"GPU-\\u0062\",\"index\":12,\"memMib\":10,"
                               "\"slots\":10,\"numa\":-1,\"healthy\":true,\"mig\":[" IN("MIG-1", "1g.5gb", 1) "]}]}";
    struct rng rng;

    rng_init(&rng, 4);
    for (int round = 0; round < 6000; round++) {
        struct kv annotation = {STR("fgpu.io/gpus"), {NULL, 0}};
        struct node node = {.annotations = {&annotation, 1}};
        struct inventory inv;
        struct arena a;
        const char *note;
        size_t n = rng_below(&rng, 4) == 0 ? (size_t)rng_below(&rng, sizeof(text)) : sizeof(text) - 1;
        char *exact = malloc(n > 0 ? n : 1); /* so that a read behind the end is seen */
        assert_non_null(exact);
        memcpy(exact, text, n);
        for (uint64_t i = n > 0 ? rng_below(&rng, 4) : 0; i > 0; i--) {
            exact[rng_below(&rng, n)] = (char)(rng_below(&rng, 2) ? '0' + rng_below(&rng, 10) : rng_below(&rng, 256));
        }
        annotation.value = (struct str){exact, n};
        arena_init(&a, ARENA_BYTES);
        assert_true(dialect_inventory(policy_defaults(), &node, &a, &inv, &note));
        for (size_t i = 0; i < inv.device_n; i++) {
            assert_in_range(inv.devices[i].index, 0, INVENTORY_DEVICE_INDEX_MAX);
            assert_true(i == 0 || inv.devices[i - 1].index < inv.devices[i].index);
            assert_true(inv.devices[i].uuid.n > 0);
            assert_true(inv.devices[i].mem_mib > 0 || inv.devices[i].profile != 0);
        }
        arena_fini(&a);
        free(exact);
    }
}

#define WHOLE "alloc:nvidia.com/gpu="

static void inventory__profile_of_virtual_gpus__each_is_a_fixed_slice(void **state)
{
    static const struct row rows[] = {
        {"two slices", "plain:vgpu.type=v100-4q-4GB " WHOLE "2",
         "resources 0::-1:v100-4q-4GB:4096:1:-1:ok:slice 1::-1:v100-4q-4GB:4096:1:-1:ok:slice +2", NULL},
        {"the other label", "plain:virtual.gpu.type=v100-16q-16GB " WHOLE "1",
         "resources 0::-1:v100-16q-16GB:16384:1:-1:ok:slice +1", NULL},
        {"both labels, one profile", "plain:vgpu.type=v100-8q-8GB plain:virtual.gpu.type=v100-8q-8GB " WHOLE "1",
         "resources 0::-1:v100-8q-8GB:8192:1:-1:ok:slice +1", NULL},
        {"both labels, two profiles", "plain:vgpu.type=v100-8q-8GB plain:virtual.gpu.type=v100-4q-4GB " WHOLE "1",
         "resources +1", "different profiles"},
        {"not known", "plain:vgpu.type=v100-4q " WHOLE "1", "resources +1", "does not guess"},
        {"sizes differ", "plain:vgpu.type=v100-4q-8GB " WHOLE "1", "resources +1", "does not guess"},
        {"no number of GPUs", "plain:vgpu.type=v100-4q-4GB", "none", "without a number of GPUs"},
        {"GFD tells the model",
         "plain:vgpu.type=v100-4q-4GB label:gpu.count=1 label:gpu.product=GRID-V100D-4Q " WHOLE "1",
         "gfd 0::-1:GRID-V100D-4Q:4096:1:-1:ok:slice +1", NULL},
        {"GFD tells less memory", "plain:vgpu.type=v100-4q-4GB label:gpu.count=1 label:gpu.memory=3968 " WHOLE "1",
         "gfd 0::-1:v100-4q-4GB:3968:1:-1:ok:slice +1", NULL},
        {"GFD tells more memory", "plain:vgpu.type=v100-4q-4GB label:gpu.count=1 label:gpu.memory=32768 " WHOLE "1",
         "gfd 0::-1:v100-4q-4GB:4096:1:-1:ok:slice +1", "fgpu uses the profile"},
        {"by annotation, with UUID",
         "plain:vgpu.type=v100-4q-4GB note:gpus={\"v\":1,\"gpus\":[{\"uuid\":\"GPU-a\",\"index\":0,\"memMib\":4096}]}",
         "annotation 0:GPU-a:-1:v100-4q-4GB:4096:1:-1:ok:slice", NULL},
    };

    check_rows(policy_defaults(), rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inventory__annotation__as_written),
        cmocka_unit_test(inventory__malformed_annotation__no_devices_and_no_other_source),
        cmocka_unit_test(inventory__gfd_labels__devices_are_indexes),
        cmocka_unit_test(inventory__mig_in_the_annotation__instances_beside_their_gpu),
        cmocka_unit_test(inventory__mig_that_cannot_be__no_devices_and_the_reason),
        cmocka_unit_test(inventory__mig_of_a_plugin__counted_by_profile),
        cmocka_unit_test(inventory__part_of_a_gpu__never_rounded_up),
        cmocka_unit_test(inventory__names_of_plugins__shared_only_if_somebody_says_so),
        cmocka_unit_test(inventory__part_of_a_gpu__reserve_in_proportion),
        cmocka_unit_test(inventory__resources__totals_are_divided),
        cmocka_unit_test(inventory__templates__last_resort_and_memory_of_others),
        cmocka_unit_test(inventory__item_15_allocatable_alone__no_devices_without_the_word_of_the_admin),
        cmocka_unit_test(inventory__item_15_agent_of_another_system__devices_stay_and_take_no_shares),
        cmocka_unit_test(inventory__reserve_and_slots__from_the_policy),
        cmocka_unit_test(inventory__override__settings_of_the_nodes_it_selects),
        cmocka_unit_test(inventory__annotation_counts__bounded),
        cmocka_unit_test(inventory__arena_full__says_so_and_leaves_the_results),
        cmocka_unit_test(inventory__random_damage__indexes_stay_unique_and_in_range),
        cmocka_unit_test(inventory__profile_of_virtual_gpus__each_is_a_fixed_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
