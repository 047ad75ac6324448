/* doctor/checks.h - what can be wrong with an installation, one check each, and what to do about it.
 *
 * A check is a pure function of the facts. It needs some sources; where one is missing it is not made, and that is a
 * finding, too: what nobody looked at is never called right. The table is `doctor_checks`; a check more is a row there,
 * a function, and its tests in both directions (test/unit/doctor).
 */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include "base/strbuf.h"
#include "doctor/facts.h"

#define DOCTOR_CHECKS_MAX 64 /* rows of the table */

enum doctor_severity {
    DOCTOR_FAULT,     /* something is wrong */
    DOCTOR_UNCHECKED, /* nobody knows: a source is missing */
    DOCTOR_NOTE,      /* right as it is, but worth knowing */
};

/* "fault", "not checked", "note" */
const char *doctor_severity_name(enum doctor_severity s);

struct doctor_finding {
    const struct doctor_finding *next;
    const char *check;
    enum doctor_severity severity;
    struct str object; /* "node gpu-1"; empty: the installation */
    struct str text;   /* what is wrong */
    struct str fix;    /* what to do */
};

struct doctor_report {
    const struct doctor_facts *facts;
    struct arena *arena; /* of the findings */
    const struct doctor_finding *first;
    struct doctor_finding *last;
    size_t n[DOCTOR_NOTE + 1]; /* by severity */
    uint64_t skipped;          /* checks that nobody wants, a bit each in the order of the table */
    const char *check;         /* the one that is at work */
};

struct doctor_check {
    const char *name;  /* in lower case with hyphens; other people's scripts rely on it */
    const char *about; /* what it looks at, in a line */
    uint32_t needs;    /* sources, a bit for each enum doctor_source */
    void (*look)(struct doctor_report *r);
};

extern const struct doctor_check doctor_checks[]; /* ends with a NULL name */

/* The row of a check, or -1. */
int doctor_check_find(struct str name);

/* All checks that are not skipped. `r` has facts, arena and skipped; the rest is filled here. False: the arena is
 * full, and findings are missing. */
WARN_UNUSED bool doctor_examine(struct doctor_report *r);

/* Neither a fault, nor anything that was not checked. */
bool doctor_is_well(const struct doctor_report *r);

/* For people, and config/doctor.schema.json. */
void doctor_show_table(const struct doctor_report *r, struct strbuf *out);
void doctor_show_json(const struct doctor_report *r, struct strbuf *out);

#endif
