// Time series of a run in long form, as CSV: one line for each value. Queues, pauses, marks, drops, bytes that ports
// send, rates of queue pairs.
//
// With a step, time is divided into parts of equal length, and a line begins with the start of its part:
//
//  - Levels (queue_bytes, pausing, rate_mbps) have the mean over the part and an extreme: the most bytes, the least
//    rate. A part without a line equals the previous line, so a constant level takes no space.
//  - Counts (marks, drops, sent_bytes) are sums. A part without a line has 0.
//
// Every pause, mark, drop and peak shows, whatever the step. A step of 0 gives a line for each change.
//
// `where` is a component as in the trace; `number` is the lane or priority, or the queue pair of a rate. The port of a
// pause is the one that requests it. A rate begins with its first change; before that the queue pair sends at the rate
// of its line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/core/trace.h"
#include "sim/ib/packet_observer.h"

namespace verbatim::observe {

class Series final : public TraceSink, public ib::PacketObserver, public FactObserver {
 public:
  using Write = std::function<void(std::string_view text)>;
  static constexpr std::string_view kHeader = "time_us,what,where,number,value\n";

  // `components` must outlive this object. The header is written at once; after that only whole lines are.
  Series(const ComponentTable& components, Duration step, Write write);

  // Ends the run at that time and writes the rest.
  void finish(std::int64_t end_ps);

  TraceEvents events() const override { return bits_of(TraceEvent::kRate, TraceEvent::kPauseFrame); }
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  TraceEvents packet_events() const override {
    return bits_of(TraceEvent::kPacketTransmitted, TraceEvent::kPacketMarked, TraceEvent::kPacketDropped);
  }
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override;
  void on_command(ComponentId, std::uint32_t, std::span<const std::byte>, Instant) override {}
  void on_level(ComponentId, Queue, std::uint32_t, std::uint32_t, Instant) override {}
  void on_credits(ComponentId, std::uint32_t, std::uint32_t, std::uint32_t, Instant) override {}
  void on_placement(const TraceRecord&, std::uint32_t, bool) override {}

 private:
  // Sorted as the lines of one time are. kDrops is the first of the values for the reasons of drops.
  enum class What : std::uint8_t { kQueueBytes, kPausing, kRate, kMarks, kSentBytes, kDrops };

  // Identifies a series and sorts those of one time: kind, component, number.
  using Key = std::uint64_t;
  static Key key(std::uint64_t what, std::uint32_t component, std::uint64_t number);

  struct Level {
    std::int64_t value = -1;      // -1: unknown
    std::int64_t part_ps = -1;    // start of the part that the members below describe
    std::int64_t known_from_ps = 0, counted_to_ps = 0;
    std::int64_t least = 0, most = 0;
    __int128 area = 0;            // integral of value over ps, from known_from_ps to counted_to_ps
    std::int64_t written_extreme = 0, written_mean = 0;
    bool is_listed = false;
  };

  void set_level(What what, ComponentId where, std::uint64_t number, std::int64_t value, std::int64_t time_ps);
  void count(std::uint64_t what, ComponentId where, std::uint64_t number, std::int64_t amount, std::int64_t time_ps);
  // Writes all lines before that time.
  void advance(std::int64_t time_ps);
  void close_part(std::int64_t end_ps);
  void enter_part(Level& level) const;
  // Returns whether the next part needs a line even if the level does not change.
  bool write_level(Key key, Level& level, std::int64_t end_ps);
  void add_line(Key key, std::string_view suffix, std::int64_t time_ps, std::string_view value);
  void flush_instant();

  const ComponentTable& components_;
  const std::int64_t step_ps_;
  Write write_;
  std::int64_t part_ps_ = 0;  // start of the current part; without a step the current instant
  std::unordered_map<Key, Level> levels_;
  std::unordered_map<Key, std::int64_t> counts_;     // of the current part
  std::vector<Key> listed_;                          // levels that may need a line in the current part
  std::vector<std::pair<Key, std::string>> instant_; // lines of the current instant, without a step
};

}  // namespace verbatim::observe
