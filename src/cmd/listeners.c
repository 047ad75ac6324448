#include "cmd/listeners.h"

#include "base/bug.h"

#include <sys/resource.h>

#define VERBS_THREADS 2
#define SMALL_LISTENER_CONNECTIONS 64
/* The small listeners, calls to the API server, log, epoll and what the C library needs. */
#define OTHER_DESCRIPTORS 512

/* Each connection takes a descriptor, and what a shell or a container runtime allows by default is less than
 * the connections we promise. */
static void allow_descriptors(const struct runtime_options *o)
{
    const rlim_t wanted = (rlim_t)o->config->limits.connections + OTHER_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return;
    }
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
        LOG_WARNING(o->log, "Fewer descriptors than limits.connections needs; raise the limit of the process",
                    LOG_I64("allowed", (int64_t)limit.rlim_cur), LOG_I64("wanted", (int64_t)wanted));
    }
}

static int start_tls(struct listeners *s, const struct runtime_options *o, struct err *reterr)
{
    const struct config_serving *c = &o->config->serving;
    const struct httpd_tls_config tls = {.cert_file = c->tls.cert_file.p,
                                         .key_file = c->tls.key_file.p,
                                         .client_ca_file = c->tls.client_ca_file.p,
                                         .client_names = c->tls.allowed_names,
                                         .client_name_n = c->tls.allowed_name_n,
                                         .log = o->log};
    const bool own = config_serving_is_self_signed(c, &c->metrics);
    const bool is_used = config_serving_is_tls(c, &c->verbs) || config_serving_is_tls(c, &c->ops) ||
                         (config_serving_is_tls(c, &c->metrics) && !own);
    int rc = is_used ? httpd_tls_new(&tls, &s->tls, reterr) : 0;

    if (rc == 0 && own) {
        rc = httpd_tls_self_signed(clock_wall_ms(o->clock), &s->self_signed, reterr);
    }
    return rc;
}

/* `guarded`: only who is on this machine, or has shown who he is, may call. */
static struct httpd_listener_config listener(const struct listeners *s, const struct runtime_options *o,
                                             const char *name, const struct address *address,
                                             const struct listeners_routes *routes, bool guarded)
{
    const struct config_serving *c = &o->config->serving;
    const bool is_tls = guarded && config_serving_is_tls(c, address);
    const bool own = config_serving_is_self_signed(c, address);

    /* config_serving_problem has seen to it; this is the last door */
    BUG_ON(guarded && !is_tls && !address_is_loopback(address));
    return (struct httpd_listener_config){
        .name = name,
        .routes = routes->routes,
        .route_n = routes->n,
        .connection_max = SMALL_LISTENER_CONNECTIONS,
        .connection_max_per_address = SMALL_LISTENER_CONNECTIONS / 2,
        .tls = !is_tls ? NULL
               : own   ? s->self_signed
                       : s->tls,
    };
}

const char *serving_listener_name(enum runtime_listener l)
{
    static const char *const names[RUNTIME_LISTENER__MAX] = {"verbs", "ops", "health", "metrics"};

    return names[l];
}

/* What a browser on this machine could be led to. */
static void read_by_people(struct httpd_listener_config *l, const struct config_serving *c, const struct address *a)
{
    /* Over TLS a page with another name gets no certificate that its browser would take. */
    l->check_host = l->tls == NULL;
    l->hosts = c->ops_hosts;
    l->host_n = c->ops_host_n;
    l->client_cert_optional = config_serving_needs_token(c, a);
}

static int start_http(struct listeners *s, const struct runtime_options *o,
                      const struct listeners_routes routes[RUNTIME_LISTENER__MAX], struct telemetry *telemetry,
                      struct err *reterr)
{
    const struct config *c = o->config;
    const struct address *addresses[RUNTIME_LISTENER__MAX] = {&c->serving.verbs, &c->serving.ops, &c->serving.health,
                                                              &c->serving.metrics};
    const size_t listener_n = address_is_none(&c->serving.metrics) ? RUNTIME_METRICS : RUNTIME_LISTENER__MAX;
    struct httpd_listener_config listeners[RUNTIME_LISTENER__MAX];
    char texts[RUNTIME_LISTENER__MAX][ADDRESS_TEXT_MAX];
    const struct httpd_config http = {
        .listeners = listeners,
        .listener_n = listener_n,
        .body_max_bytes = (size_t)c->limits.body_bytes,
        .inflight_max_bytes = (size_t)c->limits.bytes_in_flight,
        .clock = o->clock,
        .log = o->log,
        .observe = telemetry_http,
        .observe_ctx = telemetry,
    };
    int rc;

    for (size_t i = 0; i < listener_n; i++) {
        const char *name = serving_listener_name((enum runtime_listener)i);

        listeners[i] = listener(s, o, name, addresses[i], &routes[i], i != RUNTIME_HEALTH);
        listeners[i].address = address_text(addresses[i], texts[i]);
    }
    read_by_people(&listeners[RUNTIME_OPS], &c->serving, addresses[RUNTIME_OPS]);
    read_by_people(&listeners[RUNTIME_METRICS], &c->serving, addresses[RUNTIME_METRICS]);
    listeners[RUNTIME_VERBS].thread_n = VERBS_THREADS;
    listeners[RUNTIME_VERBS].connection_max = (unsigned)c->limits.connections;
    listeners[RUNTIME_VERBS].connection_max_per_address = (unsigned)c->limits.connections_per_address;
    rc = httpd_server_new(&http, &s->http, reterr);
    telemetry->http = s->http;
    telemetry->listener_n = listener_n;
    return rc == 0 ? httpd_server_start(s->http, reterr) : rc;
}

int listeners_start(struct listeners *s, const struct runtime_options *o,
                    const struct listeners_routes routes[RUNTIME_LISTENER__MAX], struct telemetry *telemetry,
                    struct err *reterr)
{
    int rc = start_tls(s, o, reterr);

    if (rc != 0) {
        return rc;
    }
    telemetry->tls = s->tls != NULL ? s->tls : s->self_signed;
    allow_descriptors(o);
    return start_http(s, o, routes, telemetry, reterr);
}
