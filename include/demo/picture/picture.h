/* demo/picture/picture.h - the live picture in the terminal and the closing table.
 *
 * Every GPU is one bar that shows two things at once: the share of its compute that is handed out
 * and the share of its memory. With Unicode the upper half of a cell is compute, the lower half
 * memory; in ASCII '#' is both, '"' compute only, '_' memory only. Below: the last decisions with
 * their reasons, and totals.
 *
 * What is shown comes from the simulated API server's objects (demo/checker/checker.h) and from the
 * player's own decisions; nothing is read from the extender's ledger. The renderers are pure text
 * functions, so that they can be compared with golden text; picture_run() is the loop around them.
 */
#ifndef DEMO_PICTURE_PICTURE_H
#define DEMO_PICTURE_PICTURE_H

#include "base/strbuf.h"
#include "demo/checker/checker.h"
#include "demo/scheduler/player.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct picture_style {
    bool utf8;
    bool color;
    bool redraw; /* a terminal that can move its cursor; otherwise one plain line now and then */
    int32_t cols;
    int32_t rows;
};

/* From the file descriptor and the environment: ASCII unless the locale (LC_ALL, LC_CTYPE, LANG) is
 * UTF-8; with NO_COLOR set or TERM empty or "dumb", ASCII and no colour. 80x24 where the size is
 * unknown. */
void picture_style_detect(int fd, struct picture_style *ret);

/* One moment. */
struct picture_view {
    const struct checker_report *report;
    const struct player_stats *stats;
    int64_t elapsed_ms;
    int64_t for_ms;            /* 0: until stopped */
    int64_t binds_per_s_milli; /* of late */
    uint64_t violation_n;      /* seen since the start */
    const char *said,
        *held; /* of a scenario (demo/scenarios/scenario.h): what is being told, what came true last; NULL: none */
};

/* Lines of at most style->cols columns and, all together, fewer than style->rows (at least 12 rows
 * are used), each ending in '\n'. Nodes that do not fit are counted in a line of their own. */
void picture_render(const struct picture_view *v, const struct picture_style *style, struct strbuf *out);
/* The same in one line. */
void picture_line(const struct picture_view *v, struct strbuf *out);

struct picture_result {
    int64_t elapsed_ms;
    uint64_t check_n;      /* how often the checker looked */
    uint64_t violation_n;  /* each counted when it first shows; those of different looks added */
    uint64_t overcommit_n; /* the same of over-committed devices */
    char first_violation[256];
    int64_t milli_mean_permille; /* share of compute handed out, mean over the looks */
    int64_t mem_mean_permille;
    struct checker_report last; /* picture_result_fini */
    struct player_stats stats;  /* at the end */
};
void picture_result_fini(struct picture_result *r);
/* The table; its last line is "N invariant violations". */
void picture_summary(const struct picture_result *r, struct strbuf *out);

struct picture_options {
    struct apiserver *apiserver;
    struct player *player;
    int fd;                  /* where to draw: 1 */
    int64_t for_ms;          /* 0: until *stop */
    const atomic_bool *stop; /* set by a signal handler, say */
    /* Of a scenario, asked at every frame; NULL: there is none. Its course is then told line by line by itself
     * where the picture cannot be redrawn. */
    void (*caption)(void *ctx, char *said, size_t said_size, char *held, size_t held_size);
    void *ctx;
};

/* Draws about 5 times a second, checks about 20 times a second, until the time is over or *stop;
 * stops the player, looks once more, and fills *ret. Does not print the summary. The cursor is
 * visible afterwards. */
void picture_run(const struct picture_options *o, struct picture_result *ret);

#endif
