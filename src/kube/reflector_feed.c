/* kube/reflector_feed.c - bytes of lists and watches into callbacks of the consumer. */
#include "reflector_internal.h"
#include "scan_internal.h"

#include "base/bug.h"

#include <string.h>

static bool decode_object(struct reflector *r)
{
    return r->resource == KUBE_PODS    ? kube_decode_pod(&r->reader, &r->pod)
           : r->resource == KUBE_NODES ? kube_decode_node(&r->reader, &r->node)
                                       : kube_decode_slice(&r->reader, &r->slice);
}

static struct kube_object object_of(const struct reflector *r, struct str raw)
{
    return (struct kube_object){
        .resource = r->resource,
        .pod = r->resource == KUBE_PODS ? &r->pod : NULL,
        .node = r->resource == KUBE_NODES ? &r->node : NULL,
        .slice = r->resource >= KUBE_SLICES_V1 ? &r->slice : NULL,
        .raw = raw,
        .cut_bytes = (r->busy == BUSY_LISTING ? list_decoder_item(r->list) : &r->watch.line)->note.bytes,
        .in_order = r->busy == BUSY_WATCHING,
    };
}

/* What every object has. */
struct identity {
    struct str name, version;
};

static struct identity identity_of(const struct reflector *r)
{
    return r->resource == KUBE_PODS    ? (struct identity){r->pod.name, r->pod.resource_version}
           : r->resource == KUBE_NODES ? (struct identity){r->node.name, r->node.resource_version}
                                       : (struct identity){r->slice.name, r->slice.resource_version};
}

static bool has_identity(const struct reflector *r)
{
    struct identity id = identity_of(r);
    return id.name.n > 0 && id.version.n > 0 && id.version.n < RV_MAX;
}

static int check_identity(const struct reflector *r, struct err *reterr)
{
    return has_identity(r) ? 0
                           : err_set(reterr, ERR_PARSE, "an object of %s without name or resourceVersion",
                                     kube_resource_name(r->resource));
}

static void set_cursor(struct reflector *r)
{
    struct str version = identity_of(r).version;
    memcpy(r->stats.resource_version, version.p, version.n);
    r->stats.resource_version[version.n] = '\0';
    r->relisted_at_once = false;
    r->stats.last_error[0] = '\0';
}

/* Hands an object that the decoder refused to the consumer, who alone can say what it means. */
static int deliver_unusable(struct reflector *r, struct str raw, bool deleted, const struct err *why,
                            struct err *reterr)
{
    if (r->handler.unusable == NULL) {
        return err_set(reterr, why->code, "%s", why->msg);
    }
    if (r->resource == KUBE_PODS) {
        kube_salvage_pod(raw, &r->pod);
    } else if (r->resource == KUBE_NODES) {
        kube_salvage_node(raw, &r->node);
    } else {
        kube_salvage_slice(raw, &r->slice, &r->slice_node);
    }
    if (!has_identity(r)) {
        return err_set(reterr, ERR_PARSE, "%s", why->msg);
    }
    struct kube_object o = object_of(r, raw);
    r->stats.unusable_n++;
    r->handler.unusable(r->handler.ctx, &o, deleted, why);
    return 0;
}

/* Is it JSON, whatever it says? Nested beyond all limits it was cut out by its brackets, which is enough. */
static bool is_json(struct reflector *r, struct str text)
{
    json_reader_init(&r->reader, text, NULL);
    r->reader.as_stored = true;
    json_skip(&r->reader);
    int rc = json_read_end(&r->reader, NULL);
    return rc == 0 || rc == -ERR_LIMIT;
}

int reflector_list_item(void *ctx, struct str item, struct err *reterr)
{
    struct reflector *r = ctx;
    struct err why;
    arena_reset(&r->arena);
    json_reader_init(&r->reader, item, &r->arena);
    decode_object(r);
    int rc = json_read_end(&r->reader, &why);
    rc = rc == 0 ? cut_text_judge(list_decoder_item(r->list), &why) : rc;
    if (rc != 0 && is_json(r, item)) {
        return deliver_unusable(r, item, false, &why, reterr);
    }
    if (rc != 0) {
        return scan_err_of_object(item, &why, reterr);
    }
    rc = check_identity(r, reterr);
    if (rc != 0) {
        return rc;
    }
    struct kube_object o = object_of(r, item);
    r->stats.item_n++;
    if (r->handler.object != NULL) {
        r->handler.object(r->handler.ctx, &o);
    }
    return 0;
}

static bool on_decode(void *ctx, enum watch_event_type type, struct json_reader *reader)
{
    struct reflector *r = ctx;
    BUG_ON(reader != &r->reader);
    return type == WATCH_ERROR ? kube_decode_status(reader, &r->status) : decode_object(r);
}

/* KEP-3157: an annotation of the bookmark. */
static bool ends_initial_events(const struct reflector *r)
{
    const struct str key = STR("k8s.io/initial-events-end");
    const struct str *value = r->resource == KUBE_PODS    ? kv_find(r->pod.annotations, key)
                              : r->resource == KUBE_NODES ? kv_find(r->node.annotations, key)
                                                          : &r->slice.initial_events_end;
    return value != NULL && str_eq(*value, STR("true"));
}

