#include "demo/apiserver/selector_internal.h"

#include "base/bug.h"
#include "demo/doc_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool field_known(enum apiserver_kind kind, const char *key)
{
    static const char *const fields[APISERVER_KIND__MAX][12] = {
        [APISERVER_PODS] = {"metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy",
                            "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP",
                            "status.nominatedNodeName"},
        [APISERVER_NODES] = {"metadata.name", "spec.unschedulable"},
        [APISERVER_EVENTS] = {"metadata.name", "metadata.namespace", "reason", "type"},
        [APISERVER_SLICES] = {"metadata.name", "spec.nodeName", "spec.driver"},
        [APISERVER_CONFIGMAPS] = {"metadata.name", "metadata.namespace"},
        [APISERVER_LEASES] = {"metadata.name", "metadata.namespace"},
        [APISERVER_STORAGE_CAPACITIES] = {"metadata.name", "metadata.namespace"},
    };
    for (size_t i = 0; i < 12 && fields[kind][i]; i++) {
        if (strcmp(fields[kind][i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Cuts "key op value" in place. */
static const char *parse_term(char *text, bool label, struct selector_term *ret)
{
    struct selector_term t = {.key = text, .value = "", .op = TERM_EXISTS, .label = label};
    char *eq = strchr(text, '=');
    if (strpbrk(text, "()")) {
        return "set-based selectors are not served by the simulated API server";
    }
    if (eq) {
        t.value = eq + (eq[1] == '=' ? 2 : 1);
        t.op = TERM_EQUAL;
        if (eq > text && eq[-1] == '!') {
            t.op = TERM_NOT_EQUAL;
            eq--;
        }
        *eq = '\0';
    } else if (text[0] == '!') {
        t.op = TERM_ABSENT;
        t.key = text + 1;
    }
    if (t.key[0] == '\0' || (!label && !eq)) {
        return "invalid selector";
    }
    *ret = t;
    return NULL;
}

static const char *parse_terms(struct selector *s, enum apiserver_kind kind, char *text, bool label)
{
    char *save = NULL;
    for (char *t = strtok_r(text, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
        if (s->term_n == SELECTOR_TERMS_MAX) {
            return "too many terms in selector";
        }
        const char *why = parse_term(t, label, &s->terms[s->term_n]);
        if (why) {
            return why;
        }
        if (!label && !field_known(kind, s->terms[s->term_n].key)) {
            return "field label not supported";
        }
        s->term_n++;
    }
    return NULL;
}

const char *selector_init(struct selector *s, enum apiserver_kind kind, const char *namespace_, const char *fields,
                          const char *labels)
{
    size_t field_n = fields ? strlen(fields) : 0, label_n = labels ? strlen(labels) : 0;
    *s = (struct selector){.text = xcalloc(1, field_n + label_n + 2)};
    char *label_text = s->text + field_n + 1;
    if (namespace_) {
        s->namespace_ = strdup(namespace_);
        BUG_ON(!s->namespace_);
    }
    if (fields) {
        memcpy(s->text, fields, field_n);
    }
    if (labels) {
        memcpy(label_text, labels, label_n);
    }
    const char *why = parse_terms(s, kind, s->text, false);
    if (!why) {
        why = parse_terms(s, kind, label_text, true);
    }
    if (why) {
        selector_fini(s);
    }
    return why;
}

void selector_fini(struct selector *s)
{
    free(s->text);
    free(s->namespace_);
    *s = (struct selector){0};
}

static const char *field_text(const cJSON *object, const char *path)
{
    const cJSON *v = doc_at(object, path);
    if (cJSON_IsBool(v)) {
        return cJSON_IsTrue(v) ? "true" : "false";
    }
    if (!v && strcmp(path, "spec.unschedulable") == 0) {
        return "false";
    }
    const char *text = cJSON_GetStringValue(v);
    return text ? text : "";
}

static bool term_matches(const struct selector_term *t, const cJSON *object)
{
    const cJSON *label = t->label ? doc_field(doc_at(object, "metadata.labels"), t->key) : NULL;
    const char *value = t->label ? cJSON_GetStringValue(label) : field_text(object, t->key);
    switch (t->op) {
    case TERM_EQUAL:
        return value && strcmp(value, t->value) == 0;
    case TERM_NOT_EQUAL:
        return !value || strcmp(value, t->value) != 0;
    case TERM_EXISTS:
        return label != NULL;
    case TERM_ABSENT:
        return label == NULL;
    }
    BUG("operator");
}

bool selector_matches(const struct selector *s, const cJSON *object)
{
    if (s->namespace_ && strcmp(s->namespace_, doc_text(object, "metadata.namespace")) != 0) {
        return false;
    }
    for (size_t i = 0; i < s->term_n; i++) {
        if (!term_matches(&s->terms[i], object)) {
            return false;
        }
    }
    return true;
}
