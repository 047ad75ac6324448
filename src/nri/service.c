/* nri/service.c - what the runtime calls: each method reads its payload, makes the callback, writes the answer. */
#include "nri.pb-c.h"
#include "session.h"

#define PLUGIN_SERVICE "nri.pkg.api.v1alpha1.Plugin"

/* Events have the numbers of api.proto; a mask has bit N-1 for event N. Those named here are known since 0.3: a runtime
 * refuses a bit that it does not know, and takes an empty mask for all of them. */
enum event {
    EVENT_REMOVE_POD_SANDBOX = 3,
    EVENT_CREATE_CONTAINER = 4,
    EVENT_START_CONTAINER = 6,
    EVENT_STOP_CONTAINER = 10,
    EVENT_REMOVE_CONTAINER = 11,
};
#define BIT(event) (1 << ((event)-1))
#define EVENTS                                                                                                         \
    (BIT(EVENT_REMOVE_POD_SANDBOX) | BIT(EVENT_CREATE_CONTAINER) | BIT(EVENT_START_CONTAINER) |                        \
     BIT(EVENT_STOP_CONTAINER) | BIT(EVENT_REMOVE_CONTAINER))

/* NULL: the payload is not what the method wants; the call is answered with that. */
static void *read_payload(struct session *s, const ProtobufCMessageDescriptor *type, struct str payload,
                          const char *method, struct err *reterr)
{
    void *m = message_read(type, payload, &s->arena, method, reterr);

    s->setup.stats->unreadable += m == NULL;
    return m;
}

/* ---- before anything happens ---- */

static int on_configure(struct session *s, struct str payload, struct err *reterr)
{
    Nri__ConfigureResponse response = NRI__CONFIGURE_RESPONSE__INIT;
    Nri__FailurePolicy policy = NRI__FAILURE_POLICY__INIT;
    const struct nri_handler *h = s->setup.handler;
    const Nri__ConfigureRequest *request =
        read_payload(s, &nri__configure_request__descriptor, payload, "Configure", reterr);

    if (request == NULL) {
        return -ERR_PARSE;
    }
    if (s->stage != SESSION_REGISTERING) {
        return err_set(reterr, ERR_CONFLICT, "this plugin is configured already");
    }
    s->stage = SESSION_CONFIGURED;
    if (h->connected != NULL) {
        h->connected(h->ctx, &(struct nri_runtime){.name = message_text(request->runtime_name),
                                                   .version = message_text(request->runtime_version),
                                                   .nri_version = message_text(request->nri_version),
                                                   .request_timeout_ms = request->request_timeout_ms});
    }
    policy.fail_request = s->setup.fail_request;
    response.events = EVENTS;
    response.failure_policy = s->setup.fail_request ? &policy : NULL;
    message_pack(&s->payload, &response.base);
    return 0;
}

static void unreadable(struct session *s, const char *what, const struct err *why)
{
    const struct nri_handler *h = s->setup.handler;

    s->setup.stats->unreadable++;
    if (h->sync_unreadable != NULL) {
        h->sync_unreadable(h->ctx, what, why);
    }
}

static bool has_room(bool filled, const struct arena *a, const char *what, struct err *reterr)
{
    if (!filled) {
        err_set(reterr, ERR_LIMIT, "%s takes more than %zu bytes of memory", what, a->max_bytes);
    }
    return filled;
}

static void one_pod(struct session *s, struct str bytes)
{
    const struct nri_handler *h = s->setup.handler;
    const Nri__Pod *m;
    struct nri_pod pod;
    struct err why;

    arena_reset(&s->one);
    m = message_read(&nri__pod__descriptor, bytes, &s->one, "a pod", &why);
    if (m == NULL || !has_room(message_pod(m, &s->one, &pod), &s->one, "a pod", &why)) {
        unreadable(s, "pod", &why);
    } else if (h->sync_pod != NULL) {
        h->sync_pod(h->ctx, &pod);
    }
}

