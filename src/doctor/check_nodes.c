/* What nodes have, and who hands it out. */
#include "report_internal.h"

#include "model/hand_off.h"
#include "node/doors.h"

#include <stdlib.h>

static const struct doctor_node *node_of(const struct doctor_facts *f, struct str name)
{
    for (const struct doctor_node *n = f->nodes; n != NULL; n = n->next) {
        if (str_eq(n->name, name)) {
            return n;
        }
    }
    return NULL;
}

static struct str node_name(struct doctor_report *r, struct str name)
{
    return arena_printf(r->arena, "node %.*s", STR_ARG(name));
}

void doctor_check_inventory(struct doctor_report *r)
{
    static const char run_agent[] =
        "run fgpu-node on the node (manifests/node), which tells its GPUs; or GPU Feature Discovery, a template in "
        "nodeTemplates, or the label fgpu.io/allocatable=whole-gpus where the plugin sells whole GPUs";

    for (const struct doctor_object *o = r->facts->objects; o != NULL; o = o->next) {
        const struct doctor_node *n = o->has_gpus ? node_of(r->facts, o->name) : NULL;

        if (!o->has_gpus || (n != NULL && n->elsewhere)) {
            continue;
        }
        if (n != NULL && n->unmeasured) {
            doctor_tell(r, DOCTOR_FAULT, node_name(r, o->name),
                        STR("only a number of a device plugin says that it has GPUs, so it takes no shares"),
                        run_agent);
        } else if (n != NULL && n->gpu_n == 0 && n->note.n > 0) {
            doctor_tell(r, DOCTOR_FAULT, node_name(r, o->name),
                        arena_printf(r->arena, "what it says of its GPUs is refused: %.*s", STR_ARG(n->note)),
                        "correct what the note names; then fgpu reads it again by itself");
        } else if (n == NULL || (n->gpu_n == 0 && !n->sells_whole)) {
            doctor_tell(
                r, DOCTOR_FAULT, node_name(r, o->name),
                arena_printf(r->arena, "it seems to have GPUs (%.*s), and fgpu knows none of them", STR_ARG(o->sign)),
                run_agent);
        }
    }
}

void doctor_check_two_inventories(struct doctor_report *r)
{
    for (const struct doctor_node *n = r->facts->nodes; n != NULL; n = n->next) {
        if (n->elsewhere && str_eq(n->source, STR("annotation"))) {
            doctor_tell(r, DOCTOR_FAULT, node_name(r, n->name),
                        arena_printf(r->arena,
                                     "two systems describe its GPUs: annotation fgpu.io/gpus, and another one, so it "
                                     "takes no shares: %.*s",
                                     STR_ARG(n->note)),
                        "keep one of them away from the node: drain it, then remove the agent of the other system with "
                        "its labels and annotations, or fgpu-node and the annotation fgpu.io/gpus");
        }
    }
}

static int compare_gpus(const void *a, const void *b)
{
    const struct doctor_gpu *x = *(const struct doctor_gpu *const *)a, *y = *(const struct doctor_gpu *const *)b;
    const int by_uuid = str_cmp(x->uuid, y->uuid);

    return by_uuid != 0 ? by_uuid : str_cmp(x->node->name, y->node->name);
}

/* The nodes of one UUID, unless all of them say that they share GPUs. */
static void look_at_same(struct doctor_report *r, const struct doctor_gpu *const *same, size_t n)
{
    struct doctor_list nodes = {.arena = r->arena};
    bool shared = true;

    for (size_t i = 0; i < n; i++) {
        shared = shared && same[i]->node->in_host_group;
        doctor_list_add(&nodes, same[i]->node->name);
    }
    if (n > 1 && !shared) {
        const struct str all = doctor_list_text(&nodes);

        doctor_tell(
            r, DOCTOR_FAULT, arena_printf(r->arena, "GPU %.*s", STR_ARG(same[0]->uuid)),
            arena_printf(r->arena, "several nodes say that it is theirs, so it is given out once for each: %.*s",
                         STR_ARG(all)),
            "correct the inventory of the node that does not have it (a copied annotation fgpu.io/gpus, or a node "
            "that was renamed and whose old object is still there); nodes that do share it get the labels of a "
            "host group");
    }
}

