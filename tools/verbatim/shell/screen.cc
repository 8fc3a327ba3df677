#include "tools/verbatim/shell/screen.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace verbatim::cli {

void Screen::put(std::string_view text) {
  while (!text.empty() && !is_gone_) {
    const ssize_t n = ::write(descriptor_, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{descriptor_, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      is_gone_ = true;
    }
  }
}

void Screen::write(std::size_t terminal, std::string_view text) {
  bytes_ += text.size();
  if (terminal == shown_) put(text);
  if (terminal == shown_ && !repaints_) return;
  std::string& kept = kept_[terminal];
  kept += text;
  if (kept.size() > 2 * kKept) kept.erase(0, kept.size() - kKept);
}

void Screen::show(std::size_t terminal) {
  if (terminal == shown_) return;
  shown_ = terminal;
  put(repaints_ ? std::string("\033[H\033[2J") : "\r\n[terminal " + std::to_string(terminal + 1) + "]\r\n");
  put(kept_[terminal]);
  if (!repaints_) kept_.erase(terminal);
}

}  // namespace verbatim::cli
