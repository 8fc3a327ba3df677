// System V messages: by type, too long, no space, no message, queues removed while processes wait.
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"

struct message {
  long type;
  char text[8192];
};
static struct message message;

static int fails(long result, int error) { return result == -1 && errno == error; }

static void put(int id, long type, const char* text) {
  message.type = type;
  strcpy(message.text, text);
  EXPECT(msgsnd(id, &message, strlen(text) + 1, 0) == 0);
}

static const char* get(int id, long type, int flags) {
  memset(&message, 0, sizeof message);
  const long n = msgrcv(id, &message, sizeof message.text, type, flags);
  return n >= 0 ? message.text : strerrorname_np(errno);
}

static int child_ends(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void types(void) {
  const int id = msgget(IPC_PRIVATE, 0600);
  put(id, 5, "five");
  put(id, 2, "two");
  put(id, 9, "nine");
  put(id, 2, "two again");
  struct msqid_ds state;
  EXPECT(msgctl(id, IPC_STAT, &state) == 0 && state.msg_qnum == 4 && state.msg_lspid == getpid());
  printf("%lu bytes of %lu\n", state.__msg_cbytes, state.msg_qbytes);
  printf("%s, ", get(id, 2, 0));
  printf("%s, ", get(id, -6, 0));
  printf("%s, ", get(id, 5, MSG_EXCEPT));
  printf("%s, ", get(id, 7, IPC_NOWAIT));
  printf("%s, ", get(id, 0, 0));
  printf("%s\n", get(id, 0, IPC_NOWAIT));
  put(id, 1, "something long");
  EXPECT(fails(msgrcv(id, &message, 5, 0, 0), E2BIG));
  EXPECT(msgrcv(id, &message, 5, 0, MSG_NOERROR) == 5 && memcmp(message.text, "somet", 5) == 0);
  message.type = 0;
  EXPECT(fails(msgsnd(id, &message, 1, 0), EINVAL));
  message.type = 1;
  EXPECT(fails(msgsnd(id, &message, 8193, 0), EINVAL) && fails(msgsnd(id, (void*)8, 1, 0), EFAULT));
  EXPECT(msgctl(id, IPC_RMID, NULL) == 0 && fails(msgsnd(id, &message, 1, 0), EINVAL));
}

static void waiting(void) {
  const int id = msgget(IPC_PRIVATE, 0600);
  pid_t child = fork();
  if (child == 0) {
    put(id, 3, "from the child");
    _exit(strcmp(get(id, 4, 0), "to the child") == 0 ? 6 : 1);
  }
  EXPECT(strcmp(get(id, 3, 0), "from the child") == 0);
  put(id, 4, "to the child");
  EXPECT(child_ends(child) == 6);
  // Two messages of the maximum length fill the queue.
  message.type = 1;
  EXPECT(msgsnd(id, &message, 8192, 0) == 0 && msgsnd(id, &message, 8192, 0) == 0);
  EXPECT(fails(msgsnd(id, &message, 1, IPC_NOWAIT), EAGAIN));
  child = fork();
  if (child == 0) {
    EXPECT(msgsnd(id, &message, 100, 0) == 0);
    _exit(8);
  }
  sleep_ms(20);
  EXPECT(msgrcv(id, &message, 8192, 0, 0) == 8192 && child_ends(child) == 8);
  EXPECT(msgrcv(id, &message, 8192, 0, 0) == 8192 && msgrcv(id, &message, 8192, 0, 0) == 100);
  child = fork();
  if (child == 0) _exit(fails(msgrcv(id, &message, 8192, 0, 0), EIDRM) ? 9 : 1);
  sleep_ms(20);
  EXPECT(msgctl(id, IPC_RMID, NULL) == 0 && child_ends(child) == 9);
  printf("waiting: for a message, for room, for nothing\n");
}

int main(void) {
  types();
  waiting();
  FILE* const file = fopen("/proc/sysvipc/msg", "r");
  char line[256];
  EXPECT(file != NULL && fgets(line, sizeof line, file) != NULL);
  printf("%s", line);
  return 0;
}
