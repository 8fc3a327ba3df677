// setpgid, setsid and getpgid: errors, children that have executed a program or ended, groups whose leader is
// gone.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void reap(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void await_end(pid_t child) {
  siginfo_t info;
  EXPECT(waitid(P_PID, child, &info, WEXITED | WNOWAIT) == 0);
}

static void errors(void) {
  EXPECT(setpgid(0, -1) == -1 && errno == EINVAL);
  EXPECT(setpgid(-1, 0) == -1 && errno == EINVAL);
  EXPECT(setpgid(-1, 1) == -1 && errno == ESRCH);
  EXPECT(setpgid(4194304, 0) == -1 && errno == ESRCH);
  EXPECT(setpgid(0, 4194304) == -1 && errno == EPERM);
  EXPECT(setpgid(getppid(), 0) == -1 && errno == ESRCH);
  EXPECT(getpgid(-1) == -1 && errno == ESRCH);
  const pid_t child = fork();
  if (child == 0) _exit(setpgid(getpid(), getppid() + 4194000) == -1 && errno == EPERM ? 0 : 1);
  reap(child);
}

static void leader_of_session(void) {
  int ready[2], done[2];
  EXPECT(pipe(ready) == 0 && pipe(done) == 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    EXPECT(setsid() == getpid() && getsid(0) == getpid());
    EXPECT(setsid() == -1 && errno == EPERM);
    EXPECT(setpgid(0, 0) == -1 && errno == EPERM);
    EXPECT(write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1);
    _exit(0);
  }
  EXPECT(read(ready[0], &byte, 1) == 1);
  EXPECT(setpgid(child, 0) == -1 && errno == EPERM);
  EXPECT(setpgid(0, child) == -1 && errno == EPERM);  // a group of another session
  EXPECT(write(done[1], &byte, 1) == 1);
  reap(child);
}

static void executed(void) {
  int ends[2];
  EXPECT(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sleep", "sleep", "5", NULL);
    _exit(1);
  }
  char byte;
  EXPECT(close(ends[1]) == 0 && read(ends[0], &byte, 1) == 0);  // it has executed the program
  EXPECT(setpgid(child, 0) == -1 && errno == EACCES);
  EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

// A child that has ended and that nobody has waited for: members can still join its group.
static void ended(void) {
  const pid_t first = fork();
  if (first == 0) _exit(0);
  await_end(first);
  EXPECT(getpgid(first) == getpgrp() && getsid(first) == getsid(0));
  EXPECT(setpgid(first, 0) == 0 && getpgid(first) == first);
  const pid_t second = fork();
  if (second == 0) {
    sleep_ms(20);
    _exit(getpgrp() == first ? 0 : 1);
  }
  EXPECT(setpgid(second, first) == 0);
  int status;
  EXPECT(waitpid(-first, &status, 0) == first && status == 0);
  EXPECT(waitpid(-first, &status, 0) == second && status == 0);
  EXPECT(setpgid(0, first) == -1 && errno == EPERM);
}

// setsid fails if a group has the number of the process, although the process has left it.
static void left_group(void) {
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(setpgid(0, 0) == 0);
    const pid_t member = fork();
    if (member == 0) {
      pause();
      _exit(0);
    }
    EXPECT(setpgid(0, getpgid(getppid())) == 0);
    EXPECT(setsid() == -1 && errno == EPERM);
    EXPECT(kill(member, SIGKILL) == 0 && waitpid(member, NULL, 0) == member);
    EXPECT(setsid() == getpid());
    _exit(0);
  }
  reap(child);
}

static void options(void) {
  int status;
  EXPECT(waitpid(-1, &status, (int)0xffffffff) == -1 && errno == EINVAL);
  EXPECT(waitpid(-1, &status, WNOWAIT) == -1 && errno == EINVAL);
  siginfo_t info;
  EXPECT(waitid(P_ALL, 0, &info, WEXITED | 0x100) == -1 && errno == EINVAL);
  EXPECT(waitid(P_ALL, 0, &info, WNOHANG) == -1 && errno == EINVAL);
  EXPECT(waitid(P_PID, 0, &info, WEXITED) == -1 && errno == EINVAL);
  EXPECT(waitid(P_PGID, -1, &info, WEXITED) == -1 && errno == EINVAL);
  EXPECT(waitid(P_ALL, 0, &info, WEXITED) == -1 && errno == ECHILD);
}

static void files_of_ended(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  await_end(child);
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", child);
  FILE* file = fopen(path, "r");
  EXPECT(file != NULL);
  int pid, parent, group, session;
  char state;
  EXPECT(fscanf(file, "%d (%255[^)]) %c %d %d %d", &pid, text, &state, &parent, &group, &session) == 6);
  fclose(file);
  EXPECT(pid == child && state == 'Z' && parent == getpid() && group == getpgrp() && session == getsid(0));
  EXPECT(strstr(text, "process_groups") == text || strstr("process_process_groups", text) != NULL);
  snprintf(path, sizeof path, "/proc/%d/status", child);
  file = fopen(path, "r");
  EXPECT(file != NULL);
  int found = 0;
  while (fgets(text, sizeof text, file) != NULL) found += strcmp(text, "State:\tZ (zombie)\n") == 0;
  fclose(file);
  EXPECT(found == 1);
  snprintf(path, sizeof path, "/proc/%d/cmdline", child);
  file = fopen(path, "r");
  EXPECT(file != NULL && fgetc(file) == EOF);
  fclose(file);
  EXPECT(waitpid(child, NULL, 0) == child && access(path, F_OK) == -1 && errno == ENOENT);
}

int main(void) {
  errors();
  leader_of_session();
  executed();
  ended();
  left_group();
  options();
  files_of_ended();
  return 0;
}
