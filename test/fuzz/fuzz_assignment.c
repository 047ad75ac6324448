/* The record fgpu.io/assignment, which anybody may have written: what is accepted is within the
 * documented ranges, and formatting it and reading it back gives the same record. What other dialects write of it they
 * read back alike, as far as their format has its fields. */
#include "fuzz.h"

#include "core/record/assignment.h"
#include "core/dialects/dialect.h"
#include "kube/names.h"

#include <string.h>

#define MEMORY (8U << 20)

static void check_device(const struct assigned_container *c, size_t i)
{
    const struct assigned_device *d = &c->devices[i];

    FUZZ_CHECK(d->uuid.n <= ASSIGNMENT_UUID_BYTES_MAX);
    FUZZ_CHECK(d->index >= 0 && d->milli >= 0 && d->milli <= ASSIGNMENT_MILLI_MAX);
    FUZZ_CHECK(d->mem_mib >= 0 && d->mem_mib <= ASSIGNMENT_MEM_MIB_MAX);
    FUZZ_CHECK(i == 0 || d[-1].index < d->index);
    for (size_t k = 0; k < i; k++) {
        FUZZ_CHECK(d->uuid.n == 0 || !str_eq(d->uuid, c->devices[k].uuid));
    }
}

static void check_record(const struct assignment *as)
{
    FUZZ_CHECK((as->sig == NULL) == (as->sig_key.n == 0) && as->sig_key.n <= ASSIGNMENT_SIG_KEY_BYTES_MAX);
    FUZZ_CHECK(as->id.n >= 1 && as->id.n <= ASSIGNMENT_ID_BYTES_MAX);
    for (size_t i = 0; i < as->container_n; i++) {
        const struct assigned_container *c = &as->containers[i];

        FUZZ_CHECK(c->name.n >= 1 && c->name.n <= ASSIGNMENT_NAME_BYTES_MAX && c->position == 0);
        for (size_t k = 0; k < i; k++) {
            FUZZ_CHECK(!str_eq(c->name, as->containers[k].name));
        }
        for (size_t k = 0; k < c->device_n; k++) {
            check_device(c, k);
        }
    }
}

static void check_equal(const struct assignment *a, const struct assignment *b)
{
    FUZZ_SAME(a->id, b->id);
    FUZZ_SAME(a->sig_key, b->sig_key);
    FUZZ_CHECK(a->sig == NULL ? b->sig == NULL : memcmp(a->sig, b->sig, ASSIGNMENT_SIG_BYTES) == 0);
    FUZZ_CHECK(a->container_n == b->container_n && a->qos == b->qos);
    for (size_t i = 0; i < a->container_n; i++) {
        const struct assigned_container *x = &a->containers[i], *y = &b->containers[i];

        FUZZ_SAME(x->name, y->name);
        FUZZ_CHECK(x->init == y->init && x->device_n == y->device_n);
        for (size_t k = 0; k < x->device_n; k++) {
            FUZZ_SAME(x->devices[k].uuid, y->devices[k].uuid);
            FUZZ_CHECK(x->devices[k].index == y->devices[k].index && x->devices[k].milli == y->devices[k].milli &&
                       x->devices[k].mem_mib == y->devices[k].mem_mib &&
                       x->devices[k].profile == y->devices[k].profile &&
                       x->devices[k].exclusive == y->devices[k].exclusive);
        }
    }
}

/* The positions that the containers of such a pod would have. */
static struct assignment with_positions(const struct assignment *as, struct arena *a)
{
    struct assigned_container *c = ARENA_ARRAY(a, as->container_n, struct assigned_container);
    uint16_t n[2] = {0, 0};

    FUZZ_CHECK(c != NULL);
    for (size_t i = 0; i < as->container_n; i++) {
        c[i] = as->containers[i];
        c[i].position = n[c[i].init]++;
    }
    return (struct assignment){.id = as->id,
                               .containers = c,
                               .container_n = as->container_n,
                               .qos = as->qos,
                               .sig_key = as->sig_key,
                               .sig = as->sig};
}

