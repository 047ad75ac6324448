#include "demo/apiserver/fault_internal.h"

#include "base/bug.h"
#include "base/json_read.h"
#include "base/json_write.h"

#include <stdlib.h>
#include <string.h>

static const char *const action_names[FAULT_ACTION__MAX] = {
    [FAULT_PASS] = "pass",
    [FAULT_FAIL] = "fail",
    [FAULT_FAIL_AFTER] = "fail-after",
    [FAULT_CLOSE_BEFORE] = "close-before",
    [FAULT_CLOSE_AFTER] = "close-after",
    [FAULT_SWALLOW] = "swallow",
    [FAULT_COMMIT_LATE] = "commit-late",
};

static const char *const then_names[FAULT_THEN__MAX] = {
    [FAULT_GO_ON] = "go-on",
    [FAULT_END] = "end",
    [FAULT_CUT] = "cut",
    [FAULT_STALL] = "stall",
};

static const char *const watch_list_names[APISERVER_WATCH_LIST__MAX] = {
    [APISERVER_WATCH_LIST_OFFERED] = "offered",
    [APISERVER_WATCH_LIST_REFUSED] = "refused",
    [APISERVER_WATCH_LIST_IGNORED] = "ignored",
};

bool fault_flow_is_special(const struct fault_flow *f)
{
    return f->inject[0] || f->split_bytes > 0 || f->then != FAULT_GO_ON;
}

void faults_init(struct faults *f)
{
    memset(f, 0, sizeof(*f));
    mutex_init(&f->lock, "demo faults");
}

void faults_fini(struct faults *f)
{
    mutex_destroy(&f->lock);
}

int faults_add(struct faults *f, const struct fault_rule *rule, struct err *reterr)
{
    bool fails = rule->action == FAULT_FAIL || rule->action == FAULT_FAIL_AFTER ||
                 (rule->action == FAULT_COMMIT_LATE && rule->status != 0);
    if (fails && (rule->status < 400 || rule->status > 599)) {
        return err_set(reterr, ERR_INVALID, "fault rule: status %d is not within 400..599", rule->status);
    }
    if (rule->delay_ms < 0 || rule->delay_ms > 60000) {
        return err_set(reterr, ERR_INVALID, "fault rule: delayMs %d is not within 0..60000", rule->delay_ms);
    }
    mutex_lock(&f->lock);
    bool full = f->n == FAULT_RULES_MAX;
    if (!full) {
        f->rules[f->n] = *rule;
        f->hits[f->n] = 0;
        f->n++;
    }
    mutex_unlock(&f->lock);
    return full ? err_set(reterr, ERR_LIMIT, "more than %d fault rules; clear them first", FAULT_RULES_MAX) : 0;
}

void faults_clear(struct faults *f)
{
    mutex_lock(&f->lock);
    f->n = 0;
    mutex_unlock(&f->lock);
}

bool faults_any(struct faults *f)
{
    mutex_lock(&f->lock);
    bool any = f->n > 0;
    mutex_unlock(&f->lock);
    return any;
}

/* `what` is the method of a request or, of a rule that swallows, the type of an event. */
static bool matches(const struct fault_rule *rule, bool swallow, struct str what, struct str path, struct str query)
{
    const char *wanted = swallow ? rule->event : rule->method;
    return (rule->action == FAULT_SWALLOW) == swallow && (!wanted[0] || str_eq_cstr(what, wanted)) &&
           (!rule->path[0] || str_match_glob(str_of(rule->path), path)) &&
           (!rule->query[0] || str_match_glob(str_of(rule->query), query));
}

static bool take_fault(struct faults *f, bool swallow, struct str what, struct str path, struct str query,
                       struct fault_rule *ret)
{
    bool hit = false;
    mutex_lock(&f->lock);
    for (size_t i = 0; i < f->n && !hit; i++) {
        struct fault_rule *rule = &f->rules[i];
        if (rule->times == 0 || !matches(rule, swallow, what, path, query)) {
            continue;
        }
        if (rule->skip > 0) {
            rule->skip--;
            continue;
        }
        if (rule->times > 0) {
            rule->times--;
        }
        f->hits[i]++;
        *ret = *rule;
        hit = true;
    }
    mutex_unlock(&f->lock);
    return hit;
}

