// Time series of a run in long form, as CSV: a line for each value. Queues, pauses, marks, drops, bytes that ports send, rates of
// queue pairs.
//
// With a step, time is in parts of equal length, and a line begins with the start of its part:
//
//  - Levels (queue_bytes, pausing, rate_mbps) have a mean over the part's time, and an extreme: the most bytes, the least rate. A
//    part without a line is as the last one that has a line, so a level that stays as it is takes no room.
//  - Counts (marks, drops, sent_bytes) are sums. A part without a line has 0.
//
// So no pause, mark, drop or peak is lost whatever the step. A step of 0 gives a line for each change.
//
// `where` is a component, as a trace names it, and `number` the lane or priority, or the queue pair of a rate. A port that pauses
// is the one that asks its far end to. A rate begins with its first change: before, the queue pair sends as fast as its line.
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

  // `components` outlives it. The header is written at once, whole lines follow.
  Series(const ComponentTable& components, Duration step, Write write);

  // The run ends at that time. Writes what is left.
  void finish(std::int64_t end_ps);

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) override;
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override;
  void on_command(ComponentId, std::uint32_t, std::span<const std::byte>, Instant) override {}
  void on_level(ComponentId, Queue, std::uint32_t, std::uint32_t, Instant) override {}
  void on_credits(ComponentId, std::uint32_t, std::uint32_t, std::uint32_t, Instant) override {}
  void on_placement(const TraceRecord&, std::uint32_t, bool) override {}

 private:
  // In the order of the lines of one time. The reason is added to kDrops.
  enum class What : std::uint8_t { kQueueBytes, kPausing, kRate, kMarks, kSentBytes, kDrops };

  // A series, and its place among those of one time: what, component, number.
  using Key = std::uint64_t;
  static Key key(std::uint64_t what, std::uint32_t component, std::uint64_t number);

  struct Level {
    std::int64_t value = -1;      // -1: it is not known yet
    std::int64_t part_ps = -1;    // the start of the part that the rest is of
    std::int64_t known_from_ps = 0, counted_to_ps = 0;
    std::int64_t least = 0, most = 0;
    __int128 area = 0;            // value by picoseconds, from known_from_ps to counted_to_ps
    std::int64_t written_extreme = 0, written_mean = 0;
    bool is_listed = false;
  };

  void set_level(What what, ComponentId where, std::uint64_t number, std::int64_t value, std::int64_t time_ps);
  void count(std::uint64_t what, ComponentId where, std::uint64_t number, std::int64_t amount, std::int64_t time_ps);
  // Everything before that time is written.
  void advance(std::int64_t time_ps);
  void close_part(std::int64_t end_ps);
  void enter_part(Level& level) const;
  // Returns whether the next part needs a line if nothing changes.
  bool write_level(Key key, Level& level, std::int64_t end_ps);
  void add_line(Key key, std::string_view suffix, std::int64_t time_ps, std::string_view value);
  void flush_instant();

  const ComponentTable& components_;
  const std::int64_t step_ps_;
  Write write_;
  std::int64_t part_ps_ = 0;  // the start of the part, or the instant without a step
  std::unordered_map<Key, Level> levels_;
  std::unordered_map<Key, std::int64_t> counts_;     // of this part
  std::vector<Key> listed_;                          // levels that may have a line in this part
  std::vector<std::pair<Key, std::string>> instant_; // lines of this instant, without a step
};

}  // namespace verbatim::observe
