// Functions of libc that the run of failing_run.cc calls and that can be let fail, and the errors tried with each.
#pragma once

// X(function, errors separated by blanks)
#define FAILING_FUNCTIONS(X)                \
  X(read, "EIO EINTR short")                \
  X(write, "ENOSPC EIO EINTR short")        \
  X(pread, "EIO EINTR short")               \
  X(pwrite, "ENOSPC EIO EINTR short")       \
  X(process_vm_readv, "ENOMEM EPERM short") \
  X(process_vm_writev, "ENOMEM EPERM short") \
  X(open, "EMFILE ENOSPC EIO EINTR")        \
  X(openat, "EMFILE ENOSPC EIO EINTR")      \
  X(fcntl, "EMFILE")                        \
  X(ptrace, "EPERM EIO")                    \
  X(syscall, "ENOMEM EPERM EINTR")          \
  X(prctl, "EPERM")                         \
  X(fopen64, "EMFILE ENOSPC EIO")           \
  X(fflush, "ENOSPC EIO")                   \
  X(fclose, "ENOSPC EIO")                   \
  X(execve, "ENOMEM EIO")                   \
  X(memfd_create, "EMFILE ENOMEM")          \
  X(mmap, "ENOMEM")                         \
  X(pipe2, "EMFILE")                        \
  X(socketpair, "EMFILE ENOMEM")            \
  X(poll, "EINTR ENOMEM")                   \
  X(ppoll, "EINTR ENOMEM")                  \
  X(eventfd, "EMFILE ENOMEM")               \
  X(dup2, "EMFILE EINTR")                   \
  X(ftruncate, "ENOSPC EIO")                \
  X(fstat, "EIO ENOMEM")                    \
  X(mkdir, "ENOSPC EIO")                    \
  X(rename, "ENOSPC EIO")                   \
  X(readlink, "EIO ENOMEM")                 \
  X(realpath, "EIO ENOMEM")                 \
  X(waitpid, "EINTR")                       \
  X(waitid, "EINTR")                        \
  X(sched_setaffinity, "EPERM")

enum {
#define FAILING_USE(name, errors) kUse_##name,
  FAILING_FUNCTIONS(FAILING_USE)
#undef FAILING_USE
  kFunctions
};

static const char* const kNames[] = {
#define FAILING_NAME(name, errors) #name,
    FAILING_FUNCTIONS(FAILING_NAME)
#undef FAILING_NAME
};
