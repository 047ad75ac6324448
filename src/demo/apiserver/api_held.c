/* Transactions that are held: the server has answered, or never will, and they land when somebody says so. */
#include "demo/apiserver/api_internal.h"

#include "base/bug.h"

#include <stdlib.h>

void api_hold(struct api *api, const struct api_target *t, bool binds, const cJSON *body)
{
    struct held_write *h = xcalloc(1, sizeof(*h)), **end = &api->held;
    h->target = *t;
    h->binds = binds;
    h->body = cJSON_Duplicate(body, 1);
    while (*end) {
        end = &(*end)->next;
    }
    *end = h;
}

struct held_write *api_take_held(struct api *api)
{
    struct held_write *h = api->held;
    api->held = h ? h->next : NULL;
    return h;
}

void api_free_held(struct held_write *h)
{
    cJSON_Delete(h->body);
    free(h);
}

void api_count_held(struct api *api, uint32_t *ret_held, uint64_t *ret_landed)
{
    *ret_held = 0;
    objects_lock(api->store);
    for (const struct held_write *h = api->held; h; h = h->next) {
        ++*ret_held;
    }
    *ret_landed = api->landed_n;
    objects_unlock(api->store);
}

void api_drop_held(struct api *api)
{
    struct held_write *h;
    while ((h = api_take_held(api))) {
        api_free_held(h);
    }
}
