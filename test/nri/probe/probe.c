/* nri_probe SOCKET NAME INDEX [--fail-request] - a plugin that writes what it is told, one line of JSON each, and does
 * to a container what annotations of its pod ask for:
 *
 *     probe/refuse, probe/refuse-start  a sentence: the container is not made, not started
 *     probe/env      NAME=value         probe/cdi  vendor/class=name
 *     probe/device   /dev/name (c 195:7, mode 0660)
 *     probe/mount    /source (to /probe, read-only)
 *     probe/long     a number: a variable LONG of that many bytes
 *     probe/hang     anything: it does not answer until it is told to end
 *
 * Ends when its standard input does. test/nri/runtime_test.go runs it against NRI as runtimes contain it.
 */
#include "base/bug.h"
#include "base/json_write.h"
#include "nri/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (64U * 1024 * 1024)

static void write_texts(struct json_writer *w, const char *key, const struct str *list, size_t n)
{
    json_write_kv_array_begin(w, key);
    for (size_t i = 0; i < n; i++) {
        json_write_str(w, list[i]);
    }
    json_write_array_end(w);
}

static void write_pod(struct json_writer *w, const struct nri_pod *pod)
{
    json_write_kv_object_begin(w, "pod");
    json_write_kv_str(w, "id", pod->id);
    json_write_kv_str(w, "name", pod->name);
    json_write_kv_str(w, "uid", pod->uid);
    json_write_kv_str(w, "namespace", pod->namespace);
    json_write_kv_str(w, "runtimeHandler", pod->runtime_handler);
    json_write_kv_str(w, "cgroupParent", pod->cgroup_parent);
    json_write_kv_object_begin(w, "annotations");
    for (size_t i = 0; i < pod->annotations.n; i++) {
        json_write_key_str(w, pod->annotations.items[i].key);
        json_write_str(w, pod->annotations.items[i].value);
    }
    json_write_object_end(w);
    json_write_object_end(w);
}

