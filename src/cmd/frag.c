/* fgpu frag: how much room there is and in which pieces, from the summary of /state. */
#include "base/json_read.h"
#include "cmd/commands.h"
#include "cmd/inquiry.h"
#include "cmd/sizes_table.h"
#include "cmd/terminal.h"
#include "sim/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct option long_options[] = {
    INQUIRY_OPTIONS,
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("Usage: fgpu frag [options]\n\n"
           "Shows fragmentation, the largest hole, and how many more pods of each size would fit, "
           "on nodes\n"
           "that take pods.\n\n" INQUIRY_HELP "\n"
           "Exit codes: 0 ok, 1 no answer, 2 usage.\n");
}

/* ---- reading ---- */

struct numbers {
    int64_t idle, permille, typical, generation, hole_milli, hole_mem, empty;
    struct str as_of, node;
    struct str more; /* the array as text */
};

static void read_i64(struct json_reader *r, int64_t *ret)
{
    (void)json_i64(r, ret);
}

/* {first: number or text, second: number}, whatever else is in it. */
static void read_pair(struct json_reader *r, const char *first, int64_t *ret_first,
                      struct str *ret_text, const char *second, int64_t *ret_second)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, first) && ret_text != NULL) {
            terminal_string(r, ret_text);
        } else if (str_eq_cstr(key, first)) {
            read_i64(r, ret_first);
        } else if (str_eq_cstr(key, second)) {
            read_i64(r, ret_second);
        } else {
            json_skip(r);
        }
    }
}

static void read_numbers(struct json_reader *r, struct numbers *ret)
{
    struct str key;

    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "idleMilli")) {
            read_i64(r, &ret->idle);
        } else if (str_eq_cstr(key, "permille")) {
            read_i64(r, &ret->permille);
        } else if (str_eq_cstr(key, "typicalPods")) {
            read_i64(r, &ret->typical);
        } else if (str_eq_cstr(key, "generation")) {
            read_i64(r, &ret->generation);
        } else if (str_eq_cstr(key, "asOf")) {
            terminal_string(r, &ret->as_of);
        } else if (str_eq_cstr(key, "largestHole")) {
            read_pair(r, "milli", &ret->hole_milli, NULL, "memMib", &ret->hole_mem);
        } else if (str_eq_cstr(key, "mostEmpty")) {
            read_pair(r, "node", NULL, &ret->node, "gpus", &ret->empty);
        } else if (str_eq_cstr(key, "moreFit")) {
            json_raw(r, &ret->more);
        } else {
            json_skip(r);
        }
    }
}

/* The text of summary.fragmentation; empty: there is none. */
static int find(struct json_reader *r, struct str document, struct arena *a, struct str *ret,
                struct err *reterr)
{
    struct str key;

    json_reader_init(r, document, a);
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (!str_eq_cstr(key, "summary")) {
            json_skip(r);
            continue;
        }
        json_object_begin(r);
        while (json_object_next(r, &key)) {
            if (str_eq_cstr(key, "fragmentation")) {
                json_raw(r, ret);
            } else {
                json_skip(r);
            }
        }
    }
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
        printf("Fragmentation  not known, no pod has asked for GPUs yet; %" PRId64
               " milli are idle\n",
               n->idle);
    }
    printf("Largest hole   %" PRId64 " milli and %" PRId64 " MiB on one GPU\n", n->hole_milli,
           n->hole_mem);
    if (n->empty > 0) {
        printf("Most empty     %.*s: %" PRId64 " unused GPUs\n", STR_ARG(n->node),
               n->empty);
    } else {
        printf("Most empty     no GPU is empty\n");
    }
    printf("As of          %.*s, generation %" PRId64 "\n", STR_ARG(n->as_of), n->generation);
    return sizes_table_print(r, n->more, a, reterr);
}

static int show(const struct inquiry *q, struct str document, struct json_reader *r,
                struct arena *a, struct err *reterr)
{
    struct str text = STR_NULL;
    struct numbers n = {0};
    int code = find(r, document, a, &text, reterr);

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

static int run(const struct inquiry *q)
{
    static struct json_reader reader; /* too large for a stack */
    struct strbuf document;
    struct arena a;
    struct err err;
    int r;

    strbuf_init(&document, STATE_FILE_BYTES_MAX);
    arena_init(&a, 1 << 20);
    r = inquiry_state(q, true, &document, &err);
    if (r == 0) {
        r = show(q, strbuf_view(&document), &reader, &a, &err);
    }
    if (r != 0) {
        terminal_complain("frag", err.msg);
    }
    arena_fini(&a);
    strbuf_fini(&document);
    return r == 0 ? EXIT_OK : EXIT_RUNTIME;
}

int cmd_frag(int argc, char **argv)
{
    const struct inquiry_command command = {.name = "frag", .options = long_options, .print_help = print_help};
    struct inquiry q;
    int code;

    return inquiry_read(&q, &command, argc, argv, &code) ? run(&q) : code;
}
