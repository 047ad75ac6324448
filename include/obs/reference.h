/* obs/reference.h - what every metric of fgpu and fgpu-node means, as a page for people: manifests/metrics.md.
 *
 * Made from the same tables as the metrics themselves, so that none can be missing. `fgpu metrics-reference` prints it.
 */
#ifndef OBS_REFERENCE_H
#define OBS_REFERENCE_H

#include "base/strbuf.h"

/* Appends the page, in Markdown. */
void metrics_reference(struct strbuf *out);

#endif
