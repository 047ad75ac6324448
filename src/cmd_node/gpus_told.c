#include "cmd_node/gpus_told.h"

static bool is_character_device(struct str type)
{
    return str_eq(type, STR("c")) || str_eq(type, STR("u")); /* unbuffered, as mknod(1) calls it, is the same */
}

/* Rules that only let nodes be made ("m") are everybody's. */
static bool opens(const struct nri_device_rule *r)
{
    const bool some = r->type.n == 0 || str_eq(r->type, STR("a")) || is_character_device(r->type);

    return r->allow && some && !str_eq(r->access, STR("m"));
}

struct gpu_nodes gpus_told(const struct nri_container *c)
{
    struct gpu_nodes told = {.everything = false};

    for (size_t i = 0; i < c->device_n; i++) {
        if (is_character_device(c->devices[i].type)) {
            gpu_nodes_open(&told, c->devices[i].major, c->devices[i].minor);
        }
    }
    for (size_t i = 0; i < c->device_rule_n; i++) {
        if (opens(&c->device_rules[i])) {
            gpu_nodes_open(&told, c->device_rules[i].major, c->device_rules[i].minor);
        }
    }
    return told;
}
