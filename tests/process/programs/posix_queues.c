// POSIX message queues: priorities, limits, errors, waits with and without a deadline, notification by signal and by
// thread, poll, permissions, and descriptors across fork and exec.
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

static char bytes[8192];
// With the process id: on Linux, other runs of this program may have queues at the same time.
static char name[32], name_a[40], name_b[40];

static int fails(long result, int error) { return result == -1 && errno == error; }

// A queue for at most `most` messages of 64 bytes, already without a name.
static mqd_t make(int flags, long most) {
  struct mq_attr attributes = {.mq_maxmsg = most, .mq_msgsize = 64};
  const mqd_t queue = mq_open(name, O_CREAT | O_EXCL | flags, 0600, &attributes);
  EXPECT(queue >= 0 && mq_unlink(name) == 0);
  return queue;
}

static void put(mqd_t queue, const char* text, unsigned priority) {
  EXPECT(mq_send(queue, text, strlen(text) + 1, priority) == 0);
}

static const char* get(mqd_t queue, unsigned* priority) {
  return mq_receive(queue, bytes, sizeof bytes, priority) >= 0 ? bytes : strerrorname_np(errno);
}

static long count(mqd_t queue) {
  struct mq_attr now;
  EXPECT(mq_getattr(queue, &now) == 0);
  return now.mq_curmsgs;
}

static void names(void) {
  const mqd_t first = mq_open(name_a, O_CREAT | O_RDWR, 0640, NULL);
  EXPECT(first >= 0);
  EXPECT(fails(mq_open(name_a, O_CREAT | O_EXCL | O_RDWR, 0600, NULL), EEXIST));
  EXPECT(fails(mq_open(name_b, O_RDWR), ENOENT) && fails(mq_unlink(name_b), ENOENT));
  EXPECT(fails(mq_open("posix_queues_b", O_CREAT | O_RDWR, 0600, NULL), EINVAL));
  EXPECT(fails(mq_open("/posix/queues", O_CREAT | O_RDWR, 0600, NULL), EACCES));
  EXPECT(fails(mq_open("/", O_CREAT | O_RDWR, 0600, NULL), ENOENT));
  EXPECT(fails(mq_open("/.", O_CREAT | O_RDWR, 0600, NULL), EACCES) && fails(mq_unlink("/.."), EACCES));
  char lengthy[NAME_MAX + 3];
  memset(lengthy, 'x', sizeof lengthy);
  lengthy[0] = '/';
  lengthy[NAME_MAX + 2] = 0;
  EXPECT(fails(mq_open(lengthy, O_CREAT | O_RDWR, 0600, NULL), ENAMETOOLONG) && fails(mq_unlink(lengthy), ENAMETOOLONG));
  lengthy[NAME_MAX + 1] = 0;
  const mqd_t longest = mq_open(lengthy, O_CREAT | O_RDWR, 0600, NULL);
  EXPECT(longest >= 0 && mq_unlink(lengthy) == 0 && mq_close(longest) == 0);
  EXPECT(fails(syscall(SYS_mq_open, NULL, O_RDWR, 0, NULL), EFAULT) && fails(syscall(SYS_mq_unlink, NULL), EFAULT));
  EXPECT(fails(syscall(SYS_mq_open, name_a + 1, O_RDWR, 0, (void*)8), EFAULT));
  EXPECT(fails(mq_open(name_a, O_WRONLY | O_RDWR), EINVAL));

  struct stat status;
  EXPECT(fstat(first, &status) == 0 && (fcntl(first, F_GETFD) & FD_CLOEXEC) != 0);
  printf("mode %o\n", status.st_mode);
  char target[256], link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", first);
  const ssize_t length = readlink(link, target, sizeof target - 1);
  EXPECT(length > 0);
  target[length] = 0;
  EXPECT(strcmp(target, name_a) == 0);
  // The queue outlives its name; the name is free for another queue.
  put(first, "old", 0);
  EXPECT(mq_unlink(name_a) == 0);
  const mqd_t second = mq_open(name_a, O_CREAT | O_EXCL | O_RDONLY | O_NONBLOCK, 0600, NULL);
  EXPECT(second >= 0 && count(first) == 1 && count(second) == 0);
  EXPECT(strcmp(get(second, NULL), "EAGAIN") == 0 && strcmp(get(first, NULL), "old") == 0);
  EXPECT(mq_unlink(name_a) == 0 && mq_close(first) == 0 && mq_close(second) == 0);
  EXPECT(fails(mq_close(first), EBADF));
}

