#include "sim/placements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void write_place(FILE *f, const struct replay_job *j, size_t arrival)
{
    const struct testbed_place *p = &j->places[arrival];
    const char *separator = "";

    fprintf(f, "%s,\"%s\",%zu,", j->strategy->name, j->arrivals->label, arrival);
    if (p->node != TESTBED_NOWHERE) {
        fprintf(f, "%" PRIu32, p->node);
    }
    fputc(',', f);
    for (int i = 0; i < DEVICES_PER_NODE_MAX; i++) {
        if ((p->devices >> i & 1) != 0) {
            fprintf(f, "%s%d", separator, i);
            separator = "|";
        }
    }
    fputc('\n', f);
}

int placements_write(const char *path, const struct replay_job *jobs, size_t job_n, struct err *reterr)
{
    FILE *f = fopen(path, "we");
    bool failed;

    if (f == NULL) {
        return err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    }
    fputs("strategy,arrivals,arrival,node,devices\n", f);
    for (size_t i = 0; i < job_n; i++) {
        for (size_t k = 0; k < jobs[i].arrivals->pod_n; k++) {
            write_place(f, &jobs[i], k);
        }
    }
    failed = ferror(f) != 0;
    failed = fclose(f) != 0 || failed;
    return failed ? err_set(reterr, ERR_INTERNAL, "%s: could not be written: %s", path, strerror(errno)) : 0;
}
