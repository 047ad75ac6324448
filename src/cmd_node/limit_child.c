/* The helper's side: a process that may hang. It has no thread beside, logs nothing, and ends when fgpu-node does. */
#define _GNU_SOURCE /* setns */

#include "base/sentence.h"
#include "cmd_node/limit_helper.h"
#include "cmd_node/limit_wire.h"
#include "cmd_node/proc.h"
#include "node/cgroup_path.h"
#include "nvml/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES_BYTES_MAX (1U << 20)

struct child {
    const char *cgroup_root, *proc;
    struct nvml *nvml;
    bool no_driver; /* it did not answer at all */
};

/* ---- where ---- */

/* In a container the paths of cgroups begin at its own, unless it goes where the first process of the machine is. */
static int enter_cgroup_namespace(struct err *reterr)
{
    struct stat ours, firsts;
    int fd, rc = 0;

    if (stat("/proc/self/ns/cgroup", &ours) != 0 || stat("/proc/1/ns/cgroup", &firsts) != 0 ||
        (ours.st_dev == firsts.st_dev && ours.st_ino == firsts.st_ino)) {
        return 0; /* what it then sees is judged with each container */
    }
    fd = open("/proc/1/ns/cgroup", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWCGROUP) != 0) {
        rc = err_set(reterr, ERR_DENIED,
                     "the cgroups of this machine cannot be seen (error %d); fgpu-node needs hostPID and a privileged "
                     "container",
                     errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    return rc;
}

/* The folder of that cgroup. */
static int see_folder(const struct child *c, struct str cgroup, char folder[PATH_MAX], struct err *reterr)
{
    if (snprintf(folder, PATH_MAX, "%s%.*s", c->cgroup_root, STR_ARG(cgroup)) >= PATH_MAX) {
        return err_set(reterr, ERR_LIMIT, "the name of its cgroup is too long");
    }
    if (access(folder, F_OK) != 0) {
        return err_set(reterr, ERR_UNAVAILABLE,
                       "its cgroup %s cannot be seen; mount the host's /sys/fs/cgroup into fgpu-node", folder);
    }
    return 0;
}

/* The folder of the cgroup of that process, which must be that container's. `id` NULL: whoever's. */
static int find_folder(const struct child *c, const char *process, const char *id, char folder[PATH_MAX],
                       struct err *reterr)
{
    char buf[PROC_FILE_BYTES];
    struct str text, cgroup;
    const char *why;
    bool found;
    int rc = proc_read(c->proc, process, "cgroup", buf, &text, reterr);

    if (rc != 0) {
        return rc;
    }
    found = id != NULL ? cgroup_path_of_container(text, str_of(id), &cgroup, &why) : cgroup_path(text, &cgroup, &why);
    return found ? see_folder(c, cgroup, folder, reterr) : err_set(reterr, ERR_UNAVAILABLE, "%s", why);
}

/* ---- what ---- */

static int limit(const struct child *c, const struct limit_request *r, struct err *reterr)
{
    char folder[PATH_MAX], pid[16];
    int rc;

    snprintf(pid, sizeof(pid), "%u", r->pid);
    rc = find_folder(c, pid, r->container_id, folder, reterr);
    for (uint32_t i = 0; rc == 0 && i < r->device_n && i < DEVICES_PER_NODE_MAX; i++) {
        rc = nvml_limit_memory(c->nvml, folder, r->devices[i].uuid, r->devices[i].hard_bytes, reterr);
    }
    return rc;
}

/* GPUs in MIG mode take no limits and need none. */
static int try_all(struct child *c, const char *folder, struct arena *a, struct err *reterr)
{
    const struct device *devices;
    size_t n, unreadable_n;
    int rc = nvml_read_devices(c->nvml, a, &devices, &n, &unreadable_n, reterr);

    c->no_driver = rc != 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const char *uuid = devices[i].profile == 0 ? arena_cstr(a, devices[i].uuid) : NULL;

        if (uuid != NULL) {
            rc = nvml_limit_memory(c->nvml, folder, uuid, UINT64_MAX, reterr);
        }
    }
    return rc;
}

static int try(struct child *c, struct err *reterr)
{
    char folder[PATH_MAX];
    struct arena a;
    int rc = find_folder(c, "self", NULL, folder, reterr);

    if (rc == 0) {
        arena_init(&a, DEVICES_BYTES_MAX);
        rc = try_all(c, folder, &a, reterr);
        arena_fini(&a);
    }
    return rc;
}

static bool answer(const struct child *c, int rc, const struct err *err)
{
    struct limit_answer a = {.code = rc, .later = rc != 0 && c->no_driver};
    struct sentence why = sentence_begin(a.why, sizeof(a.why));

    if (rc != 0) {
        sentence_add(&why, "%s", err->msg);
    }
    return send(LIMIT_HELPER_FD, &a, sizeof(a), MSG_NOSIGNAL) == (ssize_t)sizeof(a);
}

static bool take_request(struct limit_request *r)
{
    ssize_t n;

    do {
        n = recv(LIMIT_HELPER_FD, r, sizeof(*r), 0);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*r); /* 0: fgpu-node has ended */
}

/* A driver that was loaded anew answers to a library that is opened anew. Now, because nobody waits. */
static bool reopen(struct child *c, const char *library)
{
    struct err err;

    nvml_close(c->nvml);
    c->nvml = NULL;
    return nvml_open(library, &c->nvml, &err) == 0;
}

int limit_helper_main(int argc, char **argv)
{
    struct child c = {.nvml = NULL};
    struct limit_request r;
    struct err err;
    bool heard;
    int rc;

    if (argc != 5) {
        return 2;
    }
    c.cgroup_root = argv[3];
    c.proc = argv[4];
    rc = enter_cgroup_namespace(&err);
    if (rc == 0) {
        rc = nvml_open(argv[2], &c.nvml, &err);
        c.no_driver = rc != 0;
    }
    if (rc == 0 && !nvml_can_limit_memory(c.nvml)) {
        rc = err_set(&err, ERR_UNAVAILABLE, "%s has no memory limits", argv[2]);
    }
    heard = answer(&c, rc, &err);
    while (heard && c.nvml != NULL && take_request(&r)) {
        c.no_driver = false;
        rc = r.trial != 0 ? try(&c, &err) : limit(&c, &r, &err);
        heard = answer(&c, rc, &err) && (rc == 0 || reopen(&c, argv[2])); /* the process after this one says why */
    }
    nvml_close(c.nvml);
    return 0;
}
