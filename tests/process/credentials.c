// A program's credentials and their effects: root at first, then nobody, across threads, fork and exec.
// Natively it must run as root; in the simulator the result is the same for any user. "own": owners of files.
// "groups": folders that give their group to files. "rights": access to the machine's files. "folders": access to the
// host's own folders.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/process/expect.h"

#define SETUID_BIT (1u << CAP_SETUID)

static struct __user_cap_data_struct capabilities[2];

static void look_at_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  EXPECT(syscall(SYS_capget, &header, capabilities) == 0);
}

static void tell(const char* when) {
  uid_t users[3];
  gid_t groups[3];
  EXPECT(getresuid(&users[0], &users[1], &users[2]) == 0 && getresgid(&groups[0], &groups[1], &groups[2]) == 0);
  EXPECT(getuid() == users[0] && geteuid() == users[1] && getgid() == groups[0] && getegid() == groups[1]);
  look_at_capabilities();
  printf("%s: %u %u %u, %u %u %u, %d groups, may set users %d, could %d\n", when, users[0], users[1], users[2], groups[0],
         groups[1], groups[2], getgroups(0, NULL), (capabilities[0].effective & SETUID_BIT) != 0,
         (capabilities[0].permitted & SETUID_BIT) != 0);
  fflush(stdout);
}

static void* in_a_thread(void* barrier) {
  pthread_barrier_wait(barrier);
  pthread_barrier_wait(barrier);
  tell("a thread, after another one has called setresuid");
  EXPECT(syscall(SYS_setresuid, -1, 0, -1) == 0);  // of this thread only
  tell("it alone by the kernel's own call");
  return NULL;
}

static int status_of(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) > 0);
  return status;
}

static void be_nobody(void) {
  const gid_t groups[] = {30, 10, 20};
  gid_t told[3];
  EXPECT(setgroups(3, groups) == 0 && getgroups(3, told) == 3 && getgroups(2, told) == -1 && errno == EINVAL);
  EXPECT(setgroups(-1, groups) == -1 && errno == EINVAL);
  EXPECT(setgroups(2, (gid_t*)8) == -1 && errno == EFAULT);
  EXPECT(setgid(-1) == -1 && errno == EINVAL && setuid(-1) == -1 && errno == EINVAL);
  EXPECT(setregid(11, 12) == 0 && setresgid(-1, -1, 13) == 0);
  EXPECT(setfsuid(77) == 0 && setfsuid(-1) == 77 && setfsuid(0) == 77 && setfsgid(-1) == 12);
  EXPECT(seteuid(7) == 0);
  tell("with another effective user");
  EXPECT(setgroups(1, groups) == -1 && errno == EPERM);
  EXPECT(seteuid(0) == 0);
  tell("root again");
  EXPECT(setreuid(5, 6) == 0);
  tell("setreuid");
  EXPECT(setuid(0) == -1 && errno == EPERM && setresuid(-1, 0, -1) == -1 && errno == EPERM);
  EXPECT(setreuid(6, 5) == 0 && setuid(6) == 0);
  EXPECT(setgid(40) == -1 && errno == EPERM && setgid(13) == 0);
  tell("no way back");
}

static void keep_capabilities(void) {
  EXPECT(prctl(PR_GET_KEEPCAPS) == 0 && prctl(PR_SET_KEEPCAPS, 1) == 0 && prctl(PR_GET_KEEPCAPS) == 1);
  EXPECT(setresuid(9, 9, 9) == 0);
  tell("kept");
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  capabilities[0].effective = SETUID_BIT;
  EXPECT(syscall(SYS_capset, &header, capabilities) == 0);
  tell("raised again");
  capabilities[0].permitted = capabilities[0].inheritable = capabilities[1].permitted = capabilities[1].inheritable = 0;
  capabilities[0].effective = 0;
  capabilities[1].effective = 0;
  EXPECT(syscall(SYS_capset, &header, capabilities) == 0);
  capabilities[0].effective = capabilities[0].permitted = SETUID_BIT;
  EXPECT(syscall(SYS_capset, &header, capabilities) == -1 && errno == EPERM);
  header.version = 1;
  EXPECT(syscall(SYS_capget, &header, capabilities) == -1 && errno == EINVAL && header.version == _LINUX_CAPABILITY_VERSION_3);
  EXPECT(prctl(PR_CAPBSET_READ, CAP_SETUID) == 1 && prctl(PR_CAPBSET_READ, 99) == -1 && errno == EINVAL);
  EXPECT(prctl(PR_CAPBSET_DROP, CAP_SETUID) == -1 && errno == EPERM);
  EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETUID, 0, 0) == -1 && errno == EPERM);
}

