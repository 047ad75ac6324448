/* support/temp_dir.h - a folder of its own for a test, removed at the end with all that is in it. What goes wrong here
 * stops the program.
 */
#ifndef UNIT_SUPPORT_TEMP_DIR_H
#define UNIT_SUPPORT_TEMP_DIR_H

#include <stddef.h>

struct temp_dir {
    char path[64];
};

void temp_dir_init(struct temp_dir *d);
void temp_dir_fini(struct temp_dir *d);
/* The path of what has this name in it, there or not; `n` is the size of `ret`. */
void temp_dir_path(const struct temp_dir *d, const char *name, char *ret, size_t n);
/* Replaces the file as a whole, by rename, as the kubelet does. */
void temp_dir_write(const struct temp_dir *d, const char *name, const char *text);
void temp_dir_remove(const struct temp_dir *d, const char *name);

#endif
