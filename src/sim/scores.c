#include "sim/scores.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int scores_open(const char *path, FILE **ret, struct err *reterr)
{
    *ret = fopen(path, "we");
    if (*ret == NULL) {
        return err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(errno));
    }
    fputs("decision,pod,scarce_cpu,churn,places,node,verdict,score\n", *ret);
    return 0;
}

int scores_close(FILE *f, const char *path, struct err *reterr)
{
    bool failed = ferror(f) != 0;

    failed = fclose(f) != 0 || failed;
    return failed ? err_set(reterr, ERR_INTERNAL, "%s: could not be written: %s", path, strerror(errno)) : 0;
}

void scores_write(FILE *f, const struct scores_decision *of, uint32_t node, const struct pack_result *r)
{
    fprintf(f, "%" PRIu64 ",%" PRIu32 ",%" PRId32 ",%" PRId32 ",%" PRId32 ",%" PRIu32 ",%s,", of->number, of->pod,
            of->prices->scarce_cpu, of->prices->churn, of->prices->places, node, verdict_name(r->verdict));
    if (r->verdict == VERDICT_FITS) {
        fprintf(f, "%" PRId64, r->score);
    }
    fputc('\n', f);
}
