// DMA between host memory and an adapter over PCI Express. It models time only: who asked for a transfer is
// called at the instant at which memory is touched and moves the bytes then, so that what a program does to
// its memory in the meantime has the effect it would have.
//
// A read of n bytes goes out as requests of at most MRRS bytes (header only, upstream), each holding one tag
// until its last completion byte is back; the root complex answers a request after the memory latency, in
// completions of at most MPS bytes, in request order (downstream), all but the last of which end at a multiple
// of RCB. A write goes out as posted TLPs of at most MPS bytes (upstream) and is visible after the memory
// latency. No request and no write crosses a page of 4 KiB. All upstream TLPs share one lane in the order in
// which they are asked for, except that writes pass reads that wait for a tag.
//
// Ordering (PCI Express ordering rules, table 2-40): posted writes become visible in order, and a read never
// touches memory before every write issued ahead of it is visible.
//
// Granularity: one transfer touches memory at one instant, a read when its last request reaches memory, a
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

// What a transfer does at the instant at which it touches memory, as far as programs can tell.
enum class Touch : std::uint8_t {
  kUnseen,   // nothing: what it reads does not change any more, and what it writes lies there already
  kRead,     // it reads bytes of a program
  kWrite,    // it writes bytes of a program
  kUnknown,  // anything
};
struct TouchedBytes {
  ProgramMemory* memory = nullptr;
  ProgramAddress address = 0;
  std::uint32_t length = 0;
  const std::byte* written = nullptr;  // of a write: `length` bytes, until then
};

// Whoever asks for transfers. `cookie` is what the asker gave.
class DmaClient {
 public:
  // What the transfer will do, and to which bytes (added to `bytes`), if no program asks the adapter for anything until then.
  virtual Touch touch_of(std::uint64_t /*cookie*/, std::vector<TouchedBytes>& /*bytes*/) const { return Touch::kUnknown; }
  // Memory is read now; the bytes are in the adapter at `at_adapter`.
  virtual void on_dma_read(std::uint64_t cookie, Instant at_adapter) = 0;
  // The bytes become visible in memory now.
  virtual void on_dma_write(std::uint64_t cookie) = 0;

 protected:
  ~DmaClient() = default;
};

// A run of bytes in memory; of its address, where it lies in its page matters.
struct DmaPiece {
  std::uint32_t bytes = 0;
  std::uint32_t page_offset = 0;  // 0 … 4095

  DmaPiece() = default;
  DmaPiece(std::uint32_t bytes, std::uint64_t address = 0)
      : bytes(bytes), page_offset(static_cast<std::uint32_t>(address % kPageBytes)) {}
  static constexpr std::uint32_t kPageBytes = 4096;
};

struct DmaWriteTimes {
  Instant left_adapter;  // the last byte has left the adapter
  Instant visible;
};

class DmaEngine {
 public:
  DmaEngine(Engine& engine, ComponentId id, const PcieProfile& profile);

  // Each piece is cut into requests by itself. None may be empty. The time until the bytes are there, or visible,
  // is added to `trail`.
  void read(std::span<const DmaPiece> pieces, DmaClient& client, std::uint64_t cookie, Trail trail = {});
  void read(DmaPiece piece, DmaClient& client, std::uint64_t cookie, Trail trail = {}) {
    read({&piece, 1}, client, cookie, std::move(trail));
  }

  DmaWriteTimes write(std::span<const DmaPiece> pieces, DmaClient& client, std::uint64_t cookie,
                      Trail trail = {});
  DmaWriteTimes write(DmaPiece piece, DmaClient& client, std::uint64_t cookie, Trail trail = {}) {
    return write({&piece, 1}, client, cookie, std::move(trail));
  }

