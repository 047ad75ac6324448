/* kube/reflector_internal.h - the state shared by the parts of the reflector: reflector.c says
 * what comes next, reflector_feed.c turns bytes into callbacks, reflector_done.c draws the
 * conclusions from how an exchange ended, reflector_contact.c knows how old our news are. */
#ifndef KUBE_REFLECTOR_INTERNAL_H
#define KUBE_REFLECTOR_INTERNAL_H

#include "kube/reflector.h"

#include "backoff_internal.h"

#include "base/arena.h"
#include "base/json_read.h"
#include "base/strbuf.h"
#include "kube/list_decoder.h"
#include "kube/objects.h"
#include "kube/resource_slices.h"
#include "kube/watch_decoder.h"

#define REFLECTOR_CONTINUE_MAX ((size_t)32 * 1024)
#define RV_MAX sizeof(((struct reflector_stats *)0)->resource_version)

enum reflector_busy {
    BUSY_NOT,
    BUSY_LISTING,  /* a page */
    BUSY_FILLING,  /* a WatchList before the bookmark that ends the list */
    BUSY_WATCHING, /* a watch, or a WatchList behind that bookmark */
    BUSY_PROBING,
};

struct reflector {
    enum kube_resource resource;
    struct reflector_handler handler;
    char *one; /* path and query that selects one object; NULL: all of the resource */
    struct rng *rng;
    struct reflector_stats stats; /* its resource_version is the cursor */

    /* what comes next */
    enum reflector_busy busy;
    enum reflector_busy was; /* of the exchange that ended last */
    bool need_list;
    bool relist_asked;
    bool relisted_at_once;  /* the last 410 was answered without waiting: the next one waits */
    bool need_probe;        /* before the next watch: does the server know our cursor? */
    bool ended_briefly;     /* the last watch lasted less than a second */
    bool watch_list_off;    /* the server does not offer it */
    bool pages_next;        /* a WatchList broke: the next list comes in pages */
    uint32_t fill_failed_n; /* WatchLists in a row that broke before the end of the list */
    int64_t not_before_ns;
    int64_t begun_ns; /* the present exchange */
    struct backoff backoff;
    struct strbuf path;

    /* contact: reflector_contact.c */
    int64_t stale_after_ns;
    bool watch_open; /* the present exchange is a watch, and was answered */
    bool checking;
    bool check_failed;    /* the last one, of the present watch */
    bool replace;         /* the present watch is to be ended */
    uint64_t check_watch; /* stats.watch_n when the check began */
    int64_t check_begun_ns;

    /* the list in progress */
    bool bracket_open;
    uint32_t page_failure_n;   /* in a row, of the page that `continue_` asks for */
    char list_version[RV_MAX]; /* of its first page; empty: none yet */
    struct strbuf continue_;

    /* the bytes in progress */
    struct list_decoder *list;
    struct watch_decoder watch;
    struct arena arena; /* of the present object */
    struct pod pod;
    struct node node;
    struct resource_slice slice;
    struct str slice_node; /* of one that was salvaged */
    struct kube_status status;
    struct err refused; /* why reflector_feed failed; ERR_OK: it did not */
    struct json_reader reader;
};

/* The list is complete as of r->list_version. */
void reflector_list_complete(struct reflector *r, int64_t now_ns);

/* Bytes came on the open watch. */
void reflector_contact(struct reflector *r, int64_t now_ns);
/* An exchange failed for the reason in stats.last_error. */
void reflector_trouble(struct reflector *r, const char *verb, const struct kube_outcome *o);

void reflector_note_error(struct reflector *r, const struct kube_outcome *o);
/* reflector_watched.c */
struct kube_watched {
    const char *name;
    const char *path;
    const char *selector; /* already escaped; "" selects all */
    const char *check;    /* one object, whichever: without the selector, for which etcd might be read to the end */
};
extern const struct kube_watched kube_watched[KUBE_WATCHED__MAX];

/* Callbacks of the decoders. */
int reflector_list_item(void *ctx, struct str item, struct err *reterr);
struct watch_sink reflector_watch_sink(struct reflector *r);

#endif
