/* What fgpu-node says of its node, against the extender's reader of it: the one is written by src/node, the other by
 * src/core/dialects, and they share no code. */
#include "base/rng.h"
#include "core/dialects/dialect.h"
#include "model/policy.h"
#include "node/doors.h"
#include "node/publication.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define ARENA_BYTES (4U << 20)

struct fixture {
    struct arena arena;
    struct strbuf text, body;
    struct publication_totals totals;
    struct publication_left_out left_out;
    struct inventory inventory;
};

static int set_up(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    arena_init(&f.arena, ARENA_BYTES);
    strbuf_init(&f.text, 1);
    strbuf_init(&f.body, PUBLICATION_PATCH_BYTES_MAX);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    strbuf_fini(&f->text);
    strbuf_fini(&f->body);
    arena_fini(&f->arena);
    return 0;
}

static void format(struct fixture *f, const struct device *devices, const struct gpu_details *details, size_t n)
{
    const struct publication_facts facts = {
        .devices = devices, .details = details, .device_n = n, .overcommit_milli = 1000, .overcommit_mem_milli = 1000};
    struct err err;

    strbuf_fini(&f->text);
    assert_int_equal(publication_format(&facts, &f->text, &f->totals, &f->left_out, &err), 0);
}

/* As the extender reads it, with no memory taken off. */
static void read_back(struct fixture *f)
{
    const struct kv annotation = {STR(PUBLICATION_KEY), strbuf_view(&f->text)};
    const struct node node = {.name = STR("n1"), .annotations = {&annotation, 1}};
    struct policy p = *policy_defaults();
    const char *note;

    p.mem_reserve_mib = 0;
    assert_true(dialect_inventory(&p, &node, &f->arena, &f->inventory, &note));
    if (f->inventory.source != INVENTORY_ANNOTATION || (note != NULL && strstr(note, "not checked") == NULL)) {
        fail_msg("%s: %s", note, f->text.p);
    }
}

#define A100 STR("NVIDIA A100-SXM4-40GB")

static const struct device two_gpus[] = {
    {.uuid = STR("GPU-a"),
     .index = 0,
     .minor = 3,
     .model = A100,
     .mem_mib = 40326,
     .slot_n = INT32_MAX,
     .numa = 1,
     .healthy = true,
     .gpu_index = -1,
     .start = -1},
    {.uuid = STR("GPU-b"),
     .index = 1,
     .minor = 0,
     .model = A100,
     .mem_mib = 40326,
     .slot_n = INT32_MAX,
     .numa = -1,
     .healthy = false,
     .gpu_index = -1,
     .start = -1},
};

static void publication__gpus__are_the_documented_text(void **state)
{
    struct fixture *f = *state;

    format(f, two_gpus, NULL, 2);
    assert_string_equal(f->text.p, "{\"v\":1,\"by\":\"fgpu-node\",\"gpus\":["
                                   "{\"uuid\":\"GPU-a\",\"index\":0,\"minor\":3,\"model\":\"NVIDIA-A100-SXM4-40GB\","
                                   "\"memMib\":40326,\"numa\":1,\"healthy\":true},"
                                   "{\"uuid\":\"GPU-b\",\"index\":1,\"minor\":0,\"model\":\"NVIDIA-A100-SXM4-40GB\","
                                   "\"memMib\":40326,\"healthy\":false}]}");
    assert_true(str_starts(strbuf_view(&f->text), STR(PUBLICATION_BEGINS)));
    format(f, NULL, NULL, 0);
    assert_string_equal(f->text.p, "{\"v\":1,\"by\":\"fgpu-node\",\"gpus\":[]}");
    assert_int_equal(f->totals.milli, 0);
}

