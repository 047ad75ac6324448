#include "nri/session.h"

#include "nri/support/told.h"
#include "nri/support/wire.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct told told;
    struct nri_plugin_stats stats;
    struct clock_manual clock;
    struct session_setup setup;
    struct session session;
    struct strbuf in, payload, memory;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));

    told_init(&f->told);
    clock_manual_init(&f->clock, 1, 1);
    f->setup = (struct session_setup){
        .handler = &f->told.handler, .name = "fgpu", .index = "10", .clock = &f->clock.clock, .stats = &f->stats};
    session_init(&f->session, &f->setup);
    strbuf_init(&f->in, 8U << 20);
    strbuf_init(&f->payload, 8U << 20);
    strbuf_init(&f->memory, 8U << 20);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    session_fini(&f->session);
    told_fini(&f->told);
    strbuf_fini(&f->in);
    strbuf_fini(&f->payload);
    strbuf_fini(&f->memory);
    free(f);
    return 0;
}

static void begin_again(struct fixture *f)
{
    session_fini(&f->session);
    session_init(&f->session, &f->setup);
    strbuf_reset(&f->told.text);
}

/* Feeds what was written to f->in. */
static void must_feed(struct fixture *f)
{
    struct err err = {.code = ERR_OK};

    if (session_feed(&f->session, strbuf_view(&f->in), &err) != 0) {
        fail_msg("%s", err.msg);
    }
    strbuf_reset(&f->in);
}

static void must_not_feed(struct fixture *f, enum err_code code, const char *words)
{
    struct err err = {.code = ERR_OK};

    assert_int_equal(session_feed(&f->session, strbuf_view(&f->in), &err), -(int)code);
    assert_string_equal(err.msg, words);
    strbuf_reset(&f->in);
}

static void must_tell(struct fixture *f, const char *text)
{
    assert_string_equal(f->told.text.p, text);
    strbuf_reset(&f->told.text);
}

static struct wire_answer next_answer(struct fixture *f)
{
    struct str out = session_output(&f->session), rest = out;
    struct wire_answer a;

    assert_true(wire_take(&rest, &f->memory, &a));
    session_sent(&f->session, out.n - rest.n);
    return a;
}

static void must_answer(struct fixture *f, uint32_t stream, struct str payload)
{
    struct wire_answer a = next_answer(f);

    assert_int_equal(a.id, 1);
    assert_int_equal(a.type, 2);
    assert_int_equal(a.stream, stream);
    assert_true(str_eq(a.message, STR_NULL));
    assert_int_equal(a.code, 0);
    assert_true(str_eq(a.payload, payload));
}

static void must_refuse(struct fixture *f, uint32_t stream, uint64_t code, const char *words)
{
    struct wire_answer a = next_answer(f);

    assert_int_equal(a.stream, stream);
    assert_int_equal(a.code, code);
    assert_true(str_eq_cstr(a.message, words));
    assert_int_equal(a.payload.n, 0);
}

static void call(struct fixture *f, uint32_t stream, const char *method)
{
    wire_call(&f->in, stream, method, strbuf_view(&f->payload));
    strbuf_reset(&f->payload);
    must_feed(f);
}

static void make_ready(struct fixture *f)
{
    (void)next_answer(f);
    wire_ready(&f->in);
    must_feed(f);
    (void)next_answer(f);
    (void)next_answer(f);
    assert_int_equal(session_output(&f->session).n, 0);
    strbuf_reset(&f->told.text);
}

static void call_about(struct fixture *f, uint32_t stream, const char *method)
{
    wire_pod_and_container(&f->payload, 1, "p", "c");
    call(f, stream, method);
}

/* ---- how it begins ---- */

static void session__new__registers_first(void **state)
{
    struct fixture *f = *state;
    struct wire_answer a = next_answer(f);

    assert_int_equal(a.id, 2);
    assert_int_equal(a.type, 1);
    assert_int_equal(a.stream, 1);
    assert_true(str_eq_cstr(a.service, "nri.pkg.api.v1alpha1.Runtime"));
    assert_true(str_eq_cstr(a.method, "RegisterPlugin"));
    assert_true(str_eq(a.payload, STR("\x0a\x04"
                                      "fgpu\x12\x02"
                                      "10\x1a\x07v0.12.0")));
}

