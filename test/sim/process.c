#include "process.h"

#include "api.h"
#include "fiber.h"
#include "oracle.h"
#include "settings.h"
#include "trace.h"

#include "base/base64.h"
#include "base/bug.h"
#include "base/clock.h"
#include "cmd/runtime_internal.h"
#include "extender/signing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct process *all[PROCESSES_MAX];
    unsigned n, alive_n;
    struct process *first;
    enum fleet fleet;
    char key_path[64];
    struct log log;
} world;

/* ---- what all of them have ---- */

#define CONFIGURATION                                                                                                  \
    "apiVersion: fgpu.io/v1alpha1\n"                                                                                   \
    "kind: FgpuConfiguration\n"                                                                                        \
    "signing: {mode: on}\n"                                                                                            \
    "clientConnection: {runObject: default/run, wakeObject: default/wake}\n"                                           \
    "serving: {bindsAllPods: true}\n"                                                                                  \
    "flightRecorder: {memory: 0}\n"                                                                                    \
    "audit: {interval: 60s}\n"
#define STRICT "consistency: strict\n"
#define ELECTION                                                                                                       \
    "election: lease\n"                                                                                                \
    "lease: {object: default/lease, leaseDuration: 5s, renewDeadline: 3s, retryPeriod: 1s}\n"

static void write_log(void *ctx, const struct log_record *r)
{
    const struct process *p = fiber_owner();
    char text[1024];
    size_t n = 0;

    (void)ctx;
    for (size_t i = 0; i < r->field_n && n < sizeof(text) - 200; i++) {
        const struct log_field *f = &r->fields[i];

        n += f->type == LOG_FIELD_STR
                 ? (size_t)snprintf(text + n, sizeof(text) - n, " %s=%.*s", f->key, f->s.n < 160 ? (int)f->s.n : 160,
                                    f->s.p != NULL ? f->s.p : "")
                 : (size_t)snprintf(text + n, sizeof(text) - n, " %s=%lld", f->key, (long long)f->i);
    }
    text[n < sizeof(text) ? n : sizeof(text) - 1] = '\0';
    trace_line("fgpu %u: %s%s", p != NULL ? p->number : 0, r->msg, n > 0 ? text : "");
}

/* The same in every run, so that records are. PKCS#8 of Ed25519 (RFC 8410) around 32 bytes. */
static void write_key(void)
{
    unsigned char der[48] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                             0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
    struct strbuf text;
    FILE *f;
    int fd;

    for (size_t i = 16; i < sizeof(der); i++) {
        der[i] = (unsigned char)i;
    }
    snprintf(world.key_path, sizeof(world.key_path), "/tmp/fgpu-sim-key-XXXXXX");
    fd = mkstemp(world.key_path);
    BUG_ON(fd < 0);
    f = fdopen(fd, "w");
    BUG_ON(f == NULL);
    strbuf_init(&text, 256);
    base64_encode((struct str){(const char *)der, sizeof(der)}, &text);
    fprintf(f, "-----BEGIN PRIVATE KEY-----\n%.*s\n-----END PRIVATE KEY-----\n", (int)text.n, text.p);
    strbuf_fini(&text);
    BUG_ON(fclose(f) != 0);
}

const char *process_key_path(void)
{
    return world.key_path;
}

static void forget_key(void)
{
    (void)unlink(world.key_path);
}

void process_init(bool trace_log, bool rich_settings, enum fleet fleet)
{
    settings_init(fleet == FLEET_LEASE    ? CONFIGURATION ELECTION
                  : fleet == FLEET_STRICT ? CONFIGURATION STRICT
                                          : CONFIGURATION,
                  rich_settings);
    world.fleet = fleet;
    write_key();
    (void)atexit(forget_key);
    world.log = (struct log){write_log, NULL, 4};
    if (!trace_log) {
        world.log.write = NULL;
    }
}

/* ---- one ---- */

/* Its main thread ends it then: the fleet's matter. */
static void loses(void *ctx)
{
    struct process *p = ctx;

    TRACE("fgpu %u has lost its Lease", p->number);
    p->lost = true;
}

