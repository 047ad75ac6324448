#define SIM_STREAM SIM_ADMINS
#include "settings.h"

#include "fiber.h"
#include "mask.h"
#include "process.h"
#include "trace.h"

#include "base/bug.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "cmd/runtime_internal.h"
#include "config/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILES_MAX = 200,
    TAG_BEGIN = 1000, /* ms of hold */
    CHANGE_MS = 40000,
    PASSED_ON_MS = 8000,
    LONG_MS = 60000,    /* passed on, listed, taken into use, and refused pods asked again */
    BEGIN_MIN = 8 * 60, /* of the day, on the clock of the world */
};

struct file {
    struct settings base, inside; /* inside its window */
    bool has_window;
    int from_min, to_min; /* since the beginning of the world, and every day again */
    int64_t since_ns;
    const struct config *config;
};

static struct {
    const char *common;
    bool rich;
    struct file files[FILES_MAX];
    size_t n;
} f;

/* ---- drawing ---- */

static struct gpu_settings any_devices(void)
{
    static const int factors[] = {1000, 1000, 1000, 1500, 2000};

    return (struct gpu_settings){.reserve_mib = 512 * (int)sim_below(4),
                                 .sharers = 2 + (int)sim_below(15),
                                 .memory_free = sim_chance(300),
                                 .compute_factor = factors[sim_below(5)],
                                 .memory_factor = factors[sim_below(5)]};
}

static struct size any_size(void)
{
    switch (sim_below(5)) {
    case 0:
        return (struct size){0};
    case 1:
        return (struct size){true, 1000 * (2 + (int)sim_below(2)), 0, 0};
    case 2:
        return (struct size){true, 0, 4096 * (1 + (int)sim_below(8)), 0};
    case 3:
        return (struct size){true, 100 * (1 + (int)sim_below(10)), 4096 * (1 + (int)sim_below(8)), 0};
    default:
        return (struct size){true, 100 * (1 + (int)sim_below(10)), 0, sim_chance(300) ? 2 : 0};
    }
}

static struct team any_team(void)
{
    return (struct team){sim_chance(500), 500 * (1 + (int)sim_below(8)), 8192 * (1 + (int)sim_below(20))};
}

/* One thing is another. */
static void vary(struct settings *s)
{
    static const int units[] = {1000, 100, 10, 0};

    switch (sim_below(9)) {
    case 0:
        s->devices = any_devices();
        break;
    case 1:
        s->of_b = sim_chance(300) ? s->devices : any_devices();
        break;
    case 2:
    case 3:
        s->sizes[sim_below(SIZES_MAX)] = any_size();
        break;
    case 4:
        s->vgpu_units = units[sim_below(4)];
        break;
    case 5:
        s->core_units = units[sim_below(3)];
        break;
    case 6:
        s->closed[sim_below(POOLS)] ^= true;
        break;
    case 7:
        s->teams[sim_below(TEAMS)] = any_team();
        break;
    default:
        s->strategy = (unsigned)sim_below(16);
        break;
    }
}

/* ---- text ---- */

static void add_devices(struct strbuf *b, const struct settings *s, const char *indent)
{
    const struct gpu_settings *const both[] = {&s->devices, &s->of_b};

    strbuf_addf(b, "%sdevices:\n", indent);
    for (size_t i = 0; i < 2; i++) {
        const struct gpu_settings *d = both[i];

        strbuf_addf(b, i == 0 ? "" : "%s  overrides:\n%s  - nodeSelector: {node.example.com/pool: b}\n", indent,
                    indent);
        strbuf_addf(b, "%s%s  memoryReserve: %dMi\n%s%s  maxSharers: %d\n%s%s  memoryOnly: %s\n", indent,
                    i == 0 ? "" : "  ", d->reserve_mib, indent, i == 0 ? "" : "  ", d->sharers, indent,
                    i == 0 ? "" : "  ", d->memory_free ? "free" : "share");
        strbuf_addf(b, "%s%s  overcommit: {compute: \"%d.%03d\", memory: \"%d.%03d\"}\n", indent, i == 0 ? "" : "  ",
                    d->compute_factor / 1000, d->compute_factor % 1000, d->memory_factor / 1000,
                    d->memory_factor % 1000);
    }
}

static void add_sizes(struct strbuf *b, const struct settings *s, const char *indent)
{
    strbuf_addf(b, "%ssizes:\n%s  unused: {milli: 500}\n", indent, indent);
    for (size_t i = 0; i < SIZES_MAX; i++) {
        const struct size *z = &s->sizes[i];
        const char *comma = "";

        if (!z->there) {
            continue;
        }
        strbuf_addf(b, "%s  size-%zu: {", indent, i);
        if (z->milli != 0) {
            strbuf_addf(b, "milli: %d", z->milli);
            comma = ", ";
        }
        if (z->mem_mib != 0) {
            strbuf_addf(b, "%smemory: %dMi", comma, z->mem_mib);
            comma = ", ";
        }
        if (z->count != 0) {
            strbuf_addf(b, "%scount: %d", comma, z->count);
        }
        strbuf_addf(b, "}\n");
    }
}