  // As read() of one piece and write(), for a length without bytes: no memory is touched, nobody is called, there is no event.
  // nullopt: the read would have to wait for tags, and nothing has happened.
  struct ReadTimes {
    Instant touch;  // memory would be read
    Instant at_adapter;
  };
  std::optional<ReadTimes> read_length(DmaPiece piece, Trail& trail);
  DmaWriteTimes write_length(std::span<const DmaPiece> pieces, Trail trail = {});

  // The CPU writes a doorbell now; returns when it is in the adapter, behind what was pushed before.
  Instant ring(Trail& trail);
  // The CPU writes `bytes` to the adapter now, through write-combining buffers of one cache line: posted TLPs
  // of at most 64 bytes, one behind the other. Returns when the last is there. They do not wait for
  // completions of reads, which are booked on their lane ahead of time.
  Instant push(std::uint32_t bytes, Trail& trail);

  static constexpr std::uint32_t kWriteCombiningLine = 64;

  // Transfers that touch memory before `limit`, in no certain order: visit(when, client, cookie). What is asked for from now on,
  // and what waits for a tag, touches it a way over PCI Express and an access later at the earliest.
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
    std::uint32_t next_offset = 0;      // within that piece
    DmaPiece first_piece[1];            // inline storage of the usual single piece
    std::vector<DmaPiece> more;         // all pieces when there are several
    Trail trail;
    const DmaPiece* pieces() const { return more.empty() ? first_piece : more.data(); }
  };

  // Issues requests of queued reads until they are done or a tag is missing.
  void issue_reads();
  // The bytes of `request`'s completions with their headers.
  std::uint64_t completion_bytes(DmaPiece request) const;
  // All requests of the piece but the last are of MRRS bytes, and their completions of MPS bytes.
  bool has_equal_requests(DmaPiece piece) const;
  // A read of one such piece for which all tags are free: the same times as request by request, with few
  // divisions.
  ReadTimes issue_at_once(std::uint32_t bytes, std::uint32_t requests, Trail& trail);
  // Requests of a read that can be issued that way; 0: it cannot.
  std::uint32_t requests_at_once(std::span<const DmaPiece> pieces) const;
  bool tags_free(std::uint32_t requests) const;
  // The next request's tag is free when the completion byte at `last` has come.
  void take_tag(SerialLine::Mark last) {
    tags_[next_tag_] = last;
    if (++next_tag_ == tags_.size()) next_tag_ = 0;
  }
  // When the request that is issued `ahead` requests after the next may have its tag; `ahead` is less than the tags.
  Instant tag_free_at(std::size_t ahead) const {
    const std::size_t tag = next_tag_ + ahead;
    const SerialLine::Mark& mark = tags_[tag < tags_.size() ? tag : tag - tags_.size()];
    return mark.busy_bytes == 0 ? Instant{} : downstream_.time_of(mark) + profile_.one_way_latency;
  }
  // Steps of a request that goes upstream now, until memory is read at `touch`; the lane was free at `free`.
  void add_request(Trail& trail, Instant free, Instant out, Instant touch) const;
  // And of its completions, of `bytes` with their headers, which have left at `end`.
  void add_completion(Trail& trail, Instant free, std::uint64_t bytes, Instant end) const;
  // Writes of this instant come first: the read may have waited for them.
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
  SerialLine pushes_;           // likewise downstream
  std::size_t next_tag_ = 0;    // of the next read request; they take turns
  std::vector<SerialLine::Mark>
      tags_;  // last byte of the completion that frees each tag, as it enters the lane
  const bool completions_outlast_requests_;  // the lane back never runs dry within one read
  const bool requests_fill_pages_;           // several of MRRS bytes together are one page
  const std::uint64_t full_completion_bytes_;  // that answer a request of MRRS bytes at a page's beginning
  Instant last_write_visible_{};
  Instant last_read_touch_{};
  Ring<PendingRead> pending_;
  Timer tag_timer_;
  DelayLine<Transfer> read_touches_;
  DelayLine<Transfer> write_touches_;
};

}  // namespace verbatim::host
