/* sim/support/tested_trace.h - a trace read from texts: files in a folder of its own, as `fgpu sim` reads them. */
#ifndef UNIT_SIM_SUPPORT_TESTED_TRACE_H
#define UNIT_SIM_SUPPORT_TESTED_TRACE_H

#include "sim/trace.h"

#include "support/temp_dir.h"

struct tested_trace {
    struct temp_dir dir;
    struct trace trace;
    struct arrivals arrivals;
    struct err err; /* of the last call that failed */
};

void tested_trace_init(struct tested_trace *t);
void tested_trace_fini(struct tested_trace *t);
/* The result of the reader, with t->err. */
int tested_trace_nodes(struct tested_trace *t, const char *text);
int tested_trace_pods(struct tested_trace *t, const char *text);
int tested_trace_stays(struct tested_trace *t, const char *text);
/* Two machines with a GPU of 24 GiB each, and pods of these rows: half a GPU; all of one; 10 GiB; half with 20 GiB. */
void tested_trace_fill(struct tested_trace *t);

#endif
