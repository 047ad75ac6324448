#include "core/request/host.h"

#include "base/quantity.h"

#define NANO_PER_MILLI 1000000
#define NANO_PER_MIB ((__int128)1000000000 << 20)

/* Nano units; sums of as many quantities as a pod can have stay far below 128 bits. */
typedef __int128 nano;

static nano read_nano(struct str text)
{
    struct quantity q = {.nano = 0};

    if (quantity_parse(text, &q) == QUANTITY_TOO_LARGE && !str_starts(text, STR("-"))) {
        return INT64_MAX * (nano)1000000000;
    }
    return q.nano > 0 ? q.nano : 0;
}

static int32_t saturate(nano v)
{
    return v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

static int32_t round_up(nano v, nano unit)
{
    return saturate(v / unit + (v % unit != 0));
}

/* False: it asks for nothing of that name. */
static bool asked_in(struct kv_list requests, struct kv_list limits, struct str resource, nano *ret)
{
    const struct str *text = kv_find(requests, resource);

    text = text != NULL ? text : kv_find(limits, resource);
    if (text != NULL) {
        *ret = read_nano(*text);
    }
    return text != NULL;
}

/* Moves on over one more container: what runs beside it from now on, and the peak so far. */
struct running {
    nano always; /* containers that stay */
    nano peak;
    bool any;
};

static void count_running(struct running *r, const struct container *c, struct str resource, bool stays)
{
    nano amount = 0;

    r->any = asked_in(c->requests, c->limits, resource, &amount) || r->any;
    r->peak = r->always + amount > r->peak ? r->always + amount : r->peak;
    r->always += stays ? amount : 0;
}

static nano request_of_pod(const struct pod *pod, struct str resource)
{
    const struct str *overhead = kv_find(pod->overhead, resource);
    struct kv_list limits = pod->limits;
    struct running r = {0};
    nano whole;

    for (size_t i = 0; i < pod->init_container_n + pod->container_n; i++) {
        count_running(&r, pod_container(pod, i), resource, pod_container_stays(pod, i));
    }
    if (r.any) {
        limits.n = 0; /* the API server takes the pod's limit only if no container asks */
    }
    if (asked_in(pod->requests, limits, resource, &whole)) {
        r.peak = whole;
    }
    return r.peak + (overhead != NULL ? read_nano(*overhead) : 0);
}

struct host_request host_request_of_pod(const struct pod *pod)
{
    return (struct host_request){
        .cpu_milli = round_up(request_of_pod(pod, STR("cpu")), NANO_PER_MILLI),
        .mem_mib = round_up(request_of_pod(pod, STR("memory")), NANO_PER_MIB),
    };
}

struct host_capacity host_capacity_of_node(const struct node *node)
{
    const struct str *cpu = kv_find(node->allocatable, STR("cpu"));
    const struct str *mem = kv_find(node->allocatable, STR("memory"));

    return (struct host_capacity){
        .cpu_milli = cpu == NULL ? 0 : round_up(read_nano(*cpu), NANO_PER_MILLI),
        .mem_mib = mem == NULL ? 0 : saturate(read_nano(*mem) / NANO_PER_MIB),
    };
}
