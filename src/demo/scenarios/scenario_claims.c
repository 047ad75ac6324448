/* What a scenario claims, read off the API server's objects and /state. */
#include "demo/scenarios/scenario_internal.h"

#include "base/bug.h"
#include "demo/apiserver/apiserver.h"
#include "demo/checker/assigned_internal.h"
#include "demo/checker/checker.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One look at all pods (or events). */
struct look {
    struct claim *c;
    uint32_t n;      /* matched */
    bool differs;    /* one of them is not as it should be; the claim's text says which and how */
    char first[512]; /* place and devices of the first one, to compare with */
    struct {
        char names[64][160]; /* "node device", of all */
        size_t n;
    } taken;
};

static void differs(struct look *l, const char *pod, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void differs(struct look *l, const char *pod, const char *fmt, ...)
{
    char text[sizeof(l->c->text) - 64];
    va_list ap;

    if (l->differs) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    l->differs = true;
    snprintf(l->c->text, sizeof(l->c->text), "%.60s %s", pod, text);
}

static const char *reason_of(const cJSON *pod)
{
    const cJSON *x;

    cJSON_ArrayForEach(x, doc_at(pod, "status.conditions"))
    {
        if (strcmp(doc_text(x, "type"), "PodScheduled") == 0) {
            return doc_text(x, "message");
        }
    }
    return "";
}

static void see_bound(struct look *l, const cJSON *pod, const char *name)
{
    const char *node = doc_text(pod, "spec.nodeName"), *want = l->c->step->b;

    if (node[0] == '\0') {
        differs(l, name, "is pending: %.120s", reason_of(pod));
    } else if (want != NULL && strcmp(node, want) != 0) {
        differs(l, name, "is on %.60s", node);
    }
}

static void see_refused(struct look *l, const cJSON *pod, const char *name)
{
    const char *node = doc_text(pod, "spec.nodeName"), *reason = reason_of(pod);

    if (node[0] != '\0') {
        differs(l, name, "is bound to %.60s", node);
    } else if (strstr(reason, l->c->step->b) == NULL) {
        differs(l, name, "waits: %.120s", reason[0] != '\0' ? reason : "nobody has looked at it yet");
    }
}

static void see_together(struct look *l, const cJSON *pod, const char *name)
{
    char devices[48], place[sizeof(l->first)];

    checker_devices_text(pod, devices, sizeof(devices));
    if (devices[0] == '\0') {
        differs(l, name, "has no device");
        return;
    }
    snprintf(place, sizeof(place), "%.253s %s", doc_text(pod, "spec.nodeName"), devices);
    if (l->n == 1) {
        snprintf(l->first, sizeof(l->first), "%s", place);
    } else if (strcmp(place, l->first) != 0) {
        differs(l, name, "is on %.100s, another one is on %.60s", place, l->first);
    }
}

static void see_apart(struct look *l, const cJSON *pod, const char *name)
{
    struct assigned_list list;

    if (assigned_read(pod, &list) != NULL || list.n == 0) {
        differs(l, name, "has no device");
        return;
    }
    for (size_t i = 0; i < list.n && l->taken.n < 64; i++) {
        char device[160];

        snprintf(device, sizeof(device), "%.60s %d %.64s", doc_text(pod, "spec.nodeName"), list.items[i].index,
                 list.items[i].uuid);
        for (size_t j = 0; j < l->taken.n; j++) {
            if (strcmp(device, l->taken.names[j]) == 0) {
                differs(l, name, "shares a device with another one");
            }
        }
        memcpy(l->taken.names[l->taken.n++], device, sizeof(device));
    }
    assigned_fini(&list);
}

static void see_holds(struct look *l, const cJSON *pod, const char *name)
{
    const struct scenario_step *s = l->c->step;
    struct assigned_list list;
    const char *why = assigned_read(pod, &list);

    if (why != NULL) {
        differs(l, name, "has an assignment that cannot be read");
        return;
    }
    if (list.n != (size_t)s->n) {
        differs(l, name, "holds %zu devices", list.n);
    }
    for (size_t i = 0; i < list.n; i++) {
        if (list.items[i].milli != s->milli || list.items[i].mem_mib != s->mem_mib) {
            differs(l, name, "holds %lld milli and %lld MiB", (long long)list.items[i].milli,
                    (long long)list.items[i].mem_mib);
        }
    }
    assigned_fini(&list);
}

static void see_told(struct look *l, const cJSON *pod, const char *name)
{
    cJSON *want = scenario_pairs(l->c->step->b);
    const cJSON *w;

    BUG_ON(want == NULL);
    cJSON_ArrayForEach(w, want)
    {
        const char *has = cJSON_GetStringValue(doc_field(doc_at(pod, "metadata.annotations"), w->string));

        if (has == NULL || !str_match_glob(str_of(w->valuestring), str_of(has))) {
            differs(l, name, "is told %.60s: %.60s", w->string, has != NULL ? has : "nothing");
        }
    }
    cJSON_Delete(want);
}

static void see_pod(void *ctx, const cJSON *pod)
{
    static void (*const see[SCENARIO_ACT__MAX])(struct look *, const cJSON *, const char *) = {
        [SCENARIO_BOUND] = see_bound, [SCENARIO_REFUSED] = see_refused, [SCENARIO_TOGETHER] = see_together,
        [SCENARIO_APART] = see_apart, [SCENARIO_HOLDS] = see_holds,     [SCENARIO_TOLD] = see_told,
    };
    struct look *l = ctx;
    const char *name = doc_text(pod, "metadata.name");

    if (str_match_glob(str_of(l->c->step->a), str_of(name))) {
        l->n++;
        see[l->c->step->act](l, pod, name);
    }
}

static void see_event(void *ctx, const cJSON *event)
{
    struct look *l = ctx;
    const struct scenario_step *s = l->c->step;
    const char *about = doc_text(event, "regarding.name");

    if ((s->a[0] == '\0' || strcmp(about, s->a) == 0) && strstr(doc_text(event, "note"), s->b) != NULL) {
        l->n++;
    }
}

static bool state_holds(struct claim *c)
{
    const cJSON *v = doc_at(c->state, c->step->a);
    char *text = v != NULL ? doc_print(v) : NULL;
    bool is = text != NULL && strcmp(text, c->step->b) == 0;

    snprintf(c->text, sizeof(c->text), "/state says %.80s: %.120s", c->step->a, text != NULL ? text : "nothing");
    free(text);
    return is;
}

/* What has come true, in words. */
static void put_in_words(struct claim *c, uint32_t n)
{
    const struct scenario_step *s = c->step;
    const char *is = n == 1 ? "is" : "are", *have = n == 1 ? "has" : "have";

    switch (s->act) {
    case SCENARIO_BOUND:
        snprintf(c->text, sizeof(c->text), "%s %s bound%s%s", s->a, is, s->b != NULL ? " to " : "",
                 s->b != NULL ? s->b : "");
        break;
    case SCENARIO_REFUSED:
        snprintf(c->text, sizeof(c->text), "%s %s refused: %s", s->a, is, s->b);
        break;
    case SCENARIO_TOGETHER:
        snprintf(c->text, sizeof(c->text), "%s share a GPU", s->a);
        break;
    case SCENARIO_APART:
        snprintf(c->text, sizeof(c->text), "%s %s GPUs or instances of their own", s->a, have);
        break;
    case SCENARIO_HOLDS:
        snprintf(c->text, sizeof(c->text), "%s %s %d x (%lld milli, %lld MiB)", s->a, have, s->n, (long long)s->milli,
                 (long long)s->mem_mib);
        break;
    case SCENARIO_TOLD:
        snprintf(c->text, sizeof(c->text), "%s %s told %s", s->a, is, s->b);
        break;
    case SCENARIO_EVENT:
        snprintf(c->text, sizeof(c->text), "an Event says: %s", s->b);
        break;
    case SCENARIO_SAY:
    case SCENARIO_CREATE:
    case SCENARIO_DELETE:
    case SCENARIO_CLOCK:
    case SCENARIO_PATCH:
    case SCENARIO_STATE:
    case SCENARIO_ACT__MAX:
        break;
    }
}

bool claim_holds(struct claim *c)
{
    struct look l = {.c = c};

    if (c->step->act == SCENARIO_STATE) {
        return state_holds(c);
    }
    apiserver_each(c->apiserver, c->step->act == SCENARIO_EVENT ? APISERVER_EVENTS : APISERVER_PODS,
                   c->step->act == SCENARIO_EVENT ? see_event : see_pod, &l);
    if (l.n == 0) {
        snprintf(c->text, sizeof(c->text), c->step->act == SCENARIO_EVENT ? "no such Event" : "there is no such pod");
    }
    if (l.n == 0 || l.differs) {
        return false;
    }
    put_in_words(c, l.n);
    return true;
}