static volatile int sender = -1;
static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  sender = (int)info->si_uid;
}

// Permission to send signals, and the sender in siginfo.
static void signal_each_other(void) {
  const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGCHLD, &action, NULL) == 0);
  int ends[2];
  EXPECT(pipe(ends) == 0);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(setuid(1234) == 0);
    EXPECT(kill(parent, SIGUSR1) == -1 && errno == EPERM && kill(1, 0) == -1);
    EXPECT(raise(SIGUSR1) == 0);
    printf("from oneself: %d\n", sender);
    fflush(stdout);
    sender = -1;
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      EXPECT(kill(getppid(), SIGUSR1) == 0);
      _exit(0);
    }
    siginfo_t info;
    while (waitid(P_PID, grandchild, &info, WEXITED) != 0) EXPECT(errno == EINTR);
    printf("from a child: %d, which was %d\n", sender, info.si_uid);
    fflush(stdout);
    EXPECT(write(ends[1], "x", 1) == 1);
    pause();
    _exit(3);
  }
  char byte;
  while (read(ends[0], &byte, 1) != 1) EXPECT(errno == EINTR);
  sender = -1;
  EXPECT(kill(child, SIGKILL) == 0);
  int status;
  while (waitpid(child, &status, 0) != child) EXPECT(errno == EINTR);
  printf("the end of a child: signal %d, told of %d\n", WTERMSIG(status), sender);
}

static void tell_peer(const char* when, int fd) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  EXPECT(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
  printf("%s: %u %u\n", when, peer.uid, peer.gid);
}

static void tell_owner(const char* path) {
  struct stat status;
  EXPECT(lstat(path, &status) == 0);
  printf("%s: %u %u %o\n", path, status.st_uid, status.st_gid, status.st_mode);
}

static void own_files(void) {
  char folder[] = "/tmp/owned-XXXXXX";
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  umask(022);
  close(creat("roots", 0600));
  EXPECT(mkdir("folder", 0700) == 0 && symlink("roots", "link") == 0);
  tell_owner("roots");
  EXPECT(chown("roots", 21, 22) == 0 && lchown("link", 23, -1) == 0 && chown("folder", -1, 24) == 0);
  tell_owner("roots"), tell_owner("link"), tell_owner("folder");
  const int fd = open("roots", O_RDWR);
  EXPECT(fd >= 0 && fchown(fd, 31, -1) == 0 && fchownat(fd, "", -1, 32, AT_EMPTY_PATH) == 0);
  tell_owner("roots");
  EXPECT(chown("nothing", 1, 1) == -1 && errno == ENOENT && chown((char*)8, 1, 1) == -1 && errno == EFAULT);
  EXPECT(chmod("roots", 0) == 0 && access("roots", R_OK | W_OK) == 0 && access("roots", X_OK) == -1 && errno == EACCES);
  EXPECT(open("roots", O_RDWR) >= 0 && chmod("folder", 0) == 0 && access("folder", R_OK | W_OK | X_OK) == 0);
  tell_owner("roots");
  fflush(stdout);
  EXPECT(chmod(".", 0777) == 0);
  if (fork() == 0) {
    EXPECT(setgid(52) == 0 && setuid(51) == 0);
    close(creat("nobodys", 0666));
    tell_owner("nobodys");
    EXPECT(chown("nobodys", 0, -1) == -1 && errno == EPERM && chown("nobodys", 51, 52) == 0);
    EXPECT(chown("roots", 51, -1) == -1 && errno == EPERM && chown("nobodys", -1, 99) == -1 && errno == EPERM);
    fflush(stdout);
    _exit(0);
  }
  EXPECT(status_of(-1) == 0);
  const char* const names[] = {"roots", "link", "nobodys"};
  for (int i = 0; i < 3; ++i) EXPECT(unlink(names[i]) == 0);
  EXPECT(rmdir("folder") == 0 && rmdir(folder) == 0);
}

