// The receiver's half of a link's flow control (IBA 7.9.4): space released from the input buffer, and the
// flow control packets that report it to the far end. They use the same line as the data packets that leave
// by this port, one per lane at a time, and each reports all space that is free when it starts.
//
// Order on the line: a flow control packet that is due precedes every data packet, but one that becomes due
// in the instant in which a data packet starts follows it. Among several, the lowest lane is first.
//
// None of this is an event. The packets that have left by a given time are computed on demand, from the
// releases and the starts of data packets, which are both known up to that time. A far end that waits for
// credits therefore asks for the expected arrival time, and asks again when it changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/fabric/channel.h"

namespace verbatim::fabric {

class FlowControlPackets {
 public:
  static constexpr std::size_t kLanes = 15;  // VL15 has no flow control

  // A flow control packet, as the far end receives it.
  struct CreditUpdate {
    std::size_t lane = 0;
    std::uint32_t blocks = 0;  // released since the previous one
    Instant arrival{};
  };

  FlowControlPackets(const FlowControlPackets&) = delete;
  FlowControlPackets& operator=(const FlowControlPackets&) = delete;
  // `link` must outlive this.
  FlowControlPackets(const LinkParams& link, std::size_t lanes);

  // `blocks` of a lane become free at `when`, not earlier than now.
  void release(std::size_t lane, std::uint32_t blocks, Instant when);

  // Prefetches the first lane's releases.
  void prefetch() const { first_.releases.prefetch_front(); }
  // Whether a flow control packet that is not on `line` yet leaves before `now`.
  bool is_due(const LineClock& line, Instant now) const { return std::max(line.busy_until(), earliest_) < now; }
  // When the next flow control packet is due; kNever: none is.
  Instant next_packet() const { return earliest_; }
  // Puts each flow control packet that leaves before `now` on `line` and passes it to deliver(const
  // CreditUpdate&).
  template <class Receiver>
  void advance(LineClock& line, Instant now, Receiver deliver) {
    if (is_due(line, now)) advance_past_due(line, now, deliver);
  }

  // Expected start of a data packet that is ready at `at`.
  Instant data_start(const LineClock& line, Instant at) const {
    at = std::max(at, line.busy_until());
    return earliest_ >= at ? at : data_start_behind(line, at);
  }
  // Expected time at which `blocks` more blocks of a lane are granted at the far end; kNever: not released
  // yet.
  Instant next_credit_arrival(const LineClock& line, std::size_t lane, std::uint32_t blocks) const;

  // Lower bound of the time at which a packet with a release is due; kNever: nothing is released.
  Instant next_report() const {
    Instant next = kNever;
    for (std::size_t i = 0; i < lane_count(); ++i) {
      const Lane& lane = lane_of(i);
      if (!lane.releases.empty()) next = std::min(next, std::max(lane.releases.front().when, due(lane, 0, lane.refresh)));
    }
    return next;
  }

  // Flow control packets sent, without those repeated in idle times.
  std::uint64_t sent() const { return sent_; }

 private:
  struct Release {
    Instant when;
    std::uint32_t blocks = 0;
  };
  struct Lane {
    Lane() = default;
    template <std::size_t kCount>
    explicit Lane(std::array<Release, kCount>& lent) : releases(lent) {}

    Ring<Release> releases;  // by time; not reported yet
    Instant refresh{};       // a packet is due then even without new credits
  };
  // State of the packet sequence, for sending and for looking ahead.
  struct Walk {
    explicit Walk(const LineClock& from) : line(from) {}

    LineClock line;
    // Per lane, lane_count() elements.
    std::array<std::size_t, kLanes> reported;  // number of reported releases
    std::array<Instant, kLanes> refresh;
  };

