// Linux' asynchronous input and output: files, vectors, pipes, sync, polls that are cancelled, eventfd,
// errors, waiting.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

enum { kBlock = 4096, kBlocks = 300 };

static long setup(unsigned n, aio_context_t* context) { return syscall(SYS_io_setup, n, context); }
static long destroy(aio_context_t context) { return syscall(SYS_io_destroy, context); }
static long submit(aio_context_t context, long n, struct iocb** requests) {
  return syscall(SYS_io_submit, context, n, requests);
}
static long get(aio_context_t context, long least, long most, struct io_event* events,
                struct timespec* timeout) {
  return syscall(SYS_io_getevents, context, least, most, events, timeout);
}
static long cancel(aio_context_t context, struct iocb* request) {
  struct io_event unused;
  return syscall(SYS_io_cancel, context, request, &unused);
}

static struct iocb request(int opcode, int fd, const void* buffer, uint64_t length, int64_t offset) {
  return (struct iocb){.aio_data = 7000 + opcode,
                       .aio_lio_opcode = opcode,
                       .aio_fildes = fd,
                       .aio_buf = (uint64_t)buffer,
                       .aio_nbytes = length,
                       .aio_offset = offset};
}

static int new_file(void) {
  char name[] = "/tmp/async_ioXXXXXX";
  const int fd = mkstemp(name);
  EXPECT(fd >= 0 && unlink(name) == 0);
  return fd;
}

// One request, done at once; its result.
static long one(aio_context_t context, struct iocb control) {
  struct iocb* list[1] = {&control};
  struct io_event event;
  if (submit(context, 1, list) != 1) return -10000 - errno;
  EXPECT(get(context, 1, 1, &event, NULL) == 1 && event.data == control.aio_data);
  EXPECT(event.obj == (uint64_t)&control && event.res2 == 0);
  return event.res;
}

static void files(aio_context_t context) {
  const int fd = new_file();
  char text[] = "one two three", back[64] = {0};
  EXPECT(one(context, request(IOCB_CMD_PWRITE, fd, text, 13, 5)) == 13);
  EXPECT(one(context, request(IOCB_CMD_FSYNC, fd, NULL, 0, 0)) == 0);
  EXPECT(one(context, request(IOCB_CMD_FDSYNC, fd, NULL, 0, 0)) == 0);
  EXPECT(one(context, request(IOCB_CMD_PREAD, fd, back, sizeof back, 9)) == 9 &&
         memcmp(back, "two three", 9) == 0);
  EXPECT(one(context, request(IOCB_CMD_PREAD, fd, back, sizeof back, 100)) == 0);
  EXPECT(lseek(fd, 0, SEEK_CUR) == 0);
  struct iovec parts[2] = {{back, 3}, {back + 10, 20}};
  EXPECT(one(context, request(IOCB_CMD_PREADV, fd, parts, 2, 5)) == 13);
  EXPECT(memcmp(back, "one", 3) == 0 && memcmp(back + 10, " two three", 10) == 0);
  parts[0] = (struct iovec){text, 4}, parts[1] = (struct iovec){text + 8, 5};
  EXPECT(one(context, request(IOCB_CMD_PWRITEV, fd, parts, 2, 0)) == 9);
  EXPECT(pread(fd, back, 9, 0) == 9 && memcmp(back, "one three", 9) == 0);
  printf("files: written, read, by vectors, synchronised\n");

  printf("a wrong buffer: %ld\n", one(context, request(IOCB_CMD_PREAD, fd, (void*)8, 4, 0)));
  printf("a negative offset: %ld\n", one(context, request(IOCB_CMD_PREAD, fd, back, 4, -1)));
  printf("an unknown opcode: %ld\n", one(context, request(42, fd, back, 4, 0)));
  printf("to wait for a file: %ld\n", one(context, request(IOCB_CMD_POLL, fd, (void*)POLLIN, 0, 0)));
  printf("no descriptor: %ld\n", one(context, request(IOCB_CMD_PREAD, 999, back, 4, 0)));
  const int read_only = open("/dev/null", O_RDONLY);
  printf("may not be written: %ld\n", one(context, request(IOCB_CMD_PWRITE, read_only, back, 4, 0)));
  struct iocb wrong = request(IOCB_CMD_PREAD, fd, back, 4, 0);
  wrong.aio_reserved2 = 1;
  printf("a reserved field: %ld\n", one(context, wrong));
  EXPECT(close(fd) == 0 && close(read_only) == 0);
}

