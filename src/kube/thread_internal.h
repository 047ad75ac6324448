/* kube/thread_internal.h - threads that leave signals to the main thread. */
#ifndef KUBE_THREAD_INTERNAL_H
#define KUBE_THREAD_INTERNAL_H

#include "base/compiler.h"
#include "base/err.h"

#include <pthread.h>

/* `name` shows in ps and debuggers; at most 15 bytes. */
WARN_UNUSED int thread_start(pthread_t *ret, const char *name, void *(*run)(void *), void *ctx,
                             struct err *reterr);

#endif
