/* Lists of required plugins, as the author of a pod writes them: whatever the text, the Binding's list is one of names
 * with the agent among them, on one line, and reading it again changes nothing. */
#include "fuzz.h"

#include "base/json_read.h"
#include "core/dialects/answer_internal.h"
#include "core/dialects/dialect.h"

static struct str list_of(struct str text, struct arena *a)
{
    const struct kv carried = {STR(REQUIRED_PLUGINS_KEY), text};
    struct kv_list list = {NULL, 0};
    struct str leftovers;

    FUZZ_CHECK(dialect_leftovers((struct kv_list){&carried, 1}, a, &leftovers));
    FUZZ_CHECK(dialect_require_agent(&list, leftovers, a, NULL) == 0);
    FUZZ_CHECK(list.n == 1 && str_eq(list.items[0].key, STR(REQUIRED_PLUGINS_KEY)));
    return list.items[0].value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_reader r;
    struct str list, name;
    unsigned agents = 0;
    struct arena a;

    arena_init(&a, 1 << 22);
    list = list_of((struct str){(const char *)data, size}, &a);
    json_reader_init(&r, list, &a);
    json_array_begin(&r);
    while (json_array_next(&r)) {
        FUZZ_CHECK(json_string(&r, &name));
        agents += str_eq(name, STR(FGPU_NODE_PLUGIN)) || (name.n == 7 && str_ends(name, STR("-" FGPU_NODE_PLUGIN)));
        for (size_t i = 0; i < name.n; i++) {
            FUZZ_CHECK(name.p[i] > ' ' && name.p[i] < 0x7f && name.p[i] != '"' && name.p[i] != '\\');
        }
    }
    FUZZ_CHECK(json_read_end(&r, NULL) == 0);
    FUZZ_CHECK(agents > 0);
    FUZZ_SAME(list_of(list, &a), list);
    arena_fini(&a);
    return 0;
}
