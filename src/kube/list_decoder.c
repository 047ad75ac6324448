#include "kube/list_decoder.h"

#include "objects_internal.h"
#include "scan_internal.h"

#include "base/bug.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum place {
    PLACE_FRAME,      /* outside of the items, bytes go to `frame` */
    PLACE_ITEM_FIRST, /* behind the '[' of items: an item or ']' */
    PLACE_ITEM_NEXT,  /* behind a comma: an item */
    PLACE_ITEM,       /* inside an item */
    PLACE_ITEM_END,   /* behind an item: ',' or ']' */
};

struct list_decoder {
    list_item_fn *item_fn;
    void *ctx;
    enum place place;
    struct json_scan scan; /* of the whole document */
    struct strbuf frame;   /* the document with "items":[] emptied */
    size_t string_at;      /* where in `frame` the last string began */
    bool items_key;        /* the last complete string at depth 1 was "items" */
    bool items_next;       /* "items": was read, its value comes */
    struct cut_text item;
    uint64_t item_n;
};

struct list_decoder *list_decoder_new(const struct kube_field *fields, list_item_fn *item, void *ctx)
{
    struct list_decoder *d = xcalloc(1, sizeof(*d));
    d->item_fn = item;
    d->ctx = ctx;
    strbuf_init(&d->frame, LIST_FRAME_MAX);
    cut_text_init(&d->item, EXCERPT_OBJECT, fields);
    return d;
}

void list_decoder_free(struct list_decoder *d)
{
    if (d != NULL) {
        strbuf_fini(&d->frame);
        cut_text_fini(&d->item);
        free(d);
    }
}

void list_decoder_reset(struct list_decoder *d)
{
    d->place = PLACE_FRAME;
    d->scan = (struct json_scan){0};
    d->items_key = false;
    d->items_next = false;
    d->item_n = 0;
    strbuf_reset(&d->frame);
    cut_text_reset(&d->item);
}

size_t list_decoder_held_bytes(const struct list_decoder *d)
{
    return d->frame.cap + d->item.begun.cap;
}

static void frame_string_byte(struct list_decoder *d, char c)
{
    if (d->scan.escaped) {
        d->scan.escaped = false;
    } else if (c == '\\') {
        d->scan.escaped = true;
    } else if (c == '"') {
        struct str word = str_drop(strbuf_view(&d->frame), d->string_at);
        d->scan.in_string = false;
        d->items_key = d->scan.depth == 1 && str_eq(word, STR("\"items\""));
    }
}

static void frame_byte(struct list_decoder *d, char c)
{
    bool items_next = d->items_next;
    strbuf_add_char(&d->frame, c);
    if (d->scan.in_string) {
        frame_string_byte(d, c);
        return;
    }
    if (scan_is_blank(c)) {
        return;
    }
    d->items_next = c == ':' && d->items_key;
    d->items_key = false;
    switch (c) {
    case '"':
        d->scan.in_string = true;
        d->string_at = d->frame.n - 1;
        break;
    case '[':
        if (items_next) {
            d->place = PLACE_ITEM_FIRST;
        }
        d->scan.depth++;
        break;
    case '{':
        d->scan.depth++;
        break;
    case '}':
    case ']':
        d->scan.depth -= d->scan.depth > 0; /* too many are found by the reader in the end */
        break;
    default:
        break;
    }
}

/* Between items; false when `c` cannot stand there. */
static bool between_byte(struct list_decoder *d, char c)
{
    if (scan_is_blank(c)) {
        return true;
    }
    if (c == ']' && d->place != PLACE_ITEM_NEXT) {
        d->place = PLACE_FRAME;
        frame_byte(d, c);
        return true;
    }
    if (c == ',' && d->place == PLACE_ITEM_END) {
        d->place = PLACE_ITEM_NEXT;
        return true;
    }
    if (c == '{' && d->place != PLACE_ITEM_END) {
        d->place = PLACE_ITEM;
        return true;
    }
    return false;
}

const struct cut_text *list_decoder_item(const struct list_decoder *d)
{
    return &d->item;
}

/* Goes on inside an item from `at`; returns where it stopped, at the item's end or at n. */
static int item_bytes(struct list_decoder *d, struct str bytes, size_t *at, struct err *reterr)
{
    size_t from = *at;
    *at = scan_to_depth(&d->scan, bytes.p, from, bytes.n, 2);
    bool ends = d->scan.depth == 2 && !d->scan.in_string;
    struct str item;
    int rc = cut_text_add(&d->item, (struct str){bytes.p + from, *at - from}, ends, "a list item", &item, reterr);
    if (rc != 0 || !ends) {
        return rc;
    }
    d->place = PLACE_ITEM_END;
    d->item_n++;
    rc = d->item_fn(d->ctx, item, reterr);
    cut_text_reset(&d->item);
    return rc;
}

int list_decoder_feed(struct list_decoder *d, struct str bytes, struct err *reterr)
{
    size_t at = 0;
    while (at < bytes.n) {
        if (d->place == PLACE_FRAME) {
            frame_byte(d, bytes.p[at++]);
            continue;
        }
        if (d->place != PLACE_ITEM) {
            if (!between_byte(d, bytes.p[at])) {
                return err_set(reterr, ERR_PARSE, "list items are not separated by commas");
            }
            at += d->place != PLACE_ITEM; /* item_bytes takes its '{' itself */
            continue;
        }
        int rc = item_bytes(d, bytes, &at, reterr);
        if (rc != 0) {
            return rc;
        }
    }
    if (d->frame.overflowed) {
        return err_set(reterr, ERR_LIMIT, "list with more than %u bytes beside its items", LIST_FRAME_MAX);
    }
    return 0;
}

struct frame {
    struct list_meta meta;
    bool has_items;
};

static const struct kube_field metadata_fields[] = {
    {STR("resourceVersion"), kube_decode_text, offsetof(struct frame, meta.resource_version)},
    {STR("continue"), kube_decode_text, offsetof(struct frame, meta.continue_)},
    {STR_NULL},
};

/* The items were cut out; items that are still here stood under a key the splitter did not
 * recognise. */
static bool decode_emptied_items(struct json_reader *r, void *at)
{
    *(bool *)at = true;
    if (!json_accept_null(r)) {
        json_array_begin(r);
        if (json_array_next(r)) {
            json_fail(r, ERR_PARSE, "list items where none are expected");
        }
    }
    return !json_failed(r);
}

int list_decoder_end(struct list_decoder *d, struct json_reader *reader, struct arena *arena, struct list_meta *ret,
                     struct err *reterr)
{
    static const struct kube_field fields[] = {
        {STR("metadata"), .inner = metadata_fields},
        {STR("items"), decode_emptied_items, offsetof(struct frame, has_items)},
        {STR_NULL},
    };
    struct frame in = {.meta.item_n = d->item_n};
    if (d->place != PLACE_FRAME) {
        return err_set(reterr, ERR_PARSE, "list ended inside its items");
    }
    json_reader_init(reader, strbuf_view(&d->frame), arena);
    kube_decode_object(reader, fields, &in);
    int rc = json_read_end(reader, reterr);
    if (rc != 0) {
        return err_wrap(reterr, rc, "list without its items");
    }
    if (!in.has_items || in.meta.resource_version.n == 0) {
        return err_set(reterr, ERR_INVALID, "not a list: no items or no metadata.resourceVersion");
    }
    *ret = in.meta;
    return 0;
}
