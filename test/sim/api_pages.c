/* Lists, in pages: all pages of a list are of the moment of its first one. */
#define SIM_STREAM SIM_NET
#include "api_internal.h"

#include "fiber.h"
#include "trace.h"

#include "base/bug.h"
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTS_MAX 8 /* that may be gone on with; older ones are 410 */
#define PAGE_MOST 12

struct list {
    uint64_t number, version;
    char **items;
    size_t n;
};

static struct {
    struct list lists[LISTS_MAX]; /* a ring */
    uint64_t number;
} pages;

static char *copy_of(const char *s)
{
    return memcpy(xmalloc(strlen(s) + 1), s, strlen(s) + 1);
}

static struct list *begin(enum kind k)
{
    struct list *l = &pages.lists[++pages.number % LISTS_MAX];

    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i]);
    }
    free(l->items);
    *l = (struct list){
        .number = pages.number, .version = etcd_version(), .items = xcalloc(etcd_count(k) + 1, sizeof(char *))};
    for (const struct object *o = etcd_first(k); o != NULL; o = o->next) {
        if (k != PODS || o->phase != SUCCEEDED) {
            l->items[l->n++] = copy_of(o->json);
        }
    }
    return l;
}

/* NULL: it is too old. *ret_from: the first item of the page. */
static struct list *go_on(const char *token, size_t *ret_from)
{
    const uint64_t number = strtoull(token, NULL, 10);
    const char *dot = strchr(token, '.');
    struct list *l = &pages.lists[number % LISTS_MAX];

    BUG_ON(dot == NULL);
    *ret_from = strtoull(dot + 1, NULL, 10);
    return l->number == number && !sim_chance(weather.pages / 4) ? l : NULL;
}

char *api_page(enum kind k, const char *path, uint64_t *ret_version)
{
    const char *token = strstr(path, "continue="), *limit = strstr(path, "limit=");
    size_t from = 0, most = limit != NULL ? strtoull(limit + 6, NULL, 10) : SIZE_MAX, to;
    struct list *l = token != NULL ? go_on(token + 9, &from) : begin(k);
    struct strbuf b;
    char *copy;

    if (l == NULL) {
        TRACE("410: the next page of a list");
        return NULL;
    }
    if (sim_chance(weather.pages)) {
        const size_t fewer = 1 + sim_below(PAGE_MOST);

        most = fewer < most ? fewer : most;
    }
    to = l->n - from > most ? from + most : l->n;
    strbuf_init(&b, 64U * 1024 * 1024);
    strbuf_addf(&b, "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%llu\"",
                k == PODS    ? "PodList"
                : k == NODES ? "NodeList"
                             : "LeaseList",
                (unsigned long long)l->version);
    if (to < l->n) {
        strbuf_addf(&b, ",\"continue\":\"%llu.%zu\",\"remainingItemCount\":%zu", (unsigned long long)l->number, to,
                    l->n - to);
    }
    strbuf_add_cstr(&b, "},\"items\":[");
    for (size_t i = from; i < to; i++) {
        strbuf_add_cstr(&b, i > from ? "," : "");
        strbuf_add_cstr(&b, l->items[i]);
    }
    strbuf_add_cstr(&b, "]}");
    copy = memcpy(xmalloc(b.n + 1), b.p, b.n);
    copy[b.n] = '\0';
    strbuf_fini(&b);
    *ret_version = to == l->n ? l->version : 0;
    return copy;
}
