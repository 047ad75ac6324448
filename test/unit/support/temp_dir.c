#define _GNU_SOURCE /* nftw */
#include "support/temp_dir.h"

#include "base/bug.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void temp_dir_path(const struct temp_dir *d, const char *name, char *ret, size_t n)
{
    int length = snprintf(ret, n, "%s/%s", d->path, name);
    BUG_ON(length < 0 || (size_t)length >= n);
}

void temp_dir_init(struct temp_dir *d)
{
    snprintf(d->path, sizeof(d->path), "%s/fgpu-test-XXXXXX", P_tmpdir);
    BUG_ON(mkdtemp(d->path) == NULL);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void temp_dir_fini(struct temp_dir *d)
{
    BUG_ON(nftw(d->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0);
}

void temp_dir_write(const struct temp_dir *d, const char *name, const char *text)
{
    char path[512], fresh[512];
    temp_dir_path(d, name, path, sizeof(path));
    temp_dir_path(d, "fresh", fresh, sizeof(fresh));
    FILE *file = fopen(fresh, "w");
    BUG_ON(file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || rename(fresh, path) != 0);
}

void temp_dir_remove(const struct temp_dir *d, const char *name)
{
    char path[512];
    temp_dir_path(d, name, path, sizeof(path));
    BUG_ON(unlink(path) != 0);
}
