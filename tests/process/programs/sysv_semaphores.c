// System V semaphores: several operations or none, waiting for a value, for zero and with a timeout, undo at
// the end of a process, sets that are removed while processes wait.
#include <pthread.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

union semun {
  int val;
  struct semid_ds* buf;
  unsigned short* array;
  struct seminfo* info;
};

static int fails(int result, int error) { return result == -1 && errno == error; }

static int value(int id, int number) { return semctl(id, number, GETVAL); }

static int change(int id, unsigned short number, short by, short flags) {
  struct sembuf operation = {number, by, flags};
  return semop(id, &operation, 1);
}

static int child_ends(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void operations(void) {
  const int id = semget(IPC_PRIVATE, 3, 0600);
  EXPECT(id >= 0 && value(id, 0) == 0 && value(id, 2) == 0);
  unsigned short values[3] = {1, 2, 3};
  EXPECT(semctl(id, 0, SETALL, (union semun){.array = values}) == 0);
  struct sembuf several[3] = {{0, -1, IPC_NOWAIT}, {1, 5, 0}, {2, -4, IPC_NOWAIT}};
  EXPECT(fails(semop(id, several, 3), EAGAIN) && value(id, 0) == 1 && value(id, 1) == 2);
  several[2].sem_op = -3;
  EXPECT(semop(id, several, 3) == 0);
  memset(values, 0xff, sizeof values);
  EXPECT(semctl(id, 0, GETALL, (union semun){.array = values}) == 0);
  printf("operations: %d %d %d\n", values[0], values[1], values[2]);
  EXPECT(semctl(id, 1, GETPID) == getpid());
  EXPECT(change(id, 0, 0, 0) == 0 && fails(change(id, 1, 0, IPC_NOWAIT), EAGAIN));
  EXPECT(fails(change(id, 3, 1, 0), EFBIG) && change(id, 0, 32767, 0) == 0 && fails(change(id, 0, 1, 0), ERANGE));
  EXPECT(fails(semctl(id, 0, SETVAL, (union semun){.val = 32768}), ERANGE) && fails(value(id, 3), EINVAL));
  EXPECT(fails(semop(id, several, 0), EINVAL) && fails(semop(id, several, 501), E2BIG));
  EXPECT(fails(semget(IPC_PRIVATE, 0, 0600), EINVAL) && fails(semget(IPC_PRIVATE, 32001, 0600), EINVAL));
  struct semid_ds state;
  EXPECT(semctl(id, 0, IPC_STAT, (union semun){.buf = &state}) == 0 && state.sem_nsems == 3 && state.sem_otime != 0);
  state.sem_perm.mode = 0640;
  EXPECT(semctl(id, 0, IPC_SET, (union semun){.buf = &state}) == 0);
  EXPECT(fails(semctl(id, 0, IPC_SET, (union semun){.buf = (void*)8}), EFAULT));
  EXPECT(semctl(id, 0, IPC_STAT, (union semun){.buf = &state}) == 0 && (state.sem_perm.mode & 0777) == 0640);
  EXPECT(semctl(id, 0, IPC_RMID) == 0 && fails(value(id, 0), EINVAL));
}

static void* wait_for_one(void* id) {
  EXPECT(change(*(int*)id, 0, -1, 0) == 0);
  return NULL;
}

static void waiting(void) {
  int id = semget(IPC_PRIVATE, 2, 0600);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, wait_for_one, &id);
  sleep_ms(20);
  EXPECT(semctl(id, 0, GETNCNT) == 3 && semctl(id, 0, GETZCNT) == 0);
  EXPECT(change(id, 0, 3, 0) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  EXPECT(value(id, 0) == 0 && semctl(id, 0, GETNCNT) == 0);
  struct sembuf one = {0, -1, 0};
  const struct timespec while_ = {0, 30000000};
  const int64_t start = now_ns();
  EXPECT(fails(semtimedop(id, &one, 1, &while_), EAGAIN));
  const int64_t waited = now_ns() - start;
  EXPECT(waited >= 30000000 && waited < 3000000000);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(change(id, 0, 2, 0) == 0);
    struct sembuf zero[2] = {{0, 0, 0}, {1, 1, 0}};
    EXPECT(semop(id, zero, 2) == 0);
    _exit(3);
  }
  sleep_ms(20);
  EXPECT(semctl(id, 0, GETZCNT) == 1 && value(id, 1) == 0);
  EXPECT(change(id, 0, -2, 0) == 0 && child_ends(child) == 3 && value(id, 1) == 1);
  EXPECT(semctl(id, 0, IPC_RMID) == 0);
  printf("waiting: for more, for zero, for a while\n");
}

static void on_alarm(int signal) { (void)signal; }

static void interrupted(void) {
  const int id = semget(IPC_PRIVATE, 1, 0600);
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  alarm(1);
  EXPECT(fails(change(id, 0, -1, 0), EINTR));
  const pid_t child = fork();
  if (child == 0) _exit(fails(change(id, 0, -1, 0), EIDRM) ? 4 : 1);
  sleep_ms(20);
  EXPECT(semctl(id, 0, IPC_RMID) == 0 && child_ends(child) == 4);
  printf("interrupted: never restarted, and told of the removal\n");
}

static void undoing(void) {
  const int id = semget(IPC_PRIVATE, 2, 0600);
  EXPECT(semctl(id, 0, SETVAL, (union semun){.val = 10}) == 0);
  pid_t child = fork();
  if (child == 0) {
    EXPECT(change(id, 0, -4, SEM_UNDO) == 0 && change(id, 0, -1, 0) == 0 && change(id, 1, 2, SEM_UNDO) == 0);
    EXPECT(value(id, 0) == 5 && value(id, 1) == 2);
    _exit(0);
  }
  EXPECT(child_ends(child) == 0);
  printf("undoing: %d %d\n", value(id, 0), value(id, 1));
  child = fork();
  if (child == 0) {
    EXPECT(change(id, 0, -4, SEM_UNDO) == 0);
    raise(SIGKILL);
  }
  EXPECT(waitpid(child, NULL, 0) == child && value(id, 0) == 9);
  child = fork();
  if (child == 0) {
    EXPECT(change(id, 0, -4, SEM_UNDO) == 0 && semctl(id, 0, SETVAL, (union semun){.val = 1}) == 0);
    _exit(0);
  }
  EXPECT(child_ends(child) == 0 && value(id, 0) == 1);
  EXPECT(semctl(id, 0, IPC_RMID) == 0);
}

int main(void) {
  operations();
  waiting();
  interrupted();
  undoing();
  FILE* const file = fopen("/proc/sysvipc/sem", "r");
  char line[256];
  EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL);
  printf("%s", line);
  return 0;
}
