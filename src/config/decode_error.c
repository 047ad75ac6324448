#include "config/schema_internal.h"

#include <stdarg.h>

void config_decode_error(struct decode *c, const struct yaml_doc_node *n, const char *fmt, ...)
{
    struct strbuf text;
    va_list ap;

    strbuf_init(&text, 2048);
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    diagnostics_add(c->d, n->pos, "%s%s%.*s", c->path, c->path_n > 0 ? ": " : "", STR_ARG(strbuf_view(&text)));
    strbuf_fini(&text);
}
