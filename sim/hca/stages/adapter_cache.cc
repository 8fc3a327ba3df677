#include "sim/hca/stages/adapter_cache.h"

#include <utility>

#include "sim/hca/adapter_base.h"

namespace verbatim::hca {

AdapterCache::AdapterCache(AdapterBase& adapter, host::DmaEngine& dma, const CacheProfile& profile)
    : dma_(dma),
      profile_(profile),
      arriving_(DelayLine<Nothing>::of<&AdapterCache::on_arrived>(adapter.engine, adapter.id,
                                                                  EventClass::kStage, this)) {}

bool AdapterCache::use(std::uint64_t key, CacheClient& client, std::uint64_t cookie) {
  if (!is_limited()) return true;
  if (const auto entry = entries_.find(key); entry != entries_.end()) {
    recent_.splice(recent_.begin(), recent_, entry->second);
    return true;
  }
  const auto [miss, is_new] = miss_of_.try_emplace(key, first_miss_ + misses_.size());
  if (is_new) misses_.push_back({key, {}});
  misses_[miss->second - first_miss_].waiters.push_back({&client, cookie});
  fetch_more();
  return false;
}

void AdapterCache::fetch_more() {
  while (fetching_ < profile_.miss_slots && fetching_ < misses_.size()) {
    ++fetching_;
    dma_.read(profile_.entry_bytes, *this, 0);
  }
}

void AdapterCache::on_dma_read(std::uint64_t, Instant at_adapter) { arriving_.push(at_adapter, {}); }

void AdapterCache::on_arrived(Nothing) {
  // Reads come back in the order in which they were issued.
  const Miss miss = misses_.pop_front();
  ++first_miss_;
  --fetching_;
  miss_of_.erase(miss.key);
  if (entries_.size() == profile_.entries) {
    entries_.erase(recent_.back());
    recent_.pop_back();
  }
  recent_.push_front(miss.key);
  entries_.emplace(miss.key, recent_.begin());
  fetch_more();
  for (const Waiter& waiter : miss.waiters) waiter.client->on_cached(waiter.cookie);
}

}  // namespace verbatim::hca
