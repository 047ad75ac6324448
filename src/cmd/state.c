/* fgpu state: nodes, their GPUs and who holds what of them, as a table of /state; and how many more pods of each size
 * would fit. With --decisions: why pods landed where they are. */
#include "base/json_members.h"
#include "cmd/change_over_table.h"
#include "cmd/commands.h"
#include "cmd/conflicts_table.h"
#include "cmd/decisions_table.h"
#include "cmd/inquiry.h"
#include "cmd/sizes_table.h"
#include "cmd/terminal.h"
#include "cmd/waiting_table.h"
#include "model/documents.h"
#include "sim/state_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct state_options {
    struct inquiry inquiry;
    bool decisions;
};

static const struct page_option options[] = {
    INQUIRY_ROWS("json: the whole document of /state"),
    {"decisions", .id = 'd',
     .text = "shows the last decisions instead, the newest first: which node each pod got, and why"},
};

const struct page page_state = {
    .command = "fgpu state",
    .usage = "[options]",
    .about = "Shows nodes, their GPUs, the pods that hold them, and how many more pods of each size fit.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .exit_codes = INQUIRY_EXIT_CODES,
    .examples = "fgpu state\n"
                "fgpu state --decisions --server https://fgpu.example:9442 --token-file token --ca-file ca.pem",
};

/* Parts of the document are kept as text and read when it is their turn, so that the order of keys does not
 * matter. One reader at a time is open on a text, so each level has its own. */
enum level { LEVEL_DOCUMENT, LEVEL_NODE, LEVEL_GPU, LEVEL_POD, LEVEL__N };

#define UNMEASURED_NAMES 20

struct listing {
    struct json_reader *readers; /* LEVEL__N */
    struct arena arena;
    int64_t node_n, gpu_n, unmeasured_n;
    int64_t double_booked_n, foreign_n;      /* incidents */
    struct str unmeasured[UNMEASURED_NAMES]; /* the first ones */
    struct str change_overs;
    int code; /* of the first part that is not what it should be; then `why` says what is wrong with it */
    struct err why;
};

static struct json_reader *open_text(struct listing *s, enum level level, struct str text)
{
    json_reader_init(&s->readers[level], text, &s->arena);
    return &s->readers[level];
}

/* One that is not there is empty. */
static struct json_reader *open_list(struct listing *s, enum level level, struct str text)
{
    return open_text(s, level, text.n > 0 ? text : STR("[]"));
}

/* What is wrong in it is counted from its first byte, so `key` says whose text it is. */
static void close_text(struct listing *s, enum level level, const char *key)
{
    if (s->code == 0) {
        s->code = json_read_end(&s->readers[level], &s->why);
        s->code = s->code != 0 ? err_wrap(&s->why, s->code, "the value of \"%s\"", key) : 0;
    }
}

/* ---- one line ---- */

struct amount {
    int64_t capacity, charged;
};

#define AMOUNT(key_, amount_)                                                                                          \
    {                                                                                                                  \
        (key_),                                                                                                        \
            .object = JSON_MEMBERS({"capacity", .i64 = &(amount_).capacity}, {"charged", .i64 = &(amount_).charged})   \
    }

static void print_amount(const struct amount *a, int width)
{
    char text[48];

    snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64, a->charged, a->capacity);
    printf("  %*s", width, text);
}

struct holder {
    struct str namespace_, pod, kind, state;
    int64_t milli, mem_mib, count;
};

static void print_holder(const struct holder *h, bool first)
{
    printf("%s%.*s/%.*s", first ? "  " : ", ", STR_ARG(h->namespace_), STR_ARG(h->pod));
    if (h->count > 0) {
        printf(" %" PRId64, h->count);
    } else if (str_eq_cstr(h->kind, "whole")) {
        printf(" whole");
    } else {
        printf(" %" PRId64 "m %" PRId64 "Mi", h->milli, h->mem_mib);
    }
    if (h->state.n > 0 && !str_eq_cstr(h->state, "bound")) {
        printf(" (%.*s)", STR_ARG(h->state));
    }
}

static void print_holders(struct listing *s, struct str allocations)
{
    struct json_reader *r = open_list(s, LEVEL_POD, allocations);
    bool first = true;

    json_array_begin(r);
    while (json_array_next(r)) {
        struct holder h = {.count = 0};

        json_members(r,
                     JSON_MEMBERS({"namespace", .shown = &h.namespace_}, {"pod", .shown = &h.pod},
                                  {"kind", .shown = &h.kind}, {"state", .shown = &h.state}, {"milli", .i64 = &h.milli},
                                  {"memMib", .i64 = &h.mem_mib}, {"count", .i64 = &h.count}));
        print_holder(&h, first);
        first = false;
    }
    close_text(s, LEVEL_POD, "allocations");
    printf("\n");
}

/* ---- GPUs ---- */

