#include "node/doors.h"

#include <stddef.h>

#define DEFAULT_VALIDATOR STR("default_validator")

/* The value behind "KEY =": quotes and a comment behind it taken off. False: this line sets something else. */
static bool read_value(struct str line, struct str key, struct str *ret)
{
    struct str rest = line, part;

    if (!str_split(&rest, '=', &part) || rest.p == NULL || !str_eq(str_trim(part), key)) {
        return false;
    }
    rest = str_trim(rest);
    if (rest.n > 1 && (rest.p[0] == '"' || rest.p[0] == '\'')) {
        const char quote = rest.p[0];

        rest = str_drop(rest, 1);
        (void)str_split(&rest, quote, ret);
        return true;
    }
    (void)str_split(&rest, '#', ret);
    *ret = str_trim(*ret);
    return true;
}

/* "[plugins."io.containerd.nri.v1.nri".default_validator]" */
static bool ends_section(struct str line, struct str name)
{
    struct str rest = line, header;

    return str_split(&rest, ']', &header) && header.n >= name.n && str_ends(header, name);
}

/* Its name, as those who install it write it: nvidia, nvidia-cdi, nvidia-legacy, nvidia-experimental. */
static bool is_nvidias(struct str runtime)
{
    return str_starts(runtime, STR("nvidia"));
}

static void read_line(struct doors *d, struct str line, bool in_validator)
{
    struct str value = STR_NULL;

    if (read_value(line, STR("default_runtime_name"), &value) || read_value(line, STR("default_runtime"), &value)) {
        d->read_runtime = true;
        d->default_is_nvidias = is_nvidias(value);
    } else if (in_validator && read_value(line, STR("enable"), &value)) {
        d->has_validator = str_eq(value, STR("true"));
    } else if (read_value(line, STR("accept-nvidia-visible-devices-envvar-when-unprivileged"), &value)) {
        d->ignores_variables = str_eq(value, STR("false"));
    } else if (read_value(line, STR("accept-nvidia-visible-devices-as-volume-mounts"), &value)) {
        d->takes_mounts = str_eq(value, STR("true"));
    }
}

/* "[section]", or "key = value" with a key of TOML: bare, quoted, or several with dots between them. */
static bool is_toml(struct str line)
{
    static const char in_keys[] = STR_DIGITS STR_LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-.\"'/: ";
    struct str rest = line, key;

    (void)str_split(&rest, str_starts(line, STR("[")) ? ']' : '=', &key);
    key = str_trim(key);
    return rest.p != NULL && key.n > 0 && (key.p[0] == '[' || str_span(key, in_keys) == key.n);
}

/* Not "imports = []", which imports none. */
static bool imports_others(struct str line)
{
    struct str value = STR_NULL;

    return read_value(line, STR("imports"), &value) &&
           !(str_starts(value, STR("[")) && str_eq(str_trim(str_drop(value, 1)), STR("]")));
}

struct doors_file doors_read(struct doors *d, struct str text)
{
    struct doors_file ret = {.imports = STR_NULL};
    struct str rest = text, line;
    bool in_validator = false, any_toml = false, any = false;

    while (str_split(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.n == 0 || str_starts(line, STR("#"))) {
            continue;
        }
        any = true;
        any_toml = any_toml || is_toml(line);
        if (imports_others(line)) {
            ret.imports = line;
        }
        if (str_starts(line, STR("["))) {
            in_validator = ends_section(line, DEFAULT_VALIDATOR);
            d->read_runtime = d->read_runtime || str_starts(line, STR("[plugins")) || str_starts(line, STR("[crio"));
        } else {
            read_line(d, line, in_validator);
        }
    }
    ret.strange = any && !any_toml;
    return ret;
}

bool doors_is_open(const struct doors *d, enum door which)
{
    switch (which) {
    case DOOR_VARIABLE:
        return d->default_is_nvidias && !d->ignores_variables;
    case DOOR_MOUNT:
        return d->default_is_nvidias && d->takes_mounts;
    case DOOR_NO_VALIDATOR:
        return d->read_runtime && !d->has_validator;
    case DOOR__MAX:
        break;
    }
    return false;
}

#define VARIABLE                                                                                                       \
    "the default runtime of this node is NVIDIA's and reads NVIDIA_VISIBLE_DEVICES, so a container that is created "   \
    "while fgpu-node is away has the GPUs that its image asks for"
#define MOUNT                                                                                                          \
    "NVIDIA's runtime takes mounts below /var/run/nvidia-container-devices as a wish for GPUs, so a container that "   \
    "is "                                                                                                              \
    "created while fgpu-node is away has the GPUs that its pod mounts"
#define NO_VALIDATOR                                                                                                   \
    "the container runtime does not enforce the plugins that a pod requires, so a pod that is created while "          \
    "fgpu-node "                                                                                                       \
    "is away starts without its GPU"

static const struct {
    const char *name, *words, *remedy, *both;
} texts[] = {
#define TEXT(name, words, remedy)                                                                                      \
    {                                                                                                                  \
        name, words, remedy, words "; " remedy                                                                         \
    }
    [DOOR_VARIABLE] = TEXT("variable", VARIABLE,
                           "make runc the default runtime, or set "
                           "accept-nvidia-visible-devices-envvar-when-unprivileged = false in the configuration of "
                           "NVIDIA's toolkit"),
    [DOOR_MOUNT] = TEXT("mount", MOUNT,
                        "set accept-nvidia-visible-devices-as-volume-mounts = false, or make runc the default runtime"),
    [DOOR_NO_VALIDATOR] = TEXT("no-validator", NO_VALIDATOR,
                               "enable default_validator of NRI in containerd's configuration (2.2 and later)"),
#undef TEXT
};

const char *door_name(enum door which)
{
    return texts[which].name;
}

const char *door_meaning(enum door which)
{
    return texts[which].words;
}

const char *door_remedy(enum door which)
{
    return texts[which].remedy;
}

const char *door_words(enum door which)
{
    return texts[which].both;
}
