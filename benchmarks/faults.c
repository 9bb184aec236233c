/* A disk and a clock that fail on demand, for every process that is started with this library in
 * LD_PRELOAD; see faulty_disk.py, which compiles it and holds the other end.
 *
 * Files below $LEVELLED_FAULTS_DISK are on the faulty disk. $LEVELLED_FAULTS_CONTROL is a file that
 * all processes map: what it says holds at once. While `record` is set, every write, truncation and
 * fsync is appended to $LEVELLED_FAULTS_JOURNAL, so that a loss of power can be computed from it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOST_FILES 4096
#define PART 1000000

struct control {           /* the same in faulty_disk.py */
    int64_t room;          /* bytes by which files may still grow; below 0 there is no limit */
    int32_t record;
    int32_t dead;          /* the power is off: nothing reaches the disk, and nobody returns */
    int32_t failing_write; /* of a million writes, so many fail */
    int32_t failing_sync;
    int32_t seed;
    uint32_t drawn;        /* how many chances were drawn */
};

enum kind { NEW = 1, WRITE, CUT, SYNC, SYNCED, UNSYNCED };

struct record {            /* the same in faulty_disk.py; a write is followed by its bytes */
    uint32_t kind, id;
    uint64_t inode, start, length;
};

static struct control *control;
static int journal = -1;
static const char *disk;
static uint64_t inodes[MOST_FILES]; /* of descriptors of files on the disk, else 0 */
static int64_t shift;               /* seconds by which the clock of this process is wrong */

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("LEVELLED_FAULTS_CONTROL"), *to = getenv("LEVELLED_FAULTS_JOURNAL");
    disk = getenv("LEVELLED_FAULTS_DISK");
    if (!disk || !at || !to) return;
    int file = syscall(SYS_openat, AT_FDCWD, at, O_RDWR | O_CLOEXEC);
    int end = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0 || end < 0) return;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    journal = fcntl(end, F_DUPFD_CLOEXEC, 600); /* where no program that counts its files looks */
    syscall(SYS_close, end);
    if (map != MAP_FAILED && journal >= 0) control = map;
}

void levelled_shift_clock(int64_t seconds) { shift = seconds; }

static uint64_t inode_of(int fd) {
    return control && fd >= 0 && fd < MOST_FILES ? inodes[fd] : 0;
}

static void note(uint32_t kind, uint32_t id, uint64_t inode, uint64_t start, const void *data,
                 uint64_t length) {
    if (!control->record) return;
    struct record head = {kind, id, inode, start, length};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, data ? length : 0}};
    syscall(SYS_writev, journal, parts, data ? 2 : 1); /* one step, whoever else appends */
}

static void stop_without_power(void) {
    while (control->dead) pause();
}

static int fails(int32_t of_a_million) {
    if (of_a_million <= 0) return 0;
    uint64_t x = ((uint64_t)control->seed << 32) + __sync_add_and_fetch(&control->drawn, 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL; /* splitmix64 */
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return (int32_t)((x ^ (x >> 31)) % PART) < of_a_million;
}

/* The number of bytes that may be written: fewer where the disk gets full, -1 with errno. */
static ssize_t allowed(int fd, uint64_t start, size_t length) {
    stop_without_power();
    if (fails(control->failing_write)) {
        errno = EIO;
        return -1;
    }
    struct stat now;
    if (control->room < 0 || fstat(fd, &now)) return length;
    int64_t growth = (int64_t)(start + length) - (int64_t)now.st_size;
    if (growth <= 0) return length;
    int64_t left = __sync_sub_and_fetch(&control->room, growth);
    if (left >= 0) return length;
    __sync_add_and_fetch(&control->room, growth);
    errno = ENOSPC;
    return -1;
}

/* ---- files ---- */

static int opened(int fd, int is_new, int flags) {
    if (!control || fd < 0 || fd >= MOST_FILES) return fd;
    char link[64], path[4096];
    int before = errno;
    inodes[fd] = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    struct stat now;
    if (length > 0) {
        path[length] = 0;
        size_t folder = strlen(disk);
        if (!strncmp(path, disk, folder) && path[folder] == '/' && !fstat(fd, &now) &&
            S_ISREG(now.st_mode)) {
            inodes[fd] = now.st_ino;
            if (is_new) note(NEW, 0, now.st_ino, 0, NULL, 0);
            else if (flags & O_TRUNC) note(CUT, 0, now.st_ino, 0, NULL, 0);
        }
    }
    errno = before;
    return fd;
}

#define OPEN(name)                                                                              \
    int name(const char *path, int flags, ...) {                                                \
        static int (*real)(const char *, int, ...);                                             \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                              \
        va_list more;                                                                           \
        va_start(more, flags);                                                                  \
        mode_t mode = va_arg(more, mode_t);                                                     \
        va_end(more);                                                                           \
        int is_new = control && (flags & O_CREAT) && syscall(SYS_access, path, F_OK);           \
        return opened(real(path, flags, mode), is_new, flags);                                  \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                            \
    int name(int at, const char *path, int flags, ...) {                                        \
        static int (*real)(int, const char *, int, ...);                                        \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                              \
        va_list more;                                                                           \
        va_start(more, flags);                                                                  \
        mode_t mode = va_arg(more, mode_t);                                                     \
        va_end(more);                                                                           \
        int is_new = control && (flags & O_CREAT) && syscall(SYS_faccessat, at, path, F_OK);    \
        return opened(real(at, path, flags, mode), is_new, flags);                              \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd < MOST_FILES) inodes[fd] = 0;
    return real(fd);
}

#define PWRITE(name, offset)                                                                    \
    ssize_t name(int fd, const void *data, size_t length, offset start) {                       \
        static ssize_t (*real)(int, const void *, size_t, offset);                              \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                              \
        uint64_t inode = inode_of(fd);                                                          \
        if (inode && allowed(fd, start, length) < 0) return -1;                                 \
        if (inode) note(WRITE, 0, inode, start, data, length);                                  \
        return real(fd, data, length, start);                                                   \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t length) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    uint64_t inode = inode_of(fd);
    if (inode) {
        int appends = fcntl(fd, F_GETFL) & O_APPEND;
        uint64_t start = lseek(fd, 0, appends ? SEEK_END : SEEK_CUR);
        if (allowed(fd, start, length) < 0) return -1;
        note(WRITE, 0, inode, start, data, length);
    }
    return real(fd, data, length);
}