static void *main_start(void *ctx)
{
    struct process *p = ctx;
    static char server[] = "http://127.0.0.1:1";
    static struct credentials credentials = {.server = server};
    const struct log *log = world.log.write != NULL ? &world.log : NULL;
    const struct signing_options keys = {.files = {.private_key = world.key_path}, .log = log};
    struct signing *signing;
    struct runtime *r = NULL;
    struct err err;

    BUG_ON(signing_new(&keys, &signing, &err) != 0);
    const struct runtime_options o = {.config = settings_config(),
                                      .credentials = &credentials,
                                      .clock = clock_system(),
                                      .log = log,
                                      .instance = "sim",
                                      .signing = signing,
                                      .rehearses = p->rehearses,
                                      .holdoff_ms = world.fleet == FLEET_STRICT ? 0 : HOLD_OFF_MS,
                                      .lost = loses,
                                      .lost_ctx = p};
    if (runtime_start(&o, &r, &err) != 0) {
        found("fgpu %u does not start: %s", p->number, err.msg);
    }
    p->runtime = r;
    return NULL;
}

static void forget(struct process *p)
{
    struct process **at = &world.first;

    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
    world.alive_n--;
}

struct ending {
    struct process *process;
    int64_t drain_ms;
};

static void *main_end(void *ctx)
{
    struct ending *e = ctx;
    struct process *p = e->process;
    struct runtime *r;
    struct signing *signing;

    fiber_join(p->main);
    while (p->readers > 0) {
        (void)fiber_wait(&(struct fiber_waiters){0}, sim_now_ns() + NS_PER_MS);
    }
    r = p->runtime;
    signing = r->options.signing;
    runtime_stop(r, e->drain_ms);
    signing_free(signing);
    p->runtime = NULL;
    p->cut = true;
    p->ended_ns = p->ended_ns != 0 ? p->ended_ns : sim_now_ns();
    p->gone = true;
    forget(p);
    free(e);
    TRACE("fgpu %u is gone", p->number);
    return NULL;
}

struct process *process_start(bool rehearses)
{
    struct process *p = xcalloc(1, sizeof(*p));

    BUG_ON(world.n == PROCESSES_MAX);
    world.all[world.n++] = p;
    world.alive_n++;
    p->number = world.n;
    p->next = world.first;
    world.first = p;
    p->rehearses = rehearses;
    p->started_ns = sim_now_ns();
    TRACE("fgpu %u starts", p->number);
    p->main = fiber_spawn("main", main_start, p, p);
    return p;
}

void process_end(struct process *p, int64_t drain_ms)
{
    struct ending *e = xmalloc(sizeof(*e));

    *e = (struct ending){p, drain_ms};
    p->ends = true;
    TRACE("fgpu %u ends", p->number);
    p->in_order = drain_ms > 0;
    fiber_detach(fiber_spawn("end", main_end, e, p));
}

void process_kill(struct process *p)
{
    TRACE("fgpu %u is killed", p->number);
    process_resume(p); /* nobody can tell */
    p->cut = true;
    p->ended_ns = sim_now_ns();
    api_cut(p);
    web_cut(p);
    process_end(p, 0);
}

bool process_is_ready(struct process *p)
{
    const bool ready = !p->cut && p->runtime != NULL && !fiber_is_paused(p) && store_is_ready(p->runtime->store);

    if (ready && p->ready_ns == 0) {
        p->ready_ns = sim_now_ns();
        p->skipped_hold_off = world.fleet != FLEET_LEASE && world.fleet != FLEET_STRICT &&
                              p->ready_ns < p->started_ns + HOLD_OFF_MS * NS_PER_MS;
        TRACE("fgpu %u is ready%s", p->number, p->skipped_hold_off ? " without a hold-off" : "");
        oracle_ready(p);
    }
    return ready;
}

void process_pause(struct process *p, bool at_lock)
{
    TRACE("fgpu %u is paused%s", p->number, at_lock ? " where it next takes a lock" : "");
    p->paused_ns = fiber_is_paused(p) ? p->paused_ns : sim_now_ns();
    if (at_lock) {
        fiber_pause_at_lock(p);
    } else {
        fiber_pause(p);
    }
}

int64_t process_slept_ns(const struct process *p)
{
    return p->resumed_ns != 0 && sim_now_ns() - p->resumed_ns < DECIDED_BEFORE_MS * NS_PER_MS ? p->slept_ns : 0;
}

void process_resume(struct process *p)
{
    if (fiber_is_paused(p)) {
        TRACE("fgpu %u goes on", p->number);
        p->slept_ns = process_slept_ns(p) + sim_now_ns() - p->paused_ns;
        p->resumed_ns = sim_now_ns();
    }
    fiber_resume(p);
}

bool process_is_paused(const struct process *p)
{
    return fiber_is_paused(p);
}

struct process *process_next(const struct process *p)
{
    return p == NULL ? world.first : p->next;
}

struct process *process_at(unsigned number)
{
    return world.all[number - 1];
}

unsigned process_n(void)
{
    return world.n;
}

bool process_all_gone(void)
{
    return world.alive_n == 0;
}
