/* fgpu completion: the script that a shell loads. What it completes, it asks fgpu (cli/completion.h). */
#include "cli/completion.h"

#include "cmd/commands.h"
#include "cmd/options.h"

#include <stdio.h>

struct options {
    bool unused; /* the word has an offset that is not 0 */
    const char *shell;
};

const struct page page_completion = {
    .command = "fgpu completion",
    .usage = "bash|zsh|fish",
    .about = "Prints a script that completes commands, options and their values in your shell. The script asks fgpu "
             "itself, so it stays right when fgpu is replaced.\n\n"
             "  bash  source <(fgpu completion bash), in ~/.bashrc\n"
             "  zsh   fgpu completion zsh > \"${fpath[1]}/_fgpu\", then a new shell\n"
             "  fish  fgpu completion fish > ~/.config/fish/completions/fgpu.fish\n\n"
             "kubectl completes `kubectl fgpu` by itself (1.26 and newer) if kubectl_complete-fgpu is in PATH.",
    .examples = "fgpu completion bash > /etc/bash_completion.d/fgpu",
    .word = "bash|zsh|fish",
    .words = completion_shells,
};

int cmd_completion(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_completion, .word_at = offsetof(struct options, shell)};
    struct options o = {.shell = NULL};
    const char *script;
    int code = options_read(&line, argc, argv, &o);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    script = o.shell != NULL ? completion_script(o.shell) : NULL;
    if (script == NULL) {
        return cmd_usage_error("completion", "say which shell: bash, zsh or fish");
    }
    fputs(script, stdout);
    return EXIT_OK;
}
