// System V shared memory: keys and ids, attaching, removed segments, permissions, limits.
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

static struct shmid_ds state_of(int id) {
  struct shmid_ds state;
  EXPECT(shmctl(id, IPC_STAT, &state) == 0);
  return state;
}

static int fails(int result, int error) { return result == -1 && errno == error; }
static int refused(void* address, int error) { return address == (void*)-1 && errno == error; }

static int child_ends(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void keys(void) {
  const key_t key = (key_t)(0x51000000 | (getpid() & 0xffff));
  EXPECT(fails(shmget(key, 4096, 0), ENOENT));
  const int id = shmget(key, 5000, IPC_CREAT | IPC_EXCL | 0640);
  EXPECT(id >= 0);
  EXPECT(shmget(key, 0, 0) == id && shmget(key, 5000, IPC_CREAT | 0600) == id);
  EXPECT(fails(shmget(key, 5001, 0), EINVAL));
  EXPECT(fails(shmget(key, 5000, IPC_CREAT | IPC_EXCL), EEXIST));
  EXPECT(fails(shmget(IPC_PRIVATE, 0, 0600), EINVAL));
  const int other = shmget(IPC_PRIVATE, 1, 0600), third = shmget(IPC_PRIVATE, 1, 0600);
  EXPECT(other >= 0 && third >= 0 && other != third && other != id);
  const struct shmid_ds state = state_of(id);
  EXPECT(state.shm_perm.__key == key && state.shm_segsz == 5000 && (state.shm_perm.mode & 0777) == 0640);
  EXPECT(state.shm_cpid == getpid() && state.shm_lpid == 0 && state.shm_nattch == 0);
  EXPECT(state.shm_atime == 0 && state.shm_dtime == 0 && state.shm_ctime != 0);
  EXPECT(shmctl(third, IPC_RMID, NULL) == 0 && shmctl(other, IPC_RMID, NULL) == 0 && shmctl(id, IPC_RMID, NULL) == 0);
  EXPECT(fails(shmctl(id, IPC_RMID, NULL), EINVAL) && fails(shmget(key, 1, 0), ENOENT));
  printf("keys: as asked\n");
}

static void sharing(void) {
  const int id = shmget(IPC_PRIVATE, 3 * 4096, IPC_CREAT | 0600);
  char* const memory = shmat(id, NULL, 0);
  EXPECT(memory != (void*)-1 && memory[0] == 0 && memory[3 * 4096 - 1] == 0);
  char* const again = shmat(id, NULL, SHM_RDONLY);
  EXPECT(again != memory && state_of(id).shm_nattch == 2 && state_of(id).shm_lpid == getpid());
  strcpy(memory, "from the parent");
  EXPECT(strcmp(again, "from the parent") == 0);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(state_of(id).shm_nattch == 4);
    EXPECT(strcmp(memory, "from the parent") == 0);
    EXPECT(shmdt(again) == 0 && state_of(id).shm_nattch == 3);
    strcpy(memory + 4096, "from the child");
    _exit(7);
  }
  EXPECT(child_ends(child) == 7);
  EXPECT(strcmp(again + 4096, "from the child") == 0 && state_of(id).shm_nattch == 2);
  EXPECT(shmdt(again) == 0 && fails(shmdt(again), EINVAL) && fails(shmdt(memory + 1), EINVAL));
  EXPECT(shmctl(id, IPC_RMID, NULL) == 0);
  const struct shmid_ds doomed = state_of(id);
  EXPECT((doomed.shm_perm.mode & 01000) != 0 && doomed.shm_nattch == 1 && doomed.shm_perm.__key == IPC_PRIVATE);
  char* const late = shmat(id, NULL, 0);
  EXPECT(late != (void*)-1 && strcmp(late, "from the parent") == 0);
  EXPECT(shmdt(late) == 0 && shmdt(memory) == 0);
  struct shmid_ds gone;
  EXPECT(fails(shmctl(id, IPC_STAT, &gone), EINVAL) && refused(shmat(id, NULL, 0), EINVAL));
  printf("sharing: until the last has let go\n");
}

// Two processes that spin on each other's words without calls.
static void watching(void) {
  const int id = shmget(IPC_PRIVATE, 4096, 0600);
  volatile int* const words = shmat(id, NULL, 0);
  const pid_t child = fork();
  for (int i = 1; i <= 100; ++i) {
    if (child == 0) {
      while (words[0] != i) {
      }
      words[16] = i;
    } else {
      words[0] = i;
      while (words[16] != i) {
      }
    }
  }
  if (child == 0) _exit(0);
  EXPECT(child_ends(child) == 0 && shmctl(id, IPC_RMID, NULL) == 0 && shmdt((void*)words) == 0);
  printf("watching: 100 times there and back\n");
}

