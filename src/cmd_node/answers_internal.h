/* cmd_node/answers_internal.h - what the agent as a plugin keeps, for the files that are one with answers.c:
 * callbacks.c (what the container runtime calls) and answers_view.c (what is shown).
 */
#ifndef CMD_NODE_ANSWERS_INTERNAL_H
#define CMD_NODE_ANSWERS_INTERNAL_H

#include "base/sync.h"
#include "cmd_node/answers.h"
#include "cmd_node/limiting.h"
#include "node/agent.h"

struct answers {
    const struct node_options *options;
    const struct log *log;
    struct events *events; /* NULL: none */
    struct mutex lock;
    struct agent *agent;
    struct agent_rules rules;
    struct device *devices;    /* one block with their text */
    struct health_ill *ill;    /* the same */
    struct limiting *limiting; /* has locks of its own */
    char runtime[64], runtime_version[64];
    const char *limits;                      /* NULL before the first connection */
    char not_by_driver[ERR_MSG_MAX];         /* empty: nothing to say */
    struct metric *create_time, *start_time; /* NULL: nobody wants to know */
    void (*ready)(void *ctx);
    void *ready_ctx;
};

/* Reads the kind anew, to be shown. */
void answers_keep_limits(struct answers *w);
/* A limiting_wanted_of; takes the lock. A container of which the agent knows no grant needs none. */
size_t answers_wanted_limits(void *answers, struct str container_id, struct arena *a,
                             struct limits_memory ret[DEVICES_PER_NODE_MAX]);

#endif
