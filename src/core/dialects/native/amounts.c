/* Amounts of the native dialect: text to numbers, numbers to one GPU request. Nothing is rounded in the
 * pod's disfavour or favour except bytes to MiB (up), and nothing is guessed. */
#include "base/quantity.h"
#include "core/dialects/native/native_internal.h"
#include "model/mig.h"

#define NANO_PER_MILLI 1000000
#define BYTES_PER_MIB (INT64_C(1) << 20)
#define MEMORY_BYTES_MIN BYTES_PER_MIB /* below, the unit was forgotten */

static enum demand_defect read_quantity(struct str text, struct quantity *ret)
{
    switch (quantity_parse(text, ret)) {
    case QUANTITY_OK:
        return ret->nano < 0 ? DEMAND_QUANTITY : DEMAND_OK;
    case QUANTITY_TOO_LARGE:
        return DEMAND_TOO_LARGE;
    case QUANTITY_MALFORMED:
        return DEMAND_QUANTITY;
    }
    return DEMAND_QUANTITY;
}

enum demand_defect native_read_integer(struct str text, int64_t *ret)
{
    struct quantity q;
    enum demand_defect defect = read_quantity(text, &q);

    if (defect != DEMAND_OK) {
        return defect;
    }
    if (!quantity_is_integer(q)) {
        return DEMAND_QUANTITY;
    }
    *ret = quantity_value(q);
    return DEMAND_OK;
}

const struct str *native_amount(const struct container *c, struct str resource)
{
    const struct str *limit = kv_find(c->limits, resource);
    return limit != NULL ? limit : kv_find(c->requests, resource);
}

/* 1..1000, or a multiple of 1000 for that many whole devices. */
static enum demand_defect check_milli(int64_t milli)
{
    return milli > DEVICE_MILLI && milli % DEVICE_MILLI != 0 ? DEMAND_FRACTION : DEMAND_OK;
}

static enum demand_defect milli_of_units(int64_t units, const struct compute_resource *r, int64_t *ret)
{
    int32_t units_per_gpu = r->units_per_gpu;
    __int128 scaled = (__int128)units * DEVICE_MILLI;

    if (scaled % units_per_gpu != 0) {
        return DEMAND_FRACTION;
    }
    __int128 milli = scaled / units_per_gpu;
    if (milli > INT64_MAX) {
        return DEMAND_TOO_LARGE;
    }
    *ret = (int64_t)milli;
    return r->above_one_gpu == ABOVE_SPAN ? DEMAND_OK : check_milli(*ret);
}

/* Adds what the container asks of the resource to `*total`, which no other resource of its sort may
 * have filled before: two names for the same thing are a request written twice. */
static enum demand_defect read_resource(const struct container *c, struct str resource, int64_t *total)
{
    const struct str *text = native_amount(c, resource);
    int64_t amount = 0;

    if (text == NULL) {
        return DEMAND_OK;
    }
    enum demand_defect defect = native_read_integer(*text, &amount);
    if (defect != DEMAND_OK) {
        return defect;
    }
    if (amount > 0 && *total > 0) {
        return DEMAND_TWICE;
    }
    *total += amount;
    return DEMAND_OK;
}

static enum demand_defect read_compute(const struct policy *p, const struct container *c, int64_t *ret_milli)
{
    int64_t units = 0;

    for (size_t i = 0; i < p->compute_resource_n; i++) {
        int64_t before = units;

        if (p->compute_resources[i].picks == PICKS_KUBELET) {
            continue;
        }
        enum demand_defect defect = read_resource(c, p->compute_resources[i].name, &units);
        if (defect == DEMAND_OK && units != before) {
            defect = milli_of_units(units, &p->compute_resources[i], ret_milli);
        }
        if (defect != DEMAND_OK) {
            return defect;
        }
    }
    return DEMAND_OK;
}

static enum demand_defect read_names(const struct container *c, const struct str *names, size_t n, int64_t *ret,
                                     bool *ret_present)
{
    for (size_t i = 0; i < n; i++) {
        enum demand_defect defect = read_resource(c, names[i], ret);
        if (defect != DEMAND_OK) {
            return defect;
        }
        *ret_present = *ret_present || native_amount(c, names[i]) != NULL;
    }
    return DEMAND_OK;
}

/* ---- MIG as resources ---- */

static bool is_mig(struct str resource)
{
    return str_starts(resource, STR(MIG_RESOURCE_PREFIX));
}

