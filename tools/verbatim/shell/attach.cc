// `verbatim attach`: connects this terminal to a shell of a session that runs elsewhere.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "sim/core/interruption.h"
#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/shell/attachment.h"
#include "tools/verbatim/shell/person.h"
#include "tools/verbatim/shell/screen.h"

namespace verbatim::cli {

namespace {

// The latest of the default session names in this folder.
std::string last_session() {
  struct stat status;
  std::string last = "session.rec";
  for (int i = 2;; ++i) {
    const std::string name = "session-" + std::to_string(i) + ".rec";
    if (::lstat(name.c_str(), &status) != 0) return last;
    last = name;
  }
}

bool send_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

AttachmentSize size_here() { return {RawTerminal::size().rows, RawTerminal::size().columns}; }

}  // namespace

int attach(const AttachOptions& options) {
  const std::string file = options.session.empty() ? last_session() : options.session;
  std::string failure;
  const int session = connect_to_session(file, &failure);
  if (session < 0) {
    complain(failure);
    return kUsage;
  }
  std::printf("verbatim: one more shell of the session %s, on %s. exit or Ctrl-D: leave.\n", file.c_str(),
              options.host.empty() ? "its first host" : ("the simulated host " + options.host).c_str());
  flush_standard_output();
  RawTerminal raw;
  Screen screen(1, true);
  bool goes_on = send_all(session, frame_of(AttachmentFrame::kHello, body_of(size_here()) + options.host));
  supervisor::Waiting waiting(SIGWINCH);
  const int descriptors[] = {session, STDIN_FILENO};
  while (goes_on && !screen.is_gone() && !Interruption::came()) {
    const std::vector<int> ready = waiting.wait(descriptors, -1);
    const auto is_ready = [&](int descriptor) { return std::ranges::count(ready, descriptor) != 0; };
    if (raw.take_size_change()) goes_on = send_all(session, frame_of(AttachmentFrame::kSize, body_of(size_here())));
    char bytes[4096];
    if (is_ready(STDIN_FILENO)) {
      const ssize_t n = ::read(0, bytes, sizeof bytes);
      if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) break;
      if (n > 0) goes_on = send_all(session, frame_of(AttachmentFrame::kKeys, {bytes, static_cast<std::size_t>(n)}));
    }
    if (is_ready(session)) {
      const ssize_t n = ::read(session, bytes, sizeof bytes);
      if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) break;
      if (n > 0) screen.write(0, {bytes, static_cast<std::size_t>(n)});
    }
  }
  raw.restore();
  ::close(session);
  if (!Interruption::came()) return kAsExpected;
  complain("interrupted");
  return kInterrupted;
}

}  // namespace verbatim::cli