static void publication__mig__has_profiles_of_the_driver_and_no_totals(void **state)
{
    static const struct mig_shape shapes[] = {{MIG_PROFILE(1, 35), 2, 0x15, 4, 34000},
                                              {MIG_PROFILE(2, 47), 4, 1, 1, 0}};
    static const struct gpu_details details[] = {{.nvlinked = 6, .shapes = shapes, .shape_n = 2}, {.nvlinked = 0}};
    static const struct device devices[] = {
        {.uuid = STR("GPU-a"),
         .model = STR("NVIDIA B300"),
         .mem_mib = 1000,
         .slot_n = INT32_MAX,
         .numa = -1,
         .healthy = true,
         .profile = DEVICE_IN_MIG_MODE,
         .gpu_index = -1,
         .start = -1},
        {.uuid = STR("MIG-1"),
         .index = 1026,
         .mem_mib = 34000,
         .profile = MIG_PROFILE(1, 35),
         .healthy = true,
         .slot_n = 1,
         .start = 2},
    };
    struct fixture *f = *state;

    format(f, devices, details, 2);
    assert_string_equal(f->text.p, "{\"v\":1,\"by\":\"fgpu-node\",\"gpus\":["
                                   "{\"uuid\":\"GPU-a\",\"index\":0,\"minor\":0,\"model\":\"NVIDIA-B300\","
                                   "\"memMib\":34000,\"healthy\":true,\"nvlink\":[1,2],\"migProfiles\":["
                                   "{\"profile\":\"1g.35gb\",\"size\":2,\"starts\":[0,2,4],\"max\":4,\"memMib\":34000},"
                                   "{\"profile\":\"2g.47gb\",\"size\":4,\"starts\":[0],\"max\":1,\"memMib\":0}],"
                                   "\"mig\":[{\"uuid\":\"MIG-1\",\"profile\":\"1g.35gb\",\"start\":2,"
                                   "\"memMib\":34000,\"healthy\":true}]}]}");
    assert_int_equal(f->totals.count, 0);
    assert_int_equal(f->totals.mem_mib, 0);
    read_back(f);
    assert_int_equal(f->inventory.device_n, 2);
    assert_int_equal(f->inventory.devices[1].start, 2);
}

/* An admin closes a GPU by nvidia-smi --compute-mode=PROHIBITED. */
static void publication__gpu_on_which_nobody_may_compute__is_closed(void **state)
{
    static const struct gpu_details details[] = {{.compute_mode = COMPUTE_MODE_PROHIBITED}, {.nvlinked = 0}};
    struct fixture *f = *state;

    format(f, two_gpus, details, 2);
    assert_non_null(strstr(f->text.p, "\"healthy\":false,\"computeMode\":\"prohibited\""));
}

/* kubelet fails pods that do not fit any more when it starts, and those of an ill GPU are still there. */
static void publication__ill_gpu__stays_in_the_totals(void **state)
{
    const struct publication_facts facts = {
        .devices = two_gpus, .device_n = 2, .overcommit_milli = 1000, .overcommit_mem_milli = 1000, .totals = true};
    struct fixture *f = *state;
    struct err err;

    strbuf_fini(&f->text);
    assert_int_equal(publication_format(&facts, &f->text, &f->totals, &f->left_out, &err), 0);
    assert_true(str_starts(strbuf_view(&f->text), STR(PUBLICATION_WITH_TOTALS)));
    assert_int_equal(f->totals.count, 2);
    assert_int_equal(f->totals.milli, 2000);
    assert_int_equal(f->totals.mem_mib, 2 * 40326);
    read_back(f);
}

/* fgpu doctor reads them (doctor/facts.h); an Event is gone after an hour. */
static void publication__doors__are_told_if_somebody_looked(void **state)
{
    static const struct {
        bool looked;
        unsigned doors;
        const char *text;
    } rows[] = {
        {false, 0, PUBLICATION_BEGINS "\"gpus\":["},
        {true, 0, PUBLICATION_BEGINS "\"doors\":[],\"gpus\":["},
        {true, 1U << DOOR_VARIABLE | 1U << DOOR_NO_VALIDATOR,
         PUBLICATION_BEGINS "\"doors\":[\"variable\",\"no-validator\"],\"gpus\":["},
        {true, 1U << DOOR_MOUNT, PUBLICATION_BEGINS "\"doors\":[\"mount\"],\"gpus\":["},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct publication_facts facts = {.devices = two_gpus,
                                                .device_n = 2,
                                                .overcommit_milli = 1000,
                                                .overcommit_mem_milli = 1000,
                                                .looked_for_doors = rows[i].looked,
                                                .doors = rows[i].doors};
        struct err err;

        strbuf_fini(&f->text);
        assert_int_equal(publication_format(&facts, &f->text, &f->totals, &f->left_out, &err), 0);
        assert_true(str_starts(strbuf_view(&f->text), str_of(rows[i].text)));
        read_back(f);
    }
}

