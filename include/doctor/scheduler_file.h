/* doctor/scheduler_file.h - what a KubeSchedulerConfiguration says of extenders, as far as fgpu is concerned.
 *
 * Source of the keys: kube-scheduler config v1 (KubeSchedulerConfiguration, Extender, NodeResourcesFitArgs;
 * contract.md 1). Unknown keys are other people's and are passed over. Text is borrowed from what was read, or lives in
 * the arena.
 */
#ifndef DOCTOR_SCHEDULER_FILE_H
#define DOCTOR_SCHEDULER_FILE_H

#include "base/address.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULER_NUMBER_MISSING (-1)

struct scheduler_names {
    const struct str *items;
    size_t n;
};

struct scheduler_extender {
    struct str url_prefix;
    struct str filter_verb, prioritize_verb, bind_verb, preempt_verb; /* empty: it is not asked for this */
    int64_t weight;          /* SCHEDULER_NUMBER_MISSING: not given, which is 0 */
    int64_t http_timeout_ms; /* SCHEDULER_NUMBER_MISSING: not given, which is 5 s */
    bool enable_https, node_cache_capable, ignorable;
    struct str ca_file, cert_file, key_file, server_name; /* of tlsConfig; empty: not given */
    struct scheduler_names managed;                       /* managedResources; none: every pod comes */
    struct str url_host;                                  /* of url_prefix; empty: it is no URL */
    uint16_t url_port;
    struct str url_path; /* without a slash at its end */
    bool url_is_https;
};

struct scheduler_profile {
    struct str name;
    struct scheduler_names ignored, ignored_groups; /* of NodeResourcesFit */
};

struct scheduler_file {
    const struct scheduler_extender *extenders;
    size_t extender_n;
    const struct scheduler_profile *profiles; /* one at least: the default one */
    size_t profile_n;
    /* leaderElection, with the defaults of kube-scheduler where it does not say */
    bool elects;
    struct str lease_namespace, lease_name;
    int64_t lease_ms, renew_deadline_ms, retry_ms;
    int64_t sampled_percent; /* percentageOfNodesToScore; SCHEDULER_NUMBER_MISSING: kube-scheduler chooses */
};

/* `name` is shown in messages. ERR_INVALID: it is no KubeSchedulerConfiguration, or its structure is another; the
 * message names the place. */
WARN_UNUSED int scheduler_file_read(struct str name, struct str text, struct arena *a, struct scheduler_file *ret,
                                    struct err *reterr);

/* The extender that is fgpu: the one whose urlPrefix has this port, or else the only one, or else the first that is
 * asked to bind. NULL: there is none. */
const struct scheduler_extender *scheduler_file_ours(const struct scheduler_file *f, uint16_t port);

/* Does kube-scheduler leave this resource to others in that profile? */
bool scheduler_profile_ignores(const struct scheduler_profile *p, struct str resource);

#endif
