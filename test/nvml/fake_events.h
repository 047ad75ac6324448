/* What fake_nvml.c and fake_events.c ask of each other. */
#ifndef FAKE_EVENTS_H
#define FAKE_EVENTS_H

#include <stddef.h>

/* Of the file that tells the library what there is. 0: nobody has said. */
int fake_script_path(char *ret, size_t size);

const char *fake_uuid(const void *device);

/* The code that whoever reads this GPU gets; 0: it is well. */
int fake_events_sick(const char *uuid);
/* Not even its UUID is told. */
int fake_events_mute(const char *uuid);
/* Returns when the library does not hang. */
void fake_events_hang(void);
/* A handle that belongs to no GPU. */
int fake_events_is_stray(const void *device);

#endif