static void make_in_each(const char* who) {
  char name[64];
  const char* const folders[] = {"plain", "giving"};
  for (int i = 0; i < 2; ++i) {
    snprintf(name, sizeof name, "%s/file-%s", folders[i], who);
    close(open(name, O_CREAT | O_WRONLY | O_EXCL, 02755));
    tell_owner(name);
    snprintf(name, sizeof name, "%s/folder-%s", folders[i], who);
    EXPECT(mkdir(name, 0755) == 0);
    tell_owner(name);
    snprintf(name, sizeof name, "%s/pipe-%s", folders[i], who);
    EXPECT(mknod(name, S_IFIFO | 0640, 0) == 0);
    tell_owner(name);
    snprintf(name, sizeof name, "%s/link-%s", folders[i], who);
    EXPECT(symlink("nowhere", name) == 0);
    tell_owner(name);
    struct stat status;
    const int fd = open(folders[i], O_TMPFILE | O_WRONLY, 0600);
    EXPECT(fd >= 0 && fstat(fd, &status) == 0 && close(fd) == 0);
    printf("without a name: %u %u\n", status.st_uid, status.st_gid);
    fflush(stdout);
  }
}

// Files made in a folder with S_ISGID get its group, and folders S_ISGID too. S_ISGID of an executable file needs
// membership of the group.
static void inherit_groups(void) {
  char folder[] = "/tmp/groups-XXXXXX";
  EXPECT(mkdtemp(folder) != NULL && chmod(folder, 0777) == 0 && chdir(folder) == 0);
  umask(0);
  EXPECT(mkdir("plain", 0777) == 0 && chown("plain", 0, 24) == 0);
  EXPECT(mkdir("giving", 0777) == 0 && chown("giving", 0, 24) == 0 && chmod("giving", 02777) == 0);
  make_in_each("root");
  if (fork() == 0) {
    EXPECT(setgroups(0, NULL) == 0 && setgid(52) == 0 && setuid(51) == 0);
    make_in_each("stranger");
    _exit(0);
  }
  EXPECT(status_of(-1) == 0);
  if (fork() == 0) {
    const gid_t group = 24;
    EXPECT(setgroups(1, &group) == 0 && setgid(52) == 0 && setuid(51) == 0);
    make_in_each("member");
    _exit(0);
  }
  EXPECT(status_of(-1) == 0);
  const char* const users[] = {"root", "stranger", "member"};
  for (int i = 0; i < 6; ++i) {
    char name[64];
    const char* const within = i < 3 ? "plain" : "giving";
    const char* const kinds[] = {"file", "pipe", "link"};
    for (int j = 0; j < 3; ++j) {
      snprintf(name, sizeof name, "%s/%s-%s", within, kinds[j], users[i % 3]);
      EXPECT(unlink(name) == 0);
    }
    snprintf(name, sizeof name, "%s/folder-%s", within, users[i % 3]);
    EXPECT(rmdir(name) == 0);
  }
  EXPECT(rmdir("plain") == 0 && rmdir("giving") == 0 && rmdir(folder) == 0);
}

static void in_a_child(void (*what)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    what();
    fflush(stdout);
    _exit(0);
  }
  EXPECT(status_of(child) == 0);
}

// Whether files of the machine that belong to root can be accessed.
static void tell_rights(const char* when) {
  const int reads = open("/etc/shadow", O_RDONLY), read_error = reads < 0 ? errno : 0;
  const int writes = open("/etc/passwd", O_WRONLY), write_error = writes < 0 ? errno : 0;
  const int looks = open("/etc/passwd", O_RDONLY);
  struct stat status;
  printf("%s: reads %d, writes %d, looks %d, may read %d, stat %d\n", when, read_error, write_error, looks >= 0,
         faccessat(AT_FDCWD, "/etc/shadow", R_OK, AT_EACCESS), stat("/etc/shadow", &status));
  fflush(stdout);
  if (reads >= 0) close(reads);
  if (writes >= 0) close(writes);
  if (looks >= 0) close(looks);
}

