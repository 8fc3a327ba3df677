// Two programs of one host: named shared memory, memory passed by descriptor, signals to each other, a name without a file.
//   two_programs NAME first | two_programs NAME second
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/process/messages_with_descriptors.h"

struct shared {
  volatile pid_t first;
  volatile int answer;
};

static volatile sig_atomic_t signals;
static void count(int signal) { signals += signal == SIGUSR1; }

static struct shared* map(int fd) {
  void* const memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT(memory != MAP_FAILED);
  return memory;
}

static void first(const char* name, const struct sockaddr_un* address) {
  const struct sigaction action = {.sa_handler = count};
  sigset_t usr1, before;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0 && sigprocmask(SIG_BLOCK, &usr1, &before) == 0);
  const int named = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
  EXPECT(named >= 0 && ftruncate(named, sizeof(struct shared)) == 0);
  struct shared* const shared = map(named);
  shared->first = getpid();
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  EXPECT(bind(listener, (const struct sockaddr*)address, sizeof *address) == 0 && listen(listener, 1) == 0);
  const int other = accept(listener, NULL, NULL);
  const struct received got = receive_descriptors(other, 63, 1, 0);
  struct shared* const passed = map(got.fds[0]);
  while (signals == 0) sigsuspend(&before);
  printf("first: \"%s\", %d by name, %d by descriptor\n", got.text, shared->answer, passed->answer);
  passed->answer = 3;
  EXPECT(write(other, "end", 3) == 3 && shm_unlink(name) == 0);
}

static void second(const char* name, const struct sockaddr_un* address) {
  const int other = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  while (connect(other, (const struct sockaddr*)address, sizeof *address) != 0) {
    EXPECT(errno == ECONNREFUSED);
    sleep_ms(5);
  }
  struct shared* const shared = map(shm_open(name, O_RDWR, 0));
  const int fd = memfd_create("passed", 0);
  EXPECT(ftruncate(fd, sizeof(struct shared)) == 0);
  struct shared* const passed = map(fd);
  EXPECT(send_descriptors(other, "memory", &fd, 1) == 6);
  shared->answer = 1;
  passed->answer = 2;
  EXPECT(kill(shared->first, SIGUSR1) == 0);
  char bytes[8];
  EXPECT(read(other, bytes, 8) == 3);
  printf("second: %d\n", passed->answer);
}

int main(int argc, char** argv) {
  EXPECT(argc == 3);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", argv[1]);
  (strcmp(argv[2], "first") == 0 ? first : second)(argv[1], &address);
  return 0;
}
