// Table of objects by their number. Numbers are given out in ascending order (sim/core/number_space.h), and most
// are given back before the last ones are reached. The table takes memory for numbers in use, not for those that
// were used: a page is freed with its last entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/check.h"

namespace verbatim::hca {

template <class T>
class NumberTable {
 public:
  // T{} where the number stands for nothing.
  T find(std::uint32_t number) const {
    const std::size_t page = number / kPage;
    return page < pages_.size() && pages_[page] != nullptr ? pages_[page]->entries[number % kPage] : T{};
  }

  // `number` has no entry yet.
  void add(std::uint32_t number, T entry) {
    const std::size_t page = number / kPage;
    if (pages_.size() <= page) pages_.resize(page + 1);
    if (pages_[page] == nullptr) pages_[page] = std::make_unique<Page>();
    ++pages_[page]->used;
    pages_[page]->entries[number % kPage] = std::move(entry);
  }

  // `number` has an entry.
  void remove(std::uint32_t number) {
    std::unique_ptr<Page>& page = pages_.at(number / kPage);
    CHECK(page != nullptr);
    page->entries[number % kPage] = T{};
    if (--page->used == 0) page.reset();
  }

  // Calls visit(entry) for all entries, T{} among them, in the order of their numbers. Nothing is added or
  // removed meanwhile.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& page : pages_) {
      if (page == nullptr) continue;
      for (const T& entry : page->entries) visit(entry);
    }
  }

  // Bytes for entries, in use or not.
  std::size_t bytes() const {
    std::size_t pages = 0;
    for (const auto& page : pages_) pages += page != nullptr;
    return pages * sizeof(Page);
  }

 private:
  static constexpr std::size_t kPage = 64;  // entries
  struct Page {
    std::array<T, kPage> entries{};
    std::size_t used = 0;
  };

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace verbatim::hca