static int vector_allowed(int fd, const struct iovec *parts, int n, uint64_t start) {
    uint64_t inode = inode_of(fd), length = 0;
    for (int i = 0; i < n; i++) length += parts[i].iov_len;
    if (!inode) return 1;
    if (allowed(fd, start, length) < 0) return 0;
    for (int i = 0; i < n; i++) {
        note(WRITE, 0, inode, start, parts[i].iov_base, parts[i].iov_len);
        start += parts[i].iov_len;
    }
    return 1;
}

#define PWRITEV(name, offset)                                                                   \
    ssize_t name(int fd, const struct iovec *parts, int n, offset start) {                      \
        static ssize_t (*real)(int, const struct iovec *, int, offset);                         \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                              \
        return vector_allowed(fd, parts, n, start) ? real(fd, parts, n, start) : -1;            \
    }
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int n) {
    static ssize_t (*real)(int, const struct iovec *, int);
    if (!real) real = dlsym(RTLD_NEXT, "writev");
    uint64_t start = inode_of(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    return vector_allowed(fd, parts, n, start) ? real(fd, parts, n) : -1;
}

#define CUT_TO(name, offset)                                                                    \
    int name(int fd, offset length) {                                                           \
        static int (*real)(int, offset);                                                        \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                              \
        uint64_t inode = inode_of(fd);                                                          \
        if (inode) {                                                                            \
            stop_without_power();                                                               \
            note(CUT, 0, inode, length, NULL, 0);                                               \
        }                                                                                       \
        return real(fd, length);                                                                \
    }
CUT_TO(ftruncate, off_t)
CUT_TO(ftruncate64, off64_t)

/* A failed fsync leaves its pages unwritten and forgets them: the next one does not repeat it. */
#define SYNC_BY(name)                                                                           \
    int name(int fd) {                                                                          \
        static int (*real)(int);                                                                \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                              \
        uint64_t inode = inode_of(fd);                                                          \
        if (!inode) return real(fd);                                                            \
        stop_without_power();                                                                   \
        uint32_t id = __sync_add_and_fetch(&control->drawn, 1);                                 \
        note(SYNC, id, inode, 0, NULL, 0);                                                      \
        if (fails(control->failing_sync)) {                                                     \
            note(UNSYNCED, id, inode, 0, NULL, 0);                                              \
            errno = EIO;                                                                        \
            return -1;                                                                          \
        }                                                                                       \
        int outcome = control->record ? 0 : real(fd);                                           \
        stop_without_power();                                                                   \
        if (!outcome) note(SYNCED, id, inode, 0, NULL, 0);                                      \
        return outcome;                                                                         \
    }
SYNC_BY(fsync)
SYNC_BY(fdatasync)

/* ---- the clock ---- */

int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int outcome = real(which, now);
    if (!outcome && which == CLOCK_REALTIME) now->tv_sec += shift;
    return outcome;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int outcome = real(now, zone);
    if (!outcome) now->tv_sec += shift;
    return outcome;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}
