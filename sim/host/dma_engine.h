// DMA between host memory and an adapter over PCI Express. It models time only: the client of a transfer is
// called at the instant at which memory is accessed, and moves the bytes then. Changes that a program makes
// to its memory before that instant have their real effect.
//
// A read is split into requests of at most MRRS bytes (header only, upstream). Each occupies a tag until its
// last completion byte has returned. The root complex answers a request after the memory latency, in
// completions of at most MPS bytes, in request order (downstream); all but the last end at a multiple of RCB.
// A write is split into posted TLPs of at most MPS bytes (upstream) and is visible after the memory latency.
// No request or write crosses a 4 KiB page. All upstream TLPs share one lane in the order in which they are
// requested, except that writes pass reads that wait for a tag.
//
// Ordering (PCI Express ordering rules, table 2-40): posted writes become visible in order, and a read
// accesses memory only after every write issued before it is visible.
//
// Granularity: a transfer accesses memory at one instant, a read when its last request reaches memory, a
// write when its last byte is visible. Callers keep transfers small (one path MTU).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/delay_line.h"
#include "sim/core/engine.h"
#include "sim/core/trail.h"
#include "sim/host/pcie_profile.h"
#include "sim/host/program_memory.h"
#include "sim/host/serial_line.h"

namespace verbatim::host {

// Observable effect of a transfer at the instant of its memory access.
enum class Touch : std::uint8_t {
  kUnseen,   // none: the bytes that it reads are final, or those that it writes are already there
  kRead,     // reads bytes of a program
  kWrite,    // writes bytes of a program
  kUnknown,  // unknown
};
struct TouchedBytes {
  ProgramMemory* memory = nullptr;
  ProgramAddress address = 0;
  std::uint32_t length = 0;
  const std::byte* written = nullptr;  // for a write: `length` bytes, valid until the memory access
};

// Client of transfers. `cookie` is the client's own value.
class DmaClient {
 public:
  // Predicts the effect of the pending transfer, and appends the bytes concerned to `bytes`. The prediction
  // holds if no program makes a request to the adapter before the transfer.
  virtual Touch touch_of(std::uint64_t /*cookie*/, std::vector<TouchedBytes>& /*bytes*/) const { return Touch::kUnknown; }
  // Memory is read now; the bytes reach the adapter at `at_adapter`.
  virtual void on_dma_read(std::uint64_t cookie, Instant at_adapter) = 0;
  // The bytes become visible in memory now.
  virtual void on_dma_write(std::uint64_t cookie) = 0;

 protected:
  ~DmaClient() = default;
};

// A run of bytes in memory; only the page offset of its address matters.
struct DmaPiece {
  std::uint32_t bytes = 0;
  std::uint32_t page_offset = 0;  // 0 … 4095

  DmaPiece() = default;
  DmaPiece(std::uint32_t bytes, std::uint64_t address = 0)
      : bytes(bytes), page_offset(static_cast<std::uint32_t>(address % kPageBytes)) {}
  static constexpr std::uint32_t kPageBytes = 4096;
};

struct DmaWriteTimes {
  Instant left_adapter;  // last byte
  Instant visible;
};

class DmaEngine {
 public:
  DmaEngine(Engine& engine, ComponentId id, const PcieProfile& profile);

  // Each piece is split into requests separately; none may be empty. The steps until the bytes have arrived
  // or are visible are added to `trail`.
  void read(std::span<const DmaPiece> pieces, DmaClient& client, std::uint64_t cookie, Trail trail = {});
  void read(DmaPiece piece, DmaClient& client, std::uint64_t cookie, Trail trail = {}) {
    read({&piece, 1}, client, cookie, std::move(trail));
  }

  DmaWriteTimes write(std::span<const DmaPiece> pieces, DmaClient& client, std::uint64_t cookie,
                      Trail trail = {});
  DmaWriteTimes write(DmaPiece piece, DmaClient& client, std::uint64_t cookie, Trail trail = {}) {
    return write({&piece, 1}, client, cookie, std::move(trail));
  }

  // read_length() and write_length() compute the times of a read of one piece and of a write whose bytes are
  // not modelled: without memory access, callback or event. nullopt: the read would have to wait for tags;
  // nothing was done.
  struct ReadTimes {
    Instant touch;  // time of the memory access
    Instant at_adapter;
  };
  std::optional<ReadTimes> read_length(DmaPiece piece, Trail& trail);
  DmaWriteTimes write_length(std::span<const DmaPiece> pieces, Trail trail = {});