// Joins the file's group as a supplementary group.
static void be_in_its_group(void) {
  struct stat status;
  EXPECT(stat("/etc/shadow", &status) == 0);
  const gid_t groups[] = {status.st_gid, 1001};
  EXPECT(setgroups(2, groups) == 0 && setgid(1000) == 0 && setuid(1000) == 0);
  tell_rights("by a supplementary group");
  EXPECT(access("/etc/shadow", R_OK) == 0);
}

static void rights(void) {
  EXPECT(setgroups(0, NULL) == 0);
  tell_rights("root");
  EXPECT(syscall(SYS_setfsuid, 4294967294u) == 0 && syscall(SYS_setfsuid, 0) == 4294967294L);  // never an errno, for any number
  EXPECT(setfsgid(1000) == 0 && setfsuid(1000) == 0);
  tell_rights("by its file system user");
  EXPECT(setfsuid(0) == 1000 && setfsgid(0) == 1000 && setegid(1000) == 0 && seteuid(1000) == 0);
  tell_rights("by its effective user");
  EXPECT(access("/etc/shadow", R_OK) == 0);  // the real user may
  EXPECT(seteuid(0) == 0 && setegid(0) == 0);
  tell_rights("root again");
  in_a_child(be_in_its_group);
  EXPECT(setgid(1000) == 0 && setuid(1000) == 0);
  tell_rights("for good");
  EXPECT(access("/etc/shadow", R_OK) == -1 && errno == EACCES && access("/etc/shadow", F_OK) == 0);
  const int fd = open("/etc/passwd", O_RDONLY);
  EXPECT(fd >= 0 && fchmod(fd, 0644) == -1 && errno == EPERM);
  char again[32];
  snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
  EXPECT(open(again, O_RDONLY) >= 0 && open(again, O_RDWR) == -1 && errno == EACCES);
  EXPECT(mkdir("/etc/of-another", 0700) == -1 && errno == EACCES);
  EXPECT(open("/etc/of-another", O_CREAT | O_WRONLY, 0600) == -1 && errno == EACCES);
  EXPECT(open("/tmp/of-another", O_CREAT | O_WRONLY, 0600) >= 0 && unlink("/tmp/of-another") == 0);
  if (fork() == 0) {
    tell_rights("a copy");
    execl("/bin/cat", "cat", "/etc/shadow", (char*)NULL);
  }
  int ended;
  EXPECT(wait(&ended) > 0);
  printf("another program: %d\n", WEXITSTATUS(ended));
}

// Prints a line with the result of each call.
static void tell_try(const char* call, long result) {
  printf("%s: %s\n", call, result >= 0 ? "done" : strerrorname_np(errno));
  fflush(stdout);
}
#define TRY(call) tell_try(#call, (long)(call))

static void make_file(const char* path, uid_t user, gid_t group, mode_t mode) {
  close(creat(path, 0600));
  EXPECT(chown(path, user, group) == 0 && chmod(path, mode) == 0);
}

static void make_folder(const char* path, uid_t user, gid_t group, mode_t mode) {
  EXPECT(mkdir(path, 0700) == 0 && chown(path, user, group) == 0 && chmod(path, mode) == 0);
}

static socklen_t name_of(const char* path, struct sockaddr_un* name) {
  name->sun_family = AF_UNIX;
  strcpy(name->sun_path, path);
  return sizeof *name;
}

static int bind_to(const char* path) {
  struct sockaddr_un name;
  const socklen_t size = name_of(path, &name);
  return bind(socket(AF_UNIX, SOCK_DGRAM, 0), (struct sockaddr*)&name, size);
}

static int connect_to(const char* path) {
  struct sockaddr_un name;
  const socklen_t size = name_of(path, &name);
  return connect(socket(AF_UNIX, SOCK_DGRAM, 0), (struct sockaddr*)&name, size);
}

