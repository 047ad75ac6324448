#include "model/names.h"

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || is_upper(c);
}

static bool is_label(struct str s, bool any_case)
{
    if (s.n == 0 || s.n > KUBE_LABEL_MAX || s.p[0] == '-' || s.p[s.n - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!is_lower_alnum(c) && c != '-' && !(any_case && is_upper(c))) {
            return false;
        }
    }
    return true;
}

/* Upstream bounds the whole subdomain only, not each of its labels. */
static bool is_subdomain(struct str s, bool any_case)
{
    if (s.n == 0 || s.n > KUBE_SUBDOMAIN_MAX) {
        return false;
    }
    bool at_edge = true; /* a label begins here */
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = is_lower_alnum(c) || (any_case && is_upper(c));
        if (!alnum && (at_edge || (c != '-' && c != '.') || (c == '.' && s.p[i - 1] == '-'))) {
            return false;
        }
        at_edge = c == '.';
    }
    return is_alnum(s.p[s.n - 1]);
}

bool kube_name_is_subdomain(struct str s)
{
    return is_subdomain(s, false);
}

bool kube_name_is_label(struct str s)
{
    return is_label(s, false);
}

bool kube_name_is_qualified(struct str s)
{
    if (s.n == 0 || s.n > KUBE_LABEL_MAX || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1])) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!is_alnum(c) && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return true;
}

static bool is_key(struct str s, bool any_case)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '/') {
            return is_subdomain((struct str){s.p, i}, any_case) && kube_name_is_qualified(str_drop(s, i + 1));
        }
    }
    return kube_name_is_qualified(s);
}

bool kube_name_is_annotation_key(struct str s)
{
    return is_key(s, true);
}

bool kube_name_is_label_key(struct str s)
{
    return is_key(s, false);
}
