/* A configuration in memory: its defaults, how long it lives, where its values are from. */
#include "config/load.h"

#include "base/bug.h"
#include "config/schema_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define CONFIG_ARENA_BYTES_MAX (16 * 1024 * 1024)

struct config *config_defaults(void)
{
    /* the user name in kube-scheduler's own certificates */
    static const struct str allowed_names[] = {{"system:kube-scheduler", 21}};
    struct config *c = xcalloc(1, sizeof(*c));

    arena_init(&c->arena, CONFIG_ARENA_BYTES_MAX);
    c->policy = *policy_defaults();
    c->serving = (struct config_serving){
        .verbs = {.host = "127.0.0.1", .port = 9443},
        .ops = {.host = "127.0.0.1", .port = 9442},
        .health = {.host = "127.0.0.1", .port = 9441},
        .tls = {.cert_file = STR(""),
                .key_file = STR(""),
                .client_ca_file = STR(""),
                .allowed_names = allowed_names,
                .allowed_name_n = ARRAY_LEN(allowed_names)},
    };
    c->election = ELECTION_NONE;
    c->lease = (struct config_lease){.object = STR(CONFIG_OWN_LEASE),
                                     .scheduler_host = STR(""),
                                     .duration_ms = 5000,
                                     .renew_deadline_ms = 3000,
                                     .retry_ms = 1000};
    c->policy.consistency = CONSISTENCY_DEFAULT;
    c->client = (struct config_client){
        .bind_deadline_ms = 5000,
        .hold_off_ms = 6000,
        .binds_in_flight_max = 1000,
        .stale_after_ms = 20000,
        .run_object = STR("fgpu-system/fgpu-run"),
        .intent_objects = STR("fgpu-system/fgpu-intents"),
        .wake_object = STR("fgpu-system/fgpu-wake"),
    };
    c->events = (struct config_events){.pod_waits_after_ms = 30000};
    c->audit = (struct config_audit){.interval_ms = 300000, .settle_ms = 5000};
    c->recorder = (struct config_recorder){.bytes = INT64_C(8) << 20};
    c->signing = (struct config_signing){.mode = SIGNING_ON, .private_key = STR(""), .accept_unsigned_before = STR("")};
    c->logging = (struct config_logging){.format = LOG_FORMAT_TEXT, .verbosity = 2};
    c->limits = (struct config_limits){
        .body_bytes = INT64_C(16) << 20,
        .bytes_in_flight = INT64_C(64) << 20,
        .connections = 2048,
        .connections_per_address = 1536,
    };
    c->window_notice_ms = 600000;
    (void)snprintf(c->hash, sizeof(c->hash), "built-in");
    c->generation = 1;
    atomic_init(&c->ref_n, 1);
    c->origins = ARENA_ARRAY(&c->arena, schema_key_count(), struct config_origin);
    BUG_ON(c->origins == NULL);
    return c;
}

/* The count is the one thing of a shared configuration that changes. */
static atomic_uint *count_of(const struct config *c)
{
    return (atomic_uint *)(uintptr_t)&c->ref_n;
}

const struct config *config_ref(const struct config *c)
{
    unsigned before = atomic_fetch_add_explicit(count_of(c), 1, memory_order_relaxed);

    BUG_ON(before == 0);
    return c;
}

void config_free(const struct config *c)
{
    if (c == NULL || atomic_fetch_sub_explicit(count_of(c), 1, memory_order_acq_rel) > 1) {
        return;
    }
    struct config *last = (struct config *)(uintptr_t)c;
    config_free(last->file_values);
    arena_fini(&last->arena);
    free(last);
}

static struct config_origin *find_origin(const struct config *c, struct str key)
{
    for (size_t i = 0; i < c->origin_n; i++) {
        if (str_eq(c->origins[i].key, key)) {
            return &c->origins[i];
        }
    }
    return NULL;
}

void config_set_origin(struct config *c, const struct config_origin *from)
{
    struct config_origin *o = find_origin(c, from->key);

    if (o == NULL) {
        BUG_ON(c->origin_n == schema_key_count());
        o = &c->origins[c->origin_n++];
    }
    *o = *from;
}

void config_set_by_flag(struct config *c, const char *key, const char *flag)
{
    config_set_origin(c, &(struct config_origin){.key = str_of(key), .flag = flag});
}

void config_origin_text(const struct config *c, struct str key, struct strbuf *out)
{
    const struct config_origin *o = find_origin(c, key);

    if (o == NULL) {
        strbuf_add_cstr(out, "default");
    } else if (o->flag != NULL) {
        strbuf_addf(out, "flag %s", o->flag);
    } else {
        strbuf_addf(out, "%.*s:%u:%u", STR_ARG(c->file), o->line, o->column);
    }
}