  // advance(), if a packet is due.
  template <class Receiver>
  void advance_past_due(LineClock& line, Instant now, Receiver& deliver) {
    if (refresh_interval() == Duration(0) || now - earliest_ <= 2 * refresh_interval()) {
      return advance_in_place(line, now, deliver);
    }
    Walk walk = begin(line);
    CreditUpdate packet;
    while (step(walk, now, &packet)) {
      ++sent_;
      deliver(packet);
    }
    commit(walk);
    line = walk.line;
  }

  // data_start(), for a packet that must wait for earlier due packets.
  Instant data_start_behind(const LineClock& line, Instant at) const;
  // The same on a link with one lane.
  Instant data_start_behind_one(LineClock line, Instant at) const;
  // advance() one packet at a time, without copying state: for short times, in which no refresh rounds can
  // be skipped.
  template <class Receiver>
  void advance_in_place(LineClock& line, Instant now, Receiver& deliver) {
    for (Instant start = std::max(line.busy_until(), earliest_); start < now;
         start = std::max(line.busy_until(), earliest_)) {
      std::size_t number = 0;
      if (other_count_ > 0) {
        while (due(lane_of(number), 0, lane_of(number).refresh) > start) ++number;
      }
      Lane& reported_lane = lane_of(number);
      Ring<Release>& releases = reported_lane.releases;
      std::uint32_t blocks = 0;
      while (!releases.empty() && releases.front().when <= start) {
        blocks += releases.front().blocks;
        releases.drop_front();
      }
      line.begin(start);
      line.pass(link_.credit_update_bytes);
      ++sent_;
      if (refresh_interval() > Duration(0)) reported_lane.refresh = start + refresh_interval();
      earliest_ = due(reported_lane, 0, reported_lane.refresh);
      if (other_count_ > 0) {
        for (std::size_t i = 0; i < lane_count(); ++i) earliest_ = std::min(earliest_, due(lane_of(i), 0, lane_of(i).refresh));
      }
      deliver(CreditUpdate{number, blocks, line.busy_until() + link_.propagation});
    }
  }
  // As next_credit_arrival() on a link with one lane, whose known releases suffice.
  Instant next_credit_arrival_of_one(LineClock line, std::uint32_t blocks) const;
  Walk begin(const LineClock& line) const;
  // When the next packet for `lane` is due, after `reported` of its releases have been reported.
  Instant due(const Lane& lane, std::size_t reported, Instant refresh) const {
    if (reported == lane.releases.size()) return refresh;
    Instant when = lane.releases[reported].when;
    if (link_.credit_update_interval > Duration(0)) {
      const std::int64_t interval = to_ps(link_.credit_update_interval);
      when = instant_from_ps((to_ps(when) + interval - 1) / interval * interval);
    }
    return std::min(when, refresh);
  }
  Instant due(const Walk& walk, std::size_t lane) const {
    return due(lane_of(lane), walk.reported[lane], walk.refresh[lane]);
  }
  Instant earliest_due(const Walk& walk) const;
  // The next flow control packet; false: it does not start before `end`.
  bool step(Walk& walk, Instant end, CreditUpdate* packet) const;
  // Skips whole refresh rounds in which nothing else happens.
  void skip_rounds(Walk& walk, Instant end) const;
  void commit(const Walk& walk);

  std::size_t lane_count() const { return other_count_ + std::size_t{1}; }
  Lane& lane_of(std::size_t number) { return number == 0 ? first_ : others_[number - 1]; }
  const Lane& lane_of(std::size_t number) const { return number == 0 ? first_ : others_[number - 1]; }

  Duration packet_time() const { return link_.byte_time.time_for(link_.credit_update_bytes); }
  Duration refresh_interval() const { return link_.credit_refresh_interval; }

  Instant earliest_;  // due time of the next packet
  std::array<Release, 4> first_releases_{};
  Lane first_{first_releases_};  // data lane 0: most links have no other
  const LinkParams& link_;
  std::uint64_t sent_ : 56 = 0;
  std::uint64_t other_count_ : 8;  // size of others_
  std::unique_ptr<Lane[]> others_;
};

}  // namespace verbatim::fabric