bool faults_take(struct faults *f, struct str method, struct str path, struct str query, struct fault_rule *ret)
{
    return take_fault(f, false, method, path, query, ret);
}

bool faults_swallow(struct faults *f, const char *event, struct str path)
{
    struct fault_rule rule;
    return take_fault(f, true, str_of(event), path, STR_NULL, &rule);
}

void faults_write(struct faults *f, const struct fault_counts *counts, struct strbuf *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_i64(&w, "delayed", counts->delayed);
    json_write_kv_i64(&w, "held", counts->held);
    json_write_kv_i64(&w, "landed", (int64_t)counts->landed);
    json_write_key(&w, "rules");
    json_write_array_begin(&w);
    mutex_lock(&f->lock);
    for (size_t i = 0; i < f->n; i++) {
        const struct fault_rule *rule = &f->rules[i];
        json_write_object_begin(&w);
        json_write_kv_cstr(&w, "method", rule->method);
        json_write_kv_cstr(&w, "event", rule->event);
        json_write_kv_cstr(&w, "path", rule->path);
        json_write_kv_cstr(&w, "query", rule->query);
        json_write_kv_i64(&w, "times", rule->times);
        json_write_kv_i64(&w, "skip", rule->skip);
        json_write_kv_cstr(&w, "action", action_names[rule->action]);
        json_write_kv_i64(&w, "status", rule->status);
        json_write_kv_i64(&w, "retryAfter", rule->retry_after_s);
        json_write_kv_i64(&w, "delayMs", rule->delay_ms);
        json_write_kv_cstr(&w, "reason", rule->reason);
        json_write_kv_cstr(&w, "message", rule->message);
        json_write_kv_cstr(&w, "inject", rule->flow.inject);
        json_write_kv_i64(&w, "splitBytes", rule->flow.split_bytes);
        json_write_kv_i64(&w, "afterBytes", rule->flow.after_bytes);
        json_write_kv_cstr(&w, "then", then_names[rule->flow.then]);
        json_write_kv_i64(&w, "hits", (int64_t)f->hits[i]);
        json_write_object_end(&w);
    }
    mutex_unlock(&f->lock);
    json_write_array_end(&w);
    json_write_object_end(&w);
}

static void read_text(struct json_reader *r, char *buf, size_t size)
{
    struct str s;
    if (!json_string(r, &s)) {
        return;
    }
    if (s.n >= size) {
        json_fail(r, ERR_LIMIT, "text too long");
        return;
    }
    memcpy(buf, s.p, s.n);
    buf[s.n] = '\0';
}

static void read_i32(struct json_reader *r, int32_t *ret)
{
    int64_t n;
    if (json_i64(r, &n)) {
        if (n < INT32_MIN || n > INT32_MAX) {
            json_fail(r, ERR_INVALID, "number out of range");
        } else {
            *ret = (int32_t)n;
        }
    }
}

static void read_u32(struct json_reader *r, uint32_t *ret)
{
    int64_t n;
    if (json_i64(r, &n)) {
        if (n < 0 || n > UINT32_MAX) {
            json_fail(r, ERR_INVALID, "number out of range");
        } else {
            *ret = (uint32_t)n;
        }
    }
}

/* The index of the word that comes, or `n` after a failure that says `known`. */
static size_t read_word(struct json_reader *r, const char *const *names, size_t n, const char *known)
{
    struct str s;
    if (!json_string(r, &s)) {
        return n;
    }
    size_t i = 0;
    while (i < n && !str_eq_cstr(s, names[i])) {
        i++;
    }
    if (i == n) {
        json_fail(r, ERR_INVALID, known);
    }
    return i;
}

static void read_action(struct json_reader *r, enum fault_action *ret)
{
    *ret = (enum fault_action)read_word(
        r, action_names, FAULT_ACTION__MAX,
        "action is not pass, fail, fail-after, close-before, close-after, swallow or commit-late");
}

