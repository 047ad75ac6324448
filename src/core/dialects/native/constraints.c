/* Constraints of the native dialect: which devices a pod accepts and with whom it shares them. */
#include "core/dialects/native/native_internal.h"
#include "model/qos.h"

#include <string.h>

#define PATTERN_BYTES_MAX 128
#define LABEL_KEY_BYTES_MAX (253 + 1 + 63) /* prefix/name, as the API server allows */
#define LABEL_VALUE_BYTES_MAX 63

/* What the annotations say, on the stack until all of it is known to be good. */
struct constraints {
    bool says_qos;
    enum qos qos;
    size_t model_n;
    struct device_pattern models[DEMAND_PATTERNS_MAX];
    size_t uuid_n;
    struct device_pattern uuids[DEMAND_PATTERNS_MAX];
    size_t isolate_n;
    struct kv isolate[DEMAND_ISOLATE_MAX];
};

static bool read_patterns(struct str list, bool wildcards, struct device_pattern *ret, size_t *ret_n)
{
    struct str part;

    while (str_split(&list, ',', &part)) {
        struct device_pattern item = {.text = str_trim(part)};
        if (str_starts(item.text, STR("!"))) {
            item.exclude = true;
            item.text = str_trim(str_drop(item.text, 1));
        }
        bool has_wildcard = item.text.n > 0 && memchr(item.text.p, '*', item.text.n) != NULL;
        if (item.text.n == 0 || item.text.n > PATTERN_BYTES_MAX || (has_wildcard && !wildcards) ||
            *ret_n == DEMAND_PATTERNS_MAX) {
            return false;
        }
        ret[(*ret_n)++] = item;
    }
    return *ret_n > 0; /* an annotation without text has no parts */
}

static bool is_label_text(struct str s, const char *punctuation)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!alnum && (c == '\0' || strchr(punctuation, c) == NULL)) {
            return false;
        }
    }
    return true;
}

/* "key=value" or "key==value". */
static bool read_pair(struct str text, struct kv *ret)
{
    const char *sign = text.n > 0 ? memchr(text.p, '=', text.n) : NULL;
    if (sign == NULL) {
        return false;
    }
    struct str key = str_trim((struct str){text.p, (size_t)(sign - text.p)});
    struct str value = str_drop(text, (size_t)(sign - text.p) + 1);
    if (str_starts(value, STR("="))) {
        value = str_drop(value, 1);
    }
    value = str_trim(value);
    if (key.n == 0 || key.n > LABEL_KEY_BYTES_MAX || !is_label_text(key, "-_./") || value.n > LABEL_VALUE_BYTES_MAX ||
        !is_label_text(value, "-_.")) {
        return false;
    }
    *ret = (struct kv){.key = key, .value = value};
    return true;
}

static bool read_selector(struct str text, struct constraints *c)
{
    struct str part;

    while (str_split(&text, ',', &part)) {
        struct kv pair;
        if (!read_pair(part, &pair) || c->isolate_n == DEMAND_ISOLATE_MAX) {
            return false;
        }
        const struct kv_list seen = {c->isolate, c->isolate_n};
        /* A key twice either repeats itself or can match nobody: a slip of the pen both times. */
        if (kv_find(seen, pair.key) != NULL) {
            return false;
        }
        c->isolate[c->isolate_n++] = pair;
    }
    return c->isolate_n > 0;
}

/* No name and no label has one, so what it stands in can only be meant to deceive (base/json_read.h). */
static bool holds_nul(const struct str *text)
{
    return text != NULL && text->n > 0 && memchr(text->p, '\0', text->n) != NULL;
}

static bool read_all(struct kv_list annotations, struct constraints *c)
{
    const struct str *qos = kv_find(annotations, STR(NATIVE_KEY_QOS));
    const struct str *models = kv_find(annotations, STR(NATIVE_KEY_MODEL));
    const struct str *uuids = kv_find(annotations, STR(NATIVE_KEY_UUID));
    const struct str *isolate = kv_find(annotations, STR(NATIVE_KEY_ISOLATE));

    c->says_qos = qos != NULL;
    return !holds_nul(models) && !holds_nul(uuids) && !holds_nul(isolate) &&
           (qos == NULL || qos_parse(*qos, &c->qos)) &&
           (models == NULL || read_patterns(*models, true, c->models, &c->model_n)) &&
           (uuids == NULL || read_patterns(*uuids, false, c->uuids, &c->uuid_n)) &&
           (isolate == NULL || read_selector(*isolate, c));
}

static const struct device_pattern *keep_patterns(struct arena *a, const struct device_pattern *src, size_t n)
{
    struct device_pattern *kept = n > 0 ? ARENA_ARRAY(a, n, struct device_pattern) : NULL;
    if (kept != NULL) {
        memcpy(kept, src, n * sizeof(*kept));
    }
    return kept;
}

bool native_constraints(struct kv_list annotations, struct arena *a, struct demand *d, enum demand_defect *ret_defect)
{
    struct constraints c;

    c.qos = QOS_FIXED_SHARE;
    c.model_n = c.uuid_n = c.isolate_n = 0;
    if (!read_all(annotations, &c)) {
        *ret_defect = DEMAND_CONSTRAINT;
        return true;
    }

    uint64_t *isolate = c.isolate_n > 0 ? ARENA_ARRAY(a, c.isolate_n, uint64_t) : NULL;
    d->says_qos = c.says_qos;
    d->qos = c.qos;
    d->model_n = c.model_n;
    d->models = keep_patterns(a, c.models, c.model_n);
    d->uuid_n = c.uuid_n;
    d->uuids = keep_patterns(a, c.uuids, c.uuid_n);
    d->isolate_n = c.isolate_n;
    for (size_t i = 0; isolate != NULL && i < c.isolate_n; i++) {
        isolate[i] = label_pair_hash(c.isolate[i].key, c.isolate[i].value);
    }
    d->isolate = isolate;
    return (c.model_n == 0 || d->models != NULL) && (c.uuid_n == 0 || d->uuids != NULL) &&
           (c.isolate_n == 0 || isolate != NULL);
}