  // The CPU writes a doorbell now. Returns its arrival time at the adapter; earlier push()es arrive before
  // it.
  Instant ring(Trail& trail);
  // The CPU writes `bytes` to the adapter now, through write-combining buffers of one cache line: consecutive
  // posted TLPs of at most 64 bytes. Returns the arrival of the last. They do not wait for completions of
  // reads, whose lane time is reserved in advance.
  Instant push(std::uint32_t bytes, Trail& trail);

  static constexpr std::uint32_t kWriteCombiningLine = 64;

  // Calls visit(when, client, cookie) for transfers that access memory before `limit`, in no particular
  // order. Transfers requested later, and those that wait for a tag, access memory one PCI Express latency
  // and one memory latency from now at the earliest.
  template <class Visit>
  void for_each_touch_before(Instant limit, Visit visit) const {
    const auto show = [&visit](Instant when, const Transfer& transfer) { visit(when, *transfer.client, transfer.cookie); };
    read_touches_.for_each_before(limit, show);
    write_touches_.for_each_before(limit, show);
  }

 private:
  struct Transfer {
    DmaClient* client = nullptr;
    std::uint64_t cookie = 0;
    Instant at_adapter;
  };
  struct PendingRead {
    DmaClient* client = nullptr;
    std::uint64_t cookie = 0;
    std::uint32_t piece_count = 0;
    std::uint32_t next_piece = 0;
    std::uint32_t next_offset = 0;      // within next_piece
    DmaPiece first_piece[1];            // inline storage of the usual single piece
    std::vector<DmaPiece> more;         // all pieces if there are several
    Trail trail;
    const DmaPiece* pieces() const { return more.empty() ? first_piece : more.data(); }
  };

  // Issues requests of queued reads until all are issued or no tag is free.
  void issue_reads();
  // Size of the completions of `request`, with headers.
  std::uint64_t completion_bytes(DmaPiece request) const;
  // Whether all requests of the piece except the last have MRRS bytes, and all their completions MPS bytes.
  bool has_equal_requests(DmaPiece piece) const;
  // A read of one such piece for which all tags are free: the same times as request by request, with fewer
  // divisions.
  ReadTimes issue_at_once(std::uint32_t bytes, std::uint32_t requests, Trail& trail);
  // Number of requests of a read that can be issued by issue_at_once(); 0: it cannot.
  std::uint32_t requests_at_once(std::span<const DmaPiece> pieces) const;
  bool tags_free(std::uint32_t requests) const;
  // The next request's tag becomes free when the completion byte at `last` has arrived.
  void take_tag(SerialLine::Mark last) {
    tags_[next_tag_] = last;
    if (++next_tag_ == tags_.size()) next_tag_ = 0;
  }
  // When a tag is free for the request `ahead` requests after the next one; `ahead` is less than the number
  // of tags.
  Instant tag_free_at(std::size_t ahead) const {
    const std::size_t tag = next_tag_ + ahead;
    const SerialLine::Mark& mark = tags_[tag < tags_.size() ? tag : tag - tags_.size()];
    return mark.busy_bytes == 0 ? Instant{} : downstream_.time_of(mark) + profile_.one_way_latency;
  }
  // Trail steps of a request that is sent now and reads memory at `touch`; the lane was free at `free`.
  void add_request(Trail& trail, Instant free, Instant out, Instant touch) const;
  // Trail steps of its completions, which have `bytes` with headers and have left at `end`.
  void add_completion(Trail& trail, Instant free, std::uint64_t bytes, Instant end) const;
  // Delivers writes of this instant first, as the read may have waited for them.
  void on_read_touch(Transfer touch) {
    write_touches_.deliver_until(engine_.now());
    touch.client->on_dma_read(touch.cookie, touch.at_adapter);
  }
  void on_write_touch(Transfer touch) { touch.client->on_dma_write(touch.cookie); }

  Engine& engine_;
  const ComponentId id_;
  const PcieProfile profile_;
  SerialLine upstream_;
  SerialLine downstream_;
  SerialLine pushes_;           // downstream; separate from completions
  std::size_t next_tag_ = 0;    // tag of the next read request; round robin
  std::vector<SerialLine::Mark>
      tags_;  // last byte of the completion that frees each tag, as it enters the lane
  const bool completions_outlast_requests_;  // the downstream lane is never idle within one read
  const bool requests_fill_pages_;           // a page is a multiple of MRRS
  const std::uint64_t full_completion_bytes_;  // completions of a page-aligned request of MRRS bytes
  Instant last_write_visible_{};
  Instant last_read_touch_{};
  Ring<PendingRead> pending_;
  Timer tag_timer_;
  DelayLine<Transfer> read_touches_;
  DelayLine<Transfer> write_touches_;
};

}  // namespace verbatim::host
