// Every x86-64 system call and who answers it. What is not in the table is refused like what it marks
// kRefused. The seccomp filter, the shim's dispatch and the supervisor's messages are all made from this one
// table.
//
//   kPassing       executed by the kernel, never trapped: passing_calls.h says why it may
//   kByArgument    the same with the arguments named there; the shim answers or refuses others
//   kLocal         answered by the shim: signal state and process attributes it has to keep its own hands on.
//   kByDescriptor  the supervisor's when the descriptor in the first argument is virtual, the kernel's
//                  otherwise.
//   kByPath        the supervisor's when a path leads to what each simulated host has of its own (path_view.h),
//                  the kernel's otherwise. Which arguments are paths stands in path_calls.h.
//   kByProtection  the kernel's; when it makes memory executable, the code there is searched before it can run, and when
//                  the machine has no room for a large mapping, the run says so
//   kVirtual       always the supervisor's (it may still answer "execute it natively").
//   kRefused       fails with the errno of the last column and is reported by name.
#pragma once

#include <errno.h>

#include <cstdint>

namespace verbatim::protocol {

// clang-format off
#define VERBATIM_SYSTEM_CALLS(X) \
  X(0, read, kByDescriptor, 0)                       \
  X(1, write, kByDescriptor, 0)                      \
  X(2, open, kVirtual, 0)                            \
  X(3, close, kByDescriptor, 0)                      \
  X(4, stat, kByPath, 0)                             \
  X(5, fstat, kByDescriptor, 0)                      \
  X(6, lstat, kByPath, 0)                            \
  X(7, poll, kVirtual, 0)                            \
  X(8, lseek, kByDescriptor, 0)                      \
  X(9, mmap, kByProtection, 0)                       \
  X(10, mprotect, kByProtection, 0)                  \
  X(11, munmap, kPassing, 0)                         \
  X(12, brk, kPassing, 0)                            \
  X(13, rt_sigaction, kLocal, 0)                     \
  X(14, rt_sigprocmask, kLocal, 0)                   \
  X(15, rt_sigreturn, kLocal, 0)                     \
  X(16, ioctl, kByDescriptor, 0)                     \
  X(17, pread64, kByDescriptor, 0)                   \
  X(18, pwrite64, kByDescriptor, 0)                  \
  X(19, readv, kByDescriptor, 0)                     \
  X(20, writev, kByDescriptor, 0)                    \
  X(21, access, kByPath, 0)                          \
  X(22, pipe, kVirtual, 0)                           \
  X(23, select, kVirtual, 0)                         \
  X(24, sched_yield, kLocal, 0)                      \
  X(25, mremap, kPassing, 0)                         \
  X(26, msync, kPassing, 0)                          \
  X(27, mincore, kLocal, 0)                          \
  X(28, madvise, kByArgument, 0)                     \
  X(29, shmget, kVirtual, 0)                         \
  X(30, shmat, kVirtual, 0)                          \
  X(31, shmctl, kVirtual, 0)                         \
  X(32, dup, kVirtual, 0)                            \
  X(33, dup2, kVirtual, 0)                           \
  X(34, pause, kVirtual, 0)                          \
  X(35, nanosleep, kVirtual, 0)                      \
  X(36, getitimer, kVirtual, 0)                      \
  X(37, alarm, kVirtual, 0)                          \
  X(38, setitimer, kVirtual, 0)                      \
  X(39, getpid, kLocal, 0)                           \
  X(40, sendfile, kLocal, 0)                         \
  X(41, socket, kVirtual, 0)                         \
  X(42, connect, kVirtual, 0)                        \
  X(43, accept, kVirtual, 0)                         \
  X(44, sendto, kVirtual, 0)                         \
  X(45, recvfrom, kVirtual, 0)                       \
  X(46, sendmsg, kVirtual, 0)                        \
  X(47, recvmsg, kVirtual, 0)                        \
  X(48, shutdown, kVirtual, 0)                       \
  X(49, bind, kVirtual, 0)                           \
  X(50, listen, kVirtual, 0)                         \
  X(51, getsockname, kVirtual, 0)                    \
  X(52, getpeername, kVirtual, 0)                    \
  X(53, socketpair, kVirtual, 0)                     \
  X(54, setsockopt, kVirtual, 0)                     \
  X(55, getsockopt, kVirtual, 0)                     \
  X(56, clone, kVirtual, 0)                          \
  X(57, fork, kVirtual, 0)                           \
  X(58, vfork, kVirtual, 0)                          \
  X(59, execve, kVirtual, 0)                         \
  X(60, exit, kVirtual, 0)                           \
  X(61, wait4, kVirtual, 0)                          \
  X(62, kill, kLocal, 0)                             \
  X(63, uname, kVirtual, 0)                          \
  X(64, semget, kVirtual, 0)                         \
  X(65, semop, kVirtual, 0)                          \
  X(66, semctl, kVirtual, 0)                         \
  X(67, shmdt, kVirtual, 0)                          \
  X(68, msgget, kVirtual, 0)                         \
  X(69, msgsnd, kVirtual, 0)                         \
  X(70, msgrcv, kVirtual, 0)                         \
  X(71, msgctl, kVirtual, 0)                         \
  X(72, fcntl, kByDescriptor, 0)                     \
  X(73, flock, kByDescriptor, 0)                     \
  X(74, fsync, kByDescriptor, 0)                     \
  X(75, fdatasync, kByDescriptor, 0)                 \
  X(76, truncate, kByPath, 0)                        \
  X(77, ftruncate, kByDescriptor, 0)                 \
  X(78, getdents, kByDescriptor, 0)                  \
  X(79, getcwd, kLocal, 0)                           \
  X(80, chdir, kByPath, 0)                           \
  X(81, fchdir, kByDescriptor, 0)                    \
  X(82, rename, kByPath, 0)                          \
  X(83, mkdir, kByPath, 0)                           \
  X(84, rmdir, kByPath, 0)                           \
  X(85, creat, kVirtual, 0)                          \
  X(86, link, kByPath, 0)                            \
  X(87, unlink, kByPath, 0)                          \
  X(88, symlink, kByPath, 0)                         \
  X(89, readlink, kByPath, 0)                        \
  X(90, chmod, kByPath, 0)                           \
  X(91, fchmod, kByDescriptor, 0)                    \
  X(92, chown, kByPath, 0)                           \
  X(93, fchown, kByDescriptor, 0)                    \
  X(94, lchown, kByPath, 0)                          \
  X(95, umask, kPassing, 0)                          \
  X(96, gettimeofday, kLocal, 0)                     \
  X(97, getrlimit, kVirtual, 0)                      \
  X(98, getrusage, kLocal, 0)                        \
  X(99, sysinfo, kVirtual, 0)                        \
  X(100, times, kLocal, 0)                           \
  X(101, ptrace, kRefused, EPERM)                    \
  X(102, getuid, kVirtual, 0)                        \
  X(103, syslog, kRefused, EPERM)                    \
  X(104, getgid, kVirtual, 0)                        \
  X(105, setuid, kVirtual, 0)                        \
  X(106, setgid, kVirtual, 0)                        \
  X(107, geteuid, kVirtual, 0)                       \
  X(108, getegid, kVirtual, 0)                       \
  X(109, setpgid, kVirtual, 0)                       \
  X(110, getppid, kLocal, 0)                         \
  X(111, getpgrp, kVirtual, 0)                       \
  X(112, setsid, kVirtual, 0)                        \
  X(113, setreuid, kVirtual, 0)                      \
  X(114, setregid, kVirtual, 0)                      \
  X(115, getgroups, kVirtual, 0)                     \
  X(116, setgroups, kVirtual, 0)                     \
  X(117, setresuid, kVirtual, 0)                     \
  X(118, getresuid, kVirtual, 0)                     \
  X(119, setresgid, kVirtual, 0)                     \
  X(120, getresgid, kVirtual, 0)                     \
  X(121, getpgid, kVirtual, 0)                       \
  X(122, setfsuid, kVirtual, 0)                      \
  X(123, setfsgid, kVirtual, 0)                      \
  X(124, getsid, kVirtual, 0)                        \
  X(125, capget, kVirtual, 0)                        \
  X(126, capset, kVirtual, 0)                        \
  X(127, rt_sigpending, kLocal, 0)                   \
  X(128, rt_sigtimedwait, kVirtual, 0)               \
  X(129, rt_sigqueueinfo, kVirtual, 0)               \
  X(130, rt_sigsuspend, kVirtual, 0)                 \
  X(131, sigaltstack, kLocal, 0)                     \
  X(132, utime, kByPath, 0)                          \
  X(133, mknod, kByPath, 0)                          \
  X(134, uselib, kRefused, ENOSYS)                   \
  X(135, personality, kRefused, ENOSYS)              \
  X(136, ustat, kRefused, ENOSYS)                    \
  X(137, statfs, kByPath, 0)                         \
  X(138, fstatfs, kByDescriptor, 0)                  \
  X(139, sysfs, kRefused, ENOSYS)                    \
  X(140, getpriority, kVirtual, 0)                   \
  X(141, setpriority, kVirtual, 0)                   \
  X(142, sched_setparam, kVirtual, 0)                \
  X(143, sched_getparam, kVirtual, 0)                \
  X(144, sched_setscheduler, kVirtual, 0)            \
  X(145, sched_getscheduler, kVirtual, 0)            \
  X(146, sched_get_priority_max, kLocal, 0)          \
  X(147, sched_get_priority_min, kLocal, 0)          \
  X(148, sched_rr_get_interval, kVirtual, 0)         \
  X(149, mlock, kLocal, 0)                           \
  X(150, munlock, kLocal, 0)                         \
  X(151, mlockall, kLocal, 0)                        \
  X(152, munlockall, kLocal, 0)                      \
  X(153, vhangup, kRefused, EPERM)                   \
  X(154, modify_ldt, kRefused, ENOSYS)               \
  X(155, pivot_root, kRefused, EPERM)                \
  X(156, _sysctl, kRefused, ENOSYS)                  \
  X(157, prctl, kLocal, 0)                           \
  X(158, arch_prctl, kByArgument, 0)                 \
  X(159, adjtimex, kRefused, EPERM)                  \
  X(160, setrlimit, kVirtual, 0)                     \
  X(161, chroot, kRefused, EPERM)                    \
  X(162, sync, kLocal, 0)                            \
  X(163, acct, kRefused, EPERM)                      \
  X(164, settimeofday, kRefused, EPERM)              \
  X(165, mount, kRefused, EPERM)                     \
  X(166, umount2, kRefused, EPERM)                   \
  X(167, swapon, kRefused, EPERM)                    \
  X(168, swapoff, kRefused, EPERM)                   \
  X(169, reboot, kRefused, EPERM)                    \
  X(170, sethostname, kRefused, EPERM)               \
  X(171, setdomainname, kRefused, EPERM)             \
  X(172, iopl, kRefused, EPERM)                      \
  X(173, ioperm, kRefused, EPERM)                    \
  X(174, create_module, kRefused, ENOSYS)            \
  X(175, init_module, kRefused, EPERM)               \
  X(176, delete_module, kRefused, EPERM)             \
  X(177, get_kernel_syms, kRefused, ENOSYS)          \
  X(178, query_module, kRefused, ENOSYS)             \
  X(179, quotactl, kRefused, EPERM)                  \
  X(180, nfsservctl, kRefused, ENOSYS)               \
  X(181, getpmsg, kRefused, ENOSYS)                  \
  X(182, putpmsg, kRefused, ENOSYS)                  \
  X(183, afs_syscall, kRefused, ENOSYS)              \
  X(184, tuxcall, kRefused, ENOSYS)                  \
  X(185, security, kRefused, ENOSYS)                 \
  X(186, gettid, kLocal, 0)                          \
  X(187, readahead, kByDescriptor, 0)                \
  X(188, setxattr, kByPath, 0)                       \
  X(189, lsetxattr, kByPath, 0)                      \
  X(190, fsetxattr, kByDescriptor, 0)                \
  X(191, getxattr, kByPath, 0)                       \
  X(192, lgetxattr, kByPath, 0)                      \
  X(193, fgetxattr, kByDescriptor, 0)                \
  X(194, listxattr, kByPath, 0)                      \
  X(195, llistxattr, kByPath, 0)                     \
  X(196, flistxattr, kByDescriptor, 0)               \
  X(197, removexattr, kByPath, 0)                    \
  X(198, lremovexattr, kByPath, 0)                   \
  X(199, fremovexattr, kByDescriptor, 0)             \
  X(200, tkill, kLocal, 0)                           \
  X(201, time, kLocal, 0)                            \
  X(202, futex, kVirtual, 0)                         \
  X(203, sched_setaffinity, kVirtual, 0)             \
  X(204, sched_getaffinity, kVirtual, 0)             \
  X(205, set_thread_area, kRefused, ENOSYS)          \
  X(206, io_setup, kVirtual, 0)                      \
  X(207, io_destroy, kVirtual, 0)                    \
  X(208, io_getevents, kVirtual, 0)                  \
  X(209, io_submit, kVirtual, 0)                     \
  X(210, io_cancel, kVirtual, 0)                     \
  X(211, get_thread_area, kRefused, ENOSYS)          \
  X(212, lookup_dcookie, kRefused, EPERM)            \
  X(213, epoll_create, kVirtual, 0)                  \
  X(214, epoll_ctl_old, kRefused, ENOSYS)            \
  X(215, epoll_wait_old, kRefused, ENOSYS)           \
  X(216, remap_file_pages, kRefused, ENOSYS)         \
  X(217, getdents64, kByDescriptor, 0)               \
  X(218, set_tid_address, kVirtual, 0)               \
  X(219, restart_syscall, kRefused, ENOSYS)          \
  X(220, semtimedop, kVirtual, 0)                    \
  X(221, fadvise64, kByDescriptor, 0)                \
  X(222, timer_create, kVirtual, 0)                  \
  X(223, timer_settime, kVirtual, 0)                 \
  X(224, timer_gettime, kVirtual, 0)                 \
  X(225, timer_getoverrun, kVirtual, 0)              \
  X(226, timer_delete, kVirtual, 0)                  \
  X(227, clock_settime, kRefused, EPERM)             \
  X(228, clock_gettime, kLocal, 0)                   \
  X(229, clock_getres, kLocal, 0)                    \
  X(230, clock_nanosleep, kVirtual, 0)               \
  X(231, exit_group, kVirtual, 0)                    \
  X(232, epoll_wait, kVirtual, 0)                    \
  X(233, epoll_ctl, kVirtual, 0)                     \
  X(234, tgkill, kLocal, 0)                          \
  X(235, utimes, kByPath, 0)                         \
  X(236, vserver, kRefused, ENOSYS)                  \
  X(237, mbind, kVirtual, 0)                         \
  X(238, set_mempolicy, kVirtual, 0)                 \
  X(239, get_mempolicy, kVirtual, 0)                 \
  X(240, mq_open, kRefused, ENOSYS)                  \
  X(241, mq_unlink, kRefused, ENOSYS)                \
  X(242, mq_timedsend, kRefused, ENOSYS)             \
  X(243, mq_timedreceive, kRefused, ENOSYS)          \
  X(244, mq_notify, kRefused, ENOSYS)                \
  X(245, mq_getsetattr, kRefused, ENOSYS)            \
  X(246, kexec_load, kRefused, EPERM)                \
  X(247, waitid, kVirtual, 0)                        \
  X(248, add_key, kRefused, EPERM)                   \
  X(249, request_key, kRefused, EPERM)               \
  X(250, keyctl, kRefused, EPERM)                    \
  X(251, ioprio_set, kVirtual, 0)                    \
  X(252, ioprio_get, kVirtual, 0)                    \
  X(253, inotify_init, kVirtual, 0)                  \
  X(254, inotify_add_watch, kVirtual, 0)             \
  X(255, inotify_rm_watch, kVirtual, 0)              \
  X(256, migrate_pages, kRefused, EPERM)             \
  X(257, openat, kVirtual, 0)                        \
  X(258, mkdirat, kByPath, 0)                        \
  X(259, mknodat, kByPath, 0)                        \
  X(260, fchownat, kByPath, 0)                       \
  X(261, futimesat, kByPath, 0)                      \
  X(262, newfstatat, kByPath, 0)                     \
  X(263, unlinkat, kByPath, 0)                       \
  X(264, renameat, kByPath, 0)                       \
  X(265, linkat, kByPath, 0)                         \
  X(266, symlinkat, kByPath, 0)                      \
  X(267, readlinkat, kByPath, 0)                     \
  X(268, fchmodat, kByPath, 0)                       \
  X(269, faccessat, kByPath, 0)                      \
  X(270, pselect6, kVirtual, 0)                      \
  X(271, ppoll, kVirtual, 0)                         \
  X(272, unshare, kRefused, EPERM)                   \
  X(273, set_robust_list, kPassing, 0)               \
  X(274, get_robust_list, kVirtual, 0)               \
  X(275, splice, kRefused, ENOSYS)                   \
  X(276, tee, kRefused, ENOSYS)                      \
  X(277, sync_file_range, kByDescriptor, 0)          \
  X(278, vmsplice, kRefused, ENOSYS)                 \
  X(279, move_pages, kRefused, EPERM)                \
  X(280, utimensat, kByPath, 0)                      \
  X(281, epoll_pwait, kVirtual, 0)                   \
  X(282, signalfd, kVirtual, 0)                      \
  X(283, timerfd_create, kVirtual, 0)                \
  X(284, eventfd, kVirtual, 0)                       \
  X(285, fallocate, kByDescriptor, 0)                \
  X(286, timerfd_settime, kVirtual, 0)               \
  X(287, timerfd_gettime, kVirtual, 0)               \
  X(288, accept4, kVirtual, 0)                       \
  X(289, signalfd4, kVirtual, 0)                     \
  X(290, eventfd2, kVirtual, 0)                      \
  X(291, epoll_create1, kVirtual, 0)                 \
  X(292, dup3, kVirtual, 0)                          \
  X(293, pipe2, kVirtual, 0)                         \
  X(294, inotify_init1, kVirtual, 0)                 \
  X(295, preadv, kByDescriptor, 0)                   \
  X(296, pwritev, kByDescriptor, 0)                  \
  X(297, rt_tgsigqueueinfo, kVirtual, 0)             \
  X(298, perf_event_open, kRefused, EPERM)           \
  X(299, recvmmsg, kVirtual, 0)                      \
  X(300, fanotify_init, kRefused, ENOSYS)            \
  X(301, fanotify_mark, kRefused, ENOSYS)            \
  X(302, prlimit64, kVirtual, 0)                     \
  X(303, name_to_handle_at, kRefused, ENOSYS)        \
  X(304, open_by_handle_at, kRefused, ENOSYS)        \
  X(305, clock_adjtime, kRefused, EPERM)             \
  X(306, syncfs, kByDescriptor, 0)                   \
  X(307, sendmmsg, kVirtual, 0)                      \
  X(308, setns, kRefused, EPERM)                     \
  X(309, getcpu, kLocal, 0)                          \
  X(310, process_vm_readv, kVirtual, 0)              \
  X(311, process_vm_writev, kVirtual, 0)             \
  X(312, kcmp, kRefused, ENOSYS)                     \
  X(313, finit_module, kRefused, EPERM)              \
  X(314, sched_setattr, kRefused, ENOSYS)            \
  X(315, sched_getattr, kRefused, ENOSYS)            \
  X(316, renameat2, kByPath, 0)                      \
  X(317, seccomp, kRefused, EPERM)                   \
  X(318, getrandom, kVirtual, 0)                     \
  X(319, memfd_create, kLocal, 0)                    \
  X(320, kexec_file_load, kRefused, EPERM)           \
  X(321, bpf, kRefused, EPERM)                       \
  X(322, execveat, kVirtual, 0)                      \
  X(323, userfaultfd, kRefused, EPERM)               \
  X(324, membarrier, kLocal, 0)                      \
  X(325, mlock2, kLocal, 0)                          \
  X(326, copy_file_range, kLocal, 0)                 \
  X(327, preadv2, kByDescriptor, 0)                  \
  X(328, pwritev2, kByDescriptor, 0)                 \
  X(329, pkey_mprotect, kByProtection, 0)            \
  X(330, pkey_alloc, kLocal, 0)                      \
  X(331, pkey_free, kLocal, 0)                       \
  X(332, statx, kByPath, 0)                          \
  X(333, io_pgetevents, kVirtual, 0)                 \
  X(334, rseq, kRefused, ENOSYS)                     \
  X(424, pidfd_send_signal, kRefused, ENOSYS)        \
  X(425, io_uring_setup, kRefused, ENOSYS)           \
  X(426, io_uring_enter, kRefused, ENOSYS)           \
  X(427, io_uring_register, kRefused, ENOSYS)        \
  X(428, open_tree, kRefused, EPERM)                 \
  X(429, move_mount, kRefused, EPERM)                \
  X(430, fsopen, kRefused, EPERM)                    \
  X(431, fsconfig, kRefused, EPERM)                  \
  X(432, fsmount, kRefused, EPERM)                   \
  X(433, fspick, kRefused, EPERM)                    \
  X(434, pidfd_open, kRefused, ENOSYS)               \
  X(435, clone3, kRefused, ENOSYS)                   \
  X(436, close_range, kVirtual, 0)                   \
  X(437, openat2, kRefused, ENOSYS)                  \
  X(438, pidfd_getfd, kRefused, EPERM)               \
  X(439, faccessat2, kByPath, 0)                     \
  X(440, process_madvise, kRefused, ENOSYS)          \
  X(441, epoll_pwait2, kVirtual, 0)                  \
  X(442, mount_setattr, kRefused, EPERM)             \
  X(443, quotactl_fd, kRefused, EPERM)               \
  X(444, landlock_create_ruleset, kRefused, ENOSYS)  \
  X(445, landlock_add_rule, kRefused, ENOSYS)        \
  X(446, landlock_restrict_self, kRefused, ENOSYS)   \
  X(447, memfd_secret, kRefused, ENOSYS)             \
  X(448, process_mrelease, kRefused, ENOSYS)         \
  X(449, futex_waitv, kRefused, ENOSYS)              \
  X(450, set_mempolicy_home_node, kRefused, ENOSYS)  \
  X(451, cachestat, kRefused, ENOSYS)                \
  X(452, fchmodat2, kByPath, 0)                      \
  X(453, map_shadow_stack, kRefused, ENOSYS)         \
  X(454, futex_wake, kRefused, ENOSYS)               \
  X(455, futex_wait, kRefused, ENOSYS)               \
  X(456, futex_requeue, kRefused, ENOSYS)            \
  X(457, statmount, kRefused, ENOSYS)                \
  X(458, listmount, kRefused, ENOSYS)                \
  X(459, lsm_get_self_attr, kRefused, ENOSYS)        \
  X(460, lsm_set_self_attr, kRefused, ENOSYS)        \
  X(461, lsm_list_modules, kRefused, ENOSYS)         \
  X(462, mseal, kRefused, ENOSYS)
// clang-format on

enum class CallClass : std::uint8_t {
  kPassing,
  kByArgument,
  kLocal,
  kByDescriptor,
  kByPath,
  kByProtection,
  kVirtual,
  kRefused
};

struct SystemCall {
  const char* name;  // nullptr: no such call
  CallClass call_class;
  std::int16_t refusal;  // errno of a refused call
};

inline constexpr std::uint32_t kSystemCallLimit = 512;

struct SystemCallTable {
  SystemCall rows[kSystemCallLimit] = {};

  constexpr SystemCallTable() {
    for (SystemCall& row : rows) row = {nullptr, CallClass::kRefused, ENOSYS};
#define VERBATIM_SYSTEM_CALL_ROW(number, call_name, call_class, refusal) \
  rows[number] = {#call_name, CallClass::call_class, refusal};
    VERBATIM_SYSTEM_CALLS(VERBATIM_SYSTEM_CALL_ROW)
#undef VERBATIM_SYSTEM_CALL_ROW
  }
};
inline constexpr SystemCallTable kSystemCalls;

constexpr const SystemCall& system_call(std::uint64_t number) {
  constexpr const SystemCall* kRows = kSystemCalls.rows;
  return kRows[number < kSystemCallLimit ? number : kSystemCallLimit - 1];
}

}  // namespace verbatim::protocol
