// Executes 1,500 files of another architecture, whose names differ in letters: as many kinds of warnings.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  const unsigned char header[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS32};
  unsigned char file[sizeof(Elf64_Ehdr)] = "";
  memcpy(file, header, sizeof header);
  for (int i = 0; i < 1500; ++i) {
    // The text after the space belongs to the kind.
    char name[] = "/tmp/kind aaa";
    for (int rest = i, at = sizeof name - 2; rest > 0; rest /= 26) name[at--] += (char)(rest % 26);
    const int fd = open(name, O_WRONLY | O_CREAT, 0700);
    char* const arguments[] = {name, NULL};
    if (fd < 0 || write(fd, file, sizeof file) != sizeof file || close(fd) != 0) return 1;
    if (execv(name, arguments) != -1 || errno != ENOEXEC || unlink(name) != 0) return 2;
  }
  printf("done\n");
  return 0;
}
