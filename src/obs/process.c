/* obs/process.c - what the kernel says about this process. Source of the fields: proc(5),
 * /proc/pid/stat.
 *
 * The names and meanings are those of every Prometheus client library.
 */
#include "obs/process_internal.h"

#include "base/clock.h"
#include "base/str.h"
#include "obs/catalog.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Fields of /proc/self/stat, counted from 1. */
enum { FIELD_UTIME = 14, FIELD_STIME = 15, FIELD_START = 22, FIELD_VSIZE = 23, FIELD_RSS = 24 };

/* The beginning of a file; empty when it cannot be read. */
static struct str read_text(const char *path, char *buf, size_t max)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return STR_NULL;
    }
    const ssize_t n = read(fd, buf, max);
    close(fd);
    return n > 0 ? (struct str){buf, (size_t)n} : STR_NULL;
}

/* Milliseconds since the epoch at which the machine started. The difference of the two clocks,
 * and not btime of /proc/stat: that stands behind a line of interrupt counts that can be very
 * long. */
static int64_t boot_time_ms(void)
{
    struct timespec wall, boot;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (int64_t)(wall.tv_sec - boot.tv_sec) * 1000 + (wall.tv_nsec - boot.tv_nsec) / NS_PER_MS;
}

/* `id` of PROCESS_START_TIME_SECONDS and so on; a table may have them at other numbers. */
static struct metric *figure(struct metrics *m, uint32_t first, enum fgpu_metric id)
{
    return METRIC(m, first + (uint32_t)id - PROCESS_START_TIME_SECONDS);
}

static void set_u64(struct metrics *m, uint32_t first, enum fgpu_metric id, uint64_t value)
{
    metric_set(figure(m, first, id), (int64_t)value);
}

static void collect_stat(struct metrics *m, uint32_t first)
{
    char buf[2048];
    const struct str whole = read_text("/proc/self/stat", buf, sizeof(buf));
    size_t name_end = whole.n;
    while (name_end > 0 && whole.p[name_end - 1] != ')') {
        name_end--; /* the name may hold blanks and parentheses, so its end is the last one */
    }
    if (name_end == 0) {
        return;
    }
    struct str rest = str_trim(str_drop(whole, name_end));
    uint64_t fields[FIELD_RSS + 1] = {0};
    struct str part;
    for (unsigned field = 3; field <= FIELD_RSS && str_split(&rest, ' ', &part); field++) {
        if (!str_to_u64(part, INT64_MAX, &fields[field])) {
            fields[field] = 0; /* a letter or a negative number: none that we use */
        }
    }
    const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    struct metric *start = figure(m, first, PROCESS_START_TIME_SECONDS);
    if (metric_value(start) == 0) { /* once: the wall clock may be corrected later */
        metric_set(start, boot_time_ms() + (int64_t)(fields[FIELD_START] * 1000 / ticks));
    }
    set_u64(m, first, PROCESS_CPU_SECONDS_TOTAL, (fields[FIELD_UTIME] + fields[FIELD_STIME]) * 1000 / ticks);
    set_u64(m, first, PROCESS_VIRTUAL_MEMORY_BYTES, fields[FIELD_VSIZE]);
    set_u64(m, first, PROCESS_RESIDENT_MEMORY_BYTES, fields[FIELD_RSS] * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void collect_fds(struct metrics *m, uint32_t first)
{
    DIR *dir = opendir("/proc/self/fd");
    if (dir != NULL) {
        uint64_t n = 0;
        for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
            n += e->d_name[0] != '.';
        }
        closedir(dir);
        set_u64(m, first, PROCESS_OPEN_FDS, n - 1); /* without the one used for looking */
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        set_u64(m, first, PROCESS_MAX_FDS, limit.rlim_cur < INT64_MAX ? limit.rlim_cur : INT64_MAX);
    }
}

void process_collect(void *ctx, struct metrics *m)
{
    const uint32_t *first = ctx;

    collect_stat(m, *first);
    collect_fds(m, *first);
}
