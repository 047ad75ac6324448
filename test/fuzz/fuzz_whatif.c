/* The body of /v1/whatif, and the answer for a small cluster: whatever is accepted is within its documented ranges and
 * names that Kubernetes accepts, the reasons add up to the nodes, more asked never means fewer fit, and the ledger is
 * as before. */
#include "fuzz.h"

#include "model/names.h"
#include "routes/whatif.h"
#include "support/canned.h"

#include <string.h>

#define MEMORY (32U << 20)

static struct canned cluster;

static void check_pairs(struct kv_list list)
{
    FUZZ_CHECK(list.n <= WHATIF_KEYS_MAX);
    for (size_t i = 0; i < list.n; i++) {
        FUZZ_CHECK(kube_name_is_annotation_key(list.items[i].key));
        FUZZ_CHECK(list.items[i].value.n <= WHATIF_VALUE_MAX);
    }
}

static uint64_t count(const struct whatif_question *q, struct arena *a)
{
    char text[EXPLAIN_SENTENCE_MAX];
    uint64_t sum = 0, fitting;
    struct whatif w;

    FUZZ_CHECK(whatif_ask(&cluster.placement, a, q, 3, &w, NULL) == 0);
    FUZZ_CHECK(w.asked == q->count && w.fitting <= w.asked && (!w.at_least || w.fitting < w.asked));
    FUZZ_CHECK((w.first.n > 0) == (w.fitting > 0));
    FUZZ_CHECK(w.fitting == 0 || w.e.shown_n == 0);
    for (size_t v = 0; v < VERDICT__MAX; v++) {
        sum += w.next[v];
    }
    FUZZ_CHECK(sum == w.e.node_n);
    FUZZ_CHECK(strlen(whatif_sentence(&w, text, sizeof(text))) > 0);
    fitting = w.fitting;
    whatif_end(&w);
    return fitting;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct whatif_question q;
    struct arena a;
    struct err err;

    if (cluster.store == NULL) {
        canned_init(&cluster);
    }
    arena_init(&a, MEMORY);
    if (whatif_read(fuzz_rest(&in), &a, &q, &err) != 0) {
        FUZZ_CHECK(err.msg[0] != '\0');
    } else {
        uint64_t generation = store_generation(cluster.store), some, more;

        check_pairs(q.limits);
        check_pairs(q.annotations);
        FUZZ_CHECK(kube_name_is_label(q.namespace_));
        FUZZ_CHECK(q.count >= 1 && q.count <= WHATIF_PODS_MAX);
        some = count(&q, &a);
        q.count = WHATIF_PODS_MAX;
        more = count(&q, &a);
        FUZZ_CHECK(some <= more);
        FUZZ_CHECK(store_generation(cluster.store) == generation);
    }
    arena_fini(&a);
    return 0;
}
