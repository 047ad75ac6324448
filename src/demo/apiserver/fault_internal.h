/* demo/apiserver/fault_internal.h - the list of fault rules. Thread-safe. */
#ifndef DEMO_APISERVER_FAULT_INTERNAL_H
#define DEMO_APISERVER_FAULT_INTERNAL_H

#include "base/str.h"
#include "base/strbuf.h"
#include "base/sync.h"
#include "demo/apiserver/apiserver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_RULES_MAX 64

struct faults {
    struct mutex lock;
    struct fault_rule rules[FAULT_RULES_MAX];
    uint64_t hits[FAULT_RULES_MAX];
    size_t n;
};

void faults_init(struct faults *f);
void faults_fini(struct faults *f);
WARN_UNUSED int faults_add(struct faults *f, const struct fault_rule *rule, struct err *reterr);
void faults_clear(struct faults *f);
/* Whether there is any rule at all. */
bool faults_any(struct faults *f);
/* Finds the rule for a request and uses it once. False: none, *ret untouched. */
bool faults_take(struct faults *f, struct str method, struct str path, struct str query, struct fault_rule *ret);
/* Is the event to be kept from a watch? Uses the rule once. */
bool faults_swallow(struct faults *f, const char *event, struct str path);
/* Whether the body has to be sent in a way of its own. */
bool fault_flow_is_special(const struct fault_flow *f);
struct fault_counts {
    uint32_t delayed; /* requests that wait for their delay */
    uint32_t held;    /* transactions */
    uint64_t landed;  /* of those, so far */
};
/* {"delayed":0,"held":0,"landed":1,"rules":[{...,"hits":3}]} */
void faults_write(struct faults *f, const struct fault_counts *counts, struct strbuf *out);

struct fault_command {
    bool clear;
    bool drop_watches;
    bool compact;
    bool commit;
    int32_t minor; /* 0: stays */
    bool sets_watch_list;
    enum apiserver_watch_list watch_list;
    struct fault_rule rules[FAULT_RULES_MAX];
    size_t rule_n;
};
/* Reads the body of POST /_faults strictly; nothing is applied. */
WARN_UNUSED int fault_command_parse(struct str text, struct fault_command *ret, struct err *reterr);

#endif
