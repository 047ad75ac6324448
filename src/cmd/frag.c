/* fgpu frag: how much room there is and in which pieces, from the summary of /state. */
#include "base/json_members.h"
#include "cmd/commands.h"
#include "cmd/inquiry.h"
#include "cmd/sizes_table.h"
#include "cmd/terminal.h"
#include "sim/state_file.h"

#include <inttypes.h>
#include <stdio.h>

static const struct page_option options[] = {
    INQUIRY_ROWS("json: fragmentation of the summary of /state"),
};

const struct page page_frag = {
    .command = "fgpu frag",
    .usage = "[options]",
    .about = "Shows fragmentation, the largest hole, and how many more pods of each size would fit, on nodes that take "
             "pods.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = INQUIRY_EXIT_CODES,
    .examples = "fgpu frag\n"
                "fgpu frag --server https://fgpu.example:9442 --token-file token --ca-file ca.pem -o json",
};

/* ---- reading ---- */

struct numbers {
    int64_t idle, permille, typical, generation, hole_milli, hole_mem, empty;
    struct str as_of, node;
    struct str more; /* the array as text */
};

static void read_numbers(struct json_reader *r, struct numbers *ret)
{
    json_members(r, JSON_MEMBERS({"idleMilli", .i64 = &ret->idle}, {"permille", .i64 = &ret->permille},
                                 {"typicalPods", .i64 = &ret->typical}, {"generation", .i64 = &ret->generation},
                                 {"asOf", .shown = &ret->as_of}, {"moreFit", .raw = &ret->more},
                                 {"largestHole", .object = JSON_MEMBERS({"milli", .i64 = &ret->hole_milli},
                                                                        {"memMib", .i64 = &ret->hole_mem})},
                                 {"mostEmpty", .object = JSON_MEMBERS({"node", .shown = &ret->node},
                                                                      {"gpus", .i64 = &ret->empty})}));
}

/* The text of summary.fragmentation; empty: there is none. */
static int find_member(struct json_reader *r, struct str document, struct arena *a, struct str *ret, struct err *reterr)
{
    json_reader_init(r, document, a);
    json_members(r, JSON_MEMBERS({"summary", .object = JSON_MEMBERS({"fragmentation", .raw = ret})}));
    return json_read_end(r, reterr);
}

/* ---- printing ---- */

static int print_table(struct json_reader *r, const struct numbers *n, struct arena *a, struct err *reterr)
{
    if (n->typical > 0) {
        printf("Fragmentation  %" PRId64 ".%" PRId64 " %% of %" PRId64
               " idle milli cannot be used by the expected pods\n",
               n->permille / 10, n->permille % 10, n->idle);
    } else {
        printf("Fragmentation  not known, no pod has asked for GPUs yet; %" PRId64 " milli are idle\n", n->idle);
    }
    printf("Largest hole   %" PRId64 " milli and %" PRId64 " MiB on one GPU\n", n->hole_milli, n->hole_mem);
    if (n->empty > 0) {
        printf("Most empty     %.*s: %" PRId64 " unused GPUs\n", STR_ARG(n->node), n->empty);
    } else {
        printf("Most empty     no GPU is empty\n");
    }
    printf("As of          %.*s, generation %" PRId64 "\n", STR_ARG(n->as_of), n->generation);
    return sizes_table_print(r, n->more, a, reterr);
}

static int show(const struct inquiry *q, struct str document, struct json_reader *r, struct arena *a,
                struct err *reterr)
{
    struct str text = STR_NULL;
    struct numbers n = {0};
    int code = find_member(r, document, a, &text, reterr);

    if (code != 0) {
        return code;
    }
    if (text.n == 0) {
        return err_set(reterr, ERR_UNAVAILABLE,
                       "no fragmentation in this state: pods and nodes have not been read yet");
    }
    if (q->json) {
        terminal_print_json(text);
        printf("\n");
        return 0;
    }
    json_reader_init(r, text, a);
    read_numbers(r, &n);
    code = json_read_end(r, reterr);
    return code != 0 ? code : print_table(r, &n, a, reterr);
}

static int run_frag(const struct inquiry *q)
{
    static struct json_reader reader; /* too large for a stack */
    struct strbuf document;
    struct arena a;
    struct err err;
    int rc;

    strbuf_init(&document, STATE_FILE_BYTES_MAX);
    arena_init(&a, 1 << 20);
    rc = inquiry_state(q, true, &document, &err);
    if (rc == 0) {
        rc = show(q, strbuf_view(&document), &reader, &a, &err);
        rc = rc != 0 ? err_wrap(&err, rc, "%s", inquiry_source(q)) : 0;
    }
    if (rc != 0) {
        terminal_complain("frag", err.msg);
    }
    arena_fini(&a);
    strbuf_fini(&document);
    return rc == 0 ? EXIT_OK : EXIT_RUNTIME;
}

int cmd_frag(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_frag, .take = inquiry_take};
    struct inquiry q;
    int code;

    return inquiry_read(&line, argc, argv, &q, &code) ? run_frag(&q) : code;
}
