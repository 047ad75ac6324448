#include "cmd/reload.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/sync.h"
#include "cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reload {
    struct reload_options o;
    struct thread thread;
    struct mutex lock; /* of the next two */
    struct condvar wake;
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
        config_apply_refuse(r->o.config_apply, "", &reading->err);
    } else if (config_parse(str_of(r->o.path), strbuf_view(&reading->text), &names, &config, NULL, &reading->err) !=
               0) {
        config_apply_refuse(r->o.config_apply, reading->hash, &reading->err);
    } else {
        r->o.override(r->o.ctx, config);
        config_apply_offer(r->o.config_apply, config);
    }
}

/* New content counts from the second look on that shows it. */
static bool is_settled(struct reload *r, const struct reading *reading)
{
    bool again = strcmp(reading->hash, r->seen) == 0;

    memcpy(r->seen, reading->hash, sizeof(r->seen));
    return again && strcmp(reading->hash, r->handled) != 0;
}

static void check_file(struct reload *r, bool requested)
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
    const int64_t until_ns = sync_in_ns(RELOAD_POLL_MS * NS_PER_MS);
    bool in_time = true;
    bool go_on;

    mutex_lock(&r->lock);
    while (!r->stopping && !r->requested && in_time) {
        in_time = condvar_wait_until(&r->wake, &r->lock, until_ns);
    }
    *ret_requested = r->requested;
    r->requested = false;
    go_on = !r->stopping;
    mutex_unlock(&r->lock);
    return go_on;
}

static void *reload_main(void *arg)
{
    struct reload *r = arg;
    bool requested;

    while (wait_for_turn(r, &requested)) {
        check_file(r, requested);
    }
    return NULL;
}

int reload_start(const struct reload_options *o, struct reload **ret, struct err *reterr)
{
    struct reload *r = xcalloc(1, sizeof(*r));
    int rc;

    r->o = *o;
    snprintf(r->handled, sizeof(r->handled), "%s", o->hash);
    memcpy(r->seen, r->handled, sizeof(r->seen));
    mutex_init(&r->lock, "reload");
    condvar_init(&r->wake, "reload wake");
    rc = thread_start(&r->thread, "reload", reload_main, r, reterr);
    if (rc != 0) {
        condvar_destroy(&r->wake);
        mutex_destroy(&r->lock);
        free(r);
        return rc;
    }
    *ret = r;
    return 0;
}

static void report_change(struct reload *r, bool *what)
{
    mutex_lock(&r->lock);
    *what = true;
    condvar_signal(&r->wake);
    mutex_unlock(&r->lock);
}

void reload_stop(struct reload *r)
{
    if (r == NULL) {
        return;
    }
    report_change(r, &r->stopping);
    thread_join(&r->thread);
    condvar_destroy(&r->wake);
    mutex_destroy(&r->lock);
    free(r);
}

void reload_request(struct reload *r)
{
    report_change(r, &r->requested);
}
