/* A Binding on its way out and the replies on their way in.
 *
 * First byte even: lines NAMESPACE, POD, UID, NODE, then KEY VALUE of annotations. What is put on
 * the wire stays inside its path segment and reads back as the same names and annotations.
 *
 * Odd: replies, three bytes each, to the state machine of one bind against an API server that may
 * or may not have applied what was sent. Success is never answered for a pod that is not bound,
 * nothing is released that is bound or may still become so, the caller is answered once and in
 * time. */
#include "fuzz.h"

#include "extender/bind_machine.h"
#include "kube/names.h"
#include "support/read_json.h"

#include <string.h>

#define ANNOTATIONS_MAX 16
#define STEPS_MAX 300
#define MS INT64_C(1000000)

/* ---- out ---- */

static bool is_path_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~/?=&%", c) != NULL);
}

static void check_path(struct str path)
{
    FUZZ_CHECK(str_starts(path, STR("/api/v1/namespaces/")));
    for (size_t i = 0; i < path.n; i++) {
        FUZZ_CHECK(is_path_byte(path.p[i]));
        FUZZ_CHECK(i == 0 || path.p[i] != '.' || path.p[i - 1] != '/');
    }
}

static void check_body(struct str body, const struct binding *b)
{
    cJSON *c = read_json(body);
    const cJSON *annotations = read_json_at(c, "metadata.annotations");
    const cJSON *item = annotations == NULL ? NULL : annotations->child;

    FUZZ_CHECK(c != NULL);
    FUZZ_SAME(read_json_text(c, "metadata.name"), b->pod_name);
    FUZZ_SAME(read_json_text(c, "metadata.uid"), b->pod_uid);
    FUZZ_SAME(read_json_text(c, "target.name"), b->node_name);
    for (size_t i = 0; i < b->annotations.n; i++, item = item->next) {
        FUZZ_CHECK(item != NULL);
        FUZZ_SAME(str_of(item->string), b->annotations.items[i].key);
        FUZZ_SAME(str_of(item->valuestring), b->annotations.items[i].value);
    }
    FUZZ_CHECK(item == NULL);
    cJSON_Delete(c);
}

/* cJSON cannot show text with a NUL, and invalid UTF-8 is replaced on the way. */
static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\0' || (s.p[i] & 0x80) != 0) {
            return false;
        }
    }
    return true;
}

static void request(struct fuzz_input *in)
{
    struct kv annotations[ANNOTATIONS_MAX];
    struct binding b = {.annotations = {annotations, 0}};
    struct strbuf path, body;
    bool plain = is_plain(fuzz_rest(in));
    struct err err;
    int rc;

    b.namespace_ = fuzz_until(in, '\n');
    b.pod_name = fuzz_until(in, '\n');
    b.pod_uid = fuzz_until(in, '\n');
    b.node_name = fuzz_until(in, '\n');
    for (; in->n > 0 && b.annotations.n < ANNOTATIONS_MAX; b.annotations.n++) {
        struct str rest = fuzz_until(in, '\n');

        str_split(&rest, ' ', &annotations[b.annotations.n].key);
        annotations[b.annotations.n].value = rest;
    }
    strbuf_init(&path, BINDING_PATH_MAX);
    strbuf_init(&body, BINDING_BODY_MAX);
    rc = binding_request(&b, 0, &path, &body, &err);
    FUZZ_CHECK(rc == 0 || ((rc == -ERR_INVALID || rc == -ERR_LIMIT) && err.msg[0] != '\0'));
    if (rc == 0) {
        FUZZ_CHECK(!path.overflowed && !body.overflowed);
        FUZZ_CHECK(kube_name_is_label(b.namespace_) && kube_name_is_subdomain(b.pod_name) &&
                   kube_name_is_subdomain(b.node_name) && b.pod_uid.n > 0);
        check_path(strbuf_view(&path));
        if (plain) {
            check_body(strbuf_view(&body), &b);
        }
    }
    strbuf_fini(&body);
    strbuf_fini(&path);
}

/* ---- in ---- */

struct server {
    bool bound, elsewhere, gone;
    int64_t applies_ns; /* a send that is still on its way lands then; INT64_MAX: none */
};

static void land(struct server *s, int64_t now_ns)
{
    if (s->applies_ns <= now_ns) {
        s->bound = s->bound || (!s->gone && !s->elsewhere);
        s->applies_ns = INT64_MAX;
    }
}

