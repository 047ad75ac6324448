/* sim/trace.h - what happened, a line each, where --trace asks for it. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>

extern bool trace_on;
void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define TRACE(...)                                                                                                     \
    do {                                                                                                               \
        if (trace_on) {                                                                                                \
            trace_line(__VA_ARGS__);                                                                                   \
        }                                                                                                              \
    } while (0)

/* Ends the run: says why, with seed and step, and how to see it again. */
void found(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
