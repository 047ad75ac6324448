/* kube/transport_loop_internal.h - waiting for libcurl's sockets.
 *
 * curl_multi_perform() asks the kernel about every transfer that is under way, each time anything happens: with fifty
 * binds in flight that is fifty system calls for each answer. Here the kernel says which socket is meant, and libcurl
 * looks at that one (curl_multi_socket_action). Belongs to one thread; only transport_loop_wake is for others.
 */
#ifndef KUBE_TRANSPORT_LOOP_INTERNAL_H
#define KUBE_TRANSPORT_LOOP_INTERNAL_H

#include "transport_internal.h"

#include <stdint.h>

#define TRANSPORT_UNHEARD_MAX 256

struct transport_loop {
    CURLM *multi;   /* transfers are added and removed with libcurl's own functions */
    int epoll_fd;   /* the sockets that libcurl told us of, and wake_fd */
    int wake_fd;    /* eventfd */
    int64_t due_ns; /* when libcurl wants to be called; INT64_MAX: no time limit. The system's clock, as libcurl's */
    /* Sockets for which the kernel had no memory in the set; tried again some milliseconds later (defects.md, F133). */
    struct unheard {
        int fd;
        uint32_t events;
    } unheard[TRANSPORT_UNHEARD_MAX];
    uint32_t unheard_n;
};

/* After a failure there is nothing to free. */
int transport_loop_init(struct transport_loop *l, struct err *reterr);

/* No transfer may be left in it. */
void transport_loop_fini(struct transport_loop *l);

/* Does what is due by time: what was added begins. Then results may be there (curl_multi_info_read). */
void transport_loop_due(struct transport_loop *l);

/* Waits until something happens, somebody wakes, or `wait_ms` are over, and lets libcurl handle it. */
void transport_loop_wait(struct transport_loop *l, int64_t wait_ms);

/* Ends the present wait, or the next. Any thread. */
void transport_loop_wake(struct transport_loop *l);

#endif
