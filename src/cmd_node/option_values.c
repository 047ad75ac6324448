#include "cmd_node/option_values.h"

#include "base/quantity.h"
#include "model/device.h"
#include "model/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHARERS_MAX 1000
#define OVERCOMMIT_MAX (10 * DEVICE_MILLI)

int option_usage_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "fgpu-node: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "; fgpu-node --help lists the options\n");
    va_end(ap);
    return NODE_EXIT_USAGE;
}

/* ---- values ---- */

static void *member(const struct option_draft *d, const struct option_row *row)
{
    return (char *)d->o + row->at;
}

static int refuse_empty(const struct option_row *row, const char *value)
{
    return value[0] != '\0' ? NODE_EXIT_OK : option_usage_error("--%s is empty; it takes a %s", row->name, row->value);
}

int option_take_text(struct option_draft *d, const struct option_row *row, const char *value)
{
    *(const char **)member(d, row) = value;
    return refuse_empty(row, value);
}

int option_take_place(struct option_draft *d, const struct option_row *row, const char *value)
{
    *(const char **)member(d, row) = value;
    return value[0] == '/' ? NODE_EXIT_OK
                           : option_usage_error("--%s must be a path that begins with /, not \"%s\"", row->name, value);
}

int option_take_flag(struct option_draft *d, const struct option_row *row, const char *value)
{
    (void)value;
    *(bool *)member(d, row) = true;
    return NODE_EXIT_OK;
}

int option_take_factor(struct option_draft *d, const struct option_row *row, const char *value)
{
    struct quantity q;
    int64_t milli;

    if (quantity_parse(str_of(value), &q) != QUANTITY_OK || !quantity_milli(q, &milli) || milli < DEVICE_MILLI ||
        milli > OVERCOMMIT_MAX) {
        return option_usage_error("--%s must be a number from 1.0 to 10.0, not \"%s\"", row->name, value);
    }
    *(int32_t *)member(d, row) = (int32_t)milli;
    return NODE_EXIT_OK;
}

int option_take_runtime_config(struct option_draft *d, const struct option_row *row, const char *value)
{
    if (d->o->runtime_config_n == NODE_PATHS_MAX) {
        return option_usage_error("--%s may be given %d times at most", row->name, NODE_PATHS_MAX);
    }
    d->o->runtime_config[d->o->runtime_config_n++] = value;
    return refuse_empty(row, value);
}

int option_take_sharers(struct option_draft *d, const struct option_row *row, const char *value)
{
    uint64_t v;

    if (!str_to_u64(str_of(value), SHARERS_MAX, &v) || v == 0) {
        return option_usage_error("--%s must be a number from 1 to %d, not \"%s\"", row->name, SHARERS_MAX, value);
    }
    d->o->max_sharers = (int32_t)v;
    return NODE_EXIT_OK;
}

int option_add_exempt(struct node_options *o, const char *value)
{
    struct str rest = str_of(value), name;

    while (str_split(&rest, ',', &name)) {
        name = str_trim(name);
        if (name.n == 0) {
            continue;
        }
        if (!kube_name_is_label(name)) {
            return option_usage_error("\"%.*s\" is not the name of a namespace (--exempt or POD_NAMESPACE); commas "
                                      "stand between names",
                                      STR_ARG(name));
        }
        if (o->exempt_n == NODE_EXEMPT_MAX) {
            return option_usage_error("--exempt takes %d namespaces at most", NODE_EXEMPT_MAX);
        }
        o->exempt[o->exempt_n++] = name;
    }
    return NODE_EXIT_OK;
}

int option_take_exempt(struct option_draft *d, const struct option_row *row, const char *value)
{
    (void)row;
    d->says_exempt = true;
    return option_add_exempt(d->o, value);
}

int option_take_public_key(struct option_draft *d, const struct option_row *row, const char *value)
{
    struct node_options *o = d->o;

    if (o->public_key_n == NODE_PATHS_MAX) {
        return option_usage_error("--public-keys may be given %d times at most; a folder holds more", NODE_PATHS_MAX);
    }
    o->public_keys[o->public_key_n++] = str_of(value);
    return refuse_empty(row, value);
}

/* The place of `value` among the words of the row, "auto|cdi|env". */
static int take_choice(const struct option_row *row, const char *value, int *ret)
{
    struct str rest = str_of(row->value), word;

    for (*ret = 0; str_split(&rest, '|', &word); (*ret)++) {
        if (str_eq(str_of(value), word)) {
            return NODE_EXIT_OK;
        }
    }
    return option_usage_error("--%s cannot be \"%s\"; it is one of %s", row->name, value, row->value);
}