/* One profile, of whatever number of instances: a container with two would need two devices that are not alike. */
static enum demand_defect read_mig(struct kv_list list, struct kv_list before, struct native_ask *ask)
{
    for (size_t i = 0; i < list.n; i++) {
        struct kv r = list.items[i];
        int64_t amount = 0;
        enum demand_defect defect;

        if (!is_mig(r.key) || kv_find(before, r.key) != NULL) {
            continue;
        }
        defect = native_read_integer(r.value, &amount);
        if (defect != DEMAND_OK) {
            return defect;
        }
        if (amount == 0) {
            continue;
        }
        if (ask->profile != 0 || mig_profile_of_resource(r.key) == MIG_NO_PROFILE) {
            return DEMAND_MIG;
        }
        ask->profile = mig_profile_of_resource(r.key);
        ask->count = amount;
        ask->count_given = true;
    }
    return DEMAND_OK;
}

static enum demand_defect add_mig(const struct container *c, struct native_ask *ask)
{
    struct native_ask mig = {0};
    enum demand_defect defect = read_mig(c->limits, (struct kv_list){0}, &mig);

    if (defect == DEMAND_OK) {
        defect = read_mig(c->requests, c->limits, &mig);
    }
    if (defect != DEMAND_OK || mig.profile == 0) {
        return defect;
    }
    if (!native_ask_is_empty(ask) || ask->count_given) {
        return DEMAND_MIG;
    }
    *ask = mig;
    return DEMAND_OK;
}

/* ---- named sizes ---- */

static enum demand_defect read_size(const struct policy *p, struct str name, struct str namespace_,
                                    struct native_ask *ret)
{
    struct named_size buffer;
    bool elsewhere;
    const struct named_size *size = policy_size_of(p, name, namespace_, &buffer, &elsewhere);

    if (elsewhere) {
        return DEMAND_SIZE_ELSEWHERE;
    }
    if (size == NULL || size->milli < 0 || size->mem_mib < 0 || size->count < 0 ||
        (size->milli == 0 && size->mem_mib == 0 && size->count == 0)) {
        return DEMAND_UNKNOWN_SIZE;
    }
    *ret = (struct native_ask){
        .milli = size->milli,
        .mem_mib = size->mem_mib,
        .count = size->count,
        .count_given = size->count != 0,
    };
    return check_milli(size->milli);
}

/* Exactly one: whether two of them are twice the share or two shares, nobody could tell. */
static enum demand_defect add_size(const struct policy *p, struct str namespace_, struct kv r, struct native_ask *ask)
{
    int64_t amount = 0;
    enum demand_defect defect = native_read_integer(r.value, &amount);

    if (defect != DEMAND_OK || amount == 0) {
        return defect;
    }
    if (!native_ask_is_empty(ask) || ask->count_given) {
        return DEMAND_TWICE;
    }
    if (amount != 1) {
        return DEMAND_SIZE_AMOUNT;
    }
    return read_size(p, str_drop(r.key, STR(NATIVE_SIZE_RESOURCE).n), namespace_, ask);
}

static enum demand_defect add_sizes(const struct policy *p, struct str namespace_, const struct container *c,
                                    struct native_ask *ask)
{
    enum demand_defect defect = DEMAND_OK;

    for (size_t i = 0; i < c->limits.n + c->requests.n && defect == DEMAND_OK; i++) {
        bool of_limits = i < c->limits.n;
        struct kv r = of_limits ? c->limits.items[i] : c->requests.items[i - c->limits.n];

        if (str_starts(r.key, STR(NATIVE_SIZE_RESOURCE)) && (of_limits || kv_find(c->limits, r.key) == NULL)) {
            defect = add_size(p, namespace_, r, ask);
        }
    }
    return defect;
}

enum demand_defect native_ask_of_container(const struct policy *p, struct str namespace_, const struct container *c,
                                           struct native_ask *ret)
{
    struct native_ask ask = {0};
    bool memory_given = false;
    enum demand_defect defect = read_compute(p, c, &ask.milli);

    if (defect == DEMAND_OK) {
        defect = read_names(c, p->memory_resources, p->memory_resource_n, &ask.mem_mib, &memory_given);
    }
    if (defect == DEMAND_OK) {
        defect = read_names(c, p->count_resources, p->count_resource_n, &ask.count, &ask.count_given);
    }
    if (defect == DEMAND_OK) {
        defect = add_mig(c, &ask);
    }
    if (defect == DEMAND_OK) {
        defect = add_sizes(p, namespace_, c, &ask);
    }
    if (defect == DEMAND_OK) {
        *ret = ask;
    }
    return defect;
}

static enum demand_defect read_fraction(struct str text, int64_t *ret_milli)
{
    struct quantity q;
    enum demand_defect defect = read_quantity(text, &q);

