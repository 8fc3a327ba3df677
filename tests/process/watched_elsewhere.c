// Watches of files outside the host's own folders: they have numbers, but no events.
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "expect.h"

int main(void) {
  const int fd = inotify_init1(IN_NONBLOCK);
  const int usr = inotify_add_watch(fd, "/usr", IN_CREATE);
  EXPECT(usr == 1 && inotify_add_watch(fd, "/usr/", IN_CREATE) == usr && inotify_add_watch(fd, "/usr/bin/..", IN_CREATE) == usr);
  EXPECT(inotify_add_watch(fd, "/usr", IN_CREATE | IN_MASK_CREATE) == -1 && errno == EEXIST);
  EXPECT(inotify_add_watch(fd, "/usr/nothing", IN_CREATE) == -1 && errno == ENOENT);
  EXPECT(inotify_add_watch(fd, "/usr/bin/sh", IN_CREATE | IN_ONLYDIR) == -1 && errno == ENOTDIR);
  EXPECT(inotify_add_watch(fd, "/usr/bin/env", IN_ALL_EVENTS | IN_MASK_CREATE) == 2);
  const int proc = inotify_add_watch(fd, "/proc/self/status", IN_CREATE);
  EXPECT(proc == 3 && inotify_add_watch(fd, "/proc/self/status", IN_ONLYDIR | IN_CREATE) == -1 && errno == ENOTDIR);
  const int file = open("/usr/bin/env", O_RDONLY);
  char text[4];
  EXPECT(file >= 0 && read(file, text, sizeof text) == sizeof text && close(file) == 0);
  EXPECT(read(fd, text, sizeof text) == -1 && errno == EAGAIN);
  EXPECT(inotify_rm_watch(fd, usr) == 0 && inotify_rm_watch(fd, usr) == -1 && errno == EINVAL);
  struct inotify_event event;
  EXPECT(read(fd, &event, sizeof event) == sizeof event && event.wd == usr && event.mask == IN_IGNORED && event.len == 0);
  FILE* limits[3];
  int most[3];
  const char* names[] = {"/proc/sys/fs/inotify/max_queued_events", "/proc/sys/fs/inotify/max_user_instances",
                         "/proc/sys/fs/inotify/max_user_watches"};
  for (int i = 0; i < 3; ++i) EXPECT((limits[i] = fopen(names[i], "r")) != NULL && fscanf(limits[i], "%d", &most[i]) == 1);
  int count = 1;
  while (inotify_init() >= 0) ++count;
  EXPECT(errno == EMFILE && count == most[1] && close(fd) == 0 && inotify_init() == fd);
  printf("%d events, %d descriptors, %d watches\n", most[0], most[1], most[2]);
  return 0;
}
