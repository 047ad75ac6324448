/* routes/page.h - the web page: its files, which the build put into the program, over HTTP.
 *
 * GET / with an Accept that names text/html is index.html, /ui/NAME is every other file, by its exact name. They are
 * kept and sent compressed; for a client that does not take that they are inflated. Names with a hash of the content
 * may be kept by the browser for ever, index.html is asked for anew each time. The headers let a browser run, show and
 * fetch only what comes from here, and let nobody put the page into a frame.
 *
 * A build without the page has an index.html alone, which says how to build it: scripts/cmake/page.cmake.
 */
#ifndef ROUTES_PAGE_H
#define ROUTES_PAGE_H

#include "httpd/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_asset {
    const char *name; /* "index.html" */
    const char *content_type;
    const char *etag;    /* in quotes */
    bool immutable;      /* its name says its content */
    const uint8_t *gzip; /* the file, compressed */
    const uint8_t *gzip_end;
    size_t bytes; /* of the file */
};

/* Generated (scripts/cmake/page.cmake). */
extern const struct page_asset page_assets[];
extern const size_t page_asset_n;
extern const bool page_is_built;

/* Does the caller want to see a page? */
bool page_is_wanted(const struct httpd_request *req);
/* index.html. */
enum httpd_action page_handle_index(void *ctx, struct httpd_request *req, struct httpd_response *resp);
/* Everything below PAGE_PREFIX. */
#define PAGE_PREFIX "/ui/"
enum httpd_action page_handle(void *ctx, struct httpd_request *req, struct httpd_response *resp);

/* Before a route whose callers must show a token: who wants to see a page gets index.html without one. A browser cannot
 * send a token for a page that it opens; the page, which holds no secret, asks for it. `p` must outlive the route. */
struct page_door {
    httpd_handler_fn *handle; /* of the route, with its ctx */
    void *ctx;
};
void page_open_door(struct page_door *p, struct httpd_route *route);

#endif
