/* The document of fgpu-node's /state. */
#include "sim/rightsize.h"

#include "base/clock.h"
#include "base/json_members.h"
#include "model/documents.h"

#include <stdlib.h>

#define AMOUNT_MAX INT32_MAX

struct reading {
    struct rightsize *r;
    struct rightsize_document *document;
    struct str api_version, kind, as_of;
    bool has_gpus;
    /* Of the GPU that is read. Its containers may stand before what is said of it. */
    struct rightsize_use *before; /* the list when it began */
    struct rightsize_idle gpu;
    bool instance, mig;
    int64_t sharers;
};

static void read_usage(struct json_reader *j, void *to)
{
    struct rightsize_use *u = to;

    u->watched = true;
    json_members(j,
                 JSON_MEMBERS({"observedSeconds", .i64 = &u->seconds, .max = AMOUNT_MAX},
                              {"looks", .i64 = &u->looks, .max = AMOUNT_MAX}, {"touched", .flag = &u->touched},
                              {"crowdingSeconds", .i64 = &u->crowding_seconds, .max = AMOUNT_MAX},
                              {"memMib", .object = JSON_MEMBERS({"peak", .i64 = &u->peak_mem_mib, .max = AMOUNT_MAX},
                                                                {"mean", .i64 = &u->mean_mem_mib, .max = AMOUNT_MAX})},
                              {"milli", .object = JSON_MEMBERS({"peak", .i64 = &u->peak_milli, .max = AMOUNT_MAX},
                                                               {"mean", .i64 = &u->mean_milli, .max = AMOUNT_MAX})}));
}

static void read_use(struct json_reader *j, struct reading *d, bool ended)
{
    struct rightsize_use *u = ARENA_NEW(d->r->arena, struct rightsize_use);

    if (u == NULL) {
        json_fail(j, ERR_LIMIT, "more containers than there is memory for");
        json_skip(j);
        return;
    }
    *u = (struct rightsize_use){.next = d->r->uses,
                                .from = d->document,
                                .ended = ended,
                                .peak_mem_mib = RIGHTSIZE_UNKNOWN,
                                .mean_mem_mib = RIGHTSIZE_UNKNOWN,
                                .peak_milli = RIGHTSIZE_UNKNOWN,
                                .mean_milli = RIGHTSIZE_UNKNOWN};
    json_members(j,
                 JSON_MEMBERS({"namespace", .shown = &u->namespace_}, {"pod", .shown = &u->pod},
                              {"uid", .shown = &u->uid}, {"container", .shown = &u->container}, {"id", .shown = &u->id},
                              {"gpu", .shown = &u->gpu}, {"milli", .i64 = &u->milli, .max = AMOUNT_MAX},
                              {"memMib", .i64 = &u->mem_mib, .max = AMOUNT_MAX}, {"alone", .flag = &u->alone},
                              {"usage", .read = read_usage, .to = u}));
    d->r->uses = u;
}

static void read_container(struct json_reader *j, void *to)
{
    read_use(j, to, false);
}

static void read_ended(struct json_reader *j, void *to)
{
    read_use(j, to, true);
}

static void keep_idle(struct json_reader *j, struct reading *d)
{
    struct rightsize_idle *g = ARENA_NEW(d->r->arena, struct rightsize_idle);

    if (g == NULL) {
        json_fail(j, ERR_LIMIT, "more GPUs than there is memory for");
        return;
    }
    *g = d->gpu;
    g->next = d->r->idle;
    d->r->idle = g;
}

