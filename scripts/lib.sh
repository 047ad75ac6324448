# Shared by the scripts beside it; source it from the repository root.

FGPU_CACHE=${FGPU_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fgpu}
export FGPU_CACHE

say() { echo "${0##*/}: $*" >&2; }
die() { say "$*"; exit 1; }

# Puts a Go of at least 1.26 first on PATH if there is one, the machine's or ours; false otherwise.
go_is_new_enough() {
    local dir v
    for dir in "" "$FGPU_CACHE/go/bin" "$FGPU_CACHE/go/go/bin"; do
        v=$(GOTOOLCHAIN=local PATH="${dir:+$dir:}$PATH" go env GOVERSION 2>/dev/null) || continue
        v=${v#go}
        if [ "$(printf '%s\n' 1.26 "${v%%[!0-9.]*}" | sort -V | head -1)" = 1.26 ]; then
            [ -z "$dir" ] || export PATH="$dir:$PATH"
            export GOTOOLCHAIN=local
            return 0
        fi
    done
    return 1
}

# What the control plane and its tests are compiled with: the same for all, so that nothing is compiled again.
use_go() {
    go_is_new_enough || die "Go 1.26 or newer is needed; scripts/install-deps installs one"
    export GOFLAGS=-mod=readonly CGO_ENABLED=0 GOGC=${GOGC:-400}
}

# progress PATTERN: passes lines on, but of those that match, which say no more than how far it is, one in 15 s.
progress() {
    local line shown=$SECONDS
    while IFS= read -r line || [ -n "$line" ]; do
        if [[ $line =~ $1 ]]; then
            [ $((SECONDS - shown)) -ge 15 ] || continue
            shown=$SECONDS
        fi
        printf '%s\n' "$line"
    done
}

# The exit code of a stage that this machine cannot run at all; it has said why. No test may use it for anything else.
CANNOT_RUN=77

# stage NAME COMMAND...: runs it, and says how long it took, that it failed, or that this machine cannot run it. Those
# that failed and those that were skipped are collected, and what a failed one complained of: in thousands of lines nobody
# finds it, and who keeps only the end of them has nothing else.
FAILED_STAGES=()
SKIPPED_STAGES=()
STAGE_N=0
COMPLAINTS=
stage() {
    local name=$1 start=$SECONDS result=ok rc=0 output tee pid
    shift
    STAGE_N=$((STAGE_N + 1))
    echo "==> $name"
    output=$(mktemp)
    exec {tee}> >(tee "$output")
    pid=$!
    "$@" >&"$tee" 2>&1 {tee}>&- || rc=$?
    exec {tee}>&-
    # Until all of it is written; what a command leaves running may keep its output open for ever.
    for _ in {1..50}; do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    if [ $rc -eq $CANNOT_RUN ]; then
        result="SKIPPED, for the reason above"
        SKIPPED_STAGES+=("$name")
    elif [ $rc -ne 0 ]; then
        result=FAILED
        FAILED_STAGES+=("$name")
        COMPLAINTS+="failed: $name"$'\n'"$(complaints "$output")"$'\n'
    fi
    rm -f "$output"
    echo "    $result: $name, $((SECONDS - start)) s"
}

# beside NAME COMMAND...: begins a command with what the stages leave of the machine, once those begun so before have ended.
# stage_beside NAME: a stage that waits for its end, and shows what it said.
declare -A BESIDE_PID=() BESIDE_OUTPUT=()
BESIDE_LAST=
beside() {
    local name=$1 before=$BESIDE_LAST
    shift
    BESIDE_OUTPUT[$name]=$(mktemp)
    set -m # a process group of its own, to end with all that it began
    {
        [ -z "$before" ] || tail --pid="$before" -f /dev/null
        exec nice -n 19 "$@"
    } >"${BESIDE_OUTPUT[$name]}" 2>&1 &
    BESIDE_LAST=$!
    set +m
    BESIDE_PID[$name]=$BESIDE_LAST
    trap 'kill -- "${BESIDE_PID[@]/#/-}" 2>/dev/null; rm -f "${BESIDE_OUTPUT[@]}"' EXIT # these groups do not hear Ctrl-C
}

stage_beside() {
    stage "$1" beside_end "$1"
}

beside_end() {
    local rc=0
    tail -n +1 -f --pid="${BESIDE_PID[$1]}" "${BESIDE_OUTPUT[$1]}"
    wait "${BESIDE_PID[$1]}" || rc=$?
    return $rc
}

# complaints FILE: the lines in which our tools say what failed, the first forty; the last ones where none of them says so.
complaints() {
    { grep -aE '_test\.go:[0-9]+: |^--- FAIL|^FAILED |^E  |\*\*\*(Failed|Timeout|Exception)|^ *not ok |: error: |Sanitizer: |violated: ' "$1" || tail -n 5 "$1"; } |
        cut -c 1-400 | sed 's/^/    /' | head -n 40
}

# stages_end WHAT: "WHAT: N passed, M failed", how many were skipped if any, and which; false if one has failed.
stages_end() {
    local name skipped=
    for name in "${SKIPPED_STAGES[@]}"; do
        echo "skipped: $name"
    done
    printf %s "$COMPLAINTS"
    [ ${#SKIPPED_STAGES[@]} -eq 0 ] || skipped=", ${#SKIPPED_STAGES[@]} skipped"
    echo "$1: $((STAGE_N - ${#FAILED_STAGES[@]} - ${#SKIPPED_STAGES[@]})) passed, ${#FAILED_STAGES[@]} failed$skipped"
    [ ${#FAILED_STAGES[@]} -eq 0 ]
}

# npm_packages FOLDER: installs what FOLDER/package-lock.json names, once, and says where; no script of a package is run.
npm_packages() {
    local key to
    key=$({ cat "$1/package-lock.json"; node --version; } | sha256sum | cut -c1-16)
    to=$FGPU_CACHE/npm/$key
    if [ ! -e "$to/done" ]; then
        say "installing the packages of $1/package-lock.json into $to"
        rm -rf "$to"
        mkdir -p "$to"
        cp "$1/package.json" "$1/package-lock.json" "$to"
        (cd "$to" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) || die "npm ci failed in $to"
        touch "$to/done"
    fi
    echo "$to"
}
