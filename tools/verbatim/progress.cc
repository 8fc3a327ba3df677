#include "tools/verbatim/progress.h"
#include "tools/verbatim/output_file.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tools/verbatim/interrupted.h"

namespace verbatim::cli {

namespace {

// Global, because a process has one terminal.
bool is_line_there = false;

// Whether the terminal can erase a line.
bool has_terminal() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb" && *kind != '\0';
}

std::size_t columns_of_terminal() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col : 80;
}

}  // namespace

void clear_progress() {
  if (!is_line_there) return;
  is_line_there = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

void forget_progress() { is_line_there = false; }

std::string time_left(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60) return ", " + std::to_string(whole) + " s left";
  if (whole < 3600) return ", " + std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s left";
  return ", " + std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min left";
}

Progress::Progress(bool is_wanted) : is_shown_(is_wanted && has_terminal()) {
  if (!is_shown_) return;
  at_interrupted_end([] {
    constexpr std::string_view kAway = "\r\033[K";
    if (is_line_there && ::write(STDERR_FILENO, kAway.data(), kAway.size()) > 0) is_line_there = false;
  });
}

Progress::~Progress() {
  if (is_shown_) clear_progress();
}

void Progress::show(const std::string& text) {
  if (!is_shown_) return;
  written_ = Clock::now();
  // If both are the same terminal, earlier output must precede.
  flush_standard_output();
  const std::string line = "\r" + text.substr(0, columns_of_terminal() - 1) + "\033[K";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  is_line_there = true;
}

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

std::string Progress::left(double part) const {
  const double spent = seconds();
  if (part <= 0 || part > 1 || spent < 1) return "";
  return time_left(spent * (1 - part) / part);
}

}  // namespace verbatim::cli
