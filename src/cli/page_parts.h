/* cli/page_parts.h - what help, manual and completion see of an option in the same way. */
#ifndef CLI_PAGE_PARTS_H
#define CLI_PAGE_PARTS_H

#include "cli/page.h"

#define PAGE_LINE_BYTES_MAX ((size_t)64 * 1024)

static inline bool page_is_shown(const struct page_option *o)
{
    return o->text != NULL;
}

static inline bool page_value_may_be_left_out(const struct page_option *o)
{
    return o->value != NULL && o->value[0] == '=';
}

#endif
