// /proc about a process itself, its threads and its children, with their simulated ids.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static char text[65536];
static const char* content_of(const char* path) {
  const int fd = open(path, O_RDONLY);
  EXPECT(fd >= 0);
  ssize_t n, length = 0;
  while ((n = read(fd, text + length, sizeof text - 1 - length)) > 0) length += n;
  EXPECT(n == 0 && close(fd) == 0);
  text[length] = 0;
  return text;
}

static long field(const char* name) {
  const char* const line = strstr(text, name);
  EXPECT(line != NULL);
  return strtol(line + strlen(name), NULL, 10);
}

// The result of writing `value` to oom_score_adj, 0 or an errno. No value is below 0, which needs a privilege.
static int adjust(const char* value) {
  const int fd = open("/proc/self/oom_score_adj", O_RDWR);
  EXPECT(fd >= 0);
  const ssize_t n = write(fd, value, strlen(value));
  const int error = n == (ssize_t)strlen(value) ? 0 : errno;
  char read_back[16] = "";
  EXPECT(pread(fd, read_back, sizeof read_back, 0) > 0 && close(fd) == 0);
  EXPECT(error != 0 || atoi(read_back) == atoi(value));
  return error;
}

static void* thread(void* argument) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/status", gettid());
  content_of(path);
  EXPECT(field("\nPid:") == gettid() && field("\nTgid:") == getpid() && field("\nThreads:") == 2);
  content_of("/proc/thread-self/status");
  EXPECT(field("\nPid:") == gettid());
  int tasks = 0;
  DIR* const folder = opendir("/proc/self/task");
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    EXPECT(atoi(entry->d_name) == getpid() || atoi(entry->d_name) == gettid());
    ++tasks;
  }
  closedir(folder);
  printf("tasks: %d\n", tasks);
  return argument;
}

int main(void) {
  char path[256], target[256];
  content_of("/proc/self/status");
  EXPECT(field("\nPid:") == getpid() && field("\nPPid:") == getppid() && field("\nUid:") == getuid());
  printf("name: %.9s, threads %ld\n", strstr(text, "Name:") + 6, field("\nThreads:"));
  content_of("/proc/self/stat");
  int pid, parent, group, session;
  char name[32], state;
  EXPECT(sscanf(text, "%d (%30[^)]) %c %d %d %d", &pid, name, &state, &parent, &group, &session) == 6);
  EXPECT(pid == getpid() && parent == getppid() && group == getpgrp() && session == getsid(0));
  printf("stat: %s %c, fields %d\n", name, state, ({
           int n = 1;
           for (char* c = text; *c; ++c) n += *c == ' ';
           n;
         }));
  ssize_t n = readlink("/proc/self", target, sizeof target - 1);
  EXPECT(n > 0 && (target[n] = 0, atoi(target) == getpid()));
  n = readlink("/proc/self/exe", target, sizeof target - 1);
  EXPECT(n > 0 && (target[n] = 0, strcmp(strrchr(target, '/'), "/proc_self") == 0));
  char here[256];
  n = readlink("/proc/self/cwd", target, sizeof target - 1);
  EXPECT(n > 0 && (target[n] = 0, strcmp(target, getcwd(here, sizeof here)) == 0));
  content_of("/proc/self/cmdline");
  printf("cmdline: %s\n", strrchr(text, '/') + 1);
  content_of("/proc/self/comm");
  printf("comm: %s", text);

  const int file = open("/dev/null", O_RDONLY), ends[2] = {-1, -1};
  EXPECT(pipe((int*)ends) == 0);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  n = readlink(path, target, sizeof target - 1);
  EXPECT(n > 0 && (target[n] = 0, strcmp(target, "/dev/null") == 0));
  snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), ends[0]);
  n = readlink(path, target, sizeof target - 1);
  EXPECT(n > 0 && strncmp(target, "pipe:[", 6) == 0);
  struct stat status;
  EXPECT(stat(path, &status) == 0 && S_ISFIFO(status.st_mode) && lstat(path, &status) == 0 &&
         S_ISLNK(status.st_mode));
  int found = 0;
  DIR* const folder = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    const int fd = atoi(entry->d_name);
    found += entry->d_name[0] != '.' && (fd == file || fd == ends[0] || fd == ends[1]);
  }
  closedir(folder);
  printf("descriptors found: %d\n", found);

  content_of("/proc/self/maps");
  unsigned long low, high;
  const char* const stack = strstr(text, "[stack]");
  EXPECT(stack != NULL);
  const char* line = stack;
  while (line > text && line[-1] != '\n') --line;
  EXPECT(sscanf(line, "%lx-%lx", &low, &high) == 2);
  printf("my stack: %d\n", (unsigned long)&low >= low && (unsigned long)&low < high);

  pthread_t other;
  EXPECT(pthread_create(&other, NULL, thread, NULL) == 0 && pthread_join(other, NULL) == 0);
  EXPECT(adjust("800\n") == 0 && adjust(" 900 \n") == 0);
  EXPECT(adjust("1001") == EINVAL && adjust("many") == EINVAL && adjust("1 2") == EINVAL);
  const pid_t child = fork();
  if (child == 0) {
    while (1) pause();
  }
  snprintf(path, sizeof path, "/proc/%d/status", child);
  content_of(path);
  EXPECT(field("\nPid:") == child && field("\nPPid:") == getpid());
  snprintf(path, sizeof path, "/proc/%d/oom_score_adj", child);
  EXPECT(atoi(content_of(path)) == 900);
  snprintf(path, sizeof path, "/proc/%d/status", child);
  EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
  printf("gone: %d\n", open(path, O_RDONLY) == -1 && errno == ENOENT && access("/proc/999999", F_OK) == -1);
  return 0;
}
