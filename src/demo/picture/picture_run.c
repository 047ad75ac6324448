#include "demo/picture/picture.h"

#include "base/bug.h"
#include "base/clock.h"
#include "demo/apiserver/apiserver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define CHECK_MS 50
#define DRAW_MS 200
#define LINE_MS 3000 /* between plain lines, where the picture cannot be redrawn */
#define RATE_MS 2000 /* the binds/s shown are those of the last two to four seconds */

static const char *env(const char *name)
{
    const char *v = getenv(name);
    return v ? v : "";
}

static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *v = env(names[i]);
        if (v[0]) { /* the first that is set decides */
            return str_match_glob(STR("*utf-8*"), str_of(v)) || str_match_glob(STR("*utf8*"), str_of(v));
        }
    }
    return false;
}

static void measure(int fd, struct picture_style *style)
{
    struct winsize w;
    if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0) {
        style->cols = w.ws_col;
        style->rows = w.ws_row;
    }
}

void picture_style_detect(int fd, struct picture_style *ret)
{
    bool dumb = env("TERM")[0] == '\0' || strcmp(env("TERM"), "dumb") == 0;
    bool no_color = env("NO_COLOR")[0] != '\0';
    *ret = (struct picture_style){
        .utf8 = locale_is_utf8() && !dumb && !no_color,
        .redraw = isatty(fd) && !dumb,
        .cols = 80,
        .rows = 24,
    };
    ret->color = ret->redraw && !no_color;
    measure(fd, ret);
}

struct run {
    const struct picture_options *o;
    struct picture_style style;
    struct picture_result result;
    int64_t start_ns;
    int64_t milli_sum, mem_sum; /* permille, over the looks */
    uint32_t violations_before, overcommits_before;
    int64_t mark_ns[2]; /* of the two last RATE_MS marks: older, newer */
    uint64_t mark_bound[2];
    int64_t drawn_ns;
    int32_t drawn_lines;
};

/* Everything or nothing matters to nobody here: a picture that cannot be written is not an error.
 */
static void put(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR) {
            return;
        }
        if (done > 0) {
            p += done;
            n -= (size_t)done;
        }
    }
}

static void observe_state(struct run *r)
{
    struct picture_result *res = &r->result;
    checker_report_fini(&res->last);
    checker_run(r->o->apiserver, &res->last);
    const struct checker_report *now = &res->last;
    res->check_n++;
    if (now->violation_n > r->violations_before) {
        if (res->violation_n == 0) {
            memcpy(res->first_violation, now->first_violation, sizeof(res->first_violation));
        }
        res->violation_n += now->violation_n - r->violations_before;
    }
    if (now->overcommit_n > r->overcommits_before) {
        res->overcommit_n += now->overcommit_n - r->overcommits_before;
    }
    r->violations_before = now->violation_n;
    r->overcommits_before = now->overcommit_n;
    r->milli_sum += now->milli_capacity ? now->milli_used * 1000 / now->milli_capacity : 0;
    r->mem_sum += now->mem_capacity_mib ? now->mem_used_mib * 1000 / now->mem_capacity_mib : 0;
}

static int64_t bind_rate(struct run *r, uint64_t bound, int64_t now_ns)
{
    int64_t ms = (now_ns - r->mark_ns[0]) / NS_PER_MS;
    int64_t rate = ms > 0 ? (int64_t)(bound - r->mark_bound[0]) * 1000000 / ms : 0;
    if (now_ns - r->mark_ns[1] >= RATE_MS * NS_PER_MS) {
        r->mark_ns[0] = r->mark_ns[1];
        r->mark_bound[0] = r->mark_bound[1];
        r->mark_ns[1] = now_ns;
        r->mark_bound[1] = bound;
    }
    return rate;
}

/* Over the last frame, line by line, so that nothing flickers and the scrollback stays. */
static void redraw(struct run *r, const struct strbuf *frame)
{
    struct strbuf out;
    struct str rest = strbuf_view(frame), part;
    int32_t lines = 0;
    strbuf_init(&out, 1 << 20);
    if (r->drawn_lines) {
        strbuf_addf(&out, "\033[%dA", r->drawn_lines);
    } else {
        strbuf_add_cstr(&out, "\033[?25l");
    }
    while (rest.n > 0 && str_split(&rest, '\n', &part)) {
        strbuf_add_cstr(&out, "\033[2K"); /* first: behind a full line it would take the last column */
        strbuf_add_str(&out, part);
        strbuf_add_char(&out, '\n');
        lines++;
    }
    strbuf_add_cstr(&out, "\033[J");
    r->drawn_lines = lines;
    put(r->o->fd, out.p, out.n);
    strbuf_fini(&out);
}

static void draw(struct run *r, int64_t now_ns)
{
    struct strbuf frame;
    struct picture_view v = {
        .report = &r->result.last,
        .stats = &r->result.stats,
        .elapsed_ms = (now_ns - r->start_ns) / NS_PER_MS,
        .for_ms = r->o->for_ms,
        .violation_n = r->result.violation_n,
    };
    char said[512] = "", held[256] = "";
    if (r->o->caption != NULL) {
        r->o->caption(r->o->ctx, said, sizeof(said), held, sizeof(held));
        v.said = said;
        v.held = held;
    }
    player_stats(r->o->player, &r->result.stats);
    v.binds_per_s_milli = bind_rate(r, r->result.stats.bound, now_ns);
    strbuf_init(&frame, 1 << 20);
    if (r->style.redraw) {
        measure(r->o->fd, &r->style);
        picture_render(&v, &r->style, &frame);
        redraw(r, &frame);
    } else if (r->o->caption == NULL) {
        picture_line(&v, &frame);
        put(r->o->fd, frame.p, frame.n);
    }
    strbuf_fini(&frame);
    r->drawn_ns = now_ns;
}

static bool over(const struct run *r, int64_t now_ns)
{
    return atomic_load(r->o->stop) || (r->o->for_ms > 0 && now_ns - r->start_ns >= r->o->for_ms * NS_PER_MS);
}

/* A look at thousands of nodes takes its time; three quarters of the machine stay for the others.
 */
static void pause_after(int64_t work_ns)
{
    int64_t ns = CHECK_MS * NS_PER_MS;
    ns = 3 * work_ns > ns ? 3 * work_ns : ns;
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)}, NULL);
}

void picture_run(const struct picture_options *o, struct picture_result *ret)
{
    const struct clock *clock = clock_system();
    struct run *r = xcalloc(1, sizeof(*r));
    r->o = o;
    picture_style_detect(o->fd, &r->style);
    int64_t now_ns = clock_mono_ns(clock);
    r->start_ns = r->mark_ns[0] = r->mark_ns[1] = now_ns;
    int64_t every_ns = (r->style.redraw ? DRAW_MS : LINE_MS) * NS_PER_MS;
    while (!over(r, now_ns)) {
        observe_state(r);
        if (r->drawn_ns == 0 || now_ns - r->drawn_ns >= every_ns) {
            draw(r, now_ns);
        }
        pause_after(clock_mono_ns(clock) - now_ns);
        now_ns = clock_mono_ns(clock);
    }
    player_stop(o->player);
    observe_state(r);
    draw(r, now_ns);
    if (r->style.redraw) {
        put(o->fd, "\033[?25h\n", 7);
    }
    r->result.elapsed_ms = (now_ns - r->start_ns) / NS_PER_MS;
    r->result.milli_mean_permille = r->milli_sum / (int64_t)r->result.check_n;
    r->result.mem_mean_permille = r->mem_sum / (int64_t)r->result.check_n;
    *ret = r->result;
    free(r);
}
