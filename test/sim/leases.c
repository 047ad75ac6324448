#define SIM_STREAM SIM_FLEET
#include "leases.h"

#include "api.h"
#include "etcd.h"
#include "fiber.h"
#include "trace.h"

#include "base/bug.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

void leases_edit_election(bool frees)
{
    struct object *o = etcd_find(LEASE, "lease");
    cJSON *spec = cJSON_Parse(o != NULL ? o->data : "");
    static const char *const holders[] = {"", "an-admin"};

    if (spec == NULL || sim_chance(frees ? 400 : 250)) {
        if (o != NULL) {
            TRACE("an admin deletes the Lease");
            etcd_delete(o);
        }
    } else if (!frees && sim_chance(300)) {
        o->patched++; /* a label */
        etcd_write(o);
    } else {
        cJSON_ReplaceItemInObjectCaseSensitive(spec, "holderIdentity",
                                               cJSON_CreateString(holders[frees ? 0 : sim_below(2)]));
        free(o->data);
        o->data = cJSON_PrintUnformatted(spec);
        TRACE("an admin edits the Lease: %s", o->data);
        etcd_write(o);
    }
    cJSON_Delete(spec);
}

/* What a node's Lease said before somebody wrote over it. */
struct mended {
    char name[32], uid[24];
    char *intents;
};

#define GARBAGE "managed by somebody else"

/* Nobody writes it meanwhile: it is illegible. */
static void mends(void *ctx)
{
    struct mended *m = ctx;
    struct object *o = etcd_find(INTENTS, m->name);

    if (o != NULL && strcmp(o->uid, m->uid) == 0 && strcmp(object_note_of(o, "fgpu.io/intents"), GARBAGE) == 0) {
        TRACE("an admin mends %s", m->name);
        object_note(o, "fgpu.io/intents", m->intents);
        etcd_write(o);
    }
    free(m->intents);
    free(m);
}

static void garble(struct object *o)
{
    const char *intents = object_note_of(o, "fgpu.io/intents");
    struct mended *m;

    if (strcmp(intents, GARBAGE) == 0) {
        return;
    }
    m = xcalloc(1, sizeof(*m));
    memcpy(m->name, o->name, sizeof(m->name));
    memcpy(m->uid, o->uid, sizeof(m->uid));
    m->intents = memcpy(xmalloc(strlen(intents) + 1), intents, strlen(intents) + 1);
    TRACE("an admin writes over %s", o->name);
    object_note(o, "fgpu.io/intents", GARBAGE);
    etcd_write(o);
    sim_in_ms(100 + (int64_t)sim_below(8000), mends, m);
}

void leases_edit_intents(void)
{
    struct object *o = etcd_count(INTENTS) == 0 ? NULL : etcd_at(INTENTS, sim_below(etcd_count(INTENTS)));

    if (o != NULL && sim_chance(400)) {
        TRACE("an admin deletes %s%s", o->name, o->finalizer ? ", which stays for now" : "");
        api_delete_intents(o);
    } else if (o != NULL && sim_chance(500)) {
        o->patched++; /* a label */
        etcd_write(o);
    } else if (o != NULL) {
        garble(o);
    }
}
