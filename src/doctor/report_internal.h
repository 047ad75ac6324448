/* doctor/report_internal.h - how checks tell what they found. */
#ifndef DOCTOR_REPORT_INTERNAL_H
#define DOCTOR_REPORT_INTERNAL_H

#include "doctor/checks.h"

/* Text is in the arena or static. `object` may be STR_NULL: the installation as a whole. */
void doctor_tell(struct doctor_report *r, enum doctor_severity severity, struct str object, struct str text,
                 const char *fix);

/* Names of one kind, for one finding about all of them: "a, b, c and 4 more". */
struct doctor_list {
    struct arena *arena;
    struct str text;
    size_t n;
};
void doctor_list_add(struct doctor_list *l, struct str name);
/* All of it. */
struct str doctor_list_text(const struct doctor_list *l);

struct str doctor_pod_name(struct arena *a, struct str namespace_, struct str name); /* "pod team/train-0" */

/* The checks, in the files check_*.c. */
void doctor_check_ledger(struct doctor_report *r);
void doctor_check_asked(struct doctor_report *r);
void doctor_check_extender(struct doctor_report *r);
void doctor_check_binders(struct doctor_report *r);
void doctor_check_ignorable(struct doctor_report *r);
void doctor_check_weight(struct doctor_report *r);
void doctor_check_timeout(struct doctor_report *r);
void doctor_check_managed_resources(struct doctor_report *r);
void doctor_check_ignored_resources(struct doctor_report *r);
void doctor_check_node_sampling(struct doctor_report *r);
void doctor_check_rights(struct doctor_report *r);
void doctor_check_election(struct doctor_report *r);
void doctor_check_lease(struct doctor_report *r);
void doctor_check_leader(struct doctor_report *r);
void doctor_check_start(struct doctor_report *r);
void doctor_check_inventory(struct doctor_report *r);
void doctor_check_two_inventories(struct doctor_report *r);
void doctor_check_same_gpu(struct doctor_report *r);
void doctor_check_agents(struct doctor_report *r);
void doctor_check_doors(struct doctor_report *r);
void doctor_check_runtime_class(struct doctor_report *r);
void doctor_check_records(struct doctor_report *r);
void doctor_check_bypass(struct doctor_report *r);
void doctor_check_clocks(struct doctor_report *r);
void doctor_check_certificates(struct doctor_report *r);
void doctor_check_scheduler_tls(struct doctor_report *r);
void doctor_check_policies(struct doctor_report *r);
void doctor_check_quotas(struct doctor_report *r);

#endif
