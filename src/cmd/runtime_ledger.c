#include "cmd/runtime_internal.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/rng.h"
#include "cmd/telemetry.h"
#include "config/describe.h"
#include "extender/incident_words.h"
#include "extender/notices.h"
#include "extender/store_trace.h"
#include "extender/unreadable.h"
#include "extender/warn_limit.h"

/* ---- what the ledger tells ---- */

static void overcommit_changed(void *ctx, const struct ledger_overcommit *o)
{
    const struct runtime *s = ctx;

    notice_overcommit(s->events, o);
    if (o->begins) {
        LOG_WARNING(s->options.log, "A GPU is over-committed; it takes no new pods until that is over",
                    LOG_STR("node", o->node_name), LOG_STR("uuid", o->uuid), LOG_I64("index", o->index));
    } else {
        LOG_INFO(s->options.log, "A GPU is not over-committed any more", LOG_STR("node", o->node_name),
                 LOG_STR("uuid", o->uuid), LOG_I64("index", o->index));
    }
}

static void incident_told(void *ctx, const struct incident *in)
{
    const struct runtime *s = ctx;
    char sentence[INCIDENT_SENTENCE_MAX];

    notice_incident(s->events, in);
    (void)incident_sentence(in, sentence, sizeof(sentence));
    if (in->ends) {
        LOG_INFO(s->options.log, "An incident is over", LOG_CSTR("what", sentence));
    } else {
        LOG_ERROR(s->options.log, "INCIDENT", LOG_CSTR("kind", incident_kind_name(in->kind)),
                  LOG_CSTR("what", sentence), LOG_CSTR("remedy", incident_remedy(in->kind)));
    }
}

void runtime_ledger_is_broken(struct runtime *s, const char *invariant)
{
    metric_inc(METRIC(s->telemetry->metrics, FGPU_INVARIANT_VIOLATIONS_TOTAL));
    store_close(s->store, "the ledger is broken");
    notice_self(s->events, EVENT_LEDGER_BROKEN, invariant);
}

const char *runtime_check(struct runtime *s)
{
    const char *broken = store_check(s->store);

    if (broken != NULL) {
        runtime_ledger_is_broken(s, broken);
    }
    return broken;
}

bool runtime_is_ready(struct runtime *s)
{
    return !atomic_load(&s->stopping) && store_is_ready(s->store);
}

bool runtime_is_listed(struct runtime *s)
{
    return store_is_synced(s->store);
}

/* ---- life ---- */

void runtime_set_tenants(struct runtime *s, const struct policy *p)
{
    struct ledger_op op = {.kind = LEDGER_TENANTS, .tenants = {p->tenants, p->tenant_n}};

    BUG_ON(store_apply(s->store, &op, NULL) != 0);
}

void runtime_record_configuration(struct runtime *s, const struct config *c)
{
    struct json_writer w;
    struct strbuf text;

    strbuf_init(&text, CONFIG_BYTES_MAX * 4);
    json_writer_init(&w, &text);
    config_describe(c, &w);
    store_record_configuration(s->store, c->generation, c->hash, strbuf_view(&text));
    strbuf_fini(&text);
}

int runtime_start_ledger(struct runtime *s, struct err *reterr)
{
    const struct policy *p = &s->options.config->policy;
    struct ledger_limits limits;
    struct hash_key key;
    int rc = rng_os_bytes(&key, sizeof(key), reterr);

    if (rc != 0) {
        return rc;
    }
    limits = ledger_limits_of(p, key);
    s->store = store_new(&limits, s->options.clock);
    if (s->options.config->recorder.bytes > 0) {
        const size_t bytes = (size_t)s->options.config->recorder.bytes;

        store_record(s->store, bytes > RECORDER_BYTES_MIN ? bytes : RECORDER_BYTES_MIN);
        runtime_record_configuration(s, s->options.config);
    }
    s->contact = contact_new(s->options.clock, s->options.log, s->options.config->client.stale_after_ms);
    store_follow_contact(s->store, s->contact);
    s->warnings = warn_limit_new(s->options.clock);
    s->unreadable = unreadable_new();
    runtime_set_tenants(s, p);
    store_watch_overcommit(s->store, overcommit_changed, s);
    store_watch_incidents(s->store, incident_told, s);
    store_hold_off(s->store, INT64_MAX); /* until runtime_run.c knows */
    return 0;
}

void runtime_free_ledger(struct runtime *s)
{
    store_free(s->store);
    contact_free(s->contact);
    warn_limit_free(s->warnings);
    unreadable_free(s->unreadable);
}