static void configure__runtime_with_all_fields__asks_for_five_events(void **state)
{
    struct fixture *f = *state;

    wire_cstr(&f->payload, 1, "config");
    wire_cstr(&f->payload, 2, "cri-o");
    wire_cstr(&f->payload, 3, "1.36.3");
    wire_number(&f->payload, 4, 5000);
    wire_number(&f->payload, 5, 2000);
    wire_cstr(&f->payload, 6, "v0.12.3");
    call(f, 1, "Configure");
    must_tell(f, "connected cri-o 1.36.3 v0.12.3 2000; ");
    (void)next_answer(f);
    must_answer(f, 1, STR("\x10\xac\x0c")); /* 4 + 8 + 32 + 512 + 1024: events 3, 4, 6, 10 and 11 */
}

static void configure__fail_request__asks_to_fail_closed(void **state)
{
    struct fixture *f = *state;

    f->setup.fail_request = true;
    begin_again(f);
    call(f, 1, "Configure");
    (void)next_answer(f);
    must_answer(f, 1, STR("\x10\xac\x0c\x1a\x02\x08\x01"));
}

static void configure__twice__is_refused(void **state)
{
    struct fixture *f = *state;

    make_ready(f);
    call(f, 5, "Configure");
    must_refuse(f, 5, 9, "this plugin is configured already");
}

static void register__refused_by_the_runtime__ends_with_its_words(void **state)
{
    struct fixture *f = *state;
    struct strbuf status;

    strbuf_init(&status, 100);
    wire_number(&status, 1, 2);
    wire_cstr(&status, 2, "invalid plugin name");
    wire_text(&f->payload, 1, strbuf_view(&status));
    strbuf_fini(&status);
    wire_message(&f->in, 2, 1, 2, strbuf_view(&f->payload), SIZE_MAX);
    must_not_feed(f, ERR_DENIED, "the runtime does not take plugin 10-fgpu: invalid plugin name");
}

static void pods_and_containers(struct strbuf *payload, const char *pod, const char *container, bool more)
{
    wire_pod_and_container(payload, 1, pod, container);
    wire_number(payload, 3, more);
}

static void synchronize__in_three_calls__is_one(void **state)
{
    struct fixture *f = *state;

    call(f, 1, "Configure");
    (void)next_answer(f);
    (void)next_answer(f);
    strbuf_reset(&f->told.text);
    pods_and_containers(&f->payload, "p1", "c1", true);
    call(f, 3, "Synchronize");
    must_answer(f, 3, STR("\x10\x01"));
    must_tell(f, "begin; pod p1; container c1 of ; ");
    assert_false(f->stats.synchronized);
    pods_and_containers(&f->payload, "p2", "c2", true);
    call(f, 5, "Synchronize");
    must_answer(f, 5, STR("\x10\x01"));
    pods_and_containers(&f->payload, "p3", "c3", false);
    call(f, 7, "Synchronize");
    must_answer(f, 7, STR_NULL);
    must_tell(f, "pod p2; container c2 of ; pod p3; container c3 of ; end; ");
    assert_true(f->stats.synchronized);
    assert_int_equal(f->stats.connections, 1);
    begin_again(f);
    assert_false(f->stats.synchronized);
}

static void synchronize__one_pod_and_one_container_unreadable__hide_no_other(void **state)
{
    struct fixture *f = *state;

    f->setup.call_max = 4096;
    begin_again(f);
    call(f, 1, "Configure");
    (void)next_answer(f);
    (void)next_answer(f);
    strbuf_reset(&f->told.text);
    wire_text(&f->payload, 1,
              STR("\x0a\x01"
                  "a"));
    wire_text(&f->payload, 1, STR("\x0a\x63")); /* 99 bytes that are not there */
    wire_text(&f->payload, 1,
              STR("\x0a\x01"
                  "b"));
    wire_text(&f->payload, 2,
              STR("\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0"
                  "\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0"
                  "\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0"
                  "\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0\x42\0"));
    wire_text(&f->payload, 2,
              STR("\x0a\x01"
                  "c"));
    call(f, 3, "Synchronize");
    must_answer(f, 3, STR_NULL);
    must_tell(
        f,
        "begin; pod a; unreadable pod: a pod of 2 bytes cannot be read as a message of NRI; pod b; "
        "unreadable container: a container of 120 bytes takes more than 4096 bytes of memory; container c of ; end; ");
    assert_int_equal(f->stats.unreadable, 2);
}

