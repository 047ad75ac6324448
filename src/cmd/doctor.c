/* fgpu doctor: what is wrong with an installation, and what to do about it. Nothing is changed. */
#include "doctor/checks.h"

#include "cmd/commands.h"
#include "cmd/doctor_gather.h"
#include "cmd/terminal.h"

#include <stdio.h>
#include <string.h>

#define COMMAND "doctor"
#define ARENA_BYTES_MAX ((size_t)1 << 30)
#define OUTPUT_BYTES_MAX ((size_t)256 << 20)
#define NAMESPACE_DEFAULT "fgpu-system"

struct options {
    struct inquiry in;
    const char *kubeconfig, *context, *scheduler_config, *fgpu_namespace, *fgpu_user;
    const char *no_way; /* why kubectl cannot reach the extender (cmd/plugin.c) */
    uint64_t skipped;
};

enum { OPT_SKIP = 256 };

static const char *check_word(size_t i, const char **ret_text)
{
    *ret_text = doctor_checks[i].name != NULL ? doctor_checks[i].about : "";
    return doctor_checks[i].name;
}

static const struct page_option options[] = {
    {"kubeconfig", .value = "FILE",
     .text = "the API server; default $KUBECONFIG, else ~/.kube/config, else that of the pod",
     .id = OPTION_AT(struct options, kubeconfig)},
    {"context", .value = "NAME", .text = "of the kubeconfig; without it its current-context",
     .id = OPTION_AT(struct options, context)},
    {"scheduler-config", .value = "FILE",
     .text = "KubeSchedulerConfiguration of the scheduler that asks fgpu; without it that of the form dedicated, key "
             "scheduler.yaml of the ConfigMap fgpu-config",
     .id = OPTION_AT(struct options, scheduler_config)},
    {"fgpu-namespace", .value = "NAMESPACE", .text = "where fgpu runs, default " NAMESPACE_DEFAULT,
     .id = OPTION_AT(struct options, fgpu_namespace)},
    {"fgpu-user", .value = "USER",
     .text = "as whom fgpu asks the API server, default system:serviceaccount:NAMESPACE:fgpu; in the form light it is "
             "fgpu",
     .id = OPTION_AT(struct options, fgpu_user)},
    {"skip", .value = "CHECK[,CHECK]", .text = "leaves checks out; once or several times", .id = OPT_SKIP,
     .words = check_word},
    {"no-way", .value = "TEXT", .text = NULL, .id = OPTION_AT(struct options, no_way)},
    INQUIRY_SERVER_ROWS("json: config/doctor.schema.json"),
};

const struct page page_doctor = {
    .command = "fgpu doctor",
    .usage = "[options]",
    .about =
        "Looks for what is wrong with an installation, and says what to do about it: how kube-scheduler is connected, "
        "rights, nodes and their agents, records, clocks, certificates, admission policies, pods that went past fgpu. "
        "It reads the state and the metrics of the extender, and the API server with your rights, and changes nothing.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .notes = "The rights that are checked are those of the user that fgpu runs as; your own must allow you to list "
             "nodes, pods, runtimeclasses, resourcequotas, validatingadmissionpolicies and their bindings, to get "
             "ConfigMaps, and to create subjectaccessreviews. What could not be read is shown as \"not checked\", and "
             "is not called right.",
    .list_title = "Checks",
    .list = check_word,
    .exit_codes =
        "0 everything was checked and nothing is wrong, 1 something is wrong or could not be checked, 2 usage",
    .examples = "fgpu doctor --kubeconfig ~/.kube/config\n"
                "fgpu doctor --scheduler-config /etc/kubernetes/scheduler.yaml --fgpu-user fgpu\n"
                "kubectl fgpu doctor --skip runtime-class",
};

static int take_skips(struct options *o, const char *value)
{
    struct str rest = str_of(value), name;

    while (str_split(&rest, ',', &name)) {
        const int i = doctor_check_find(name);

        if (i < 0) {
            return cmd_usage_error(COMMAND, "there is no check \"%.*s\"", STR_ARG(name));
        }
        o->skipped |= UINT64_C(1) << i;
    }
    return EXIT_OK;
}

static int take(void *ret, int option, const char *value)
{
    return option == OPT_SKIP ? take_skips(ret, value) : inquiry_take(ret, option, value);
}

static void show(const struct options *o, const struct doctor_report *r)
{
    struct strbuf out;

    strbuf_init(&out, OUTPUT_BYTES_MAX);
    if (o->in.json) {
        doctor_show_json(r, &out);
        terminal_print_json(strbuf_view(&out));
        printf("\n");
    } else {
        doctor_show_table(r, &out);
        terminal_print(strbuf_view(&out));
    }
    strbuf_fini(&out);
}

static int run(const struct options *o)
{
    const struct doctor_sources sources = {
        .extender = &o->in,
        .no_way = o->no_way,
        .kubeconfig = o->kubeconfig,
        .context = o->context,
        .scheduler_file = o->scheduler_config,
        .fgpu_namespace = o->fgpu_namespace,
        .fgpu_user = o->fgpu_user,
    };
    struct doctor_report report = {.skipped = o->skipped};
    struct doctor_facts facts;
    struct arena a;
    int code = EXIT_RUNTIME;

    arena_init(&a, ARENA_BYTES_MAX);
    doctor_facts_init(&facts, &a);
    doctor_gather(&sources, &facts);
    report.facts = &facts;
    report.arena = &a;
    if (doctor_examine(&report)) {
        show(o, &report);
        code = doctor_is_well(&report) ? EXIT_OK : EXIT_RUNTIME;
    } else {
        terminal_complain(COMMAND, "there is more than there is memory for");
    }
    config_free(facts.config);
    arena_fini(&a);
    return code;
}

int cmd_doctor(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_doctor, .take = take};
    struct options o = {.fgpu_namespace = NULL};
    int code;

    if (!inquiry_read(&line, argc, argv, &o.in, &code)) {
        return code;
    }
    o.fgpu_namespace = o.fgpu_namespace != NULL ? o.fgpu_namespace : NAMESPACE_DEFAULT;
    return run(&o);
}
