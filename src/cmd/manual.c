#include "cmd/manual.h"

#include "cmd/commands.h"
#include "config/describe.h"

#include <stdio.h>

#define PAGE_BYTES_MAX (4 << 20)
#define NAME_BYTES_MAX 128

static const char *const see_program[] = {"fgpu 1", "fgpu.yaml 5", "fgpu-node 8", NULL};

/* The page of the program: its commands. */
static void add_commands(const struct program *p, struct strbuf *out)
{
    strbuf_addf(out, ".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op options\n.Sh DESCRIPTION\n%s\n.Pp\nThe commands are:\n",
                p->purpose);
    strbuf_add_cstr(out, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < p->command_n; i++) {
        strbuf_addf(out, ".It Xr %s-%s 1\n", p->called, p->commands[i].name);
        page_man_text(str_of(p->commands[i].summary), out);
    }
    strbuf_add_cstr(out, ".El\n");
}

static int write_program(const struct program *p, const char *dir, struct err *reterr)
{
    const struct page_entry e = {p->name, "1", p->summary};
    struct strbuf out;
    int rc;

    strbuf_init(&out, PAGE_BYTES_MAX);
    page_man_begin(&e, &out);
    add_commands(p, &out);
    page_man_see(see_program + 1, &out);
    rc = page_man_write(dir, &e, &out, reterr);
    strbuf_fini(&out);
    return rc;
}

static int write_command(const struct program *p, const struct command *c, const char *dir, struct err *reterr)
{
    char name[NAME_BYTES_MAX];
    const struct page_entry e = {name, "1", c->summary};
    struct strbuf out;
    int rc;

    snprintf(name, sizeof(name), "%s-%s", p->called, c->name);
    strbuf_init(&out, PAGE_BYTES_MAX);
    page_man(c->page, &e, see_program, &out);
    rc = page_man_write(dir, &e, &out, reterr);
    strbuf_fini(&out);
    return rc;
}

int manual_write(const struct program *p, int argc, char **argv)
{
    struct err err;
    int rc;

    if (argc != 2) {
        fprintf(stderr, "%s: %s takes a folder, into which the manual pages are written\n", p->name, MANUAL_COMMAND);
        return EXIT_USAGE;
    }
    rc = p->summary != NULL ? write_program(p, argv[1], &err) : 0;
    for (size_t i = 0; i < p->command_n && rc == 0; i++) {
        const struct command *c = &p->commands[i];

        /* One that two programs have is in the manual once. */
        rc = c->page != NULL && (p->summary != NULL || c->run != cmd_version) ? write_command(p, c, argv[1], &err) : 0;
    }
    if (rc == 0 && p->write_more_pages != NULL) {
        rc = p->write_more_pages(argv[1], &err);
    }
    if (rc != 0) {
        fprintf(stderr, "%s: %s\n", p->name, err.msg);
    }
    return rc == 0 ? EXIT_OK : EXIT_RUNTIME;
}

/* ---- the configuration ---- */

/* "KEY  RANGE  ...  WHAT IT DOES": as `check-config --keys` has it. */
static void add_key(struct str line, struct strbuf *out)
{
    size_t key_n = 0;

    while (key_n < line.n && line.p[key_n] != ' ') {
        key_n++;
    }
    strbuf_addf(out, ".It Cm \"%.*s\"\n", (int)key_n, line.p);
    for (line = str_trim(str_drop(line, key_n)); line.n > 0;) {
        size_t part_n = 0;

        while (part_n < line.n && !str_starts(str_drop(line, part_n), STR("  "))) {
            part_n++;
        }
        page_man_text((struct str){line.p, part_n}, out);
        line = str_trim(str_drop(line, part_n));
        strbuf_add_cstr(out, line.n > 0 ? ".br\n" : "");
    }
}

int manual_of_the_configuration(const char *dir, struct err *reterr)
{
    static const struct page_entry e = {"fgpu.yaml", "5", "configuration of fgpu"};
    static const char *const see[] = {"fgpu-check-config 1", "fgpu-serve 1", NULL};
    struct strbuf out, keys;
    struct str rest, line;
    int rc;

    strbuf_init(&out, PAGE_BYTES_MAX);
    strbuf_init(&keys, PAGE_BYTES_MAX);
    config_reference(&keys);
    page_man_begin(&e, &out);
    strbuf_add_cstr(&out,
                    ".Sh DESCRIPTION\nA YAML file of kind FgpuConfiguration, given by\n.Ql fgpu serve --config FILE .\n"
                    ".Ql fgpu check-config FILE\nchecks one.\n"
                    "Every key but the required ones may be left out.\n"
                    "A list stands for itself and, with [], for what its elements hold; .NAME stands for names of your "
                    "own.\n.Sh KEYS\n.Bl -tag -width Ds\n");
    rest = str_trim(strbuf_view(&keys));
    while (str_split(&rest, '\n', &line)) {
        add_key(line, &out);
    }
    strbuf_add_cstr(&out, ".El\n");
    page_man_see(see, &out);
    rc = page_man_write(dir, &e, &out, reterr);
    strbuf_fini(&keys);
    strbuf_fini(&out);
    return rc;
}
