#include "cmd/sizes_table.h"

#include "base/json_members.h"

#include <inttypes.h>
#include <stdio.h>

int sizes_table_print(struct json_reader *r, struct str more, struct arena *a, struct err *reterr)
{
    struct str size = STR_NULL;
    int64_t n = 0;
    int rc;

    json_reader_init(r, more.n > 0 ? more : STR("[]"), a);
    printf("\n%-24s %12s\n", "SIZE", "MORE FIT");
    json_array_begin(r);
    while (json_array_next(r)) {
        json_members(r, JSON_MEMBERS({"size", .shown = &size}, {"more", .i64 = &n}));
        if (!json_failed(r)) {
            printf("%-24.*s %12" PRId64 "\n", STR_ARG(size), n);
        }
    }
    rc = json_read_end(r, reterr);
    return rc != 0 ? err_wrap(reterr, rc, "the value of \"moreFit\"") : 0;
}