/* A bookmark while the list is still being sent. Servers that know WatchList send the one that ends
 * it and none before. */
static int end_fill(struct reflector *r, struct str version, struct err *reterr)
{
    if (!ends_initial_events(r)) {
        return err_set(reterr, ERR_UNAVAILABLE, "the API server does not know sendInitialEvents");
    }
    memcpy(r->list_version, version.p, version.n);
    r->list_version[version.n] = '\0';
    r->busy = BUSY_WATCHING;
    r->stats.watching = true;
    r->fill_failed_n = 0;
    r->stats.watch_list_n++;
    r->stats.watch_n++;
    r->stats.bookmark_n++;
    reflector_list_complete(r, r->stats.last_heard_ns);
    return 0;
}

static int on_bookmark(struct reflector *r, struct err *reterr)
{
    struct str version = identity_of(r).version;
    if (version.n == 0 || version.n >= RV_MAX) {
        return err_set(reterr, ERR_PARSE, "a bookmark without resourceVersion");
    }
    if (r->busy == BUSY_FILLING) {
        return end_fill(r, version, reterr);
    }
    set_cursor(r);
    r->stats.bookmark_n++;
    if (r->handler.bookmark != NULL) {
        r->handler.bookmark(r->handler.ctx, version);
    }
    return 0;
}

/* The status arrives inside a reply with HTTP status 200 (contract.md 5.2). */
static int on_error(const struct reflector *r, struct err *reterr)
{
    const struct kube_status *s = &r->status;
    bool expired = s->code == 410 || str_eq(s->reason, STR("Expired")) || str_eq(s->reason, STR("Gone"));
    return err_set(reterr, expired ? ERR_EXPIRED : ERR_UNAVAILABLE, "the API server ended the watch: %d %.*s: %.*s",
                   s->code, STR_ARG(s->reason), STR_ARG(s->message));
}

static int on_change(struct reflector *r, bool deleted, struct str raw, struct err *reterr)
{
    int rc = check_identity(r, reterr);
    if (rc != 0) {
        return rc;
    }
    struct kube_object o = object_of(r, raw);
    void (*deliver)(void *, const struct kube_object *) = deleted ? r->handler.deleted : r->handler.object;
    if (deliver != NULL) {
        deliver(r->handler.ctx, &o);
    }
    if (r->busy == BUSY_FILLING) {
        r->stats.item_n++; /* in any order, so none of them is a place to go on from (R31) */
        return 0;
    }
    r->stats.event_n++;
    set_cursor(r);
    return 0;
}

static int on_event(void *ctx, enum watch_event_type type, struct str raw, struct err *reterr)
{
    struct reflector *r = ctx;
    switch (type) {
    case WATCH_ADDED:
    case WATCH_MODIFIED:
        return on_change(r, false, raw, reterr);
    case WATCH_DELETED:
        return on_change(r, true, raw, reterr);
    case WATCH_BOOKMARK:
        return on_bookmark(r, reterr);
    case WATCH_ERROR:
        return on_error(r, reterr);
    case WATCH_EVENT_TYPE__MAX:
        break;
    }
    BUG("not a type of watch event");
}

static int on_unusable(void *ctx, enum watch_event_type type, struct str raw, const struct err *why, struct err *reterr)
{
    struct reflector *r = ctx;
    if (type == WATCH_BOOKMARK || type == WATCH_ERROR) {
        return err_set(reterr, ERR_PARSE, "%s: %s", watch_event_type_name(type), why->msg);
    }
    int rc = deliver_unusable(r, raw, type == WATCH_DELETED, why, reterr);
    if (rc == 0 && r->busy == BUSY_WATCHING) {
        set_cursor(r);
    }
    return rc;
}

struct watch_sink reflector_watch_sink(struct reflector *r)
{
    return (struct watch_sink){
        .decode = on_decode,
        .event = on_event,
        .unusable = on_unusable,
        .ctx = r,
    };
}

int reflector_feed(struct reflector *r, int64_t now_ns, struct str bytes, struct err *reterr)
{
    BUG_ON(r->busy == BUSY_NOT);
    if (r->refused.code != ERR_OK) {
        return err_set(reterr, r->refused.code, "%s", r->refused.msg);
    }
    r->stats.last_heard_ns = now_ns;
    if (r->busy == BUSY_PROBING) {
        return 0; /* its status says it all */
    }
    int rc = r->busy == BUSY_LISTING ? list_decoder_feed(r->list, bytes, &r->refused)
                                     : watch_decoder_feed(&r->watch, bytes, &r->refused);
    if (rc != 0) {
        return err_set(reterr, r->refused.code, "%s", r->refused.msg);
    }
    if (r->busy == BUSY_WATCHING) {
        reflector_contact(r, now_ns);
    }
    return 0;
}
