/* demo/checker/checker_internal.h - what the files of the judge share. */
#ifndef DEMO_CHECKER_CHECKER_INTERNAL_H
#define DEMO_CHECKER_CHECKER_INTERNAL_H

#include "base/compiler.h"
#include "demo/checker/checker.h"

#include <cjson/cJSON.h>

void checker_violation(struct checker_report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The extended resources of a node's allocatable: names with a domain that is not Kubernetes' own.
 */
void checker_read_resources(struct checker_node *n, const cJSON *node);
/* What the limits of one live pod take of them. `picked`: fgpu says which devices it has. */
void checker_take_resources(struct checker_node *n, const cJSON *pod, bool picked);
void checker_judge_resources(struct checker_report *r, const struct checker_node *n);

#endif
