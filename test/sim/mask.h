/* sim/mask.h - what may happen in a run. All may, but for what --without names: so a run that fails is made smaller
 * (scripts/sim-shrink). What is left out is still drawn, and then not done.
 */
#ifndef SIM_MASK_H
#define SIM_MASK_H

#include <stdbool.h>
#include <stddef.h>

#define MASK_TABLE(X)                                                                                                  \
    /* on the way (api.h) */                                                                                           \
    X(REFUSE, "refuse")                                                                                                \
    X(BUSY, "busy")                                                                                                    \
    X(FORBID, "forbid")                                                                                                \
    X(LATE, "late")                                                                                                    \
    X(LOSE, "lose")                                                                                                    \
    X(TWICE, "twice")                                                                                                  \
    X(FAIL, "fail")                                                                                                    \
    X(SLOW, "slow")                                                                                                    \
    X(LAG, "lag")                                                                                                      \
    X(EXPIRE, "expire")                                                                                                \
    X(NO_LISTS, "no-watchlist")                                                                                        \
    X(PAGES, "pages")                                                                                                  \
    X(STALLS, "stalls")                                                                                                \
    X(BREAKS, "breaks")                                                                                                \
    X(SILENCE, "silence")                                                                                              \
    /* processes */                                                                                                    \
    X(KILLS, "kills")                                                                                                  \
    X(ENDS, "ends")                                                                                                    \
    X(SWITCHES, "switches")                                                                                            \
    X(RELOADS, "reloads")                                                                                              \
    X(WINDOWS, "windows")                                                                                              \
    X(ROLLS, "roll-overs")                                                                                             \
    X(PAUSES, "pauses")                                                                                                \
    X(CUTS, "cuts")                                                                                                    \
    X(LEASE_EDITS, "lease-edits")                                                                                      \
    /* kube-scheduler */                                                                                               \
    X(SCHEDULER_RESTARTS, "scheduler-restarts")                                                                        \
    X(STATUS_PATCHES, "status-patches")                                                                                \
    X(PREEMPTION, "preemption")                                                                                        \
    /* users */                                                                                                        \
    X(DELETIONS, "deletions")                                                                                          \
    X(REPLACEMENTS, "replacements")                                                                                    \
    X(TOUCHES, "touches")                                                                                              \
    X(RESIZES, "resizes")                                                                                              \
    X(EDITS, "edits")                                                                                                  \
    X(FORGERIES, "forgeries")                                                                                          \
    X(STRANGE_BINDS, "strange-binds")                                                                                  \
    X(SUCCESSES, "successes")                                                                                          \
    X(DIALECTS, "dialects")                                                                                            \
    /* admins */                                                                                                       \
    X(SHRINKS, "shrinks")                                                                                              \
    X(LOSSES, "losses")                                                                                                \
    X(UUIDS, "uuids")                                                                                                  \
    X(SICKNESS, "sickness")                                                                                            \
    X(GROWTH, "growth")                                                                                                \
    X(NODE_DELETIONS, "node-deletions")                                                                                \
    X(LABELS, "labels")                                                                                                \
    X(MIG, "mig")                                                                                                      \
    X(AGENTS, "agents")                                                                                                \
    /* nodes */                                                                                                        \
    X(CONTAINERS, "containers")                                                                                        \
    X(AGENT_RESTARTS, "agent-restarts")

enum act {
#define MASK_ENUM(name, text) DO_##name,
    MASK_TABLE(MASK_ENUM)
#undef MASK_ENUM
        DO__MAX
};

bool mask_allows(enum act a);
/* Names with commas between them; false: *ret_wrong, of so many bytes, is none. */
bool mask_without(const char *names, const char **ret_wrong, size_t *ret_n);
void mask_print(void); /* all names, a line each */

#endif
