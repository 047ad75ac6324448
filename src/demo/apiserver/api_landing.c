/* Transactions that were held land: the object of the moment is checked, not the one of the request, and nobody hears.
 */
#include "demo/apiserver/api_internal.h"

#include <cjson/cJSON.h>

static bool land(struct api *api, const struct held_write *h)
{
    struct api_reply nobody_hears;
    bool lands;
    api_reply_init(&nobody_hears);
    lands = h->binds ? api_assign(api, &h->target, h->body, &nobody_hears)
                     : api_patch(api, &h->target, h->body, &nobody_hears) != NULL;
    api->landed_n += lands;
    api_reply_fini(&nobody_hears);
    return lands;
}

uint32_t api_commit_held(struct api *api)
{
    struct held_write *h;
    uint32_t landed_n = 0;
    objects_lock(api->store);
    while ((h = api_take_held(api))) {
        landed_n += land(api, h);
        api_free_held(h);
    }
    objects_unlock(api->store);
    return landed_n;
}
