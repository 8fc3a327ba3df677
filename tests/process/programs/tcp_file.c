// A stream as a FILE*, sendfile into a socket.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  int s[2];
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  socklen_t size = sizeof name;
  EXPECT(bind(listener, (struct sockaddr*)&name, sizeof name) == 0 && listen(listener, 1) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&name, &size) == 0);
  s[0] = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect(s[0], (struct sockaddr*)&name, sizeof name) == 0);
  s[1] = accept(listener, NULL, NULL);
  FILE *out = fdopen(s[0], "w"), *in = fdopen(s[1], "r");
  fprintf(out, "line %d\nline %d\n", 1, 2);
  EXPECT(fflush(out) == 0);
  char line[64];
  EXPECT(fgets(line, sizeof line, in) && strcmp(line, "line 1\n") == 0);
  EXPECT(fgets(line, sizeof line, in) && strcmp(line, "line 2\n") == 0);

  FILE* file = tmpfile();
  for (int i = 0; i < 5000; ++i) fprintf(file, "%05d\n", i);
  fflush(file);
  EXPECT(lseek(fileno(file), 6, SEEK_SET) == 6);
  EXPECT(sendfile(s[0], fileno(file), NULL, 60) == 60 && lseek(fileno(file), 0, SEEK_CUR) == 66);
  off_t at = 29994;
  EXPECT(sendfile(s[0], fileno(file), &at, 100) == 6 && at == 30000 &&
         lseek(fileno(file), 0, SEEK_CUR) == 66);
  at = 0;
  EXPECT(sendfile(s[0], fileno(file), &at, 30000) == 30000 && sendfile(s[0], fileno(file), &at, 1) == 0);
  EXPECT(fclose(out) == 0);
  int lines = 0, sum = 0;
  while (fgets(line, sizeof line, in) != NULL) sum += atoi(line), ++lines;
  printf("%d lines, sum %d\n", lines, sum);
  return 0;
}