static void publication__overcommit__is_in_the_totals(void **state)
{
    const struct publication_facts facts = {
        .devices = two_gpus, .device_n = 1, .overcommit_milli = 1500, .overcommit_mem_milli = 1001};
    struct fixture *f = *state;
    struct err err;

    assert_int_equal(publication_format(&facts, &f->text, &f->totals, &f->left_out, &err), 0);
    assert_int_equal(f->totals.milli, 1500);
    assert_int_equal(f->totals.mem_mib, 40366);
    assert_int_equal(f->totals.count, 1);
}

static void publication__full_machine__fits(void **state)
{
    struct mig_shape shapes[18];
    struct device devices[DEVICES_PER_NODE_MAX];
    struct gpu_details details[DEVICES_PER_NODE_MAX] = {{.nvlinked = 0}};
    char uuid[DEVICES_PER_NODE_MAX][64];
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        shapes[i] = (struct mig_shape){MIG_PROFILE(1, 2047 - i), 1, 0x7f, 7, 999999};
    }
    for (int32_t i = 0; i < DEVICES_PER_NODE_MAX; i++) {
        const bool gpu = i % 8 == 0;

        snprintf(uuid[i], sizeof(uuid[i]), "%s-00000000-0000-4000-8000-%012d", gpu ? "GPU" : "MIG", i);
        devices[i] = (struct device){.uuid = str_of(uuid[i]),
                                     .index = gpu ? i / 8 : -1,
                                     .model = STR("NVIDIA Something Extremely Long SXM6 288GB HBM4e"),
                                     .mem_mib = 999999,
                                     .healthy = true,
                                     .slot_n = 1,
                                     .profile = gpu ? DEVICE_IN_MIG_MODE : MIG_PROFILE(1, 2047),
                                     .gpu_index = gpu ? -1 : i / 8,
                                     .start = (int8_t)(gpu ? -1 : i % 8 - 1)};
        details[i] = gpu ? (struct gpu_details){.nvlinked = 0xff, .shapes = shapes, .shape_n = ARRAY_LEN(shapes)}
                         : (struct gpu_details){.nvlinked = 0};
    }
    format(f, devices, details, DEVICES_PER_NODE_MAX);
    assert_int_equal(f->left_out.odd_n + f->left_out.unplaced_n, 0);
    read_back(f);
    assert_int_equal(f->inventory.device_n, DEVICES_PER_NODE_MAX);
}

/* ---- whatever a driver says, the extender reads ---- */

struct scene {
    struct device devices[DEVICES_PER_NODE_MAX];
    struct gpu_details details[DEVICES_PER_NODE_MAX];
    size_t n;
    struct device expected[DEVICES_PER_NODE_MAX]; /* in the order of their indexes */
    size_t expected_n;
    size_t odd_n, unplaced_n;
    char text[DEVICES_PER_NODE_MAX][32];
};

static struct device *add_device(struct scene *s, struct device d, const char *kind)
{
    snprintf(s->text[s->n], sizeof(s->text[s->n]), "%s-%zu", kind, s->n);
    d.uuid = str_of(s->text[s->n]);
    s->devices[s->n] = d;
    return &s->devices[s->n++];
}

/* Layouts that the tables allow for an A100, that this driver offers, or of a GPU that nobody knows. */
static const struct mig_shape offered[] = {{MIG_PROFILE(1, 34), 2, 0x55, 4, 34000},
                                           {MIG_PROFILE(3, 69), 2, 0x0a, 2, 1}};
