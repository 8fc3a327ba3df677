// The caller's terminal, which shows one of a run's terminals at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace verbatim::cli {

class Screen {
 public:
  // Writes to this descriptor. With `repaints`, switching to a terminal shows its earlier output again;
  // without, a line names the terminal, and its output since then follows.
  Screen(int descriptor, bool repaints) : descriptor_(descriptor), repaints_(repaints) {}

  void write(std::size_t terminal, std::string_view text);
  void show(std::size_t terminal);
  std::size_t shown() const { return shown_; }
  // Number of bytes of all terminals so far.
  std::uint64_t bytes() const { return bytes_; }
  // The descriptor is closed at the other end.
  bool is_gone() const { return is_gone_; }
  // Writes text of no terminal.
  void put(std::string_view text);

 private:
  static constexpr std::size_t kKept = 64 << 10;

  const int descriptor_;
  const bool repaints_;
  std::size_t shown_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_gone_ = false;
  std::map<std::size_t, std::string> kept_;  // by terminal: its latest output, or its unseen output
};

}  // namespace verbatim::cli
