#include "messages.h"

#include "nri.pb-c.h"

static void *take(void *arena, size_t n)
{
    return arena_alloc(arena, n);
}

static void keep(void *arena, void *p)
{
    (void)arena, (void)p; /* released with the arena */
}

ProtobufCBinaryData message_bytes(struct str s)
{
    return (ProtobufCBinaryData){.len = s.n, .data = (uint8_t *)(uintptr_t)s.p};
}

struct str message_text(ProtobufCBinaryData b)
{
    return b.len == 0 ? STR_NULL : (struct str){(const char *)b.data, b.len};
}

void *message_read(const ProtobufCMessageDescriptor *type, struct str bytes, struct arena *a, const char *what,
                   struct err *reterr)
{
    ProtobufCAllocator from_arena = {.alloc = take, .free = keep, .allocator_data = a};
    void *m = protobuf_c_message_unpack(type, &from_arena, bytes.n, (const uint8_t *)bytes.p);

    if (m == NULL && a->overflowed) {
        err_set(reterr, ERR_PARSE, "%s of %zu bytes takes more than %zu bytes of memory", what, bytes.n, a->max_bytes);
    } else if (m == NULL) {
        err_set(reterr, ERR_PARSE, "%s of %zu bytes cannot be read as a message of NRI", what, bytes.n);
    }
    return m;
}

void message_pack(struct strbuf *out, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    char *to = strbuf_reserve(out, n);

    if (to != NULL) {
        strbuf_commit(out, protobuf_c_message_pack(m, (uint8_t *)to));
    }
}

/* ---- reading ---- */

/* Lists become arrays of n facts in the arena; NULL only when the arena is full. */
static const struct str *texts(const ProtobufCBinaryData *list, size_t n, struct arena *a)
{
    struct str *ret = ARENA_ARRAY(a, n, struct str);

    for (size_t i = 0; ret != NULL && i < n; i++) {
        ret[i] = message_text(list[i]);
    }
    return ret;
}

bool message_pod(const Nri__Pod *m, struct arena *a, struct nri_pod *ret)
{
    *ret = (struct nri_pod){0};
    if (m == NULL) {
        return true;
    }
    struct kv *annotations = ARENA_ARRAY(a, m->n_annotations, struct kv);
    for (size_t i = 0; annotations != NULL && i < m->n_annotations; i++) {
        annotations[i] = (struct kv){message_text(m->annotations[i]->key), message_text(m->annotations[i]->value)};
    }
    *ret = (struct nri_pod){.id = message_text(m->id),
                            .name = message_text(m->name),
                            .uid = message_text(m->uid),
                            .namespace = message_text(m->ns),
                            .annotations = {annotations, m->n_annotations},
                            .runtime_handler = message_text(m->runtime_handler),
                            .cgroup_parent = m->on_linux != NULL ? message_text(m->on_linux->cgroup_parent) : STR_NULL};
    return annotations != NULL;
}

static const struct nri_mount *mounts(Nri__Mount *const *list, size_t n, struct arena *a)
{
    struct nri_mount *ret = ARENA_ARRAY(a, n, struct nri_mount);

    for (size_t i = 0; ret != NULL && i < n; i++) {
        const struct str *options = texts(list[i]->options, list[i]->n_options, a);

        if (options == NULL) {
            return NULL;
        }
        ret[i] = (struct nri_mount){.destination = message_text(list[i]->destination),
                                    .type = message_text(list[i]->type),
                                    .source = message_text(list[i]->source),
                                    .options = options,
                                    .option_n = list[i]->n_options};
    }
    return ret;
}

static const struct nri_device *devices(Nri__LinuxDevice *const *list, size_t n, struct arena *a)
{
    struct nri_device *ret = ARENA_ARRAY(a, n, struct nri_device);

    for (size_t i = 0; ret != NULL && i < n; i++) {
        ret[i] = (struct nri_device){.path = message_text(list[i]->path),
                                     .type = message_text(list[i]->type),
                                     .major = list[i]->major,
                                     .minor = list[i]->minor,
                                     .file_mode = list[i]->file_mode != NULL ? list[i]->file_mode->value : 0};
    }
    return ret;
}

/* A number that is not there means all. */
static int64_t number_or_all(const Nri__OptionalInt64 *n)
{
    return n != NULL ? n->value : -1;
}

static const struct nri_device_rule *device_rules(Nri__LinuxDeviceCgroup *const *list, size_t n, struct arena *a)
{
    struct nri_device_rule *ret = ARENA_ARRAY(a, n, struct nri_device_rule);

    for (size_t i = 0; ret != NULL && i < n; i++) {
        ret[i] = (struct nri_device_rule){.allow = list[i]->allow,
                                          .type = message_text(list[i]->type),
                                          .major = number_or_all(list[i]->major),
                                          .minor = number_or_all(list[i]->minor),
                                          .access = message_text(list[i]->access)};
    }
    return ret;
}

static const struct str *cdi_names(Nri__CdiDevice *const *list, size_t n, struct arena *a)
{
    struct str *ret = ARENA_ARRAY(a, n, struct str);

    for (size_t i = 0; ret != NULL && i < n; i++) {
        ret[i] = message_text(list[i]->name);
    }
    return ret;
}

static enum nri_container_state state_of(int32_t number)
{
    return number >= NRI_CONTAINER_CREATED && number <= NRI_CONTAINER_STOPPED ? (enum nri_container_state)number
                                                                              : NRI_CONTAINER_UNKNOWN;
}

