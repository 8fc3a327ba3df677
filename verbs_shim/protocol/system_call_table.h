// Every x86-64 system call, one row each, with all properties in which calls differ.
//
//   number, name   as in Linux
//   class          CallClass (system_calls.h)
//   errno          of a refused call; 0: not refused
//   handler        function of sim/supervisor/kernel that answers it; sys_refused: answered by the shim or the kernel, or refused
//   traits         CallTraits (system_calls.h)
//   letters        format of each argument in --calls (tools/verbatim/calls/system_call_text.cc):
//     numbers      d int, D of 64 bits, u unsigned, x hexadecimal, I written by the call
//     files        f descriptor or AT_FDCWD, p path, i two descriptors that the call writes
//     bytes        B read by the call and b written by it, with the length in the next argument; V and v: iovec; s string
//     structures   A socket address, with its length next; a written by the call; t timespec, T written; G array of strings;
//                  E epoll_event, e written; P pollfds, with their number next; N set of signals
//     constants    all other letters, see constant()
//   An argument that the call writes is shown as an address until the call has succeeded.
//
// The seccomp filter, the dispatch of the shim and of the supervisor, and the text of calls are generated
// from these rows. A new call takes one row, and one function if a handler answers it. Inconsistent rows do
// not compile.
#pragma once

