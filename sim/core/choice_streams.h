// State per (site, actor), with a cache that is indexed by the address of the site's name. Names are
// compared only on a cache miss.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "sim/core/ids.h"

namespace verbatim {

template <class T>
class ChoiceStreams {
 public:
  ChoiceStreams() = default;
  ChoiceStreams(const ChoiceStreams&) = delete;  // a copy's cache would refer to the original's streams
  ChoiceStreams& operator=(const ChoiceStreams&) = delete;

  // The state of (site, actor), created by `make()` on first use; the reference stays valid. `site` is a
  // literal: the view is stored.
  template <class Make>
  T& at(std::string_view site, ComponentId actor, Make make) {
    CacheEntry& entry =
        cache_[(reinterpret_cast<std::uintptr_t>(site.data()) / kSpacing + actor.value * kActors) % kCacheEntries];
    if (entry.stream != nullptr && entry.site.data() == site.data() && entry.site.size() == site.size() && entry.actor == actor)
      return *entry.stream;
    auto it = streams_.find({site, actor});
    if (it == streams_.end()) it = streams_.emplace(std::pair(site, actor), make()).first;
    entry = {site, actor, &it->second};
    return it->second;
  }
  // nullptr: not used yet.
  const T* find(std::string_view site, ComponentId actor) const {
    const auto it = streams_.find({site, actor});
    return it == streams_.end() ? nullptr : &it->second;
  }

 private:
  static constexpr std::size_t kCacheEntries = 64, kActors = 7, kSpacing = 8;
  struct CacheEntry {
    std::string_view site;
    ComponentId actor;
    T* stream = nullptr;
  };
  std::map<std::pair<std::string_view, ComponentId>, T> streams_;
  std::array<CacheEntry, kCacheEntries> cache_{};
};

}  // namespace verbatim
