/* sim/report.h - results of replays as JSON for programs and as a table for people.
 *
 * JSON: {"strategies": {NAME: {...}}}. Of several orders of arrival the numbers are means over
 * those that have one (null: none has), "worst" has the worst of each, "runs" all. refused_by_class
 * counts pods, of all runs. allocation_curve and fragmentation_curve (fill mode) are percentages at 0, 1, 2 ... %
 * arrived, means over the runs that have a record there; null: none has.
 *
 * Below the table of several strategies: how many points more each refuses than the one that refuses least, in the mean
 * over the runs, with the half width of the 95 % interval of Student's t. All strategies see the same pods in a run, so
 * differences are taken run by run.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include "base/strbuf.h"
#include "sim/replay.h"

struct report_strategy {
    const char *name;
    const struct replay_result *runs;
    size_t run_n;
};

struct report {
    enum replay_mode mode;
    const struct arrivals *arrivals; /* of each run */
    const struct report_strategy *strategies;
    size_t strategy_n;
    bool curves; /* in the JSON: they are long */
};

void report_json(const struct report *r, struct strbuf *out);
void report_table(const struct report *r, struct strbuf *out);

#endif