static const struct layout {
    struct str model;
    bool offers;
    size_t n;
    struct {
        uint16_t profile;
        int8_t start;
    } at[7];
} layouts[] = {
    {A100, false, 3, {{MIG_PROFILE(1, 5), 6}, {MIG_PROFILE(3, 20), 0}, {MIG_PROFILE(2, 10), 4}}},
    {A100, false, 1, {{MIG_PROFILE(7, 40), 0}}},
    {A100, false, 2, {{MIG_PROFILE(1, 5) | MIG_ME, 1}, {MIG_PROFILE(1, 5), 0}}},
    {STR("NVIDIA B300"), true, 3, {{MIG_PROFILE(1, 34), 0}, {MIG_PROFILE(1, 34), 6}, {MIG_PROFILE(3, 69), 3}}},
    {A100, true, 1, {{MIG_PROFILE(3, 69), 1}}}, /* the driver knows better than the tables */
    {STR("NVIDIA Z9"), false, 2, {{MIG_PROFILE(5, 99), 7}, {MIG_PROFILE(1, 3), 0}}},
};

/* In the order of the indexes, as the reader has them. */
static void expect(struct scene *s, struct device d)
{
    size_t at = s->expected_n++;

    for (; at > 0 && s->expected[at - 1].index > d.index; at--) {
        s->expected[at] = s->expected[at - 1];
    }
    s->expected[at] = d;
}

static void add_instances(struct scene *s, struct rng *rng, const struct layout *l, const struct device *gpu,
                          bool gpu_usable)
{
    for (size_t i = 0; i < l->n; i++) {
        struct device d = {.mem_mib = 1 + (int64_t)rng_below(rng, 14000),
                           .profile = l->at[i].profile,
                           .start = l->at[i].start,
                           .gpu_index = gpu->index,
                           .slot_n = 1,
                           .healthy = rng_below(rng, 4) > 0};
        const uint64_t spoilt = rng_below(rng, 8);

        if (spoilt == 0) {
            d.start = -1;
        } else if (spoilt == 1) {
            d.mem_mib = 0;
        }
        d = *add_device(s, d, "MIG");
        if (spoilt <= 1) {
            *(spoilt == 0 ? &s->unplaced_n : &s->odd_n) += 1;
            continue;
        }
        if (spoilt == 2) { /* where another one lies already */
            struct device over = d;

            (void)add_device(s, over, "MIG");
            s->unplaced_n++;
        }
        d.index = DEVICE_INSTANCE_INDEX(gpu->index, d.start);
        d.healthy = d.healthy && gpu_usable;
        d.minor = gpu->minor;
        d.numa = gpu->numa;
        expect(s, d);
    }
}

static void add_gpu(struct scene *s, struct rng *rng, int32_t index)
{
    const struct layout *l = &layouts[rng_below(rng, ARRAY_LEN(layouts))];
    struct device d = {.index = index,
                       .minor = (int32_t)rng_below(rng, 16),
                       .model = l->model,
                       .mem_mib = 39000 + (int64_t)rng_below(rng, 2000),
                       .slot_n = rng_below(rng, 2) == 0 ? INT32_MAX : 1 + (int32_t)rng_below(rng, 40),
                       .numa = (int32_t)rng_below(rng, 3) - 1,
                       .healthy = rng_below(rng, 4) > 0,
                       .profile = rng_below(rng, 2) == 0 ? DEVICE_IN_MIG_MODE : 0,
                       .gpu_index = -1,
                       .start = -1};
    const uint64_t spoilt = rng_below(rng, 10);
    struct gpu_details details = {.compute_mode = (enum compute_mode)rng_below(rng, COMPUTE_MODE__MAX),
                                  .nvlinked = rng_below(rng, 256)};
    const bool usable = d.healthy && details.compute_mode != COMPUTE_MODE_PROHIBITED;

    if (l->offers) {
        details.shapes = offered;
        details.shape_n = ARRAY_LEN(offered);
    }
    if (spoilt < 3) { /* a GPU that cannot be published is none, and its instances are none */
        d.profile = 0;
        d.mem_mib = spoilt == 0 ? 0 : d.mem_mib;
        d.index = spoilt == 1 ? 1024 : d.index;
        s->odd_n++;
    }
    s->details[s->n] = details;
    (void)add_device(s, d, spoilt == 2 ? "GPU \"odd\"" : "GPU");
    if (spoilt < 3) {
        return;
    }
    d.uuid = s->devices[s->n - 1].uuid;
    if (d.profile == 0) {
        struct device read = d;

        read.healthy = usable;
        expect(s, read);
    } else {
        const size_t at = s->expected_n;
        int64_t instances_mib = 0;
        struct device read = d;

        add_instances(s, rng, l, &d, usable);
        for (size_t i = 0; i < s->expected_n; i++) {
            instances_mib += i >= at && s->expected[i].gpu_index == index ? s->expected[i].mem_mib : 0;
        }
        read.healthy = usable;
        read.mem_mib = instances_mib > read.mem_mib ? instances_mib : read.mem_mib;
        expect(s, read);
    }
}

