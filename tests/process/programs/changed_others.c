// Other calls that wait: another thread changes their arguments in memory meanwhile.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/process/changed_meanwhile.h"

static struct change change;
static pthread_t main_thread;
static int queue, set, kept[2];
static struct {
  long type;
  char text[8];
} message;
static struct sembuf operations[1];
static sigset_t mask;
static volatile sig_atomic_t handled;
static char path[64];
static struct flock lock;

static void on_signal(int signal) { handled = signal; }

static void change_message(void) {
  message.type = 99;
  memcpy(message.text, "changed", 8);
  char bytes[16384];
  EXPECT(msgrcv(queue, bytes, sizeof bytes - sizeof(long), 5, MSG_NOERROR) > 0);
}

static void change_operation(void) {
  operations[0] = (struct sembuf){1, -1, 0};
  EXPECT(semctl(set, 0, SETVAL, 3) == 0);
}

static void change_mask(void) {
  sigfillset(&mask);
  EXPECT(pthread_kill(main_thread, SIGUSR1) == 0);
}

static void change_wanted(void) {
  sigemptyset(&mask);
  EXPECT(pthread_kill(main_thread, SIGUSR1) == 0);
}

static void change_path(void) {
  char own[64];
  strcpy(own, path);
  strcpy(path, "nothing");
  const int fd = open(own, O_WRONLY);
  EXPECT(fd >= 0 && write(fd, "z", 1) == 1 && close(fd) == 0);
}

static void change_lock(void) {
  lock.l_type = 77;
  EXPECT(write(kept[1], "x", 1) == 1);
}

static void wait_for_message(void) {
  queue = msgget(IPC_PRIVATE, 0600);
  EXPECT(queue >= 0);
  struct {
    long type;
    char text[8000];
  } large = {.type = 5};
  int sent = 0;
  while (msgsnd(queue, &large, sizeof large.text, IPC_NOWAIT) == 0) ++sent;
  while (msgsnd(queue, &large, sizeof message.text - 1, IPC_NOWAIT) == 0) ++sent;
  EXPECT(errno == EAGAIN && sent > 0);
  message.type = 1;
  memcpy(message.text, "as sent", 8);
  const pthread_t thread = change_meanwhile(&change, change_message);
  const int result = msgsnd(queue, &message, sizeof message.text, 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  memset(&message, 0, sizeof message);
  EXPECT(msgrcv(queue, &message, sizeof message.text, 1, IPC_NOWAIT) == sizeof message.text);
  printf("msgsnd: %d, type %ld, \"%s\"\n", result, message.type, message.text);
  EXPECT(msgctl(queue, IPC_RMID, NULL) == 0);
}

static void wait_for_semaphore(void) {
  set = semget(IPC_PRIVATE, 2, 0600);
  EXPECT(set >= 0);
  operations[0] = (struct sembuf){0, -2, 0};
  const pthread_t thread = change_meanwhile(&change, change_operation);
  const int result = semop(set, operations, 1);
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("semop: %d, left %d %d\n", result, semctl(set, 0, GETVAL), semctl(set, 1, GETVAL));
  EXPECT(semctl(set, 0, IPC_RMID) == 0);
}

static void wait_with_masks(void) {
  const struct sigaction action = {.sa_handler = on_signal};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
  const int epoll = epoll_create1(0);
  struct epoll_event event;
  EXPECT(epoll >= 0);
  sigemptyset(&mask);
  pthread_t thread = change_meanwhile(&change, change_mask);
  int result = epoll_pwait(epoll, &event, 1, 20000, &mask);
  printf("epoll_pwait: %d %s, handled %d\n", result, strerrorname_np(errno), handled == SIGUSR1);
  EXPECT(pthread_join(thread, NULL) == 0 && close(epoll) == 0);

  handled = 0;
  sigemptyset(&mask);
  thread = change_meanwhile(&change, change_mask);
  result = sigsuspend(&mask);
  printf("sigsuspend: %d %s, handled %d\n", result, strerrorname_np(errno), handled == SIGUSR1);
  EXPECT(pthread_join(thread, NULL) == 0);

  mask = blocked;
  thread = change_meanwhile(&change, change_wanted);
  siginfo_t info;
  printf("sigwaitinfo: %d\n", sigwaitinfo(&mask, &info) == SIGUSR1);
  EXPECT(pthread_join(thread, NULL) == 0);
}

static void wait_for_partner(void) {
  char folder[] = "/tmp/changed_XXXXXX", byte = 0;
  EXPECT(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/fifo", folder);
  char again[64];
  strcpy(again, path);
  EXPECT(mkfifo(path, 0600) == 0);
  pthread_t thread = change_meanwhile(&change, change_path);
  const int fd = open(path, O_RDONLY);
  printf("open of a named pipe: %s\n", fd >= 0 ? "met" : strerrorname_np(errno));
  EXPECT(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'z');
  EXPECT(pthread_join(thread, NULL) == 0 && close(fd) == 0 && unlink(again) == 0);

  snprintf(again, sizeof again, "%s/locked", folder);
  const int file = open(again, O_RDWR | O_CREAT, 0600);
  int ready[2];
  EXPECT(file >= 0 && pipe(kept) == 0 && pipe(ready) == 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    struct flock own = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    EXPECT(fcntl(file, F_SETLK, &own) == 0 && write(ready[1], "r", 1) == 1 && read(kept[0], &byte, 1) == 1);
    _exit(0);
  }
  EXPECT(child > 0 && read(ready[0], &byte, 1) == 1);
  lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
  thread = change_meanwhile(&change, change_lock);
  const int result = fcntl(file, F_SETLKW, &lock);
  printf("fcntl that waits for a lock: %d %s\n", result, strerrorname_np(result < 0 ? errno : 0));
  EXPECT(pthread_join(thread, NULL) == 0 && waitpid(child, NULL, 0) == child);
  EXPECT(unlink(again) == 0 && rmdir(folder) == 0);
}

int main(void) {
  main_thread = pthread_self();
  wait_for_message();
  wait_for_semaphore();
  wait_with_masks();
  wait_for_partner();
  return 0;
}
