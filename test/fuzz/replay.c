/* replay.c - a main() for fuzz targets without libFuzzer: runs every file named, and every file in
 * the folders named, once. Says nothing unless something is wrong. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

static char current[PATH_BYTES]; /* so that an abort can name its input */

static void name_input(void)
{
    static const char words[] = "while replaying ";

    if (current[0] != '\0') {
        (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
        (void)!write(STDERR_FILENO, current, strlen(current));
        (void)!write(STDERR_FILENO, "\n", 1);
    }
}

/* A sanitizer that ends the process calls this first. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void on_abort(int signal)
{
    (void)signal;
    name_input();
    _exit(1);
}

static int die(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
}

static int replay_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    size_t n;

    if (f == NULL || data == NULL) {
        return die(path);
    }
    n = fread(data, 1, size, f);
    fclose(f);
    if (n != size) {
        free(data);
        return die(path);
    }
    snprintf(current, sizeof(current), "%s", path);
    LLVMFuzzerTestOneInput(data, size);
    current[0] = '\0';
    free(data);
    return 1;
}

/* How many inputs were replayed, or -1. */
static int replay(const char *path)
{
    struct stat st;
    struct dirent **entries;
    int n, total = 0;

    if (stat(path, &st) != 0) {
        return die(path);
    }
    if (!S_ISDIR(st.st_mode)) {
        return replay_file(path, (size_t)st.st_size);
    }
    n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        return die(path);
    }
    for (int i = 0; i < n; i++) {
        char inner[PATH_BYTES];
        int rc = 0;

        snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && total >= 0) {
            rc = replay(inner);
        }
        total = rc < 0 ? -1 : total + rc;
        free(entries[i]);
    }
    free(entries);
    return total;
}

int main(int argc, char **argv)
{
    int total = 0;

    signal(SIGABRT, on_abort);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(name_input);
    }
    for (int i = 1; i < argc; i++) {
        int n = replay(argv[i]);

        if (n < 0) {
            return 1;
        }
        total += n;
    }
    if (total == 0) {
        fprintf(stderr, "usage: %s FILE|FOLDER...; no input was found\n", argv[0]);
        return 1;
    }
    return 0;
}
