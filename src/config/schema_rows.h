/* How a row of the schema is written: schema.c has the keys of the file, schema_items.c those of the elements of its
 * lists. A row: KEY(name, type, where it is stored, what else there is to it, HELP(half a sentence)). */
#ifndef CONFIG_SCHEMA_ROWS_H
#define CONFIG_SCHEMA_ROWS_H

#include "base/compiler.h"
#include "config/scalar_internal.h"
#include "model/device.h"

#define MIB_PER_TIB INT64_C(1048576)
#define DEVICE_MIB_MAX (16 * MIB_PER_TIB)
#define ENTRIES_MAX 1000 /* sizes, node templates */
#define FILE_NAME_MAX 4095

#define KEY(name_, type_, at_, ...)                                                                                    \
    {                                                                                                                  \
        .name = (name_), SCALAR(type_), at_, __VA_ARGS__                                                               \
    }
#define SECTION(name_, table_, ...)                                                                                    \
    {                                                                                                                  \
        .name = (name_), SCALAR(SCHEMA_SECTION), ROWS(table_), __VA_ARGS__                                             \
    }
#define ROWS(table_) .sub = (table_), .sub_n = ARRAY_LEN(table_)
/* The keys of an element. */
#define ELEMENT(table_, ...)                                                                                           \
    {                                                                                                                  \
        SCALAR(SCHEMA_SECTION), ROWS(table_), __VA_ARGS__                                                              \
    }

#define IN(type_, member_) .offset = offsetof(type_, member_)
#define AT(member_) IN(struct config, member_)
#define RANGE(min_, max_) .min = (min_), .max = (max_)
#define HELP(text_) .help = (text_)
/* Indexed by the enum that is stored. */
#define WORDS(...)                                                                                                     \
    .words = (const char *const[])                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

/* Without NOW or RELIST a change needs a restart. */
#define RESTART .reload = CONFIG_RELOAD_RESTART
#define NOW .reload = CONFIG_RELOAD_NOW
#define RELIST .reload = CONFIG_RELOAD_RELIST

/* A list or map: the row of an element, its C type, where their number is stored. */
#define ITEMS(item_, t_, at_n_, max_) IN_ITEMS(item_, t_, struct config, at_n_, 0, max_)
/* The same in an element. */
#define IN_ITEMS(item_, t_, in_, at_n_, min_, max_)                                                                    \
    .offset2 = offsetof(in_, at_n_), .sub = (item_), .item_size = sizeof(t_), .min = (min_), .max = (max_)

/* How the GPUs of the cluster, or of some nodes, are shared: `at_`(member) says where they are stored. */
#define SHARING_KEYS(at_, reload_)                                                                                     \
    KEY("memoryReserve", SCHEMA_MIB, at_(mem_reserve_mib), RANGE(0, MIB_PER_TIB), reload_,                             \
        HELP("reserved memory of every GPU, which no pod gets")),                                                      \
        KEY("maxSharers", SCHEMA_INT, at_(max_sharers), RANGE(1, DEVICE_MILLI), reload_,                               \
            HELP("number of containers that may share a GPU, if the GPU publishes no number itself")),                 \
        KEY("memoryOnly", SCHEMA_WORD, at_(memory_only),                                                               \
            WORDS([MEMORY_ONLY_SHARE] = "share", [MEMORY_ONLY_FREE] = "free"), reload_,                                \
            HELP("compute that a pod takes if it asks for memory only")),                                              \
        KEY("qos", SCHEMA_WORD, at_(qos),                                                                              \
            WORDS([QOS_FIXED_SHARE] = "fixed-share", [QOS_BEST_EFFORT] = "best-effort",                                \
                  [QOS_EQUAL_SHARE] = "equal-share"),                                                                  \
            reload_, HELP("how containers divide a GPU if their pods do not say it")),                                 \
        KEY("lendIdleCompute", SCHEMA_WORD, at_(lending), WORDS([LEND_ALLOW] = "allow", [LEND_FORBID] = "forbid"),     \
            reload_, HELP("whether containers may use idle compute of others")),                                       \
        KEY("handOff", SCHEMA_WORD, at_(hand_off),                                                                     \
            WORDS([HAND_OFF_DOWNWARD_API] = "downward-api", [HAND_OFF_AGENT] = "agent",                                \
                  [HAND_OFF_NVIDIA_CDI] = "nvidia-cdi", [HAND_OFF_KAI_FRACTIONING] = "kai-fractioning",                \
                  [HAND_OFF_KAI_SM_SHARING] = "kai-sm-sharing"),                                                       \
            reload_, .check = schema_check_hand_off,                                                                   \
            HELP("how the containers of a node get the GPUs that were decided for them"))
#define OVERCOMMIT_KEYS(at_, reload_)                                                                                  \
    KEY("compute", SCHEMA_FACTOR, at_(overcommit_milli), RANGE(1000, 10000), reload_,                                  \
        HELP("factor for the part of a GPU's compute that pods may get; 1.5 is 150 %")),                               \
        KEY("memory", SCHEMA_FACTOR, at_(overcommit_mem_milli), RANGE(1000, 10000), reload_,                           \
            HELP("factor for the part of a GPU's memory that pods may get; 1.5 is 150 %"))

/* schema_items.c */
extern const struct schema_field schema_compute_item, schema_plugin_item, schema_size_key, schema_size_item,
    schema_template_item, schema_override_item, schema_rule_item, schema_tenant_item, schema_pool_item,
    schema_change_over_item, schema_window_item;

#endif
