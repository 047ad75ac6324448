#include "cmd/terminal.h"

#include "base/printable.h"

#include <stdint.h>
#include <stdio.h>

static void print(FILE *to, struct strbuf *out)
{
    struct str text = strbuf_view(out);

    fwrite(text.p, 1, text.n, to);
    strbuf_fini(out);
}

void terminal_print(struct str text)
{
    struct strbuf out;

    strbuf_init(&out, SIZE_MAX / 2);
    (void)printable_add(&out, text, SIZE_MAX, "\n\t");
    print(stdout, &out);
}

void terminal_print_json(struct str text)
{
    struct strbuf out;

    strbuf_init(&out, SIZE_MAX / 2);
    printable_add_json(&out, text);
    print(stdout, &out);
}

void terminal_complain(const char *command, const char *message)
{
    struct strbuf out;

    strbuf_init(&out, SIZE_MAX / 2);
    strbuf_addf(&out, "fgpu %s: ", command);
    (void)printable_add(&out, str_of(message), SIZE_MAX, "\n\t");
    strbuf_add_char(&out, '\n');
    print(stderr, &out);
}
