/* What was found, for people and for programs. */
#include "doctor/checks.h"

#include "base/json_write.h"

#define WIDTH 110 /* of the lines of text */
#define INDENT "    "

/* Words of `text`, broken before WIDTH, each line behind INDENT. */
static void add_filled(struct strbuf *out, const char *label, struct str text)
{
    size_t column = sizeof(INDENT) - 1 + str_of(label).n;
    struct str word;

    strbuf_addf(out, INDENT "%s", label);
    for (bool first = true; str_split(&text, ' ', &word); first = false) {
        if (!first && column + 1 + word.n > WIDTH) {
            strbuf_add_cstr(out, "\n" INDENT);
            column = sizeof(INDENT) - 1;
        } else if (!first) {
            strbuf_add_char(out, ' ');
            column++;
        }
        strbuf_add_str(out, word);
        column += word.n;
    }
    strbuf_add_char(out, '\n');
}

static size_t count_checks(const struct doctor_report *r, bool skipped)
{
    size_t n = 0;

    for (int i = 0; doctor_checks[i].name != NULL; i++) {
        n += skipped == ((r->skipped & UINT64_C(1) << i) != 0);
    }
    return n;
}

static void add_sum(const struct doctor_report *r, struct strbuf *out)
{
    const size_t skipped = count_checks(r, true);

    strbuf_addf(out, "%zu checks", count_checks(r, false));
    if (skipped > 0) {
        strbuf_addf(out, " (%zu left out)", skipped);
    }
    if (r->first == NULL) {
        strbuf_add_cstr(out, ": nothing found.\n");
        return;
    }
    strbuf_addf(out, ": %zu fault%s, %zu not checked, %zu note%s.\n", r->n[DOCTOR_FAULT],
                r->n[DOCTOR_FAULT] == 1 ? "" : "s", r->n[DOCTOR_UNCHECKED], r->n[DOCTOR_NOTE],
                r->n[DOCTOR_NOTE] == 1 ? "" : "s");
}

/* Of the same source that is missing? Then one entry is enough for all its checks. */
static bool is_same(const struct doctor_finding *a, const struct doctor_finding *b)
{
    return a->severity == DOCTOR_UNCHECKED && b->severity == DOCTOR_UNCHECKED && a->object.n == 0 && b->object.n == 0 &&
           str_eq(a->text, b->text);
}

static bool was_shown(const struct doctor_report *r, const struct doctor_finding *f)
{
    const struct doctor_finding *before = r->first;

    while (before != f && !is_same(before, f)) {
        before = before->next;
    }
    return before != f;
}

static void add_finding(const struct doctor_finding *f, struct strbuf *out)
{
    strbuf_addf(out, "%s  %s", doctor_severity_name(f->severity), f->check);
    for (const struct doctor_finding *more = f->next; more != NULL; more = more->next) {
        if (is_same(f, more)) {
            strbuf_addf(out, ", %s", more->check);
        }
    }
    strbuf_addf(out, "%s%.*s\n", f->object.n > 0 ? ": " : "", STR_ARG(f->object));
    add_filled(out, "", f->text);
    add_filled(out, "Fix: ", f->fix);
}

void doctor_show_table(const struct doctor_report *r, struct strbuf *out)
{
    for (int s = 0; s <= DOCTOR_NOTE; s++) {
        for (const struct doctor_finding *f = r->first; f != NULL; f = f->next) {
            if (f->severity == (enum doctor_severity)s && !was_shown(r, f)) {
                add_finding(f, out);
            }
        }
    }
    add_sum(r, out);
}

/* ---- JSON ---- */

static const char *result_of(const struct doctor_report *r, int check)
{
    const char *result = "ok";

    if ((r->skipped & UINT64_C(1) << check) != 0) {
        return "skipped";
    }
    for (const struct doctor_finding *f = r->first; f != NULL; f = f->next) {
        if (f->check != doctor_checks[check].name) {
            continue;
        }
        if (f->severity == DOCTOR_FAULT) {
            return "fault";
        }
        if (f->severity == DOCTOR_UNCHECKED) {
            result = "notChecked";
        }
    }
    return result;
}

static void write_checks(const struct doctor_report *r, struct json_writer *w)
{
    json_write_kv_array_begin(w, "checks");
    for (int i = 0; doctor_checks[i].name != NULL; i++) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "check", doctor_checks[i].name);
        json_write_kv_cstr(w, "about", doctor_checks[i].about);
        json_write_kv_cstr(w, "result", result_of(r, i));
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_findings(const struct doctor_report *r, struct json_writer *w)
{
    static const char *const names[] = {
        [DOCTOR_FAULT] = "fault", [DOCTOR_UNCHECKED] = "notChecked", [DOCTOR_NOTE] = "note"};

    json_write_kv_array_begin(w, "findings");
    for (const struct doctor_finding *f = r->first; f != NULL; f = f->next) {
        json_write_object_begin(w);
        json_write_kv_cstr(w, "check", f->check);
        json_write_kv_cstr(w, "severity", names[f->severity]);
        json_write_kv_str(w, "object", f->object);
        json_write_kv_str(w, "text", f->text);
        json_write_kv_str(w, "fix", f->fix);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void doctor_show_json(const struct doctor_report *r, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "apiVersion", "doctor.fgpu.io/v1alpha1");
    json_write_kv_cstr(&w, "kind", "Diagnosis");
    json_write_kv_bool(&w, "ok", doctor_is_well(r));
    write_checks(r, &w);
    write_findings(r, &w);
    json_write_object_end(&w);
}
