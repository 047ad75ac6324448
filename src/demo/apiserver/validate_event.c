/* Events of events.k8s.io/v1, as strict as the real server (contract.md 6.2). Stricter in one
 * thing: the real one lets the namespace of a namespaced object differ once eventTime is set. */
#include "demo/doc_internal.h"
#include "demo/apiserver/validate_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 128
#define NOTE_MAX 1024

static const char *say(char *buf, size_t size, const char *field, const char *why)
{
    snprintf(buf, size, "%s: %s", field, why);
    return buf;
}

/* "2026-11-20T08:38:00.463585Z": a MicroTime has exactly six digits behind the point. */
static bool is_micro_time(const char *s)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddddd";

    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i]) {
            return false;
        }
    }
    s += sizeof(form) - 1;
    return strcmp(s, "Z") == 0 || ((s[0] == '+' || s[0] == '-') && strlen(s) == 6);
}

const char *validate_event_form(const cJSON *doc)
{
    static const char *const times[] = {"eventTime", "series.lastObservedTime"};

    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        const cJSON *t = doc_at(doc, times[i]);

        if (t != NULL && !cJSON_IsNull(t) && !(cJSON_IsString(t) && is_micro_time(t->valuestring))) {
            return "parsing time: MicroTime has six digits after the point";
        }
    }
    return NULL;
}

static const char *check_words(const cJSON *doc, char *buf, size_t size)
{
    static const char *const words[] = {"reportingInstance", "action", "reason"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const char *text = doc_text(doc, words[i]);

        if (text[0] == '\0') {
            return say(buf, size, words[i], "Required value");
        }
        if (strlen(text) > WORD_MAX) {
            return say(buf, size, words[i], "can have at most 128 characters");
        }
    }
    if (strlen(doc_text(doc, "note")) > NOTE_MAX) {
        return say(buf, size, "message", "can have at most 1024 characters");
    }
    if (doc_text(doc, "eventTime")[0] == '\0') {
        return say(buf, size, "eventTime", "Required value");
    }
    if (strcmp(doc_text(doc, "type"), "Normal") != 0 && strcmp(doc_text(doc, "type"), "Warning") != 0) {
        return say(buf, size, "type", "has invalid value");
    }
    return validate_is_qualified_key(doc_text(doc, "reportingController"))
               ? NULL
               : say(buf, size, "reportingController", "Invalid value: not a qualified name");
}

static const char *check_namespace(const cJSON *doc, char *buf, size_t size)
{
    const char *own = doc_text(doc, "metadata.namespace");
    const char *regarding = doc_text(doc, "regarding.namespace");
    bool good = regarding[0] == '\0' ? strcmp(own, "default") == 0 || strcmp(own, "kube-system") == 0
                                     : strcmp(own, regarding) == 0;

    return good ? NULL : say(buf, size, "involvedObject.namespace", "does not match event.namespace");
}

static const char *check_series(const cJSON *doc, char *buf, size_t size)
{
    const cJSON *series = doc_field(doc, "series");
    const cJSON *count = doc_field(series, "count");

    if (series == NULL || cJSON_IsNull(series)) {
        return NULL;
    }
    if (!cJSON_IsNumber(count) || count->valuedouble < 2) {
        return say(buf, size, "series.count", "should be at least 2");
    }
    return doc_text(series, "lastObservedTime")[0] != '\0'
               ? NULL
               : say(buf, size, "series.lastObservedTime", "Required value");
}

static const char *check_unset(const cJSON *doc, char *buf, size_t size)
{
    static const char *const unset[] = {"deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
                                        "deprecatedCount"};

    for (size_t i = 0; i < ARRAY_LEN(unset); i++) {
        if (doc_field(doc, unset[i]) != NULL) {
            return say(buf, size, unset[i], "needs to be unset");
        }
    }
    return NULL;
}

static const char *check_unchanged(const cJSON *doc, const cJSON *before, char *buf, size_t size)
{
    static const char *const fixed[] = {
        "regarding",           "related",          "reason", "note", "type", "eventTime", "action",
        "reportingController", "reportingInstance"};

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        const cJSON *a = doc_field(before, fixed[i]), *b = doc_field(doc, fixed[i]);

        if ((a == NULL) != (b == NULL) || (a != NULL && !cJSON_Compare(a, b, 1))) {
            return say(buf, size, fixed[i], "Invalid value: field is immutable");
        }
    }
    return NULL;
}

const char *validate_event(const cJSON *doc, const cJSON *before, char *buf, size_t size)
{
    const char *why = check_words(doc, buf, size);

    why = why != NULL ? why : check_namespace(doc, buf, size);
    why = why != NULL ? why : check_series(doc, buf, size);
    if (why == NULL) {
        why = before == NULL ? check_unset(doc, buf, size) : check_unchanged(doc, before, buf, size);
    }
    return why;
}
