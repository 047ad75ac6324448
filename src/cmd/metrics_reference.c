/* fgpu metrics-reference: what every metric means, as a page. */
#include "obs/reference.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "cmd/options.h"

#include <stdio.h>

#define REFERENCE_BYTES_MAX (1 << 20)

const struct page page_metrics_reference = {
    .command = "fgpu metrics-reference",
    .usage = "",
    .about =
        "Prints every metric of fgpu and fgpu-node with its type, unit, labels, meaning, and when to worry, as a page "
        "in Markdown.",
    .examples = "fgpu metrics-reference > metrics.md",
};

int cmd_metrics_reference(int argc, char **argv)
{
    static const struct command_line line = {.page = &page_metrics_reference};
    struct strbuf out;
    int code = options_read(&line, argc, argv, NULL);

    if (code != EXIT_OK) {
        return code == -1 ? EXIT_OK : code;
    }
    strbuf_init(&out, REFERENCE_BYTES_MAX);
    metrics_reference(&out);
    fputs(out.p, stdout);
    strbuf_fini(&out);
    return EXIT_OK;
}
