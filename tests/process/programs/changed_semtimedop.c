// semtimedop: another thread changes the operations and the time limit while the call waits.
#include <sys/sem.h>

#include "tests/process/changed_meanwhile.h"

static int set;
static struct sembuf operations[2];
static struct timespec limit;

static void change_and_raise(void) {
  operations[0] = (struct sembuf){9, -1, 0};
  operations[1] = (struct sembuf){1, 5, 0};
  limit = (struct timespec){-1, 0};
  EXPECT(semctl(set, 0, SETVAL, 3) == 0);
}

static void change_limit(void) {
  operations[0].sem_op = 0;
  limit.tv_sec = 1000;
}

static void wait_for(const char* what, void (*function)(void), struct timespec given) {
  struct change change;
  limit = given;
  operations[0] = (struct sembuf){0, -2, 0};
  operations[1] = (struct sembuf){1, 1, 0};
  EXPECT(semctl(set, 0, SETVAL, 0) == 0 && semctl(set, 1, SETVAL, 0) == 0);
  const pthread_t thread = change_meanwhile(&change, function);
  const int result = semtimedop(set, operations, 2, &limit);
  printf("%s: %d %s, left %d %d\n", what, result, strerrorname_np(result == 0 ? 0 : errno),
         semctl(set, 0, GETVAL), semctl(set, 1, GETVAL));
  EXPECT(pthread_join(thread, NULL) == 0);
}

int main(void) {
  set = semget(IPC_PRIVATE, 2, 0600);
  EXPECT(set >= 0);
  wait_for("raised", change_and_raise, (struct timespec){1000, 0});
  wait_for("timed out", change_limit, (struct timespec){0, 300000000});
  EXPECT(semctl(set, 0, IPC_RMID) == 0);
  return 0;
}