static void same_text(struct str got, struct str want)
{
    for (size_t i = 0; i < want.n; i++) {
        assert_int_equal(got.p[i], want.p[i] == ' ' ? '-' : want.p[i]);
    }
    assert_int_equal(got.n, want.n);
}

static void same_device(const struct device *got, const struct device *want)
{
    assert_true(str_eq(got->uuid, want->uuid));
    assert_int_equal(got->index, want->index);
    assert_int_equal(got->minor, want->minor);
    assert_int_equal(got->mem_mib, want->mem_mib);
    assert_int_equal(got->slot_n, want->slot_n == INT32_MAX ? policy_defaults()->max_sharers : want->slot_n);
    assert_int_equal(got->numa, want->numa);
    assert_int_equal(got->healthy, want->healthy);
    assert_int_equal(got->profile, want->profile);
    if (want->profile == 0 || want->profile == DEVICE_IN_MIG_MODE) {
        same_text(got->model, want->model);
    } else {
        assert_int_equal(got->gpu_index, want->gpu_index);
        assert_int_equal(got->start, want->start);
    }
}

static void publication__random_machine__is_read_back_as_the_same_devices(void **state)
{
    static struct scene s;
    struct fixture *f = *state;
    struct rng rng;

    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct publication_totals totals = {.milli = 0};

        memset(&s, 0, sizeof(s));
        rng_init(&rng, seed);
        for (int32_t i = 0; i < 6; i++) {
            add_gpu(&s, &rng, i);
        }
        format(f, s.devices, s.details, s.n);
        read_back(f);
        assert_int_equal(f->left_out.odd_n, s.odd_n);
        assert_int_equal(f->left_out.unplaced_n, s.unplaced_n);
        assert_int_equal(f->inventory.device_n, s.expected_n);
        for (size_t i = 0; i < s.expected_n; i++) {
            const struct device *d = &s.expected[i];

            same_device(&f->inventory.devices[i], d);
            if (d->profile == 0) {
                totals =
                    (struct publication_totals){totals.milli + 1000, totals.mem_mib + d->mem_mib, totals.count + 1};
            }
        }
        assert_memory_equal(&totals, &f->totals, sizeof(totals));
        arena_reset(&f->arena);
    }
}

/* ---- what is to be written ---- */

#define WITH_TOTALS                                                                                                    \
    "{\\\"v\\\":1,\\\"by\\\":\\\"fgpu-node\\\",\\\"totals\\\":true,\\\"gpus\\\":[{\\\"healthy\\\":false}]}"
#define OURS                                                                                                           \
    "{\\\"v\\\":1,\\\"by\\\":\\\"fgpu-node\\\",\\\"gpus\\\":[{\\\"uuid\\\":\\\"GPU-a\\\",\\\"healthy\\\":true}]}"
