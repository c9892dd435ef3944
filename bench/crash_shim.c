/* Preloaded into the gateway by crash.py: writes down every write and sync below one folder, in
 * order, so that a power failure can be played back, and makes writes or syncs fail on demand.
 *
 * Invariant: a record reaches the journal if and only if its operation succeeded, and in the order
 * in which the operations took effect: both happen under one lock for each process.
 *
 * CRASH_FOLDER: the folder; CRASH_JOURNAL: where records go, unset for none;
 * CRASH_FAULT: a file whose first byte selects a fault: '0' none, 'n' ENOSPC on write,
 * 'w' EIO on write, 's' EIO on sync.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int journal = -1;
static const volatile char *fault;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    folder = getenv("CRASH_FOLDER");
    const char *path = getenv("CRASH_JOURNAL");
    if (path) journal = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    path = getenv("CRASH_FAULT");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) fault = map;
        close(file);
    }
}

/* The path of a descriptor below the folder, or 0. */
static int below(int fd, char *path) {
    if (!folder || fd < 0) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int failing(char kind) {
    if (!fault || *fault == '0') return 0;
    if (kind == 'W' && *fault == 'n') return ENOSPC;
    if (kind == 'W' && *fault == 'w') return EIO;
    if (kind == 'S' && *fault == 's') return EIO;
    return 0;
}

/* kind, length of path, length of data, offset, path, data */
static void record(char kind, const char *path, uint64_t offset, const void *data, uint64_t length) {
    if (journal < 0) return;
    uint64_t head[4] = {(uint64_t)kind, strlen(path), length, offset};
    struct iovec parts[3] = {
        {head, sizeof head}, {(void *)path, head[1]}, {(void *)data, length}};
    if (REAL(writev)(journal, parts, 3) < 0) abort();
}

#define GUARDED(kind, type, call, keep)                 \
    char path[PATH_MAX];                                \
    if (!below(fd, path)) return call;                  \
    pthread_mutex_lock(&lock);                          \
    int error = failing(kind);                          \
    type result = error ? -1 : call;                    \
    int kept = error ? error : errno;                   \
    if (result >= 0) { keep; }                          \
    pthread_mutex_unlock(&lock);                        \
    errno = kept;                                       \
    return result

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    GUARDED('W', ssize_t, REAL(pwrite64)(fd, data, length, offset),
            record('W', path, (uint64_t)offset, data, (uint64_t)result));
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    return pwrite64(fd, data, length, offset);
}

ssize_t write(int fd, const void *data, size_t length) {
    GUARDED('W', ssize_t, REAL(write)(fd, data, length),
            record('W', path, (uint64_t)(lseek(fd, 0, SEEK_CUR) - result), data, (uint64_t)result));
}

int ftruncate64(int fd, off64_t length) {
    GUARDED('T', int, REAL(ftruncate64)(fd, length), record('T', path, (uint64_t)length, "", 0));
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fdatasync(int fd) {
    GUARDED('S', int, REAL(fdatasync)(fd), record('S', path, 0, "", 0));
}

int fsync(int fd) {
    GUARDED('S', int, REAL(fsync)(fd), record('S', path, 0, "", 0));
}

int rename(const char *from, const char *to) {
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    int kept = errno;
    if (result == 0 && folder && strncmp(to, folder, strlen(folder)) == 0)
        record('R', from, 0, to, strlen(to));
    pthread_mutex_unlock(&lock);
    errno = kept;
    return result;
}

int unlink(const char *path) {
    pthread_mutex_lock(&lock);
    int result = REAL(unlink)(path);
    int kept = errno;
    if (result == 0 && folder && strncmp(path, folder, strlen(folder)) == 0)
        record('U', path, 0, "", 0);
    pthread_mutex_unlock(&lock);
    errno = kept;
    return result;
}