/* What a signature covers depends on the record alone, not on how it was spelled, nor on its signature. */
static void check_signed_bytes(const struct assignment *as, const struct assignment *again, struct arena *a)
{
    struct assignment unsigned_ = *again;
    struct str x, y;

    unsigned_.sig_key = STR_NULL;
    unsigned_.sig = NULL;
    FUZZ_CHECK(assignment_signed_bytes(as, STR("u"), STR("n"), a, &x, NULL) == 0);
    FUZZ_CHECK(assignment_signed_bytes(&unsigned_, STR("u"), STR("n"), a, &y, NULL) == 0);
    FUZZ_SAME(x, y);
}

static void check_annotations(struct kv_list list)
{
    FUZZ_CHECK(list.n >= 1);
    FUZZ_SAME(list.items[0].key, STR(ASSIGNMENT_KEY));
    for (size_t i = 0; i < list.n; i++) {
        FUZZ_CHECK(kube_name_is_annotation_key(list.items[i].key) && dialect_writes_key(list.items[i].key));
        for (size_t k = 0; k < i; k++) {
            FUZZ_CHECK(!str_eq(list.items[i].key, list.items[k].key));
        }
    }
}

static void check_same_list(struct kv_list x, struct kv_list y)
{
    FUZZ_CHECK(x.n == y.n);
    for (size_t i = 0; i < x.n; i++) {
        FUZZ_SAME(x.items[i].key, y.items[i].key);
        FUZZ_SAME(x.items[i].value, y.items[i].value);
    }
}

/* Read back and written again it is the same text: nothing that the format has was lost. */
static void check_dialects(const struct assignment *as, struct arena *a)
{
    for (size_t i = 0; dialects[i] != NULL; i++) {
        const struct dialect *d = dialects[i];
        struct assignment back;
        struct kv_list list, again;

        if (d->format_assignment == NULL) {
            continue;
        }
        FUZZ_CHECK(d->format_assignment(as, a, &list, NULL) == 0);
        FUZZ_CHECK(d->parse_assignment(list, a, &back, NULL) == 0);
        FUZZ_CHECK(d->format_assignment(&back, a, &again, NULL) == 0);
        check_same_list(list, again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    enum lending lending = fuzz_below(&in, QOS__MAX) == 0 ? LEND_ALLOW : LEND_FORBID;
    struct str text = fuzz_rest(&in);
    struct assignment as = {.container_n = 77}, placed, again;
    struct kv_list list, list_again;
    struct arena a;
    struct err err;
    int rc;

    arena_init(&a, MEMORY);
    rc = assignment_parse(text, &a, &as, &err);
    if (rc != 0) {
        FUZZ_CHECK(as.container_n == 77 && err.msg[0] != '\0');
        FUZZ_CHECK(rc == -ERR_PARSE || rc == -ERR_INVALID || rc == -ERR_LIMIT);
        arena_fini(&a);
        return 0;
    }
    check_record(&as);
    placed = with_positions(&as, &a);
    placed.lending = lending;
    /* It can grow: what stood there unescaped may be written escaped. */
    rc = dialect_answer(&placed, &a, &list, &err);
    FUZZ_CHECK(rc == 0 || (rc == -ERR_LIMIT && text.n > ASSIGNMENT_BYTES_MAX / 6));
    if (rc == 0) {
        check_annotations(list);
        FUZZ_CHECK(assignment_parse(list.items[0].value, &a, &again, &err) == 0);
        check_equal(&as, &again);
        check_signed_bytes(&as, &again, &a);
        placed = with_positions(&again, &a);
        placed.lending = lending;
        FUZZ_CHECK(dialect_answer(&placed, &a, &list_again, &err) == 0);
        check_same_list(list, list_again);
        check_dialects(&placed, &a);
    }
    arena_fini(&a);
    return 0;
}
