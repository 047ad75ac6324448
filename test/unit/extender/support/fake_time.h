/* extender/support/fake_time.h - sync_in_ns(), condvar_wait_until() and CLOCK_BOOTTIME by a clock that moves only when
 * the test says so.
 *
 * A program that uses this is linked with --wrap for them (test/unit/CMakeLists.txt); nothing of it is of use to
 * others. Who waits for a moment waits until the test has let it come, or is woken by its own condition as ever.
 */
#ifndef EXTENDER_SUPPORT_FAKE_TIME_H
#define EXTENDER_SUPPORT_FAKE_TIME_H

#include <stdint.h>

#define FAKE_TIME_WAITERS_MAX 8

/* Before anything waits. */
void fake_time_set(int64_t now_ns);
int64_t fake_time_ns(void);
/* Whoever waits for a moment that has come goes on. */
void fake_time_advance_ms(int64_t ms);

/* How long the next one who waits for a moment still waits; waits for somebody who does, and fails after a minute. Who
 * waits without an end does not count. */
int64_t fake_time_await_waiter_ms(void);

#endif
