#include "demo/apiserver/validate_internal.h"

#include "base/clock.h"
#include "demo/doc_internal.h"
#include "model/binding.h"

#include <ctype.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

static bool is_name(const char *s)
{
    size_t n = strlen(s);
    if (n == 0 || n > 253 || !isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[n - 1])) {
        return false;
    }
    for (; *s; s++) {
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '-' && *s != '.') {
            return false;
        }
    }
    return true;
}

bool validate_is_qualified_key(const char *key)
{
    const char *slash = strchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    size_t n = strlen(name);
    if (n == 0 || n > 63 || !isalnum((unsigned char)name[0]) || !isalnum((unsigned char)name[n - 1])) {
        return false;
    }
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) {
            return false;
        }
    }
    return !slash || (slash > key && slash - key <= 253);
}

static const char *check_annotations(const cJSON *annotations, char *buf, size_t size)
{
    size_t bytes = 0;
    const cJSON *a;
    cJSON_ArrayForEach(a, annotations)
    {
        if (!cJSON_IsString(a)) {
            snprintf(buf, size, "metadata.annotations: Invalid value: \"%s\": must be a string", a->string);
            return buf;
        }
        if (!validate_is_qualified_key(a->string)) {
            snprintf(buf, size,
                     "metadata.annotations: Invalid value: \"%s\": name part must consist of "
                     "alphanumeric characters, '-', '_' or '.' and be no more than 63 characters",
                     a->string);
            return buf;
        }
        bytes += strlen(a->string) + strlen(a->valuestring);
    }
    if (bytes > POD_ANNOTATION_BYTES_MAX) {
        snprintf(buf, size, "metadata.annotations: Too long: may not be more than %d bytes", POD_ANNOTATION_BYTES_MAX);
        return buf;
    }
    return NULL;
}

static const char *check_containers(const cJSON *doc, char *buf, size_t size)
{
    const cJSON *containers = doc_at(doc, "spec.containers"), *c;
    size_t i = 0;
    if (!cJSON_IsArray(containers) || cJSON_GetArraySize(containers) == 0) {
        return "spec.containers: Required value";
    }
    cJSON_ArrayForEach(c, containers)
    {
        if (!is_name(doc_text(c, "name"))) {
            snprintf(buf, size, "spec.containers[%zu].name: Required value", i);
            return buf;
        }
        i++;
    }
    return NULL;
}

/* As metav1.MicroTime is read: absent, or with exactly six digits. */
static bool is_micro_time(const char *s)
{
    const char *dot = strchr(s, '.');
    int64_t ms;

    return s[0] == '\0' || (dot != NULL && strspn(dot + 1, "0123456789") == 6 && clock_rfc3339_parse(str_of(s), &ms));
}

const char *validate_lease_form(const cJSON *doc)
{
    return is_micro_time(doc_text(doc, "spec.acquireTime")) && is_micro_time(doc_text(doc, "spec.renewTime"))
               ? NULL
               : "parsing time: cannot parse as \"2006-01-02T15:04:05.000000Z07:00\"";
}

static const char *check_lease(const cJSON *doc)
{
    const cJSON *duration = doc_at(doc, "spec.leaseDurationSeconds");

    return cJSON_IsNumber(duration) && duration->valuedouble <= 0
               ? "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
               : NULL;
}

const char *validate_object(enum apiserver_kind kind, const cJSON *doc, char *buf, size_t size)
{
    if (!is_name(doc_text(doc, "metadata.name"))) {
        snprintf(buf, size,
                 "metadata.name: Invalid value: \"%s\": a lowercase RFC 1123 subdomain must "
                 "consist of lower case alphanumeric characters, '-' or '.'",
                 doc_text(doc, "metadata.name"));
        return buf;
    }
    const char *why = check_annotations(doc_at(doc, "metadata.annotations"), buf, size);
    if (!why && kind == APISERVER_LEASES) {
        why = check_lease(doc);
    }
    return !why && kind == APISERVER_PODS ? check_containers(doc, buf, size) : why;
}
