// Bounds the warnings of one program. Warnings of one kind differ only in numbers and paths. The bounds depend on the texts and
// their order alone, so every run of a seed keeps the same warnings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::supervisor {

// The text with every number replaced by '#' and every path by '/'.
std::string warning_kind(std::string_view text);

class WarningLog {
 public:
  static constexpr std::uint32_t kMostOfKind = 100;
  static constexpr std::uint32_t kMost = 1000;
  // Part of kMost that is kept for warnings that weaken the run, so that a weak run always names a reason.
  static constexpr std::uint32_t kReservedForWeak = 100;

  // True if a warning of this text fits. Otherwise it is counted, also when its text is the same as an earlier one.
  bool has_room(const std::string& text, bool weakens);
  // Takes the room that has_room has found.
  void add(const std::string& text);
  // Sentences about the warnings that were counted, at most one for each kind that has been shown and one for all others.
  std::vector<std::string> rest() const;

 private:
  struct Kind {
    std::string example;  // the first warning of the kind
    std::uint32_t shown = 0;
    std::uint64_t more = 0;
  };

  std::map<std::string, Kind> kinds_;  // those with a shown warning, so at most kMost
  std::uint32_t shown_ = 0;
  std::uint64_t other_kinds_ = 0;  // warnings of kinds that have none shown
};

}  // namespace verbatim::supervisor
