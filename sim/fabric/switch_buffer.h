// Memory of a device for packets that arrive by its ports. A packet occupies space from the arrival of its
// head until its last byte has left. While it is in an output queue it holds a `BufferClaim` and has no
// reference to its ingress port.
//
// `PerPortBuffer` gives each port a separate space:
//  - VL15 has no flow control (IBA 7.6.4): its space is counted, and a packet that finds too little is
//    dropped.
//  - Data lanes of a link with credits are not counted: the far end sends only packets that fit.
//  - Data lanes of a link without flow control (`bound_lanes`) are counted as VL15 is.
//  - Lanes of a link with pauses are groups of a shared buffer (`shared_buffer.h`) with a reserve and
//    headroom. They have a pool only if the device has shared memory; then the lanes of all links without
//    credits are groups of it.
//  - The crossbar reads a limited number of packets of one input at a time (`crossbar_speedup`).
//
// Space that is released at an instant is available to later arrivals only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/check.h"
#include "sim/core/prefetch.h"
#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/fabric/channel.h"
#include "sim/fabric/conservation.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/shared_buffer.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

inline constexpr ib::VirtualLane kManagementLane{15};

// Buffers and credits count blocks of 64 bytes (IBA 7.9.4.4); a packet occupies whole blocks.
inline constexpr std::uint32_t kCreditBlockBytes = 64;
constexpr std::uint32_t blocks_of(std::uint32_t wire_bytes) {
  return (wire_bytes + kCreditBlockBytes - 1) / kCreditBlockBytes;
}

// Drop reason for a packet of a lane that finds no space.
constexpr DropReason full_buffer_reason(ib::VirtualLane lane) {
  return lane == kManagementLane ? DropReason::kManagementBuffer : DropReason::kInputBuffer;
}

// The ingress port, whose link is notified of released space.
class SpaceListener {
 public:
  virtual ComponentId input_id() const = 0;
  // A packet that arrived on `lane` has left, or will have left at `when`.
  virtual void on_space_released(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) = 0;

 protected:
  ~SpaceListener() = default;
};

// The space that a packet in an output queue of the same device occupies.
struct BufferClaim {
  static constexpr std::uint32_t kAlone = ~0u;

  PortNumber in;         // ingress port; 0: it occupies no space
  ib::VirtualLane lane;  // on which it arrived
  std::uint32_t shared = kAlone;  // claim number shared with other copies (`PerPortBuffer::share_claim`)
};
// Conversion from and to the state that queued packets carry.
inline BufferClaim claim_of(const ib::Packet& packet) {
  return {PortNumber{packet.forwarding.input}, ib::VirtualLane{packet.forwarding.input_lane},
          packet.shares_claim ? packet.shared_claim : BufferClaim::kAlone};
}
inline void set_claim(ib::Packet& packet, const BufferClaim& claim) {
  packet.forwarding.input = claim.in.value;
  packet.forwarding.input_lane = claim.lane.value;
  packet.shares_claim = claim.shared != BufferClaim::kAlone;
  if (packet.shares_claim) [[unlikely]] packet.shared_claim = claim.shared;
}

// Memory that all ports of a device share.
struct SharedMemoryParams {
  std::uint64_t bytes = 0;  // 0: each port and lane has its own
  std::uint32_t cell_bytes = kCreditBlockBytes;
  std::uint32_t reserved_bytes = 0;  // for each lane of a port
  int lossless_alpha_log2 = 0, lossy_alpha_log2 = 0;
  // A lossy packet is dropped if its output queue would exceed this factor times the free part of the pool.
  // The queued bytes and those of the packet are rounded up to cells separately.
  int output_alpha_log2 = SharedBuffer::kMostAlpha;
  std::uint32_t resume_offset_bytes = 0;

  friend bool operator==(const SharedMemoryParams&, const SharedMemoryParams&) = default;
};

class PerPortBuffer {
 public:
  struct Params {
    std::uint32_t vl15_bytes = 0;        // per port, rounded down to blocks; 0: unlimited
    std::uint32_t crossbar_speedup = 0;  // packets of one input that leave at a time; 0: any number
    SharedMemoryParams shared{};
  };

  // Buffer of the ports `first`, `first` + 1 …
  PerPortBuffer(const Params& params, PortNumber first, std::size_t ports)
      : params_(params),
        first_(first),
        counts_(params.vl15_bytes > 0),
        inputs_(ports),
        reads_(ports * params.crossbar_speedup) {
    for (Input& input : inputs_) {
      if (counts_) input.management = std::make_unique<Space>(Space{.capacity = params.vl15_bytes / kCreditBlockBytes});
    }
    if (params.shared.bytes > 0) shared_ = std::make_unique<SharedBuffer>(params.shared.bytes, params.shared.cell_bytes);
  }