static void container_call__before_synchronize__is_refused(void **state)
{
    static const char *const methods[] = {"CreateContainer", "StartContainer", "StopContainer", "RemoveContainer",
                                          "RemovePodSandbox"};
    struct fixture *f = *state;
    uint32_t stream = 1;

    (void)next_answer(f);
    call(f, stream, "Synchronize");
    must_refuse(f, stream, 9, "this plugin is not configured yet");
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
            char words[200];

            call_about(f, stream += 2, methods[i]);
            snprintf(words, sizeof(words), "%s comes before the runtime has told which containers run", methods[i]);
            must_refuse(f, stream, 9, words);
        }
        if (round == 0) {
            call(f, stream += 2, "Configure");
            (void)next_answer(f);
            strbuf_reset(&f->told.text);
        }
    }
    must_tell(f, "");
}

static void synchronize__twice__is_refused(void **state)
{
    struct fixture *f = *state;

    make_ready(f);
    call(f, 5, "Synchronize");
    must_refuse(f, 5, 9, "this plugin is synchronized already");
    must_tell(f, "");
}

/* ---- what happens to containers ---- */

static void container_call__each_step__is_told(void **state)
{
    struct fixture *f = *state;
    uint32_t stream = 5;
    static const char *const methods[] = {"CreateContainer", "StartContainer",   "StopContainer",
                                          "RemoveContainer", "RemovePodSandbox", "Shutdown"};

    make_ready(f);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++, stream += 2) {
        call_about(f, stream, methods[i]);
        must_answer(f, stream, STR_NULL);
    }
    must_tell(f, "create p/c; start p/c; stop p/c; remove p/c; sandbox removed p; ");
}

static void state_change(struct fixture *f, uint64_t event)
{
    wire_number(&f->payload, 1, event);
    wire_pod_and_container(&f->payload, 2, "p", "c");
    call(f, 5, "StateChange");
}

static void state_change__each_event__is_told_as_the_call_is(void **state)
{
    struct fixture *f = *state;

    make_ready(f);
    for (uint64_t event = 0; event < 16; event++) {
        state_change(f, event);
        must_answer(f, 5, STR_NULL);
    }
    must_tell(f, "sandbox removed p; start p/c; stop p/c; remove p/c; ");
    f->told.refuse = "no limit could be set";
    state_change(f, 6);
    must_refuse(f, 5, 9, "no limit could be set");
}

static void create__everything_added__these_bytes(void **state)
{
    static const struct kv env[] = {{{"A", 1}, {"b=c", 3}}};
    static const struct str cdi[] = {{"fgpu.io/gpu=x", 13}}, options[] = {{"ro", 2}};
    static const struct nri_mount mounts[] = {{{"/to", 3}, {"bind", 4}, {"/from", 5}, options, 1}};
    static const struct nri_device devices[] = {{{"/dev/a", 6}, {"c", 1}, 195, 300, 0600},
                                                {{"/dev/b", 6}, {"c", 1}, 1, 3, 0}};
    struct fixture *f = *state;

    make_ready(f);
    f->told.add = (struct nri_adjustment){.env = {env, 1},
                                          .cdi_devices = cdi,
                                          .cdi_device_n = 1,
                                          .mounts = mounts,
                                          .mount_n = 1,
                                          .devices = devices,
                                          .device_n = 2};
    call_about(f, 5, "CreateContainer");
    must_answer(f, 5,
                STR("\x0a\x5e"                       /* adjust=1 */
                    "\x1a\x16\x0a\x03/to\x12\x04"    /* mounts=3 */
                    "bind\x1a\x05/from\x22\x02ro"    /*  */
                    "\x22\x08\x0a\x01"               /* env=4 */
                    "A\x12\x03"                      /*  */
                    "b=c"                            /*  */
                    "\x32\x29"                       /* linux=6 */
                    "\x0a\x16\x0a\x06/dev/a\x12\x01" /* devices=1 */
                    "c\x18\xc3\x01\x20\xac\x02\x2a\x03\x08\x80\x03"
                    "\x0a\x0f\x0a\x06/dev/b\x12\x01"
                    "c\x18\x01\x20\x03"
                    "\x42\x0f\x0a\x0d"
                    "fgpu.io/gpu=x")); /* CDI_devices=8 */
}

