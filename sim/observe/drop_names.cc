#include "sim/observe/drop_names.h"

#include <cctype>
#include <string_view>

#include "sim/ib/drop_reason.h"

namespace verbatim::observe {

namespace {

// Converts "kInputBuffer" to "input-buffer".
std::string hyphenated(std::string_view enumerator) {
  std::string name;
  for (const char letter : enumerator.substr(1)) {
    const auto character = static_cast<unsigned char>(letter);
    if (std::isupper(character) != 0 && !name.empty()) name += '-';
    name += static_cast<char>(std::tolower(character));
  }
  return name;
}

}  // namespace

std::string drop_name(std::uint64_t reason) {
  switch (static_cast<ib::DropReason>(reason)) {
#define VERBATIM_DROP_NAME(id, number, text) \
  case ib::DropReason::id:                   \
    return hyphenated(#id);
    VERBATIM_DROP_REASONS(VERBATIM_DROP_NAME)
#undef VERBATIM_DROP_NAME
  }
  return std::to_string(reason);
}

bool is_loss(std::uint64_t reason) {
  using enum ib::DropReason;
  const auto named = static_cast<ib::DropReason>(reason);
  return named != kStale && named != kNoFlow && named != kFlowDrop;
}

}  // namespace verbatim::observe
