#include "cmd_node/options.h"

#include "base/build_info.h"
#include "base/compiler.h"
#include "base/quantity.h"
#include "model/device.h"
#include "nri/plugin.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CDI_DIR_DEFAULT "/var/run/cdi"
#define EXEMPT_DEFAULT "kube-system,gpu-operator"
#define OVERCOMMIT_MAX (10 * DEVICE_MILLI)
#define VERBOSITY_MAX 10

static void print_help(void)
{
    printf("Usage: fgpu-node --public-keys PATH [options]\n\n"
           "Runs on a node with GPUs, as a plugin (NRI) of its container runtime. When a container is created it gets "
           "exactly\n"
           "the GPUs that the signed record of its pod names for it, and every other container sees none. A container "
           "that\n"
           "would take a GPU past its capacity is refused, whatever was decided elsewhere; kubelet tries it again.\n\n"
           "  --public-keys PATH        file or folder of the public keys whose records are believed; may be repeated\n"
           "  --node-name NAME          name of the Node object (default: environment NODE_NAME)\n"
           "  --nri-socket PATH         default " NRI_SOCKET_DEFAULT "\n"
           "  --nvml-library PATH       libnvidia-ml.so.1 of the driver (default: the loader's, then that of the GPU "
           "Operator).\n"
           "                            Where there is none, it waits for one\n"
           "  --cdi-dir DIR             where the device that hides GPUs is described (default " CDI_DIR_DEFAULT ")\n"
           "  --hand-over auto|cdi|env  how devices are handed over: by CDI names, or by NVIDIA_VISIBLE_DEVICES where "
           "NVIDIA's\n"
           "                            runtime is the default one (default auto: by CDI if the runtime takes it)\n"
           "  --exempt NAMESPACES       containers there without a record are left as they are (default " EXEMPT_DEFAULT
           "\n"
           "                            and the agent's own: environment POD_NAMESPACE)\n"
           "  --stand-back              all containers without a record are left as they are: for a node where a "
           "device plugin\n"
           "                            hands out GPUs, too\n"
           "  --overcommit-compute X, --overcommit-memory X\n"
           "                            1.0 to 10.0, as devices.overcommit of fgpu has it for this node (default 1.0)\n"
           "  --log-format text|json, -v N\n"
           "  --version, --help\n\n"
           "Public keys and GPUs are read again every 10 s, and on SIGHUP. Exit codes: 0 stopped by SIGTERM or SIGINT, "
           "1 failure, "
           "2 usage,\n"
           "3 keys that cannot be read at start.\n");
}

static int PRINTF_LIKE(1, 2) usage_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "fgpu-node: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "; fgpu-node --help lists the options\n");
    va_end(ap);
    return NODE_EXIT_USAGE;
}

/* ---- values ---- */

static int take_factor(const char *option, const char *value, int32_t *ret)
{
    struct quantity q;
    int64_t milli;

    if (quantity_parse(str_of(value), &q) != QUANTITY_OK || !quantity_milli(q, &milli) || milli < DEVICE_MILLI ||
        milli > OVERCOMMIT_MAX) {
        return usage_error("%s must be a number from 1.0 to 10.0, not \"%s\"", option, value);
    }
    *ret = (int32_t)milli;
    return NODE_EXIT_OK;
}

static int take_exempt(struct node_options *o, const char *value)
{
    struct str rest = str_of(value), name;

    while (str_split(&rest, ',', &name)) {
        name = str_trim(name);
        if (name.n == 0) {
            continue;
        }
        if (o->exempt_n == NODE_EXEMPT_MAX) {
            return usage_error("--exempt takes %d namespaces at most", NODE_EXEMPT_MAX);
        }
        o->exempt[o->exempt_n++] = name;
    }
    return NODE_EXIT_OK;
}

static int take_public_key(struct node_options *o, const char *value)
{
    if (o->public_key_n == NODE_PATHS_MAX) {
        return usage_error("--public-keys may be given %d times at most; a folder holds more", NODE_PATHS_MAX);
    }
    o->public_keys[o->public_key_n++] = str_of(value);
    return NODE_EXIT_OK;
}

/* The place of `value` among `names`. */
static int take_choice(const char *option, const char *value, const char *const *names, size_t n, int *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(value, names[i]) == 0) {
            *ret = (int)i;
            return NODE_EXIT_OK;
        }
    }
    return usage_error("%s cannot be \"%s\"", option, value);
}

