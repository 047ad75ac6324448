/* The files that `fgpu sim` writes, against those that it reads. */
#include "cmd/sim_options.h"

#include "cmd/commands.h"

#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a path leads to. */
struct place {
    bool known;
    struct stat at;   /* of the file, or, if there is none yet, of its folder and: */
    const char *name; /* in that folder; NULL: the file is there */
};

static struct place place_of(const char *path)
{
    struct place ret = {.known = stat(path, &ret.at) == 0};
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];

    if (!ret.known) {
        int n = slash == NULL ? snprintf(folder, sizeof(folder), ".")
                              : snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path);

        ret.name = slash == NULL ? path : slash + 1;
        ret.known = n < (int)sizeof(folder) && stat(folder, &ret.at) == 0;
    }
    return ret;
}

static struct place place_of_output(void)
{
    struct place ret = {.known = fstat(STDOUT_FILENO, &ret.at) == 0};

    return ret;
}

/* Devices are taken for different places: /dev/null loses nothing. */
static bool same(const struct place *a, const struct place *b)
{
    if (!a->known || !b->known || a->at.st_dev != b->at.st_dev || a->at.st_ino != b->at.st_ino) {
        return false;
    }
    if (a->name != NULL || b->name != NULL) {
        return a->name != NULL && b->name != NULL && strcmp(a->name, b->name) == 0;
    }
    return S_ISREG(a->at.st_mode) || S_ISFIFO(a->at.st_mode);
}

struct input {
    const char *option, *path;
};

static int refuse(const char *option, const char *path, const char *whose)
{
    return cmd_usage_error("sim", "%s %s is the file of %s, and would be overwritten; give another one", option, path,
                           whose);
}

static int check_output(const struct sim_options *o, const char *option, const char *path)
{
    const struct input inputs[] = {{"--nodes", o->nodes}, {"--pods", o->pods}, {"--state", o->state}};
    struct place here, other;

    if (strcmp(path, "-") == 0) {
        return cmd_usage_error(
            "sim", "%s - : the report goes to standard output; give a file, or ./- for one of this name", option);
    }
    here = place_of(path);
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        other = inputs[i].path != NULL ? place_of(inputs[i].path) : (struct place){.known = false};
        if (same(&here, &other)) {
            return refuse(option, path, inputs[i].option);
        }
    }
    for (size_t i = 0; i < o->arrivals_n; i++) {
        other = place_of(o->arrivals[i]);
        if (same(&here, &other)) {
            return refuse(option, path, "--arrivals");
        }
    }
    other = place_of_output();
    return same(&here, &other) ? refuse(option, path, "standard output") : EXIT_OK;
}

int sim_outputs_check(const struct sim_options *o)
{
    struct place scores, placements;
    int code = o->scores != NULL ? check_output(o, "--scores", o->scores) : EXIT_OK;

    code = code == EXIT_OK && o->placements != NULL ? check_output(o, "--placements", o->placements) : code;
    if (code != EXIT_OK || o->scores == NULL || o->placements == NULL) {
        return code;
    }
    scores = place_of(o->scores);
    placements = place_of(o->placements);
    return same(&scores, &placements) ? refuse("--placements", o->placements, "--scores") : EXIT_OK;
}
