// Records what a process does to the files below a directory and what it says on its sockets, in one
// order, and makes calls fail. Preloaded: LD_PRELOAD=recorder.so, built by the tests at run time.
//
//   REC_DIR     only files whose path begins so are looked at
//   REC_LOG     where the records go; nothing is recorded without it
//   REC_FAULTS  CALL,PATH,N,ACTION[;...]: the N-th CALL on a path that contains PATH goes wrong;
//               with "N+" all from the N-th on
//     CALL      write, dwrite (through an O_DSYNC descriptor), sync, dirsync, open, rename, unlink,
//               alloc, send, or any
//     ACTION    eio, enospc: fails; short: half is written and half is said to be; torn: half is
//               written, then ENOSPC; lie: says it was done and does nothing; kill, killafter: the
//               process ends before or after the call; tornkill: after half of the write
//
// One mutex is held over each call and its record, so the records stand in the order of effect.
// A record: size (4, with this header), op (1), flags (1), 0 (2), fd (4), 0 (4), number (8), bytes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, WRITE, SYNC, TRUNCATE, ALLOCATE, RENAME, UNLINK, MKDIR, SEND, CLOSE, FAULT };
enum { CREATED = 1, DIRECTORY = 2, DSYNC = 4, CUT = 8 };
enum kind { NONE, FILE_FD, DIRECTORY_FD, SOCKET_FD };

#define FDS 4096
#define FAULTS 16
#define PATH 512

static struct { enum kind kind; int dsync; char path[PATH]; } fds[FDS];
static struct { char call[16], path[PATH], action[16]; long n; int on, seen; } faults[FAULTS];
static int fault_count;
static int log_fd = -1;
static const char *root = "";
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    if (getenv("REC_DIR")) root = strdup(getenv("REC_DIR"));
    const char *log = getenv("REC_LOG"), *list = getenv("REC_FAULTS");
    if (log) {
        int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        // Out of the way of the numbers that the process counts on.
        log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 900);
        syscall(SYS_close, fd);
    }
    char *copy = strdup(list ? list : ""), *rest = NULL;
    for (char *part = strtok_r(copy, ";", &rest); part && fault_count < FAULTS;
         part = strtok_r(NULL, ";", &rest)) {
        char number[16] = "";
        if (sscanf(part, "%15[^,],%511[^,],%15[^,],%15s", faults[fault_count].call,
                   faults[fault_count].path, number, faults[fault_count].action) != 4) abort();
        faults[fault_count].n = strtol(number, NULL, 10);
        faults[fault_count].on = strchr(number, '+') != NULL;
        fault_count++;
    }
}

static void put(int op, int flags, int fd, int64_t number, const struct iovec *parts, int count) {
    if (log_fd < 0) return;
    size_t size = 24, done = 24;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    char *record = malloc(size);
    uint32_t size32 = size;
    memset(record, 0, 24);
    memcpy(record, &size32, 4);
    record[4] = op, record[5] = flags;
    memcpy(record + 8, &fd, 4);
    memcpy(record + 16, &number, 8);
    for (int i = 0; i < count; i++) {
        memcpy(record + done, parts[i].iov_base, parts[i].iov_len);
        done += parts[i].iov_len;
    }
    if (syscall(SYS_write, log_fd, record, size) != (long)size) abort();
    free(record);
}

static void put_text(int op, int flags, int fd, int64_t number, const char *text) {
    struct iovec part = {(void *)text, strlen(text)};
    put(op, flags, fd, number, &part, 1);
}

static int is_below(const char *path) { return *root && !strncmp(path, root, strlen(root)); }

static enum kind kind_of(int fd) { return fd >= 0 && fd < FDS ? fds[fd].kind : NONE; }

enum action { PASS, FAIL, SHORT, TORN, LIE, KILL_AFTER, TORN_KILL };

// What is to become of a call; the error of one that fails is in errno.
static enum action decide(const char *call, const char *path) {
    for (int i = 0; i < fault_count; i++) {
        if (strcmp(faults[i].call, call) && strcmp(faults[i].call, "any")) continue;
        if (!strstr(path, faults[i].path)) continue;
        faults[i].seen++;
        if (faults[i].on ? faults[i].seen < faults[i].n : faults[i].seen != faults[i].n) continue;
        const char *action = faults[i].action;
        char text[PATH + 64];
        snprintf(text, sizeof text, "%s %s %s", action, call, path);
        put_text(FAULT, 0, -1, faults[i].seen, text);
        if (!strcmp(action, "kill")) kill(getpid(), SIGKILL);
        if (!strcmp(action, "killafter")) return KILL_AFTER;
        if (!strcmp(action, "tornkill")) return TORN_KILL;
        if (!strcmp(action, "short")) return SHORT;
        if (!strcmp(action, "torn")) return TORN;
        if (!strcmp(action, "lie")) return LIE;
        errno = !strcmp(action, "enospc") ? ENOSPC : EIO;
        return FAIL;
    }
    return PASS;
}

static void end_if(enum action action) {
    if (action == KILL_AFTER || action == TORN_KILL) kill(getpid(), SIGKILL);
}