bool message_container(const Nri__Container *m, struct arena *a, struct nri_container *ret)
{
    *ret = (struct nri_container){0};
    if (m == NULL) {
        return true;
    }
    *ret = (struct nri_container){.id = message_text(m->id),
                                  .pod_id = message_text(m->pod_id),
                                  .name = message_text(m->name),
                                  .state = state_of(m->state),
                                  .env = texts(m->env, m->n_env, a),
                                  .env_n = m->n_env,
                                  .mounts = mounts(m->mounts, m->n_mounts, a),
                                  .mount_n = m->n_mounts,
                                  .cdi_devices = cdi_names(m->cdi_devices, m->n_cdi_devices, a),
                                  .cdi_device_n = m->n_cdi_devices,
                                  .pid = m->pid};
    if (m->on_linux != NULL) {
        ret->devices = devices(m->on_linux->devices, m->on_linux->n_devices, a);
        ret->device_n = m->on_linux->n_devices;
        ret->cgroups_path = message_text(m->on_linux->cgroups_path);
        if (m->on_linux->resources != NULL) {
            ret->device_rules = device_rules(m->on_linux->resources->devices, m->on_linux->resources->n_devices, a);
            ret->device_rule_n = m->on_linux->resources->n_devices;
        }
    }
    return !a->overflowed;
}

/* ---- writing: messages in the arena that point at the facts ---- */

/* n messages of a type, all at their defaults, as the field of a message wants them; NULL: the arena is full. */
static void *list_of(const ProtobufCMessageDescriptor *type, size_t n, struct arena *a)
{
    void **list = ARENA_ARRAY(a, n, void *);
    char *block = arena_calloc(a, n, type->sizeof_message);

    if (list == NULL || block == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = block + i * type->sizeof_message;
        protobuf_c_message_init(type, list[i]);
    }
    return list;
}

static bool add_env(Nri__Adjustment *m, const struct nri_adjustment *from, struct arena *a)
{
    m->n_env = from->env.n;
    m->env = list_of(&nri__pair__descriptor, m->n_env, a);
    if (m->env == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->n_env; i++) {
        m->env[i]->key = message_bytes(from->env.items[i].key);
        m->env[i]->value = message_bytes(from->env.items[i].value);
    }
    return true;
}

static bool add_cdi_devices(Nri__Adjustment *m, const struct nri_adjustment *from, struct arena *a)
{
    m->n_cdi_devices = from->cdi_device_n;
    m->cdi_devices = list_of(&nri__cdi_device__descriptor, m->n_cdi_devices, a);
    if (m->cdi_devices == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->n_cdi_devices; i++) {
        m->cdi_devices[i]->name = message_bytes(from->cdi_devices[i]);
    }
    return true;
}

static bool fill_mount(Nri__Mount *m, const struct nri_mount *from, struct arena *a)
{
    m->destination = message_bytes(from->destination);
    m->type = message_bytes(from->type);
    m->source = message_bytes(from->source);
    m->n_options = from->option_n;
    m->options = ARENA_ARRAY(a, from->option_n, ProtobufCBinaryData);
    if (m->options == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->n_options; i++) {
        m->options[i] = message_bytes(from->options[i]);
    }
    return true;
}

static bool add_mounts(Nri__Adjustment *m, const struct nri_adjustment *from, struct arena *a)
{
    m->n_mounts = from->mount_n;
    m->mounts = list_of(&nri__mount__descriptor, m->n_mounts, a);
    if (m->mounts == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->n_mounts; i++) {
        if (!fill_mount(m->mounts[i], &from->mounts[i], a)) {
            return false;
        }
    }
    return true;
}

static bool add_devices(Nri__Adjustment *m, const struct nri_adjustment *from, struct arena *a)
{
    Nri__LinuxAdjustment **on_linux = list_of(&nri__linux_adjustment__descriptor, 1, a);
    Nri__LinuxDevice **list = list_of(&nri__linux_device__descriptor, from->device_n, a);
    Nri__OptionalUint32 **modes = list_of(&nri__optional_uint32__descriptor, from->device_n, a);

    if (on_linux == NULL || list == NULL || modes == NULL) {
        return false;
    }
    for (size_t i = 0; i < from->device_n; i++) {
        modes[i]->value = from->devices[i].file_mode;
        list[i]->path = message_bytes(from->devices[i].path);
        list[i]->type = message_bytes(from->devices[i].type);
        list[i]->major = from->devices[i].major;
        list[i]->minor = from->devices[i].minor;
        list[i]->file_mode = modes[i]->value != 0 ? modes[i] : NULL;
    }
    on_linux[0]->devices = list;
    on_linux[0]->n_devices = from->device_n;
    m->on_linux = from->device_n > 0 ? on_linux[0] : NULL;
    return true;
}

bool message_add_adjustment(struct strbuf *out, const struct nri_adjustment *from, struct arena *a)
{
    Nri__Adjustment adjustment = NRI__ADJUSTMENT__INIT;
    Nri__CreateContainerResponse response = NRI__CREATE_CONTAINER_RESPONSE__INIT;

    if (from->env.n + from->cdi_device_n + from->mount_n + from->device_n == 0) {
        return true;
    }
    if (!add_env(&adjustment, from, a) || !add_cdi_devices(&adjustment, from, a) || !add_mounts(&adjustment, from, a) ||
        !add_devices(&adjustment, from, a)) {
        return false;
    }
    response.adjust = &adjustment;
    message_pack(out, &response.base);
    return !out->overflowed;
}
