// Spellings of one path in /proc: absolute, relative to folders, through links, through links of /proc itself.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/expect.h"

struct Spelling {
  const char* works_in;  // NULL: not changed
  const char* starts_at; // folder to which the path is relative; NULL: AT_FDCWD
  const char* path;      // %s: the file's name below /proc; %d: a descriptor of `opened`
  const char* opened;
};

// Uses a folder `links` below the initial working directory: see make_links().
static const struct Spelling spellings[] = {
    {NULL, NULL, "/proc/%s", NULL},
    {NULL, NULL, "//proc/%s", NULL},
    {NULL, NULL, "/proc//%s", NULL},
    {NULL, NULL, "/./proc/./%s", NULL},
    {NULL, NULL, "/proc/../proc/%s", NULL},
    {NULL, NULL, "/../proc/%s", NULL},
    {NULL, NULL, "/etc/../proc/%s", NULL},
    {NULL, NULL, "/proc/self/../%s", NULL},
    {NULL, NULL, "/proc/self/task/../../%s", NULL},
    {NULL, NULL, "/sys/class/../../proc/%s", NULL},
    {NULL, NULL, "/proc/self/root" "/proc/%s", NULL},
    {NULL, NULL, "/proc/thread-self/root" "/proc/%s", NULL},
    {NULL, NULL, "/proc/self/root" "/proc/self/root" "/proc/%s", NULL},
    {"/", NULL, "proc/%s", NULL},
    {"/", NULL, "./proc/%s", NULL},
    {"/", NULL, "/proc/self/cwd/proc/%s", NULL},
    {"/etc", NULL, "../proc/%s", NULL},
    {"/proc", NULL, "%s", NULL},
    {"/proc", NULL, "./%s", NULL},
    {"/proc", NULL, "/proc/self/cwd/%s", NULL},
    {"/proc/self", NULL, "../%s", NULL},
    {"/sys", NULL, "../proc/%s", NULL},
    {"/dev", NULL, "../proc/%s", NULL},
    {NULL, "/", "proc/%s", NULL},
    {NULL, "/etc", "../proc/%s", NULL},
    {NULL, "/proc", "%s", NULL},
    {NULL, "/proc/self", "../%s", NULL},
    {NULL, "/sys", "../proc/%s", NULL},
    {NULL, "/proc/self/root", "proc/%s", NULL},
    {NULL, NULL, "/proc/self/fd/%d/proc/%s", "/"},
    {NULL, NULL, "/proc/self/fd/%d/%s", "/proc"},
    {NULL, NULL, "/dev/fd/%d/proc/%s", "/"},
    {NULL, NULL, "/dev/fd/%d/%s", "/proc"},
    {NULL, NULL, "links/folder/%s", NULL},
    {NULL, NULL, "links/again/%s", NULL},
    {NULL, NULL, "links/root" "/proc/%s", NULL},
    {NULL, NULL, "links/root" "/proc/self/root" "/proc/%s", NULL},
    {NULL, NULL, "links/self/../%s", NULL},
    {NULL, NULL, "links/../links/folder/%s", NULL},
    {NULL, "links", "folder/%s", NULL},
    {"links", NULL, "folder/%s", NULL},
    {"links/folder", NULL, "%s", NULL},
};
enum { kSpellings = sizeof spellings / sizeof *spellings };


static char start_folder[4096];

static void make_links(void) {
  EXPECT(getcwd(start_folder, sizeof start_folder) != NULL);
  char folder[] = "/tmp/spellings-XXXXXX";
  EXPECT(mkdtemp(folder) != NULL && chdir(folder) == 0);
  EXPECT(getcwd(start_folder, sizeof start_folder) != NULL);
  EXPECT(mkdir("links", 0755) == 0);
  EXPECT(symlink("/proc", "links/folder") == 0 && symlink("folder", "links/again") == 0);
  EXPECT(symlink("/", "links/root") == 0 && symlink("/proc/self", "links/self") == 0);
}

static void remove_links(void) {
  EXPECT(chdir(start_folder) == 0);
  EXPECT(unlink("links/folder") == 0 && unlink("links/again") == 0 && unlink("links/root") == 0);
  EXPECT(unlink("links/self") == 0 && rmdir("links") == 0 && rmdir(start_folder) == 0);
}

// Returns the path of file `name` in spelling `which`; stores the folder to which it is relative in `*folder`.
static const char* spell(int which, const char* name, int* folder) {
  static char path[512];
  static int opened = -1;
  const struct Spelling* const one = &spellings[which];
  if (opened >= 0) close(opened);
  opened = -1;
  EXPECT(chdir(start_folder) == 0);
  *folder = AT_FDCWD;
  if (one->starts_at != NULL) *folder = opened = open(one->starts_at, O_RDONLY | O_DIRECTORY);
  if (one->opened != NULL) opened = open(one->opened, O_RDONLY | O_DIRECTORY);
  EXPECT((one->starts_at == NULL && one->opened == NULL) || opened >= 0);
  if (one->works_in != NULL) EXPECT(chdir(one->works_in) == 0);
  if (one->opened != NULL) {
    snprintf(path, sizeof path, one->path, opened, name);
  } else {
    snprintf(path, sizeof path, one->path, name);
  }
  return path;
}
