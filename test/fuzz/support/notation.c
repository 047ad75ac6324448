#include "support/notation.h"

#include <string.h>

static bool add(struct notation_keys *keys, struct str line, struct arena *a)
{
    struct str rest = line, key;

    str_split(&rest, ' ', &key);
    if (keys == NULL || key.n == 0 || keys->n == NOTATION_KEYS_MAX) {
        return false;
    }
    if (key.p[0] == '/') {
        key = str_drop(key, 1);
    } else if (memchr(key.p, '/', key.n) == NULL) {
        key = arena_printf(a, "fgpu.io/%.*s", STR_ARG(key));
    }
    for (size_t i = 0; i < keys->n; i++) {
        if (str_eq(keys->items[i].key, key)) {
            return false;
        }
    }
    keys->items[keys->n++] = (struct kv){key, rest};
    return true;
}

static struct kv_list list_of(const struct notation_keys *keys)
{
    return (struct kv_list){keys->items, keys->n};
}

static void finish(struct notation *n)
{
    n->pod.annotations = n->node.annotations = list_of(&n->annotations);
    n->pod.labels = n->node.labels = list_of(&n->labels);
    n->node.allocatable = list_of(&n->allocatable);
    for (size_t i = 0; i < NOTATION_CONTAINERS_MAX; i++) {
        n->app[i].limits = list_of(&n->limits[i]);
        n->app[i].requests = list_of(&n->requests[i]);
        n->init[i].limits = list_of(&n->limits[NOTATION_CONTAINERS_MAX + i]);
        n->init[i].requests = list_of(&n->requests[NOTATION_CONTAINERS_MAX + i]);
    }
}

void notation_read(struct fuzz_input *in, struct arena *a, struct notation *ret)
{
    struct notation_keys *limits = &ret->allocatable, *requests = NULL;
    struct pod *pod = &ret->pod;

    *ret = (struct notation){
        .pod = {.namespace_ = STR("default"), .name = STR("p"), .uid = STR("u")},
        .node = {.name = STR("n"), .uid = STR("nu")},
    };
    pod->containers = ret->app;
    pod->init_containers = ret->init;
    while (in->n > 0) {
        struct str line = fuzz_until(in, '\n'), rest = str_drop(line, 1);
        struct str name = str_drop(line, 2);

        switch (line.n > 0 ? line.p[0] : '\0') {
        case '@':
            add(&ret->annotations, rest, a);
            break;
        case '#':
            add(&ret->labels, rest, a);
            break;
        case '=':
            add(limits, rest, a);
            break;
        case '~':
            add(requests, rest, a);
            break;
        case 'c':
            if (pod->container_n < NOTATION_CONTAINERS_MAX) {
                limits = &ret->limits[pod->container_n];
                requests = &ret->requests[pod->container_n];
                ret->app[pod->container_n++].name = name;
            }
            break;
        case 'i':
        case 's':
            if (pod->init_container_n < NOTATION_CONTAINERS_MAX) {
                limits = &ret->limits[NOTATION_CONTAINERS_MAX + pod->init_container_n];
                requests = &ret->requests[NOTATION_CONTAINERS_MAX + pod->init_container_n];
                ret->init[pod->init_container_n++] = (struct container){.name = name, .sidecar = line.p[0] == 's'};
            }
            break;
        default:
            break;
        }
    }
    finish(ret);
}

static void reverse(struct notation_keys *keys)
{
    for (size_t i = 0; i < keys->n / 2; i++) {
        struct kv kv = keys->items[i];

        keys->items[i] = keys->items[keys->n - 1 - i];
        keys->items[keys->n - 1 - i] = kv;
    }
}

void notation_reverse(struct notation *n)
{
    reverse(&n->annotations);
    reverse(&n->labels);
    reverse(&n->allocatable);
    for (size_t i = 0; i < 2 * NOTATION_CONTAINERS_MAX; i++) {
        reverse(&n->limits[i]);
        reverse(&n->requests[i]);
    }
}

const struct policy *notation_policy(struct fuzz_input *in)
{
    static struct compute_resource compute[2];
    static struct named_size sizes[3];
    static struct node_template templates[1];
    static struct policy p;
    uint8_t how = fuzz_u8(in);

    compute[0] = (struct compute_resource){STR("fgpu.io/gpu-milli"), 1000};
    compute[1] = (struct compute_resource){STR("example.com/metagpu"), 7, ABOVE_SPAN};
    sizes[0] = (struct named_size){.name = STR("small"), .milli = 100, .mem_mib = 1024, .count = 1};
    sizes[1] = (struct named_size){.name = STR("whole"), .milli = 0, .mem_mib = 0, .count = 2};
    sizes[2] = (struct named_size){.name = STR("share"), .milli = 500, .mem_mib = 0, .count = 0};
    templates[0] = (struct node_template){STR("fgpu.io/type"), STR("t"), 4, 16384, STR("T4")};
    p = *policy_defaults();
    p.compute_resources = compute;
    p.compute_resource_n = ARRAY_LEN(compute);
    p.sizes = sizes;
    p.size_n = ARRAY_LEN(sizes);
    p.templates = templates;
    p.template_n = ARRAY_LEN(templates);
    p.memory_only = (how & 1) != 0 ? MEMORY_ONLY_FREE : MEMORY_ONLY_SHARE;
    p.mem_reserve_mib = (how & 2) != 0 ? 512 : 0;
    p.max_sharers = (how & 4) != 0 ? 1 : 16;
    p.kai = (how & 8) != 0 ? DIALECT_SERVE : DIALECT_IGNORE;
    return &p;
}
