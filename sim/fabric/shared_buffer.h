// Packet memory shared by the ports of a device, as in Ethernet switches. A group is a priority of an
// ingress port; its packets use, in this order,
//  1. the reserve of the group;
//  2. the shared pool, up to a dynamic threshold: alpha (a power of two) times the free part of the pool;
//  3. the headroom of the group, if it is lossless.
//
// A packet that finds no room is dropped. Memory is counted in cells; a packet occupies whole cells, all of
// them from the arrival of its head until its last byte has left. A leaving packet releases headroom first,
// then its share of the pool.
//
// A lossless group is full, and its sender should pause, if it uses headroom or all that it may use
// without. An empty group is never full, as no departure from it could resume the sender. The group has
// room again if it uses no headroom and is below its limit by the resume offset, or is empty. The threshold
// moves with the use of other groups, but a group is evaluated only when one of its own packets arrives or
// leaves (as in published models of Broadcom switches, such as HPCC's simulator).
//
// Memory that is released at an instant is available to later arrivals only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/prefetch.h"
#include "sim/core/ring.h"
#include "sim/core/time.h"

namespace verbatim::fabric {

class SharedBuffer {
 public:
  // Thresholds are alpha = 2^kLeastAlpha … 2^kMostAlpha, as SONiC's dynamic_th.
  static constexpr int kLeastAlpha = -8, kMostAlpha = 7;

  struct GroupParams {
    std::uint32_t reserved_bytes = 0;
    std::uint32_t headroom_bytes = 0;  // lossless groups only
    std::uint32_t resume_offset_bytes = 0;
    int alpha_log2 = 0;
    bool is_lossless = false;
  };

  // `bytes`: all the memory. Reserves and headrooms of the groups are taken from it; the rest is the pool.
  SharedBuffer(std::uint64_t bytes, std::uint32_t cell_bytes);
  // Adds memory to the pool.
  void add_memory(std::uint64_t bytes) { pool_cells_ += bytes / cell_bytes_; }

  // Returns the group's number: 0, 1, … The pool must have its reserve and headroom.
  std::size_t add_group(const GroupParams& params);

  // Takes the cells of an arriving packet; false: there are too few, and none is taken.
  bool admit(std::size_t group, std::uint32_t wire_bytes, Instant now);
  // The packet's cells become free at `when`, not earlier than now.
  void release(std::size_t group, std::uint32_t wire_bytes, Instant when);

  // State as of the last admit() or settle().
  bool is_full(std::size_t group) const;
  bool has_room_again(std::size_t group) const;
  // Whether a group could have room again if the packets that hold `kept[n]` cells of each group n stayed
  // for ever, and all others left.
  bool can_have_room_again(std::size_t group, std::span<const std::uint64_t> kept) const;
  std::size_t size() const { return groups_.size(); }
  // Whether a packet of the group released its cells at this instant.
  bool has_left(std::size_t group, Instant now) const { return groups_[group].left == now; }
  // Frees the cells that are released at `now` or before.
  void settle(Instant now) { settle_until(now + Duration(1)); }
  // Expected time at which the next packet of a group releases its cells; kNever: not known.
  Instant next_release(std::size_t group) const {
    const Group& of = groups_[group];
    return of.releases.empty() ? kNever : of.releases.front().when;
  }

  // Prefetches the memory that admit() of a group needs, in three steps (`prefetch.h`).
  void prefetch_admit(std::size_t group, int step) const {
    if (step == 0) return prefetch_lines(this, 0, 2);
    if (step == 1) {
      prefetch_lines(&groups_[group], 0, 1);
      return prefetch_lines(due_.data(), 0, 1);
    }
    if (!due_.empty()) prefetch_lines(&groups_[due_.front().group], 0, 1);
  }
  // The same for release().
  void prefetch_release(std::size_t group) const { prefetch_lines(&groups_[group], 0, 1); }

  bool is_lossless(std::size_t group) const { return groups_[group].is_lossless; }
  // Cells in use, including those that are released and not settled.
  std::uint64_t used_cells(std::size_t group) const {
    return groups_[group].used + groups_[group].in_headroom;
  }
  std::uint64_t free_pool_cells() const { return pool_cells_ - pool_used_; }
  std::uint64_t headroom_used_cells(std::size_t group) const { return groups_[group].in_headroom; }
  std::uint32_t cells_of(std::uint64_t bytes) const {
    return static_cast<std::uint32_t>((bytes + cell_bytes_ - 1) / cell_bytes_);
  }

  // alpha times the free part of the pool, in cells.
  std::uint64_t threshold(int alpha_log2) const {
    return times_alpha(free_pool_cells(), alpha_log2);
  }

 private:
  static std::uint64_t times_alpha(std::uint64_t cells, int alpha_log2) {
    return alpha_log2 >= 0 ? cells << alpha_log2 : cells >> -alpha_log2;
  }
  struct Release {
    Instant when;
    std::uint32_t cells = 0;
  };
  struct alignas(kCacheLineBytes) Group {
    std::uint32_t reserved = 0, headroom = 0, resume_offset = 0;  // cells, as all below
    std::int8_t alpha_log2 = 0;
    bool is_lossless = false;
    std::uint64_t used = 0;  // reserve and pool
    std::uint64_t in_headroom = 0;
    Instant left = kNever;   // last release of cells; kNever: none yet
    Ring<Release> releases;  // by time

    std::uint64_t in_pool() const { return used > reserved ? used - reserved : 0; }
  };
  // A release of some group; those of all groups form a heap, the earliest first.
  struct Due {
    Instant when;
    std::size_t group = 0;
  };

  void settle_until(Instant end);
  void give_back(Group& group, std::uint32_t cells);
  // Use of a group after all but `kept` of its cells have been released.
  struct Use {
    std::uint64_t used = 0, in_headroom = 0;
  };
  static Use use_of(const Group& group, std::uint64_t kept);
  // Whether a group that uses no headroom and may use `limit` cells has room again.
  static bool has_room(const Group& group, std::uint64_t used, std::uint64_t limit);
  // Cells that a group may use without headroom.
  std::uint64_t limit_of(const Group& group) const { return group.reserved + threshold(group.alpha_log2); }

  const std::uint32_t cell_bytes_;
  std::uint64_t pool_cells_;
  std::uint64_t pool_used_ = 0;
  std::vector<Group> groups_;
  std::vector<Due> due_;
};

}  // namespace verbatim::fabric
