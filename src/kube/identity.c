/* kube/identity.c - which proof to show, and what a 401 changes. */
#include "identity_internal.h"

#include "base/bug.h"
#include "base/clock.h"

#include <stdlib.h>

enum { REJECTED_AGE_MAX_S = 1, HOLD_FIRST_S = 1, HOLD_MAX_S = 30 };

/* ---- files ---- */

static void copy(struct strbuf *to, const struct strbuf *from)
{
    strbuf_add_str(to, strbuf_view(from));
}

/* For what could not be read: what we have, at first what was read when the credentials were
 * loaded. */
static void keep(struct strbuf *to, const struct strbuf *have, const char *loaded)
{
    if (have->n > 0) {
        copy(to, have);
    } else {
        strbuf_add_str(to, str_of(loaded));
    }
}

/* A rejected token whose file cannot be read is not shown again; a literal one beside the file does
 * until the file was read once. */
static void keep_token(struct identity *id, struct material *fresh, const struct err *why)
{
    bool has_old = id->material.token.n > 0 && !id->proof_rejected;
    bool has_literal = id->material.token.n == 0 && id->creds->token_file != NULL && id->creds->token != NULL &&
                       material_is_token(str_of(id->creds->token));
    id->token_missing = !has_old && !has_literal;
    if (id->token_missing) {
        id->why = *why;
    } else {
        keep(&fresh->token, &id->material.token, id->creds->token);
    }
}

static void tell_unreadable(struct identity *id, unsigned failed, const struct err why[MATERIAL_FILE__MAX])
{
    id->stats.unreadable_n += failed;
    for (size_t i = 0; i < MATERIAL_FILE__MAX && !id->unreadable_told; i++) {
        if (why[i].code != ERR_OK) {
            LOG_WARNING(id->log, "Cannot read credentials again; the old ones stay in use",
                        LOG_CSTR("err", why[i].msg));
        }
    }
    id->unreadable_told = failed > 0;
}

static void read_files(struct identity *id, int64_t now_ns)
{
    struct err why[MATERIAL_FILE__MAX];
    struct material fresh;
    material_init(&fresh);
    unsigned failed = material_read(id->creds, &fresh, why);
    tell_unreadable(id, failed, why);
    id->token_missing = false;
    if (why[MATERIAL_TOKEN].code != ERR_OK) {
        keep_token(id, &fresh, &why[MATERIAL_TOKEN]);
    }
    if (why[MATERIAL_CA].code != ERR_OK) {
        keep(&fresh.ca, &id->material.ca, id->creds->ca_pem);
    }
    if (why[MATERIAL_PAIR].code != ERR_OK) {
        keep(&fresh.cert, &id->material.cert, id->creds->client_cert_pem);
        keep(&fresh.key, &id->material.key, id->creds->client_key_pem);
    }
    if (id->creds->exec != NULL) { /* these come from the plugin */
        copy(&fresh.token, &id->material.token);
        copy(&fresh.cert, &id->material.cert);
        copy(&fresh.key, &id->material.key);
    }
    id->looked = true;
    id->doubtful = false;
    id->read_ns = now_ns;
    if (id->token_missing) {
        material_fini(&fresh);
    } else if (identity_adopt(id, &fresh) && id->creds->exec == NULL) {
        id->rejected_n = 0;
    }
}

static bool has_files(const struct credentials *c)
{
    return c->token_file != NULL || c->ca_file != NULL || c->client_cert_file != NULL || c->client_key_file != NULL;
}

static void refresh(struct identity *id, int64_t now_ns)
{
    int64_t age_ns = now_ns - id->read_ns;
    int64_t max_s = id->rejected_n > 0 ? REJECTED_AGE_MAX_S : IDENTITY_AGE_MAX_S;
    if (!id->looked || (has_files(id->creds) && (id->doubtful || id->token_missing || age_ns >= max_s * NS_PER_S))) {
        read_files(id, now_ns);
    }
}

bool identity_adopt(struct identity *id, struct material *m)
{
    const struct proof *fresh;
    struct err err;
    if (id->proof != NULL && material_eq(&id->material, m)) {
        material_fini(m);
        return false;
    }
    if (proof_new(id->generation + 1, m, id->proof, &fresh, &err) != 0) {
        LOG_ERROR(id->log, "Cannot use new credentials", LOG_CSTR("err", err.msg));
        material_fini(m);
        return false;
    }
    if (id->proof != NULL && (id->creds->exec == NULL || id->plugin.answered)) {
        id->stats.renewed_n++;
        LOG_INFO(id->log, "Credentials were replaced", LOG_I64("generation", (int64_t)fresh->generation));
    }
    proof_unref(id->proof);
    material_fini(&id->material);
    id->material = *m;
    id->proof = fresh;
    id->generation++;
    id->proof_rejected = false;
    return true;
}

/* ---- what others call ---- */

static int plugin_not_ready(struct identity *id, struct err *reterr)
{
    if (plugin_is_at_work(id)) {
        return err_set(reterr, ERR_UNAVAILABLE, "waiting for the exec plugin");
    }
    return err_set(reterr, ERR_DENIED, "%s",
                   id->plugin.why.code != ERR_OK ? id->plugin.why.msg : "the exec plugin was run a moment ago");
}

