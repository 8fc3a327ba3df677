// Waits for the end of a simulator, and removes the folder of its run if it was killed.
//   keeper FOLDER <PIPE
// The simulator writes a byte into the pipe when it has removed the folder itself. End of file without a byte means that
// it was killed.
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "sim/supervisor/machine/remove_folder.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  // It is started on the core that belongs to the run, so it leaves that.
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (size_t core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  if (chdir("/") != 0) return 1;
  char byte;
  ssize_t received;
  while ((received = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (received == 0) verbatim::supervisor::remove_folder(arguments[1]);
  return 0;
}
