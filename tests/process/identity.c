// Information that a program can get about itself.
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "expect.h"

extern char** environ;

static void* other_thread(void* result) {
  *(long*)result = syscall(SYS_gettid);
  return (void*)(intptr_t)getpid();
}

int main(void) {
  EXPECT(getpid() == syscall(SYS_gettid));
  EXPECT(getppid() > 0 && getppid() != getpid());
  pthread_t thread;
  long tid = 0;
  void* pid;
  EXPECT(pthread_create(&thread, NULL, other_thread, &tid) == 0 && pthread_join(thread, &pid) == 0);
  EXPECT((intptr_t)pid == getpid() && tid != getpid() && tid > 0);
  printf("ids: done\n");

  for (int fd = 0; fd < 3; ++fd) {
    EXPECT(isatty(fd) == 0);
    struct stat status;
    EXPECT(fstat(fd, &status) == 0);
  }
  char byte;
  EXPECT(read(0, &byte, 1) == 0);
  printf("standard streams: no terminal, empty input\n");

  // A shell exports PWD, which may contain any name; it contains nothing of the simulator otherwise.
  char folder[4096];
  EXPECT(getcwd(folder, sizeof folder) != NULL);
  for (char** entry = environ; *entry != NULL; ++entry) {
    if (strncmp(*entry, "PWD=", 4) == 0 && strcmp(*entry + 4, folder) == 0) continue;
    EXPECT(strncmp(*entry, "LD_", 3) != 0 && strstr(*entry, "VERBATIM") == NULL &&
           strstr(*entry, "verbatim") == NULL);
    EXPECT(strncmp(*entry, "GLIBC_TUNABLES=", 15) != 0);
  }
  EXPECT(getenv("PATH") != NULL);
  EXPECT(setenv("MINE", "here", 1) == 0 && strcmp(getenv("MINE"), "here") == 0);
  printf("environment: clean\n");

  struct utsname name;
  char host[256];
  EXPECT(uname(&name) == 0 && gethostname(host, sizeof host) == 0);
  EXPECT(strcmp(name.sysname, "Linux") == 0 && strcmp(name.machine, "x86_64") == 0 &&
         strcmp(host, name.nodename) == 0);
  printf("host: named\n");
  return 0;
}
