// Packet memory that the ports of a device share, as switches of Ethernet have it. A group is a priority of
// an ingress port; its packets take, in this order,
//
//  1. what is reserved for the group;
//  2. the shared pool, up to a dynamic threshold: alpha (a power of two) times what is free of the pool;
//  3. the headroom of the group, if it is lossless.
//
// A packet that finds no room is dropped. Memory is counted in cells; a packet takes whole ones, all of them
// from the arrival of its head until its last byte has left. What leaves gives back headroom first, then its
// share of the pool.
//
// A lossless group is full, and its sender is to pause, when it uses headroom, or all that it may have
// without; an empty one is not, as nothing of it could leave and resume the sender. It has room again when
// no headroom is used and it is below that by the resume offset, or empty.
// The threshold moves with what other groups take, but a group is judged only when a packet of its own comes
// or leaves (as published models of Broadcom switches do; HPCC's simulator).
//
// Memory that is given back at an instant serves heads that come later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/ring.h"
#include "sim/core/time.h"

namespace verbatim::fabric {

class SharedBuffer {
 public:
  // Thresholds are alpha = 2^kLeastAlpha … 2^kMostAlpha, as SONiC's dynamic_th has them.
  static constexpr int kLeastAlpha = -8, kMostAlpha = 7;

  struct GroupParams {
    std::uint32_t reserved_bytes = 0;
    std::uint32_t headroom_bytes = 0;  // of a lossless group
    std::uint32_t resume_offset_bytes = 0;
    int alpha_log2 = 0;
    bool is_lossless = false;
  };

  // `bytes`: all the memory, of which the groups' reserves and headrooms are taken; the rest is the pool.
  SharedBuffer(std::uint64_t bytes, std::uint32_t cell_bytes);
  // So many bytes more belong to the pool.
  void add_memory(std::uint64_t bytes) { pool_cells_ += bytes / cell_bytes_; }

  // Returns the group's number: 0, 1, … Its memory must be there.
  std::size_t add_group(const GroupParams& params);

  // A packet that comes in now takes its cells; false: there are too few, and it takes none.
  bool admit(std::size_t group, std::uint32_t wire_bytes, Instant now);
  // Its cells are free at `when`, now or later.
  void release(std::size_t group, std::uint32_t wire_bytes, Instant when);

  // As of the last admit() or settle().
  bool is_full(std::size_t group) const;
  bool has_room_again(std::size_t group) const;
  // Whether a group could have room again if the packets stayed for ever that hold `kept[n]` cells of each group n, and all
  // others left.
  bool can_have_room_again(std::size_t group, std::span<const std::uint64_t> kept) const;
  std::size_t size() const { return groups_.size(); }
  // Whether a packet of the group gave back its cells at this instant.
  bool has_left(std::size_t group, Instant now) const { return groups_[group].left == now; }
  // Cells that are released at `now` or before are free.
  void settle(Instant now) { settle_until(now + Duration(1)); }
  // When the next packet of a group gives back its cells, as far as is known; kNever: it is not.
  Instant next_release(std::size_t group) const {
    const Group& of = groups_[group];
    return of.releases.empty() ? kNever : of.releases.front().when;
  }

  bool is_lossless(std::size_t group) const { return groups_[group].is_lossless; }
  // Cells in use, with those that are released and not settled.
  std::uint64_t used_cells(std::size_t group) const {
    return groups_[group].used + groups_[group].in_headroom;
  }
  std::uint64_t free_pool_cells() const { return pool_cells_ - pool_used_; }
  std::uint64_t headroom_used_cells(std::size_t group) const { return groups_[group].in_headroom; }
  std::uint32_t cells_of(std::uint64_t bytes) const {
    return static_cast<std::uint32_t>((bytes + cell_bytes_ - 1) / cell_bytes_);
  }

  // alpha times what is free of the pool, in cells.
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
  struct Group {
    std::uint32_t reserved = 0, headroom = 0, resume_offset = 0;  // cells, as all below
    std::int8_t alpha_log2 = 0;
    bool is_lossless = false;
    std::uint64_t used = 0;  // of the reserve and the pool
    std::uint64_t in_headroom = 0;
    Instant left = kNever;   // when a packet gave back its cells last; kNever: none has
    Ring<Release> releases;  // by time

    std::uint64_t in_pool() const { return used > reserved ? used - reserved : 0; }
  };
  // A release of some group; those of all are a heap, the earliest first.
  struct Due {
    Instant when;
    std::size_t group = 0;
  };

  void settle_until(Instant end);
  void give_back(Group& group, std::uint32_t cells);
  // The use of a group of which nothing but so many cells is left.
  struct Use {
    std::uint64_t used = 0, in_headroom = 0;
  };
  static Use use_of(const Group& group, std::uint64_t kept);
  // A group without headroom in use that may have `limit` cells.
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
