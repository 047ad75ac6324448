/* doctor/support/installation.h - an installation in which everything is right, as the documents that fgpu doctor
 * reads; a test changes one of them and looks at what is found. */
#ifndef TEST_DOCTOR_INSTALLATION_H
#define TEST_DOCTOR_INSTALLATION_H

#include "doctor/checks.h"

struct installation {
    struct arena arena;
    const char *state, *metrics, *scheduler, *policies, *bindings, *runtime_classes, *quotas;
    bool parameters_are_there;
    size_t node_n;        /* further ones, without GPUs */
    uint32_t kube_minor;  /* 0: not known */
    struct node nodes[2]; /* the first has GPUs of fgpu; of the second the rest is zero: it is not there */
    struct pod pods[4];   /* those with a name are there */
    int64_t api_ahead_ms, fgpu_ahead_ms;
    struct doctor_lease lease; /* renewed 3 s ago, for 5 s */
    const char *verbs_trouble; /* NULL: none */
    const char *denied;        /* resource that fgpu may do nothing with; NULL: none */
    const char *why_not[DOCTOR_SOURCE__MAX];
    const char *skip; /* a check; NULL: none */

    struct doctor_facts facts;
    struct doctor_report report;
};

/* There is one at a time. */
int installation_set_up(void **state);
int installation_tear_down(void **state);

/* In *document: `old`, which stands there, becomes `new`. */
void installation_change(struct installation *in, const char **document, const char *old, const char *new);
/* An annotation or a resource more. */
void installation_annotate(struct installation *in, struct kv_list *list, const char *key, const char *value);
/* A pod with one container, which asks for `limit` ("fgpu.io/gpu-milli") if that is not NULL. */
struct pod *installation_pod(struct installation *in, const char *name, const char *limit);

/* Reads and examines. `expected`: "weight", or several with blanks between, in the order of the table, each found once;
 * "": nothing is wrong. Notes are written "node-sampling?", what was not checked "rights-". */
void installation_finds(struct installation *in, const char *expected);

#endif