// Many at once: events have the order of the requests, as files in the page cache complete at once.
static void many(void) {
  aio_context_t context = 0;
  EXPECT(setup(kBlocks, &context) == 0);
  const int fd = new_file();
  static char blocks[kBlocks][kBlock];
  static struct iocb controls[kBlocks];
  static struct iocb* list[kBlocks];
  static struct io_event events[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    memset(blocks[i], i % 251, kBlock);
    controls[i] = request(IOCB_CMD_PWRITE, fd, blocks[i], kBlock, (int64_t)(kBlocks - 1 - i) * kBlock);
    controls[i].aio_data = i;
    list[i] = &controls[i];
  }
  EXPECT(submit(context, kBlocks, list) == kBlocks);
  EXPECT(get(context, kBlocks, kBlocks, events, NULL) == kBlocks);
  long sum = 0;
  for (int i = 0; i < kBlocks; ++i) {
    EXPECT(events[i].res == kBlock);
    sum += events[i].data;
  }
  char byte;
  EXPECT(sum == kBlocks * (kBlocks - 1l) / 2 && pread(fd, &byte, 1, 10 * kBlock) == 1 &&
         byte == (char)((kBlocks - 11) % 251));
  // The second is wrong: the first is begun.
  controls[1].aio_fildes = 999;
  EXPECT(submit(context, 3, list) == 1 && get(context, 1, 3, events, NULL) == 1 && events[0].data == 0);
  EXPECT(close(fd) == 0 && destroy(context) == 0);
  printf("many at once, and those before a wrong one\n");
}

static void simulated(aio_context_t context) {
  int ends[2];
  char back[16] = {0};
  EXPECT(pipe2(ends, O_NONBLOCK) == 0);
  printf("an empty pipe: %ld\n", one(context, request(IOCB_CMD_PREAD, ends[0], back, 8, 0)));
  EXPECT(one(context, request(IOCB_CMD_PWRITE, ends[1], "through", 7, 0)) == 7);
  EXPECT(one(context, request(IOCB_CMD_PREAD, ends[0], back, 16, 0)) == 7 && strcmp(back, "through") == 0);
  printf("the wrong end: %ld\n", one(context, request(IOCB_CMD_PREAD, ends[1], back, 8, 0)));
  printf("a pipe is not synchronised: %ld\n", one(context, request(IOCB_CMD_FSYNC, ends[1], NULL, 0, 0)));

  // A poll waits without blocking others, and signals an eventfd.
  const int counter = eventfd(0, EFD_NONBLOCK);
  struct iocb wait = request(IOCB_CMD_POLL, ends[0], (void*)POLLIN, 0, 0);
  wait.aio_flags = IOCB_FLAG_RESFD, wait.aio_resfd = counter;
  struct iocb* list[2] = {&wait, NULL};
  struct io_event events[2];
  struct timespec soon = {0, 1000000};
  EXPECT(submit(context, 1, list) == 1 && get(context, 1, 1, events, &soon) == 0);
  EXPECT(write(ends[1], "x", 1) == 1);
  struct pollfd ready = {counter, POLLIN, 0};
  EXPECT(poll(&ready, 1, -1) == 1);
  uint64_t told = 0;
  EXPECT(read(counter, &told, sizeof told) == 8 && get(context, 1, 2, events, NULL) == 1);
  printf("a poll: %d, told to the eventfd: %d\n", (int)events[0].res & POLLIN, (int)told);
  EXPECT(read(ends[0], back, 1) == 1);

  EXPECT(submit(context, 1, list) == 1);
  EXPECT(cancel(context, &wait) == -1);
  printf("cancelled: %s", strerrorname_np(errno));
  EXPECT(get(context, 1, 1, events, NULL) == 1);
  EXPECT(cancel(context, &wait) == -1);
  printf(", with result %d; again: %s\n", (int)events[0].res, strerrorname_np(errno));

  wait.aio_resfd = ends[0];
  EXPECT(submit(context, 1, list) == -1);
  printf("not an eventfd: %s\n", strerrorname_np(errno));
  list[0] = NULL;
  EXPECT(submit(context, 1, list) == -1);
  printf("no request there: %s\n", strerrorname_np(errno));
  EXPECT(close(ends[0]) == 0 && close(ends[1]) == 0 && close(counter) == 0);
}

