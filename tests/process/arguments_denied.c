// Calls with dangerous arguments that could reach the machine: each is answered as on any machine, or refused.
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static void tell(const char* what, long result) {
  if (result == -1)
    printf("%s: %s\n", what, strerrorname_np(errno));
  else
    printf("%s: %ld\n", what, result);
  fflush(stdout);
}

static void control_itself(void) {
  int value = -1;
  tell("unknown option", prctl(4711, 1, 2, 3, 4));
  tell("subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
  tell("signal of a parent's death", prctl(PR_GET_PDEATHSIG, &value) == 0 ? value : -1);
  EXPECT(prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && prctl(PR_GET_PDEATHSIG, &value) == 0 && value == SIGTERM);
  tell("no such signal", prctl(PR_SET_PDEATHSIG, 65));
  tell("dumpable", prctl(PR_GET_DUMPABLE));
  tell("counter", prctl(PR_GET_TSC, &value) == 0 ? value : -1);
  tell("slack", prctl(PR_GET_TIMERSLACK));
  EXPECT(prctl(PR_SET_TIMERSLACK, 1) == 0 && prctl(PR_GET_TIMERSLACK) == 1);
  tell("no new privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  tell("speculation", prctl(PR_GET_SPECULATION_CTRL, 0, 0, 0, 0));
  char name[16];
  EXPECT(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_GET_NAME, name) == 0 && strcmp(name, "renamed") == 0);
  tell("cpuid faults", syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0));
  tell("feature masks", syscall(SYS_arch_prctl, 0x1021, &value));
}

static void schedule(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  tell("first processor", sched_setaffinity(0, sizeof set, &set));
  tell("of itself by number", sched_setaffinity(getpid(), sizeof set, &set));
  tell("of nobody", sched_setaffinity(1, sizeof set, &set));
  tell("of nobody, asked", sched_getaffinity(1, sizeof set, &set));
  CPU_ZERO(&set);
  CPU_SET(1, &set);
  tell("second processor", sched_setaffinity(0, sizeof set, &set));
  tell("nowhere", syscall(SYS_sched_setaffinity, 0, 0, &set));
  tell("wrong address", syscall(SYS_sched_setaffinity, 0, 8, 8));
  tell("priorities", sched_get_priority_max(SCHED_FIFO) * 100 + sched_get_priority_min(SCHED_RR));
  tell("of no policy", sched_get_priority_max(7));
}

static void use_memory(void) {
  unsigned char* const pages = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char present[8];
  EXPECT(pages != MAP_FAILED);
  EXPECT(mincore(pages, 8 * 4096, present) == 0 && present[0] == 1 && present[7] == 1);
  EXPECT(munmap(pages + 4 * 4096, 4096) == 0);
  tell("a hole", mincore(pages, 8 * 4096, present));
  pages[0] = 7;
  EXPECT(madvise(pages, 4096, MADV_FREE) == 0);
  tell("freed", pages[0]);
  tell("huge pages", madvise(pages, 4096, MADV_HUGEPAGE));
  tell("of a hole", madvise(pages + 4 * 4096, 4096, MADV_MERGEABLE));
  tell("a broken page", madvise(pages, 4096, MADV_HWPOISON));
  tell("unknown advice", madvise(pages, 4096, 4711));
  tell("memory that is not run", memfd_create("sealed", 0x8));  // MFD_NOEXEC_SEAL
  tell("protection keys", pkey_alloc(0, 0));
  unsigned long first = 1, second = 2, nodes = 0;
  int mode = -1;
  EXPECT(syscall(SYS_get_mempolicy, &mode, &nodes, 64, 0, 0) == 0 && mode == MPOL_DEFAULT && nodes == 0);
  EXPECT(syscall(SYS_get_mempolicy, NULL, &nodes, 64, 0, MPOL_F_MEMS_ALLOWED) == 0 && nodes == 1);
  tell("first node", syscall(SYS_set_mempolicy, MPOL_BIND, &first, 64));
  EXPECT(syscall(SYS_get_mempolicy, &mode, &nodes, 64, 0, 0) == 0 && mode == MPOL_BIND && nodes == 1);
  tell("second node", syscall(SYS_set_mempolicy, MPOL_BIND, &second, 64));
  tell("a page on it", syscall(SYS_mbind, pages, 4096, MPOL_PREFERRED, &second, 64, 0));
  tell("a page moved", syscall(SYS_mbind, pages, 4096, MPOL_DEFAULT, NULL, 0, MPOL_MF_MOVE));
  tell("pages of others", syscall(SYS_mbind, pages, 4096, MPOL_DEFAULT, NULL, 0, MPOL_MF_MOVE_ALL));
  EXPECT(syscall(SYS_get_mempolicy, &mode, NULL, 0, pages, MPOL_F_NODE | MPOL_F_ADDR) == 0 && mode == 0);
  tell("barriers", syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0));
  tell("one without registration", syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0));
  EXPECT(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0);
  tell("and with", syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0));
  tell("restartable sequences", syscall(SYS_rseq, present, 32, 0, 0));
}