static void write_mounts(struct json_writer *w, const struct nri_container *c)
{
    json_write_kv_array_begin(w, "mounts");
    for (size_t i = 0; i < c->mount_n; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "destination", c->mounts[i].destination);
        json_write_kv_str(w, "type", c->mounts[i].type);
        json_write_kv_str(w, "source", c->mounts[i].source);
        write_texts(w, "options", c->mounts[i].options, c->mounts[i].option_n);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_devices(struct json_writer *w, const struct nri_container *c)
{
    json_write_kv_array_begin(w, "devices");
    for (size_t i = 0; i < c->device_n; i++) {
        json_write_object_begin(w);
        json_write_kv_str(w, "path", c->devices[i].path);
        json_write_kv_str(w, "type", c->devices[i].type);
        json_write_kv_i64(w, "major", c->devices[i].major);
        json_write_kv_i64(w, "minor", c->devices[i].minor);
        json_write_kv_i64(w, "fileMode", c->devices[i].file_mode);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_device_rules(struct json_writer *w, const struct nri_container *c)
{
    json_write_kv_array_begin(w, "deviceRules");
    for (size_t i = 0; i < c->device_rule_n; i++) {
        json_write_object_begin(w);
        json_write_kv_bool(w, "allow", c->device_rules[i].allow);
        json_write_kv_str(w, "type", c->device_rules[i].type);
        json_write_kv_i64(w, "major", c->device_rules[i].major);
        json_write_kv_i64(w, "minor", c->device_rules[i].minor);
        json_write_kv_str(w, "access", c->device_rules[i].access);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void write_container(struct json_writer *w, const struct nri_container *c)
{
    json_write_kv_object_begin(w, "container");
    json_write_kv_str(w, "id", c->id);
    json_write_kv_str(w, "podId", c->pod_id);
    json_write_kv_str(w, "name", c->name);
    json_write_kv_i64(w, "state", c->state);
    write_texts(w, "env", c->env, c->env_n);
    write_texts(w, "cdiDevices", c->cdi_devices, c->cdi_device_n);
    write_mounts(w, c);
    write_devices(w, c);
    write_device_rules(w, c);
    json_write_kv_str(w, "cgroupsPath", c->cgroups_path);
    json_write_kv_i64(w, "pid", c->pid);
    json_write_object_end(w);
}

/* One line; each part may be NULL. */
static void tell(const char *event, const struct nri_pod *pod, const struct nri_container *container,
                 const struct nri_runtime *runtime, const char *words)
{
    struct strbuf line;
    struct json_writer w;

    strbuf_init(&line, LINE_MAX_BYTES);
    json_writer_init(&w, &line);
    json_write_object_begin(&w);
    json_write_kv_cstr(&w, "event", event);
    if (pod != NULL) {
        write_pod(&w, pod);
    }
    if (container != NULL) {
        write_container(&w, container);
    }
    if (runtime != NULL) {
        json_write_kv_object_begin(&w, "runtime");
        json_write_kv_str(&w, "name", runtime->name);
        json_write_kv_str(&w, "version", runtime->version);
        json_write_kv_str(&w, "nriVersion", runtime->nri_version);
        json_write_kv_i64(&w, "requestTimeoutMs", runtime->request_timeout_ms);
        json_write_object_end(&w);
    }
    if (words != NULL) {
        json_write_kv_cstr(&w, "words", words);
    }
    json_write_object_end(&w);
    strbuf_add_char(&line, '\n');
    BUG_ON(line.overflowed || fwrite(line.p, 1, line.n, stdout) != line.n || fflush(stdout) != 0);
    strbuf_fini(&line);
}

static void on_connected(void *ctx, const struct nri_runtime *runtime)
{
    (void)ctx;
    tell("connected", NULL, NULL, runtime, NULL);
}

static void on_sync_begin(void *ctx)
{
    (void)ctx;
    tell("sync begin", NULL, NULL, NULL, NULL);
}

static void on_sync_pod(void *ctx, const struct nri_pod *pod)
{
    (void)ctx;
    tell("sync pod", pod, NULL, NULL, NULL);
}

static void on_sync_container(void *ctx, const struct nri_container *container)
{
    (void)ctx;
    tell("sync container", NULL, container, NULL, NULL);
}

static void on_sync_unreadable(void *ctx, const char *what, const struct err *why)
{
    (void)ctx, (void)what;
    tell("sync unreadable", NULL, NULL, NULL, why->msg);
}

static void on_sync_end(void *ctx)
{
    (void)ctx;
    tell("sync end", NULL, NULL, NULL, NULL);
}

static void on_disconnected(void *ctx, const struct err *why)
{
    (void)ctx;
    tell("disconnected", NULL, NULL, NULL, why->msg);
}

static struct str wish(const struct nri_pod *pod, const char *key)
{
    const struct str *value = kv_find(pod->annotations, str_of(key));

    return value != NULL ? *value : STR_NULL;
}

static void add_env(struct nri_adjustment *to, const struct nri_pod *pod, struct arena *a)
{
    struct kv *env = ARENA_ARRAY(a, 2, struct kv);
    struct str value = wish(pod, "probe/env"), name;
    uint64_t n;

    BUG_ON(env == NULL);
    if (value.n > 0) {
        str_split(&value, '=', &name);
        env[to->env.n++] = (struct kv){name, value};
    }
    if (str_to_u64(wish(pod, "probe/long"), LINE_MAX_BYTES, &n)) {
        char *text = arena_alloc(a, n);

        BUG_ON(text == NULL);
        memset(text, 'x', n);
        env[to->env.n++] = (struct kv){STR("LONG"), {text, n}};
    }
    to->env.items = env;
}

static int on_create(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct arena *a,
                     struct nri_adjustment *ret, struct err *reterr)
{
    static const struct str read_only[] = {{"bind", 4}, {"ro", 2}};
    struct str *cdi = ARENA_NEW(a, struct str);
    struct nri_device *device = ARENA_NEW(a, struct nri_device);
    struct nri_mount *mount = ARENA_NEW(a, struct nri_mount);

    (void)ctx;
    tell("create", pod, container, NULL, NULL);
    BUG_ON(cdi == NULL || device == NULL || mount == NULL);
    if (wish(pod, "probe/hang").n > 0) {
        while (getchar() != EOF) {
        }
    }
    if (wish(pod, "probe/refuse").n > 0) {
        return err_set(reterr, ERR_INVALID, "%.*s", STR_ARG(wish(pod, "probe/refuse")));
    }
    add_env(ret, pod, a);
    *cdi = wish(pod, "probe/cdi");
    *device = (struct nri_device){
        .path = wish(pod, "probe/device"), .type = STR("c"), .major = 195, .minor = 7, .file_mode = 0660};
    *mount = (struct nri_mount){.destination = STR("/probe"),
                                .type = STR("bind"),
                                .source = wish(pod, "probe/mount"),
                                .options = read_only,
                                .option_n = ARRAY_LEN(read_only)};
    ret->cdi_devices = cdi;
    ret->cdi_device_n = cdi->n > 0;
    ret->devices = device;
    ret->device_n = device->path.n > 0;
    ret->mounts = mount;
    ret->mount_n = mount->source.n > 0;
    return 0;
}

static int on_start(void *ctx, const struct nri_pod *pod, const struct nri_container *container, struct err *reterr)
{
    (void)ctx;
    tell("start", pod, container, NULL, NULL);
    return wish(pod, "probe/refuse-start").n > 0
               ? err_set(reterr, ERR_INVALID, "%.*s", STR_ARG(wish(pod, "probe/refuse-start")))
               : 0;
}

static void on_stop(void *ctx, const struct nri_pod *pod, const struct nri_container *container)
{
    (void)ctx;
    tell("stop", pod, container, NULL, NULL);
}

static void on_remove(void *ctx, const struct nri_pod *pod, const struct nri_container *container)
{
    (void)ctx;
    tell("remove", pod, container, NULL, NULL);
}

static void on_sandbox_removed(void *ctx, const struct nri_pod *pod)
{
    (void)ctx;
    tell("sandbox removed", pod, NULL, NULL, NULL);
}

static void write_log(void *ctx, const struct log_record *r)
{
    (void)ctx;
    fprintf(stderr, "%s", r->msg);
    for (size_t i = 0; i < r->field_n; i++) {
        fprintf(stderr, " %s=%.*s", r->fields[i].key, STR_ARG(r->fields[i].s));
    }
    fprintf(stderr, "\n");
}

int main(int argc, char **argv)
{
    static const struct nri_handler handler = {.connected = on_connected,
                                               .sync_begin = on_sync_begin,
                                               .sync_pod = on_sync_pod,
                                               .sync_container = on_sync_container,
                                               .sync_unreadable = on_sync_unreadable,
                                               .sync_end = on_sync_end,
                                               .create = on_create,
                                               .start = on_start,
                                               .stop = on_stop,
                                               .remove = on_remove,
                                               .sandbox_removed = on_sandbox_removed,
                                               .disconnected = on_disconnected};
    static const struct log log = {.write = write_log};
    struct nri_plugin *plugin;
    struct err err;

    if (argc < 4) {
        fprintf(stderr, "usage: nri_probe SOCKET NAME INDEX [--fail-request]\n");
        return 2;
    }
    const struct nri_plugin_options options = {.socket_path = argv[1],
                                               .name = argv[2],
                                               .index = argv[3],
                                               .fail_request = argc > 4 && strcmp(argv[4], "--fail-request") == 0,
                                               .log = &log};
    if (nri_plugin_start(&options, &handler, &plugin, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    while (getchar() != EOF) {
    }
    nri_plugin_stop(plugin);
    return 0;
}
