/* Pairs of lines on standard input, a Pod and a Node as JSON. For each it says what planning ahead makes of them:
 *
 *   TAKES CPU_MILLI MEM_MIB
 *
 * whether node_takes() says yes (1 or 0), and what the pod asks of the machine. */
#define _GNU_SOURCE /* getline */
#include "base/bug.h"
#include "core/plan/node_facts.h"
#include "core/request/host.h"
#include "kube/objects.h"
#include "model/policy.h"

#include <stdio.h>
#include <stdlib.h>

static struct json_reader reader;

static bool read_line(char **line, size_t *cap, struct str *ret)
{
    ssize_t n = getline(line, cap, stdin);

    *ret = (struct str){*line, n > 0 ? (size_t)n : 0};
    return n > 0;
}

static void answer(struct str pod_text, struct str node_text, struct arena *a)
{
    struct node_facts_table *table = node_facts_table_new();
    struct waiting_pod *waiting;
    struct demand demand = {.dialect = ""};
    struct pod pod;
    struct node node;
    struct err err;

    if (kube_parse_pod(&reader, pod_text, a, &pod, &err) != 0 ||
        kube_parse_node(&reader, node_text, a, &node, &err) != 0) {
        fprintf(stderr, "planmatch_probe: %s\n", err.msg);
        exit(1);
    }
    demand.host = host_request_of_pod(&pod);
    waiting = waiting_pod_new(policy_defaults(), &pod, &demand, NULL, 0);
    BUG_ON(!node_facts_put(table, &node));
    printf("%d %d %d\n", node_takes(waiting, node_facts_find(table, node.name)), demand.host.cpu_milli,
           demand.host.mem_mib);
    waiting_pod_free(waiting);
    node_facts_table_free(table);
}

int main(void)
{
    char *pod_line = NULL, *node_line = NULL;
    size_t pod_cap = 0, node_cap = 0;
    struct str pod, node;
    struct arena a;

    arena_init(&a, KUBE_OBJECT_ARENA_MAX);
    while (read_line(&pod_line, &pod_cap, &pod) && read_line(&node_line, &node_cap, &node)) {
        answer(pod, node, &a);
        arena_reset(&a);
    }
    arena_fini(&a);
    free(pod_line);
    free(node_line);
    return 0;
}
