// Loaded into `verbatim` (LD_PRELOAD): lets one use of one function of libc fail, as if the machine had
// refused it. FAILING_MACHINE is "FUNCTION:ERROR:N", such as "write:ENOSPC:3" or "read:short:1"; N counts
// from 1, and 0 only counts. FAILING_MACHINE_USES names a file, shared with forked processes, of one 4-byte
// counter for each function in `kNames`. Children that verbatim executes get neither the library nor these
// variables.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/machine_failures/functions.h"

static unsigned* uses;  // NULL: this process is not a verbatim under test
static int failing_function = -1, failing_error;
static unsigned failing_use;
enum { kShort = -1 };

static int error_of(const char* name) {
  static const struct {
    const char* name;
    int error;
  } kErrors[] = {{"ENOSPC", ENOSPC}, {"EINTR", EINTR},   {"EIO", EIO},     {"ENOMEM", ENOMEM},
                 {"EMFILE", EMFILE}, {"EAGAIN", EAGAIN}, {"EPERM", EPERM}, {"short", kShort}};
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i) {
    if (strcmp(name, kErrors[i].name) == 0) return kErrors[i].error;
  }
  abort();
}

__attribute__((constructor)) static void start(void) {
  const char* const wanted = getenv("FAILING_MACHINE");
  const char* const file = getenv("FAILING_MACHINE_USES");
  if (wanted == NULL || file == NULL || strcmp(program_invocation_short_name, "verbatim") != 0) return;
  char text[128], *at = text;
  snprintf(text, sizeof text, "%s", wanted);
  const char* const function = strsep(&at, ":");
  const char* const error = strsep(&at, ":");
  for (int i = 0; i < kFunctions; ++i) {
    if (strcmp(kNames[i], function) == 0) failing_function = i;
  }
  failing_error = error_of(error);
  failing_use = (unsigned)atoi(at);
  const int fd = open(file, O_RDWR | O_CLOEXEC);
  void* const shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (shared == MAP_FAILED) abort();
  unsetenv("LD_PRELOAD");
  unsetenv("FAILING_MACHINE");
  unsetenv("FAILING_MACHINE_USES");
  uses = shared;
}

// The error with which this use of the function fails, or kShort; 0: it does not.
static int failure_of(int function) {
  if (uses == NULL) return 0;
  const unsigned use = __atomic_add_fetch(&uses[function], 1, __ATOMIC_RELAXED);
  return function == failing_function && use == failing_use ? failing_error : 0;
}

#define REAL(name)               \
  static __typeof__(name)* real; \
  if (real == NULL) real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)
