// A cache in the adapter for a table in host memory: queue pair contexts, memory protection entries or page
// translations. A missing entry is read over PCI Express, a limited number at a time, and its clients wait.
// Only time is modelled: entries have no contents.
//
// The least recently used entry is replaced. Replaced entries are not written back.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/hca_profile.h"
#include "sim/host/dma_engine.h"

namespace verbatim::hca {

struct AdapterBase;

class CacheClient {
 public:
  // The entry that use() was called for with this cookie has been read.
  virtual void on_cached(std::uint64_t cookie) = 0;

 protected:
  ~CacheClient() = default;
};

class AdapterCache final : public host::DmaClient {
 public:
  AdapterCache(AdapterBase& adapter, host::DmaEngine& dma, const CacheProfile& profile);

  // Whether misses are possible.
  bool is_limited() const { return profile_.entries > 0; }
  // True: the entry of `key` is in the cache, and becomes the most recently used one. False: fetches it;
  // client.on_cached(cookie) is called by an event when it has been read, for clients of one key in the order
  // of their calls.
  bool use(std::uint64_t key, CacheClient& client, std::uint64_t cookie);

 private:
  struct Waiter {
    CacheClient* client = nullptr;
    std::uint64_t cookie = 0;
  };
  struct Miss {
    std::uint64_t key = 0;
    std::vector<Waiter> waiters;
  };
  struct Nothing {};

  void fetch_more();
  // The table is in memory of the driver.
  host::Touch touch_of(std::uint64_t, std::vector<host::TouchedBytes>&) const override { return host::Touch::kUnseen; }
  void on_dma_read(std::uint64_t cookie, Instant at_adapter) override;
  void on_dma_write(std::uint64_t) override {}
  void on_arrived(Nothing);

  host::DmaEngine& dma_;
  const CacheProfile profile_;
  std::list<std::uint64_t> recent_;  // keys, the most recently used first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> entries_;
  Ring<Miss> misses_;  // in order of request; the first are being fetched
  std::uint32_t fetching_ = 0;
  std::uint64_t first_miss_ = 0;                              // number of the front of misses_
  std::unordered_map<std::uint64_t, std::uint64_t> miss_of_;  // by key
  DelayLine<Nothing> arriving_;
};

}  // namespace verbatim::hca
