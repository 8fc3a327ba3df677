// Folders list names in order, offsets can be restored, and entries created meanwhile are listed after a
// rewind.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int by_name(const struct dirent** a, const struct dirent** b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

int main(void) {
  char folder[] = "/tmp/folder_order_XXXXXX";
  EXPECT(mkdtemp(folder) != NULL);
  const int at = open(folder, O_RDONLY | O_DIRECTORY);
  const char* const names[] = {"zebra", "apple", "Mango", "10", "9", "a", "b-longer-name-than-the-others",
                               "._x"};
  for (int i = 0; i < 8; ++i) EXPECT(close(openat(at, names[i], O_CREAT | O_WRONLY, 0644)) == 0);
  EXPECT(mkdirat(at, "folder", 0755) == 0 && symlinkat("zebra", at, "link") == 0);
  for (int i = 0; i < 2000; ++i) {
    char name[32];
    snprintf(name, sizeof name, "many%04d", (i * 7919) % 2000);
    EXPECT(close(openat(at, name, O_CREAT | O_WRONLY, 0644)) == 0);
  }
  DIR* const open_folder = opendir(folder);
  int count = 0, repeated = 0;
  char seen[2000] = {0};
  long middle = -1;
  char expected[256] = "";
  for (struct dirent* entry; (entry = readdir(open_folder)) != NULL; ++count) {
    struct stat status;
    EXPECT(fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0);
    if (strcmp(entry->d_name, "..") != 0) EXPECT(status.st_ino == entry->d_ino);
    if (strcmp(entry->d_name, "folder") == 0) EXPECT(entry->d_type == DT_DIR);
    if (strcmp(entry->d_name, "link") == 0) EXPECT(entry->d_type == DT_LNK);
    int number;
    if (sscanf(entry->d_name, "many%d", &number) == 1) repeated += seen[number]++;
    if (middle >= 0 && expected[0] == 0) strcpy(expected, entry->d_name);
    if (count == 1000) middle = telldir(open_folder);
  }
  printf("entries: %d, repeated %d\n", count, repeated);
  seekdir(open_folder, middle);
  EXPECT(strcmp(readdir(open_folder)->d_name, expected) == 0);
  rewinddir(open_folder);
  EXPECT(unlinkat(at, "apple", 0) == 0);
  int again = 0;
  while (readdir(open_folder) != NULL) ++again;
  printf("after a removal: %d\n", again);
  EXPECT(closedir(open_folder) == 0);
  struct dirent** list;
  const int n = scandir(folder, &list, NULL, by_name);
  EXPECT(n == 2011);
  printf("sorted: %s %s %s … %s\n", list[2]->d_name, list[3]->d_name, list[4]->d_name, list[n - 1]->d_name);
  for (int i = 0; i < n; ++i) {
    if (list[i]->d_name[0] == '.' && strlen(list[i]->d_name) < 3) continue;
    unlinkat(at, list[i]->d_name, list[i]->d_type == DT_DIR ? AT_REMOVEDIR : 0);
  }
  EXPECT(rmdir(folder) == 0);
  return 0;
}