static void attributes(void) {
  struct mq_attr wrong[] = {{.mq_maxmsg = 0, .mq_msgsize = 8}, {.mq_maxmsg = 8, .mq_msgsize = 0},
                            {.mq_maxmsg = -1, .mq_msgsize = 8}, {.mq_maxmsg = 8, .mq_msgsize = -1},
                            {.mq_maxmsg = 1 << 20, .mq_msgsize = 8}, {.mq_maxmsg = 8, .mq_msgsize = 1 << 25}};
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    EXPECT(fails(mq_open(name, O_CREAT | O_RDWR, 0600, &wrong[i]), EINVAL));
  const mqd_t queue = mq_open(name, O_CREAT | O_RDWR | O_NONBLOCK, 0600, NULL);
  struct mq_attr now, before;
  EXPECT(queue >= 0 && mq_unlink(name) == 0 && mq_getattr(queue, &now) == 0);
  printf("default: flags %lo, %ld messages of %ld bytes, %ld queued\n", now.mq_flags, now.mq_maxmsg, now.mq_msgsize,
         now.mq_curmsgs);
  EXPECT(now.mq_flags == O_NONBLOCK && (fcntl(queue, F_GETFL) & O_NONBLOCK) != 0);
  now.mq_flags = 0;
  now.mq_maxmsg = 77;  // ignored
  EXPECT(mq_setattr(queue, &now, &before) == 0 && before.mq_flags == O_NONBLOCK && mq_getattr(queue, &now) == 0);
  EXPECT(now.mq_flags == 0 && now.mq_maxmsg == 10 && (fcntl(queue, F_GETFL) & O_NONBLOCK) == 0);
  now.mq_flags = O_APPEND;
  EXPECT(fails(mq_setattr(queue, &now, NULL), EINVAL) && fails(mq_getattr(-1, &now), EBADF));
  EXPECT(fails(mq_getattr(1, &now), EBADF) && fails(syscall(SYS_mq_getsetattr, queue, NULL, 8), EFAULT));
  EXPECT(fails(syscall(SYS_mq_getsetattr, queue, 8, NULL), EFAULT));
  EXPECT(mq_close(queue) == 0);

  // All queues of a user together may have RLIMIT_MSGQUEUE bytes.
  struct rlimit limit;
  EXPECT(getrlimit(RLIMIT_MSGQUEUE, &limit) == 0);
  mqd_t many[16];
  int made = 0;
  for (; made < 16; ++made) {
    many[made] = mq_open(name, O_CREAT | O_RDWR, 0600, NULL);
    if (many[made] < 0) break;
    mq_unlink(name);
  }
  EXPECT(errno == EMFILE);
  EXPECT(limit.rlim_cur == 819200 && made > 0 && made <= 9);  // 9, if no other program of the user has queues
  while (made > 0) mq_close(many[--made]);
  EXPECT((many[0] = mq_open(name, O_CREAT | O_RDWR, 0600, NULL)) >= 0);
  EXPECT(mq_unlink(name) == 0 && mq_close(many[0]) == 0);
}