static void add_pools(struct strbuf *b, const struct settings *s, const char *indent)
{
    strbuf_addf(b, "%snodePools:\n", indent);
    for (unsigned i = 1; i < POOLS; i++) {
        strbuf_addf(b, "%s- {nodeSelector: {node.example.com/pool: %c}, state: %s}\n", indent, (char)('a' + i - 1),
                    s->closed[i] ? "closed" : "open");
    }
}

static void add_teams(struct strbuf *b, const struct settings *s)
{
    const char *const none = s->teams[0].limited || s->teams[1].limited ? "" : " []";

    strbuf_addf(b, "tenants:%s\n", none);
    for (unsigned i = 0; i < TEAMS; i++) {
        if (s->teams[i].limited) {
            strbuf_addf(b, "- {name: team-%c, namespaces: [team-%c], milli: %d, memory: %dMi}\n", (char)('a' + i),
                        (char)('a' + i), s->teams[i].milli, s->teams[i].mem_mib);
        }
    }
}

static void add_packing(struct strbuf *b, const struct settings *s, unsigned tag, const char *indent)
{
    static const char *const words[] = {"binpack", "spread", "tight-fit", "best-fit"};

    strbuf_addf(b, "%spacking: {nodeStrategy: %s, deviceStrategy: %s, hold: %ums}\n", indent, words[s->strategy % 4],
                words[s->strategy / 4 % 4], TAG_BEGIN + tag);
}

static void write_text(struct strbuf *b, size_t number)
{
    const struct file *file = &f.files[number];
    const struct settings *s = &file->base;

    strbuf_add_cstr(b, f.common);
    add_packing(b, s, (unsigned)number * 2, "");
    if (!f.rich) {
        return;
    }
    add_devices(b, s, "");
    add_sizes(b, s, "");
    add_pools(b, s, "");
    add_teams(b, s);
    strbuf_add_cstr(b, "resources:\n  compute:\n  - {name: fgpu.io/gpu-milli, unitsPerGPU: 1000}\n");
    if (s->vgpu_units != 0) {
        strbuf_addf(b, "  - {name: nvidia.com/vgpu, unitsPerGPU: %d}\n", s->vgpu_units);
    }
    strbuf_addf(b,
                "  - {name: tencent.com/vcuda-core, unitsPerGPU: %d}\n"
                "  memory: [fgpu.io/gpu-memory-mib, aliyun.com/gpu-mem, nvidia.com/gpumem]\n"
                "  count: [fgpu.io/gpu-count, aliyun.com/gpu-count]\n",
                s->core_units);
    if (file->has_window) {
        const int from = (BEGIN_MIN + file->from_min) % (24 * 60), to = (BEGIN_MIN + file->to_min) % (24 * 60);

        strbuf_addf(b, "timeWindows:\n- name: inside\n  from: \"%02d:%02d\"\n  to: \"%02d:%02d\"\n  timeZone: UTC\n",
                    from / 60, from % 60, to / 60, to % 60);
        add_packing(b, &file->inside, (unsigned)number * 2 + 1, "  ");
        add_devices(b, &file->inside, "  ");
        add_sizes(b, &file->inside, "  ");
        add_pools(b, &file->inside, "  ");
    }
}

static struct config *parsed(size_t number)
{
    struct config *c = NULL;
    struct config_names names;
    struct strbuf text, report;
    struct err err;

    strbuf_init(&report, 65536);
    strbuf_init(&text, 65536);
    write_text(&text, number);
    cmd_config_names(&names);
    if (config_parse(STR("sim"), strbuf_view(&text), &names, &c, &report, &err) != 0) {
        fprintf(stderr, "%.*s\n%.*s\n", (int)text.n, text.p, (int)report.n, report.p);
        exit(2);
    }
    strbuf_fini(&text);
    strbuf_fini(&report);
    return c;
}

/* ---- files ---- */

static void add_file(const struct settings *s)
{
    struct file *file = &f.files[f.n];
    const int now_min = (int)(sim_now_ns() / NS_PER_S / 60);

    *file = (struct file){.base = *s, .inside = *s, .since_ns = sim_now_ns()};
    file->from_min = now_min + (int)sim_below(4);
    file->to_min = file->from_min + 1 + (int)sim_below(5);
    for (uint64_t i = 1 + sim_below(3); i > 0; i--) {
        vary(&file->inside);
    }
    /* these a window does not have; and a size that the file has goes on inside */
    memcpy(file->inside.teams, s->teams, sizeof(s->teams));
    file->inside.vgpu_units = s->vgpu_units;
    file->inside.core_units = s->core_units;
    for (size_t i = 0; i < SIZES_MAX; i++) {
        file->inside.sizes[i] = file->inside.sizes[i].there ? file->inside.sizes[i] : s->sizes[i];
    }
    file->inside.closed[0] = false;
    file->base.closed[0] = false;
    file->has_window = sim_chance(400) && mask_allows(DO_WINDOWS) && f.rich;
    file->config = parsed(f.n);
    f.n++;
}