#define OURS_TEXT "{\"v\":1,\"by\":\"fgpu-node\",\"gpus\":[{\"uuid\":\"GPU-a\",\"healthy\":true}]}"
#define VERSION "\"resourceVersion\":\"7\""
#define NOTE(text) "{\"metadata\":{" VERSION ",\"annotations\":{\"x\":\"\\ud800\",\"fgpu.io/gpus\":\"" text "\"}}"
#define TOTALS(milli, mem, n)                                                                                          \
    "{\"cpu\":\"2\",\"fgpu.io/gpu-milli\":\"" milli "\",\"fgpu.io/gpu-memory-mib\":\"" mem                             \
    "\",\"fgpu.io/gpu-count\":\"" n "\"}"
#define STATUS(capacity, allocatable) ",\"status\":{\"capacity\":" capacity ",\"allocatable\":" allocatable "}}"
#define WRITTEN_TOTALS(milli, mem, n)                                                                                  \
    "{\"fgpu.io/gpu-milli\":" milli ",\"fgpu.io/gpu-memory-mib\":" mem ",\"fgpu.io/gpu-count\":" n "}"
#define WRITTEN_STATUS(totals)                                                                                         \
    "{\"metadata\":{" VERSION "},\"status\":{\"capacity\":" totals ",\"allocatable\":" totals "}}"
#define WRITTEN_OURS "{\"metadata\":{" VERSION ",\"annotations\":{\"fgpu.io/gpus\":\"" OURS "\"}}}"

