#include "cmd_node/publisher_internal.h"

#include "base/bug.h"
#include "kube/names.h"

#include <stdlib.h>
#include <string.h>

#define DETAILS_MS (5 * 60000)
#define DETAILS_BYTES_MAX (256U << 10)

/* ---- making ---- */

struct publisher *publisher_new(struct kube_client *client, const struct node_options *options,
                                const struct clock *clock, const struct log *log)
{
    struct publisher *p = xcalloc(1, sizeof(*p));
    uint64_t seed = 0;
    struct err err;

    p->client = client;
    p->options = options;
    p->clock = clock;
    p->log = log;
    mutex_init(&p->lock, "publisher");
    arena_init(&p->kept.arena, DETAILS_BYTES_MAX);
    strbuf_init(&p->text, PUBLICATION_BYTES_MAX);
    strbuf_init(&p->path, PUBLISHER_PATH_BYTES_MAX);
    strbuf_init(&p->status_path, PUBLISHER_PATH_BYTES_MAX);
    strbuf_add_cstr(&p->path, "/api/v1/nodes/");
    kube_url_escape(&p->path, str_of(options->node_name));
    strbuf_addf(&p->status_path, "%s/status", p->path.p);
    if (rng_os_bytes(&seed, sizeof(seed), &err) != 0) {
        seed = (uint64_t)clock_mono_ns(clock); /* it only spreads the agents of a cluster */
    }
    rng_init(&p->rng, seed);
    return p;
}

void publisher_free(struct publisher *p)
{
    if (p == NULL) {
        return;
    }
    BUG_ON(p->in_flight);
    arena_fini(&p->kept.arena);
    strbuf_fini(&p->text);
    strbuf_fini(&p->path);
    strbuf_fini(&p->status_path);
    mutex_destroy(&p->lock);
    free(p);
}

/* ---- what is wanted ---- */

static enum publication_mode mode_of(const struct node_options *o)
{
    switch (o->publish) {
    case NODE_PUBLISH_AUTO:
        return o->stand_back ? PUBLICATION_RETIRED : PUBLICATION_ANNOTATION;
    case NODE_PUBLISH_ALL:
        return PUBLICATION_ALL;
    case NODE_PUBLISH_ANNOTATION:
        return PUBLICATION_ANNOTATION;
    case NODE_PUBLISH_OFF:
        break;
    }
    return PUBLICATION_OFF;
}

/* Under the lock. Takes the text. */
static void want(struct publisher *p, const struct publication *wanted, struct strbuf *text)
{
    const struct publication *before = &p->wanted;

    if (p->is_wanted && before->mode == wanted->mode && str_eq(strbuf_view(&p->text), strbuf_view(text)) &&
        memcmp(&before->totals, &wanted->totals, sizeof(wanted->totals)) == 0) {
        strbuf_fini(text);
        return;
    }
    strbuf_fini(&p->text);
    p->text = *text;
    p->wanted = *wanted;
    p->wanted.gpus = strbuf_view(&p->text);
    p->is_wanted = true;
    p->changed = true;
    p->cached = false;
    p->due_ns = 0;
}

/* By UUID, since a device may have left the list, or come, after the details were read. Under the lock. */
static void details_of(const struct publisher *p, const struct device *devices, size_t n, struct gpu_details *ret)
{
    memset(ret, 0, n * sizeof(*ret));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < p->kept.n; k++) {
            if (str_eq(p->kept.devices[k].uuid, devices[i].uuid) && p->kept.devices[k].profile == devices[i].profile) {
                ret[i] = p->kept.details[k];
            }
        }
    }
}

static void say_left_out(struct publisher *p, const struct publication_left_out *left_out)
{
    if (__atomic_exchange_n(&p->said_left_out, left_out->odd_n + left_out->unplaced_n, __ATOMIC_RELAXED) ==
        left_out->odd_n + left_out->unplaced_n) {
        return;
    }
    if (left_out->unplaced_n > 0) {
        LOG_WARNING(p->log, "The driver does not say where MIG instances lie; they are not published",
                    LOG_I64("instances", (int64_t)left_out->unplaced_n),
                    LOG_CSTR("remedy", "run the agent privileged, or with NVIDIA_MIG_MONITOR_DEVICES=all"));
    }
    if (left_out->odd_n > 0) {
        LOG_WARNING(p->log, "GPUs with an odd UUID, index or memory are not published",
                    LOG_I64("gpus", (int64_t)left_out->odd_n));
    }
}

