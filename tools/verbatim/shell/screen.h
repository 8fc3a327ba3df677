// What the caller's own terminal shows of the terminals of a run: one of them at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace verbatim::cli {

class Screen {
 public:
  // Writes to this descriptor. `repaints`: what a terminal had shown before comes again when it is shown; else a line says which
  // it is, and what it has said meanwhile follows.
  Screen(int descriptor, bool repaints) : descriptor_(descriptor), repaints_(repaints) {}

  void write(std::size_t terminal, std::string_view text);
  void show(std::size_t terminal);
  std::size_t shown() const { return shown_; }
  // Bytes of all terminals so far.
  std::uint64_t bytes() const { return bytes_; }
  // Nobody is there any more who could read it.
  bool is_gone() const { return is_gone_; }
  // Writes what is no terminal's.
  void put(std::string_view text);

 private:
  static constexpr std::size_t kKept = 64 << 10;

  const int descriptor_;
  const bool repaints_;
  std::size_t shown_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_gone_ = false;
  std::map<std::size_t, std::string> kept_;  // by terminal: its last, or what nobody has seen
};

}  // namespace verbatim::cli
