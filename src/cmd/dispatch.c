#include "cmd/dispatch.h"
#include "cli/completion.h"
#include "cmd/commands.h"
#include "cmd/manual.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMPLETION_BYTES_MAX (1 << 20)

static void prepare_process(void)
{
    /* Every request takes and gives back a megabyte or more; giving it back to the kernel each time costs a
     * quarter of filter at 5,000 nodes in page faults. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest that glibc takes */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    signal(SIGPIPE, SIG_IGN); /* a caller that hangs up is an error of one write, not our end */
}

static void print_help(const struct program *p, FILE *out)
{
    fprintf(out, "%s\n\nUsage: %s COMMAND [options]    (%s COMMAND --help explains one)\n\n", p->purpose, p->name,
            p->name);
    for (size_t i = 0; i < p->command_n; i++) {
        fprintf(out, "  %-17s %s\n", p->commands[i].name, p->commands[i].summary);
    }
}

static const struct command *find_command(const struct program *p, const char *name)
{
    if (strcmp(name, "--version") == 0) {
        name = "version";
    }
    for (size_t i = 0; i < p->command_n; i++) {
        if (strcmp(name, p->commands[i].name) == 0) {
            return &p->commands[i];
        }
    }
    return NULL;
}

/* `fgpu state | head` is no failure. */
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

/* The exit code, once everything that was printed has been written. */
static int finish_output(const struct program *p, int code)
{
    bool complete = fflush(stdout) == 0 && !ferror(stdout);

    if (complete || reader_is_gone()) {
        return code;
    }
    fprintf(stderr, "%s: the output is not complete: it could not be written; is the disk full?\n", p->name);
    return code == EXIT_OK ? EXIT_RUNTIME : code;
}

/* The words behind __complete: those of the line up to the cursor, without the program's name. */
static int complete(const struct program *p, int argc, char **argv)
{
    const struct command *command = argc > 3 ? find_command(p, argv[2]) : NULL;
    struct strbuf out;

    if (command != NULL && command->is_elsewhere) {
        return command->run(argc - 1, argv + 1);
    }
    strbuf_init(&out, COMPLETION_BYTES_MAX);
    if (command != NULL && command->page != NULL) {
        completion_of_page(command->page, argc - 3, argv + 3, &out);
    } else {
        for (size_t i = 0; argc == 3 && i < p->command_n; i++) {
            completion_offer(&out, argv[2], p->commands[i].name, p->commands[i].summary);
        }
        completion_end(&out, COMPLETION_NO_FILES);
    }
    fputs(out.p, stdout);
    strbuf_fini(&out);
    return EXIT_OK;
}

int dispatch(const struct program *p, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    const struct command *command;

    prepare_process();
    if (name == NULL) {
        print_help(p, stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(p, stdout);
        return EXIT_OK;
    }
    if (strcmp(name, COMPLETION_COMMAND) == 0) {
        return finish_output(p, complete(p, argc, argv));
    }
    if (strcmp(name, MANUAL_COMMAND) == 0) {
        return manual_write(p, argc - 1, argv + 1);
    }
    command = find_command(p, name);
    if (command == NULL) {
        fprintf(stderr, "%s: unknown command \"%s\"; %s --help lists them\n", p->name, name, p->name);
        return EXIT_USAGE;
    }
    return finish_output(p, command->run(argc - 1, argv + 1));
}