static void one_container(struct session *s, struct str bytes)
{
    const struct nri_handler *h = s->setup.handler;
    const Nri__Container *m;
    struct nri_container container;
    struct err why;

    arena_reset(&s->one);
    m = message_read(&nri__container__descriptor, bytes, &s->one, "a container", &why);
    if (m == NULL || !has_room(message_container(m, &s->one, &container), &s->one, "a container", &why)) {
        unreadable(s, "container", &why);
    } else if (h->sync_container != NULL) {
        h->sync_container(h->ctx, &container);
    }
}

static void end_sync(struct session *s)
{
    const struct nri_handler *h = s->setup.handler;

    s->stage = SESSION_READY;
    s->setup.stats->synchronized = true;
    s->setup.stats->connections++;
    if (h->sync_end != NULL) {
        h->sync_end(h->ctx);
    }
}

static int on_synchronize(struct session *s, struct str payload, struct err *reterr)
{
    Nri__SynchronizeResponse response = NRI__SYNCHRONIZE_RESPONSE__INIT;
    const struct nri_handler *h = s->setup.handler;
    const Nri__SynchronizeRequest *request =
        read_payload(s, &nri__synchronize_request__descriptor, payload, "Synchronize", reterr);

    if (request == NULL) {
        return -ERR_PARSE;
    }
    if (s->stage != SESSION_CONFIGURED && s->stage != SESSION_SYNCHRONIZING) {
        return err_set(reterr, ERR_CONFLICT, "this plugin is %s",
                       s->stage == SESSION_READY ? "synchronized already" : "not configured yet");
    }
    if (s->stage == SESSION_CONFIGURED && h->sync_begin != NULL) {
        h->sync_begin(h->ctx);
    }
    s->stage = SESSION_SYNCHRONIZING;
    for (size_t i = 0; i < request->n_pods; i++) {
        one_pod(s, message_text(request->pods[i]));
    }
    for (size_t i = 0; i < request->n_containers; i++) {
        one_container(s, message_text(request->containers[i]));
    }
    if (!request->more) {
        end_sync(s);
    }
    response.more = request->more;
    message_pack(&s->payload, &response.base);
    return 0;
}

/* ---- what happens to a container ---- */

struct happening {
    struct nri_pod pod;
    struct nri_container container;
};

static int refused(struct session *s, int rc)
{
    s->setup.stats->refusals += rc < 0;
    return rc;
}

static int create_container(struct session *s, const struct happening *of, struct err *reterr)
{
    const struct nri_handler *h = s->setup.handler;
    struct nri_adjustment adjustment = {0};
    int rc = 0;

    if (h->create != NULL) {
        rc = h->create(h->ctx, &of->pod, &of->container, &s->arena, &adjustment, reterr);
    }
    if (rc == 0 && !message_add_adjustment(&s->payload, &adjustment, &s->arena)) {
        rc = err_set(reterr, ERR_LIMIT, "what is to be added to container %.*s is too long for a message",
                     STR_ARG(of->container.name));
    }
    return refused(s, rc);
}

static int start_container(struct session *s, const struct happening *of, struct err *reterr)
{
    const struct nri_handler *h = s->setup.handler;

    return refused(s, h->start != NULL ? h->start(h->ctx, &of->pod, &of->container, reterr) : 0);
}

static int stop_container(struct session *s, const struct happening *of, struct err *reterr)
{
    (void)reterr;
    if (s->setup.handler->stop != NULL) {
        s->setup.handler->stop(s->setup.handler->ctx, &of->pod, &of->container);
    }
    return 0;
}

static int remove_container(struct session *s, const struct happening *of, struct err *reterr)
{
    (void)reterr;
    if (s->setup.handler->remove != NULL) {
        s->setup.handler->remove(s->setup.handler->ctx, &of->pod, &of->container);
    }
    return 0;
}

static int remove_sandbox(struct session *s, const struct happening *of, struct err *reterr)
{
    (void)reterr;
    if (s->setup.handler->sandbox_removed != NULL) {
        s->setup.handler->sandbox_removed(s->setup.handler->ctx, &of->pod);
    }
    return 0;
}

