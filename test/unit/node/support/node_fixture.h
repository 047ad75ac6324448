/* node/support/node_fixture.h - a node n1 with four devices and a key, and pods whose records that key signed.
 *
 *   0  GPU-a  1000 MiB, 4 slots     2  GPU-c     unhealthy
 *   1  GPU-b  1000 MiB, 4 slots     3  MIG-d     an instance 1g.5gb
 */
#ifndef TEST_NODE_SUPPORT_NODE_FIXTURE_H
#define TEST_NODE_SUPPORT_NODE_FIXTURE_H

#include "base/arena.h"
#include "node/agent.h"

#define FIXTURE_DEVICES 4

struct node_fixture {
    struct arena arena;
    struct sign_key key;
    struct sign_keyring *keys;
    struct device devices[FIXTURE_DEVICES];
    struct agent_rules rules; /* by CDI; kube-system is exempt */
};

/* For cmocka: *state becomes one. */
int node_fixture_set_up(void **state);
int node_fixture_tear_down(void **state);

void node_fixture_init(struct node_fixture *f);
void node_fixture_fini(struct node_fixture *f);

/* A share of the device of this index, by its UUID; of MIG-d all of it. */
struct assigned_device share_of(const struct node_fixture *f, int32_t index, int32_t milli, int64_t mem_mib);
struct assigned_device whole_of(const struct node_fixture *f, int32_t index);

/* The record of these containers, signed by `key` (NULL: not signed) for this pod uid on this node; text in the arena.
 */
struct str record_text(struct node_fixture *f, const struct sign_key *key, const struct assigned_container *containers,
                       size_t n, struct str pod_uid, struct str node);

/* Pod team/NAME with uid uid-NAME and this record. */
struct pod_facts pod_with(struct node_fixture *f, const char *name, struct str record);
/* The same, its record being right: one container main with these devices. */
struct pod_facts pod_of(struct node_fixture *f, const char *name, const struct assigned_device *devices, size_t n);
/* Container NAME of it, with the ids that belong to it: c-POD-NAME and s-POD. */
struct container_facts container_of(struct node_fixture *f, const struct pod_facts *pod, const char *name);

#define ONE_OF(...) ((const struct assigned_device[]){__VA_ARGS__}), 1
#define TWO_OF(...) ((const struct assigned_device[]){__VA_ARGS__}), 2

/* Does the sentence say so? Fails with the sentence. */
void assert_says(struct str sentence, const char *what);

#endif
