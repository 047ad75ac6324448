#include "cmd_node/limit_due.h"

#include "base/bug.h"

#include <stdlib.h>

struct limit_due_item {
    struct limit_due_item *next;
    struct str id;
    char *id_text; /* its */
    uint32_t pid;
    enum limit_due_state state;
    bool listed;
};

static void drop(struct limit_due_item **at)
{
    struct limit_due_item *item = *at;

    *at = item->next;
    free(item->id_text);
    free(item);
}

void limit_due_fini(struct limit_due *l)
{
    while (l->first != NULL) {
        drop(&l->first);
    }
}

static struct limit_due_item *find(const struct limit_due *l, struct str id, uint32_t pid)
{
    for (struct limit_due_item *i = l->first; i != NULL; i = i->next) {
        if (i->pid == pid && str_eq(i->id, id)) {
            return i;
        }
    }
    return NULL;
}

static void put_last(struct limit_due *l, struct limit_due_item *item)
{
    struct limit_due_item **at = &l->first;

    while (*at != NULL) {
        at = &(*at)->next;
    }
    item->next = NULL;
    *at = item;
}

static struct limit_due_item *add(struct limit_due *l, struct str id, uint32_t pid, enum limit_due_state state)
{
    struct limit_due_item *item = xcalloc(1, sizeof(*item));

    *item = (struct limit_due_item){.id_text = str_dup(id), .pid = pid, .state = state, .listed = true};
    item->id = (struct str){item->id_text, id.n};
    put_last(l, item);
    return item;
}

void limit_due_list_begin(struct limit_due *l)
{
    for (struct limit_due_item *i = l->first; i != NULL; i = i->next) {
        i->listed = false;
    }
}

void limit_due_listed(struct limit_due *l, struct str id, uint32_t pid)
{
    struct limit_due_item *item = find(l, id, pid);

    if (item == NULL) {
        item = add(l, id, pid, LIMIT_DUE);
    }
    item->state = item->state == LIMIT_REFUSED ? LIMIT_DUE : item->state;
    item->listed = true;
}

void limit_due_list_end(struct limit_due *l)
{
    for (struct limit_due_item **at = &l->first; *at != NULL;) {
        if ((*at)->listed) {
            at = &(*at)->next;
        } else {
            drop(at);
        }
    }
}

void limit_due_set(struct limit_due *l, struct str id, uint32_t pid, enum limit_due_state state)
{
    struct limit_due_item *item = find(l, id, pid);

    if (item == NULL) {
        (void)add(l, id, pid, state);
    } else {
        item->state = state;
    }
}

void limit_due_forget(struct limit_due *l, struct str id)
{
    for (struct limit_due_item **at = &l->first; *at != NULL;) {
        if (str_eq((*at)->id, id)) {
            drop(at);
        } else {
            at = &(*at)->next;
        }
    }
}

bool limit_due_take(struct limit_due *l, struct str *ret_id, uint32_t *ret_pid)
{
    struct limit_due_item **at = &l->first, *item;

    while (*at != NULL && (*at)->state != LIMIT_DUE) {
        at = &(*at)->next;
    }
    item = *at;
    if (item == NULL) {
        return false;
    }
    *at = item->next;
    put_last(l, item);
    item->state = LIMIT_TAKEN;
    *ret_id = item->id;
    *ret_pid = item->pid;
    return true;
}

void limit_due_settle(struct limit_due *l, struct str id, uint32_t pid, enum limit_due_state state)
{
    struct limit_due_item *item = find(l, id, pid);

    if (item != NULL) {
        item->state = state;
    }
}