void publisher_set_doors(struct publisher *p, bool looked, unsigned doors)
{
    p->looked_for_doors = looked;
    p->doors = doors;
}

void publisher_set_devices(struct publisher *p, const struct device *devices, size_t n)
{
    struct gpu_details details[DEVICES_PER_NODE_MAX];
    const struct publication_facts facts = {.devices = devices,
                                            .details = details,
                                            .device_n = n,
                                            .totals = mode_of(p->options) == PUBLICATION_ALL,
                                            .looked_for_doors = p->looked_for_doors,
                                            .doors = p->doors,
                                            .overcommit_milli = p->options->overcommit_milli,
                                            .overcommit_mem_milli = p->options->overcommit_mem_milli};
    struct publication wanted = {.mode = mode_of(p->options)};
    struct publication_left_out left_out;
    struct strbuf text;
    struct err err;
    int rc;

    BUG_ON(n > ARRAY_LEN(details));
    mutex_lock(&p->lock);
    details_of(p, devices, n, details);
    rc = publication_format(&facts, &text, &wanted.totals, &left_out, &err);
    if (rc == 0) {
        want(p, &wanted, &text);
    } else {
        strbuf_fini(&text);
    }
    mutex_unlock(&p->lock);
    if (rc != 0) {
        LOG_ERROR(p->log, "The GPUs of this node cannot be published", LOG_CSTR("why", err.msg));
    } else {
        say_left_out(p, &left_out);
    }
    publisher_look(p);
}

void publisher_set_no_driver(struct publisher *p)
{
    const enum publication_mode mode = mode_of(p->options);
    const struct publication wanted = {
        .mode = mode == PUBLICATION_ALL || mode == PUBLICATION_ANNOTATION ? PUBLICATION_CLOSED : mode};
    struct strbuf text;

    strbuf_init(&text, 1);
    mutex_lock(&p->lock);
    want(p, &wanted, &text);
    mutex_unlock(&p->lock);
    publisher_look(p);
}

static bool same_devices(const struct kept_details *kept, const struct device *devices, size_t n)
{
    for (size_t i = 0; i < n && kept->n == n; i++) {
        if (!str_eq(kept->devices[i].uuid, devices[i].uuid) || kept->devices[i].profile != devices[i].profile) {
            return false;
        }
    }
    return kept->n == n;
}

static bool keep(struct kept_details *kept, const struct device *devices, const struct gpu_details *details, size_t n)
{
    struct device *copy = ARENA_ARRAY(&kept->arena, n + 1, struct device);

    if (copy == NULL || details == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] = (struct device){.uuid = arena_str(&kept->arena, devices[i].uuid), .profile = devices[i].profile};
    }
    kept->devices = copy;
    kept->details = details;
    kept->n = n;
    return !kept->arena.overflowed;
}

void publisher_read_details(struct publisher *p, const struct nvml *nvml, const struct device *devices, size_t n)
{
    const int64_t now_ns = clock_mono_ns(p->clock);
    struct kept_details fresh = {.read_ns = now_ns}, before;

    if (p->client == NULL ||
        (p->kept.n > 0 && now_ns - p->kept.read_ns < DETAILS_MS * NS_PER_MS && same_devices(&p->kept, devices, n))) {
        return;
    }
    arena_init(&fresh.arena, DETAILS_BYTES_MAX);
    if (!keep(&fresh, devices, nvml_read_details(nvml, devices, n, &fresh.arena), n)) {
        LOG_WARNING(p->log, "The GPUs tell more than can be kept; their profiles and links are not published");
        fresh.n = 0;
    }
    mutex_lock(&p->lock);
    before = p->kept;
    p->kept = fresh;
    mutex_unlock(&p->lock);
    arena_fini(&before.arena);
}
