#include "cmd/plugin.h"

#include "base/arena.h"
#include "base/bug.h"
#include "cli/completion.h"
#include "cmd/commands.h"
#include "cmd/forward.h"
#include "cmd/inquiry.h"
#include "cmd/options.h"
#include "cmd/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLED "kubectl fgpu"
#define COMPLETER_NAME "kubectl_complete-fgpu"
#define NAMESPACE_DEFAULT "fgpu-system"
#define PORT_DEFAULT 9442
#define TEXT_BYTES_MAX 4096
#define PAGE_BYTES_MAX (1 << 20)
#define WORDS_BYTES_MAX ((size_t)16 << 20)
#define PUT_BACK_MAX 8 /* words */

static const struct page_option options[] = {
    {"fgpu-namespace", .value = "NAMESPACE", .text = "where fgpu runs, default " NAMESPACE_DEFAULT},
    {"fgpu-port", .value = "PORT",
     .text = "its ops listener, on the loopback of its pod, default " QUOTE(PORT_DEFAULT)},
    {"namespace", 'n', "NAMESPACE", "of pod/NAME, as kubectl has it"},
    {"context", .value = "NAME", .text = "of the kubeconfig, as kubectl has it"},
    {"kubeconfig", .value = "FILE", .text = "as kubectl has it"},
};

#define ABOUT_PAGE                                                                                                     \
    "keeps a way to the ops listener of fgpu open and prints its address, which a browser shows; /state, /metrics "    \
    "and "                                                                                                             \
    "/v1/explain are there, too. It ends on Ctrl-C, and when kubectl port-forward ends."

static const struct page page_plugin = {
    .command = "kubectl fgpu",
    .usage = "COMMAND [options]    (kubectl fgpu COMMAND --help explains one)",
    .about =
        "The commands of fgpu that ask the fgpu of a cluster, from where kubectl is: it finds the pod of fgpu and asks "
        "its ops listener through kubectl port-forward, under your own rights. These are get and list of pods, create "
        "and get of pods/portforward in the namespace of fgpu (manifests/kubectl has a Role).",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .notes = "kubectl fgpu page " ABOUT_PAGE,
    .exit_codes = "those of the command; 1 no way to fgpu, 2 usage",
    .examples = "kubectl fgpu state\nkubectl fgpu explain pod/train-0 -n team\nkubectl fgpu page --context production",
};

/* For help and completion: the plugin does it itself. */
static const struct page page_page = {
    .command = "kubectl fgpu page",
    .usage = "",
    .about = "This " ABOUT_PAGE,
    .examples = "kubectl fgpu page",
};

static bool is_called(const char *argv0, const char *name)
{
    const char *slash = strrchr(argv0, '/');

    return strcmp(slash != NULL ? slash + 1 : argv0, name) == 0;
}

bool plugin_is_meant(const char *argv0)
{
    return is_called(argv0, PLUGIN_NAME) || is_called(argv0, COMPLETER_NAME);
}

int plugin_manual(const char *dir, struct err *reterr)
{
    static const struct page_entry e = {PLUGIN_NAME, "1", "ask the fgpu of a cluster from where kubectl is"};
    static const char *const see[] = {"fgpu 1", NULL};
    struct strbuf out;
    int rc;

    strbuf_init(&out, PAGE_BYTES_MAX);
    page_man(&page_plugin, &e, see, &out);
    rc = page_man_write(dir, &e, &out, reterr);
    strbuf_fini(&out);
    return rc;
}

/* ---- the line ---- */

struct plugin {
    struct forward_target target;
    const char *namespace_; /* of the pod; NULL: kubectl's */
    const char *port;
    int argc; /* what is left for the command */
    char **argv;
    bool wants_no_way;  /* help, or another source */
    struct arena words; /* those of argv that the line does not have itself */
};

/* Where the value of an option of kubectl goes; NULL: it is none. */
static const char **place_of(struct plugin *x, struct str name)
{
    const struct {
        const char *name;
        const char **at;
    } places[] = {{"--fgpu-namespace", &x->target.fgpu_namespace},
                  {"--fgpu-port", &x->port},
                  {"--namespace", &x->namespace_},
                  {"-n", &x->namespace_},
                  {"--context", &x->target.context},
                  {"--kubeconfig", &x->target.kubeconfig}};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (str_eq_cstr(name, places[i].name)) {
            return places[i].at;
        }
    }
    return NULL;
}

