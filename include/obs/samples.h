/* obs/samples.h - samples of what comes and goes (containers, GPUs), as Prometheus text behind that of a registry.
 *
 * Series of a registry (obs/metrics.h) never go away; these are written anew at each scrape, from what there is then.
 * Who writes them bounds how many there can be. All lines of one metric stand together, its family first.
 */
#ifndef OBS_SAMPLES_H
#define OBS_SAMPLES_H

#include "base/str.h"
#include "obs/metrics.h"

struct samples_label {
    const char *key;
    struct str value;
};

void samples_family(struct strbuf *out, const struct metric_def *family);
/* `value` in stored units of the family, which is no histogram. */
void samples_add(struct strbuf *out, const struct metric_def *family, const struct samples_label *labels, size_t n,
                 int64_t value);

#endif
