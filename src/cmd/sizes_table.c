#include "cmd/sizes_table.h"

#include "cmd/terminal.h"

#include <inttypes.h>
#include <stdio.h>

int sizes_table_print(struct json_reader *r, struct str more, struct arena *a, struct err *reterr)
{
    struct str key, size = STR_NULL;
    int64_t n = 0;

    json_reader_init(r, more.n > 0 ? more : STR("[]"), a);
    printf("\n%-24s %12s\n", "SIZE", "MORE FIT");
    json_array_begin(r);
    while (json_array_next(r)) {
        json_object_begin(r);
        while (json_object_next(r, &key)) {
            if (str_eq_cstr(key, "size")) {
                terminal_string(r, &size);
            } else if (str_eq_cstr(key, "more")) {
                (void)json_i64(r, &n);
            } else {
                json_skip(r);
            }
        }
        if (!json_failed(r)) {
            printf("%-24.*s %12" PRId64 "\n", STR_ARG(size), n);
        }
    }
    return json_read_end(r, reterr);
}
