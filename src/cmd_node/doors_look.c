#include "cmd_node/doors_look.h"

#include "base/file.h"
#include "cmd_node/api.h"
#include "node/doors.h"

#define FILE_BYTES_MAX (1U << 20)

static void tell_of_file(const char *path, const struct doors_file *file, const struct log *log)
{
    if (file->imports.p != NULL) {
        LOG_WARNING(log,
                    "A configuration of the container runtime imports files that are not read here, and they may let "
                    "containers have GPUs without fgpu-node; name them by --runtime-config, too, behind it",
                    LOG_CSTR("path", path), LOG_STR("line", file->imports));
    }
    if (file->strange) {
        LOG_WARNING(log,
                    "There is no line of TOML in what should be a configuration of the container runtime; whether it "
                    "lets containers have GPUs without fgpu-node is not known",
                    LOG_CSTR("path", path));
    }
}

/* False: what the file opens is not known. */
static bool read_one(const char *path, struct doors *d, const struct log *log)
{
    struct doors_file file = {.strange = false};
    struct strbuf text;
    struct err err;
    int rc;

    strbuf_init(&text, FILE_BYTES_MAX);
    rc = file_read(path, &text, &err);
    if (rc == 0) {
        file = doors_read(d, strbuf_view(&text));
        tell_of_file(path, &file, log);
    } else if (rc == -ERR_NOT_FOUND) {
        LOG_INFO(log, "No configuration of a container runtime here", LOG_CSTR("path", path));
    } else {
        LOG_WARNING(log,
                    "Cannot read a configuration of the container runtime; whether it lets containers have GPUs "
                    "without fgpu-node is not known",
                    LOG_CSTR("why", err.msg));
    }
    strbuf_fini(&text);
    return (rc == 0 && !file.strange) || rc == -ERR_NOT_FOUND;
}

unsigned doors_look(const struct node_options *options, struct events *events, const struct log *log, bool *ret_looked)
{
    struct event e = {.reason = EVENT_DOOR_OPEN, .regarding = node_event_object(str_of(options->node_name))};
    struct doors d = {.read_runtime = false};
    bool known = true;
    unsigned open = 0;

    for (size_t i = 0; i < options->runtime_config_n; i++) {
        known = read_one(options->runtime_config[i], &d, log) && known;
    }
    *ret_looked = known && d.read_runtime;
    for (int which = 0; which < DOOR__MAX; which++) {
        if (doors_is_open(&d, (enum door)which)) {
            open |= 1U << which;
            LOG_WARNING(log, "This node lets containers past fgpu-node", LOG_CSTR("how", door_words((enum door)which)));
            e.note = str_of(door_words((enum door)which));
            events_record(events, &e);
        }
    }
    return open;
}
