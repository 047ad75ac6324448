#include "config/yaml_doc.h"

#include "config/support/unit.h"

#include <string.h>

/* The tree in one line: {key:value,...} [a,b] "text"@line:column, plain text without quotes. */
static void show(const struct yaml_doc_node *n, struct strbuf *out)
{
    if (n == NULL) {
        strbuf_add_cstr(out, "none");
    } else if (n->type == YAML_DOC_TEXT) {
        strbuf_addf(out, n->plain ? "%.*s@%u:%u" : "\"%.*s\"@%u:%u", STR_ARG(n->text), n->pos.line, n->pos.column);
    } else if (n->type == YAML_DOC_REFUSED) {
        strbuf_add_cstr(out, "refused");
    } else {
        strbuf_add_char(out, n->type == YAML_DOC_LIST ? '[' : '{');
        for (const struct yaml_doc_node *c = n->first; c != NULL; c = c->next) {
            strbuf_add_cstr(out, c == n->first ? "" : ",");
            if (n->type == YAML_DOC_MAP) {
                strbuf_addf(out, "%.*s:", STR_ARG(c->key->text));
            }
            show(c, out);
        }
        strbuf_add_char(out, n->type == YAML_DOC_LIST ? ']' : '}');
    }
}

/* Reads and gives the tree, or "-" when reading stopped, then the findings. */
static void read_and_show(struct str text, struct strbuf *out)
{
    const struct yaml_doc_node *root = NULL;
    struct diagnostics d;
    struct arena arena;

    arena_init(&arena, 64 << 20);
    diagnostics_init(&d, &arena, STR("f"), text);
    if (yaml_doc_read(text, &arena, &d, &root) == 0) {
        show(root, out);
    } else {
        assert_null(root);
        assert_true(diagnostics_any(&d));
        strbuf_add_char(out, '-');
    }
    strbuf_add_char(out, '\n');
    d.secret = true; /* messages only; carets have their own test */
    diagnostics_render(&d, out);
    arena_fini(&arena);
}

struct row {
    const char *name;
    struct str text;
    const char *want;
};
#define ROW(name_, text_, want_)                                                                                       \
    {                                                                                                                  \
        name_, {text_, sizeof(text_) - 1}, want_                                                                       \
    }

static void check_rows(const struct row *rows, size_t n)
{
    struct strbuf out;

    strbuf_init(&out, 1 << 20);
    for (size_t i = 0; i < n; i++) {
        strbuf_reset(&out);
        read_and_show(rows[i].text, &out);
        expect_text(strbuf_view(&out), rows[i].want, rows[i].name);
    }
    strbuf_fini(&out);
}

