#include "cmd/serve_options.h"

#include "cmd/commands.h"
#include "cmd/options.h"

#include <stdio.h>
#include <string.h>

enum { OPT_WAIT = 256, OPT_WALL_CLOCK, OPT_REHEARSE };

#define TEXT(member_) OPTION_AT(struct serve_options, member_)

static const struct page_option options[] = {
    {"config", .value = "FILE", .text = "kind FgpuConfiguration; without it the built-in defaults", .id = TEXT(config)},
    {"kubeconfig", .value = "FILE", .text = "the API server; without it the API server of the pod in which fgpu runs",
     .id = TEXT(kubeconfig)},
    {"context", .value = "NAME", .text = "of the kubeconfig; without it its current-context", .id = TEXT(context)},
    {"verbs-address", .value = "HOST:PORT", .id = TEXT(addresses[RUNTIME_VERBS]),
     .text = "default 127.0.0.1:9443; an address that is not loopback needs TLS"},
    {"ops-address", .value = "HOST:PORT", .id = TEXT(addresses[RUNTIME_OPS]),
     .text = "/state /metrics /configz /version, default 127.0.0.1:9442; the same"},
    {"health-address", .value = "HOST:PORT", .id = TEXT(addresses[RUNTIME_HEALTH]),
     .text = "/livez /readyz /healthz, default 127.0.0.1:9441"},
    {"metrics-address", .value = "HOST:PORT", .id = TEXT(addresses[RUNTIME_METRICS]),
     .text = "/metrics alone, default none; not on loopback: TLS, callers need a token"},
    {"election", .value = "none|lease|follow-scheduler", .id = TEXT(election),
     .text = "which of several replicas answers, default none; see lease in the configuration"},
    {"tls-cert-file", .value = "FILE", .id = TEXT(cert),
     .text = "PEM, as the next two; read again when they change and on SIGHUP"},
    {"tls-private-key-file", .value = "FILE", .text = "its private key", .id = TEXT(key)},
    {"client-ca-file", .value = "FILE", .id = TEXT(client_ca),
     .text = "callers need a certificate of this CA with a name from serving.tls.allowedNames"},
    {"signing-key", .value = "FILE", .id = TEXT(signing_key),
     .text =
         "the private key that signs the records of decisions (fgpu signing-key makes one), read again when it changes "
         "and on SIGHUP; \"off\" to sign nothing"},
    {"logging-format", .value = "text|json", .text = "default text", .id = TEXT(format)},
    {NULL, 'v', "N", "verbosity: 2 steady state, 4 decisions, 6 requests and replies"},
    {"v", .value = "N", .id = 'v'},
    {"wait", .value = "=true|false", .id = OPT_WAIT,
     .text =
         "false: end with exit code 4 if the API server does not answer within " QUOTE(SERVE_UNREACHABLE_AFTER_S) " s"},
    {"write-config-to", .value = "FILE", .text = "writes the configuration with all defaults and flags, and ends",
     .id = TEXT(write_config_to)},
    {"wall-clock", .value = "TIME", .id = OPT_WALL_CLOCK,
     .text = "to test time windows: fgpu's clock starts at TIME (2026-03-28T18:59:50Z) and goes on from there, also in "
             "/state and the log; without --rehearse=false this is a rehearsal"},
    {"rehearse", .value = "=true|false", .id = OPT_REHEARSE,
     .text = "reads the cluster and answers filter, prioritize and /state, but writes nothing to the API server, binds "
             "nothing and runs no command of a node pool"},
};

const struct page page_serve = {
    .command = "fgpu serve",
    .usage = "[options]",
    .about = "Serves the verbs filter, prioritize and bind to kube-scheduler.",
    .options = options,
    .option_n = ARRAY_LEN(options),
    .notes = "fgpu reads the configuration file again on SIGHUP and when it changes. SIGUSR2 audits the ledger.",
    .exit_codes =
        "0 ended by a signal, 1 failure, 2 usage, 3 invalid configuration, 4 API server unreachable, 70 broken "
        "invariant",
    .examples = "fgpu serve --kubeconfig ~/.kube/config --signing-key key.pem\n"
                "fgpu serve --config fgpu.yaml --kubeconfig ~/.kube/config --write-config-to all-values.yaml",
};

static int parse_verbosity(const char *text, int *ret)
{
    uint64_t v;

    if (!str_to_u64(str_of(text), 10, &v)) {
        return cmd_usage_error("serve", "-v takes a number from 0 to 10, not \"%s\"", text);
    }
    *ret = (int)v;
    return EXIT_OK;
}

static int parse_wall_clock(const char *text, struct serve_options *o)
{
    o->wall_clock = text;
    return clock_rfc3339_parse(str_of(text), &o->wall_clock_ms)
               ? EXIT_OK
               : cmd_usage_error("serve", "--wall-clock takes a time such as 2026-03-28T18:59:50Z, not \"%s\"", text);
}

static int parse_rehearse(const char *text, const char **ret)
{
    *ret = text == NULL ? "true" : text;
    return strcmp(*ret, "true") == 0 || strcmp(*ret, "false") == 0
               ? EXIT_OK
               : cmd_usage_error("serve", "--rehearse takes true or false");
}

bool serve_options_rehearse(const struct serve_options *o)
{
    return o->rehearse != NULL ? strcmp(o->rehearse, "true") == 0 : o->wall_clock != NULL;
}

