#include "extender/support/warnings.h"

#include <stdatomic.h>

static atomic_uint warning_n, info_n;

static void count_warnings(void *ctx, const struct log_record *rec)
{
    (void)ctx;
    atomic_fetch_add(&warning_n, rec->level == LOG_LEVEL_WARNING);
    atomic_fetch_add(&info_n, rec->level == LOG_LEVEL_INFO);
}

struct log warnings_log = {.write = count_warnings};

void warnings_reset(void)
{
    atomic_store(&warning_n, 0);
    atomic_store(&info_n, 0);
}

unsigned warnings(void)
{
    return atomic_load(&warning_n);
}

unsigned infos(void)
{
    return atomic_load(&info_n);
}
