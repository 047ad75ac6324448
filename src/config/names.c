/* Source: apimachinery pkg/util/validation (qualified names, label values, DNS-1123 subdomains) and
 * component-helpers IsExtendedResourceName. */
#include "config/scalar_internal.h"

#include "base/clock.h"
#include "model/names.h"

#include <string.h>

/* Cuts "prefix/" off; the prefix is empty when there is no slash. */
static struct str take_prefix(struct str *s)
{
    const char *slash = s->n > 0 ? memchr(s->p, '/', s->n) : NULL;
    struct str prefix = {s->p, slash != NULL ? (size_t)(slash - s->p) : 0};

    if (slash != NULL) {
        *s = str_drop(*s, prefix.n + 1);
    }
    return prefix;
}

const char *resource_name_error(struct str s)
{
    struct str name = s;
    struct str domain = take_prefix(&name);

    if (name.n == s.n) {
        return "a resource name needs a domain, as in example.com/gpu";
    }
    if (str_eq_cstr(domain, "kubernetes.io") || str_ends(domain, STR(".kubernetes.io"))) {
        return "names of kubernetes.io are not extended resources";
    }
    if (str_starts(s, STR("requests."))) {
        return "an extended resource name must not start with 'requests.'";
    }
    /* Quotas spell it "requests.<name>", which must be a valid name too. */
    if (!kube_name_is_subdomain(domain) || domain.n > KUBE_SUBDOMAIN_MAX - strlen("requests.")) {
        return "the part before '/' is not a lower-case domain name";
    }
    if (!kube_name_is_qualified(name)) {
        return "the part after '/' must be 1 to 63 letters, digits, '-', '_', '.', "
               "with a letter or digit at both ends";
    }
    return NULL;
}

const char *label_key_error(struct str s)
{
    struct str name = s;
    struct str domain = take_prefix(&name);

    if (name.n != s.n && !kube_name_is_subdomain(domain)) {
        return "the part before '/' is not a lower-case domain name";
    }
    return kube_name_is_qualified(name) ? NULL : "the label key is not valid";
}

const char *label_value_error(struct str s)
{
    return s.n == 0 || kube_name_is_qualified(s) ? NULL : "the label value is not valid";
}

const char *object_name_error(struct str s)
{
    struct str name = s;
    struct str namespace_ = take_prefix(&name);

    if (s.n == 0) {
        return NULL;
    }
    if (name.n == s.n || !kube_name_is_subdomain(name) || !kube_name_is_label(namespace_)) {
        return "an object is named NAMESPACE/NAME, in lower-case letters, digits and '-'";
    }
    return NULL;
}

const char *instant_error(struct str s)
{
    const size_t n = sizeof("2026-03-28T18:59:50Z") - 1;
    int64_t ms;

    if (s.n == 0) {
        return NULL;
    }
    if (s.n != n || s.p[n - 1] != 'Z' || !clock_rfc3339_parse(s, &ms)) {
        return "write a time as 2026-03-28T18:59:50Z, in UTC";
    }
    return NULL;
}

const char *name_error(struct str s)
{
    if (s.n > KUBE_LABEL_MAX || !kube_name_is_subdomain(s)) {
        return "a name has at most 63 lower-case letters, digits, '-' and '.', "
               "with a letter or digit at both ends";
    }
    return NULL;
}

const char *namespace_error(struct str s)
{
    return s.n == 0 || s.n > KUBE_LABEL_MAX || str_span(s, STR_LOWER STR_DIGITS "-*") < s.n
               ? "a namespace has at most 63 lower-case letters, digits and '-'; '*' stands for any text"
               : NULL;
}
