// The functions of libc that can be let fail, and the errors that each is tried with.
#pragma once

// X(function, errors separated by blanks)
#define FAILING_FUNCTIONS(X)                \
  X(read, "EIO EINTR short")                \
  X(write, "ENOSPC EIO EINTR short")        \
  X(pread, "EIO EINTR short")               \
  X(pwrite, "ENOSPC EIO EINTR short")       \
  X(writev, "ENOSPC EIO EINTR short")       \
  X(process_vm_readv, "ENOMEM EPERM short") \
  X(process_vm_writev, "ENOMEM EPERM short") \
  X(open, "EMFILE ENOSPC EIO EINTR")        \
  X(openat, "EMFILE ENOSPC EIO EINTR")      \
  X(fcntl, "EMFILE")                        \
  X(ptrace, "EPERM EIO")                    \
  X(syscall, "ENOMEM EPERM EINTR")          \
  X(prctl, "EPERM")                         \
  X(fopen, "EMFILE ENOSPC EIO")             \
  X(fopen64, "EMFILE ENOSPC EIO")           \
  X(fflush, "ENOSPC EIO")                   \
  X(fclose, "ENOSPC EIO")                   \
  X(fork, "EAGAIN ENOMEM")                  \
  X(execve, "ENOMEM EIO")                   \
  X(memfd_create, "EMFILE ENOMEM")          \
  X(mmap, "ENOMEM")                         \
  X(mprotect, "ENOMEM")                     \
  X(pipe, "EMFILE")                         \
  X(pipe2, "EMFILE")                        \
  X(socket, "EMFILE ENOMEM")                \
  X(socketpair, "EMFILE ENOMEM")            \
  X(sendmsg, "EINTR ENOMEM")                \
  X(recvmsg, "EINTR ENOMEM")                \
  X(send, "EINTR ENOMEM")                   \
  X(recv, "EINTR ENOMEM")                   \
  X(epoll_create1, "EMFILE")                \
  X(epoll_ctl, "ENOMEM ENOSPC")             \
  X(epoll_wait, "EINTR")                    \
  X(poll, "EINTR ENOMEM")                   \
  X(ppoll, "EINTR ENOMEM")                  \
  X(eventfd, "EMFILE ENOMEM")               \
  X(timerfd_create, "EMFILE ENOMEM")        \
  X(timerfd_settime, "EIO")                 \
  X(dup, "EMFILE EINTR")                    \
  X(dup2, "EMFILE EINTR")                   \
  X(ftruncate, "ENOSPC EIO")                \
  X(fstat, "EIO ENOMEM")                    \
  X(mkdir, "ENOSPC EIO")                    \
  X(mkdtemp, "ENOSPC EIO")                  \
  X(rename, "ENOSPC EIO")                   \
  X(unlink, "EIO")                          \
  X(symlink, "ENOSPC EIO")                  \
  X(readlink, "EIO ENOMEM")                 \
  X(realpath, "EIO ENOMEM")                 \
  X(waitpid, "EINTR")                       \
  X(waitid, "EINTR")                        \
  X(sched_setaffinity, "EPERM")             \
  X(getrandom, "EINTR")

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