static void use_files(void) {
  EXPECT(chdir("/tmp") == 0);
  const int from = open("from", O_CREAT | O_RDWR, 0600), to = open("to", O_CREAT | O_RDWR, 0600);
  EXPECT(write(from, "0123456789", 10) == 10);
  off_t offset = 2;
  tell("copied", copy_file_range(from, &offset, to, NULL, 100, 0));
  tell("to", lseek(to, 0, SEEK_CUR));
  tell("a whole clone", ioctl(to, FICLONE, from));
  tell("flags of the file system", ioctl(from, FS_IOC_SETFLAGS, &offset));
  tell("a terminal", isatty(from));
  tell("an owner", fcntl(from, F_SETOWN, getpid()));
  int ends[2];
  EXPECT(pipe(ends) == 0);
  tell("no owner of a pipe", fcntl(ends[0], F_SETOWN, 0));
  tell("an owner of a pipe", fcntl(ends[0], F_SETOWN, getpid()));
  tell("its signal", fcntl(ends[0], F_SETSIG, SIGUSR1));
  tell("a lease", fcntl(from, F_SETLEASE, F_RDLCK));
  tell("a watch", fcntl(from, F_NOTIFY, DN_CREATE));
  tell("a character device", mknod("null", S_IFCHR | 0600, makedev(1, 3)));
  tell("a block device", mknodat(AT_FDCWD, "disk", S_IFBLK | 0600, makedev(8, 0)));
  tell("a file", mknod("file", S_IFREG | 0600, 0));
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  EXPECT(fcntl(from, F_SETLK, &lock) == 0);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(fcntl(from, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK);
    _exit(lock.l_pid == getppid() ? 0 : 1);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child);
  tell("the holder of a lock is known", status == 0);
  tell("a file of the adapter", open("/sys/class/infiniband/none", O_CREAT | O_WRONLY, 0600));
  tell("a link that is not followed", open("/sys/class/infiniband/mlx5_0", O_RDONLY | O_NOFOLLOW));
  tell("/dev/net/tun", open("/dev/net/tun", O_RDWR));
  tell("/dev/kmsg", open("/dev/kmsg", O_RDWR));
  tell("/dev/mem", open("/dev/mem", O_RDWR));
  tell("packets", socket(AF_PACKET, SOCK_RAW, 0));
  tell("machines", socket(AF_VSOCK, SOCK_STREAM, 0));
  tell("raw", socket(AF_INET, SOCK_RAW, 1));
  tell("keys", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
  tell("quotas", syscall(SYS_quotactl, 0, "/", 0, 0));
  tell("the time", syscall(SYS_settimeofday, &offset, NULL));
  sync();
}

static void keep_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct before[2], after[2];
  EXPECT(syscall(SYS_capget, &header, before) == 0 && syscall(SYS_capset, &header, before) == 0);
  EXPECT(syscall(SYS_capget, &header, after) == 0 && memcmp(before, after, sizeof before) == 0);
  before[1].permitted = 1u << (CAP_CHECKPOINT_RESTORE - 32);
  tell("one capability more", syscall(SYS_capset, &header, before));
}

// On Linux this would end most programs of the machine.
static void signal_all(void) {
  const pid_t child = fork();
  if (child == 0) {
    while (1) pause();
  }
  tell("everyone else", kill(-1, SIGUSR1));
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
  tell("no one else", kill(-1, SIGUSR1));
}

int main(void) {
  control_itself();
  schedule();
  use_memory();
  use_files();
  keep_capabilities();
  signal_all();
  return 0;
}