void doctor_check_same_gpu(struct doctor_report *r)
{
    const size_t n = r->facts->gpu_n;
    const struct doctor_gpu **gpus = ARENA_ARRAY(r->arena, n + 1, const struct doctor_gpu *);
    size_t at = 0;

    if (gpus == NULL) {
        return; /* doctor_examine() says so */
    }
    for (const struct doctor_gpu *g = r->facts->gpus; g != NULL; g = g->next) {
        gpus[at++] = g;
    }
    qsort(gpus, n, sizeof(*gpus), compare_gpus);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && str_eq(gpus[next]->uuid, gpus[i]->uuid); next++) {
        }
        look_at_same(r, gpus + i, next - i);
    }
}

/* ---- agents ---- */

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Names of the nodes with an agent that runs, in order. */
static size_t agent_nodes(struct doctor_report *r, struct str **ret)
{
    size_t max = 0, n = 0;

    for (const struct doctor_pod *p = r->facts->pods; p != NULL; p = p->next) {
        max += p->is_agent && p->is_running;
    }
    *ret = ARENA_ARRAY(r->arena, max + 1, struct str);
    if (*ret == NULL) {
        return 0;
    }
    for (const struct doctor_pod *p = r->facts->pods; p != NULL; p = p->next) {
        if (p->is_agent && p->is_running) {
            (*ret)[n++] = p->node;
        }
    }
    qsort(*ret, n, sizeof(**ret), compare);
    return n;
}

void doctor_check_agents(struct doctor_report *r)
{
    struct str *with;
    const size_t n = agent_nodes(r, &with);

    for (const struct doctor_node *node = r->facts->nodes; with != NULL && node != NULL; node = node->next) {
        if (node->needs_agent && node->described && bsearch(&node->name, with, n, sizeof(*with), compare) == NULL) {
            doctor_tell(r, DOCTOR_FAULT, node_name(r, node->name),
                        STR("pods with GPUs require fgpu-node there, and no pod of it runs on the node (one outside of "
                            "Kubernetes is not seen)"),
                        "look why the DaemonSet has no pod there (kubectl -n fgpu-node get pods -o wide); if the agent "
                        "is gone for good: kubectl annotate node NODE fgpu.io/gpus-, and another handOff than agent");
        }
    }
}

void doctor_check_doors(struct doctor_report *r)
{
    for (const struct doctor_object *o = r->facts->objects; o != NULL; o = o->next) {
        if (o->by_agent && !o->told_doors) {
            doctor_tell(r, DOCTOR_UNCHECKED, node_name(r, o->name),
                        STR("fgpu-node does not say whether the container runtime lets containers past it"),
                        "give fgpu-node the files of the runtime by --runtime-config, as manifests/node does");
        }
        for (int d = 0; d < DOOR__MAX; d++) {
            if ((o->doors & 1U << d) != 0) {
                doctor_tell(r, d == DOOR_NO_VALIDATOR ? DOCTOR_NOTE : DOCTOR_FAULT, node_name(r, o->name),
                            str_of(door_meaning((enum door)d)), door_remedy((enum door)d));
            }
        }
    }
}

/* ---- runtime class ---- */

static bool has_handler(const struct doctor_facts *f, struct str word)
{
    for (const struct doctor_policy *p = f->runtime_handlers; p != NULL; p = p->next) {
        for (size_t i = 0; i + word.n <= p->name.n; i++) {
            if (str_starts(str_drop(p->name, i), word)) {
                return true;
            }
        }
    }
    return false;
}

void doctor_check_runtime_class(struct doctor_report *r)
{
    const struct str wanted = str_of(hand_off_name(HAND_OFF_DOWNWARD_API));
    struct doctor_list nodes = {.arena = r->arena};

    for (const struct doctor_node *n = r->facts->nodes; n != NULL; n = n->next) {
        const bool is_nvidia = n->vendor.n == 0 || str_eq(n->vendor, STR("nvidia"));

        if (n->gpu_n > 0 && is_nvidia && !n->needs_agent && !n->elsewhere && str_eq(n->hand_off, wanted)) {
            doctor_list_add(&nodes, n->name);
        }
    }
    if (nodes.n > 0 && !has_handler(r->facts, STR("nvidia"))) {
        doctor_tell(
            r, DOCTOR_FAULT, STR_NULL,
            arena_printf(r->arena,
                         "containers on %.*s are told their GPUs in a variable, which NVIDIA's runtime acts on, "
                         "and no RuntimeClass leads to it: unless it is the default runtime there, they see no "
                         "GPU",
                         STR_ARG(doctor_list_text(&nodes))),
            "make a RuntimeClass with handler nvidia (NVIDIA's toolkit or GPU Operator does) and name it in "
            "the pods; or run fgpu-node, which needs none (manifests/hand-offs.md); if it is the default "
            "runtime: --skip runtime-class");
    }
}
