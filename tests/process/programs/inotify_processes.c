// Waiting for events of files and causing them in threads, processes and executed programs, with poll,
// select, epoll and signals.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

static char folder[] = "/tmp/inotify-processes-XXXXXX";

static void print_next(int fd, const char* what) {
  char room[4096];
  const ssize_t n = read(fd, room, sizeof room);
  EXPECT(n > 0);
  printf("%s:", what);
  for (ssize_t at = 0; at < n;) {
    const struct inotify_event* event = (const struct inotify_event*)(room + at);
    printf(" %d %#x %s;", event->wd, event->mask, event->len != 0 ? event->name : "");
    at += (ssize_t)sizeof *event + event->len;
  }
  printf("\n");
}

static void forget_events(int fd) {
  char room[4096];
  EXPECT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
  while (read(fd, room, sizeof room) > 0) {}
  EXPECT(errno == EAGAIN && fcntl(fd, F_SETFL, 0) == 0);
}

static void nothing(int fd) {
  struct pollfd one = {fd, POLLIN, 0};
  EXPECT(poll(&one, 1, 0) == 0);
}

static void end(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void touch(const char* name) {
  const int file = creat(name, 0600);
  EXPECT(file >= 0 && close(file) == 0);
}

static void* touch_later(void* name) {
  sleep_ms(20);
  touch(name);
  return NULL;
}

static void threads(int fd) {
  pthread_t thread;
  EXPECT(inotify_add_watch(fd, folder, IN_CREATE) == 1);
  EXPECT(pthread_create(&thread, NULL, touch_later, "by_thread") == 0);
  print_next(fd, "read");
  EXPECT(pthread_join(thread, NULL) == 0);
  EXPECT(pthread_create(&thread, NULL, touch_later, "polled") == 0);
  struct pollfd one = {fd, POLLIN | POLLOUT, 0};
  EXPECT(poll(&one, 1, -1) == 1 && one.revents == POLLIN);
  print_next(fd, "poll");
  EXPECT(pthread_join(thread, NULL) == 0);
  nothing(fd);
  EXPECT(pthread_create(&thread, NULL, touch_later, "selected") == 0);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  EXPECT(select(fd + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(fd, &set));
  print_next(fd, "select");
  EXPECT(pthread_join(thread, NULL) == 0);
  // Asking again and again.
  EXPECT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && pthread_create(&thread, NULL, touch_later, "asked") == 0);
  char room[64];
  while (read(fd, room, sizeof room) == -1) EXPECT(errno == EAGAIN);
  printf("asked: %s\n", ((struct inotify_event*)room)->name);
  EXPECT(fcntl(fd, F_SETFL, 0) == 0 && pthread_join(thread, NULL) == 0);
}

static void edges(int fd) {
  const int set = epoll_create1(0);
  struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = fd}};
  EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 && epoll_wait(set, &event, 1, 0) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, touch_later, "edge") == 0);
  EXPECT(epoll_wait(set, &event, 1, -1) == 1 && event.data.fd == fd && event.events == EPOLLIN);
  EXPECT(epoll_wait(set, &event, 1, 0) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  touch("edge again");
  EXPECT(epoll_wait(set, &event, 1, 0) == 1);
  print_next(fd, "epoll");
  EXPECT(close(set) == 0);
}

static void processes(int fd) {
  EXPECT(inotify_add_watch(fd, folder, IN_CREATE | IN_CLOSE_WRITE | IN_MODIFY) == 1);
  int ends[2];
  char byte;
  EXPECT(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    const int file = open("of_child", O_WRONLY | O_CREAT, 0600);
    EXPECT(read(ends[0], &byte, 1) == 1);
    _exit(write(file, "x", 1) == 1 ? 0 : 1);  // which closes it
  }
  print_next(fd, "a child creates");
  EXPECT(write(ends[1], "x", 1) == 1);
  end(child);
  print_next(fd, "writes and ends");
  nothing(fd);
  // A descriptor of both is closed by the last one.
  const int file = open("of_child", O_WRONLY);
  child = fork();
  if (child == 0) {
    _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
  }
  EXPECT(close(file) == 0);
  nothing(fd);
  EXPECT(write(ends[1], "x", 1) == 1);
  end(child);
  print_next(fd, "the last of two ends");
  // A child reads events of its parent's watch.
  EXPECT(inotify_add_watch(fd, folder, IN_CREATE) == 1);
  child = fork();
  if (child == 0) {
    print_next(fd, "read by a child");
    _exit(0);
  }
  touch("for_child");
  end(child);
  // One that is killed closes its files, too.
  EXPECT(inotify_add_watch(fd, folder, IN_CLOSE_WRITE) == 1);
  child = fork();
  if (child == 0) {
    EXPECT(open("of_child", O_WRONLY) >= 0 && write(ends[1], "x", 1) == 1);
    pause();
  }
  int status;
  EXPECT(read(ends[0], &byte, 1) == 1);
  nothing(fd);
  EXPECT(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  print_next(fd, "killed");
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0);
}

