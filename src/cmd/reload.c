#include "cmd/reload.h"

#include "base/bug.h"
#include "cmd/commands.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_BUFFER_BYTES (2 * CONFIG_BYTES_MAX)

struct reload {
    struct reload_options o;
    pthread_t thread;
    pthread_mutex_t lock; /* of the next two */
    pthread_cond_t wake;
    bool stopping;
    bool requested;
    /* the thread's own: what was offered or refused last, and what the last look saw */
    char handled[CONFIG_HASH_LEN + 1];
    char seen[CONFIG_HASH_LEN + 1];
};

/* One reading of the file. */
struct reading {
    struct strbuf text;
    bool failed;
    struct err err;
    char hash[CONFIG_HASH_LEN + 1]; /* of the text; of the message when it failed */
};

static void read_file(const char *path, struct reading *ret)
{
    strbuf_init(&ret->text, FILE_BUFFER_BYTES);
    ret->failed = config_read(path, &ret->text, &ret->err) != 0;
    config_hash_text(ret->failed ? str_of(ret->err.msg) : strbuf_view(&ret->text), ret->hash);
}

static void offer(struct reload *r, struct reading *reading)
{
    struct config *config = NULL;
    struct config_names names;

    cmd_config_names(&names);
    memcpy(r->handled, reading->hash, sizeof(r->handled));
    if (reading->failed) {
        changeover_refuse(r->o.changeover, "", &reading->err);
    } else if (config_parse(str_of(r->o.path), strbuf_view(&reading->text), &names, &config, NULL,
                            &reading->err) != 0) {
        changeover_refuse(r->o.changeover, reading->hash, &reading->err);
    } else {
        r->o.override(r->o.ctx, config);
        changeover_offer(r->o.changeover, config);
    }
}

/* New content counts from the second look on that shows it. */
static bool is_settled(struct reload *r, const struct reading *reading)
{
    bool again = strcmp(reading->hash, r->seen) == 0;

    memcpy(r->seen, reading->hash, sizeof(r->seen));
    return again && strcmp(reading->hash, r->handled) != 0;
}

static void look(struct reload *r, bool requested)
{
    struct reading reading;

    read_file(r->o.path, &reading);
    if (is_settled(r, &reading) || requested) {
        offer(r, &reading);
    }
    strbuf_fini(&reading.text);
}

/* Waits for the next look; false: stop. */
static bool wait_for_turn(struct reload *r, bool *ret_requested)
{
    struct timespec until;
    int rc = 0;
    bool go_on;

    BUG_ON(clock_gettime(CLOCK_MONOTONIC, &until) != 0);
    until.tv_sec += RELOAD_POLL_MS / 1000;
    BUG_ON(pthread_mutex_lock(&r->lock) != 0);
    while (!r->stopping && !r->requested && rc == 0) {
        rc = pthread_cond_timedwait(&r->wake, &r->lock, &until);
    }
    *ret_requested = r->requested;
    r->requested = false;
    go_on = !r->stopping;
    BUG_ON(pthread_mutex_unlock(&r->lock) != 0);
    return go_on;
}

static void *reload_main(void *arg)
{
    struct reload *r = arg;
    bool requested;

    while (wait_for_turn(r, &requested)) {
        look(r, requested);
    }
    return NULL;
}

int reload_start(const struct reload_options *o, struct reload **ret, struct err *reterr)
{
    struct reload *r = xcalloc(1, sizeof(*r));
    pthread_condattr_t attr;

    r->o = *o;
    snprintf(r->handled, sizeof(r->handled), "%s", o->hash);
    memcpy(r->seen, r->handled, sizeof(r->seen));
    BUG_ON(pthread_mutex_init(&r->lock, NULL) != 0);
    BUG_ON(pthread_condattr_init(&attr) != 0);
    BUG_ON(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) != 0);
    BUG_ON(pthread_cond_init(&r->wake, &attr) != 0);
    BUG_ON(pthread_condattr_destroy(&attr) != 0);
    if (pthread_create(&r->thread, NULL, reload_main, r) != 0) {
        BUG_ON(pthread_cond_destroy(&r->wake) != 0);
        BUG_ON(pthread_mutex_destroy(&r->lock) != 0);
        free(r);
        return err_set(reterr, ERR_INTERNAL, "cannot start a thread");
    }
    *ret = r;
    return 0;
}

static void tell(struct reload *r, bool *what)
{
    BUG_ON(pthread_mutex_lock(&r->lock) != 0);
    *what = true;
    BUG_ON(pthread_cond_signal(&r->wake) != 0);
    BUG_ON(pthread_mutex_unlock(&r->lock) != 0);
}

void reload_stop(struct reload *r)
{
    if (r == NULL) {
        return;
    }
    tell(r, &r->stopping);
    BUG_ON(pthread_join(r->thread, NULL) != 0);
    BUG_ON(pthread_cond_destroy(&r->wake) != 0);
    BUG_ON(pthread_mutex_destroy(&r->lock) != 0);
    free(r);
}

void reload_request(struct reload *r)
{
    tell(r, &r->requested);
}