static bool is_another_source(struct str name)
{
    return str_eq(name, STR("--server")) || str_eq(name, STR("--state")) || str_eq(name, STR("--help")) ||
           str_eq(name, STR("-h"));
}

static int take_line(struct plugin *x, int argc, char **argv)
{
    x->argv = calloc((size_t)argc + PUT_BACK_MAX + 1, sizeof(*x->argv));
    BUG_ON(x->argv == NULL);
    for (int i = 0; i < argc; i++) {
        const char *equals = argv[i][0] == '-' && argv[i][1] == '-' ? strchr(argv[i], '=') : NULL;
        const struct str name = {argv[i], equals != NULL ? (size_t)(equals - argv[i]) : strlen(argv[i])};
        const char **place = i > 0 ? place_of(x, name) : NULL;

        if (place == NULL) {
            x->wants_no_way = x->wants_no_way || is_another_source(name);
            x->argv[x->argc++] = argv[i];
        } else if (equals != NULL) {
            *place = equals + 1;
        } else if (i + 1 < argc) {
            *place = argv[++i];
        } else {
            fprintf(stderr, CALLED ": %s needs a value\n", argv[i]);
            return EXIT_USAGE;
        }
    }
    return EXIT_OK;
}

static int read_port(struct plugin *x)
{
    uint64_t v = PORT_DEFAULT;

    if (x->port != NULL && (!str_to_u64(str_of(x->port), UINT16_MAX, &v) || v == 0)) {
        fprintf(stderr, CALLED ": --fgpu-port takes a port from 1 to 65535, not \"%s\"\n", x->port);
        return EXIT_USAGE;
    }
    x->target.port = (uint16_t)v;
    return EXIT_OK;
}

