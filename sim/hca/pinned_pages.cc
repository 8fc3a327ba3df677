#include "sim/hca/pinned_pages.h"

#include <algorithm>
#include <cstring>

namespace verbatim::hca {

void PinnedPages::keep(host::ProgramMemory& from, host::ProgramAddress start, std::uint64_t length) {
  static const Page kZeros{};
  for (std::uint64_t number = start / kBytes; number <= (start + length - 1) / kBytes; ++number) {
    if (pages_.contains(number)) continue;
    auto page = std::make_unique<Page>();
    if (!from.read(number * kBytes, *page)) continue;
    pages_[number] = *page == kZeros ? nullptr : std::move(page);
  }
}

template <class Visit>
bool PinnedPages::visit(host::ProgramAddress start, std::uint64_t length, Visit visit) {
  bool complete = true;
  while (length > 0) {
    const std::uint64_t offset = start % kBytes, part = std::min(length, kBytes - offset);
    const auto page = pages_.find(start / kBytes);
    complete &= page != pages_.end();
    visit(page == pages_.end() ? nullptr : &page->second, offset, part);
    start += part;
    length -= part;
  }
  return complete;
}

bool PinnedPages::read(host::ProgramAddress from, std::span<std::byte> to) {
  return visit(from, to.size(), [&](const std::unique_ptr<Page>* page, std::uint64_t offset, std::uint64_t part) {
    if (page == nullptr || *page == nullptr) {
      std::memset(to.data(), 0, part);
    } else {
      std::memcpy(to.data(), (*page)->data() + offset, part);
    }
    to = to.subspan(part);
  });
}

bool PinnedPages::write(host::ProgramAddress to, std::span<const std::byte> from) {
  return visit(to, from.size(), [&](std::unique_ptr<Page>* page, std::uint64_t offset, std::uint64_t part) {
    if (page != nullptr && *page == nullptr) *page = std::make_unique<Page>();
    if (page != nullptr) std::memcpy((*page)->data() + offset, from.data(), part);
    from = from.subspan(part);
  });
}

}  // namespace verbatim::hca
