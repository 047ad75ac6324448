/* The configuration file. What is accepted describes itself as a file with the same meaning; what
 * is refused is refused with a place inside the file and words in it. */
#include "fuzz.h"

#include "config/describe.h"
#include "config/load.h"
#include "config/text_internal.h"

#include <string.h>

#define MEMORY (8U << 20)

static const struct str strategy_names[] = {{"binpack", 7}, {"spread", 6}, {"tight-fit", 9}, {"rsp", 3}};
static const struct config_names names = {strategy_names, ARRAY_LEN(strategy_names)};

static void describe(const struct config *c, struct strbuf *out)
{
    struct json_writer w;

    json_writer_init(&w, out);
    config_describe(c, &w);
    FUZZ_CHECK(!out->overflowed);
}

/* The present meaning as a file, read again. */
static void check_accepted(const struct config *c)
{
    struct strbuf once, twice, report;
    struct config *again = NULL;
    struct err err;

    strbuf_init(&once, MEMORY);
    strbuf_init(&twice, MEMORY);
    strbuf_init(&report, MEMORY);
    describe(c, &once);
    if (once.n <= CONFIG_BYTES_MAX) {
        if (config_parse(STR("described"), strbuf_view(&once), &names, &again, &report, &err) != 0) {
            fuzz_differ(__FILE__, __LINE__, "what it describes is not accepted", strbuf_view(&once),
                        strbuf_view(&report));
        }
        describe(again, &twice);
        FUZZ_SAME(strbuf_view(&once), strbuf_view(&twice));
    }
    FUZZ_CHECK(strlen(c->hash) == CONFIG_HASH_LEN && c->generation == 1);
    FUZZ_CHECK(address_is_loopback(&c->serving.verbs) && address_is_loopback(&c->serving.ops));
    config_free(again);
    strbuf_fini(&report);
    strbuf_fini(&twice);
    strbuf_fini(&once);
}

static uint64_t number(struct str *rest)
{
    struct str part;
    uint64_t n = 0;

    FUZZ_CHECK(str_split(rest, ':', &part) && str_to_u64(part, UINT32_MAX, &n));
    return n;
}

/* "f.yaml:3:7: words" or "f.yaml: words". */
static void check_refused(struct str text, struct str report, const struct err *err)
{
    struct str rest = report;

    FUZZ_CHECK(err->code != ERR_OK && str_starts(str_of(err->msg), STR("f.yaml:")));
    FUZZ_CHECK(str_starts(report, STR("f.yaml:")) && str_ends(report, STR("\n")));
    rest = str_drop(rest, 7);
    if (rest.p[0] != ' ') {
        struct text_pos end = text_pos_at(text, text.n), pos;

        pos.line = (uint32_t)number(&rest);
        pos.column = (uint32_t)number(&rest);
        FUZZ_CHECK(pos.line >= 1 && pos.column >= 1);
        FUZZ_CHECK(pos.line < end.line || (pos.line == end.line && pos.column <= end.column));
    }
    FUZZ_CHECK(rest.n > 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct config *c = NULL;
    struct strbuf report;
    struct err err = {.code = ERR_OK};

    strbuf_init(&report, MEMORY);
    if (config_parse(STR("f.yaml"), text, &names, &c, &report, &err) == 0) {
        FUZZ_CHECK(c != NULL && report.n == 0);
        check_accepted(c);
    } else {
        FUZZ_CHECK(c == NULL);
        check_refused(text, strbuf_view(&report), &err);
    }
    config_free(c);
    strbuf_fini(&report);
    return 0;
}