static void read__accepted__tree_with_positions(void **state)
{
    static const struct row rows[] = {
        ROW("block", "a: 1\nb:\n- x\n- 'y z'\n", "{a:1@1:4,b:[x@3:3,\"y z\"@4:3]}\n"),
        ROW("flow", "{a: [1, 2], b: {}}", "{a:[1@1:6,2@1:9],b:{}}\n"),
        ROW("json", "{\"a\":\"x\\/y\",\n\t\"b\":[true,null]}\n", "{a:\"x/y\"@1:6,b:[true@2:7,null@2:12]}\n"),
        ROW("no value", "a:\nb: ~\n", "{a:@1:3,b:~@2:4}\n"),
        ROW("empty", "", "none\n"),
        ROW("comments only", "# nothing\n\n", "none\n"),
        ROW("one explicit document", "---\na: 1\n...\n", "{a:1@2:4}\n"),
        ROW("byte order mark",
            "\xef\xbb\xbf"
            "a: 1\n",
            "{a:1@1:4}\n"),
        ROW("crlf", "a: 1\r\nb: 2\r\n", "{a:1@1:4,b:2@2:4}\n"),
        ROW("columns are characters", "\xc3\xa9\xc3\xa9: {b: 1}\n", "{\xc3\xa9\xc3\xa9:{b:1@1:9}}\n"),
        ROW("percent inside", "a: |\n  %TAG\nb: '%x'\n", "{a:\"%TAG\n\"@1:4,b:\"%x\"@3:4}\n"),
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void read__refused_but_complete__tree_and_findings(void **state)
{
    static const struct row rows[] = {
        ROW("duplicate key", "a: 1\nb: 2\na: 3\n", "{a:1@1:4,b:2@2:4}\nf:3:1: duplicate key 'a', first on line 1\n"),
        ROW("duplicate key in flow, quoted", "{a: 1, \"a\": {x: 1}, b: 2}",
            "{a:1@1:5,b:2@1:24}\nf:1:8: duplicate key 'a', first on line 1\n"),
        ROW("same key in two maps", "{a: {x: 1}, b: {x: 1}}", "{a:{x:1@1:9},b:{x:1@1:20}}\n"),
        ROW("anchor and alias", "a: &x 1\nb: *x\n",
            "{a:1@1:4,b:refused}\nf:1:4: anchors are not accepted; remove the '&x'\n"
            "f:2:4: aliases are not accepted; write the value out instead of '*x'\n"),
        ROW("merge key", "a: {b: 1}\n<<: {c: 2}\n",
            "{a:{b:1@1:8}}\nf:2:1: merge keys are not accepted; write the keys out\n"),
        ROW("quoted << is a key", "'<<': 1\n", "{<<:1@1:7}\n"),
        ROW("tags", "a: !!int 1\nb: !x {c: 1}\n",
            "{a:refused,b:refused}\nf:1:4: tags are not accepted; remove the '!...' before the "
            "value\n"
            "f:2:4: tags are not accepted; remove the '!...' before the value\n"),
        ROW("list as key", "? [a, b]\n: 1\nc: 2\n", "{c:2@3:4}\nf:1:3: a key must be text, not a list\n"),
        ROW("map as key", "{{a: 1}: {b: 2}, c: 3}", "{c:3@1:21}\nf:1:2: a key must be text, not a mapping\n"),
        ROW("alias as key", "a: 1\n*x : 2\n",
            "{a:1@1:4}\nf:2:1: aliases are not accepted; write the value out instead of '*x'\n"),
        ROW("second document", "a: 1\n---\nb: 2\n",
            "{a:1@1:4}\nf:2:1: a second document starts here; the file must hold only one\n"),
        ROW("escaped NUL", "a: \"x\\0y\"\n", "{a:refused}\nf:1:4: text must not contain a NUL\n"),
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void read__malformed__stops_with_place_and_remedy(void **state)
{
    static const struct row rows[] = {
        ROW("tab", "a:\n\tb: 1\n",
            "-\nf:2:1: not valid YAML: found character that cannot start any token; "
            "indent with spaces, not with a tab\n"),
        ROW("at sign", "a: @b\n",
            "-\nf:1:4: not valid YAML: found character that cannot start any token; "
            "put text that starts with this in quotes\n"),
        ROW("indentation", "a: 1\n  b: 2\n",
            "-\nf:2:4: not valid YAML: mapping values are not allowed in this context; "
            "check the indentation, and put text that contains ': ' in quotes\n"),
        ROW("no colon", "a: 1\nb\nc: 2\n",
            "-\nf:3:1: not valid YAML: could not find expected ':'; a key needs ': ' after it\n"),
        ROW("open bracket", "a: [1, 2\n",
            "-\nf:2:1: not valid YAML: did not find expected ',' or ']'; a '[' is not closed\n"),
        ROW("open quote", "a: 'x\n",
            "-\nf:2:1: not valid YAML: found unexpected end of stream; a quote is not closed\n"),
        ROW("cut off without a last line break", "a: 1\nb",
            "-\nf:2:2: not valid YAML: could not find expected ':'; a key needs ': ' after it\n"),
        ROW("bad escape", "a: \"\\q\"\n",
            "-\nf:1:5: not valid YAML: found unknown escape character; use single quotes, or "
            "'\\\\' for one backslash\n"),
        ROW("control byte", "a: 1\nb: x\x01y\n",
            "-\nf:2:5: not valid YAML: control characters are not allowed; save the file as plain "
            "text\n"),
        ROW("latin-1", "a: 1\nb: \xe9t\xe9\n",
            "-\nf:2:5: not valid YAML: invalid trailing UTF-8 octet; save the file as UTF-8\n"),
        ROW("utf-16 with mark",
            "\xff\xfe"
            "a\0:\0",
            "-\nf:1:1: the file is UTF-16; save it as UTF-8\n"),
        ROW("utf-16 without mark", "a\0:\0",
            "-\nf:1:2: a NUL byte: the file is UTF-16 or not text at all; save it as UTF-8\n"),
        ROW("yaml directive", "# c\n%YAML 1.1\n---\na: 1\n",
            "-\nf:2:1: directives are not accepted; remove this line\n"),
        ROW("directive of a second document", "a: 1\n...\n%TAG ! x:\n---\nb: 1\n",
            "-\nf:3:1: directives are not accepted; remove this line\n"),
        ROW("findings before the stop stay", "a: 1\na: 2\nb: [\n",
            "-\nf:2:1: duplicate key 'a', first on line 1\nf:4:1: not valid YAML: did not find "
            "expected node content\n"),
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* libyaml alone needs seconds to minutes for these; the time limit of the test program is the
 * check. */
static void read__hostile__stops_early(void **state)
{
    static const struct {
        const char *name, *unit, *want;
        size_t times;
    } rows[] = {
        {"open brackets", "[", "-\nf:1:33: nested deeper than 32 levels\n", 100000},
        {"open braces", "{a: ", "-\nf:1:129: nested deeper than 32 levels\n", 60000},
        {"nested dashes", "- ", "-\nf:1:65: nested deeper than 32 levels\n", 100000},
        {"directives", "%TAG !a! x\n", "-\nf:1:1: directives are not accepted; remove this line\n", 20000},
        {"anchors", "&a ",
         "-\nf:1:1: anchors are not accepted; remove the '&a'\n"
         "f:1:4: not valid YAML: did not find expected <document start>\n",
         80000},
    };
    struct strbuf text, out;

    strbuf_init(&text, 1 << 20);
    strbuf_init(&out, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        strbuf_reset(&text);
        strbuf_reset(&out);
        for (size_t k = 0; k < rows[i].times; k++) {
            strbuf_add_cstr(&text, rows[i].unit);
        }
        read_and_show(strbuf_view(&text), &out);
        expect_text(strbuf_view(&out), rows[i].want, rows[i].name);
    }
    strbuf_fini(&text);
    strbuf_fini(&out);
}

static void read__depth_at_the_cap__accepted(void **state)
{
    char text[2 * YAML_DEPTH_MAX];
    struct strbuf out;

    memset(text, '[', YAML_DEPTH_MAX);
    memset(text + YAML_DEPTH_MAX, ']', YAML_DEPTH_MAX);
    strbuf_init(&out, 1 << 20);
    read_and_show((struct str){text, sizeof(text)}, &out);
    strbuf_add_char(&out, '\0');
    assert_int_equal(out.n, sizeof(text) + 2);
    strbuf_fini(&out);
}

static void read__too_many_keys__stops(void **state)
{
    struct strbuf text, out;

    strbuf_init(&text, 1 << 20);
    strbuf_init(&out, 1 << 20);
    for (int i = 0; i <= YAML_KEYS_MAX; i++) {
        strbuf_addf(&text, "k%d: 1\n", i);
    }
    read_and_show(strbuf_view(&text), &out);
    expect_text(strbuf_view(&out), "-\nf:1001:1: more than 1000 keys here\n", NULL);
    strbuf_fini(&text);
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__accepted__tree_with_positions),
        cmocka_unit_test(read__refused_but_complete__tree_and_findings),
        cmocka_unit_test(read__malformed__stops_with_place_and_remedy),
        cmocka_unit_test(read__hostile__stops_early),
        cmocka_unit_test(read__depth_at_the_cap__accepted),
        cmocka_unit_test(read__too_many_keys__stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
