// Semaphores between processes, in shared memory and by name; a ping-pong through them.
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

struct shared {
  sem_t ping, pong;
  int turns[64], count;
};

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "/shared_semaphores_%d", getpid());
  const int memory = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
  EXPECT(memory >= 0 && ftruncate(memory, sizeof(struct shared)) == 0);
  struct shared* const shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  EXPECT(shared != MAP_FAILED && sem_init(&shared->ping, 1, 0) == 0 && sem_init(&shared->pong, 1, 0) == 0);
  sem_t* const named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  EXPECT(named != SEM_FAILED);
  const pid_t child = fork();
  if (child == 0) {
    const int again = shm_open(name, O_RDWR, 0);
    struct shared* const there = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
    EXPECT(there != MAP_FAILED);
    for (int i = 0; i < 20; ++i) {
      EXPECT(sem_wait(&there->ping) == 0);
      there->turns[there->count++] = 2;
      EXPECT(sem_post(&there->pong) == 0);
    }
    sem_t* const mine = sem_open(name, 0);
    EXPECT(mine != SEM_FAILED && sem_post(mine) == 0);
    _exit(0);
  }
  for (int i = 0; i < 20; ++i) {
    shared->turns[shared->count++] = 1;
    EXPECT(sem_post(&shared->ping) == 0 && sem_wait(&shared->pong) == 0);
  }
  EXPECT(sem_wait(named) == 0 && waitpid(child, NULL, 0) == child);
  int in_turn = 0, value;
  for (int i = 0; i < 40; ++i) in_turn += shared->turns[i] == 1 + i % 2;
  EXPECT(sem_getvalue(named, &value) == 0 && sem_trywait(named) == -1 && errno == EAGAIN);
  printf("in turn: %d, left %d\n", in_turn, value);
  EXPECT(sem_unlink(name) == 0 && shm_unlink(name) == 0 && shm_open(name, O_RDWR, 0) == -1 &&
         errno == ENOENT);
  return 0;
}