static void print_gpu(struct listing *s, struct json_reader *r, struct str node)
{
    struct str model = STR_NULL, allocations = STR_NULL;
    struct amount milli = {0}, mem = {0}, slots = {0};
    bool healthy = true, lost = false, over = false;
    int64_t index = 0;

    json_members(r, JSON_MEMBERS({"index", .i64 = &index}, {"model", .shown = &model}, {"healthy", .flag = &healthy},
                                 {"lost", .flag = &lost}, {"overCommitted", .flag = &over}, AMOUNT("milli", milli),
                                 AMOUNT("memMib", mem), AMOUNT("slots", slots), {"allocations", .raw = &allocations}));
    if (json_failed(r)) {
        return;
    }
    s->gpu_n++;
    printf("%-20.*s %4" PRId64 "  %-26.*s", STR_ARG(node), index, STR_ARG(model));
    print_amount(&milli, 10);
    print_amount(&mem, 14);
    print_amount(&slots, 7);
    printf("%s%s%s", healthy ? "" : "  UNHEALTHY", lost ? "  LOST" : "", over ? "  OVER-COMMITTED" : "");
    print_holders(s, allocations);
}

/* What a plugin of the node sells: nobody but kubelet knows on which GPU. */
static void print_plugin(struct listing *s, struct str text, struct str node)
{
    struct json_reader *r = open_text(s, LEVEL_GPU, text);
    struct str allocations = STR_NULL;
    struct amount units = {0};
    int64_t per_gpu = 1;
    char what[64];

    json_members(r, JSON_MEMBERS({"capacity", .i64 = &units.capacity}, {"charged", .i64 = &units.charged},
                                 {"unitsPerGpu", .i64 = &per_gpu}, {"allocations", .raw = &allocations}));
    close_text(s, LEVEL_GPU, "wholeGpus");
    if (per_gpu > 1) {
        snprintf(what, sizeof(what), "kubelet picks, %" PRId64 " a GPU", per_gpu);
    } else {
        snprintf(what, sizeof(what), "kubelet picks");
    }
    printf("%-20.*s    -  %-26s", STR_ARG(node), what);
    print_amount(&units, 10);
    printf("  %14s  %7s", "", "");
    print_holders(s, allocations);
}

/* ---- nodes ---- */

struct node_text {
    struct str name, note, gpus, plugin;
    bool schedulable, closed, unmeasured;
};

static void read_node(struct json_reader *r, struct node_text *ret)
{
    *ret = (struct node_text){.schedulable = true};
    json_members(r, JSON_MEMBERS({"name", .shown = &ret->name}, {"note", .shown = &ret->note},
                                 {"schedulable", .flag = &ret->schedulable}, {"closed", .flag = &ret->closed},
                                 {"unmeasured", .flag = &ret->unmeasured}, {"gpus", .raw = &ret->gpus},
                                 {"wholeGpus", .raw = &ret->plugin}));
}

static void print_node(struct listing *s, const struct node_text *n)
{
    struct json_reader *r = open_list(s, LEVEL_NODE, n->gpus);
    int64_t before = s->gpu_n;

    s->node_n++;
    json_array_begin(r);
    while (json_array_next(r)) {
        print_gpu(s, r, n->name);
    }
    close_text(s, LEVEL_NODE, "gpus");
    if (n->plugin.n > 0) {
        print_plugin(s, n->plugin, n->name);
    }
    if (s->gpu_n == before && n->plugin.n == 0) {
        printf("%-20.*s    -  no GPUs\n", STR_ARG(n->name));
    }
    if (n->closed || !n->schedulable) {
        printf("%-20s       takes no new pods: %s\n", "", n->closed ? "its node pool is closed" : "cordoned");
    }
    if (n->unmeasured) {
        if (s->unmeasured_n < UNMEASURED_NAMES) {
            s->unmeasured[s->unmeasured_n] = n->name;
        }
        s->unmeasured_n++;
    }
    if (n->note.n > 0) {
        printf("%-20s       note: %.*s\n", "", STR_ARG(n->note));
    }
}

static void print_unmeasured(const struct listing *s)
{
    if (s->unmeasured_n == 0) {
        return;
    }
    printf("%" PRId64 " node%s GPUs only by allocatable, and no shares are placed there:", s->unmeasured_n,
           s->unmeasured_n == 1 ? " has" : "s have");
    for (int64_t i = 0; i < s->unmeasured_n && i < UNMEASURED_NAMES; i++) {
        printf(" %.*s", STR_ARG(s->unmeasured[i]));
    }
    printf("%s\n", s->unmeasured_n > UNMEASURED_NAMES ? " ..." : "");
}

static void read_summary(struct listing *s, struct json_reader *r, struct str *ret_more)
{
    json_members(r, JSON_MEMBERS({"doubleBookedGpus", .i64 = &s->double_booked_n},
                                 {"foreignDecisions", .i64 = &s->foreign_n}, {"changeOvers", .raw = &s->change_overs},
                                 {"fragmentation", .object = JSON_MEMBERS({"moreFit", .raw = ret_more})}));
}

