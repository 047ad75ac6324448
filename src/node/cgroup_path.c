#include "node/cgroup_path.h"

#include "base/compiler.h"

#define SCOPE STR(".scope")

/* Is this the name of the cgroup of that container? */
static bool names(struct str name, struct str id)
{
    static const struct str prefixes[] = {{"", 0}, {"cri-containerd-", 15}, {"crio-", 5}, {"docker-", 7}};

    if (id.n == 0) {
        return false;
    }
    if (str_ends(name, SCOPE)) {
        name.n -= SCOPE.n;
    }
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (str_starts(name, prefixes[i]) && str_eq(str_drop(name, prefixes[i].n), id)) {
            return true;
        }
    }
    return false;
}

static size_t of_path(struct str path, const struct str *ids, size_t n)
{
    struct str part;

    while (str_split(&path, '/', &part)) {
        for (size_t i = 0; i < n; i++) {
            if (names(part, ids[i])) {
                return i;
            }
        }
    }
    return CGROUP_NOBODY;
}

/* "HIERARCHY:CONTROLLERS:PATH"; a path may hold colons. */
static struct str path_of_line(struct str line)
{
    struct str hierarchy, controllers;

    return str_split(&line, ':', &hierarchy) && str_split(&line, ':', &controllers) ? line : STR_NULL;
}

size_t cgroup_container(struct str file, const struct str *ids, size_t n)
{
    size_t found = CGROUP_NOBODY;
    struct str line;

    while (str_split(&file, '\n', &line)) {
        const size_t here = of_path(path_of_line(line), ids, n);

        if (here == CGROUP_NOBODY) {
            continue; /* version 1: not every hierarchy has a cgroup for each container */
        }
        if (found != CGROUP_NOBODY && found != here) {
            return CGROUP_NOBODY;
        }
        found = here;
    }
    return found;
}

bool cgroup_path(struct str file, struct str *ret_path, const char **ret_why)
{
    struct str line;

    while (str_split(&file, '\n', &line)) {
        if (str_starts(line, STR("0::/"))) {
            *ret_path = path_of_line(line);
            *ret_why = "its cgroup is outside of what fgpu-node sees; the agent needs hostPID and CAP_SYS_ADMIN";
            return !str_starts(*ret_path, STR("/.."));
        }
    }
    *ret_why = "its process is in no cgroup of version 2";
    return false;
}

bool cgroup_path_of_container(struct str file, struct str id, struct str *ret_path, const char **ret_why)
{
    if (!cgroup_path(file, ret_path, ret_why)) {
        return false;
    }
    *ret_why = "its process is not in a cgroup of the container; the agent needs hostPID";
    return of_path(*ret_path, &id, 1) != CGROUP_NOBODY;
}
