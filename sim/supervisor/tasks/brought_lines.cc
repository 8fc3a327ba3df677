#include "sim/supervisor/tasks/brought_lines.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

void BroughtLines::note(const protocol::ThreadSlot& slot, const ProcessMemory& memory) {
  is_there_ = list_ != 0 && slot.brought == list_;
  epoch_ = memory.epoch();
}

void BroughtLines::use(std::span<const std::byte> mailbox, ProcessMemory& memory) {
  if (!std::exchange(is_there_, false) || epoch_ != memory.epoch()) return;
  memory.keep(asked_, reinterpret_cast<const std::uint8_t*>(mailbox.data()));
}

// Loops have few paths. The lines of the analysis before the last one are requested too.
void BroughtLines::ask_for(const ProcessMemory& memory, protocol::ThreadSlot& slot) {
  std::vector<protocol::PageLines> now = memory.looked_at();
  std::vector<protocol::PageLines> wanted = now;
  for (const auto& [number, lines] : std::exchange(looked_at_, std::move(now))) {
    const auto same = std::ranges::find(wanted, number, &protocol::PageLines::number);
    same != wanted.end() ? static_cast<void>(same->lines |= lines) : wanted.push_back({number, lines});
  }
  int lines = 0;
  for (const protocol::PageLines& page : wanted) lines += std::popcount(page.lines);
  if (wanted.size() > protocol::kMostPagesToBring || lines > static_cast<int>(protocol::kMostLinesToBring)) wanted.clear();
  std::ranges::sort(wanted, {}, &protocol::PageLines::number);
  if (wanted == asked_ && slot.list_to_bring == list_) return;
  asked_ = std::move(wanted);
  list_ = asked_.empty() ? 0 : std::max(list_ + 1, 1U);
  slot.list_to_bring = list_;
  slot.pages_to_bring = static_cast<std::uint32_t>(asked_.size());
  std::ranges::copy(asked_, slot.to_bring);
}

}  // namespace verbatim::supervisor