static ssize_t send_to(const char* path) {
  struct sockaddr_un name;
  const socklen_t size = name_of(path, &name);
  return sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "", 1, 0, (struct sockaddr*)&name, size);
}

static void use_as_another(void) {
  struct stat status;
  TRY(open("roots", O_RDONLY));
  TRY(open("alls", O_RDWR));
  TRY(open("groups", O_RDONLY));
  TRY(open("groups", O_WRONLY));
  TRY(open("other-groups", O_RDONLY));
  TRY(open("mine", O_RDWR));
  TRY(open("mine", O_RDONLY | O_NOATIME));
  TRY(open("alls", O_RDONLY | O_NOATIME));
  TRY(open("readable", O_RDONLY | O_TRUNC));
  TRY(open("readable", O_CREAT | O_EXCL, 0600));
  TRY(open("new", O_CREAT | O_WRONLY, 0400));
  TRY(open("new", O_WRONLY));
  TRY(creat("open/new", 0600));
  TRY(open("open", O_TMPFILE | O_RDWR, 0600));
  TRY(open("closed/file", O_RDONLY));
  TRY(open("searched/file", O_RDONLY));
  TRY(open("searched", O_RDONLY));
  TRY(open("closed", O_PATH));
  TRY(open("nothing/file", O_RDONLY));
  TRY(open("roots/file", O_RDONLY));
  TRY(stat("closed/file", &status));
  TRY(lstat("roots", &status));
  TRY(getxattr("roots", "user.any", NULL, 0));
  TRY(getxattr("readable", "user.any", NULL, 0));
  TRY(readlink("closed/link", (char[8]){0}, 8));
  TRY(access("roots", R_OK));
  TRY(access("alls", W_OK));
  TRY(access("closed", X_OK));
  TRY(access("roots", F_OK));
  TRY(faccessat(AT_FDCWD, "groups", R_OK, AT_EACCESS));
  TRY(truncate("readable", 0));
  TRY(truncate("alls", 0));
  TRY(chmod("alls", 0600));
  TRY(chmod("mine", 0600));
  TRY(chown("mine", 1000, 20));
  TRY(chown("mine", 1000, 21));
  TRY(chown("closed/file", 1000, 20));
  TRY(fchmod(open("alls", O_RDONLY), 0600));
  TRY(fchmod(open("mine", O_RDONLY), 0640));
  TRY(utimensat(AT_FDCWD, "alls", NULL, 0));
  TRY(utimensat(AT_FDCWD, "readable", NULL, 0));
  TRY(utimensat(AT_FDCWD, "alls", (struct timespec[2]){{1, 0}, {1, 0}}, 0));
  TRY(utimensat(AT_FDCWD, "mine", (struct timespec[2]){{1, 0}, {1, 0}}, 0));
  TRY(mkdir("my-folder", 0700));
  TRY(mkdir("open/folder", 0700));
  TRY(mkdir("closed", 0700));
  TRY(mkdir("closed/folder", 0700));
  TRY(symlink("roots", "my-link"));
  TRY(symlink("roots", "open/my-link"));
  TRY(open("my-link", O_RDONLY));
  TRY(link("mine", "my-other"));
  TRY(link("mine", "open/my-other"));
  TRY(unlink("roots"));
  TRY(unlink("alls"));
  TRY(unlink("open/file"));
  TRY(unlink("closed/file"));
  TRY(unlink("nothing"));
  TRY(rename("alls", "other"));
  TRY(rename("mine", "alls"));
  TRY(rename("mine", "open/mine"));
  TRY(rename("mine", "still-mine"));
  TRY(rmdir("closed"));
  TRY(rmdir("my-folder"));
  TRY(unlink("new"));
  TRY(unlink("my-other"));
  TRY(bind_to("closed/socket"));
  TRY(bind_to("open/socket"));
  TRY(bind_to("roots"));
  TRY(bind_to("my-socket"));
  EXPECT(lstat("my-socket", &status) == 0);
  printf("of %d and %d\n", status.st_uid, status.st_gid);
  TRY(unlink("my-socket"));
  TRY(send_to("roots-socket"));
  TRY(send_to("alls-socket"));
  TRY(send_to("closed/socket"));
  TRY(send_to("roots"));
  TRY(send_to("alls"));
  TRY(connect_to("roots-socket"));
  TRY(connect_to("alls-socket"));
  TRY(chdir("closed"));
  TRY(chdir("searched"));
  TRY(open("file", O_RDONLY));
  TRY(open("../roots", O_RDONLY));
  TRY(open(".", O_RDONLY));
  TRY(chdir(".."));
  TRY(fchdir(open("closed", O_PATH)));
  TRY(execl("program", "program", (char*)NULL));
  TRY(execl("open/file", "program", (char*)NULL));
}