static void addresses(void) {
  const int id = shmget(IPC_PRIVATE, 2 * 4096, 0600);
  char* const free_place = mmap(NULL, 16 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(refused(shmat(id, free_place, 0), EINVAL));
  EXPECT(shmat(id, free_place, SHM_REMAP) == free_place);
  EXPECT(shmdt(free_place) == 0);
  EXPECT(munmap(free_place, 16 * 4096) == 0);
  EXPECT(refused(shmat(id, free_place + 5, 0), EINVAL));
  EXPECT(shmat(id, free_place + 5, SHM_RND) == free_place);
  EXPECT(refused(shmat(id, NULL, SHM_REMAP), EINVAL) && refused(shmat(-1, NULL, 0), EINVAL));
  free_place[4096] = 1;
  EXPECT(shmctl(id, IPC_RMID, NULL) == 0 && shmdt(free_place) == 0);
  printf("addresses: chosen, rounded, replaced\n");
}

static void permissions(void) {
  const int id = shmget(IPC_PRIVATE, 4096, 0600);
  struct shmid_ds state = state_of(id);
  state.shm_perm.mode = 0400;
  EXPECT(shmctl(id, IPC_SET, &state) == 0 && (state_of(id).shm_perm.mode & 0777) == 0400);
  EXPECT(shmctl(id, SHM_LOCK, NULL) == 0 && (state_of(id).shm_perm.mode & 02000) != 0);
  EXPECT(shmctl(id, SHM_UNLOCK, NULL) == 0 && (state_of(id).shm_perm.mode & 02000) == 0);
  const void* const readable = shmat(id, NULL, SHM_RDONLY);
  EXPECT(readable != (void*)-1 && shmdt(readable) == 0);
  EXPECT(fails(shmctl(id, 77, NULL), EINVAL) && fails(shmctl(id, IPC_STAT, (void*)8), EFAULT));
  EXPECT(shmctl(id, IPC_RMID, NULL) == 0);
  struct shminfo limits;
  EXPECT(shmctl(0, IPC_INFO, (struct shmid_ds*)&limits) >= 0);
  printf("limits: at least %lu bytes, %lu segments\n", limits.shmmin, limits.shmmni);
  const pid_t child = fork();
  if (child == 0) {  // without the permission to execute
    EXPECT(geteuid() != 0 || setresuid(1234, 1234, 1234) == 0);
    const int own = shmget(IPC_PRIVATE, 4096, 0600);
    EXPECT(own >= 0 && refused(shmat(own, NULL, SHM_EXEC), EACCES) && shmctl(own, IPC_RMID, NULL) == 0);
    _exit(5);
  }
  EXPECT(child_ends(child) == 5);
}

// Pages of all segments. Other programs of the machine may have made one at the same time.
static void totals(void) {
  for (int tries = 0; tries < 20; ++tries) {
    struct shm_info before, after;
    EXPECT(shmctl(0, SHM_INFO, (struct shmid_ds*)&before) >= 0);
    const int id = shmget(IPC_PRIVATE, 5000, 0600);
    EXPECT(shmctl(0, SHM_INFO, (struct shmid_ds*)&after) >= 0 && shmctl(id, IPC_RMID, NULL) == 0);
    if (after.used_ids != before.used_ids + 1) continue;
    EXPECT(before.used_ids != 0 || before.shm_tot == 0);
    printf("5000 bytes: %lu pages\n", after.shm_tot - before.shm_tot);
    return;
  }
}

static void listing(void) {
  const int id = shmget(IPC_PRIVATE, 12345, 0604);
  FILE* const file = fopen("/proc/sysvipc/shm", "r");
  char line[512];
  EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL);
  printf("%s", line);
  int found = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    int key, its;
    unsigned mode;
    unsigned long size;
    EXPECT(sscanf(line, "%d %d %o %lu", &key, &its, &mode, &size) == 4);
    if (its == id) found += key == 0 && mode == 0604 && size == 12345;
  }
  fclose(file);
  EXPECT(found == 1 && shmctl(id, IPC_RMID, NULL) == 0);
}

int main(int count, char** words) {
  if (count > 1) {  // after exec nothing is attached
    EXPECT(state_of(atoi(words[1])).shm_nattch == 1);
    return 5;
  }
  keys();
  sharing();
  watching();
  addresses();
  permissions();
  totals();
  listing();
  const int id = shmget(IPC_PRIVATE, 4096, 0600);
  EXPECT(shmat(id, NULL, 0) != (void*)-1);
  const pid_t child = fork();
  if (child == 0) {
    char number[16];
    snprintf(number, sizeof number, "%d", id);
    execl("/proc/self/exe", words[0], number, NULL);
  }
  EXPECT(child_ends(child) == 5 && shmctl(id, IPC_RMID, NULL) == 0);
  printf("exec: let go\n");
  return 0;
}
