#include "node/support/node_fixture.h"

#include "base/bug.h"
#include "model/mig.h"
#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES (8U << 20)

static const struct str exempt[] = {{"kube-system", 11}};

void node_fixture_init(struct node_fixture *f)
{
    static const char *const uuids[] = {"GPU-a", "GPU-b", "GPU-c", "MIG-d"};

    memset(f, 0, sizeof(*f));
    arena_init(&f->arena, ARENA_BYTES);
    BUG_ON(sign_key_make(&f->key, NULL) != 0);
    f->keys = sign_keyring_of(&f->key);
    for (int32_t i = 0; i < FIXTURE_DEVICES; i++) {
        f->devices[i] = (struct device){.uuid = str_of(uuids[i]),
                                        .index = i,
                                        .minor = i,
                                        .mem_mib = 1000,
                                        .slot_n = 4,
                                        .numa = -1,
                                        .healthy = i != 2,
                                        .gpu_index = -1,
                                        .start = -1};
    }
    f->devices[3].profile = mig_profile_parse(STR("1g.5gb"));
    f->devices[3].slot_n = 1;
    f->rules.hand_over = (struct hand_over_rules){.way = HAND_OVER_BY_CDI, .exempt = exempt, .exempt_n = 1};
    f->rules.node = (struct node_facts){.name = STR("n1"),
                                        .keys = f->keys,
                                        .devices = f->devices,
                                        .device_n = FIXTURE_DEVICES,
                                        .overcommit_milli = 1000,
                                        .overcommit_mem_milli = 1000};
}

void node_fixture_fini(struct node_fixture *f)
{
    sign_keyring_put(f->keys);
    arena_fini(&f->arena);
}

int node_fixture_set_up(void **state)
{
    struct node_fixture *f = xmalloc(sizeof(*f));

    node_fixture_init(f);
    *state = f;
    return 0;
}

int node_fixture_tear_down(void **state)
{
    node_fixture_fini(*state);
    free(*state);
    return 0;
}

struct assigned_device share_of(const struct node_fixture *f, int32_t index, int32_t milli, int64_t mem_mib)
{
    const struct device *d = &f->devices[index];

    return (struct assigned_device){
        .uuid = d->uuid, .index = index, .milli = milli, .mem_mib = mem_mib, .profile = d->profile};
}

struct assigned_device whole_of(const struct node_fixture *f, int32_t index)
{
    struct assigned_device d = share_of(f, index, 1000, 1000);

    d.exclusive = d.profile == 0; /* an instance always is, without saying so */
    return d;
}

struct str record_text(struct node_fixture *f, const struct sign_key *key, const struct assigned_container *containers,
                       size_t n, struct str pod_uid, struct str node)
{
    struct assignment as = {.id = STR("d1"), .containers = containers, .container_n = n};
    struct str bytes, text;

    if (key != NULL) {
        uint8_t *signature = arena_alloc(&f->arena, SIGN_SIGNATURE_BYTES);

        BUG_ON(signature == NULL || assignment_signed_bytes(&as, pod_uid, node, &f->arena, &bytes, NULL) != 0 ||
               sign_bytes(key, bytes, signature, NULL) != 0);
        as.sig_key = arena_str(&f->arena, str_of(key->public_.id));
        as.sig = signature;
    }
    BUG_ON(assignment_format(&as, &f->arena, &text, NULL) != 0);
    return text;
}

struct pod_facts pod_with(struct node_fixture *f, const char *name, struct str record)
{
    struct kv *annotation = ARENA_NEW(&f->arena, struct kv);

    BUG_ON(annotation == NULL);
    *annotation = (struct kv){STR(ASSIGNMENT_KEY), record};
    return (struct pod_facts){.uid = arena_printf(&f->arena, "uid-%s", name),
                              .namespace_ = STR("team"),
                              .name = arena_str(&f->arena, str_of(name)),
                              .annotations = {annotation, 1}};
}

struct pod_facts pod_of(struct node_fixture *f, const char *name, const struct assigned_device *devices, size_t n)
{
    const struct assigned_container main = {.name = STR("main"), .devices = devices, .device_n = n};
    struct str uid = arena_printf(&f->arena, "uid-%s", name);

    return pod_with(f, name, record_text(f, &f->key, &main, 1, uid, STR("n1")));
}

struct container_facts container_of(struct node_fixture *f, const struct pod_facts *pod, const char *name)
{
    return (struct container_facts){.id = arena_printf(&f->arena, "c-%.*s-%s", STR_ARG(pod->name), name),
                                    .sandbox_id = arena_printf(&f->arena, "s-%.*s", STR_ARG(pod->name)),
                                    .name = arena_str(&f->arena, str_of(name))};
}

void assert_says(struct str sentence, const char *what)
{
    char *text = str_dup(sentence);

    if (strstr(text, what) == NULL) {
        fail_msg("wanted \"%s\", got \"%s\"", what, text);
    }
    free(text);
}