static void messages(void) {
  const mqd_t queue = make(O_RDWR | O_NONBLOCK, 4);
  put(queue, "low", 1);
  put(queue, "high", 7);
  put(queue, "high again", 7);
  put(queue, "", 0);
  EXPECT(count(queue) == 4 && fails(mq_send(queue, "full", 5, 31), EAGAIN));
  unsigned priority;
  for (int i = 0; i < 4; ++i) {
    const char* const text = get(queue, &priority);
    printf("'%s' %u, ", text, priority);
  }
  printf("%s\n", get(queue, &priority));
  EXPECT(fails(mq_send(queue, bytes, 65, 0), EMSGSIZE) && fails(mq_send(queue, "", 0, 32768), EINVAL));
  EXPECT(mq_send(queue, bytes, 64, 32767) == 0 && mq_send(queue, bytes, 0, 32767) == 0);
  EXPECT(fails(mq_receive(queue, bytes, 63, NULL), EMSGSIZE) && mq_receive(queue, bytes, 64, NULL) == 64);
  EXPECT(mq_receive(queue, bytes, 64, NULL) == 0 && fails(mq_send(queue, (void*)8, 1, 0), EFAULT));
  put(queue, "lost", 0);
  EXPECT(fails(mq_receive(queue, (void*)8, 64, NULL), EFAULT) && count(queue) == 0);
  EXPECT(fails(mq_send(0, "", 0, 0), EBADF) && fails(mq_receive(-1, bytes, 64, NULL), EBADF));
  EXPECT(fails(write(queue, "x", 1), EINVAL));
  put(queue, "12345", 0);
  EXPECT(read(queue, bytes, sizeof bytes) == 60);
  printf("%.60s", bytes);
  EXPECT(read(queue, bytes, sizeof bytes) == 0);
  EXPECT(mq_close(queue) == 0);

  struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = 8};
  const mqd_t reads = mq_open(name, O_CREAT | O_RDONLY, 0600, &small), writes = mq_open(name, O_WRONLY);
  EXPECT(reads >= 0 && writes >= 0 && mq_unlink(name) == 0);
  EXPECT(fails(mq_send(reads, "", 0, 0), EBADF) && fails(mq_receive(writes, bytes, 8, NULL), EBADF));
  EXPECT(mq_send(writes, "x", 1, 3) == 0 && mq_receive(reads, bytes, 8, &priority) == 1 && priority == 3);
  EXPECT(mq_close(reads) == 0 && mq_close(writes) == 0);
}

static void deadlines(void) {
  const mqd_t queue = make(O_RDWR, 1);
  struct timespec wrong = {0, 1000000000}, past = {1, 0}, soon = in_ms(CLOCK_REALTIME, 30);
  EXPECT(fails(mq_timedreceive(queue, bytes, 64, NULL, &wrong), EINVAL));
  EXPECT(fails(syscall(SYS_mq_timedreceive, queue, bytes, 64L, NULL, 8), EFAULT));
  EXPECT(fails(mq_timedreceive(queue, bytes, 64, NULL, &past), ETIMEDOUT));
  const int64_t before = now_ns();
  EXPECT(fails(mq_timedreceive(queue, bytes, 64, NULL, &soon), ETIMEDOUT) && now_ns() - before >= 29000000);
  EXPECT(mq_timedsend(queue, "x", 2, 0, &past) == 0);
  soon = in_ms(CLOCK_REALTIME, 30);
  EXPECT(fails(mq_timedsend(queue, "y", 2, 0, &soon), ETIMEDOUT) && fails(mq_timedsend(queue, "y", 2, 0, &wrong), EINVAL));
  EXPECT(mq_timedreceive(queue, bytes, 64, NULL, &past) == 2 && *bytes == 'x' && count(queue) == 0);
  EXPECT(mq_close(queue) == 0);
}

static mqd_t shared;

static void* receive_one(void* to) {
  EXPECT(mq_receive(shared, to, 64, NULL) >= 0);
  return NULL;
}

static void* send_one(void* text) {
  put(shared, text, 0);
  return NULL;
}

