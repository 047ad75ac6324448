/* sim/plot.h - results of replays as pictures: SVG files that need nothing else and follow the
 * reader's light or dark theme.
 *
 *   allocation.svg     allocated against arrived (fill mode)
 *   fragmentation.svg  how much of the idle compute the expected pods cannot use, against arrived
 * (fill mode) refusals.svg       refused pods of each class
 */
#ifndef SIM_PLOT_H
#define SIM_PLOT_H

#include "sim/report.h"

/* Makes the folder if there is none; files of these names are replaced. */
WARN_UNUSED int plot_write(const struct report *r, const char *folder, struct err *reterr);

#endif