static int parse_wait(const char *text, bool *ret)
{
    *ret = text == NULL || strcmp(text, "true") == 0;
    return *ret || strcmp(text, "false") == 0 ? EXIT_OK : cmd_usage_error("serve", "--wait takes true or false");
}

static int take_option(void *ret, int option, const char *value)
{
    struct serve_options *o = ret;

    switch (option) {
    case OPT_WAIT:
        return parse_wait(value, &o->wait);
    case OPT_WALL_CLOCK:
        return parse_wall_clock(value, o);
    case OPT_REHEARSE:
        return parse_rehearse(value, &o->rehearse);
    default:
        return parse_verbosity(value, &o->verbosity);
    }
}

int serve_options_read(int argc, char **argv, struct serve_options *o)
{
    static const struct command_line line = {.page = &page_serve, .take = take_option};
    int code;

    *o = (struct serve_options){.verbosity = -1, .wait = true};
    code = options_read(&line, argc, argv, o);
    if (code == EXIT_OK && o->context != NULL && o->kubeconfig == NULL) {
        return cmd_usage_error("serve", "--context is of a --kubeconfig");
    }
    return code;
}

/* ---- over the configuration ---- */

/* A flag whose text is the value of a key: an address, or text. */
struct flag {
    size_t given;  /* in struct serve_options */
    size_t target; /* in struct config */
    const char *key, *name;
    bool is_address;
};

#define FLAG(name_, given_, key_, target_, is_address_)                                                                \
    {                                                                                                                  \
        offsetof(struct serve_options, given_), offsetof(struct config, target_), (key_), (name_), (is_address_)       \
    }

static const struct flag flags[] = {
    FLAG("--verbs-address", addresses[RUNTIME_VERBS], "serving.verbsAddress", serving.verbs, true),
    FLAG("--ops-address", addresses[RUNTIME_OPS], "serving.opsAddress", serving.ops, true),
    FLAG("--health-address", addresses[RUNTIME_HEALTH], "serving.healthAddress", serving.health, true),
    FLAG("--metrics-address", addresses[RUNTIME_METRICS], "serving.metricsAddress", serving.metrics, true),
    FLAG("--tls-cert-file", cert, "serving.tls.certFile", serving.tls.cert_file, false),
    FLAG("--tls-private-key-file", key, "serving.tls.keyFile", serving.tls.key_file, false),
    FLAG("--client-ca-file", client_ca, "serving.tls.clientCAFile", serving.tls.client_ca_file, false),
};

static int override_value(const struct flag *f, const struct serve_options *o, struct config *c)
{
    void *target = (char *)c + f->target;
    const char *given;
    struct err err;

    memcpy(&given, (const char *)o + f->given, sizeof(given));
    if (given == NULL) {
        return EXIT_OK;
    }
    if (!f->is_address) {
        *(struct str *)target = str_of(given);
    } else if (address_parse(str_of(given), target, &err) != 0) {
        return cmd_usage_error("serve", "%s", err.msg);
    }
    config_set_by_flag(c, f->key, f->name);
    return EXIT_OK;
}

static int override_election(const char *given, struct config *c)
{
    static const char *const words[] = {
        [ELECTION_NONE] = "none", [ELECTION_LEASE] = "lease", [ELECTION_FOLLOW_SCHEDULER] = "follow-scheduler"};
    size_t i = 0;

    while (i < ARRAY_LEN(words) && strcmp(given, words[i]) != 0) {
        i++;
    }
    if (i == ARRAY_LEN(words)) {
        return cmd_usage_error("serve", "--election takes none, lease or follow-scheduler");
    }
    c->election = (enum election_mode)i;
    config_set_by_flag(c, "election", "--election");
    return config_election_problem(c) == NULL ? EXIT_OK : cmd_usage_error("serve", "%s", config_election_problem(c));
}

static void override_signing(const char *given, struct config *c)
{
    const bool off = strcmp(given, "off") == 0;

    c->signing.mode = off ? SIGNING_OFF : SIGNING_ON;
    config_set_by_flag(c, "signing.mode", "--signing-key");
    if (!off) {
        c->signing.private_key = str_of(given);
        config_set_by_flag(c, "signing.privateKey", "--signing-key");
    }
}

static int override_format(const char *given, struct config *c)
{
    const bool json = strcmp(given, "json") == 0;

    if (!json && strcmp(given, "text") != 0) {
        return cmd_usage_error("serve", "--logging-format takes text or json");
    }
    c->logging.format = json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
    config_set_by_flag(c, "logging.format", "--logging-format");
    return EXIT_OK;
}

int serve_options_override(const struct serve_options *o, struct config *c)
{
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (override_value(&flags[i], o, c) != EXIT_OK) {
            return EXIT_USAGE;
        }
    }
    if (o->election != NULL && override_election(o->election, c) != EXIT_OK) {
        return EXIT_USAGE;
    }
    if (o->signing_key != NULL) {
        override_signing(o->signing_key, c);
    }
    if (o->verbosity >= 0) {
        c->logging.verbosity = o->verbosity;
        config_set_by_flag(c, "logging.verbosity", "-v");
    }
    return o->format != NULL ? override_format(o->format, c) : EXIT_OK;
}
