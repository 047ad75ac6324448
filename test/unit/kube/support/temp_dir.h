/* A folder of its own for a test, removed with its files at the end. */
#ifndef TEST_KUBE_TEMP_DIR_H
#define TEST_KUBE_TEMP_DIR_H

struct temp_dir {
    char path[64];
};

void temp_dir_init(struct temp_dir *d);
void temp_dir_fini(struct temp_dir *d);
/* Replaces the file as a whole, by rename, as the kubelet does. */
void temp_dir_write(const struct temp_dir *d, const char *name, const char *text);
void temp_dir_remove(const struct temp_dir *d, const char *name);

#endif