static void next__of_each_node__is_what_differs(void **state)
{
    static const struct {
        const char *name, *node;
        enum publication_mode mode;
        enum publication_step step;
        const char *body;
    } rows[] = {
        {"nothing there", "{\"metadata\":{\"name\":\"n1\"," VERSION "}}", PUBLICATION_ALL, PUBLICATION_WRITE_ANNOTATION,
         WRITTEN_OURS},
        {"no totals", NOTE(OURS) "}", PUBLICATION_ALL, PUBLICATION_WRITE_TOTALS,
         WRITTEN_STATUS(WRITTEN_TOTALS("\"4000\"", "\"163840\"", "\"4\""))},
        {"in the words of the API server", NOTE(OURS) STATUS(TOTALS("4k", "160Ki", "4"), TOTALS("4k", "163840", "4")),
         PUBLICATION_ALL, PUBLICATION_DONE, ""},
        {"zeroed by kubelet", NOTE(OURS) STATUS(TOTALS("0", "0", "0"), TOTALS("0", "0", "0")), PUBLICATION_ALL,
         PUBLICATION_WRITE_TOTALS, WRITTEN_STATUS(WRITTEN_TOTALS("\"4000\"", "\"163840\"", "\"4\""))},
        {"allocatable alone", NOTE(OURS) STATUS(TOTALS("4k", "163840", "4"), "{}"), PUBLICATION_ALL,
         PUBLICATION_WRITE_TOTALS, WRITTEN_STATUS(WRITTEN_TOTALS("\"4000\"", "\"163840\"", "\"4\""))},
        {"totals of somebody else", NOTE(OURS) STATUS(TOTALS("1", "1", "1"), "{}"), PUBLICATION_ANNOTATION,
         PUBLICATION_DONE, ""},
        {"totals that are not wanted any more", NOTE(WITH_TOTALS) STATUS(TOTALS("4k", "1", "4"), "{}"),
         PUBLICATION_ANNOTATION, PUBLICATION_WRITE_TOTALS, WRITTEN_STATUS(WRITTEN_TOTALS("null", "null", "null"))},
        {"and then", NOTE(WITH_TOTALS) "}", PUBLICATION_ANNOTATION, PUBLICATION_WRITE_ANNOTATION, WRITTEN_OURS},
        {"an admin's word", NOTE("{\\\"v\\\":1,\\\"gpus\\\":[]}") "}", PUBLICATION_ALL, PUBLICATION_FOREIGN, ""},
        {"an admin's word stays", NOTE("") "}", PUBLICATION_RETIRED, PUBLICATION_FOREIGN, ""},
        {"off", NOTE(OURS) "}", PUBLICATION_OFF, PUBLICATION_DONE, ""},
        {"no driver, and never one", "{\"metadata\":{" VERSION "}}", PUBLICATION_CLOSED, PUBLICATION_DONE, ""},
        {"no driver any more", NOTE(OURS) STATUS(TOTALS("4k", "1", "4"), "{}"), PUBLICATION_CLOSED,
         PUBLICATION_WRITE_ANNOTATION,
         "{\"metadata\":{" VERSION
         ",\"annotations\":{\"fgpu.io/gpus\":\"{\\\"v\\\":1,\\\"by\\\":\\\"fgpu-node\\\",\\\"gpus\\\":"
         "[{\\\"uuid\\\":\\\"GPU-a\\\",\\\"healthy\\\":false}]}\"}}}"},
        {"closed, with totals", NOTE(WITH_TOTALS) STATUS(TOTALS("4k", "1", "4"), "{}"), PUBLICATION_CLOSED,
         PUBLICATION_WRITE_TOTALS, WRITTEN_STATUS(WRITTEN_TOTALS("null", "null", "null"))},
        {"closed", NOTE(WITH_TOTALS) "}", PUBLICATION_CLOSED, PUBLICATION_DONE, ""},
        {"to be retired", NOTE(WITH_TOTALS) STATUS("{}", TOTALS("4k", "1", "4")), PUBLICATION_RETIRED,
         PUBLICATION_WRITE_TOTALS, WRITTEN_STATUS(WRITTEN_TOTALS("null", "null", "null"))},
        {"to be retired, without totals of ours", NOTE(OURS) STATUS(TOTALS("4k", "1", "4"), "{}"), PUBLICATION_RETIRED,
         PUBLICATION_WRITE_ANNOTATION, "{\"metadata\":{" VERSION ",\"annotations\":{\"fgpu.io/gpus\":null}}}"},
        {"retired", "{\"metadata\":{" VERSION "}}", PUBLICATION_RETIRED, PUBLICATION_DONE, ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct publication wanted = {rows[i].mode, STR(OURS_TEXT), {4000, 163840, 4}};
        struct publication_seen seen;
        enum publication_step step;
        struct err err;

        if (publication_read_node(str_of(rows[i].node), &f->arena, &seen, &err) != 0) {
            fail_msg("%s: %s", rows[i].name, err.msg);
        }
        step = publication_next(&wanted, &seen, &f->body);
        if (step != rows[i].step || !str_eq_cstr(strbuf_view(&f->body), rows[i].body)) {
            fail_msg("%s: step %d, %s", rows[i].name, (int)step, f->body.p);
        }
    }
}

static void read_node__what_is_no_node__is_an_error(void **state)
{
    struct fixture *f = *state;
    struct publication_seen seen;
    struct err err;

    assert_int_equal(publication_read_node(STR("{\"metadata\":"), &f->arena, &seen, &err), -ERR_PARSE);
    assert_int_equal(
        publication_read_node(STR("{\"metadata\":{\"annotations\":{\"fgpu.io/gpus\":1}}}"), &f->arena, &seen, &err),
        -ERR_INVALID);
    /* Nobody could say of which state of the node a patch is meant. */
    assert_int_equal(publication_read_node(STR("{\"metadata\":{\"name\":\"n1\"}}"), &f->arena, &seen, &err),
                     -ERR_INVALID);
    assert_non_null(strstr(err.msg, "metadata.resourceVersion"));
}

int main(void)
{
#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_ARENA(publication__gpus__are_the_documented_text),
        WITH_ARENA(publication__mig__has_profiles_of_the_driver_and_no_totals),
        WITH_ARENA(publication__gpu_on_which_nobody_may_compute__is_closed),
        WITH_ARENA(publication__ill_gpu__stays_in_the_totals),
        WITH_ARENA(publication__doors__are_told_if_somebody_looked),
        WITH_ARENA(publication__overcommit__is_in_the_totals),
        WITH_ARENA(publication__full_machine__fits),
        WITH_ARENA(publication__random_machine__is_read_back_as_the_same_devices),
        WITH_ARENA(next__of_each_node__is_what_differs),
        WITH_ARENA(read_node__what_is_no_node__is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