/* ---- the command ---- */

static int show(struct listing *s, struct str document, struct err *reterr)
{
    struct json_reader *r = open_text(s, LEVEL_DOCUMENT, document);
    struct str key, more = STR_NULL, pending = STR_NULL, conflicts = STR_NULL;
    struct node_text node;
    int code;

    printf("%-20s %4s  %-26s  %10s  %14s  %7s  %s\n", "NODE", "GPU", "MODEL", "MILLI", "MEMORY MiB", "SHARERS",
           "HELD BY");
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq_cstr(key, "nodes")) {
            json_array_begin(r);
            while (json_array_next(r)) {
                read_node(r, &node);
                if (!json_failed(r)) {
                    print_node(s, &node);
                }
            }
        } else if (str_eq_cstr(key, "summary")) {
            read_summary(s, r, &more);
        } else if (str_eq_cstr(key, "pending")) {
            json_raw(r, &pending);
        } else if (str_eq_cstr(key, "conflicts")) {
            json_raw(r, &conflicts);
        } else {
            json_skip(r);
        }
    }
    code = json_read_end(r, reterr);
    if (code != 0) {
        return code;
    }
    printf("\n%" PRId64 " nodes, %" PRId64 " GPUs and MIG instances\n", s->node_n, s->gpu_n);
    if (s->double_booked_n + s->foreign_n > 0) {
        printf("INCIDENTS: %" PRId64 " GPUs given out twice, %" PRId64 " pods bound by a decision that is not ours; "
               "`fgpu state -o json` shows them under \"incidents\"\n",
               s->double_booked_n, s->foreign_n);
    }
    print_unmeasured(s);
    if (conflicts.n > 0 && s->code == 0) {
        s->code = conflicts_table_print(&s->readers[LEVEL_NODE], conflicts, &s->arena, &s->why);
    }
    if (s->change_overs.n > 0 && s->code == 0) {
        s->code = change_over_table_print(&s->readers[LEVEL_NODE], s->change_overs, &s->arena, &s->why);
    }
    if (pending.n > 0 && s->code == 0) {
        s->code = waiting_table_print(&s->readers[LEVEL_POD], pending, &s->arena, &s->why);
    }
    if (more.n > 0 && s->code == 0) {
        s->code = sizes_table_print(&s->readers[LEVEL_NODE], more, &s->arena, &s->why);
    }
    if (s->code != 0) {
        *reterr = s->why;
    }
    return s->code;
}

/* Before anything is printed: any other JSON would be shown as a cluster without nodes. */
static int check_version(struct listing *s, struct str document, struct err *reterr)
{
    struct json_reader *r = open_text(s, LEVEL_DOCUMENT, document);
    struct str version = STR_NULL;
    int rc;

    json_members(r, JSON_MEMBERS({"apiVersion", .shown = &version}));
    rc = json_read_end(r, reterr);
    if (rc == 0 && !str_eq_cstr(version, STATE_API_VERSION)) {
        rc =
            err_set(reterr, ERR_INVALID,
                    "its apiVersion is \"%.*s\", not " STATE_API_VERSION ": it is no /state of fgpu", STR_ARG(version));
    }
    return rc;
}

static int run_state(const struct state_options *o)
{
    const struct inquiry *q = &o->inquiry;
    static struct json_reader readers[LEVEL__N]; /* too large for a stack */
    struct listing s = {.readers = readers};
    struct strbuf document;
    struct err err;
    int rc;

    strbuf_init(&document, STATE_FILE_BYTES_MAX);
    arena_init(&s.arena, STATE_FILE_BYTES_MAX);
    rc = inquiry_state(q, false, &document, &err);
    if (rc == 0 && q->json) {
        terminal_print_json(strbuf_view(&document));
    } else if (rc == 0) {
        rc = check_version(&s, strbuf_view(&document), &err);
        if (rc == 0) {
            rc = o->decisions ? decisions_table_print(readers, strbuf_view(&document), &s.arena, &err)
                              : show(&s, strbuf_view(&document), &err);
        }
        rc = rc != 0 ? err_wrap(&err, rc, "%s", inquiry_source(q)) : 0;
    }
    if (rc != 0) {
        terminal_complain("state", err.msg);
    }
    arena_fini(&s.arena);
    strbuf_fini(&document);
    return rc == 0 ? EXIT_OK : EXIT_RUNTIME;
}

static int take(void *ret, int option, const char *value)
{
    struct state_options *o = ret;

    o->decisions |= option == 'd';
    return option == 'd' ? EXIT_OK : inquiry_take(&o->inquiry, option, value);
}

int cmd_state(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_state, .take = take};
    struct state_options o = {.decisions = false};
    int code;

    return inquiry_read(&line, argc, argv, &o.inquiry, &code) ? run_state(&o) : code;
}
