#include "mask.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define MASK_NAME(name, text) [DO_##name] = text,
    MASK_TABLE(MASK_NAME)
#undef MASK_NAME
};

static bool left_out[DO__MAX];

bool mask_allows(enum act a)
{
    return !left_out[a];
}

bool mask_without(const char *list, const char **ret_wrong, size_t *ret_n)
{
    for (size_t n; *list != '\0'; list += n + (list[n] == ',')) {
        size_t i = 0;

        n = strcspn(list, ",");
        while (i < DO__MAX && (strlen(names[i]) != n || memcmp(names[i], list, n) != 0)) {
            i++;
        }
        if (i == DO__MAX) {
            *ret_wrong = list;
            *ret_n = n;
            return false;
        }
        left_out[i] = true;
    }
    return true;
}

void mask_print(void)
{
    for (size_t i = 0; i < DO__MAX; i++) {
        printf("%s\n", names[i]);
    }
}