static int unlock(int result) {
    int number = errno;
    pthread_mutex_unlock(&mutex);
    errno = number;
    return result;
}

// MARK: Names

static int open_at(int directory, const char *path, int flags, mode_t mode) {
    if (directory != AT_FDCWD || !is_below(path))
        return syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&mutex);
    struct stat status;
    int is_new = (flags & O_CREAT) && stat(path, &status) != 0;
    enum action action = is_new || (flags & O_ACCMODE) != O_RDONLY ? decide("open", path) : PASS;
    if (action == FAIL) return unlock(-1);
    int fd = syscall(SYS_openat, directory, path, flags, mode);
    if (fd >= 0 && fd < FDS && !fstat(fd, &status)) {
        int is_directory = S_ISDIR(status.st_mode);
        fds[fd].kind = is_directory ? DIRECTORY_FD : FILE_FD;
        fds[fd].dsync = (flags & O_DSYNC) != 0;
        snprintf(fds[fd].path, PATH, "%s", path);
        int cut = (flags & O_TRUNC) && !is_new ? CUT : 0;
        put_text(OPEN, (is_new ? CREATED : 0) | (is_directory ? DIRECTORY : 0) | cut, fd, 0, path);
    }
    end_if(action);
    return unlock(fd);
}

static mode_t mode_of(int flags, va_list list) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

#define OPENER(name)                                                 \
    int name(const char *path, int flags, ...) {                     \
        va_list list;                                                \
        va_start(list, flags);                                       \
        mode_t mode = mode_of(flags, list);                          \
        va_end(list);                                                \
        return open_at(AT_FDCWD, path, flags, mode);                 \
    }
OPENER(open)
OPENER(open64)

#define OPENER_AT(name)                                              \
    int name(int directory, const char *path, int flags, ...) {      \
        va_list list;                                                \
        va_start(list, flags);                                       \
        mode_t mode = mode_of(flags, list);                          \
        va_end(list);                                                \
        return open_at(directory, path, flags, mode);                \
    }
OPENER_AT(openat)
OPENER_AT(openat64)

int rename(const char *old, const char *new) {
    if (!is_below(old)) return syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
    pthread_mutex_lock(&mutex);
    enum action action = decide("rename", new);
    if (action == FAIL) return unlock(-1);
    int result = syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
    struct iovec parts[] = {{(void *)old, strlen(old) + 1}, {(void *)new, strlen(new)}};
    if (!result) put(RENAME, 0, -1, 0, parts, 2);
    end_if(action);
    return unlock(result);
}

int renameat(int from, const char *old, int to, const char *new) {
    if (from == AT_FDCWD && to == AT_FDCWD) return rename(old, new);
    return syscall(SYS_renameat2, from, old, to, new, 0);
}

static int change_name(int op, const char *call, const char *path, long number, long argument) {
    if (!is_below(path)) return syscall(number, AT_FDCWD, path, argument);
    pthread_mutex_lock(&mutex);
    enum action action = decide(call, path);
    if (action == FAIL) return unlock(-1);
    int result = syscall(number, AT_FDCWD, path, argument);
    if (!result) put_text(op, 0, -1, 0, path);
    end_if(action);
    return unlock(result);
}

int unlink(const char *path) { return change_name(UNLINK, "unlink", path, SYS_unlinkat, 0); }
int rmdir(const char *path) {
    return change_name(UNLINK, "unlink", path, SYS_unlinkat, AT_REMOVEDIR);
}
int mkdir(const char *path, mode_t mode) {
    return change_name(MKDIR, "mkdir", path, SYS_mkdirat, mode);
}

// MARK: Contents

static ssize_t written(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    return offset < 0 ? syscall(SYS_writev, fd, parts, count)
                      : syscall(SYS_pwritev2, fd, parts, count, offset, 0L, flags);
}

// The half of what is to be written, in one piece.
static struct iovec half_of(const struct iovec *parts, int count) {
    size_t size = 0, done = 0;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    char *bytes = malloc(size + 1);
    for (int i = 0; i < count; i++) {
        memcpy(bytes + done, parts[i].iov_base, parts[i].iov_len);
        done += parts[i].iov_len;
    }
    struct iovec half = {bytes, size > 1 ? size / 2 : size};
    return half;
}

// Takes as many bytes from the parts as were written and records them.
static void put_some(int op, int flags, int fd, int64_t number, const struct iovec *parts,
                     int count, size_t bytes) {
    struct iovec some[1024];
    int used = 0;
    for (; used < count && used < 1024 && bytes > 0; used++) {
        some[used] = parts[used];
        if (some[used].iov_len > bytes) some[used].iov_len = bytes;
        bytes -= some[used].iov_len;
    }
    put(op, flags, fd, number, some, used);
}