  void attach(PortNumber in, SpaceListener& port) { at(in).port = &port; }
  // For a port whose link has no credits: each lane gets `bytes`, rounded down to blocks, or a group of the
  // shared memory.
  void bound_lanes(PortNumber in, std::size_t lanes, std::uint32_t bytes, const LinkParams& link) {
    counts_ = true;
    if (has_shared_memory() || link.flow_control == FlowControlKind::kPause) return add_groups(in, lanes, bytes, link);
    at(in).lanes = std::make_unique<Space[]>(lanes);
    for (std::size_t i = 0; i < lanes; ++i) at(in).lanes[i].capacity = bytes / kCreditBlockBytes;
  }

  // Byte counts of an ingress port that debug builds check; empty in other builds.
  InputBytes& bytes_of(PortNumber in) { return at(in).bytes; }

  // Component of an ingress port.
  ComponentId input_id(PortNumber in) const { return inputs_[place(in)].port->input_id(); }

  void prefetch_input(PortNumber in) const {
    prefetch_lines(&inputs_[place(in)], 0, 1);
    prefetch_lines(reads_.data() + place(in) * params_.crossbar_speedup, 0, 1);
  }
  // Prefetches the groups that the arrival of a packet needs, in three steps (`SharedBuffer::prefetch_admit`).
  void prefetch_admit(PortNumber in, ib::VirtualLane lane, int step) const {
    if (shared_ == nullptr) return;
    if (step == 0) {
      prefetch_lines(&inputs_[place(in)], 0, 1);
      return shared_->prefetch_admit(0, step);
    }
    if (has_group(in, lane)) shared_->prefetch_admit(group_of(in, lane), step);
  }
  // The group of which a packet's space will be released.
  void prefetch_release(PortNumber in, ib::VirtualLane lane) const {
    if (shared_ != nullptr && has_group(in, lane)) shared_->prefetch_release(group_of(in, lane));
  }
  const SpaceListener& input(PortNumber in) const { return *inputs_[place(in)].port; }

  // Takes the space of an arriving packet; false: there is too little, and none is taken.
  bool admit(PortNumber in, ib::VirtualLane lane, std::uint32_t wire_bytes, Instant now) {
    if (has_group(in, lane)) return shared_->admit(group_of(in, lane), wire_bytes, now);
    Space* const space = counted_space(in, lane);
    return space == nullptr || space->take(blocks_of(wire_bytes), now);
  }
  // Whether an arrived packet may join an output queue that holds `queued_bytes`.
  bool may_queue(PortNumber in, ib::VirtualLane lane, std::uint32_t queued_bytes, std::uint32_t wire_bytes) const {
    if (!has_shared_memory() || !has_group(in, lane) || shared_->is_lossless(group_of(in, lane))) return true;
    const std::uint32_t cells = shared_->cells_of(queued_bytes) + shared_->cells_of(wire_bytes);
    return cells <= shared_->threshold(params_.shared.output_alpha_log2);
  }
  // The groups of links with pauses or of shared memory, one per lane; null: no port has such a link, and
  // there is no shared memory.
  SharedBuffer* groups() { return shared_.get(); }
  const SharedBuffer* groups() const { return shared_.get(); }
  std::size_t group_of(PortNumber in, ib::VirtualLane lane) const {
    return static_cast<std::size_t>(inputs_[place(in)].first_group) + lane.value;
  }

  bool has_shared_memory() const { return params_.shared.bytes > 0; }
  // Whether the packets of a port's lane form a group.
  bool has_group(PortNumber in, ib::VirtualLane lane) const {
    return lane != kManagementLane && inputs_[place(in)].first_group >= 0;
  }

  // Whether the crossbar limits the packets read from an input at a time.
  bool limits_reads() const { return params_.crossbar_speedup > 0; }
  // Earliest time at which the crossbar can read one more packet of an input.
  Instant next_read(PortNumber in, Instant now) { return limits_reads() ? std::max(now, first_read_end(in)) : now; }
  // The crossbar reads a packet until `end`; it must start at next_read() or later.
  void add_read(PortNumber in, Instant end) {
    if (limits_reads()) first_read_end(in) = end;
  }

