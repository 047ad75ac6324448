/* demo/scenarios/scenario_internal.h - what the files of the scenario runner share. */
#ifndef DEMO_SCENARIOS_SCENARIO_INTERNAL_H
#define DEMO_SCENARIOS_SCENARIO_INTERNAL_H

#include "base/strbuf.h"
#include "demo/scenarios/scenario.h"

#include <cjson/cJSON.h>

#define SCENARIO_NAMESPACE "scenario"
#define SCENARIO_SCHEDULER "fgpu-demo" /* the player's */

/* ---- rows of the tables ---- */

#define SAY(text)                                                                                                      \
    {                                                                                                                  \
        SCENARIO_SAY, (text)                                                                                           \
    }
#define CREATE(name, copies, ...)                                                                                      \
    {                                                                                                                  \
        SCENARIO_CREATE, (name), .n = (copies), .pod = { __VA_ARGS__ }                                                 \
    }
#define DELETE(name)                                                                                                   \
    {                                                                                                                  \
        SCENARIO_DELETE, (name)                                                                                        \
    }
#define CLOCK(time)                                                                                                    \
    {                                                                                                                  \
        SCENARIO_CLOCK, (time)                                                                                         \
    }
#define PATCH(node, json)                                                                                              \
    {                                                                                                                  \
        SCENARIO_PATCH, (node), (json)                                                                                 \
    }
#define BOUND(name)                                                                                                    \
    {                                                                                                                  \
        SCENARIO_BOUND, (name)                                                                                         \
    }
#define BOUND_TO(name, node)                                                                                           \
    {                                                                                                                  \
        SCENARIO_BOUND, (name), (node)                                                                                 \
    }
#define REFUSED(name, reason)                                                                                          \
    {                                                                                                                  \
        SCENARIO_REFUSED, (name), (reason)                                                                             \
    }
#define TOGETHER(name)                                                                                                 \
    {                                                                                                                  \
        SCENARIO_TOGETHER, (name)                                                                                      \
    }
#define APART(name)                                                                                                    \
    {                                                                                                                  \
        SCENARIO_APART, (name)                                                                                         \
    }
#define HOLDS(name, devices, milli_each, mib_each)                                                                     \
    {                                                                                                                  \
        SCENARIO_HOLDS, (name), .n = (devices), .milli = (milli_each), .mem_mib = (mib_each)                           \
    }
#define TOLD(name, annotation)                                                                                         \
    {                                                                                                                  \
        SCENARIO_TOLD, (name), (annotation)                                                                            \
    }
#define EVENT(object, note)                                                                                            \
    {                                                                                                                  \
        SCENARIO_EVENT, (object), (note)                                                                               \
    }
#define STATE(path, json)                                                                                              \
    {                                                                                                                  \
        SCENARIO_STATE, (path), (json)                                                                                 \
    }

/* ---- notation ---- */

/* The pairs of "key: value; key: value" as members of a new object. NULL: malformed. `text` may be
 * NULL. */
cJSON *scenario_pairs(const char *text);
/* A pod as the API server takes it; the caller deletes. */
cJSON *scenario_pod_object(const char *name, const struct scenario_pod *p);

/* ---- claims ---- */

struct claim {
    struct apiserver *apiserver;
    const struct scenario_step *step;
    const cJSON *state; /* /state, of SCENARIO_STATE */
    char text[256];     /* what has come true, or what is there instead */
};

/* Has it come true? */
bool claim_holds(struct claim *c);

#endif