static void create__refused__has_its_reason(void **state)
{
    struct fixture *f = *state;

    make_ready(f);
    f->told.refuse = "GPU-1 is full";
    f->told.refuse_code = ERR_NOT_FOUND; /* whose number must not be taken for a method that is not there */
    call_about(f, 5, "CreateContainer");
    must_refuse(f, 5, 9, "GPU-1 is full");
    call_about(f, 7, "StartContainer");
    must_refuse(f, 7, 9, "GPU-1 is full");
    assert_int_equal(f->stats.refusals, 2);
    f->told.refuse = NULL;
    call_about(f, 9, "CreateContainer");
    must_answer(f, 9, STR_NULL);
}

static void create__no_callbacks__goes_through(void **state)
{
    struct fixture *f = *state;

    f->told.handler = (struct nri_handler){.ctx = NULL};
    begin_again(f);
    make_ready(f);
    call_about(f, 5, "CreateContainer");
    must_answer(f, 5, STR_NULL);
    call_about(f, 7, "StartContainer");
    must_answer(f, 7, STR_NULL);
    state_change(f, 3);
    must_answer(f, 5, STR_NULL);
}

/* ---- what nobody should send ---- */

static void call__unknown_method__unimplemented(void **state)
{
    struct fixture *f = *state;
    struct strbuf body;

    make_ready(f);
    call(f, 5, "UpdatePodSandbox");
    must_refuse(f, 5, 12, "this plugin has no method UpdatePodSandbox");
    strbuf_init(&body, 100);
    wire_cstr(&body, 1, "grpc.health.v1.Health");
    wire_cstr(&body, 2, "Configure");
    wire_message(&f->in, 1, 7, 1, strbuf_view(&body), SIZE_MAX);
    must_feed(f);
    must_refuse(f, 7, 12, "this plugin has no service grpc.health.v1.Health");
    strbuf_fini(&body);
}

static void call__unreadable_payload__is_refused_and_counted(void **state)
{
    static const char *const methods[] = {"Configure", "Synchronize", "CreateContainer", "StateChange"};
    struct fixture *f = *state;

    make_ready(f);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        char words[200];

        strbuf_add_str(&f->payload, STR("\x0a\xff"));
        call(f, 5, methods[i]);
        snprintf(words, sizeof(words), "%s of 2 bytes cannot be read as a message of NRI", methods[i]);
        must_refuse(f, 5, 9, words);
    }
    call(f, 5, "CreateContainer");
    must_refuse(f, 5, 9, "CreateContainer does not name what it is about");
    assert_int_equal(f->stats.unreadable, 5);
    wire_message(&f->in, 1, 7, 1, STR("\x0a\xff"), SIZE_MAX);
    must_feed(f);
    must_refuse(f, 7, 3, "a call of the runtime of 2 bytes cannot be read as a message of NRI");
    must_tell(f, "");
}

static void text__nul_in_it__is_not_cut(void **state)
{
    struct fixture *f = *state;
    struct strbuf id;

    make_ready(f);
    strbuf_init(&id, 100);
    wire_text(&id, 1, STR("c\0d"));
    wire_text(&f->payload, 2, strbuf_view(&id));
    call(f, 5, "StopContainer");
    assert_true(str_eq(strbuf_view(&f->told.text), STR("stop /c\0d; ")));
    strbuf_fini(&id);
}

static void message__in_the_wrong_place__ends_the_connection(void **state)
{
    struct fixture *f = *state;

    wire_message(&f->in, 1, 1, 2, STR_NULL, SIZE_MAX);
    must_not_feed(f, ERR_PARSE, "the runtime sent a message of type 2 where it calls us");
    begin_again(f);
    wire_message(&f->in, 2, 1, 1, STR_NULL, SIZE_MAX);
    must_not_feed(f, ERR_PARSE, "the runtime sent a message of type 1 for stream 1 where it answers us");
    begin_again(f);
    wire_message(&f->in, 2, 3, 2, STR_NULL, SIZE_MAX);
    must_not_feed(f, ERR_PARSE, "the runtime sent a message of type 2 for stream 3 where it answers us");
}

static void frame__of_another_connection__is_passed_over(void **state)
{
    struct fixture *f = *state;

    make_ready(f);
    wire_message(&f->in, 3, 1, 1, STR("whatever"), SIZE_MAX);
    wire_message(&f->in, 0, 1, 1, STR("whatever"), 3);
    call_about(f, 5, "StopContainer");
    must_answer(f, 5, STR_NULL);
}

/* ---- bytes, waiting, time ---- */

