/* Lets one chosen call of the C library fail, in any program that is started with it (LD_PRELOAD). The file that
 * FAIL_CALLS names is the shared memory by which the sweep says which: see struct order. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum call { SOCKET = 1, CONNECT, SEND, RECV, READ, WRITE, OPEN, EPOLL_CTL, EPOLL_WAIT, POLL, ACCEPT, MALLOC, FSYNC };

/* All int32; sweep.py writes the first three, and sets `call` last. */
struct order {
    int32_t call;     /* enum call; 0: none fails */
    int32_t nth;      /* the how manieth from now on; 1: the next one */
    int32_t error;    /* errno */
    int32_t seen_n;   /* calls of that kind since the order was given */
    int32_t failed_n; /* 1 when it has failed */
};

static struct order *order;
static int spares_log; /* FAIL_CALLS_SPARE_LOG: the sweep reads from it where the process listens */

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAIL_CALLS");
    const int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *p = fd >= 0 ? mmap(NULL, sizeof(*order), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (fd >= 0) {
        close(fd);
    }
    order = p == MAP_FAILED ? NULL : p;
    spares_log = getenv("FAIL_CALLS_SPARE_LOG") != NULL;
}

static int fails(int c)
{
    if (order == NULL || c == 0 || __atomic_load_n(&order->call, __ATOMIC_ACQUIRE) != c ||
        __atomic_add_fetch(&order->seen_n, 1, __ATOMIC_SEQ_CST) != order->nth) {
        return 0;
    }
    __atomic_store_n(&order->failed_n, 1, __ATOMIC_SEQ_CST);
    errno = order->error;
    return 1;
}

#define WRAP(kind, type, name, parameters, arguments)                                                                  \
    type name parameters                                                                                               \
    {                                                                                                                  \
        static __typeof__(&name) next;                                                                                 \
                                                                                                                       \
        if (next == NULL) {                                                                                            \
            next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                         \
        }                                                                                                              \
        return fails(kind) ? -1 : next arguments;                                                                      \
    }

/* An eventfd and the like: of their reads and writes, which never block here, none of the errors is a true one.
 * libmicrohttpd wakes its threads by them, and ends the process if that fails. */
static int of_file(int c, int fd)
{
    struct stat st;

    if (fd == STDERR_FILENO && spares_log) {
        return 0;
    }
    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == 0 ? 0 : c;
}

WRAP(SOCKET, int, socket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(CONNECT, int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
WRAP(SEND, ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
WRAP(SEND, ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
WRAP(RECV, ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags))
WRAP(of_file(READ, fd), ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
WRAP(of_file(WRITE, fd), ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP(op == EPOLL_CTL_ADD ? EPOLL_CTL : 0, int, epoll_ctl, (int e, int op, int fd, struct epoll_event *v),
     (e, op, fd, v))
WRAP(EPOLL_WAIT, int, epoll_wait, (int e, struct epoll_event *v, int n, int ms), (e, v, n, ms))
WRAP(POLL, int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))
WRAP(ACCEPT, int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags))
WRAP(FSYNC, int, fsync, (int fd), (fd))

int open(const char *path, int flags, ...)
{
    va_list rest;
    int mode;

    va_start(rest, flags);
    mode = va_arg(rest, int); /* whatever stands there is not looked at without O_CREAT */
    va_end(rest);
    return fails(OPEN) ? -1 : openat(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* The C library's own names: dlsym itself allocates. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    return fails(MALLOC) ? NULL : __libc_malloc(n);
}
void *calloc(size_t n, size_t size)
{
    return fails(MALLOC) ? NULL : __libc_calloc(n, size);
}
void *realloc(void *p, size_t n)
{
    return fails(MALLOC) ? NULL : __libc_realloc(p, n);
}
