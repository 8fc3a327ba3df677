// Scripted adapter faults: an adapter fails permanently at a given time (hca::Endpoint::fail). Programs on
// its host get IBV_EVENT_DEVICE_FATAL; peers get no more responses.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/core/engine.h"
#include "sim/hca/endpoint.h"

namespace verbatim::faults {

class AdapterFaults {
 public:
  explicit AdapterFaults(Engine& engine) : engine_(engine) {}
  AdapterFaults(const AdapterFaults&) = delete;
  AdapterFaults& operator=(const AdapterFaults&) = delete;

  // Adds the next fault; faults are numbered from 0. The adapter must outlive the last event.
  void add(Instant at, hca::Endpoint& adapter) { entries_.emplace_back(engine_, at, adapter); }
  std::uint64_t fired(std::size_t fault) const { return entries_.at(fault).fired; }

 private:
  struct Entry {
    Entry(Engine& engine, Instant at, hca::Endpoint& adapter)
        : adapter(adapter),
          timer(Timer::of<&Entry::on_time>(engine, adapter.component(), EventClass::kTimeout, this)) {
      timer.schedule_at(at);
    }
    void on_time() {
      ++fired;
      adapter.fail();
    }

    hca::Endpoint& adapter;
    std::uint64_t fired = 0;
    Timer timer;
  };

  Engine& engine_;
  std::deque<Entry> entries_;  // by number
};

}  // namespace verbatim::faults