#define REFUSE(name, result)                   \
  REAL(name);                                  \
  const int failure = failure_of(kUse_##name); \
  if (failure > 0) {                           \
    errno = failure;                           \
    return result;                             \
  }

#define WRAP(result_type, name, parameters, arguments, refused) \
  result_type name parameters {                                 \
    REFUSE(name, refused)                                       \
    return real arguments;                                      \
  }
// Transfers of `size` bytes: a short one has half of them.
#define WRAP_SHORT(result_type, name, parameters, arguments, size) \
  result_type name parameters {                                    \
    REFUSE(name, -1)                                               \
    if (failure == kShort && size > 1) size /= 2;                  \
    return real arguments;                                         \
  }

WRAP_SHORT(ssize_t, read, (int fd, void* to, size_t n), (fd, to, n), n)
WRAP_SHORT(ssize_t, write, (int fd, const void* from, size_t n), (fd, from, n), n)
WRAP_SHORT(ssize_t, pread, (int fd, void* to, size_t n, off_t at), (fd, to, n, at), n)
WRAP_SHORT(ssize_t, pwrite, (int fd, const void* from, size_t n, off_t at), (fd, from, n, at), n)

// The first of several pieces is cut.
#define SHORTER(pieces, count)             \
  struct iovec cut;                        \
  if (failure == kShort && count != 0) {   \
    cut = pieces[0];                       \
    if (cut.iov_len > 1) cut.iov_len /= 2; \
    pieces = &cut;                         \
    count = 1;                             \
  }
ssize_t process_vm_readv(pid_t pid, const struct iovec* local, unsigned long n, const struct iovec* remote,
                         unsigned long m, unsigned long flags) {
  REFUSE(process_vm_readv, -1)
  SHORTER(remote, m)
  return real(pid, local, n, remote, m, flags);
}
ssize_t process_vm_writev(pid_t pid, const struct iovec* local, unsigned long n, const struct iovec* remote,
                          unsigned long m, unsigned long flags) {
  REFUSE(process_vm_writev, -1)
  SHORTER(remote, m)
  return real(pid, local, n, remote, m, flags);
}

static int mode_of(int flags, va_list* more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(*more, int) : 0;
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_of(flags, &more);
  va_end(more);
  REFUSE(open, -1)
  return real(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_of(flags, &more);
  va_end(more);
  REFUSE(openat, -1)
  return real(folder, path, flags, mode);
}
int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  const long argument = va_arg(more, long);
  va_end(more);
  REFUSE(fcntl, -1)
  return real(fd, command, argument);
}
long ptrace(enum __ptrace_request request, ...) {
  va_list more;
  va_start(more, request);
  const pid_t pid = va_arg(more, pid_t);
  void* const address = va_arg(more, void*);
  void* const data = va_arg(more, void*);
  va_end(more);
  REFUSE(ptrace, -1)
  return real(request, pid, address, data);
}
long syscall(long number, ...) {
  va_list more;
  va_start(more, number);
  long arguments[6];
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(more, long);
  va_end(more);
  REFUSE(syscall, -1)
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
int prctl(int option, ...) {
  va_list more;
  va_start(more, option);
  long arguments[4];
  for (int i = 0; i < 4; ++i) arguments[i] = va_arg(more, long);
  va_end(more);

  REFUSE(prctl, -1)
  return real(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

WRAP(FILE*, fopen64, (const char* path, const char* mode), (path, mode), NULL)
// A stream that could not be written has its error flag set, as ferror() shows.
static int failed_stream(FILE* file) {
  if (file != NULL) file->_flags |= 0x20;  // _IO_ERR_SEEN of glibc's libio
  return EOF;
}
WRAP(int, fflush, (FILE * file), (file), failed_stream(file))
int fclose(FILE* file) {
  REAL(fclose);
  const int failure = failure_of(kUse_fclose);
  const int result = real(file);
  if (failure <= 0) return result;
  errno = failure;
  return EOF;
}
WRAP(int, execve, (const char* path, char* const* words, char* const* environment),
     (path, words, environment), -1)
WRAP(int, memfd_create, (const char* name, unsigned flags), (name, flags), -1)
WRAP(void*, mmap, (void* at, size_t n, int protection, int flags, int fd, off_t offset),
     (at, n, protection, flags, fd, offset), MAP_FAILED)
WRAP(int, pipe2, (int ends[2], int flags), (ends, flags), -1)
WRAP(int, socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends), -1)
WRAP(int, poll, (struct pollfd * files, nfds_t n, int timeout), (files, n, timeout), -1)
WRAP(int, ppoll, (struct pollfd * files, nfds_t n, const struct timespec* timeout, const sigset_t* mask),
     (files, n, timeout, mask), -1)
WRAP(int, eventfd, (unsigned value, int flags), (value, flags), -1)
WRAP(int, dup2, (int fd, int other), (fd, other), -1)
WRAP(int, ftruncate, (int fd, off_t n), (fd, n), -1)
WRAP(int, fstat, (int fd, struct stat* status), (fd, status), -1)
WRAP(int, mkdir, (const char* path, mode_t mode), (path, mode), -1)
WRAP(int, rename, (const char* from, const char* to), (from, to), -1)
WRAP(ssize_t, readlink, (const char* path, char* to, size_t n), (path, to, n), -1)
WRAP(char*, realpath, (const char* path, char* to), (path, to), NULL)
WRAP(pid_t, waitpid, (pid_t pid, int* status, int options), (pid, status, options), -1)
WRAP(int, waitid, (idtype_t kind, id_t id, siginfo_t* info, int options), (kind, id, info, options), -1)
WRAP(int, sched_setaffinity, (pid_t pid, size_t n, const cpu_set_t* set), (pid, n, set), -1)
