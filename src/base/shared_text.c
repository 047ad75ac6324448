#include "base/shared_text.h"

#include "base/bug.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct shared_text {
    uint32_t holder_n; /* atomic */
    char text[];
};

static struct shared_text *head_of(struct str shared)
{
    return (struct shared_text *)(uintptr_t)(shared.p - offsetof(struct shared_text, text));
}

struct str shared_text_new(struct str s)
{
    struct shared_text *t;

    if (s.n == 0) {
        return STR_NULL;
    }
    t = xmalloc(sizeof(*t) + s.n);
    t->holder_n = 1;
    memcpy(t->text, s.p, s.n);
    return (struct str){t->text, s.n};
}

struct str shared_text_take(struct str shared)
{
    if (shared.n > 0) {
        BUG_ON(__atomic_fetch_add(&head_of(shared)->holder_n, 1, __ATOMIC_RELAXED) == 0);
    }
    return shared;
}

void shared_text_drop(struct str shared)
{
    if (shared.n > 0 && __atomic_sub_fetch(&head_of(shared)->holder_n, 1, __ATOMIC_ACQ_REL) == 0) {
        free(head_of(shared));
    }
}