/* A GPU in MIG mode is not handed out; its instances are. */
static void read_gpu(struct json_reader *j, void *to)
{
    struct reading *d = to;

    d->before = d->r->uses;
    d->gpu = (struct rightsize_idle){.from = d->document};
    d->instance = d->mig = false;
    d->sharers = 0;
    json_members(j, JSON_MEMBERS({"uuid", .shown = &d->gpu.gpu}, {"model", .shown = &d->gpu.model},
                                 {"memMib", .i64 = &d->gpu.mem_mib, .max = AMOUNT_MAX}, {"mig", .flag = &d->mig},
                                 {"instance", .flag = &d->instance},
                                 {"held", .object = JSON_MEMBERS({"sharers", .i64 = &d->sharers, .max = AMOUNT_MAX})},
                                 {"containers", .element = read_container, .to = d}));
    for (struct rightsize_use *u = d->r->uses; u != d->before; u = u->next) {
        u->gpu = d->gpu.gpu;
        u->gpu_mem_mib = d->gpu.mem_mib;
        u->instance = d->instance;
    }
    if (d->sharers == 0 && !d->mig) {
        keep_idle(j, d);
    }
}

static void read_gpus(struct json_reader *j, void *to)
{
    struct reading *d = to;

    d->has_gpus = true;
    for (json_array_begin(j); json_array_next(j);) {
        read_gpu(j, d);
    }
}

/* Whether it is a document of fgpu-node, and whole: what is not there would look like nothing used. */
static int check(const struct reading *d, struct err *reterr)
{
    if (!str_eq(d->kind, STR("NodeState"))) {
        return err_set(reterr, ERR_INVALID, "this is not the /state of a fgpu-node: its kind is \"%.*s\"",
                       STR_ARG(d->kind));
    }
    if (!str_eq_cstr(d->api_version, NODE_STATE_API_VERSION)) {
        return err_set(reterr, ERR_INVALID,
                       "its apiVersion is \"%.*s\", and this fgpu reads " NODE_STATE_API_VERSION
                       ": take fgpu and fgpu-node of the same release",
                       STR_ARG(d->api_version));
    }
    if (d->document->node.n == 0) {
        return err_set(reterr, ERR_INVALID, "metadata.node is missing: save the whole /state of a fgpu-node");
    }
    if (!clock_rfc3339_parse(d->as_of, &d->document->as_of_ms)) {
        return err_set(reterr, ERR_INVALID,
                       "metadata.asOf is missing, or no time: save the whole /state of a fgpu-node");
    }
    return d->has_gpus ? 0 : err_set(reterr, ERR_INVALID, "gpus is missing: save the whole /state of a fgpu-node");
}

static void add_document(struct rightsize *r, struct rightsize_document *d)
{
    d->newest = true;
    for (struct rightsize_document *other = r->documents; other != NULL; other = other->next) {
        if (!str_eq(other->node, d->node) || !other->newest) {
            continue;
        }
        if (other->as_of_ms < d->as_of_ms) {
            other->newest = false;
        } else {
            d->newest = false;
        }
    }
    d->next = r->documents;
    r->documents = d;
}

int rightsize_read(struct rightsize *r, struct str text, struct err *reterr)
{
    struct rightsize_use *const uses = r->uses;
    struct rightsize_idle *const idle = r->idle;
    struct json_reader *j = malloc(sizeof(*j)); /* too large for a stack */
    struct reading d = {.r = r, .document = ARENA_NEW(r->arena, struct rightsize_document)};
    int rc;

    if (j == NULL || d.document == NULL) {
        free(j);
        return err_set(reterr, ERR_LIMIT, "no memory");
    }
    *d.document = (struct rightsize_document){.watched = true};
    json_reader_init(j, text, r->arena);
    json_members(j, JSON_MEMBERS({"apiVersion", .shown = &d.api_version}, {"kind", .shown = &d.kind},
                                 {"metadata", .object = JSON_MEMBERS({"node", .shown = &d.document->node},
                                                                     {"asOf", .text = &d.as_of})},
                                 {"watch", .object = JSON_MEMBERS({"on", .flag = &d.document->watched})},
                                 {"gpus", .read = read_gpus, .to = &d}, {"ended", .element = read_ended, .to = &d}));
    rc = json_read_end(j, reterr);
    free(j);
    rc = rc == 0 ? check(&d, reterr) : rc;
    if (rc != 0) { /* half a document is none */
        r->uses = uses;
        r->idle = idle;
        return rc;
    }
    add_document(r, d.document);
    return 0;
}