static const struct event_method {
    enum event event;
    const char *method;
    int (*happens)(struct session *s, const struct happening *of, struct err *reterr);
} events[] = {
    {EVENT_REMOVE_POD_SANDBOX, "RemovePodSandbox", remove_sandbox},
    {EVENT_CREATE_CONTAINER, "CreateContainer", create_container},
    {EVENT_START_CONTAINER, "StartContainer", start_container},
    {EVENT_STOP_CONTAINER, "StopContainer", stop_container},
    {EVENT_REMOVE_CONTAINER, "RemoveContainer", remove_container},
};

static int let_happen(struct session *s, const struct event_method *which, const Nri__Pod *pod,
                      const Nri__Container *container, struct err *reterr)
{
    struct happening of;

    if (s->stage != SESSION_READY) {
        return err_set(reterr, ERR_UNAVAILABLE, "%s comes before the runtime has told which containers run",
                       which->method);
    }
    if (!has_room(message_pod(pod, &s->arena, &of.pod) && message_container(container, &s->arena, &of.container),
                  &s->arena, which->method, reterr)) {
        s->setup.stats->unreadable++;
        return -ERR_LIMIT;
    }
    if ((which->event == EVENT_REMOVE_POD_SANDBOX ? of.pod.id : of.container.id).n == 0) {
        s->setup.stats->unreadable++;
        return err_set(reterr, ERR_PARSE, "%s does not name what it is about", which->method);
    }
    return which->happens(s, &of, reterr);
}

static int on_event(struct session *s, const struct event_method *which, struct str payload, struct err *reterr)
{
    const Nri__ContainerRequest *request =
        read_payload(s, &nri__container_request__descriptor, payload, which->method, reterr);

    return request == NULL ? -ERR_PARSE : let_happen(s, which, request->pod, request->container, reterr);
}

/* Before 0.12 the runtime has one call for what needs no answer, starting included. */
static int on_state_change(struct session *s, struct str payload, struct err *reterr)
{
    const Nri__StateChangeEvent *request =
        read_payload(s, &nri__state_change_event__descriptor, payload, "StateChange", reterr);

    if (request == NULL) {
        return -ERR_PARSE;
    }
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        if (request->event == (int32_t)events[i].event && events[i].event != EVENT_CREATE_CONTAINER) {
            return let_happen(s, &events[i], request->pod, request->container, reterr);
        }
    }
    return 0; /* one that we did not ask for */
}

static int on_shutdown(struct session *s, struct str payload, struct err *reterr)
{
    (void)s, (void)payload, (void)reterr;
    return 0; /* the runtime ends the connection; whether we come again is not its to say */
}

/* ---- all of them ---- */

static const struct {
    const char *method;
    int (*answer)(struct session *s, struct str payload, struct err *reterr);
} calls[] = {
    {"Configure", on_configure},
    {"Synchronize", on_synchronize},
    {"StateChange", on_state_change},
    {"Shutdown", on_shutdown},
};

static int dispatch(struct session *s, struct str method, struct str payload, bool *ret_known, struct err *reterr)
{
    *ret_known = true;
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        if (str_eq_cstr(method, events[i].method)) {
            return on_event(s, &events[i], payload, reterr);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (str_eq_cstr(method, calls[i].method)) {
            return calls[i].answer(s, payload, reterr);
        }
    }
    *ret_known = false;
    return err_set(reterr, ERR_NOT_FOUND, "this plugin has no method %.*s", STR_ARG(method));
}

int service_call(struct session *s, struct str service, struct str method, struct str payload,
                 enum ttrpc_code *ret_code, struct err *reterr)
{
    bool known = false;
    int rc = str_eq_cstr(service, PLUGIN_SERVICE)
                 ? dispatch(s, method, payload, &known, reterr)
                 : err_set(reterr, ERR_NOT_FOUND, "this plugin has no service %.*s", STR_ARG(service));

    *ret_code = known ? TTRPC_FAILED_PRECONDITION : TTRPC_UNIMPLEMENTED;
    return rc;
}
