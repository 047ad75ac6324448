/* Plugins that a container runtime must have asked before it creates a container: an annotation of the pod, which the
 * default validator of NRI obeys where it is enabled (containerd 2.2 and newer, CRI-O 1.34 and newer; node resource
 * interface, plugins/default-validator). The value is a list in YAML. That of "KEY/container.NAME" holds for a
 * container, else that of "KEY/pod", else that of "KEY", so every one of them that a pod brings gets our name, and
 * "KEY" is written in any case.
 *
 * Read is what people write: ["a", 'b', c] and lines of "- a". A list that is written in another way is replaced by
 * ours alone. It is the wish of the pod's author, who is told so in manifests/hand-offs.md; that containers do not
 * start past the agent is the wish of the cluster, and an author must not be able to end it by a list that we cannot
 * read.
 */
#include "core/dialects/answer_internal.h"

#include "base/compiler.h"

#define PLUGINS_MAX 32 /* beside the agent: a list with it is read again as it was written */
#define PLUGIN_BYTES_MAX 128

struct plugins {
    struct str names[PLUGINS_MAX + 1];
    size_t n;
    bool agent; /* is among them, once */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str trim(struct str s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s = str_drop(s, 1);
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

/* As names of plugins are: containerd/nri pkg/api/plugin.go. */
static bool is_plugin_name(struct str s)
{
    if (s.n == 0 || s.n > PLUGIN_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_' && c != '.' &&
            c != '+' && c != '-') {
            return false;
        }
    }
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "fgpu", or with its index: "10-fgpu". */
static bool is_agent(struct str name)
{
    const bool indexed =
        name.n == str_of("10-" FGPU_NODE_PLUGIN).n && is_digit(name.p[0]) && is_digit(name.p[1]) && name.p[2] == '-';

    return str_eq(indexed ? str_drop(name, 3) : name, STR(FGPU_NODE_PLUGIN));
}

static bool take_name(struct plugins *p, struct str item)
{
    const bool quoted = item.n >= 2 && (item.p[0] == '"' || item.p[0] == '\'') && item.p[item.n - 1] == item.p[0];
    const struct str name = quoted ? (struct str){item.p + 1, item.n - 2} : item;
    const bool agent = is_agent(name);

    if (agent && p->agent) {
        return true;
    }
    if (!is_plugin_name(name) || (!agent && p->n - p->agent == PLUGINS_MAX)) {
        return false;
    }
    p->agent = p->agent || agent;
    p->names[p->n++] = name;
    return true;
}

/* `text` is what stands between the brackets. */
static bool read_flow(struct str text, struct plugins *p)
{
    struct str item;

    while (str_split(&text, ',', &item)) {
        item = trim(item);
        if (item.n == 0 && trim(text).n == 0) {
            return true; /* nothing, or a comma at the end */
        }
        if (!take_name(p, item)) {
            return false;
        }
    }
    return true;
}

/* Without what stands behind " #". */
static struct str without_comment(struct str item)
{
    for (size_t i = 1; i < item.n; i++) {
        if (item.p[i] == '#' && is_blank(item.p[i - 1])) {
            return trim((struct str){item.p, i});
        }
    }
    return item;
}

static bool read_block(struct str text, struct plugins *p)
{
    size_t indent = SIZE_MAX;
    struct str line;

    while (str_split(&text, '\n', &line)) {
        const struct str item = trim(line);
        const size_t at = (size_t)(item.p - line.p);

        if (item.n == 0 || item.p[0] == '#' || (str_eq(item, STR("---")) && indent == SIZE_MAX)) {
            continue;
        }
        if (item.n < 2 || item.p[0] != '-' || !is_blank(item.p[1]) || (indent != SIZE_MAX && at != indent) ||
            !take_name(p, without_comment(trim(str_drop(item, 2))))) {
            return false;
        }
        indent = at;
    }
    return true;
}

static bool read_plugins(struct str text, struct plugins *p)
{
    const struct str all = trim(text);

    *p = (struct plugins){.n = 0};
    if (all.n == 0 || str_eq(all, STR("~")) || str_eq(all, STR("null"))) {
        return true;
    }
    if (all.p[0] == '[') {
        return all.p[all.n - 1] == ']' && read_flow((struct str){all.p + 1, all.n - 2}, p);
    }
    return read_block(text, p);
}

bool is_required_plugins_key(struct str key)
{
    const struct str rest = str_drop(key, str_of(REQUIRED_PLUGINS_KEY).n);

    return str_starts(key, STR(REQUIRED_PLUGINS_KEY)) && (rest.n == 0 || rest.p[0] == '/');
}

void add_agent_to_plugins(struct str text, struct strbuf *out)
{
    struct plugins p;

    if (!read_plugins(text, &p)) {
        p = (struct plugins){.n = 0};
    }
    strbuf_add_char(out, '[');
    for (size_t i = 0; i < p.n; i++) {
        strbuf_add_char(out, '"');
        strbuf_add_str(out, p.names[i]);
        strbuf_add_cstr(out, i + 1 < p.n || !p.agent ? "\"," : "\"");
    }
    strbuf_add_cstr(out, p.agent ? "]" : "\"" FGPU_NODE_PLUGIN "\"]");
}
