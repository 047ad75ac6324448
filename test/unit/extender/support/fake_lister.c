#include "extender/support/fake_lister.h"

#include "kube/transport.h"

struct fake_lister fake_lister;

/* ---- kube/transport.h ---- */

struct kube_stream {
    char unused;
};

static struct kube_stream the_stream;

int kube_stream_new(struct kube_client *c, struct kube_stream **ret, struct err *reterr)
{
    (void)c;
    (void)reterr;
    *ret = &the_stream;
    return 0;
}

void kube_stream_free(struct kube_stream *s)
{
    (void)s;
}

void kube_stream_interrupt(struct kube_stream *s)
{
    (void)s;
    if (fake_lister.interrupted != NULL) {
        fake_lister.interrupted();
    }
}

/* ---- kube/lister.h ---- */

static bool is_of(const struct pod *p, struct str namespace_, struct str name)
{
    return str_eq(p->namespace_, namespace_) && str_eq(p->name, name);
}

static void give(const struct reflector_handler *h, const struct kube_object *o, struct str name)
{
    const struct err why = {ERR_PARSE, "not readable"};

    if (fake_lister.unusable.n > 0 && str_eq(name, fake_lister.unusable)) {
        h->unusable(h->ctx, o, false, &why);
    } else {
        h->object(h->ctx, o);
    }
}

static void give_pods(const struct reflector_handler *h, const struct str *namespace_, struct str name)
{
    for (size_t i = 0; i < fake_lister.pod_n; i++) {
        const struct pod *p = &fake_lister.pods[i];

        /* As kube/reflector.h: a list leaves out what has ended, a read of one does not. */
        if (namespace_ == NULL ? !pod_is_terminal(p) : is_of(p, *namespace_, name)) {
            give(h, &(struct kube_object){.resource = KUBE_PODS, .pod = p}, p->name);
        }
    }
}

static void give_nodes(const struct reflector_handler *h, const struct str *name)
{
    for (size_t i = 0; i < fake_lister.node_n; i++) {
        const struct node *n = &fake_lister.nodes[i];

        if (name == NULL || str_eq(n->name, *name)) {
            give(h, &(struct kube_object){.resource = KUBE_NODES, .node = n}, n->name);
        }
    }
}

static int fail_as(enum err_code code, struct err *reterr)
{
    return code == ERR_OK ? 0 : err_set(reterr, code, "the fake lister fails");
}

static int stopped(const struct kube_lister *l, struct err *reterr)
{
    return l->wait(l->ctx, clock_mono_ns(l->clock)) ? 0 : err_set(reterr, ERR_CANCELLED, "stopped while listing");
}

int kube_list(const struct kube_lister *l, enum kube_resource resource, const struct reflector_handler *h,
              struct err *reterr)
{
    int rc = stopped(l, reterr);

    for (int left = rc == 0 ? 1 + fake_lister.begins_again : 0; left > 0; left--) {
        h->list_begin(h->ctx);
        if (fake_lister.listing != NULL) {
            fake_lister.listing(resource);
        }
        if (resource == KUBE_PODS) {
            give_pods(h, NULL, STR_NULL);
        } else {
            give_nodes(h, NULL);
        }
    }
    rc = rc == 0 ? stopped(l, reterr) : rc;
    rc = rc == 0 ? fail_as(fake_lister.list_fails[resource], reterr) : rc;
    fake_lister.list_n += rc == 0;
    return rc;
}

int kube_list_one(const struct kube_lister *l, enum kube_resource resource, struct str namespace_, struct str name,
                  const struct reflector_handler *h, struct err *reterr)
{
    int rc = stopped(l, reterr);

    if (rc == 0 && fake_lister.one_fails != ERR_OK && str_eq(name, fake_lister.one_failing)) {
        rc = fail_as(fake_lister.one_fails, reterr);
    }
    if (rc != 0) {
        return rc;
    }
    if (fake_lister.reading != NULL) {
        fake_lister.reading(name);
    }
    fake_lister.one_n++;
    if (resource == KUBE_PODS) {
        give_pods(h, &namespace_, name);
    } else {
        give_nodes(h, &name);
    }
    return 0;
}