static void *offer(void *ctx)
{
    struct process *p = ctx;

    if (p->runtime != NULL && !p->cut && !p->ends) {
        TRACE("fgpu %u reads file %zu", p->number, f.n - 1);
        config_apply_offer(runtime_config_apply(p->runtime), parsed(f.n - 1));
    }
    p->readers--;
    return NULL;
}

static void passed_on(void *ctx)
{
    struct process *p = ctx;

    if (p->runtime == NULL && !p->cut && !p->ends) { /* it has just begun, perhaps with the file of before */
        sim_in_ms(1000, passed_on, p);
    } else if (!p->cut && !p->ends) {
        p->readers++;
        fiber_detach(fiber_spawn("reload", offer, p, p));
    }
}

static void change(void *ctx)
{
    struct settings next = f.files[f.n - 1].base;

    (void)ctx;
    sim_in_ms(CHANGE_MS / 4 + (int64_t)sim_below(CHANGE_MS * 3), change, NULL);
    for (uint64_t i = 1 + sim_below(3); i > 0; i--) {
        vary(&next);
    }
    if (f.n == FILES_MAX || !mask_allows(DO_RELOADS)) {
        return;
    }
    TRACE("file %zu is written", f.n);
    add_file(&next);
    for (unsigned i = 1; i <= process_n(); i++) {
        sim_in_ms((int64_t)sim_below(PASSED_ON_MS), passed_on, process_at(i));
    }
}

void settings_init(const char *common, bool rich)
{
    const struct gpu_settings plain = {.sharers = 16, .compute_factor = 1000, .memory_factor = 1000};
    struct settings first = {.devices = plain, .of_b = plain, .vgpu_units = 1000, .core_units = 100};

    f.common = common;
    f.rich = rich;
    for (uint64_t i = rich ? sim_below(12) : 0; i > 0; i--) {
        vary(&first);
    }
    add_file(&first);
    if (rich) {
        sim_in_ms(CHANGE_MS, change, NULL);
    }
}

const struct config *settings_config(void)
{
    return f.files[f.n - 1].config;
}

const struct settings *settings_of(unsigned tag)
{
    const struct file *file = &f.files[tag / 2];

    return tag % 2 == 0 ? &file->base : &file->inside;
}

unsigned settings_first_tag(int64_t since_ns, unsigned *ret_last)
{
    size_t i = f.n - 1;

    *ret_last = (unsigned)i * 2 + 1;
    while (i > 0 && f.files[i].since_ns + LONG_MS * NS_PER_MS > since_ns) {
        i--;
    }
    return (unsigned)i * 2;
}

unsigned settings_tag(const struct process *p)
{
    const struct config *c = config_slot_take(p->runtime->slot);
    const unsigned tag = (unsigned)c->policy.tentative_ms - TAG_BEGIN;

    config_free(c);
    return tag;
}

unsigned settings_tag_of_facts(const struct process *p)
{
    const struct rules *newest = policy_set_take_newest(p->runtime->policies);
    const unsigned tag = (unsigned)newest->ingest.policy->tentative_ms - TAG_BEGIN;

    rules_put(newest);
    return tag;
}

static bool is_open(const struct file *file, int64_t at_ns)
{
    const int64_t min_ns = 60 * NS_PER_S, day_ns = 24 * 60 * min_ns, since_ns = at_ns - file->from_min * min_ns;

    return file->has_window && since_ns >= 0 && since_ns % day_ns < (file->to_min - file->from_min) * min_ns;
}

/* What should be in effect; false: not for long. */
static bool have_lasted(unsigned *ret_tag)
{
    const struct file *file = &f.files[f.n - 1];
    const int64_t before_ns = sim_now_ns() - LONG_MS * NS_PER_MS;
    const bool open = is_open(file, sim_now_ns());

    *ret_tag = (unsigned)(f.n - 1) * 2 + open;
    for (int64_t at_ns = before_ns; at_ns < sim_now_ns(); at_ns += 10 * NS_PER_S) {
        if (is_open(file, at_ns) != open) {
            return false;
        }
    }
    return file->since_ns <= before_ns;
}

bool settings_are_settled(unsigned tag)
{
    unsigned newest;

    return have_lasted(&newest) && tag == newest;
}

bool settings_are_stale(unsigned tag)
{
    unsigned newest;

    return have_lasted(&newest) && tag != newest;
}