/* True when `key` was one of the flow's and is read. */
static bool read_flow(struct json_reader *r, struct str key, struct fault_flow *flow)
{
    if (str_eq(key, STR("inject"))) {
        read_text(r, flow->inject, sizeof(flow->inject));
    } else if (str_eq(key, STR("splitBytes"))) {
        read_u32(r, &flow->split_bytes);
    } else if (str_eq(key, STR("afterBytes"))) {
        read_u32(r, &flow->after_bytes);
    } else if (str_eq(key, STR("then"))) {
        flow->then = (enum fault_then)read_word(r, then_names, FAULT_THEN__MAX, "then is not go-on, end, cut or stall");
    } else {
        return false;
    }
    return true;
}

static void read_rule(struct json_reader *r, struct fault_rule *rule)
{
    struct str key;
    *rule = (struct fault_rule){.times = 1, .retry_after_s = -1};
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("method"))) {
            read_text(r, rule->method, sizeof(rule->method));
        } else if (str_eq(key, STR("event"))) {
            read_text(r, rule->event, sizeof(rule->event));
        } else if (str_eq(key, STR("path"))) {
            read_text(r, rule->path, sizeof(rule->path));
        } else if (str_eq(key, STR("query"))) {
            read_text(r, rule->query, sizeof(rule->query));
        } else if (str_eq(key, STR("times"))) {
            json_i64(r, &rule->times);
        } else if (str_eq(key, STR("skip"))) {
            json_i64(r, &rule->skip);
        } else if (str_eq(key, STR("action"))) {
            read_action(r, &rule->action);
        } else if (str_eq(key, STR("status"))) {
            read_i32(r, &rule->status);
        } else if (str_eq(key, STR("retryAfter"))) {
            read_i32(r, &rule->retry_after_s);
        } else if (str_eq(key, STR("delayMs"))) {
            read_i32(r, &rule->delay_ms);
        } else if (str_eq(key, STR("reason"))) {
            read_text(r, rule->reason, sizeof(rule->reason));
        } else if (str_eq(key, STR("message"))) {
            read_text(r, rule->message, sizeof(rule->message));
        } else if (!read_flow(r, key, &rule->flow)) {
            json_fail(r, ERR_INVALID, "unknown member of a fault rule");
        }
    }
}

static void read_command(struct json_reader *r, struct fault_command *c)
{
    struct str key;
    json_object_begin(r);
    while (json_object_next(r, &key)) {
        if (str_eq(key, STR("clear"))) {
            json_bool(r, &c->clear);
        } else if (str_eq(key, STR("dropWatches"))) {
            json_bool(r, &c->drop_watches);
        } else if (str_eq(key, STR("compact"))) {
            json_bool(r, &c->compact);
        } else if (str_eq(key, STR("commit"))) {
            json_bool(r, &c->commit);
        } else if (str_eq(key, STR("minor"))) {
            read_i32(r, &c->minor);
        } else if (str_eq(key, STR("watchList"))) {
            c->sets_watch_list = true;
            c->watch_list = (enum apiserver_watch_list)read_word(r, watch_list_names, APISERVER_WATCH_LIST__MAX,
                                                                 "watchList is not offered, refused or ignored");
        } else if (str_eq(key, STR("rules"))) {
            json_array_begin(r);
            while (json_array_next(r)) {
                if (c->rule_n == FAULT_RULES_MAX) {
                    json_fail(r, ERR_LIMIT, "too many fault rules");
                    break;
                }
                read_rule(r, &c->rules[c->rule_n++]);
            }
        } else {
            json_fail(r, ERR_INVALID,
                      "unknown member; known are clear, dropWatches, compact, commit, watchList, minor, rules");
        }
    }
}

int fault_command_parse(struct str text, struct fault_command *ret, struct err *reterr)
{
    struct arena arena;
    struct json_reader *r = xmalloc(sizeof(*r));
    struct fault_command *c = xcalloc(1, sizeof(*c));
    arena_init(&arena, 65536);
    json_reader_init(r, text, &arena);
    read_command(r, c);
    int rc = json_read_end(r, reterr);
    if (rc == 0) {
        *ret = *c;
    }
    arena_fini(&arena);
    free(c);
    free(r);
    return rc;
}
