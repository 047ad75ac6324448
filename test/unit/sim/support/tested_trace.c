#include "sim/support/tested_trace.h"

#include "support/cmocka.h"

#include <string.h>

#define PATH_BYTES 256

void tested_trace_init(struct tested_trace *t)
{
    memset(t, 0, sizeof(*t));
    temp_dir_init(&t->dir);
    trace_init(&t->trace);
}

void tested_trace_fini(struct tested_trace *t)
{
    trace_fini(&t->trace);
    temp_dir_fini(&t->dir);
}

static const char *write_file(struct tested_trace *t, const char *name, const char *text, char path[PATH_BYTES])
{
    temp_dir_write(&t->dir, name, text);
    temp_dir_path(&t->dir, name, path, PATH_BYTES);
    return path;
}

int tested_trace_nodes(struct tested_trace *t, const char *text)
{
    char path[PATH_BYTES];

    return trace_read_nodes(&t->trace, write_file(t, "nodes.csv", text, path), &t->err);
}

int tested_trace_pods(struct tested_trace *t, const char *text)
{
    char path[PATH_BYTES];

    return trace_read_pods(&t->trace, write_file(t, "pods.csv", text, path), &t->err);
}

int tested_trace_stays(struct tested_trace *t, const char *text)
{
    static char path[PATH_BYTES]; /* arrivals keep it as their label */

    return arrivals_read_stays(&t->trace, write_file(t, "stays.csv", text, path), &t->arrivals, &t->err);
}

void tested_trace_fill(struct tested_trace *t)
{
    assert_int_equal(tested_trace_nodes(t, "name,cpu_milli,memory_mib,gpu,model,gpu_mem_mib\n"
                                           "a,8000,65536,1,A10,24576\n"
                                           "b,8000,65536,1,A10,24576\n"),
                     0);
    assert_int_equal(tested_trace_pods(t, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_mem_mib\n"
                                          "half,1000,1024,1,500,\n"
                                          "one,1000,1024,1,1000,\n"
                                          "memory,1000,1024,1,0,10240\n"
                                          "both,1000,1024,1,500,20480\n"),
                     0);
}
