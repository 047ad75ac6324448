#define SIM_STREAM SIM_SCHEDULER
#include "preemption.h"

#include "etcd.h"
#include "fiber.h"
#include "oracle_internal.h"
#include "trace.h"
#include "users.h"
#include "world.h"

#include "base/strbuf.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* Pods of lower priority on the node, in order of falling priority; each with a chance. How many. */
static unsigned add_victims(const struct object *pod, const struct object *node, struct strbuf *body)
{
    const char *comma = "";
    unsigned n = 0;

    for (int priority = pod->priority - 1; priority >= 0; priority--) {
        for (const struct object *o = etcd_first(PODS); o != NULL; o = o->next) {
            if (o->priority == priority && o->phase != SUCCEEDED && strcmp(o->node, node->name) == 0 &&
                sim_chance(700)) {
                strbuf_addf(body, "%s{\"UID\":\"%s\"}", comma, o->uid);
                comma = ",";
                n++;
            }
        }
    }
    return n;
}

bool preemption_ask(const struct object *pod, struct strbuf *body)
{
    const char *comma = "";
    unsigned n = 0;

    strbuf_add_cstr(body, "{\"Pod\":");
    strbuf_add_cstr(body, pod->json);
    strbuf_add_cstr(body, ",\"NodeNameToMetaVictims\":{");
    for (const struct object *node = etcd_first(NODES); node != NULL; node = node->next) {
        struct strbuf victims;

        strbuf_init(&victims, 1024 * 1024);
        if (add_victims(pod, node, &victims) > 0) {
            strbuf_addf(body, "%s\"%s\":{\"Pods\":[", comma, node->name);
            strbuf_add_str(body, strbuf_view(&victims));
            strbuf_add_cstr(body, "],\"NumPDBViolations\":0}");
            comma = ",";
            n++;
        }
        strbuf_fini(&victims);
    }
    strbuf_add_cstr(body, "}}");
    return n > 0;
}

/* Of others fgpu does not know the priority; they stay where they were in the list that it was given. One that nobody
 * has shown it yet can be bound only by another one that decides at the same time. */
static bool may_be_known(const struct object *o, uint64_t shown)
{
    return o->ask.kind != ASK_VGPU && o->stranger == 0 && (o->born <= shown || !oracle_many_decide());
}

/* False: somebody of them has gone meanwhile, so the call is in vain. */
static bool judge_victims(const struct object *pod, const char *node, const cJSON *victims, uint64_t shown)
{
    int last = pod->priority;
    const cJSON *victim;

    if (cJSON_GetArraySize(victims) < 1) {
        found("preempt of pod %s answers %s without anybody to evict", pod->uid, node);
    }
    cJSON_ArrayForEach(victim, victims)
    {
        const cJSON *uid = cJSON_GetObjectItemCaseSensitive(victim, "UID");
        const struct object *o = etcd_find_uid(cJSON_IsString(uid) ? uid->valuestring : "");

        if (o == NULL || o->phase == SUCCEEDED) {
            return false;
        }
        if (o->priority >= pod->priority || (may_be_known(o, shown) && o->priority > last) ||
            strcmp(o->node, node) != 0) {
            found("preempt of pod %s, of priority %d, evicts %s, of priority %d, of %s, on %s", pod->uid, pod->priority,
                  o->uid, o->priority, o->node, node);
        }
        last = may_be_known(o, shown) ? o->priority : last;
    }
    return true;
}

void preemption_answered(const char *uid, const char *answer, uint64_t shown)
{
    struct object *pod = etcd_find_uid(uid);
    cJSON *o = cJSON_Parse(answer != NULL ? answer : "");
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(o, "NodeNameToMetaVictims"), *node, *victim;

    cJSON_ArrayForEach(node, nodes)
    {
        const cJSON *victims = cJSON_GetObjectItemCaseSensitive(node, "Pods");

        if (pod == NULL || pod->node[0] != '\0' || !judge_victims(pod, node->string, victims, shown)) {
            continue;
        }
        TRACE("preempts: %s on %s, evicting %d", uid, node->string, cJSON_GetArraySize(victims));
        world_counts.preempted_n++;
        cJSON_ArrayForEach(victim, victims)
        {
            users_delete(etcd_find_uid(cJSON_GetObjectItemCaseSensitive(victim, "UID")->valuestring));
        }
        snprintf(pod->nominated, sizeof(pod->nominated), "%s", node->string);
        etcd_write(pod);
        break;
    }
    cJSON_Delete(o);
}
