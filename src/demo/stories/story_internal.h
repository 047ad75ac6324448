/* demo/stories/story_internal.h - what the files of the storyteller share. */
#ifndef DEMO_STORIES_STORY_INTERNAL_H
#define DEMO_STORIES_STORY_INTERNAL_H

#include "base/strbuf.h"
#include "demo/stories/story.h"

#include <cjson/cJSON.h>

#define STORY_NAMESPACE "story"
#define STORY_SCHEDULER "fgpu-demo" /* the player's */

/* ---- rows of the tables ---- */

#define SAY(text)                                                                                  \
    {                                                                                              \
        STORY_SAY, (text)                                                                          \
    }
#define CREATE(name, copies, ...)                                                                  \
    {                                                                                              \
        STORY_CREATE, (name), .n = (copies), .pod = { __VA_ARGS__ }                                \
    }
#define DELETE(name)                                                                               \
    {                                                                                              \
        STORY_DELETE, (name)                                                                       \
    }
#define CLOCK(time)                                                                                \
    {                                                                                              \
        STORY_CLOCK, (time)                                                                        \
    }
#define PATCH(node, json)                                                                          \
    {                                                                                              \
        STORY_PATCH, (node), (json)                                                                \
    }
#define BOUND(name)                                                                                \
    {                                                                                              \
        STORY_BOUND, (name)                                                                        \
    }
#define BOUND_TO(name, node)                                                                       \
    {                                                                                              \
        STORY_BOUND, (name), (node)                                                                \
    }
#define REFUSED(name, reason)                                                                      \
    {                                                                                              \
        STORY_REFUSED, (name), (reason)                                                            \
    }
#define TOGETHER(name)                                                                             \
    {                                                                                              \
        STORY_TOGETHER, (name)                                                                     \
    }
#define APART(name)                                                                                \
    {                                                                                              \
        STORY_APART, (name)                                                                        \
    }
#define HOLDS(name, devices, milli_each, mib_each)                                                 \
    {                                                                                              \
        STORY_HOLDS, (name), .n = (devices), .milli = (milli_each), .mem_mib = (mib_each)          \
    }
#define TOLD(name, annotation)                                                                     \
    {                                                                                              \
        STORY_TOLD, (name), (annotation)                                                           \
    }
#define EVENT(object, note)                                                                        \
    {                                                                                              \
        STORY_EVENT, (object), (note)                                                              \
    }
#define STATE(path, json)                                                                          \
    {                                                                                              \
        STORY_STATE, (path), (json)                                                                \
    }

/* ---- notation ---- */

/* The pairs of "key: value; key: value" as members of a new object. NULL: malformed. `text` may be
 * NULL. */
cJSON *story_pairs(const char *text);
/* Node and pod as the API server takes them; the caller deletes. */
cJSON *story_node_object(const struct story_node *n);
cJSON *story_pod_object(const char *name, const struct story_pod *p);

/* ---- claims ---- */

struct claim {
    struct apiserver *apiserver;
    const struct story_step *step;
    const cJSON *state; /* /state, of STORY_STATE */
    char text[256];     /* what has come true, or what is there instead */
};

/* Has it come true? */
bool claim_holds(struct claim *c);

#endif
