/* The words of a request as they stand in the pod: for people who look for the mistake in it. */
#include "base/sentence.h"
#include "core/dialects/dialect.h"
#include "core/dialects/spelling_internal.h"

/* A longer value is cut; a mistake is seen in its beginning. */
enum { VALUE_BYTES_MAX = 80, ALL_BYTES_MAX = 320 };

static bool is_of_some_domain(struct str key)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        if (spelling_is_in_domain(dialects[i], key)) {
            return true;
        }
    }
    return false;
}

static bool is_asked_with(const struct policy *p, struct str key)
{
    return !dialect_writes_key(key) &&
           (dialect_is_request_key(key) || dialect_owns_resource(p, key) || is_of_some_domain(key));
}

static void add_words(struct sentence *t, const struct policy *p, struct kv_list list)
{
    for (size_t i = 0; i < list.n; i++) {
        struct str key = list.items[i].key, value = list.items[i].value;

        if (is_asked_with(p, key)) {
            sentence_add(t, "%s%.*s: %.*s%s", t->n == 0 ? "" : ", ", STR_ARG(key),
                         (int)(value.n < VALUE_BYTES_MAX ? value.n : VALUE_BYTES_MAX), value.p != NULL ? value.p : "",
                         value.n > VALUE_BYTES_MAX ? "..." : "");
        }
    }
}

struct str dialect_as_written(const struct policy *p, const struct pod *pod, struct arena *a)
{
    char text[ALL_BYTES_MAX];
    struct sentence t = sentence_begin(text, sizeof(text));

    add_words(&t, p, pod->annotations);
    for (size_t i = 0; i < pod->container_n + pod->init_container_n; i++) {
        const struct container *c = pod_container(pod, i);

        add_words(&t, p, c->limits.n > 0 ? c->limits : c->requests);
    }
    return arena_str(a, str_of(text));
}
