/* Nodes and pods from the notation of the tables. */
#include "demo/scenarios/scenario_internal.h"

#include "base/bug.h"
#include "demo/apiserver/apiserver.h"
#include "demo/checker/checker.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cJSON *scenario_pairs(const char *text)
{
    cJSON *o = cJSON_CreateObject();
    struct str rest = text != NULL ? str_of(text) : STR_NULL, pair, key;

    while (rest.p != NULL && rest.n > 0 && str_split(&rest, ';', &pair)) {
        struct str value = str_trim(pair);
        char *k, *v;

        if (!str_split(&value, ':', &key) || value.p == NULL) {
            cJSON_Delete(o);
            return NULL;
        }
        k = str_dup(str_trim(key));
        v = str_dup(str_trim(value));
        doc_set_text(o, k, v);
        free(k);
        free(v);
    }
    return o;
}

/* What the table says: it was read by a test. */
static cJSON *pairs(const char *text)
{
    cJSON *o = scenario_pairs(text);

    BUG_ON(o == NULL);
    return o;
}

/* ---- nodes ---- */

/* Of "2g.10gb": an instance reports some twentieth less than its name says. */
static int64_t instance_mib(struct str profile)
{
    struct str slices;
    uint64_t gb = 0;

    BUG_ON(!str_split(&profile, '.', &slices) || profile.n < 3 ||
           !str_to_u64((struct str){profile.p, profile.n - 2}, 1024, &gb));
    return (int64_t)gb * 1024 * 95 / 100;
}

/* "3g.20gb@4 1g.5gb@0" */
static cJSON *instances(struct str layout, const char *node, int32_t gpu)
{
    cJSON *list = cJSON_CreateArray();
    struct str word, profile;

    while (layout.p != NULL && layout.n > 0 && str_split(&layout, ' ', &word)) {
        cJSON *in = cJSON_CreateObject();
        char text[96];
        char *name;
        uint64_t start = 0;

        BUG_ON(!str_split(&word, '@', &profile) || !str_to_u64(word, 7, &start));
        name = str_dup(profile);
        snprintf(text, sizeof(text), "MIG-%s-%d-%d", node, gpu, (int)start);
        doc_set_text(in, "uuid", text);
        doc_set_text(in, "profile", name);
        doc_set(in, "start", cJSON_CreateNumber((double)start));
        doc_set(in, "memMib", cJSON_CreateNumber((double)instance_mib(profile)));
        free(name);
        BUG_ON(!cJSON_AddItemToArray(list, in));
    }
    return list;
}

static char *hardware(const struct scenario_node *n)
{
    cJSON *doc = cJSON_CreateObject(), *gpus = cJSON_CreateArray();
    struct str rest = n->mig != NULL ? str_of(n->mig) : STR_NULL, layout;
    char *text;

    doc_set(doc, "v", cJSON_CreateNumber(1));
    for (int32_t i = 0; i < n->gpu_n; i++) {
        cJSON *g = cJSON_CreateObject();
        char uuid[80];

        snprintf(uuid, sizeof(uuid), "GPU-%s-%d", n->name, i);
        doc_set_text(g, "uuid", n->secret ? "" : uuid);
        doc_set(g, "index", cJSON_CreateNumber(i));
        doc_set_text(g, "model", n->model);
        doc_set(g, "memMib", cJSON_CreateNumber((double)n->mem_mib));
        if (rest.p != NULL && str_split(&rest, ';', &layout) && !str_eq_cstr(str_trim(layout), "-")) {
            doc_set(g, "mig", instances(str_trim(layout), n->name, i));
        }
        BUG_ON(!cJSON_AddItemToArray(gpus, g));
    }
    doc_set(doc, "gpus", gpus);
    text = doc_print(doc);
    cJSON_Delete(doc);
    return text;
}

/* A node as the API server takes it; the caller deletes. */
static cJSON *node_object(const struct scenario_node *n)
{
    cJSON *o = cJSON_CreateObject(), *metadata = doc_object(o, "metadata");
    cJSON *annotations = pairs(n->annotations), *labels = pairs(n->labels);
    cJSON *allocatable = pairs(n->allocatable), *ready = cJSON_CreateObject(), *list = cJSON_CreateArray();
    char *text = hardware(n);

    doc_set_text(metadata, "name", n->name);
    doc_set_text(labels, "kubernetes.io/hostname", n->name);
    doc_set(metadata, "labels", labels);
    doc_set_text(annotations, n->secret ? CHECKER_HARDWARE_KEY : "fgpu.io/gpus", text);
    doc_set(metadata, "annotations", annotations);
    doc_set_text(allocatable, "cpu", "64");
    doc_set_text(allocatable, "memory", "512Gi");
    doc_set_text(allocatable, "pods", "110");
    doc_set(doc_object(o, "status"), "allocatable", allocatable);
    doc_set_text(ready, "type", "Ready");
    doc_set_text(ready, "status", "True");
    BUG_ON(!cJSON_AddItemToArray(list, ready));
    doc_set(doc_object(o, "status"), "conditions", list);
    free(text);
    return o;
}

int scenario_create_nodes(const struct scenario *s, struct apiserver *a, struct err *reterr)
{
    int rc = 0;

    for (size_t i = 0; i < s->node_n && rc == 0; i++) {
        cJSON *o = node_object(&s->nodes[i]);
        char *text = doc_print(o);

        rc = apiserver_create(a, APISERVER_NODES, text, reterr);
        free(text);
        cJSON_Delete(o);
    }
    return rc;
}

/* ---- pods ---- */

cJSON *scenario_pod_object(const char *name, const struct scenario_pod *p)
{
    cJSON *o = cJSON_CreateObject(), *metadata = doc_object(o, "metadata"), *spec = doc_object(o, "spec");
    cJSON *c = cJSON_CreateObject(), *containers = cJSON_CreateArray();

    doc_set_text(metadata, "name", name);
    doc_set_text(metadata, "namespace", p->namespace_ != NULL ? p->namespace_ : SCENARIO_NAMESPACE);
    doc_set(metadata, "labels", pairs(p->labels));
    doc_set(metadata, "annotations", pairs(p->annotations));
    doc_set_text(spec, "schedulerName", SCENARIO_SCHEDULER);
    if (p->selector != NULL) {
        doc_set(spec, "nodeSelector", pairs(p->selector));
    }
    doc_set_text(c, "name", "main");
    doc_set_text(c, "image", "example.com/scenario");
    doc_set(doc_object(c, "resources"), "limits", pairs(p->limits));
    BUG_ON(!cJSON_AddItemToArray(containers, c));
    doc_set(spec, "containers", containers);
    return o;
}
