#include "cmd/conflicts_table.h"

#include "base/json_members.h"

#include <inttypes.h>
#include <stdio.h>

/* Whose conflict it is: a pod and its node, a GPU of a node, or a node. */
struct conflict {
    struct str kind, namespace_, pod, node, text;
    int64_t index;
};

static void print_conflict(const struct conflict *c, bool first)
{
    printf("%s", first ? "Conflicts: " : "           ");
    if (str_eq_cstr(c->kind, "pod")) {
        printf("pod %.*s/%.*s", STR_ARG(c->namespace_), STR_ARG(c->pod));
        if (c->node.n > 0) {
            printf(" on %.*s", STR_ARG(c->node));
        }
    } else if (str_eq_cstr(c->kind, "gpu")) {
        printf("GPU %" PRId64 " of %.*s", c->index, STR_ARG(c->node));
    } else {
        printf("node %.*s", STR_ARG(c->node));
    }
    printf(": %.*s\n", STR_ARG(c->text));
}

int conflicts_table_print(struct json_reader *r, struct str conflicts, struct arena *a, struct err *reterr)
{
    int64_t n = 0;
    int rc;

    json_reader_init(r, conflicts, a);
    json_array_begin(r);
    while (json_array_next(r)) {
        struct conflict c = {.index = 0};

        json_members(r, JSON_MEMBERS({"kind", .shown = &c.kind}, {"namespace", .shown = &c.namespace_},
                                     {"pod", .shown = &c.pod}, {"node", .shown = &c.node}, {"index", .i64 = &c.index},
                                     {"text", .shown = &c.text}));
        if (json_failed(r)) {
            break;
        }
        if (n < CONFLICTS_SHOWN) {
            print_conflict(&c, n == 0);
        }
        n++;
    }
    if (n > CONFLICTS_SHOWN) {
        printf("           and %" PRId64 " more: `fgpu state -o json` has them all under \"conflicts\"\n",
               n - CONFLICTS_SHOWN);
    }
    rc = json_read_end(r, reterr);
    return rc != 0 ? err_wrap(reterr, rc, "the value of \"conflicts\"") : 0;
}