int option_take_hand_over(struct option_draft *d, const struct option_row *row, const char *value)
{
    int choice, code = take_choice(row, value, &choice);

    d->o->hand_over = (enum node_hand_over)choice;
    return code;
}

int option_take_publish(struct option_draft *d, const struct option_row *row, const char *value)
{
    int choice, code = take_choice(row, value, &choice);

    d->o->publish = (enum node_publish)choice;
    return code;
}

/* The second of two words. */
int option_take_second(struct option_draft *d, const struct option_row *row, const char *value)
{
    int choice, code = take_choice(row, value, &choice);

    *(bool *)member(d, row) = choice == 1;
    return code;
}

int option_take_limits(struct option_draft *d, const struct option_row *row, const char *value)
{
    if (d->says_limits) {
        return option_usage_error("--%s is given twice; a node has one of %s", row->name, row->value);
    }
    d->says_limits = true;
    return limits_kind_parse(str_of(value), &d->o->limits)
               ? NODE_EXIT_OK
               : option_usage_error("--%s cannot be \"%s\"; it is one of %s", row->name, value, row->value);
}

int option_take_verbosity(struct option_draft *d, const char *value)
{
    uint64_t v;

    if (!str_to_u64(str_of(value), NODE_VERBOSITY_MAX, &v)) {
        return option_usage_error("-v must be a number from 0 to %d, not \"%s\"", NODE_VERBOSITY_MAX, value);
    }
    d->o->verbosity = (int)v;
    return NODE_EXIT_OK;
}

/* Or "off". */
static int take_address(const struct option_row *row, const char *value, struct address *ret, bool *ret_off)
{
    struct err err;

    *ret_off = strcmp(value, "off") == 0;
    if (!*ret_off && address_parse(str_of(value), ret, &err) != 0) {
        return option_usage_error("--%s: %s", row->name, err.msg);
    }
    return NODE_EXIT_OK;
}

int option_take_ops_address(struct option_draft *d, const struct option_row *row, const char *value)
{
    return take_address(row, value, &d->o->ops_address, &d->o->ops_off);
}

int option_take_health_address(struct option_draft *d, const struct option_row *row, const char *value)
{
    return take_address(row, value, &d->o->health_address, &d->o->health_off);
}

int option_take_metrics_address(struct option_draft *d, const struct option_row *row, const char *value)
{
    return take_address(row, value, &d->o->metrics_address, &d->o->metrics_off);
}

/* "500ms", "10s", "5m", "1h". */
static int take_time(const struct option_row *row, const char *value, int64_t min_ms, int64_t max_ms, int64_t *ret_ms)
{
    static const struct {
        struct str name;
        int64_t ms;
    } units[] = {{{"ms", 2}, 1}, {{"s", 1}, 1000}, {{"m", 1}, 60000}, {{"h", 1}, 3600000}};
    const struct str text = str_of(value);
    const size_t digits = str_span(text, STR_DIGITS);
    uint64_t n;

    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_eq(str_drop(text, digits), units[i].name) &&
            str_to_u64((struct str){text.p, digits}, (uint64_t)(max_ms / units[i].ms), &n) &&
            (int64_t)n * units[i].ms >= min_ms) {
            *ret_ms = (int64_t)n * units[i].ms;
            return NODE_EXIT_OK;
        }
    }
    return option_usage_error("--%s must be a time from %llds to %llds, as \"30s\" or \"5m\", not \"%s\"", row->name,
                              (long long)(min_ms / 1000), (long long)(max_ms / 1000), value);
}

int option_take_usage_interval(struct option_draft *d, const struct option_row *row, const char *value)
{
    if (strcmp(value, "off") == 0) {
        d->o->usage_interval_ms = 0;
        return NODE_EXIT_OK;
    }
    return take_time(row, value, 1000, 300000, &d->o->usage_interval_ms);
}

int option_take_exceed_grace(struct option_draft *d, const struct option_row *row, const char *value)
{
    return take_time(row, value, 0, 3600000, &d->o->exceed_grace_ms);
}

int option_take_xids(struct option_draft *d, const struct option_row *row, const char *value)
{
    struct str rest = str_of(value), part;
    struct node_options *o = d->o;
    uint64_t xid;

    while (str_split(&rest, ',', &part)) {
        if (!str_to_u64(part, UINT16_MAX, &xid)) {
            return option_usage_error("--%s takes numbers with commas between them, not \"%s\"", row->name, value);
        }
        if (o->ignored_xid_n == NODE_XIDS_MAX) {
            return option_usage_error("--%s takes %d numbers at most", row->name, NODE_XIDS_MAX);
        }
        o->ignored_xids[o->ignored_xid_n++] = (uint32_t)xid;
    }
    return NODE_EXIT_OK;
}
