/* cmd/commands.h - the subcommands of fgpu. Each gets its own arguments (argv[0] is its name) and returns
 * the exit code of the process. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cli/page.h"

/* Exit codes (other people's scripts rely on them). */
enum {
    EXIT_OK = 0,
    EXIT_RUNTIME = 1,
    EXIT_USAGE = 2,
    EXIT_CONFIG = 3,
    EXIT_UNREACHABLE = 4, /* --wait=false and the API server does not answer */
    EXIT_INVARIANT = 70,
};

int cmd_serve(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_check_config(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_state(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_frag(int argc, char **argv);
int cmd_rightsize(int argc, char **argv);
int cmd_signing_key(int argc, char **argv);
int cmd_metrics_reference(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_completion(int argc, char **argv);
/* `demo` and `apiserver`: fgpu-demo, which lies beside fgpu, takes the place of this process and gets the same
 * arguments. Returns only if that fails: production does not have it. */
int cmd_start_fgpu_demo(int argc, char **argv);

/* What they say of themselves, and what they are told. */
extern const struct page page_serve, page_sim, page_check_config, page_whatif, page_state, page_explain, page_doctor,
    page_trace, page_replay, page_frag, page_rightsize, page_signing_key, page_metrics_reference, page_version,
    page_completion;

/* Lines of --help that more than one program prints. */
#define CMD_DEMO_SUMMARY "fgpu on a simulated cluster, live in the terminal"
#define CMD_APISERVER_SUMMARY "the simulated API server of the demo by itself, for tests"
#define CMD_VERSION_SUMMARY "print the version of fgpu and of its libraries"

/* The strategies' names, for config/load.h. */
struct config_names;
void cmd_config_names(struct config_names *ret);

/* "fgpu serve: ..." on stderr, and EXIT_USAGE. */
int cmd_usage_error(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