    if (defect != DEMAND_OK) {
        return defect;
    }
    if (q.nano == 0 || q.nano % NANO_PER_MILLI != 0) {
        return DEMAND_FRACTION;
    }
    __int128 milli = q.nano / NANO_PER_MILLI;
    if (milli > INT64_MAX) {
        return DEMAND_TOO_LARGE;
    }
    *ret_milli = (int64_t)milli;
    return check_milli(*ret_milli);
}

static enum demand_defect read_bytes(struct str text, int64_t *ret_mib)
{
    int64_t bytes;
    enum demand_defect defect = native_read_integer(text, &bytes);

    if (defect != DEMAND_OK) {
        return defect;
    }
    if (bytes == 0) {
        return DEMAND_QUANTITY;
    }
    *ret_mib = bytes / BYTES_PER_MIB + (bytes % BYTES_PER_MIB != 0);
    return DEMAND_OK;
}

/* Every unit of a quantity ends in a letter; "4e9" has none, as "4000000000" has none. */
enum demand_defect native_check_unbound(const struct pod *pod)
{
    const struct str *text = kv_find(pod->annotations, STR(NATIVE_KEY_MEMORY));
    struct quantity q;

    if (text == NULL || quantity_parse(*text, &q) != QUANTITY_OK) {
        return DEMAND_OK; /* of which read_bytes() says more */
    }
    if (text->n == 0 || text->p[text->n - 1] <= '9' || quantity_value(q) < MEMORY_BYTES_MIN) {
        return DEMAND_MEMORY_UNIT;
    }
    return DEMAND_OK;
}

enum demand_defect native_ask_of_annotations(const struct policy *p, struct str namespace_, struct kv_list annotations,
                                             struct native_ask *ret)
{
    const struct str *fraction = kv_find(annotations, STR(NATIVE_KEY_FRACTION));
    const struct str *memory = kv_find(annotations, STR(NATIVE_KEY_MEMORY));
    const struct str *count = kv_find(annotations, STR(NATIVE_KEY_COUNT));
    const struct str *size = kv_find(annotations, STR(NATIVE_KEY_SIZE));
    const struct str *profile = kv_find(annotations, STR(NATIVE_KEY_PROFILE));
    struct native_ask ask = {.count_given = count != NULL};
    enum demand_defect defect = DEMAND_OK;

    if (profile != NULL) {
        ask.profile = mig_profile_parse(str_trim(*profile));
        if (ask.profile == MIG_NO_PROFILE || fraction != NULL || size != NULL) {
            return DEMAND_MIG;
        }
    }
    if (size != NULL) {
        return fraction != NULL || memory != NULL || count != NULL ? DEMAND_TWICE
                                                                   : read_size(p, *size, namespace_, ret);
    }
    if (fraction != NULL) {
        defect = read_fraction(*fraction, &ask.milli);
    }
    if (defect == DEMAND_OK && memory != NULL) {
        defect = read_bytes(*memory, &ask.mem_mib);
    }
    if (defect == DEMAND_OK && count != NULL) {
        defect = native_read_integer(*count, &ask.count);
    }
    if (defect == DEMAND_OK) {
        *ret = ask;
    }
    return defect;
}

enum demand_defect native_gpu_request_of(const struct native_ask *ask, struct gpu_request *w)
{
    bool several = ask->milli > DEVICE_MILLI;
    int64_t count = ask->count_given ? ask->count : several ? ask->milli / DEVICE_MILLI : 1;

    if (several && (ask->count_given || ask->mem_mib > 0)) {
        return DEMAND_CONTRADICTION;
    }
    if (count < 1 || count > DEVICES_PER_NODE_MAX) {
        return DEMAND_COUNT;
    }
    if (ask->mem_mib > DEMAND_MEM_MIB_MAX) {
        return DEMAND_TOO_LARGE;
    }

    w->count = (uint16_t)count;
    w->profile = ask->profile;
    w->milli = (int32_t)(several ? DEVICE_MILLI : ask->milli);
    w->mem_mib = ask->mem_mib;
    if (ask->profile != 0) {
        w->kind = GPU_REQUEST_WHOLE;
        w->milli = DEVICE_MILLI;
    } else if (ask->mem_mib > 0) {
        w->kind = ask->milli == 0 ? GPU_REQUEST_MEMORY : GPU_REQUEST_BOTH;
    } else if (ask->milli == 0 || ask->milli >= DEVICE_MILLI) {
        w->kind = GPU_REQUEST_WHOLE;
        w->milli = DEVICE_MILLI;
    } else {
        w->kind = GPU_REQUEST_MILLI;
    }
    return DEMAND_OK;
}