// clang-format off
#define VERBATIM_SYSTEM_CALLS(X) \
  X(0, read, kByDescriptor, 0, sys_read, kOfFile | kInPlace | kEmptyIfEagain | kEndedByHandler | kTakesInput | kCounted, "fbu") \
  X(1, write, kByDescriptor, 0, sys_write, kOfFile | kInPlace | kEmptyIfEagain | kEndedByHandler | kCounted, "fBu")    \
  X(2, open, kVirtual, 0, sys_open, kOfCaller | kInPlace | kExecFlag1, "poO")                                          \
  X(3, close, kByDescriptor, 0, sys_close, kOfFile | kInPlace, "f")                                                    \
  X(4, stat, kByPath, 0, sys_path, kOfCaller | kInPlace, "px")                                                         \
  X(5, fstat, kByDescriptor, 0, sys_stat, kOfFile | kInPlace, "fx")                                                    \
  X(6, lstat, kByPath, 0, sys_path, kOfCaller | kInPlace, "px")                                                        \
  X(7, poll, kVirtual, 0, sys_poll, kInPlace | kEmptyAtOnce | kEndedByHandler | kWaitsForFiles, "Pud")                 \
  X(8, lseek, kByDescriptor, 0, sys_seek, kOfFile | kInPlace | kNoProgress, "fDw")                                     \
  X(9, mmap, kByProtection, 0, sys_refused, kNone, "xurmfx")                                                           \
  X(10, mprotect, kByProtection, 0, sys_refused, kNone, "xur")                                                         \
  X(11, munmap, kPassing, 0, sys_refused, kNone, "xu")                                                                 \
  X(12, brk, kPassing, 0, sys_refused, kNone, "x")                                                                     \
  X(13, rt_sigaction, kLocal, 0, sys_refused, kInPlace | kNoProgress, "gxxu")                                          \
  X(14, rt_sigprocmask, kLocal, 0, sys_refused, kInPlace | kNoProgress, "kNxu")                                        \
  X(15, rt_sigreturn, kLocal, 0, sys_refused, kNoProgress, "")                                                         \
  X(16, ioctl, kByDescriptor, 0, sys_ioctl, kInPlace, "fxx")                                                           \
  X(17, pread64, kByDescriptor, 0, sys_seek, kOfFile | kInPlace, "fbuD")                                               \
  X(18, pwrite64, kByDescriptor, 0, sys_seek, kInPlace, "fBuD")                                                        \
  X(19, readv, kByDescriptor, 0, sys_read, kOfFile | kInPlace | kEndedByHandler | kTakesInput, "fvu")                  \
  X(20, writev, kByDescriptor, 0, sys_write, kOfFile | kInPlace | kEndedByHandler, "fVu")                              \
  X(21, access, kByPath, 0, sys_path, kOfCaller | kInPlace, "pR")                                                      \
  X(22, pipe, kVirtual, 0, sys_pipe, kOfCaller, "i")                                                                   \
  X(23, select, kVirtual, 0, sys_select, kInPlace | kEndedByHandler | kWaitsForFiles, "dxxxx")                         \
  X(24, sched_yield, kLocal, 0, sys_refused, kInPlace | kOnlyAsks | kNoProgress, "")                                   \
  X(25, mremap, kPassing, 0, sys_refused, kNone, "xuuxx")                                                              \
  X(26, msync, kPassing, 0, sys_refused, kNone, "xux")                                                                 \
  X(27, mincore, kLocal, 0, sys_refused, kNone, "xux")                                                                 \
  X(28, madvise, kByArgument, 0, sys_refused, kNone, "xuM")                                                            \
  X(29, shmget, kVirtual, 0, sys_shmget, kNone, "xux")                                                                 \
  X(30, shmat, kVirtual, 0, sys_shmat, kNone, "dxx")                                                                   \
  X(31, shmctl, kVirtual, 0, sys_shmctl, kNone, "ddx")                                                                 \
  X(32, dup, kVirtual, 0, sys_dup, kOfFile, "f")                                                                       \
  X(33, dup2, kVirtual, 0, sys_dup, kOfTwoFiles, "ff")                                                                 \
  X(34, pause, kVirtual, 0, sys_pause, kNeverRestarted | kNoProgress, "")                                              \
  X(35, nanosleep, kVirtual, 0, sys_sleep, kInPlace | kSleep | kEndedByHandler | kNeverRestarted | kNoProgress, "tx")  \
  X(36, getitimer, kVirtual, 0, sys_timer, kNoProgress, "dx")                                                          \
  X(37, alarm, kVirtual, 0, sys_timer, kNoProgress, "u")                                                               \
  X(38, setitimer, kVirtual, 0, sys_timer, kNoProgress, "dxx")                                                         \
  X(39, getpid, kLocal, 0, sys_refused, kInPlace, "")                                                                  \
  X(40, sendfile, kLocal, 0, sys_refused, kNone, "ffxu")                                                               \
  X(41, socket, kVirtual, 0, sys_socket, kOfCaller | kInPlace | kExecFlag1, "FSd")                                     \
  X(42, connect, kVirtual, 0, sys_connect, kOfUnixSocket | kInPlace, "fAu")                                            \
  X(43, accept, kVirtual, 0, sys_accept, kOfFile | kInPlace | kEmptyIfEagain | kEndedByHandler, "fax")                 \
  X(44, sendto, kVirtual, 0, sys_sendto, kOfFile | kInPlace | kEndedByHandler, "fBuqAu")                               \
  X(45, recvfrom, kVirtual, 0, sys_recvfrom, kOfFile | kInPlace | kEmptyIfEagain | kEndedByHandler, "fbuqax")          \
  X(46, sendmsg, kVirtual, 0, sys_sendmsg, kOfFile | kInPlace | kEndedByHandler, "fxq")                                \
  X(47, recvmsg, kVirtual, 0, sys_recvmsg, kOfFile | kInPlace | kEmptyIfEagain | kEndedByHandler | kMessageExecFlag2, "fxq") \
  X(48, shutdown, kVirtual, 0, sys_shutdown, kInPlace, "fd")                                                           \
  X(49, bind, kVirtual, 0, sys_bind, kOfFile | kInPlace, "fAu")                                                        \
  X(50, listen, kVirtual, 0, sys_listen, kOfFile | kInPlace, "fd")                                                     \
  X(51, getsockname, kVirtual, 0, sys_socket_name, kOfFile | kInPlace, "fax")                                          \
  X(52, getpeername, kVirtual, 0, sys_socket_name, kOfFile | kInPlace, "fax")                                          \
  X(53, socketpair, kVirtual, 0, sys_socketpair, kOfCaller | kExecFlag1, "FSdi")                                       \
  X(54, setsockopt, kVirtual, 0, sys_setsockopt, kOfFile | kInPlace, "fddxu")                                          \
  X(55, getsockopt, kVirtual, 0, sys_getsockopt, kOfFile | kInPlace, "fddxx")                                          \
  X(56, clone, kVirtual, 0, sys_clone, kNone, "cxxxx")                                                                 \
  X(57, fork, kVirtual, 0, copy_process, kNone, "")                                                                    \
  X(58, vfork, kVirtual, 0, copy_process, kNone, "")                                                                   \
  X(59, execve, kVirtual, 0, sys_path, kNone, "pGx")                                                                   \
  X(60, exit, kVirtual, 0, sys_exit, kNone, "d")                                                                       \
  X(61, wait4, kVirtual, 0, sys_wait4, kEndedByHandler, "dIxx")                                                        \
  X(62, kill, kLocal, 0, sys_kill, kNoProgress, "dg")                                                                  \
  X(63, uname, kVirtual, 0, sys_uname, kOfCaller | kInPlace, "x")                                                      \
  X(64, semget, kVirtual, 0, sys_semget, kNone, "xdx")                                                                 \
  X(65, semop, kVirtual, 0, sys_semop, kEndedByStop | kNeverRestarted, "dxu")                                          \
  X(66, semctl, kVirtual, 0, sys_semctl, kNone, "dddx")                                                                \
  X(67, shmdt, kVirtual, 0, sys_shmdt, kNone, "x")                                                                     \
  X(68, msgget, kVirtual, 0, sys_msgget, kNone, "xx")                                                                  \
  X(69, msgsnd, kVirtual, 0, sys_msgsnd, kEndedByHandler | kNeverRestarted, "dxux")                                    \
  X(70, msgrcv, kVirtual, 0, sys_msgrcv, kEndedByHandler | kNeverRestarted, "dxudx")                                   \
  X(71, msgctl, kVirtual, 0, sys_msgctl, kNone, "ddx")                                                                 \
  X(72, fcntl, kByDescriptor, 0, sys_fcntl, kOfFile | kInPlace | kExecFlagOfFcntl | kNoProgress, "flx")                \
  X(73, flock, kByDescriptor, 0, sys_change, kNone, "fd")                                                              \
  X(74, fsync, kByDescriptor, 0, sys_change, kNone, "f")                                                               \
  X(75, fdatasync, kByDescriptor, 0, sys_change, kNone, "f")                                                           \
  X(76, truncate, kByPath, 0, sys_path, kNone, "pD")                                                                   \
  X(77, ftruncate, kByDescriptor, 0, sys_change, kNone, "fD")                                                          \
  X(78, getdents, kByDescriptor, 0, sys_change, kOfFile, "fxu")                                                        \
  X(79, getcwd, kLocal, 0, sys_refused, kNone, "xu")                                                                   \
  X(80, chdir, kByPath, 0, sys_path, kOfCaller, "p")                                                                   \
  X(81, fchdir, kByDescriptor, 0, sys_change, kNone, "f")                                                              \
  X(82, rename, kByPath, 0, sys_path, kNone, "pp")                                                                     \
  X(83, mkdir, kByPath, 0, sys_path, kNone, "pO")                                                                      \
  X(84, rmdir, kByPath, 0, sys_path, kNone, "p")                                                                       \
  X(85, creat, kVirtual, 0, sys_open, kNone, "pO")                                                                     \
  X(86, link, kByPath, 0, sys_path, kNone, "pp")                                                                       \
  X(87, unlink, kByPath, 0, sys_path, kNone, "p")                                                                      \
  X(88, symlink, kByPath, 0, sys_path, kNone, "sp")                                                                    \
  X(89, readlink, kByPath, 0, sys_path, kOfCaller | kInPlace, "pbu")                                                   \
  X(90, chmod, kByPath, 0, sys_path, kNone, "pO")                                                                      \
  X(91, fchmod, kByDescriptor, 0, sys_change, kNone, "fO")                                                             \
  X(92, chown, kByPath, 0, sys_path, kNone, "pdd")                                                                     \
  X(93, fchown, kByDescriptor, 0, sys_change, kNone, "fdd")                                                            \
  X(94, lchown, kByPath, 0, sys_path, kNone, "pdd")                                                                    \
  X(95, umask, kPassing, 0, sys_refused, kNone, "O")                                                                   \
  X(96, gettimeofday, kLocal, 0, sys_refused, kInPlace | kOnlyAsks | kNoProgress, "Tx")                                \
  X(97, getrlimit, kVirtual, 0, sys_limit, kOfCaller, "dx")                                                            \
  X(98, getrusage, kLocal, 0, sys_refused, kInPlace | kNoProgress, "dx")                                               \
  X(99, sysinfo, kVirtual, 0, sys_sysinfo, kOfCaller | kNoProgress, "x")                                               \
  X(100, times, kLocal, 0, sys_refused, kInPlace | kNoProgress, "x")                                                   \
  X(101, ptrace, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(102, getuid, kVirtual, 0, sys_user, kOfCaller | kInPlace, "")                                                      \
  X(103, syslog, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(104, getgid, kVirtual, 0, sys_user, kOfCaller | kInPlace, "")                                                      \
  X(105, setuid, kVirtual, 0, sys_user, kNone, "d")                                                                    \
  X(106, setgid, kVirtual, 0, sys_user, kNone, "d")                                                                    \
  X(107, geteuid, kVirtual, 0, sys_user, kOfCaller | kInPlace, "")                                                     \
  X(108, getegid, kVirtual, 0, sys_user, kOfCaller | kInPlace, "")                                                     \
  X(109, setpgid, kVirtual, 0, sys_identity, kNone, "dd")                                                              \
  X(110, getppid, kLocal, 0, sys_refused, kInPlace, "")                                                                \
  X(111, getpgrp, kVirtual, 0, sys_identity, kOfCaller | kInPlace, "")                                                 \
  X(112, setsid, kVirtual, 0, sys_identity, kNone, "")                                                                 \
  X(113, setreuid, kVirtual, 0, sys_user, kNone, "dd")                                                                 \
  X(114, setregid, kVirtual, 0, sys_user, kNone, "dd")                                                                 \
  X(115, getgroups, kVirtual, 0, sys_groups, kOfCaller | kInPlace, "dx")                                               \
  X(116, setgroups, kVirtual, 0, sys_groups, kNone, "dx")                                                              \
  X(117, setresuid, kVirtual, 0, sys_user, kNone, "ddd")                                                               \
  X(118, getresuid, kVirtual, 0, sys_user, kOfCaller | kInPlace, "xxx")                                                \
  X(119, setresgid, kVirtual, 0, sys_user, kNone, "ddd")                                                               \
  X(120, getresgid, kVirtual, 0, sys_user, kOfCaller | kInPlace, "xxx")                                                \
  X(121, getpgid, kVirtual, 0, sys_identity, kOfCaller | kInPlace, "d")                                                \
  X(122, setfsuid, kVirtual, 0, sys_user, kNone, "d")                                                                  \
  X(123, setfsgid, kVirtual, 0, sys_user, kNone, "d")                                                                  \
  X(124, getsid, kVirtual, 0, sys_identity, kOfCaller | kInPlace, "d")                                                 \
  X(125, capget, kVirtual, 0, sys_capabilities, kOfCaller, "xx")                                                       \
  X(126, capset, kVirtual, 0, sys_capabilities, kNone, "xx")                                                           \
  X(127, rt_sigpending, kLocal, 0, sys_refused, kNoProgress, "xu")                                                     \
  X(128, rt_sigtimedwait, kVirtual, 0, sys_wait_for_signal, kNeverRestarted | kNoProgress, "Nxtu")                     \
  X(129, rt_sigqueueinfo, kVirtual, 0, sys_queue_signal, kNoProgress, "dgx")                                           \
  X(130, rt_sigsuspend, kVirtual, 0, sys_wait_for_signal, kNeverRestarted | kNoProgress, "Nu")                         \
  X(131, sigaltstack, kLocal, 0, sys_refused, kNone, "xx")                                                             \
  X(132, utime, kByPath, 0, sys_path, kNone, "px")                                                                     \
  X(133, mknod, kByPath, 0, sys_path, kNone, "pOx")                                                                    \
  X(134, uselib, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                       \
  X(135, personality, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                  \
  X(136, ustat, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                        \
  X(137, statfs, kByPath, 0, sys_path, kOfCaller | kInPlace, "px")                                                     \
  X(138, fstatfs, kByDescriptor, 0, sys_change, kOfFile | kInPlace, "fx")                                              \
  X(139, sysfs, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                        \
  X(140, getpriority, kVirtual, 0, sys_priority, kOfCaller, "dd")                                                      \
  X(141, setpriority, kVirtual, 0, sys_priority, kNone, "ddd")                                                         \
  X(142, sched_setparam, kVirtual, 0, sys_scheduler, kNone, "dx")                                                      \
  X(143, sched_getparam, kVirtual, 0, sys_scheduler, kOfCaller, "dx")                                                  \
  X(144, sched_setscheduler, kVirtual, 0, sys_scheduler, kNone, "ddx")                                                 \
  X(145, sched_getscheduler, kVirtual, 0, sys_scheduler, kOfCaller, "d")                                               \
  X(146, sched_get_priority_max, kLocal, 0, sys_refused, kNone, "d")                                                   \
  X(147, sched_get_priority_min, kLocal, 0, sys_refused, kNone, "d")                                                   \
  X(148, sched_rr_get_interval, kVirtual, 0, sys_scheduler, kNone, "dT")                                               \
  X(149, mlock, kLocal, 0, sys_refused, kNone, "xu")                                                                   \
  X(150, munlock, kLocal, 0, sys_refused, kNone, "xu")                                                                 \
  X(151, mlockall, kLocal, 0, sys_refused, kNone, "x")                                                                 \
  X(152, munlockall, kLocal, 0, sys_refused, kNone, "")                                                                \
  X(153, vhangup, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                       \
  X(154, modify_ldt, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                   \
  X(155, pivot_root, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                    \
  X(156, _sysctl, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                      \
  X(157, prctl, kLocal, 0, sys_control, kNone, "dxxxx")                                                                \
  X(158, arch_prctl, kByArgument, 0, sys_refused, kNone, "xx")                                                         \
  X(159, adjtimex, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                      \
  X(160, setrlimit, kVirtual, 0, sys_limit, kOfCaller, "dx")                                                           \
  X(161, chroot, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(162, sync, kLocal, 0, sys_refused, kNone, "")                                                                      \
  X(163, acct, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                          \
  X(164, settimeofday, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                  \
  X(165, mount, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                         \
  X(166, umount2, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                       \
  X(167, swapon, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(168, swapoff, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                       \
  X(169, reboot, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(170, sethostname, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                   \
  X(171, setdomainname, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                 \
  X(172, iopl, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                          \
  X(173, ioperm, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(174, create_module, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                \
  X(175, init_module, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                   \
  X(176, delete_module, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                 \
  X(177, get_kernel_syms, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                              \
  X(178, query_module, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                 \
  X(179, quotactl, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                      \
  X(180, nfsservctl, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                   \
  X(181, getpmsg, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                      \
  X(182, putpmsg, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                      \
  X(183, afs_syscall, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                  \
  X(184, tuxcall, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                      \
  X(185, security, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                     \
  X(186, gettid, kLocal, 0, sys_refused, kInPlace, "")                                                                 \
  X(187, readahead, kByDescriptor, 0, sys_change, kNone, "fDu")                                                        \
  X(188, setxattr, kByPath, 0, sys_path, kNone, "psxux")                                                               \
  X(189, lsetxattr, kByPath, 0, sys_path, kNone, "psxux")                                                              \
  X(190, fsetxattr, kByDescriptor, 0, sys_change, kNone, "fsxux")                                                      \
  X(191, getxattr, kByPath, 0, sys_path, kOfCaller, "psxu")                                                            \
  X(192, lgetxattr, kByPath, 0, sys_path, kOfCaller, "psxu")                                                           \
  X(193, fgetxattr, kByDescriptor, 0, sys_change, kNone, "fsxu")                                                       \
  X(194, listxattr, kByPath, 0, sys_path, kOfCaller, "pxu")                                                            \
  X(195, llistxattr, kByPath, 0, sys_path, kOfCaller, "pxu")                                                           \
  X(196, flistxattr, kByDescriptor, 0, sys_change, kNone, "fxu")                                                       \
  X(197, removexattr, kByPath, 0, sys_path, kNone, "ps")                                                               \
  X(198, lremovexattr, kByPath, 0, sys_path, kNone, "ps")                                                              \
  X(199, fremovexattr, kByDescriptor, 0, sys_change, kNone, "fs")                                                      \
  X(200, tkill, kLocal, 0, sys_kill, kNoProgress, "dg")                                                                \
  X(201, time, kLocal, 0, sys_refused, kInPlace | kOnlyAsks | kNoProgress, "x")                                        \
  X(202, futex, kVirtual, 0, sys_futex, kOfFutex | kInPlace | kEndedByHandler | kNoProgress, "xUuxxx")                 \
  X(203, sched_setaffinity, kVirtual, 0, sys_set_affinity, kNone, "dux")                                               \
  X(204, sched_getaffinity, kVirtual, 0, sys_affinity, kOfCaller | kInPlace, "dux")                                    \
  X(205, set_thread_area, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                              \
  X(206, io_setup, kVirtual, 0, sys_io_setup, kNone, "ux")                                                             \
  X(207, io_destroy, kVirtual, 0, sys_io_destroy, kNone, "x")                                                          \
  X(208, io_getevents, kVirtual, 0, sys_io_getevents, kNeverRestarted, "xddxt")                                        \
  X(209, io_submit, kVirtual, 0, sys_io_submit, kNone, "xdx")                                                          \
  X(210, io_cancel, kVirtual, 0, sys_io_cancel, kNone, "xxx")                                                          \
  X(211, get_thread_area, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                              \
  X(212, lookup_dcookie, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                \
  X(213, epoll_create, kVirtual, 0, sys_epoll_create, kOfCaller, "d")                                                  \
  X(214, epoll_ctl_old, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                \
  X(215, epoll_wait_old, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                               \
  X(216, remap_file_pages, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                             \
  X(217, getdents64, kByDescriptor, 0, sys_change, kOfFile | kInPlace, "fxu")                                          \
  X(218, set_tid_address, kVirtual, 0, sys_set_tid_address, kNone, "x")                                                \
  X(219, restart_syscall, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                              \
  X(220, semtimedop, kVirtual, 0, sys_semop, kEndedByStop | kNeverRestarted, "dxut")                                   \
  X(221, fadvise64, kByDescriptor, 0, sys_change, kNone, "fDud")                                                       \
  X(222, timer_create, kVirtual, 0, sys_posix_timer, kNoProgress, "Kxx")                                               \
  X(223, timer_settime, kVirtual, 0, sys_posix_timer, kNoProgress, "dxxx")                                             \
  X(224, timer_gettime, kVirtual, 0, sys_posix_timer, kNoProgress, "dx")                                               \
  X(225, timer_getoverrun, kVirtual, 0, sys_posix_timer, kNoProgress, "d")                                             \
  X(226, timer_delete, kVirtual, 0, sys_posix_timer, kNoProgress, "d")                                                 \
  X(227, clock_settime, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                 \
  X(228, clock_gettime, kLocal, 0, sys_refused, kInPlace | kOnlyAsks | kNoProgress, "KT")                              \
  X(229, clock_getres, kLocal, 0, sys_refused, kNoProgress, "KT")                                                      \
  X(230, clock_nanosleep, kVirtual, 0, sys_sleep, kInPlace | kSleep | kEndedByHandler | kNeverRestarted | kNoProgress, "Kxtx") \
  X(231, exit_group, kVirtual, 0, sys_exit, kNone, "d")                                                                \
  X(232, epoll_wait, kVirtual, 0, sys_epoll_wait, kInPlace | kEmptyAtOnce | kEndedByStop | kWaitsForFiles, "fedd")     \
  X(233, epoll_ctl, kVirtual, 0, sys_epoll_ctl, kOfFile | kInPlace, "fCfE")                                            \
  X(234, tgkill, kLocal, 0, sys_kill, kNoProgress, "ddg")                                                              \
  X(235, utimes, kByPath, 0, sys_path, kNone, "px")                                                                    \
  X(236, vserver, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                      \
  X(237, mbind, kVirtual, 0, sys_memory_policy, kNone, "xudxux")                                                       \
  X(238, set_mempolicy, kVirtual, 0, sys_memory_policy, kNone, "dxu")                                                  \
  X(239, get_mempolicy, kVirtual, 0, sys_memory_policy, kNone, "xxuxx")                                                \
  X(240, mq_open, kVirtual, 0, sys_mq_open, kExecAlways, "soOx")                                                       \
  X(241, mq_unlink, kVirtual, 0, sys_mq_unlink, kNone, "s")                                                            \
  X(242, mq_timedsend, kVirtual, 0, sys_mq_send, kEndedByHandler, "fBuut")                                             \
  X(243, mq_timedreceive, kVirtual, 0, sys_mq_receive, kEndedByHandler, "fbuIt")                                       \
  X(244, mq_notify, kVirtual, 0, sys_mq_notify, kNoProgress, "fx")                                                     \
  X(245, mq_getsetattr, kVirtual, 0, sys_mq_attributes, kNoProgress, "fxx")                                            \
  X(246, kexec_load, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                    \
  X(247, waitid, kVirtual, 0, sys_waitid, kEndedByHandler, "ddxxx")                                                    \
  X(248, add_key, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                       \
  X(249, request_key, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                   \
  X(250, keyctl, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(251, ioprio_set, kVirtual, 0, sys_priority, kNone, "ddd")                                                          \
  X(252, ioprio_get, kVirtual, 0, sys_priority, kNone, "dd")                                                           \
  X(253, inotify_init, kVirtual, 0, sys_inotify_init, kOfCaller, "")                                                   \
  X(254, inotify_add_watch, kVirtual, 0, sys_inotify_add_watch, kNone, "fpx")                                          \
  X(255, inotify_rm_watch, kVirtual, 0, sys_inotify_rm_watch, kNone, "fd")                                             \
  X(256, migrate_pages, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                 \
  X(257, openat, kVirtual, 0, sys_open, kOfCaller | kInPlace | kExecFlag2, "fpoO")                                     \
  X(258, mkdirat, kByPath, 0, sys_path, kNone, "fpO")                                                                  \
  X(259, mknodat, kByPath, 0, sys_path, kNone, "fpOx")                                                                 \
  X(260, fchownat, kByPath, 0, sys_path, kNone, "fpddx")                                                               \
  X(261, futimesat, kByPath, 0, sys_path, kNone, "fpx")                                                                \
  X(262, newfstatat, kByPath, 0, sys_path, kOfCaller | kInPlace, "fpxx")                                               \
  X(263, unlinkat, kByPath, 0, sys_path, kNone, "fpx")                                                                 \
  X(264, renameat, kByPath, 0, sys_path, kNone, "fpfp")                                                                \
  X(265, linkat, kByPath, 0, sys_path, kNone, "fpfpx")                                                                 \
  X(266, symlinkat, kByPath, 0, sys_path, kNone, "sfp")                                                                \
  X(267, readlinkat, kByPath, 0, sys_path, kOfCaller | kInPlace, "fpbu")                                               \
  X(268, fchmodat, kByPath, 0, sys_path, kNone, "fpO")                                                                 \
  X(269, faccessat, kByPath, 0, sys_path, kOfCaller | kInPlace, "fpR")                                                 \
  X(270, pselect6, kVirtual, 0, sys_select, kInPlace | kEndedByHandler | kWaitsForFiles, "dxxxtx")                     \
  X(271, ppoll, kVirtual, 0, sys_poll, kInPlace | kEndedByHandler | kWaitsForFiles, "PutNu")                           \
  X(272, unshare, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                       \
  X(273, set_robust_list, kPassing, 0, sys_refused, kNone, "xu")                                                       \
  X(274, get_robust_list, kVirtual, 0, sys_get_robust_list, kNone, "dxx")                                              \
  X(275, splice, kVirtual, 0, sys_splice, kEndedByHandler, "fxfxux")                                                   \
  X(276, tee, kVirtual, 0, sys_tee, kEndedByHandler, "ffux")                                                           \
  X(277, sync_file_range, kByDescriptor, 0, sys_change, kNone, "fDDx")                                                 \
  X(278, vmsplice, kVirtual, 0, sys_vmsplice, kEndedByHandler, "fVux")                                                 \
  X(279, move_pages, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                    \
  X(280, utimensat, kByPath, 0, sys_path, kNone, "fpxx")                                                               \
  X(281, epoll_pwait, kVirtual, 0, sys_epoll_wait, kInPlace | kEndedByStop | kWaitsForFiles, "feddNu")                 \
  X(282, signalfd, kVirtual, 0, sys_signalfd, kNone, "fNu")                                                            \
  X(283, timerfd_create, kVirtual, 0, sys_timerfd, kOfCaller | kExecFlag1 | kNoProgress, "Kx")                         \
  X(284, eventfd, kVirtual, 0, sys_eventfd, kOfCaller, "u")                                                            \
  X(285, fallocate, kByDescriptor, 0, sys_change, kNone, "fxDD")                                                       \
  X(286, timerfd_settime, kVirtual, 0, sys_timerfd, kNoProgress, "fxxx")                                               \
  X(287, timerfd_gettime, kVirtual, 0, sys_timerfd, kOfFile | kNoProgress, "fx")                                       \
  X(288, accept4, kVirtual, 0, sys_accept, kOfFile | kInPlace | kEmptyIfEagain | kEndedByHandler | kExecFlag3, "faxS") \
  X(289, signalfd4, kVirtual, 0, sys_signalfd, kExecFlag3, "fNux")                                                     \
  X(290, eventfd2, kVirtual, 0, sys_eventfd, kOfCaller | kInPlace | kExecFlag1, "ux")                                  \
  X(291, epoll_create1, kVirtual, 0, sys_epoll_create, kOfCaller | kInPlace | kExecFlag0, "o")                         \
  X(292, dup3, kVirtual, 0, sys_dup, kOfTwoFiles | kExecFlag2, "ffo")                                                  \
  X(293, pipe2, kVirtual, 0, sys_pipe, kOfCaller | kInPlace | kExecFlag1, "io")                                        \
  X(294, inotify_init1, kVirtual, 0, sys_inotify_init, kOfCaller | kExecFlag0, "o")                                    \
  X(295, preadv, kByDescriptor, 0, sys_seek, kOfFile, "fvuDD")                                                         \
  X(296, pwritev, kByDescriptor, 0, sys_seek, kNone, "fVuDD")                                                          \
  X(297, rt_tgsigqueueinfo, kVirtual, 0, sys_queue_signal, kNone, "ddgx")                                              \
  X(298, perf_event_open, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                               \
  X(299, recvmmsg, kVirtual, 0, sys_recvmmsg, kInPlace | kEndedByHandler | kMessageExecFlag3, "fxuqt")                 \
  X(300, fanotify_init, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                \
  X(301, fanotify_mark, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                \
  X(302, prlimit64, kVirtual, 0, sys_limit, kOfCaller, "ddxx")                                                         \
  X(303, name_to_handle_at, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                            \
  X(304, open_by_handle_at, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                            \
  X(305, clock_adjtime, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                 \
  X(306, syncfs, kByDescriptor, 0, sys_change, kNone, "f")                                                             \
  X(307, sendmmsg, kVirtual, 0, sys_sendmmsg, kInPlace | kEndedByHandler, "fxuq")                                      \
  X(308, setns, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                         \
  X(309, getcpu, kLocal, 0, sys_refused, kInPlace, "IIx")                                                              \
  X(310, process_vm_readv, kVirtual, 0, sys_other_memory, kNone, "dxuxux")                                             \
  X(311, process_vm_writev, kVirtual, 0, sys_other_memory, kNone, "dxuxux")                                            \
  X(312, kcmp, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                         \
  X(313, finit_module, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                  \
  X(314, sched_setattr, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                \
  X(315, sched_getattr, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                \
  X(316, renameat2, kByPath, 0, sys_path, kNone, "fpfpx")                                                              \
  X(317, seccomp, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                       \
  X(318, getrandom, kVirtual, 0, sys_getrandom, kOfCaller, "bux")                                                      \
  X(319, memfd_create, kLocal, 0, sys_refused, kNone, "sx")                                                            \
  X(320, kexec_file_load, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                               \
  X(321, bpf, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                           \
  X(322, execveat, kVirtual, 0, sys_path, kNone, "fpGxx")                                                              \
  X(323, userfaultfd, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                   \
  X(324, membarrier, kLocal, 0, sys_refused, kNone, "xxd")                                                             \
  X(325, mlock2, kLocal, 0, sys_refused, kNone, "xux")                                                                 \
  X(326, copy_file_range, kLocal, 0, sys_refused, kNone, "fxfxux")                                                     \
  X(327, preadv2, kByDescriptor, 0, sys_seek, kOfFile, "fvuDDx")                                                       \
  X(328, pwritev2, kByDescriptor, 0, sys_seek, kNone, "fVuDDx")                                                        \
  X(329, pkey_mprotect, kByProtection, 0, sys_refused, kNone, "xurd")                                                  \
  X(330, pkey_alloc, kLocal, 0, sys_refused, kNone, "xx")                                                              \
  X(331, pkey_free, kLocal, 0, sys_refused, kNone, "d")                                                                \
  X(332, statx, kByPath, 0, sys_path, kOfCaller | kInPlace, "fpxxx")                                                   \
  X(333, io_pgetevents, kVirtual, 0, sys_io_getevents, kNeverRestarted, "xddxtx")                                      \
  X(334, rseq, kRefused, ENOSYS, sys_refused, kNone, "xuxx")                                                           \
  X(424, pidfd_send_signal, kVirtual, 0, sys_signal_process_file, kNoProgress, "fgxx")                                 \
  X(425, io_uring_setup, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                               \
  X(426, io_uring_enter, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                               \
  X(427, io_uring_register, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                            \
  X(428, open_tree, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                     \
  X(429, move_mount, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                    \
  X(430, fsopen, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(431, fsconfig, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                      \
  X(432, fsmount, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                       \
  X(433, fspick, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                        \
  X(434, pidfd_open, kVirtual, 0, sys_open_process, kExecAlways, "dx")                                                 \
  X(435, clone3, kRefused, ENOSYS, sys_refused, kNone, "xu")                                                           \
  X(436, close_range, kVirtual, 0, sys_close_range, kNone, "uux")                                                      \
  X(437, openat2, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                      \
  X(438, pidfd_getfd, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                   \
  X(439, faccessat2, kByPath, 0, sys_path, kOfCaller | kInPlace, "fpRx")                                               \
  X(440, process_madvise, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                              \
  X(441, epoll_pwait2, kVirtual, 0, sys_epoll_wait, kEndedByStop | kWaitsForFiles, "fedtNu")                           \
  X(442, mount_setattr, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                 \
  X(443, quotactl_fd, kRefused, EPERM, sys_refused, kNone, "xxxxxx")                                                   \
  X(444, landlock_create_ruleset, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                      \
  X(445, landlock_add_rule, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                            \
  X(446, landlock_restrict_self, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                       \
  X(447, memfd_secret, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                 \
  X(448, process_mrelease, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                             \
  X(449, futex_waitv, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                  \
  X(450, set_mempolicy_home_node, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                      \
  X(451, cachestat, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                    \
  X(452, fchmodat2, kByPath, 0, sys_path, kNone, "fpOx")                                                               \
  X(453, map_shadow_stack, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                             \
  X(454, futex_wake, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                   \
  X(455, futex_wait, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                   \
  X(456, futex_requeue, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                \
  X(457, statmount, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                    \
  X(458, listmount, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                                    \
  X(459, lsm_get_self_attr, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                            \
  X(460, lsm_set_self_attr, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                            \
  X(461, lsm_list_modules, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")                                             \
  X(462, mseal, kRefused, ENOSYS, sys_refused, kNone, "xxxxxx")

// Calls of the runtime to the supervisor that Linux does not have: number, name, handler, traits. The header
// in the last column describes the arguments. Programs can make StartRemoteShell only.
#define VERBATIM_RUNTIME_CALLS(X) \
  X(500, FileNumbers, sys_file_numbers, kOfCaller)                   /* path_view.h */                                 \
  X(501, FileOwner, sys_file_owner, kNone)                           /* path_view.h */                                 \
  X(502, RefusedArgument, sys_refused_argument, kNone)               /* passing_calls.h */                             \
  X(503, LockHolder, sys_lock_holder, kNone)                         /* path_view.h */                                 \
  X(504, HugePages, sys_huge_pages, kNone)                           /* huge_pages.h */                                \
  X(505, Attached, sys_attached, kNone)                              /* passing_calls.h */                             \
  X(506, StartRemoteShell, sys_start_remote, kNone)                  /* remote_shell.h */                              \
  X(507, TransfersDone, sys_io_submit, kNone)                        /* async_io.h */                                  \
  X(508, FileEvents, sys_file_events, kFree)                         /* file_events.h */                               \
  X(509, FileRights, sys_file_rights, kOfCaller | kFree | kUnseen)   /* path_view.h */                                 \
  X(510, Finish, sys_refused, kNone)                                 /* replaced_calls.h */                            \
  X(511, LockWait, sys_lock_wait, kFree | kUnseen | kNoProgress)     /* path_view.h */
// clang-format on
