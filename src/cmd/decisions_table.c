#include "cmd/decisions_table.h"

#include "base/json_members.h"

#include <stdio.h>

/* Says that there is none, and since when: a restart forgets them. */
static void print_none(struct str configuration, struct str started)
{
    printf("No decision%s came to a bind since this fgpu started",
           configuration.n > 0 ? "" : " about the nodes or pods of this document");
    printf(started.n > 0 ? " at %.*s; a restart forgets them.\n" : "%.*s; a restart forgets them.\n", STR_ARG(started));
}

static void print_decision(struct json_reader *r, bool first)
{
    struct str at = STR_NULL, namespace_ = STR_NULL, pod = STR_NULL, node = STR_NULL, text = STR_NULL;
    int width;

    json_members(r, JSON_MEMBERS({"at", .shown = &at}, {"namespace", .shown = &namespace_}, {"pod", .shown = &pod},
                                 {"node", .shown = &node}, {"text", .shown = &text}));
    if (json_failed(r)) {
        return;
    }
    if (first) {
        printf("%-24s  %-30s  %-20s  %s\n", "TIME", "POD", "NODE", "WHY");
    }
    width = 29 - (int)(namespace_.n < 29 ? namespace_.n : 29);
    printf("%-24.*s  %.*s/%-*.*s  %-20.*s  %.*s\n", STR_ARG(at), STR_ARG(namespace_), width, STR_ARG(pod),
           STR_ARG(node), STR_ARG(text));
}

int decisions_table_print(struct json_reader readers[2], struct str document, struct arena *a, struct err *reterr)
{
    struct json_reader *r = &readers[0];
    struct str decisions = STR_NULL, configuration = STR_NULL, started = STR_NULL;
    bool first = true;
    int code;

    json_reader_init(r, document, a);
    json_members(r, JSON_MEMBERS({"decisions", .raw = &decisions}, {"configuration", .raw = &configuration},
                                 {"metadata", .object = JSON_MEMBERS({"startedAt", .shown = &started})}));
    code = json_read_end(r, reterr);
    if (code != 0) {
        return code;
    }
    if (decisions.n == 0) {
        return err_set(reterr, ERR_NOT_FOUND,
                       "no key \"decisions\": an older fgpu that keeps none wrote this, or it is not a whole /state");
    }
    r = &readers[1];
    json_reader_init(r, decisions, a);
    json_array_begin(r);
    while (json_array_next(r)) {
        print_decision(r, first);
        first = false;
    }
    code = json_read_end(r, reterr);
    if (code != 0) {
        return err_wrap(reterr, code, "the value of \"decisions\"");
    }
    if (first) {
        print_none(configuration, started);
    }
    return 0;
}
