/* The answer of the native dialect: the record. What programs of the node read beside it: hand_off.c. */
#include "core/dialects/native/native_internal.h"

int native_format_assignment(const struct assignment *as, struct arena *a, struct kv_list *ret, struct err *reterr)
{
    struct kv *record = ARENA_NEW(a, struct kv);
    int rc;

    if (record == NULL) {
        return assignment_no_memory(reterr);
    }
    record->key = STR(ASSIGNMENT_KEY);
    rc = assignment_format(as, a, &record->value, reterr);
    if (rc == 0) {
        *ret = (struct kv_list){.items = record, .n = 1};
    }
    return rc;
}

int native_parse_assignment(struct kv_list annotations, struct arena *a, struct assignment *ret, struct err *reterr)
{
    const struct str *text = kv_find(annotations, STR(ASSIGNMENT_KEY));

    if (text == NULL || text->n == 0) { /* overwritten with nothing: none */
        return err_set(reterr, ERR_NOT_FOUND, "there is no annotation " ASSIGNMENT_KEY);
    }
    return assignment_parse(*text, a, ret, reterr);
}
