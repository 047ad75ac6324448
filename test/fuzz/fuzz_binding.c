/* A Binding on its way out and the replies on their way in.
 *
 * First byte even: lines NAMESPACE, POD, UID, NODE, then KEY VALUE of annotations. What is put on
 * the wire stays inside its path segment and reads back as the same names and annotations.
 *
 * Odd: replies to the state machine of one bind against an API server that hands what was sent to
 * etcd, answers anything or nothing, and commits it any time later, if the preconditions hold then
 * (or does not look at them, as before 1.23); the pod changes meanwhile, and callers join. Time plays
 * no part in what lands. Success is never answered for a pod that is not bound, nothing is released
 * that is bound or can still become so, every caller is answered once and in time. */
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

enum { HELD_MAX = STEPS_MAX };

struct server {
    uint64_t version; /* of the pod */
    bool bound, elsewhere, gone;
    bool checks;             /* preconditions */
    bool known;              /* to check them */
    uint64_t held[HELD_MAX]; /* transactions handed to etcd, by the version that they carried */
    size_t held_n;
};

static bool can_land(const struct server *s, uint64_t version)
{
    return !s->bound && !s->gone && !s->elsewhere && (!s->checks || version == 0 || version == s->version);
}

/* The link to etcd recovers for one of them; time plays no part. */
static void land_one(struct server *s, uint8_t which)
{
    uint64_t version;

    if (s->held_n == 0) {
        return;
    }
    version = s->held[which % s->held_n];
    s->held[which % s->held_n] = s->held[s->held_n - 1];
    s->held_n--;
    if (can_land(s, version)) {
        s->bound = true;
        s->version++;
    }
}

static bool any_can_land(const struct server *s)
{
    for (size_t i = 0; i < s->held_n; i++) {
        if (can_land(s, s->held[i])) {
            return true;
        }
    }
    return false;
}

/* What an honest server and a bad network make of one send. */
static struct kube_outcome post(struct server *s, struct fuzz_input *in, uint64_t version)
{
    static const int refusals[] = {400, 401, 403, 404, 422, 429};
    static const int unsure[] = {500, 503, 504, 502, 409, 202, 302, 418, 201};
    uint8_t how = fuzz_u8(in), detail = fuzz_u8(in);
    struct kube_outcome o = {.kind = KUBE_ANSWERED, .maybe_sent = true, .retry_after_ms = KUBE_NO_RETRY_AFTER};

    if ((detail & 128) != 0) {
        o.retry_after_ms = 100 * (detail & 127);
    }
    if ((how & 128) != 0 && can_land(s, version)) {
        /* sent twice by the transport: the first copy is on its way, whatever the second is answered */
        s->held[s->held_n++] = version;
        o.sent_again = true;
    }
    switch ((how & 15) % 5) {
    case 0:
        o.http_status = can_land(s, version) ? 201 : s->gone ? 404 : 409;
        if (o.http_status == 201) {
            s->bound = true;
            s->version++;
        }
        return o;
    case 1:
        o.http_status = refusals[detail % ARRAY_LEN(refusals)];
        return o;
    case 2: /* whatever the reply says, it is with etcd; but 201 is said of what is done */
        o.http_status = unsure[detail % (ARRAY_LEN(unsure) - 1)];
        break;
    case 3:
        o.kind = (detail & 1) != 0 ? KUBE_TIMED_OUT : KUBE_LOST;
        break;
    default:
        o.kind = o.sent_again ? KUBE_LOST : KUBE_NOT_SENT;
        o.maybe_sent = o.sent_again;
        return o;
    }
    if ((how & 64) != 0 && can_land(s, version)) {
        s->held[s->held_n++] = version;
    }
    return o;
}

static struct bind_sight look(const struct server *s, uint8_t how)
{
    return (struct bind_sight){
        .kind = (how & 3) == 0 ? BIND_SEEN_NOTHING
                : s->gone      ? BIND_SEEN_GONE
                : s->elsewhere ? ((how & 4) != 0 ? BIND_SEEN_ELSEWHERE : BIND_SEEN_OTHER_RECORD)
                : s->bound     ? BIND_SEEN_OURS
                               : BIND_SEEN_UNBOUND,
        .version = (how & 8) != 0 && (how & 16) != 0 && (how & 32) != 0 ? 0 : s->version,
        .as_decided = (how & 64) != 0,
        .versions_hold = s->checks && s->known,
    };
}

