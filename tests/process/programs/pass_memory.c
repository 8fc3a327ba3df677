// Memory shared by descriptor: a memfd passed between processes over a named socket is mapped by both; a
// process that dies with a file in flight, and one that is copied with it.
#include <signal.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/messages_with_descriptors.h"

enum { kSize = 8192 };

static struct sockaddr_un name_of(const char* name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  return address;
}

static int shared_memory(volatile char** memory) {
  const int fd = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT(ftruncate(fd, kSize) == 0);
  *memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT(*memory != MAP_FAILED);
  return fd;
}

// Like a compositor's client: makes the memory, passes it, fills it on request.
static int client(void) {
  volatile char* memory;
  const int fd = shared_memory(&memory), server = socket(AF_UNIX, SOCK_STREAM, 0);
  const struct sockaddr_un address = name_of("compositor");
  EXPECT(connect(server, (const struct sockaddr*)&address, sizeof address) == 0);
  EXPECT(send_descriptors(server, "surface", &fd, 1) == 7 && close(fd) == 0);
  char byte;
  for (int frame = 0; frame < 3; ++frame) {
    EXPECT(read(server, &byte, 1) == 1);
    memory[frame * 4000] = (char)('a' + frame);
    EXPECT(write(server, "f", 1) == 1);
  }
  EXPECT(read(server, &byte, 1) == 1 && memory[kSize - 1] == 'z');
  return 0;
}

static void between_processes(void) {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  const struct sockaddr_un address = name_of("compositor");
  EXPECT(bind(listener, (const struct sockaddr*)&address, sizeof address) == 0 && listen(listener, 1) == 0);
  const pid_t child = fork();
  if (child == 0) _exit(client());
  const int peer = accept(listener, NULL, NULL);
  const struct received got = receive_descriptors(peer, 63, 1, MSG_CMSG_CLOEXEC);
  printf("%s: descriptor %d\n", got.text, got.fds[0]);
  char* memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, got.fds[0], 0);
  EXPECT(memory != MAP_FAILED);
  char byte;
  for (int frame = 0; frame < 3; ++frame) {
    EXPECT(write(peer, "n", 1) == 1 && read(peer, &byte, 1) == 1);
    printf("frame %d: %c\n", frame, memory[frame * 4000]);
  }
  memory[kSize - 1] = 'z';
  EXPECT(write(peer, "e", 1) == 1);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  close(peer), close(listener), close(got.fds[0]);
}

// The sender ends, killed or not, before the file is received: it arrives nevertheless, at the first receiver.
static void after_the_senders_death(void) {
  int pair[2], ready[2];
  EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0 && pipe(ready) == 0);
  const pid_t sender = fork();
  if (sender == 0) {
    volatile char* memory;
    const int fd = shared_memory(&memory);
    memory[0] = 'l';
    EXPECT(send_descriptors(pair[0], "legacy", &fd, 1) == 6 && send_descriptors(pair[0], "second", &fd, 1) == 6);
    EXPECT(write(ready[1], "r", 1) == 1);
    pause();
  }
  char byte;
  int status;
  EXPECT(read(ready[0], &byte, 1) == 1 && kill(sender, SIGKILL) == 0);
  EXPECT(waitpid(sender, &status, 0) == sender && WTERMSIG(status) == SIGKILL);
  const pid_t copy = fork();
  if (copy == 0) {
    const struct received got = receive_descriptors(pair[1], 63, 1, 0);
    EXPECT(pread(got.fds[0], &byte, 1, 0) == 1 && pwrite(got.fds[0], "c", 1, 0) == 1);
    printf("in the copy, %s: %d bytes, %c\n", got.text, (int)lseek(got.fds[0], 0, SEEK_END), byte);
    fflush(stdout);
    _exit(0);
  }
  EXPECT(waitpid(copy, &status, 0) == copy && status == 0);
  const struct received got = receive_descriptors(pair[1], 63, 1, 0);
  EXPECT(pread(got.fds[0], &byte, 1, 0) == 1);
  printf("here, %s: %c, position %d\n", got.text, byte, (int)lseek(got.fds[0], 0, SEEK_CUR));
  const int next = dup(0);
  EXPECT(next == got.fds[0] + 1);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  between_processes();
  after_the_senders_death();
  return 0;
}
