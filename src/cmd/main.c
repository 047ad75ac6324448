/* fgpu: what production runs, and the admin's commands. The demonstration is fgpu-demo (src/cmd_demo). */
#include "cmd/commands.h"
#include "cmd/dispatch.h"
#include "cmd/manual.h"
#include "cmd/plugin.h"

#include "base/compiler.h"

static const struct command commands[] = {
    {"serve", "the scheduler extender: webhook verbs, ledger, /state, metrics", cmd_serve, &page_serve},
    {"demo", CMD_DEMO_SUMMARY, cmd_start_fgpu_demo, .is_elsewhere = true},
    {"sim", "replay a trace under one or several strategies", cmd_sim, &page_sim},
    {"check-config", "validate a configuration file", cmd_check_config, &page_check_config, .is_of_the_plugin = true},
    {"whatif", "show what another configuration would change in the cluster", cmd_whatif, &page_whatif,
     .asks_fgpu = true},
    {"state", "show nodes, GPUs and the pods that hold them, of a running extender", cmd_state, &page_state,
     .asks_fgpu = true},
    {"explain", "say why a pod waits, or why it is where it is, of a running extender", cmd_explain, &page_explain,
     .asks_fgpu = true},
    {"trace", "show the last changes and decisions, of a running extender", cmd_trace, &page_trace, .asks_fgpu = true},
    {"replay", "make the decisions of a saved trace again, and show the first that differs", cmd_replay, &page_replay},
    {"doctor", "say what is wrong with an installation, and what to do about it", cmd_doctor, &page_doctor,
     .asks_fgpu = true, .asks_api = true},
    {"frag", "show fragmentation and what still fits, of a running extender", cmd_frag, &page_frag, .asks_fgpu = true},
    {"rightsize", "propose sizes for workloads from what they used of their GPUs", cmd_rightsize, &page_rightsize},
    {"signing-key", "make the key that signs records", cmd_signing_key, &page_signing_key},
    {"metrics-reference", "print what every metric means, and when to worry", cmd_metrics_reference,
     &page_metrics_reference, .is_of_the_plugin = true},
    {"completion", "print the script that completes commands and options in your shell", cmd_completion,
     &page_completion},
    {"apiserver", CMD_APISERVER_SUMMARY, cmd_start_fgpu_demo, .is_elsewhere = true},
    {"version", CMD_VERSION_SUMMARY, cmd_version, &page_version, .is_of_the_plugin = true},
};

static int write_more_pages(const char *dir, struct err *reterr)
{
    const int rc = manual_of_the_configuration(dir, reterr);

    return rc == 0 ? plugin_manual(dir, reterr) : rc;
}

int main(int argc, char **argv)
{
    static const struct program fgpu = {
        .name = "fgpu",
        .called = "fgpu",
        .summary = "let many pods share one GPU in Kubernetes",
        .purpose = "fgpu lets many pods share one GPU: a scheduler extender for Kubernetes.",
        .commands = commands,
        .command_n = ARRAY_LEN(commands),
        .write_more_pages = write_more_pages,
    };

    return plugin_is_meant(argv[0]) ? plugin_run(&fgpu, argc, argv) : dispatch(&fgpu, argc, argv);
}
