#include "cmd_node/options.h"

#include "base/bug.h"
#include "base/build_info.h"
#include "base/compiler.h"
#include "cmd_node/option_values.h"
#include "model/names.h"
#include "nri/plugin.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define CDI_DIR_DEFAULT "/var/run/cdi"
#define EXEMPT_DEFAULT "kube-system,gpu-operator"
#define MPS_DIR_DEFAULT "/run/fgpu/mps"
#define CGROUP_ROOT_DEFAULT "/sys/fs/cgroup"
#define PROC_DEFAULT "/proc"
#define HELP_COLUMN 28

#define AT(member_) offsetof(struct node_options, member_)
static const struct option_row rows[] = {
    {"public-keys", "PATH", option_take_public_key, 0,
     "file or folder of the public keys whose records are believed; may be repeated"},
    {"node-name", "NAME", option_take_text, AT(node_name), "name of the Node object (default: environment NODE_NAME)"},
    {"kubeconfig", "FILE", option_take_text, AT(kubeconfig),
     "how to reach the API server (default: as a pod does, by its service account;\n"
     "outside a cluster: not at all, then nobody is told by Events)"},
    {"publish", "auto|annotation|all|off", option_take_publish, 0,
     "what is written about the GPUs to the Node object: annotation fgpu.io/gpus, and\n"
     "with all, for the form \"advertised\" of fgpu, totals in its status, too (default\n"
     "auto: the annotation, but nothing with --stand-back). An annotation that somebody\n"
     "else wrote stays"},
    {"nri-socket", "PATH", option_take_place, AT(nri_socket), "default " NRI_SOCKET_DEFAULT},
    {"nvml-library", "PATH", option_take_text, AT(nvml_library),
     "libnvidia-ml.so.1 of the driver (default: the loader's, then that of the GPU\n"
     "Operator). Where there is none, it waits for one"},
    {"cdi-dir", "DIR", option_take_place, AT(cdi_dir),
     "where the device that hides GPUs is described (default " CDI_DIR_DEFAULT ")"},
    {"runtime-config", "PATH", option_take_runtime_config, 0,
     "config.toml of containerd, crio.conf, or config.toml of NVIDIA's toolkit: it is told\n"
     "where they let containers have GPUs without the agent; may be repeated"},
    {"hand-over", "auto|cdi|env", option_take_hand_over, 0,
     "how devices are handed over: by CDI names, or by NVIDIA_VISIBLE_DEVICES where\n"
     "NVIDIA's runtime is the default one (default auto: by CDI if the runtime takes it)"},
    {"exempt", "NAMESPACES", option_take_exempt, 0,
     "containers there without a record are left as they are; a list with commas. It\n"
     "replaces the default, " EXEMPT_DEFAULT " and the agent's own (environment\n"
     "POD_NAMESPACE): name those again"},
    {"stand-back", NULL, option_take_flag, AT(stand_back),
     "all containers without a record are left as they are: for a node where a device\n"
     "plugin hands out GPUs, too"},
    {"refuse-privileged", NULL, option_take_flag, AT(refuse_privileged),
     "privileged containers outside those namespaces, which can open every GPU, are\n"
     "refused (default: they run; with a record they are refused anyway)"},
    {"limits", "auto|driver|mps|hami-core|watch|none", option_take_limits, 0,
     "what keeps a container to its share (default auto: driver where it holds, else\n"
     "watch). Per node pool: a DaemonSet each"},
    {"mps-directory", "DIR", option_take_place, AT(mps_dir),
     "pipe/ and shm/ of the MPS daemon (default " MPS_DIR_DEFAULT ")"},
    {"hami-core-library", "PATH", option_take_place, AT(hami_library),
     "libvgpu.so on the node; it is not part of fgpu"},
    {"cgroup-root", "DIR", option_take_place, AT(cgroup_root),
     "the host's cgroups of version 2 (default " CGROUP_ROOT_DEFAULT ")"},
    {"overcommit-compute", "X", option_take_factor, AT(overcommit_milli),
     "1.0 to 10.0, as devices.overcommit of fgpu has it for this node (default 1.0)"},
    {"overcommit-memory", "X", option_take_factor, AT(overcommit_mem_milli), "the same for memory"},
    {"max-sharers", "N", option_take_sharers, 0,
     "containers that may share a GPU, as devices.maxSharers of fgpu has it for this node;\n"
     "1 to 1000 (default: as many as fit)"},
    {"ops-address", "HOST:PORT", option_take_ops_address, 0,
     "/metrics, /state, /livez and /readyz for this machine; \"off\": nowhere\n"
     "(default " NODE_OPS_ADDRESS ")"},
    {"ops-anonymous", NULL, option_take_flag, AT(ops_anonymous),
     "that address is not on loopback: then everybody who reaches it reads /metrics, and\n"
     "there is no /state"},
    {"health-address", "HOST:PORT", option_take_health_address, 0,
     "/livez and /readyz alone, for everybody: for kubelet's probes (default off)"},
    {"metrics-address", "HOST:PORT", option_take_metrics_address, 0,
     "/metrics by TLS, with a certificate that it makes itself, for who shows a token of the\n"
     "cluster and may read it: the API server is asked (default off)"},
    {"usage-interval", "TIME", option_take_usage_interval, 0,
     "how often to look who uses a GPU, 1s to 5m (default 10s); \"off\": never. Needs\n"
     "the process ids of the host (hostPID)"},
    {"on-exceed", "report|kill", option_take_second, AT(exceed_kill),
     "what becomes of a container that uses more memory of a GPU than its record gives\n"
     "(default report). kill: its process with the most memory is killed"},
    {"exceed-grace", "TIME", option_take_exceed_grace, 0, "after that long above it, 0s to 1h (default 30s)"},
    {"proc", "DIR", option_take_place, AT(proc), "where the processes of the host are (default " PROC_DEFAULT ")"},
    {"ignore-xids", "NUMBERS", option_take_xids, 0,
     "errors (XIDs) that do not make a GPU ill, beside 13, 31, 43, 45, 68 and 109, which\n"
     "programs cause; a list with commas"},
    {"log-format", "text|json", option_take_second, AT(json), "default text"},
};
#undef AT