static void folders(void) {
  char folder[] = "/tmp/shared-XXXXXX";
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0 && chmod(".", 01777) == 0);
  make_file("roots", 0, 0, 0600);
  make_file("alls", 0, 0, 0666);
  make_file("readable", 0, 0, 0644);
  make_file("groups", 0, 20, 0640);
  make_file("other-groups", 0, 21, 0640);
  make_file("mine", 1000, 1000, 0600);
  make_file("program", 0, 0, 0700);
  make_folder("open", 0, 20, 0755);
  make_folder("closed", 0, 0, 0700);
  make_folder("searched", 0, 0, 0711);
  make_file("open/file", 1000, 0, 0755);
  make_file("closed/file", 0, 0, 0644);
  make_file("searched/file", 0, 0, 0644);
  EXPECT(symlink("file", "closed/link") == 0);
  EXPECT(bind_to("roots-socket") == 0 && chmod("roots-socket", 0755) == 0);
  EXPECT(bind_to("alls-socket") == 0 && chmod("alls-socket", 0777) == 0);
  EXPECT(bind_to("closed/socket") == 0 && chmod("closed/socket", 0777) == 0);
  fflush(stdout);
  const gid_t groups[] = {10, 20};
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(setgroups(2, groups) == 0 && setgid(1000) == 0 && setuid(1000) == 0);
    use_as_another();
    _exit(0);
  }
  EXPECT(status_of(child) == 0);
  EXPECT(setfsuid(1000) == 0);
  TRY(open("roots", O_RDONLY));
  TRY(access("roots", R_OK));
  EXPECT(setfsuid(0) == 1000);
  TRY(open("roots", O_RDONLY));
  EXPECT(execl("/bin/rm", "rm", "-r", folder, (char*)NULL) == 0);
}

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "executed") == 0) {
    tell("after exec");
    printf("its auxiliary vector: %lu %lu %lu %lu, secure %lu\n", getauxval(AT_UID), getauxval(AT_EUID), getauxval(AT_GID),
           getauxval(AT_EGID), getauxval(AT_SECURE));
    return 0;
  }
  if (count > 1 && strcmp(arguments[1], "own") == 0) {
    own_files();
    return 0;
  }
  if (count > 1 && strcmp(arguments[1], "groups") == 0) {
    inherit_groups();
    return 0;
  }
  if (count > 1 && strcmp(arguments[1], "rights") == 0) {
    rights();
    return 0;
  }
  if (count > 1 && strcmp(arguments[1], "folders") == 0) {
    folders();
    return 0;
  }
  EXPECT(setgroups(0, NULL) == 0);
  tell("at first");
  in_a_child(be_nobody);
  in_a_child(keep_capabilities);
  in_a_child(signal_each_other);
  tell("nothing has come back");

  int ends[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  tell_peer("a pair's other end", ends[0]);

  pthread_barrier_t barrier;
  pthread_t thread;
  EXPECT(pthread_barrier_init(&barrier, NULL, 2) == 0 && pthread_create(&thread, NULL, in_a_thread, &barrier) == 0);
  pthread_barrier_wait(&barrier);
  EXPECT(setresuid(0, 7, 0) == 0);
  pthread_barrier_wait(&barrier);
  EXPECT(pthread_join(thread, NULL) == 0);
  tell("the first thread");
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  tell_peer("a pair of another user's", ends[1]);
  EXPECT(seteuid(0) == 0 && setgid(41) == 0 && setuid(42) == 0);
  fflush(stdout);
  execl("/proc/self/exe", "credentials", "executed", (char*)NULL);
  return 1;
}