static ssize_t write_at(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    enum kind kind = kind_of(fd);
    if (kind != FILE_FD && kind != SOCKET_FD) return written(fd, parts, count, offset, flags);
    pthread_mutex_lock(&mutex);
    int dsync = fds[fd].dsync || (flags & (RWF_DSYNC | RWF_SYNC));
    enum action action = kind == SOCKET_FD ? decide("send", "/socket")
                                           : decide(dsync ? "dwrite" : "write", fds[fd].path);
    if (action == FAIL) return unlock(-1);
    off_t place = offset < 0 && kind == FILE_FD ? lseek(fd, 0, SEEK_CUR) : offset;
    struct iovec half = {NULL, 0};
    if (action == SHORT || action == TORN || action == TORN_KILL) {
        half = half_of(parts, count);
        parts = &half, count = 1;
    }
    ssize_t result;
    if (action == LIE) {
        result = 0;
        for (int i = 0; i < count; i++) result += parts[i].iov_len;
    } else {
        result = written(fd, parts, count, offset, flags);
        int op = kind == SOCKET_FD ? SEND : WRITE;
        // What a torn write says to be synced is not.
        int said = dsync && action != TORN && action != TORN_KILL ? DSYNC : 0;
        if (result > 0) put_some(op, said, fd, place, parts, count, result);
    }
    free(half.iov_base);
    end_if(action);
    if (action == TORN) {
        errno = ENOSPC;
        result = -1;
    }
    return unlock(result);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    struct iovec part = {(void *)bytes, count};
    return write_at(fd, &part, 1, offset, 0);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite(fd, bytes, count, offset);
}
ssize_t write(int fd, const void *bytes, size_t count) {
    if (kind_of(fd) == NONE) return syscall(SYS_write, fd, bytes, count);
    struct iovec part = {(void *)bytes, count};
    return write_at(fd, &part, 1, -1, 0);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    return write_at(fd, parts, count, -1, 0);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    return write_at(fd, parts, count, offset, 0);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) {
    return write_at(fd, parts, count, offset, 0);
}
ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    return write_at(fd, parts, count, offset, flags);
}
ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    return write_at(fd, parts, count, offset, flags);
}

static int sync_fd(int fd, long number) {
    enum kind kind = kind_of(fd);
    if (kind != FILE_FD && kind != DIRECTORY_FD) return syscall(number, fd);
    pthread_mutex_lock(&mutex);
    enum action action = decide(kind == FILE_FD ? "sync" : "dirsync", fds[fd].path);
    if (action == FAIL) return unlock(-1);
    if (action == LIE) return unlock(0);
    int result = syscall(number, fd);
    if (!result) put(SYNC, 0, fd, 0, NULL, 0);
    end_if(action);
    return unlock(result);
}

int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

int ftruncate(int fd, off_t size) {
    if (kind_of(fd) != FILE_FD) return syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&mutex);
    int result = syscall(SYS_ftruncate, fd, size);
    if (!result) put(TRUNCATE, 0, fd, size, NULL, 0);
    return unlock(result);
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

static int allocate(int fd, off_t offset, off_t size) {
    if (kind_of(fd) != FILE_FD) return syscall(SYS_fallocate, fd, 0, offset, size);
    pthread_mutex_lock(&mutex);
    enum action action = decide("alloc", fds[fd].path);
    if (action == FAIL) return unlock(-1);
    int result = syscall(SYS_fallocate, fd, 0, offset, size);
    if (!result) put(ALLOCATE, 0, fd, offset + size, NULL, 0);
    end_if(action);
    return unlock(result);
}
int posix_fallocate(int fd, off_t offset, off_t size) {
    int saved = errno;
    int number = allocate(fd, offset, size) ? errno : 0;
    errno = saved;
    return number;
}
int posix_fallocate64(int fd, off_t offset, off_t size) { return posix_fallocate(fd, offset, size); }

// MARK: Sockets

static int is_socket(int fd) {
    if (fd >= 0 && fd < FDS) {
        pthread_mutex_lock(&mutex);
        fds[fd].kind = SOCKET_FD, fds[fd].dsync = 0;
        pthread_mutex_unlock(&mutex);
    }
    return fd;
}
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    return is_socket(syscall(SYS_accept4, fd, address, size, flags));
}
int accept(int fd, struct sockaddr *address, socklen_t *size) {
    return accept4(fd, address, size, 0);
}
int connect(int fd, const struct sockaddr *address, socklen_t size) {
    is_socket(fd);
    return syscall(SYS_connect, fd, address, size);
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    struct iovec part = {(void *)bytes, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return sendmsg(fd, &message, flags);
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (kind_of(fd) != SOCKET_FD) return syscall(SYS_sendmsg, fd, message, flags);
    pthread_mutex_lock(&mutex);
    enum action action = decide("send", "/socket");
    if (action == FAIL) return unlock(-1);
    ssize_t result = syscall(SYS_sendmsg, fd, message, flags);
    if (result > 0) {
        put_some(SEND, 0, fd, 0, message->msg_iov, (int)message->msg_iovlen, result);
    }
    end_if(action);
    return unlock(result);
}

int close(int fd) {
    if (kind_of(fd) == NONE) return syscall(SYS_close, fd);
    pthread_mutex_lock(&mutex);
    fds[fd].kind = NONE;
    put(CLOSE, 0, fd, 0, NULL, 0);
    return unlock(syscall(SYS_close, fd));
}
