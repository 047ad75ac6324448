/* extender/support/await.h - waits for what another thread does, by real time. */
#ifndef EXTENDER_SUPPORT_AWAIT_H
#define EXTENDER_SUPPORT_AWAIT_H

#include <stdbool.h>

/* Until it holds; the test fails after a minute and says that there is no `name`. */
void await(bool (*holds)(const void *what), const void *what, const char *name);

#endif
