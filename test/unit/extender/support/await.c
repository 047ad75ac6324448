#include "extender/support/await.h"

#include "base/clock.h"
#include "support/cmocka.h"

#include <unistd.h>

#define PATIENCE_NS (60 * NS_PER_S)

void await(bool (*holds)(const void *what), const void *what, const char *name)
{
    const int64_t end_ns = clock_mono_ns(clock_system()) + PATIENCE_NS;

    while (!holds(what)) {
        if (clock_mono_ns(clock_system()) > end_ns) {
            fail_msg("for a minute there is not: %s", name);
        }
        usleep(200);
    }
}
