// Table of objects by number. Numbers are assigned in ascending order (sim/core/number_space.h) and mostly
// released before higher ones are assigned. Memory is needed only for numbers in use: a page is freed with
// its last entry.
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
  // The entry of a number; T{}: none.
  T find(std::uint32_t number) const {
    const std::size_t page = number / kPage;
    return page < pages_.size() && pages_[page] != nullptr ? pages_[page]->entries[number % kPage] : T{};
  }

  // `number` must have no entry.
  void add(std::uint32_t number, T entry) {
    const std::size_t page = number / kPage;
    if (pages_.size() <= page) pages_.resize(page + 1);
    if (pages_[page] == nullptr) pages_[page] = std::make_unique<Page>();
    ++pages_[page]->used;
    pages_[page]->entries[number % kPage] = std::move(entry);
  }

  // `number` must have an entry.
  void remove(std::uint32_t number) {
    std::unique_ptr<Page>& page = pages_.at(number / kPage);
    CHECK(page != nullptr);
    page->entries[number % kPage] = T{};
    if (--page->used == 0) page.reset();
  }

  // Calls visit(entry) in the order of numbers; also visit(T{}) for unused numbers of a page. The visitor
  // must not add or remove entries.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& page : pages_) {
      if (page == nullptr) continue;
      for (const T& entry : page->entries) visit(entry);
    }
  }

  // Bytes of all pages.
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