static void print_row(const struct option_row *row)
{
    struct str rest = str_of(row->help), line;
    int n = printf("  --%s%s%s", row->name, row->value != NULL ? " " : "", row->value != NULL ? row->value : "");

    if (n >= HELP_COLUMN) {
        putchar('\n');
        n = 0;
    }
    for (; str_split(&rest, '\n', &line); n = 0) {
        printf("%*s%.*s\n", HELP_COLUMN - n, "", STR_ARG(line));
    }
}

static void print_help(void)
{
    printf(
        "Usage: fgpu-node --public-keys PATH [options]\n\n"
        "Runs on a node with GPUs, as a plugin (NRI) of its container runtime. When a container is created it gets "
        "exactly\n"
        "the GPUs that the signed record of its pod names for it, and every other container sees none. A container "
        "that\n"
        "would take a GPU past its capacity is refused, whatever was decided elsewhere; kubelet tries it again.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        print_row(&rows[i]);
    }
    printf("  -v N                      0 to %d: more in the log (default 0)\n"
           "  --version, --help\n\n"
           "Public keys and GPUs are read again every 10 s, and on SIGHUP. Exit codes: 0 stopped by SIGTERM or SIGINT, "
           "1 failure,\n"
           "2 usage, 3 keys or a kubeconfig that cannot be read at start.\n\n"
           "Example:\n"
           "  fgpu-node --public-keys /etc/fgpu/keys --node-name gpu-1 --kubeconfig /etc/kubernetes/kubelet.conf\n",
           NODE_VERBOSITY_MAX);
}

static int check_ports(const struct node_options *o)
{
    const struct {
        const char *name;
        uint16_t port; /* 0: none, or any */
    } listeners[] = {
        {"--ops-address", o->ops_off ? 0 : o->ops_address.port},
        {"--health-address", o->health_off ? 0 : o->health_address.port},
        {"--metrics-address", o->metrics_off ? 0 : o->metrics_address.port},
    };

    for (size_t i = 0; i < ARRAY_LEN(listeners); i++) {
        for (size_t j = 0; j < i; j++) {
            if (listeners[i].port != 0 && listeners[i].port == listeners[j].port) {
                return option_usage_error("%s and %s have the same port, %u; give each its own", listeners[j].name,
                                          listeners[i].name, listeners[i].port);
            }
        }
    }
    return NODE_EXIT_OK;
}