static int take_verbosity(const char *value, int *ret)
{
    uint64_t v;

    if (!str_to_u64(str_of(value), VERBOSITY_MAX, &v)) {
        return usage_error("-v must be a number from 0 to %d, not \"%s\"", VERBOSITY_MAX, value);
    }
    *ret = (int)v;
    return NODE_EXIT_OK;
}

/* ---- the line ---- */

struct draft {
    struct node_options *o;
    bool says_exempt;
};

static int take(struct draft *d, int option, const char *value)
{
    static const char *const ways[] = {"auto", "cdi", "env"}, *const formats[] = {"text", "json"};
    struct node_options *o = d->o;
    int choice = 0, code;

    switch (option) {
    case 'n':
        o->node_name = value;
        return NODE_EXIT_OK;
    case 's':
        o->nri_socket = value;
        return NODE_EXIT_OK;
    case 'l':
        o->nvml_library = value;
        return NODE_EXIT_OK;
    case 'd':
        o->cdi_dir = value;
        return NODE_EXIT_OK;
    case 'k':
        return take_public_key(o, value);
    case 'e':
        d->says_exempt = true;
        return take_exempt(o, value);
    case 'b':
        o->stand_back = true;
        return NODE_EXIT_OK;
    case 'c':
        return take_factor("--overcommit-compute", value, &o->overcommit_milli);
    case 'm':
        return take_factor("--overcommit-memory", value, &o->overcommit_mem_milli);
    case 'v':
        return take_verbosity(value, &o->verbosity);
    case 'w':
        code = take_choice("--hand-over", value, ways, ARRAY_LEN(ways), &choice);
        o->hand_over = (enum node_hand_over)choice;
        return code;
    default:
        code = take_choice("--log-format", value, formats, ARRAY_LEN(formats), &choice);
        o->json = choice == 1;
        return code;
    }
}

/* What nobody said. */
static int complete(struct draft *d)
{
    struct node_options *o = d->o;
    const char *own = getenv("POD_NAMESPACE");

    o->node_name = o->node_name != NULL ? o->node_name : getenv("NODE_NAME");
    if (o->node_name == NULL || o->node_name[0] == '\0') {
        return usage_error("--node-name is missing, and the environment has no NODE_NAME");
    }
    if (o->public_key_n == 0) {
        return usage_error("--public-keys is missing: without keys no record can be believed");
    }
    if (!d->says_exempt) {
        (void)take_exempt(o, EXEMPT_DEFAULT); /* they fit */
        if (own != NULL) {
            (void)take_exempt(o, own);
        }
    }
    return NODE_EXIT_OK;
}

int node_options_read(int argc, char **argv, struct node_options *o)
{
    static const struct option options[] = {{"public-keys", required_argument, NULL, 'k'},
                                            {"node-name", required_argument, NULL, 'n'},
                                            {"nri-socket", required_argument, NULL, 's'},
                                            {"nvml-library", required_argument, NULL, 'l'},
                                            {"cdi-dir", required_argument, NULL, 'd'},
                                            {"hand-over", required_argument, NULL, 'w'},
                                            {"exempt", required_argument, NULL, 'e'},
                                            {"stand-back", no_argument, NULL, 'b'},
                                            {"overcommit-compute", required_argument, NULL, 'c'},
                                            {"overcommit-memory", required_argument, NULL, 'm'},
                                            {"log-format", required_argument, NULL, 'f'},
                                            {"version", no_argument, NULL, 'V'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct draft d = {.o = o};
    int c, code = NODE_EXIT_OK;

    *o = (struct node_options){.nri_socket = NRI_SOCKET_DEFAULT,
                               .cdi_dir = CDI_DIR_DEFAULT,
                               .overcommit_milli = 1000,
                               .overcommit_mem_milli = 1000};
    opterr = 0;
    while (code == NODE_EXIT_OK && (c = getopt_long(argc, argv, ":v:h", options, NULL)) != -1) {
        switch (c) {
        case 'h':
            print_help();
            return -1;
        case 'V':
            printf("fgpu-node %s, commit %s\n", FGPU_VERSION, build_commit);
            return -1;
        case ':':
            return usage_error("%s needs a value", argv[optind - 1]);
        case '?':
            return usage_error("unknown option %s", argv[optind - 1]);
        default:
            code = take(&d, c, optarg);
        }
    }
    if (code == NODE_EXIT_OK && optind < argc) {
        return usage_error("unexpected \"%s\"", argv[optind]);
    }
    return code == NODE_EXIT_OK ? complete(&d) : code;
}
