#include "report_internal.h"

#define LISTED_MAX 8

const char *doctor_severity_name(enum doctor_severity s)
{
    static const char *const names[] = {
        [DOCTOR_FAULT] = "fault", [DOCTOR_UNCHECKED] = "not checked", [DOCTOR_NOTE] = "note"};

    return names[s];
}

void doctor_tell(struct doctor_report *r, enum doctor_severity severity, struct str object, struct str text,
                 const char *fix)
{
    struct doctor_finding *f = ARENA_NEW(r->arena, struct doctor_finding);

    if (f == NULL) {
        return; /* the arena says so */
    }
    *f = (struct doctor_finding){
        .check = r->check, .severity = severity, .object = object, .text = text, .fix = str_of(fix)};
    if (r->last != NULL) {
        r->last->next = f;
    } else {
        r->first = f;
    }
    r->last = f;
    r->n[severity]++;
}

/* ---- lists of names ---- */

void doctor_list_add(struct doctor_list *l, struct str name)
{
    if (l->n < LISTED_MAX) {
        l->text = arena_printf(l->arena, "%.*s%s%.*s", STR_ARG(l->text), l->n > 0 ? ", " : "", STR_ARG(name));
    }
    l->n++;
}

struct str doctor_list_text(const struct doctor_list *l)
{
    return l->n <= LISTED_MAX ? l->text
                              : arena_printf(l->arena, "%.*s and %zu more", STR_ARG(l->text), l->n - LISTED_MAX);
}

struct str doctor_pod_name(struct arena *a, struct str namespace_, struct str name)
{
    return arena_printf(a, "pod %.*s/%.*s", STR_ARG(namespace_), STR_ARG(name));
}