// The first that waits is served first, also if another thread asks before it runs.
static void waiters(void) {
  shared = make(O_RDWR, 1);
  pthread_t threads[3];
  char got[3][64];
  for (int i = 0; i < 3; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, receive_one, got[i]) == 0);
    sleep_ms(10);
  }
  put(shared, "first", 0);
  put(shared, "second", 0);
  EXPECT(count(shared) == 0);  // handed to the threads that wait
  put(shared, "third", 0);
  for (int i = 0; i < 3; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  printf("%s, %s, %s\n", got[0], got[1], got[2]);

  put(shared, "one", 0);
  static char* const texts[] = {"two", "three", "four"};
  for (int i = 0; i < 3; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, send_one, texts[i]) == 0);
    sleep_ms(10);
  }
  for (int i = 0; i < 4; ++i) printf("%s%s", get(shared, NULL), i < 3 ? ", " : "\n");
  for (int i = 0; i < 3; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  EXPECT(count(shared) == 0 && mq_close(shared) == 0);
}

static volatile sig_atomic_t signals;
static siginfo_t last;
static void on_signal(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  ++signals;
  last = *info;
}

static void handle(int signal, int flags) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
  EXPECT(sigaction(signal, &action, NULL) == 0);
}

static void interruptions(void) {
  const mqd_t queue = make(O_RDWR, 1);
  const struct timespec late = in_ms(CLOCK_REALTIME, 60);
  handle(SIGALRM, 0);
  ualarm(20000, 0);
  EXPECT(fails(mq_receive(queue, bytes, 64, NULL), EINTR) && signals == 1);
  handle(SIGALRM, SA_RESTART);
  ualarm(20000, 0);
  EXPECT(fails(mq_timedreceive(queue, bytes, 64, NULL, &late), ETIMEDOUT) && signals == 2);
  put(queue, "x", 0);
  handle(SIGALRM, 0);
  ualarm(20000, 0);
  EXPECT(fails(mq_send(queue, "y", 2, 0), EINTR) && signals == 3);
  EXPECT(mq_receive(queue, bytes, 64, NULL) == 2 && count(queue) == 0);  // the interrupted message was not sent
  EXPECT(mq_close(queue) == 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int notified;
static void in_thread(union sigval value) {
  pthread_mutex_lock(&lock);
  notified += value.sival_int;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static void notification(void) {
  const mqd_t queue = make(O_RDWR, 4);
  signals = 0;
  handle(SIGRTMIN, 0);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 55};
  EXPECT(mq_notify(queue, &event) == 0 && fails(mq_notify(queue, &event), EBUSY));
  put(queue, "a", 0);
  EXPECT(signals == 1 && last.si_code == SI_MESGQ && last.si_value.sival_int == 55 && last.si_pid == getpid());
  EXPECT(last.si_uid == getuid() && last.si_signo == SIGRTMIN);
  put(queue, "b", 0);
  EXPECT(signals == 1);  // once, and only for a queue that was empty
  EXPECT(mq_notify(queue, &event) == 0);
  put(queue, "c", 0);
  EXPECT(signals == 1);
  for (int i = 0; i < 3; ++i) get(queue, NULL);
  put(queue, "d", 0);
  EXPECT(signals == 2);
  get(queue, NULL);

  // A thread that waits for a message gets it without a notification.
  EXPECT(mq_notify(queue, &event) == 0);
  shared = queue;
  pthread_t waiting;
  char got[64];
  EXPECT(pthread_create(&waiting, NULL, receive_one, got) == 0);
  sleep_ms(10);
  put(queue, "e", 0);
  EXPECT(pthread_join(waiting, NULL) == 0 && *got == 'e' && signals == 2);
  EXPECT(mq_notify(queue, NULL) == 0 && mq_notify(queue, NULL) == 0);
  put(queue, "f", 0);
  get(queue, NULL);
  EXPECT(signals == 2);

  event.sigev_notify = SIGEV_NONE;
  EXPECT(mq_notify(queue, &event) == 0 && fails(mq_notify(queue, &event), EBUSY));
  put(queue, "g", 0);
  get(queue, NULL);
  event.sigev_signo = 65;
  EXPECT(mq_notify(queue, &event) == 0 && mq_notify(queue, NULL) == 0);
  event.sigev_notify = SIGEV_SIGNAL;
  EXPECT(fails(mq_notify(queue, &event), EINVAL) && fails(mq_notify(1, &event), EINVAL));
  event.sigev_signo = SIGRTMIN;
  EXPECT(fails(mq_notify(1, &event), EBADF) && fails(syscall(SYS_mq_notify, queue, 8), EFAULT));
  event.sigev_notify = 17;
  EXPECT(fails(mq_notify(queue, &event), EINVAL));

  // Another process notifies; a child's close keeps the registration, and a close of the owner ends it.
  event.sigev_notify = SIGEV_SIGNAL;
  EXPECT(mq_notify(queue, &event) == 0);
  pid_t child = fork();
  if (child == 0) {
    EXPECT(fails(mq_notify(queue, &event), EBUSY) && mq_notify(queue, NULL) == 0 && mq_close(dup(queue)) == 0);
    put(queue, "h", 0);
    _exit(0);
  }
  int status;
  while (waitpid(child, &status, 0) != child) EXPECT(errno == EINTR);
  EXPECT(status == 0 && signals == 3 && last.si_pid == child && *get(queue, NULL) == 'h');
  EXPECT(mq_notify(queue, &event) == 0 && close(dup(queue)) == 0 && mq_notify(queue, &event) == 0);
  EXPECT(mq_notify(queue, NULL) == 0);

  struct sigevent by_thread = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_thread, .sigev_value.sival_int = 3};
  for (int turn = 1; turn <= 2; ++turn) {
    EXPECT(mq_notify(queue, &by_thread) == 0 && fails(mq_notify(queue, &event), EBUSY));
    put(queue, "i", 0);
    pthread_mutex_lock(&lock);
    while (notified < 3 * turn) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    get(queue, NULL);
  }
  EXPECT(mq_notify(queue, &by_thread) == 0 && mq_notify(queue, NULL) == 0);
  put(queue, "j", 0);
  sleep_ms(10);
  printf("notified %d, %d\n", signals, notified);
  EXPECT(mq_close(queue) == 0);
}

static int ready(mqd_t queue) {
  struct pollfd one = {.fd = queue, .events = POLLIN | POLLOUT};
  EXPECT(poll(&one, 1, 0) >= 0);
  return one.revents;
}

static void polls(void) {
  const mqd_t queue = make(O_RDWR, 2);
  const int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, queue, &event) == 0 && epoll_wait(epoll, &event, 1, 0) == 0);
  EXPECT(ready(queue) == POLLOUT);
  put(queue, "x", 0);
  EXPECT(ready(queue) == (POLLIN | POLLOUT) && epoll_wait(epoll, &event, 1, -1) == 1 && event.events == EPOLLIN);
  EXPECT(epoll_wait(epoll, &event, 1, 0) == 0);
  put(queue, "y", 0);
  EXPECT(ready(queue) == POLLIN);
  const pid_t child = fork();
  if (child == 0) {
    sleep_ms(20);
    EXPECT(*get(queue, NULL) == 'x');
    _exit(0);
  }
  struct pollfd room = {.fd = queue, .events = POLLOUT};
  EXPECT(poll(&room, 1, 10000) == 1 && room.revents == POLLOUT);
  EXPECT(waitpid(child, NULL, 0) == child && close(epoll) == 0 && mq_close(queue) == 0);
}

static void rights(void) {
  const mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0620, NULL);
  EXPECT(queue >= 0);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(setgid(7) == 0 && setuid(7) == 0);
    EXPECT(fails(mq_open(name, O_RDONLY), EACCES) && fails(mq_open(name, O_WRONLY), EACCES));
    EXPECT(fails(syscall(SYS_mq_unlink, name + 1), EPERM) && mq_send(queue, "x", 1, 0) == 0);
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0 && mq_unlink(name) == 0 && mq_close(queue) == 0);
}

int main(void) {
  snprintf(name, sizeof name, "/posix_queues-%d", getpid());
  snprintf(name_a, sizeof name_a, "%s-a", name);
  snprintf(name_b, sizeof name_b, "%s-b", name);
  umask(022);
  names();
  attributes();
  messages();
  deadlines();
  waiters();
  interruptions();
  notification();
  polls();
  if (getuid() == 0) rights();
  printf("done\n");
  return 0;
}
