/* What all forms in which /state shows a pod have in common. */
#include "core/dialects/dialect.h"
#include "sim/state_file_internal.h"

static const char *dialect_named(struct file_reader *f, struct str name)
{
    const struct dialect *d = dialect_find(name);

    if (d == NULL && name.n > 0) {
        json_fail(&f->json, ERR_INVALID, "a vocabulary that this version does not know");
    }
    return d == NULL ? "" : d->name;
}

bool state_file_pod_key(struct file_reader *f, struct str key, struct file_pod *pod)
{
    struct json_reader *r = &f->json;
    struct str text = STR_NULL;

    if (str_eq_cstr(key, "uid")) {
        json_string(r, &pod->uid);
    } else if (str_eq_cstr(key, "namespace")) {
        json_string(r, &pod->namespace_);
    } else if (str_eq_cstr(key, "pod")) {
        json_string(r, &pod->name);
    } else if (str_eq_cstr(key, "decision")) {
        json_string(r, &pod->decision);
    } else if (str_eq_cstr(key, "since")) {
        state_file_time(r, &pod->since_ms);
    } else if (str_eq_cstr(key, "state")) {
        json_string(r, &text);
        pod->deleting = str_eq_cstr(text, "terminating");
    } else if (str_eq_cstr(key, "dialect")) {
        json_string(r, &text);
        pod->dialect = dialect_named(f, text);
    } else {
        return false;
    }
    return true;
}
