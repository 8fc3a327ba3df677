// Limits an observer to some components and a span of time, if the output of the whole run would be too
// large.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"
#include "sim/observe/text_trace_sink.h"

namespace verbatim::observe {

struct WatchSet {
  std::vector<bool> components;  // by number; empty: all. Numbers beyond its end are threads, which are included
  std::int64_t from_ps = 0, until_ps = std::numeric_limits<std::int64_t>::max();  // both inclusive

  bool has(ComponentId component) const { return component.value >= components.size() || components[component.value]; }
  bool has(ComponentId component, std::int64_t time_ps) const {
    return time_ps >= from_ps && time_ps <= until_ps && has(component);
  }
};

// Passes records, packets, facts and lines of the set to the observers (nullptr: none). The set and the
// observers must outlive *this.
class Watched final : public TraceSink, public ib::PacketObserver, public FactObserver, public TraceWords {
 public:
  struct Observers {
    TraceSink* records = nullptr;
    ib::PacketObserver* packets = nullptr;
    FactObserver* facts = nullptr;
    TraceWords* words = nullptr;  // called through add(), not by the tracer
  };
  Watched(const WatchSet& set, const Observers& to) : set_(set), to_(to) {}

  void add_to(Tracer& tracer) {
    if (to_.records != nullptr) tracer.add(static_cast<TraceSink&>(*this));
    if (to_.packets != nullptr) tracer.add(static_cast<ib::PacketObserver&>(*this));
    if (to_.facts != nullptr) tracer.add(static_cast<FactObserver&>(*this));
  }

  TraceEvents events() const override { return to_.records->events(); }
  TraceEvents packet_events() const override { return to_.packets->packet_events(); }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override {
    if (has(record)) to_.records->on_record(record, bytes);
  }
  // `port` is the component at whose end of a link the packet is. The record may be of another component.
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override {
    if (set_.has(port, record.time_ps)) to_.packets->on_packet(record, packet, port);
  }
  void on_command(ComponentId adapter, std::uint32_t process, std::span<const std::byte> command, Instant now) override {
    if (set_.has(adapter, to_ps(now))) to_.facts->on_command(adapter, process, command, now);
  }
  void on_level(ComponentId adapter, Queue queue, std::uint32_t number, std::uint32_t level, Instant now) override {
    if (set_.has(adapter, to_ps(now))) to_.facts->on_level(adapter, queue, number, level, now);
  }
  void on_credits(ComponentId port, std::uint32_t lane, std::uint32_t blocks, std::uint32_t of, Instant now) override {
    if (set_.has(port, to_ps(now))) to_.facts->on_credits(port, lane, blocks, of, now);
  }
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override {
    if (set_.has(port, to_ps(now))) to_.facts->on_output_queue(port, lane, bytes, now);
  }
  void on_completion(ComponentId adapter, std::uint32_t cqn, std::uint32_t qpn, bool is_receive, Instant now) override {
    if (set_.has(adapter, to_ps(now))) to_.facts->on_completion(adapter, cqn, qpn, is_receive, now);
  }
  void on_placement(const TraceRecord& write, std::uint32_t qpn, bool is_response) override {
    if (has(write)) to_.facts->on_placement(write, qpn, is_response);
  }
  void add(std::int64_t time_ps, ComponentId component, std::string text) override {
    if (to_.words != nullptr && set_.has(component, time_ps)) to_.words->add(time_ps, component, std::move(text));
  }

 private:
  bool has(const TraceRecord& record) const { return set_.has(ComponentId{record.component}, record.time_ps); }

  const WatchSet& set_;
  const Observers to_;
};

}  // namespace verbatim::observe