  // Frees the space of a packet at `when`, not earlier than now, and notifies the ingress port.
  void release(PortNumber in, ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) {
    if (counts_) [[unlikely]] {
      if (has_group(in, lane)) {
        shared_->release(group_of(in, lane), wire_bytes, when);
      } else if (Space* const space = counted_space(in, lane); space != nullptr) {
        space->release(blocks_of(wire_bytes), when);
      }
    }
    at(in).port->on_space_released(lane, wire_bytes, when);
  }
  // Creates a claim shared by `copies` copies of a packet, which ends when the last one has left. Returns
  // its number.
  std::uint32_t share_claim(std::uint32_t copies) {
    if (free_claims_.empty()) {
      free_claims_.push_back(static_cast<std::uint32_t>(shared_claims_.size()));
      shared_claims_.emplace_back();
    }
    const std::uint32_t number = free_claims_.back();
    free_claims_.pop_back();
    shared_claims_[number] = {copies, {}};
    return number;
  }
  // Ends the claim of a packet from an output queue, which leaves at `when`, not earlier than now, or is
  // dropped then.
  void end_claim(const BufferClaim& claim, std::uint32_t wire_bytes, Instant when) {
    if (claim.in.value == 0) return;
    if (claim.shared != BufferClaim::kAlone) [[unlikely]] {
      SharedClaim& shared = shared_claims_[claim.shared];
      shared.latest = std::max(shared.latest, when);
      if (--shared.left > 0) return;
      when = shared.latest;
      free_claims_.push_back(claim.shared);
    }
    bytes_of(claim.in).claimed.leave(wire_bytes);
    release(claim.in, claim.lane, wire_bytes, when);
  }

 private:
  struct SharedClaim {
    std::uint32_t left = 0;  // copies in queues
    Instant latest{};        // end of those that have left
  };
  struct Release {
    Instant when;
    std::uint32_t blocks = 0;
  };
  struct Space {
    std::uint32_t capacity = 0;  // blocks
    std::uint32_t used = 0;      // includes releases since the last arrival
    Ring<Release> releases{};    // by time

    bool take(std::uint32_t blocks, Instant now) {
      while (!releases.empty() && releases.front().when < now) used -= releases.pop_front().blocks;
      if (used + blocks > capacity) return false;
      used += blocks;
      return true;
    }
    void release(std::uint32_t blocks, Instant when) {
      releases.insert_sorted({when, blocks}, [](const Release& a, const Release& b) { return a.when < b.when; });
    }
  };
  struct Input {
    SpaceListener* port = nullptr;
    std::int32_t first_group = -1;      // of its lanes, in the shared buffer; -1: none
    [[no_unique_address]] InputBytes bytes;
    std::unique_ptr<Space> management;  // null: not counted
    std::unique_ptr<Space[]> lanes;     // null: not counted
  };

  std::size_t place(PortNumber in) const { return static_cast<std::size_t>(in.value - first_.value); }
  Input& at(PortNumber in) { return inputs_[place(in)]; }
  void add_groups(PortNumber in, std::size_t lanes, std::uint32_t bytes, const LinkParams& link) {
    if (shared_ == nullptr) shared_ = std::make_unique<SharedBuffer>(0, kCreditBlockBytes);
    for (std::size_t i = 0; i < lanes; ++i) {
      SharedBuffer::GroupParams group;
      group.is_lossless = link.flow_control == FlowControlKind::kPause && (link.lossless_lanes >> i & 1) != 0;
      if (group.is_lossless) group.headroom_bytes = link.headroom_bytes;
      group.resume_offset_bytes = params_.shared.resume_offset_bytes;
      if (has_shared_memory()) {
        group.reserved_bytes = params_.shared.reserved_bytes;
        group.alpha_log2 = group.is_lossless ? params_.shared.lossless_alpha_log2 : params_.shared.lossy_alpha_log2;
      } else {
        CHECK(bytes > group.headroom_bytes);
        shared_->add_memory(bytes);
        // Whole blocks: the rest of the headroom's last block is not part of the reserve.
        const std::uint32_t blocks = bytes / kCreditBlockBytes, headroom = std::min(blocks_of(group.headroom_bytes), blocks);
        group.headroom_bytes = headroom * kCreditBlockBytes;
        group.reserved_bytes = (blocks - headroom) * kCreditBlockBytes;
      }
      const std::size_t number = shared_->add_group(group);
      if (i == 0) at(in).first_group = static_cast<std::int32_t>(number);
    }
  }
  // Null: not counted.
  Space* counted_space(PortNumber in, ib::VirtualLane lane) {
    Input& input = at(in);
    if (lane == kManagementLane) return input.management.get();
    return input.lanes == nullptr ? nullptr : &input.lanes[lane.value];
  }
  // Earliest end among the last packets that the crossbar reads from an input.
  Instant& first_read_end(PortNumber in) {
    const auto first = reads_.begin() + static_cast<std::ptrdiff_t>(place(in) * params_.crossbar_speedup);
    return *std::min_element(first, first + params_.crossbar_speedup);
  }

  const Params params_;
  const PortNumber first_;
  bool counts_;  // the space of some lane is counted
  std::vector<Input> inputs_;
  std::vector<Instant> reads_;  // by input: ends of the last crossbar reads, crossbar_speedup of them
  std::unique_ptr<SharedBuffer> shared_;  // null: no lane is a group
  std::vector<SharedClaim> shared_claims_;
  std::vector<std::uint32_t> free_claims_;  // indices of shared_claims_
};

}  // namespace verbatim::fabric
