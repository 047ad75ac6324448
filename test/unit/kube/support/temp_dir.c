#include "temp_dir.h"

#include "base/bug.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void file_path(const struct temp_dir *d, const char *name, char *ret, size_t n)
{
    int length = snprintf(ret, n, "%s/%s", d->path, name);
    BUG_ON(length < 0 || (size_t)length >= n);
}

void temp_dir_init(struct temp_dir *d)
{
    snprintf(d->path, sizeof(d->path), "%s/fgpu-test-XXXXXX", P_tmpdir);
    BUG_ON(mkdtemp(d->path) == NULL);
}

void temp_dir_fini(struct temp_dir *d)
{
    DIR *dir = opendir(d->path);
    BUG_ON(dir == NULL);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            temp_dir_remove(d, entry->d_name);
        }
    }
    closedir(dir);
    BUG_ON(rmdir(d->path) != 0);
}

void temp_dir_write(const struct temp_dir *d, const char *name, const char *text)
{
    char path[512], fresh[512];
    file_path(d, name, path, sizeof(path));
    file_path(d, "fresh", fresh, sizeof(fresh));
    FILE *file = fopen(fresh, "w");
    BUG_ON(file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || rename(fresh, path) != 0);
}

void temp_dir_remove(const struct temp_dir *d, const char *name)
{
    char path[512];
    file_path(d, name, path, sizeof(path));
    BUG_ON(unlink(path) != 0);
}
