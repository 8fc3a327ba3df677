// Streams of the C library on sockets and pipes: buffering, lines, both directions, errors, popen and system.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  int pair[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(pair[0]);
    FILE* const in = fdopen(pair[1], "r");
    FILE* const out = fdopen(dup(pair[1]), "w");
    setvbuf(out, NULL, _IOLBF, 0);
    char line[256];
    int number = 0;
    while (fgets(line, sizeof line, in) != NULL) fprintf(out, "%d: %s", ++number, line);
    fprintf(out, "end after %d", number);
    exit(0);  // flushes
  }
  close(pair[1]);
  FILE* const in = fdopen(pair[0], "r");
  FILE* const out = fdopen(dup(pair[0]), "w");
  char line[256];
  for (int i = 0; i < 3; ++i) fprintf(out, "line %d%s", i, i == 1 ? " with\ntwo parts\n" : "\n");
  EXPECT(fflush(out) == 0 && shutdown(fileno(out), SHUT_WR) == 0);
  while (fgets(line, sizeof line, in) != NULL) printf("%s%s", line, strchr(line, '\n') != NULL ? "" : "\n");
  EXPECT(feof(in) && !ferror(in) && fseek(in, 0, SEEK_SET) == -1 && errno == ESPIPE);
  signal(SIGPIPE, SIG_IGN);
  fprintf(out, "nobody reads this\n");
  EXPECT(fflush(out) == EOF && errno == EPIPE && ferror(out));
  EXPECT(fclose(in) == 0 && waitpid(child, NULL, 0) == child);
  fflush(stdout);

  FILE* const reader = popen("echo from a shell; exit 3", "r");
  EXPECT(reader != NULL && fgets(line, sizeof line, reader) != NULL);
  const int status = pclose(reader);
  printf("popen: %sit ended with %d\n", line, WEXITSTATUS(status));
  fflush(stdout);
  FILE* const writer = popen("tr a-z A-Z", "w");
  EXPECT(writer != NULL && fputs("to another\n", writer) >= 0 && pclose(writer) == 0);
  printf("system: %d %d %d\n", WEXITSTATUS(system("exit 5")), system("true"), WTERMSIG(system("kill -9 $$")));
  printf("a shell is there: %d\n", system(NULL) != 0);
  return 0;
}
