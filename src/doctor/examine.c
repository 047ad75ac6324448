/* The table of checks, and who goes through it. */
#include "report_internal.h"

#define NEEDS(source) (UINT32_C(1) << (source))

const struct doctor_check doctor_checks[] = {
    {"ledger", "fgpu is ready, decides alone, and has given no GPU twice", NEEDS(DOCTOR_STATE), doctor_check_ledger},
    {"election", "this is the replica that decides", NEEDS(DOCTOR_STATE), doctor_check_election},
    {"lease", "fgpu follows the Lease of the schedulers", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER),
     doctor_check_lease},
    {"leader", "somebody holds the Lease of the election, and renews it", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_LEASE),
     doctor_check_leader},
    {"asked", "kube-scheduler asks fgpu about pods that wait", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_METRICS),
     doctor_check_asked},
    {"extender", "kube-scheduler has an extender that leads to fgpu, with all verbs",
     NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER), doctor_check_extender},
    {"binders", "fgpu binds, and no other extender does", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER),
     doctor_check_binders},
    {"ignorable", "kube-scheduler does not go on without fgpu", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER),
     doctor_check_ignorable},
    {"weight", "what fgpu prefers counts", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER), doctor_check_weight},
    {"timeout", "kube-scheduler waits longer than a bind may take", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER),
     doctor_check_timeout},
    {"managed-resources", "pods that ask for GPUs come to fgpu", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER),
     doctor_check_managed_resources},
    {"ignored-resources", "kube-scheduler does not look for names on nodes that do not have them",
     NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_SCHEDULER) | NEEDS(DOCTOR_NODES), doctor_check_ignored_resources},
    {"node-sampling", "a pod finds the only node with room", NEEDS(DOCTOR_SCHEDULER) | NEEDS(DOCTOR_NODES),
     doctor_check_node_sampling},
    {"rights", "the user of fgpu may do what fgpu does", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_RIGHTS),
     doctor_check_rights},
    {"start", "a start needs no hold-off after an orderly end", NEEDS(DOCTOR_STATE), doctor_check_start},
    {"inventory", "fgpu knows the GPUs of every node that has some", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_NODES),
     doctor_check_inventory},
    {"two-inventories", "no GPU is handed out by two systems", NEEDS(DOCTOR_STATE), doctor_check_two_inventories},
    {"same-gpu", "no GPU is on two nodes, unless they are of a host group", NEEDS(DOCTOR_STATE), doctor_check_same_gpu},
    {"agents", "fgpu-node runs where pods require it", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_PODS), doctor_check_agents},
    {"doors", "container runtimes let nobody past fgpu-node", NEEDS(DOCTOR_NODES), doctor_check_doors},
    {"runtime-class", "containers can see the GPUs that they are told",
     NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_RUNTIME_CLASSES), doctor_check_runtime_class},
    {"records", "records of bound pods are signed by a key that fgpu knows", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_PODS),
     doctor_check_records},
    {"bypass", "no pod has GPUs that fgpu did not give it", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_PODS),
     doctor_check_bypass},
    {"clocks", "the clocks of fgpu, of the API server and of this machine agree", NEEDS(DOCTOR_CLOCKS),
     doctor_check_clocks},
    {"certificates", "the certificate of fgpu is valid for some time", NEEDS(DOCTOR_METRICS),
     doctor_check_certificates},
    {"scheduler-tls", "kube-scheduler can trust the certificate of fgpu: its CA, name and time", NEEDS(DOCTOR_VERBS),
     doctor_check_scheduler_tls},
    {"policies", "the admission policies of fgpu are in force", NEEDS(DOCTOR_STATE) | NEEDS(DOCTOR_POLICIES),
     doctor_check_policies},
    {"quotas", "no request passes a quota by", NEEDS(DOCTOR_PODS) | NEEDS(DOCTOR_QUOTAS), doctor_check_quotas},
    {NULL, NULL, 0, NULL},
};

int doctor_check_find(struct str name)
{
    for (int i = 0; doctor_checks[i].name != NULL; i++) {
        if (str_eq_cstr(name, doctor_checks[i].name)) {
            return i;
        }
    }
    return -1;
}

/* ---- all of them ---- */

static bool can_look(struct doctor_report *r, const struct doctor_check *c)
{
    for (int s = 0; s < DOCTOR_SOURCE__MAX; s++) {
        if ((c->needs & NEEDS(s)) != 0 && r->facts->why_not[s] != NULL) {
            doctor_tell(r, DOCTOR_UNCHECKED, STR_NULL,
                        arena_printf(r->arena, "%s could not be read: %s", doctor_source_name((enum doctor_source)s),
                                     r->facts->why_not[s]),
                        "make it readable, or leave the check out with --skip");
            return false;
        }
    }
    return true;
}

bool doctor_examine(struct doctor_report *r)
{
    for (int i = 0; doctor_checks[i].name != NULL; i++) {
        const struct doctor_check *c = &doctor_checks[i];

        r->check = c->name;
        if ((r->skipped & UINT64_C(1) << i) == 0 && can_look(r, c)) {
            c->look(r);
        }
    }
    return !r->arena->overflowed;
}

bool doctor_is_well(const struct doctor_report *r)
{
    return r->n[DOCTOR_FAULT] == 0 && r->n[DOCTOR_UNCHECKED] == 0;
}
