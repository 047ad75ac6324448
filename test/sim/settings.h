/* sim/settings.h - the configuration file of fgpu, as its admin writes it: what it says as plain facts, its text, and
 * how it changes while processes run.
 *
 * A seed has plain settings for good, or rich ones that another file replaces now and then; a running process reads the
 * new one some seconds later, each by itself. A file may have a time window, in which other values hold. What is in
 * effect in a process is told by a tag, which the text carries as packing.hold (in ms): the file and whether its window
 * is open. So nobody guesses which of them a decision was made by; and what each means, the oracle knows by itself
 * (meaning.h).
 */
#ifndef SIM_SETTINGS_H
#define SIM_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct process;

#define SIZES_MAX 3
#define TEAMS 2
#define POOLS 3 /* labels of nodes: "", "a", "b" */

struct gpu_settings {
    int reserve_mib, sharers;
    bool memory_free;                  /* memoryOnly: free */
    int compute_factor, memory_factor; /* thousandths */
};

struct size {
    bool there;
    int milli, mem_mib, count; /* 0: not said */
};

struct team { /* a tenant: the namespace team-a or team-b */
    bool limited;
    int milli, mem_mib;
};

struct settings {
    struct gpu_settings devices, of_b; /* of_b: of nodes of pool b */
    struct size sizes[SIZES_MAX];      /* size-0, ... */
    int vgpu_units, core_units;        /* that make a GPU: nvidia.com/vgpu, tencent.com/vcuda-core */
    bool closed[POOLS];
    struct team teams[TEAMS];
    unsigned strategy;
};

/* `base`: what all files have. `rich`: draws settings, and others later. */
void settings_init(const char *base, bool rich);
/* The file of this moment, for a process that starts. Borrowed, for good. */
const struct config *settings_config(void);
/* What the tag stands for. */
const struct settings *settings_of(unsigned tag);
/* Of those that may have been in effect in any process since that moment, the first; each up to *ret_last may. */
unsigned settings_first_tag(int64_t since_ns, unsigned *ret_last);
/* Of what is in effect in the process, which has a runtime that does not end. */
unsigned settings_tag(const struct process *p);
/* Of what it reads nodes by, which is not in effect yet if it differs. */
unsigned settings_tag_of_facts(const struct process *p);
/* Is that the newest file, with its window as the clock wants it, and has been for long? */
bool settings_are_settled(unsigned tag);
/* Is it not, although what should be in effect has been for long? */
bool settings_are_stale(unsigned tag);

#endif