/* What an honest server and a bad network make of one send. */
static struct kube_outcome post(struct server *s, struct fuzz_input *in, int64_t now_ns)
{
    static const int refusals[] = {400, 401, 403, 404, 409, 422, 429, 418};
    static const int unsure[] = {500, 503, 504, 502, 202, 302};
    uint8_t how = fuzz_u8(in), detail = fuzz_u8(in);
    struct kube_outcome o = {
        .kind = KUBE_ANSWERED, .maybe_sent = true, .retry_after_ms = KUBE_NO_RETRY_AFTER};

    if ((detail & 128) != 0) {
        o.retry_after_ms = 100 * (detail & 127);
    }
    switch (how % 5) {
    case 0:
        o.http_status = s->bound || s->elsewhere ? 409 : s->gone ? 404 : 201;
        s->bound = s->bound || o.http_status == 201;
        return o;
    case 1:
        o.http_status = refusals[detail % ARRAY_LEN(refusals)];
        return o;
    case 2: /* applied or not, now or within its own 4 s; the reply says nothing */
        o.http_status = unsure[detail % ARRAY_LEN(unsure)];
        break;
    case 3:
        o.kind = (detail & 1) != 0 ? KUBE_TIMED_OUT : KUBE_LOST;
        break;
    default:
        o.kind = KUBE_NOT_SENT;
        o.maybe_sent = false;
        return o;
    }
    if ((how & 64) != 0) {
        s->applies_ns = now_ns + (how & 32 ? BINDING_TIMEOUT_S * 1000 * MS : 0);
    }
    return o;
}

static enum bind_get_outcome get(const struct server *s, uint8_t how)
{
    if ((how & 3) == 0) {
        return BIND_GET_FAILED;
    }
    return s->gone        ? BIND_GET_GONE
           : s->elsewhere ? BIND_GET_ELSEWHERE
           : s->bound     ? BIND_GET_OURS
                          : BIND_GET_UNBOUND;
}

static void disturb(struct server *s, uint8_t how)
{
    if (how == 255) {
        s->gone = true;
        s->bound = false;
    } else if (how == 254 && !s->bound && !s->gone) {
        s->elsewhere = true;
    }
}

static void replies(struct fuzz_input *in)
{
    struct server s = {.applies_ns = INT64_MAX};
    struct bind_machine m;
    int64_t now_ns = 1000 * MS;
    const int64_t deadline_ns = now_ns + 5000 * MS;
    const char *text;
    unsigned answers = 0;

    bind_machine_init(&m, deadline_ns);
    for (int step = 0; step < STEPS_MAX && in->n > 0; step++) {
        enum bind_action action = bind_machine_next(&m, now_ns);

        if (action == BIND_WAIT) {
            FUZZ_CHECK(m.wake_ns > now_ns);
            now_ns = answers == 0 && m.wake_ns > deadline_ns && now_ns < deadline_ns ? deadline_ns
                                                                                     : m.wake_ns;
        } else if (action == BIND_POST) {
            struct kube_outcome o;
            struct bind_answer answer;

            FUZZ_CHECK(now_ns < deadline_ns && answers == 0);
            land(&s, now_ns);
            o = post(&s, in, now_ns);
            answer = bind_classify(&o);
            now_ns += MS * fuzz_u8(in);
            bind_machine_posted(&m, &answer, now_ns);
        } else if (action == BIND_GET) {
            uint8_t how = fuzz_u8(in);

            land(&s, now_ns);
            bind_machine_got(&m, get(&s, how), now_ns + MS * how);
            now_ns += MS * how;
        }
        land(&s, now_ns);
        if (m.resolution == BIND_RELEASED) {
            FUZZ_CHECK(!s.bound && (s.applies_ns == INT64_MAX || s.gone || s.elsewhere));
        }
        FUZZ_CHECK(m.resolution != BIND_CONFIRMED || s.bound || s.gone);
        if (bind_machine_take_answer(&m, &text)) {
            answers++;
            FUZZ_CHECK((text == NULL) == (m.resolution == BIND_CONFIRMED));
        } else if (bind_machine_expire(&m, now_ns, &text)) {
            answers++;
            FUZZ_CHECK(text != NULL);
        }
        FUZZ_CHECK(answers <= 1 && (answers == 1 || now_ns < deadline_ns));
        if (action == BIND_END) {
            FUZZ_CHECK(m.resolution != BIND_OPEN && answers == 1);
            return;
        }
        disturb(&s, fuzz_u8(in));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};

    if (fuzz_bool(&in)) {
        replies(&in);
    } else {
        request(&in);
    }
    return 0;
}