static void session__byte_by_byte__the_same(void **state)
{
    struct fixture *f = *state;

    wire_ready(&f->in);
    for (size_t i = 0; i < f->in.n; i++) {
        assert_int_equal(session_feed(&f->session, (struct str){f->in.p + i, 1}, NULL), 0);
    }
    strbuf_reset(&f->in);
    must_tell(f, "connected containerd v2.4.2  2000; begin; end; ");
    wire_message(&f->in, 1, 5, 1, STR_NULL, 1);
    must_feed(f);
    assert_int_equal(f->stats.requests, 3);
}

static void session_waits__while_the_runtime_owes_something__is_true(void **state)
{
    struct fixture *f = *state;

    assert_true(session_waits(&f->session));
    make_ready(f);
    assert_false(session_waits(&f->session));
    wire_pod_and_container(&f->payload, 1, "p", "c");
    wire_call(&f->in, 5, "StopContainer", strbuf_view(&f->payload));
    for (size_t i = 0; i < f->in.n; i++) {
        assert_int_equal(session_feed(&f->session, (struct str){f->in.p + i, 1}, NULL), 0);
        assert_true(session_waits(&f->session));
    }
    (void)next_answer(f);
    assert_false(session_waits(&f->session));
}

static void answers__nobody_takes_them__end_the_connection(void **state)
{
    static char megabyte[1 << 20];
    struct fixture *f = *state;
    const struct kv long_one = {STR("A"), {megabyte, sizeof(megabyte)}};
    int rc = 0;

    make_ready(f);
    f->told.add.env = (struct kv_list){&long_one, 1};
    wire_pod_and_container(&f->payload, 1, "p", "c");
    wire_call(&f->in, 5, "CreateContainer", strbuf_view(&f->payload));
    for (int i = 0; i < 20 && rc == 0; i++) {
        rc = session_feed(&f->session, strbuf_view(&f->in), NULL);
    }
    assert_int_equal(rc, -ERR_LIMIT);
}

static void create__answer_too_long__is_a_refusal(void **state)
{
    static char five[5 << 20];
    struct fixture *f = *state;
    const struct kv long_one = {STR("A"), {five, sizeof(five)}};

    make_ready(f);
    f->told.add.env = (struct kv_list){&long_one, 1};
    call_about(f, 5, "CreateContainer");
    must_refuse(f, 5, 9, "what is to be added to container  is too long for a message");
    f->told.add.env.n = 0;
    call_about(f, 7, "CreateContainer");
    must_answer(f, 7, STR_NULL);
}

static void slow(void *ctx, const struct nri_pod *pod, const struct nri_container *c)
{
    struct clock_manual *clock = ctx;

    (void)pod, (void)c;
    clock_manual_advance_ms(clock, 7);
}

static void stats__answers_of_unlike_duration__keep_the_slowest(void **state)
{
    struct fixture *f = *state;

    f->told.handler = (struct nri_handler){.ctx = &f->clock, .stop = slow};
    begin_again(f);
    make_ready(f);
    call_about(f, 5, "StopContainer");
    call_about(f, 7, "RemoveContainer");
    assert_int_equal(f->stats.slowest_ns, 7 * NS_PER_MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(session__new__registers_first),
        TEST(configure__runtime_with_all_fields__asks_for_five_events),
        TEST(configure__fail_request__asks_to_fail_closed),
        TEST(configure__twice__is_refused),
        TEST(register__refused_by_the_runtime__ends_with_its_words),
        TEST(synchronize__in_three_calls__is_one),
        TEST(synchronize__one_pod_and_one_container_unreadable__hide_no_other),
        TEST(container_call__before_synchronize__is_refused),
        TEST(synchronize__twice__is_refused),
        TEST(container_call__each_step__is_told),
        TEST(state_change__each_event__is_told_as_the_call_is),
        TEST(create__everything_added__these_bytes),
        TEST(create__refused__has_its_reason),
        TEST(create__no_callbacks__goes_through),
        TEST(call__unknown_method__unimplemented),
        TEST(call__unreadable_payload__is_refused_and_counted),
        TEST(text__nul_in_it__is_not_cut),
        TEST(message__in_the_wrong_place__ends_the_connection),
        TEST(frame__of_another_connection__is_passed_over),
        TEST(session__byte_by_byte__the_same),
        TEST(session_waits__while_the_runtime_owes_something__is_true),
        TEST(answers__nobody_takes_them__end_the_connection),
        TEST(create__answer_too_long__is_a_refusal),
        TEST(stats__answers_of_unlike_duration__keep_the_slowest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