/* pod/NAME becomes pod/NAMESPACE/NAME, as kubectl would have it. */
static int complete_pod(struct plugin *x, struct err *reterr)
{
    for (int i = 2; i < x->argc; i++) {
        struct str name = str_of(x->argv[i]);
        struct strbuf whole;
        int rc = 0;

        if (!str_starts(name, STR("pod/")) || strchr(x->argv[i] + 4, '/') != NULL) {
            continue;
        }
        strbuf_init(&whole, TEXT_BYTES_MAX);
        strbuf_add_cstr(&whole, "pod/");
        if (x->namespace_ != NULL) {
            strbuf_add_cstr(&whole, x->namespace_);
        } else {
            rc = forward_namespace(&x->target, &whole, reterr);
        }
        strbuf_addf(&whole, "/%s", x->argv[i] + 4);
        x->argv[i] = arena_cstr(&x->words, strbuf_view(&whole));
        rc = rc == 0 && x->argv[i] == NULL ? err_set(reterr, ERR_LIMIT, "the line is too long") : rc;
        strbuf_fini(&whole);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* An option that was taken off the line goes back to it, for a command that asks the API server itself. */
static void put_back(struct plugin *x, const char *option, const char *value)
{
    if (value != NULL) {
        x->argv[x->argc++] = (char *)(uintptr_t)option;
        x->argv[x->argc++] = (char *)(uintptr_t)value;
    }
}

static void put_back_all(struct plugin *x)
{
    put_back(x, "--kubeconfig", x->target.kubeconfig);
    put_back(x, "--context", x->target.context);
    put_back(x, "--fgpu-namespace", x->target.fgpu_namespace);
}

/* ---- what it does ---- */

static int show_page(struct forward *f)
{
    printf("The page of fgpu (%s) is at http://127.0.0.1:%u/ until you press Ctrl-C.\n", f->pod, f->port);
    fflush(stdout);
    forward_wait(f);
    fprintf(stderr, CALLED ": kubectl port-forward has ended\n");
    return EXIT_RUNTIME;
}

static int run_with_a_way(const struct program *p, struct plugin *x, const struct command *command)
{
    const bool is_page = command->run == NULL;
    static char url[64];
    struct forward f;
    struct strbuf words;
    struct err err;
    int code;

    if (complete_pod(x, &err) != 0 || forward_open(&x->target, &f, &err) != 0) {
        if (command->asks_api) { /* it says what it can without */
            put_back(x, "--no-way", err.msg);
            return dispatch(p, x->argc, x->argv);
        }
        terminal_complain(x->argv[1], err.msg);
        return EXIT_RUNTIME;
    }
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", f.port);
    inquiry_set_default_server(url);
    code = is_page ? show_page(&f) : dispatch(p, x->argc, x->argv);
    strbuf_init(&words, TEXT_BYTES_MAX);
    forward_complaints(&f, &words);
    if (code != EXIT_OK && words.n > 0) {
        fprintf(stderr, CALLED ": kubectl port-forward says: %s\n", words.p);
    }
    strbuf_fini(&words);
    forward_close(&f);
    return code;
}

static void print_help(const struct program *p)
{
    options_print_help(&page_plugin);
    printf("\nCommands:\n");
    for (size_t i = 0; i < p->command_n; i++) {
        printf("  %-17s %s\n", p->commands[i].name, p->commands[i].summary);
    }
}

/* Of fgpu's commands those that ask a running fgpu, and those that need none. */
static void choose_commands(const struct program *p, struct program *ret, struct command *commands, size_t max)
{
    *ret = *p;
    ret->name = CALLED;
    ret->commands = commands;
    ret->command_n = 0;
    ret->extra = &page_plugin;
    for (size_t i = 0; i < p->command_n; i++) {
        if (p->commands[i].is_of_the_plugin || p->commands[i].asks_fgpu) {
            BUG_ON(ret->command_n + 1 >= max);
            commands[ret->command_n++] = p->commands[i];
        }
    }
    commands[ret->command_n++] =
        (struct command){"page", "keep a way to the page of fgpu open, and print its address", NULL, &page_page};
}

static const struct command *find(const struct program *p, const char *name)
{
    for (size_t i = 0; i < p->command_n; i++) {
        if (strcmp(p->commands[i].name, name) == 0) {
            return &p->commands[i];
        }
    }
    return NULL;
}

/* kubectl gives the words alone. */
static int complete(const struct program *p, int argc, char **argv)
{
    static char word[] = COMPLETION_COMMAND;
    char **with = calloc((size_t)argc + 2, sizeof(*with));
    int code;

    BUG_ON(with == NULL);
    with[0] = argv[0];
    with[1] = word;
    memcpy(with + 2, argv + 1, (size_t)(argc - 1) * sizeof(*argv));
    code = dispatch(p, argc + 1, with);
    free(with);
    return code;
}

int plugin_run(const struct program *whole, int argc, char **argv)
{
    static struct command commands[32];
    struct plugin x = {.target = {.fgpu_namespace = NAMESPACE_DEFAULT}};
    const struct command *command;
    const char *word; /* NULL: there is none, or the line is wrong */
    struct program p;
    int code;

    choose_commands(whole, &p, commands, ARRAY_LEN(commands));
    options_are_called_as(CALLED);
    if (is_called(argv[0], COMPLETER_NAME)) {
        return complete(&p, argc, argv);
    }
    if (argc > 1 && strcmp(argv[1], COMPLETION_COMMAND) == 0) {
        return dispatch(&p, argc, argv);
    }
    arena_init(&x.words, WORDS_BYTES_MAX);
    code = take_line(&x, argc, argv);
    code = code == EXIT_OK ? read_port(&x) : code;
    word = code == EXIT_OK && x.argc > 1 ? x.argv[1] : NULL;
    command = word != NULL ? find(&p, word) : NULL;
    if (command != NULL && command->asks_api) {
        put_back_all(&x);
    }
    if (code != EXIT_OK) {
    } else if (word == NULL || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help(&p);
        code = word == NULL ? EXIT_USAGE : EXIT_OK;
    } else if (command == NULL && find(whole, word) != NULL) {
        fprintf(stderr, CALLED ": %s asks no fgpu of a cluster; `fgpu %s` does it\n", word, word);
        code = EXIT_USAGE;
    } else if (command != NULL && command->run == NULL && x.wants_no_way) {
        options_print_help(command->page);
    } else if (command != NULL && !x.wants_no_way && (command->asks_fgpu || command->run == NULL)) {
        code = run_with_a_way(&p, &x, command);
    } else {
        code = dispatch(&p, x.argc, x.argv);
    }
    free(x.argv);
    arena_fini(&x.words);
    return code;
}
