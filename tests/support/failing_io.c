/* System calls on files below a folder, of which the n-th fails, for LD_PRELOAD. See failing_io.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char below[PATH_MAX]; /* nothing fails elsewhere */
static long left = 0, seen = 0;
static int stays_full = 0; /* from the n-th call on, all that takes room fails */
static char which[64] = "";

void fail_io_at(const char *folder, long n, int stays) {
    snprintf(below, sizeof below, "%s", folder);
    left = n;
    seen = 0;
    stays_full = stays;
    which[0] = 0;
}
long io_seen(void) { return seen; }
const char *io_failed(void) { return which; }

/* Whether this call shall fail. */
static int fails(const char *call, int dir, const char *path, int takes_room) {
    char full[2 * PATH_MAX], link[64];
    size_t n = strlen(below);

    if (left <= 0) return 0;
    if (path == NULL || path[0] != '/') {
        char folder[PATH_MAX];
        ssize_t length;

        if (dir == AT_FDCWD)
            snprintf(link, sizeof link, "/proc/self/cwd");
        else
            snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        length = readlink(link, folder, sizeof folder - 1);
        if (length < 0) return 0;
        folder[length] = 0;
        snprintf(full, sizeof full, "%s/%s", folder, path == NULL ? "" : path);
    } else {
        snprintf(full, sizeof full, "%s", path);
    }
    if (strncmp(full, below, n) != 0 || full[n] != '/') return 0;
    if (stays_full && !takes_room) return 0;
    seen++;
    if (stays_full ? seen < left : seen != left) return 0;
    if (which[0] == 0) snprintf(which, sizeof which, "%s", call);
    errno = stays_full ? ENOSPC : EIO;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ONE(type, name, parameters, arguments, dir, path, room)             \
    type name parameters {                                                  \
        if (fails(#name, dir, path, room)) return (type)-1;                 \
        return REAL(name) arguments;                                        \
    }

#define OPENS(name)                                                                   \
    int name(const char *path, int flags, ...) {                                      \
        va_list more;                                                                 \
        mode_t mode;                                                                  \
        va_start(more, flags);                                                        \
        mode = va_arg(more, mode_t);                                                  \
        va_end(more);                                                                 \
        if (fails("open", AT_FDCWD, path, (flags & O_CREAT) != 0)) return -1;         \
        return REAL(name)(path, flags, mode);                                         \
    }
#define OPENS_AT(name)                                                                \
    int name(int dir, const char *path, int flags, ...) {                             \
        va_list more;                                                                 \
        mode_t mode;                                                                  \
        va_start(more, flags);                                                        \
        mode = va_arg(more, mode_t);                                                  \
        va_end(more);                                                                 \
        if (fails("open", dir, path, (flags & O_CREAT) != 0)) return -1;              \
        return REAL(name)(dir, path, flags, mode);                                    \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
ONE(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n), fd, NULL, 1)
ONE(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), fd, NULL, 1)
ONE(ssize_t, pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n, at), fd, NULL, 1)
ONE(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), fd, NULL, 1)
ONE(int, fsync, (int fd), (fd), fd, NULL, 1)
ONE(int, fdatasync, (int fd), (fd), fd, NULL, 1)
ONE(int, ftruncate, (int fd, off_t n), (fd, n), fd, NULL, 0)
ONE(int, ftruncate64, (int fd, off64_t n), (fd, n), fd, NULL, 0)
ONE(int, mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, 1)
ONE(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode), dir, path, 1)
ONE(int, unlink, (const char *path), (path), AT_FDCWD, path, 0)
ONE(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags), dir, path, 0)
ONE(int, rmdir, (const char *path), (path), AT_FDCWD, path, 0)
ONE(int, chmod, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, 0)
ONE(int, fchmod, (int fd, mode_t mode), (fd, mode), fd, NULL, 0)
ONE(int, link, (const char *from, const char *to), (from, to), AT_FDCWD, to, 1)
ONE(int, linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags), b, to, 1)
ONE(int, rename, (const char *from, const char *to), (from, to), AT_FDCWD, to, 0)
ONE(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), b, to, 0)
ONE(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags), b, to,
    0)
/* A file that cannot be closed is closed all the same, as on Linux. What was only read can be closed. */
int close(int fd) {
    int is_read = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
    int failed = !is_read && fails("close", fd, NULL, 0), error = errno, done = REAL(close)(fd);

    if (!failed) return done;
    errno = error;
    return -1;
}