static int waited_on[2];

static void* write_later(void* unused) {
  sleep_ms(20);
  EXPECT(write(waited_on[1], "late", 4) == 4);
  return unused;
}

static void on_alarm(int signal) { (void)signal; }

static void waiting(aio_context_t context) {
  EXPECT(pipe(waited_on) == 0);
  pthread_t writer;
  char back[8] = {0};
  struct io_event events[4];
  EXPECT(pthread_create(&writer, NULL, write_later, NULL) == 0);
  struct iocb wait = request(IOCB_CMD_POLL, waited_on[0], (void*)POLLIN, 0, 0);
  struct iocb* list[1] = {&wait};
  EXPECT(submit(context, 1, list) == 1);
  EXPECT(get(context, 1, 4, events, NULL) == 1 && (events[0].res & POLLIN) != 0);
  EXPECT(pthread_join(writer, NULL) == 0 && read(waited_on[0], back, 4) == 4);

  // A read from a pipe that is not O_NONBLOCK holds io_submit up.
  EXPECT(pthread_create(&writer, NULL, write_later, NULL) == 0);
  EXPECT(one(context, request(IOCB_CMD_PREAD, waited_on[0], back, 8, 0)) == 4 &&
         pthread_join(writer, NULL) == 0);

  struct timespec soon = {0, 5000000};
  const int64_t before = now_ns();
  EXPECT(get(context, 1, 4, events, &soon) == 0 && now_ns() - before >= 5000000);
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  const struct itimerval alarm_soon = {{0, 0}, {0, 10000}};
  EXPECT(setitimer(ITIMER_REAL, &alarm_soon, NULL) == 0);
  EXPECT(get(context, 1, 4, events, NULL) == -1);
  printf("a signal: %s\n", strerrorname_np(errno));
  sigset_t blocked, none;
  sigemptyset(&none), sigemptyset(&blocked), sigaddset(&blocked, SIGALRM);
  EXPECT(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0 && setitimer(ITIMER_REAL, &alarm_soon, NULL) == 0);
  struct {
    const sigset_t* set;
    size_t size;
  } mask = {&none, 8};
  EXPECT(syscall(SYS_io_pgetevents, context, 1, 4, events, NULL, &mask) == -1);
  printf("a signal that only io_pgetevents lets in: %s\n", strerrorname_np(errno));
  EXPECT(sigprocmask(SIG_UNBLOCK, &blocked, NULL) == 0);
  EXPECT(get(context, 2, 1, events, NULL) == -1 && errno == EINVAL &&
         get(context, -1, 1, events, NULL) == -1);
  EXPECT(get(context, 0, 1, events, NULL) == 0);
  EXPECT(close(waited_on[0]) == 0 && close(waited_on[1]) == 0);
}

static void contexts(void) {
  aio_context_t context = 0;
  EXPECT(setup(0, &context) == -1 && errno == EINVAL);
  EXPECT(setup(4, (aio_context_t*)8) == -1 && errno == EFAULT);
  EXPECT(setup(1 << 30, &context) == -1);
  printf("too many: %s\n", strerrorname_np(errno));
  EXPECT(setup(4, &context) == 0 && context != 0);
  const aio_context_t first = context;
  EXPECT(setup(4, &context) == -1 && errno == EINVAL && context == first);
  EXPECT(*(const volatile unsigned*)first || 1);  // libaio looks there
  EXPECT(submit(context, 0, NULL) == 0 && submit(context, -1, NULL) == -1 && errno == EINVAL);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) _exit(submit(context, 0, NULL) == -1 && errno == EINVAL ? 5 : 1);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  printf("a copy of the process has none of them: %d\n", WEXITSTATUS(status));
  EXPECT(destroy(context) == 0 && destroy(context) == -1 && errno == EINVAL);
  EXPECT(get(context, 0, 0, NULL, NULL) == -1 && errno == EINVAL);
}

int main(void) {
  aio_context_t context = 0;
  EXPECT(setup(16, &context) == 0);
  files(context);
  many();
  simulated(context);
  waiting(context);
  EXPECT(destroy(context) == 0);
  contexts();
  return 0;
}
