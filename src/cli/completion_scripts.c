/* The shells' halves: they hand the words over and show what comes back. What there is to complete is known to the
 * program alone. */
#include "cli/completion.h"

#include "base/compiler.h"

#include <string.h>

/* bash breaks words at the characters of COMP_WORDBREAKS, ':' and '=' among them; the program gets whole words, and of
 * what it offers the part up to the last such character, which bash keeps, is taken away. */
static const char bash[] = "# bash completion of fgpu: source <(fgpu completion bash)\n"
                           "_fgpu() {\n"
                           "    local line=${COMP_LINE:0:COMP_POINT} reply directive kept word\n"
                           "    local -a words=() lines=()\n"
                           "    read -ra words <<<\"$line\"\n"
                           "    [[ $line == *[[:space:]] ]] && words+=('')\n"
                           "    local current=${words[${#words[@]}-1]}\n"
                           "    reply=$(\"${words[0]}\" __complete \"${words[@]:1}\" 2>/dev/null) || return\n"
                           "    mapfile -t lines <<<\"$reply\"\n"
                           "    directive=${lines[${#lines[@]}-1]}\n"
                           "    unset \"lines[${#lines[@]}-1]\"\n"
                           "    kept=\n"
                           "    if [[ $current == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then\n"
                           "        kept=${current%\"${current##*[=:]}\"}\n"
                           "    fi\n"
                           "    COMPREPLY=()\n"
                           "    for word in \"${lines[@]}\"; do\n"
                           "        word=${word%%$'\\t'*}\n"
                           "        COMPREPLY+=(\"${word#\"$kept\"}\")\n"
                           "    done\n"
                           "    if [[ ${#COMPREPLY[@]} -eq 0 && $directive == :0 ]]; then\n"
                           "        compopt -o filenames\n"
                           "        mapfile -t COMPREPLY < <(compgen -f -- \"${current#\"$kept\"}\")\n"
                           "    fi\n"
                           "}\n"
                           "complete -F _fgpu fgpu\n";

static const char zsh[] =
    "#compdef fgpu\n"
    "# zsh completion of fgpu: fgpu completion zsh > \"${fpath[1]}/_fgpu\"\n"
    "_fgpu() {\n"
    "    local -a lines plain described\n"
    "    local line directive\n"
    "    lines=(\"${(@f)$(\"${words[1]}\" __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    directive=${lines[-1]}\n"
    "    lines=(\"${(@)lines[1,-2]}\")\n"
    "    for line in \"${lines[@]}\"; do\n"
    "        [[ -z $line ]] && continue\n"
    "        plain+=(\"${line%%$'\\t'*}\")\n"
    "        described+=(\"${line/$'\\t'/  -- }\")\n"
    "    done\n"
    "    if (( ${#plain} )); then\n"
    "        compadd -d described -l -- \"${plain[@]}\"\n"
    "    elif [[ $directive == :0 ]]; then\n"
    "        _files\n"
    "    fi\n"
    "}\n"
    "if [[ $funcstack[1] == _fgpu ]]; then\n"
    "    _fgpu \"$@\"\n"
    "else\n"
    "    compdef _fgpu fgpu\n"
    "fi\n";

static const char fish[] = "# fish completion of fgpu: fgpu completion fish > ~/.config/fish/completions/fgpu.fish\n"
                           "function __fgpu_ask\n"
                           "    set -l words (commandline -opc)\n"
                           "    set -l current (commandline -ct)\n"
                           "    set -l lines ($words[1] __complete $words[2..-1] \"$current\" 2>/dev/null)\n"
                           "    set -l directive $lines[-1]\n"
                           "    set -e lines[-1]\n"
                           "    if test (count $lines) -gt 0\n"
                           "        printf '%s\\n' $lines\n"
                           "    else if test \"$directive\" = :0\n"
                           "        __fish_complete_path \"$current\"\n"
                           "    end\n"
                           "end\n"
                           "complete -c fgpu -f -a '(__fgpu_ask)'\n";

static const struct {
    const char *shell, *script;
} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

const char *completion_script(const char *shell)
{
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        if (strcmp(shell, scripts[i].shell) == 0) {
            return scripts[i].script;
        }
    }
    return NULL;
}

const char *completion_shells(size_t i, const char **ret_text)
{
    *ret_text = "";
    return i < ARRAY_LEN(scripts) ? scripts[i].shell : NULL;
}