/* 0, or why nothing is to be sent now. */
static int may_send(struct identity *id, int64_t now_ns, struct err *reterr)
{
    if (id->token_missing) {
        /* that we may not read a file is not the API server's word */
        return err_set(reterr, id->why.code == ERR_DENIED ? ERR_INTERNAL : id->why.code, "%s", id->why.msg);
    }
    if (id->creds->exec != NULL) {
        bool has_answer = plugin_has_answer(id);
        if (!has_answer) {
            plugin_want(id);
        }
        if (!has_answer || (id->proof_rejected && plugin_is_at_work(id))) {
            return plugin_not_ready(id, reterr);
        }
    }
    if (id->rejected_n >= 2 && now_ns < id->hold_ns) {
        return err_set(reterr, ERR_DENIED, "the API server rejects our credentials (401); next try in %lld ms",
                       (long long)((id->hold_ns - now_ns) / NS_PER_MS));
    }
    if (id->proof == NULL) {
        return err_set(reterr, ERR_INTERNAL, "the credentials cannot be held in memory");
    }
    return 0;
}

int identity_get(struct identity *id, const struct proof **ret, struct err *reterr)
{
    int64_t now_ns = clock_mono_ns(id->clock);
    mutex_lock(&id->lock);
    refresh(id, now_ns);
    int rc = may_send(id, now_ns, reterr);
    if (rc == 0) {
        if (id->rejected_n >= 2) { /* one tries, the others wait for what comes of it */
            id->hold_ns = now_ns + HOLD_FIRST_S * NS_PER_S;
        }
        *ret = proof_ref(id->proof);
    }
    mutex_unlock(&id->lock);
    return rc;
}

static void rejected(struct identity *id, int64_t now_ns)
{
    unsigned doublings = id->rejected_n >= 1 ? id->rejected_n - 1 : 0;
    int64_t hold_s = doublings < 5 ? HOLD_FIRST_S << doublings : HOLD_MAX_S;
    id->rejected_n++;
    id->stats.rejected_n++;
    id->rejected_ns = now_ns;
    id->proof_rejected = true;
    id->doubtful = true;
    if (id->rejected_n >= 2) {
        id->hold_ns = now_ns + (hold_s < HOLD_MAX_S ? hold_s : HOLD_MAX_S) * NS_PER_S;
        LOG_ERROR(id->log,
                  "The API server rejects the credentials (401); fgpu asks again after a pause. Check the token or "
                  "certificate and its rights",
                  LOG_I64("inARow", id->rejected_n), LOG_I64("pauseSeconds", hold_s));
    } else {
        LOG_WARNING(id->log, "The API server rejected the credentials (401); trying once more");
    }
    if (id->creds->exec != NULL) {
        plugin_want(id);
    }
}

static void accepted(struct identity *id)
{
    if (id->rejected_n > 0) {
        LOG_INFO(id->log, "The API server accepts the credentials again");
    }
    id->rejected_n = 0;
    id->proof_rejected = false;
}

void identity_answered(struct identity *id, const struct proof *p, int64_t begun_ns, int http_status)
{
    mutex_lock(&id->lock);
    bool is_news = id->rejected_n == 0 || begun_ns > id->rejected_ns;
    if (http_status == 0) {
        id->doubtful = true;
    } else if (p->generation == id->generation && is_news) {
        if (http_status == 401) {
            rejected(id, clock_mono_ns(id->clock));
        } else {
            accepted(id);
        }
    }
    mutex_unlock(&id->lock);
}

bool identity_has_more(struct identity *id, const struct proof *p)
{
    mutex_lock(&id->lock);
    refresh(id, clock_mono_ns(id->clock));
    bool replaced = p->generation != id->generation && id->rejected_n < 2;
    bool coming = id->creds->exec != NULL && id->rejected_n == 1 && plugin_is_at_work(id);
    mutex_unlock(&id->lock);
    return replaced || coming;
}

static const char *trouble_of(const struct identity *id)
{
    if (id->token_missing) {
        return "the token of fgpu cannot be read";
    }
    if (id->creds->exec != NULL && id->plugin.failed_n > 0 && !plugin_has_answer(id)) {
        return "the exec plugin gives no credentials";
    }
    return id->rejected_n >= 2 ? "the API server rejects the credentials of fgpu (401)" : NULL;
}

void identity_stats(struct identity *id, struct identity_stats *ret)
{
    mutex_lock(&id->lock);
    id->stats.trouble = trouble_of(id);
    *ret = id->stats;
    mutex_unlock(&id->lock);
}

int identity_new(const struct credentials *creds, const struct identity_options *options, struct identity **ret,
                 struct err *reterr)
{
    struct identity *id = xcalloc(1, sizeof(*id));
    id->creds = creds;
    id->clock = options->clock != NULL ? options->clock : clock_system();
    id->log = options->log;
    material_init(&id->material);
    mutex_init(&id->lock, "identity");
    int rc = creds->exec != NULL ? plugin_start(id, reterr) : 0;
    if (rc != 0) {
        identity_free(id);
        return rc;
    }
    *ret = id;
    return 0;
}

void identity_free(struct identity *id)
{
    if (id != NULL) {
        plugin_stop(id);
        proof_unref(id->proof);
        material_fini(&id->material);
        mutex_destroy(&id->lock);
        free(id);
    }
}