static void disturb(struct server *s, uint8_t how)
{
    if (how == 255) {
        s->gone = true;
        s->bound = false;
    } else if (how == 254 && !s->bound && !s->gone) {
        s->elsewhere = true;
        s->version++;
    } else if (how == 253) {
        s->known = true;
    } else if (how >= 240) {
        s->version++;
    } else if (how >= 200) {
        land_one(s, how);
    }
}

static void watch_event(struct bind_machine *m, const struct server *s, uint8_t how, int64_t now_ns)
{
    struct bind_sight seen = look(s, how | 1);

    if (m->resolution == BIND_OPEN && m->next != BIND_END && how >= 224 &&
        (seen.kind != BIND_SEEN_UNBOUND || bind_machine_is_settled_by(m, &seen))) {
        bind_machine_seen(m, &seen, now_ns);
    }
}

static void replies(struct fuzz_input *in)
{
    uint8_t kind = fuzz_u8(in);
    struct server s = {.version = 100, .checks = (kind & 3) != 0, .known = (kind & 12) != 0};
    struct bind_machine m;
    int64_t now_ns = 1000 * MS;
    int64_t deadline_ns = now_ns + 5000 * MS;
    const char *text;
    unsigned answers = 0, asked = 1;

    bind_machine_init(&m, (kind & 48) == 0 ? 0 : 100U - (kind >> 7), deadline_ns);
    for (int step = 0; step < STEPS_MAX / 2 && in->n > 0; step++) {
        enum bind_action action = bind_machine_next(&m, now_ns);

        if (action == BIND_WAIT) {
            FUZZ_CHECK(m.wake_ns > now_ns);
            now_ns = answers < asked && m.wake_ns > deadline_ns && now_ns < deadline_ns ? deadline_ns : m.wake_ns;
            watch_event(&m, &s, fuzz_u8(in), now_ns);
        } else if (action == BIND_POST) {
            struct kube_outcome o;
            struct bind_answer answer;

            FUZZ_CHECK(m.unknown || (now_ns < deadline_ns && answers < asked));
            o = post(&s, in, m.version);
            answer = bind_classify(&o);
            disturb(&s, fuzz_u8(in)); /* while the reply is on its way */
            now_ns += MS * fuzz_u8(in);
            bind_machine_posted(&m, &answer, now_ns);
        } else if (action == BIND_GET) {
            uint8_t how = fuzz_u8(in);
            struct bind_sight seen = look(&s, how);

            disturb(&s, fuzz_u8(in));
            now_ns += MS * how;
            bind_machine_seen(&m, &seen, now_ns);
        }
        if (m.resolution == BIND_RELEASED) {
            FUZZ_CHECK((!s.bound || s.elsewhere) && !any_can_land(&s));
        }
        FUZZ_CHECK(m.resolution != BIND_CONFIRMED || s.bound || s.gone);
        FUZZ_CHECK(m.resolution != BIND_SUPERSEDED || s.elsewhere || s.gone);
        if (bind_machine_take_answer(&m, &text)) {
            answers++;
            FUZZ_CHECK((text == NULL) == (m.resolution == BIND_CONFIRMED));
        } else if (bind_machine_expire(&m, now_ns, &text)) {
            answers++;
            FUZZ_CHECK(text != NULL);
        }
        FUZZ_CHECK(answers <= asked && (answers == asked || now_ns < deadline_ns));
        if (action == BIND_END) {
            FUZZ_CHECK(m.resolution != BIND_OPEN && answers == asked);
            return;
        }
        if (m.resolution == BIND_OPEN && answers == asked && asked < 3 && fuzz_u8(in) > 250) {
            deadline_ns = now_ns + 5000 * MS;
            bind_machine_join(&m, deadline_ns, now_ns);
            asked++;
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