// Descriptors across exec, and a program of the host's own.
static void executions(int fd) {
  char text[16], command[256];
  snprintf(command, sizeof command, "cp /bin/true '%s/program'", folder);
  EXPECT(system(command) == 0);
  snprintf(command, sizeof command, "%s/program", folder);
  EXPECT(close(open("program", O_RDONLY)) == 0);
  forget_events(fd);
  EXPECT(inotify_add_watch(fd, "program", IN_OPEN | IN_ACCESS | IN_CLOSE) == 2);
  pid_t child = fork();
  if (child == 0) {
    execl(command, "program", NULL);
    _exit(1);
  }
  end(child);
  print_next(fd, "a program is executed and ends");
  EXPECT(inotify_rm_watch(fd, 2) == 0);
  print_next(fd, "removed");
  // A script is opened by its interpreter, too.
  const int script = open("script", O_WRONLY | O_CREAT, 0700);
  EXPECT(write(script, "#!/bin/sh\nexit 0\n", 17) == 17 && close(script) == 0);
  forget_events(fd);
  EXPECT(inotify_add_watch(fd, "script", IN_ALL_EVENTS) == 3);
  child = fork();
  if (child == 0) {
    execl("./script", "./script", NULL);
    _exit(1);
  }
  end(child);
  print_next(fd, "a script");
  EXPECT(inotify_rm_watch(fd, 3) == 0);
  print_next(fd, "removed");
  // Descriptors closed by exec.
  int ends[2];
  EXPECT(pipe(ends) == 0);
  child = fork();
  if (child == 0) {
    EXPECT(open("script", O_WRONLY | O_CLOEXEC) >= 0 && open("program", O_WRONLY) >= 0);
    EXPECT(dup2(ends[0], 0) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
    execl("/bin/cat", "cat", NULL);
    _exit(1);
  }
  print_next(fd, "closed by exec");
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0);
  end(child);
  print_next(fd, "and by the end");
  // The descriptor itself, in another program.
  EXPECT(inotify_add_watch(fd, folder, IN_CREATE) == 1);
  snprintf(text, sizeof text, "%d", fd);
  child = fork();
  if (child == 0) {
    EXPECT(fcntl(fd, F_SETFD, 0) == 0);
    execl("/proc/self/exe", "inotify_processes", text, NULL);
    _exit(1);
  }
  touch("for_program");
  end(child);
}

static void signals(int fd) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 1);
  EXPECT(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  EXPECT(fcntl(fd, F_SETOWN, getpid()) == 0 && fcntl(fd, F_SETSIG, SIGRTMIN + 1) == 0);
  EXPECT(fcntl(fd, F_SETFL, O_ASYNC) == 0 && (fcntl(fd, F_GETFL) & O_ASYNC) != 0);
  EXPECT(inotify_add_watch(fd, folder, IN_DELETE) == 1 && unlink("edge") == 0);
  siginfo_t info;
  EXPECT(sigwaitinfo(&set, &info) == SIGRTMIN + 1);
  printf("signal: input %d, of this descriptor %d\n", info.si_code == POLL_IN, info.si_fd == fd);
  print_next(fd, "after the signal");
  EXPECT(fcntl(fd, F_SETFL, 0) == 0);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    print_next(atoi(argv[1]), "read by another program");
    return 0;
  }
  setvbuf(stdout, NULL, _IONBF, 0);
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  const int fd = inotify_init1(IN_CLOEXEC);
  threads(fd);
  edges(fd);
  processes(fd);
  executions(fd);
  signals(fd);
  char command[256];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  EXPECT(system(command) == 0);
  return 0;
}
