/* extender/support/warnings.h - a log that counts its lines and forgets what they say. */
#ifndef EXTENDER_SUPPORT_WARNINGS_H
#define EXTENDER_SUPPORT_WARNINGS_H

#include "base/log.h"

extern struct log warnings_log; /* any thread may write to it */

void warnings_reset(void);
unsigned warnings(void); /* since then */
unsigned infos(void);

#endif