static int check_listeners(const struct node_options *o)
{
    const bool loopback = address_is_loopback(&o->ops_address);

    if (!o->ops_off && !o->ops_anonymous && !loopback) {
        return option_usage_error("--ops-address is not on loopback, and its listener does not ask who calls; with "
                                  "--ops-anonymous it is served all the same, without /state");
    }
    if (!o->ops_off && o->ops_anonymous && loopback) {
        return option_usage_error("--ops-anonymous is for an --ops-address that is not on loopback, as :9444; on "
                                  "loopback leave it away, and there is /state, too");
    }
    return check_ports(o);
}

static int take_default_exempt(struct node_options *o)
{
    const char *own = getenv("POD_NAMESPACE");
    const int code = option_add_exempt(o, EXEMPT_DEFAULT);

    return code != NODE_EXIT_OK || own == NULL ? code : option_add_exempt(o, own);
}

/* What nobody said, and what does not go together. */
static int complete(struct option_draft *d)
{
    struct node_options *o = d->o;
    int code;

    o->node_name = o->node_name != NULL ? o->node_name : getenv("NODE_NAME");
    if (o->node_name == NULL || o->node_name[0] == '\0') {
        return option_usage_error("--node-name is missing, and the environment has no NODE_NAME");
    }
    if (!kube_name_is_subdomain(str_of(o->node_name))) {
        return option_usage_error("\"%s\" is not the name of a node (--node-name or NODE_NAME)", o->node_name);
    }
    if (o->public_key_n == 0) {
        return option_usage_error("--public-keys is missing: without keys no record can be believed");
    }
    if (o->limits == LIMITS_HAMI_CORE && o->hami_library == NULL) {
        return option_usage_error("--limits hami-core takes --hami-core-library");
    }
    if (o->exceed_kill && o->usage_interval_ms == 0) {
        return option_usage_error("--on-exceed kill with --usage-interval off kills nobody: it has to look who uses "
                                  "the GPUs");
    }
    code = check_listeners(o);
    return code != NODE_EXIT_OK || d->says_exempt ? code : take_default_exempt(o);
}

enum { FIRST_ROW = 256 }; /* beyond all letters */

static int read_line(struct option_draft *d, int argc, char **argv)
{
    struct option options[ARRAY_LEN(rows) + 3] = {{"version", no_argument, NULL, 'V'},
                                                  {"help", no_argument, NULL, 'h'}};
    int c, code = NODE_EXIT_OK;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        options[i + 2] = (struct option){rows[i].name, rows[i].value != NULL ? required_argument : no_argument, NULL,
                                         FIRST_ROW + (int)i};
    }
    opterr = 0;
    while (code == NODE_EXIT_OK && (c = getopt_long(argc, argv, ":v:h", options, NULL)) != -1) {
        switch (c) {
        case 'h':
            print_help();
            return -1;
        case 'V':
            printf("fgpu-node %s, commit %s\n", FGPU_VERSION, build_commit);
            return -1;
        case 'v':
            code = option_take_verbosity(d, optarg);
            break;
        case ':':
            return option_usage_error("%s needs a value", argv[optind - 1]);
        case '?':
            return option_usage_error("unknown option %s", argv[optind - 1]);
        default:
            code = rows[c - FIRST_ROW].take(d, &rows[c - FIRST_ROW], optarg);
        }
    }
    if (code == NODE_EXIT_OK && optind < argc) {
        return option_usage_error("unexpected \"%s\"", argv[optind]);
    }
    return code;
}

int node_options_read(int argc, char **argv, struct node_options *o)
{
    struct option_draft d = {.o = o};
    int code;

    *o = (struct node_options){.nri_socket = NRI_SOCKET_DEFAULT,
                               .cdi_dir = CDI_DIR_DEFAULT,
                               .mps_dir = MPS_DIR_DEFAULT,
                               .cgroup_root = CGROUP_ROOT_DEFAULT,
                               .max_sharers = INT32_MAX,
                               .overcommit_milli = 1000,
                               .overcommit_mem_milli = 1000,
                               .health_off = true,
                               .metrics_off = true,
                               .proc = PROC_DEFAULT,
                               .usage_interval_ms = 10000,
                               .exceed_grace_ms = 30000};
    BUG_ON(address_parse(STR(NODE_OPS_ADDRESS), &o->ops_address, NULL) != 0);
    code = read_line(&d, argc, argv);
    return code == NODE_EXIT_OK ? complete(&d) : code;
}
