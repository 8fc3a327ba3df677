// The clocked reference of PCI Express: both directions of a link, stepped byte by byte, TLP by TLP, with a root complex
// that queues requests and an adapter that counts its tags. It shares only the profile with sim/host.
// At each edge, in this order:
//
//   1. bytes leave a lane; TLPs whose last byte has arrived appear at the far end;
//   2. writes become visible in memory, then the first requests in the root complex read it;
//   3. reads that wait for tags issue requests;
//   4. the adapter and the CPU request transfers;
//   5. idle lanes start the next TLP.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <utility>

#include "tests/timing/reference/dma_case.h"

namespace verbatim::timing {
namespace {

constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();

enum class TlpKind : std::uint8_t { kReadRequest, kWrite, kCompletion, kPush };

struct Tlp {
  TlpKind kind = TlpKind::kReadRequest;
  std::uint32_t transfer = 0;
  std::uint32_t header = 0, payload = 0;
  std::uint32_t requested = 0;   // bytes, of a read request
  std::uint32_t address = 0;     // of a read request
  bool ends_request = false;     // the last completion of its request
  bool ends_transfer = false;    // the last of all
};

struct ByteRate {  // so many picoseconds for so many bytes
  unsigned __int128 ps = 1, bytes = 1;
};

// Symbols of a byte over all lanes; DLLPs and SKIPs take their share of each.
ByteRate rate_of(const host::PcieProfile& profile) {
  ByteRate rate;
  if (profile.generation == 2) {
    rate = {10 * 1000, 5 * profile.lanes};
  } else {
    const std::uint32_t transfers = profile.generation == 3 ? 8 : profile.generation == 4 ? 16 : 32;
    rate = {8 * 130 * 1000, 128 * transfers * profile.lanes};
  }
  if (const unsigned __int128 interval = profile.dllp_interval_bytes; interval > 0) {
    rate.ps *= interval * 1538;
    rate.bytes *= interval * 1538 - (8 + 8) * 1538 - 4 * interval;
  }
  return rate;
}

struct LaneGroup {  // one direction
  std::deque<Tlp> queue;
  bool sending = false;
  std::uint32_t position = 0;
  std::int64_t since = 0, last_edge = 0, next_byte = kNoTime;
  std::uint64_t edges = 0;
  std::deque<std::pair<std::int64_t, Tlp>> flying;  // by arrival of the last byte
};

struct RequestAtRoot {
  std::int64_t readable = 0;
  std::size_t writes_before = 0;  // TLPs that arrived before it
  Tlp tlp;
};

struct WaitingRead {
  std::uint32_t transfer = 0;
  std::size_t piece = 0;
  std::uint32_t done = 0;  // bytes of it
};

class ClockedDma {
 public:
  ClockedDma(const DmaCase& dma, DmaOccasions& met)
      : dma_(dma), met_(met), profile_(dma.profile), rate_(rate_of(profile_)), free_tags_(profile_.outstanding_reads) {}

  std::vector<DmaPassing> run() {
    for (std::int64_t next = dma_.transfers.empty() ? kNoTime : dma_.transfers.front().ask_ps; next != kNoTime;
         next = next_edge()) {
      now_ = next;
      bytes();
      memory();
      issue();
      ask();
      flush();
      for (LaneGroup* lane : lanes()) start(*lane);
    }
    std::sort(log_.begin(), log_.end());
    return log_;
  }

 private:
  std::vector<LaneGroup*> lanes() { return {&up_, &down_, &pushes_}; }

  void note(DmaOccasion occasion) { met_.set(static_cast<std::size_t>(occasion)); }

  void log(std::uint32_t transfer, DmaMoment moment) { log_.push_back({transfer, moment, now_}); }

  std::int64_t edge(std::uint64_t n) const {
    return static_cast<std::int64_t>((n * rate_.ps + rate_.bytes - 1) / rate_.bytes);
  }

  // 1.
  void bytes() {
    for (LaneGroup* lane : lanes()) {
      if (lane->next_byte != now_) continue;
      lane->last_edge = now_;
      ++lane->edges;
      ++lane->position;
      lane->next_byte = lane->since + edge(lane->edges + 1);
      const Tlp& tlp = lane->queue.front();
      if (lane->position < tlp.header + tlp.payload) continue;
      if (tlp.kind == TlpKind::kWrite && tlp.ends_transfer) log(tlp.transfer, DmaMoment::kLeftAdapter);
      lane->flying.push_back({now_ + profile_.one_way_latency.count(), tlp});
      lane->queue.pop_front();
      lane->sending = false;
      lane->next_byte = kNoTime;
    }
    for (LaneGroup* lane : lanes()) {
      for (; !lane->flying.empty() && lane->flying.front().first == now_; lane->flying.pop_front()) {
        come_out(lane->flying.front().second);
      }
    }
  }

  void come_out(const Tlp& tlp) {
    switch (tlp.kind) {
      case TlpKind::kReadRequest:
        requests_.push_back({now_ + profile_.memory_read_latency.count(), writes_at_root_, tlp});
        break;
      case TlpKind::kWrite:
        ++writes_at_root_;
        writes_.push_back({now_ + profile_.memory_write_latency.count(), tlp});
        break;
      case TlpKind::kCompletion:
        if (tlp.ends_request) ++free_tags_;
        if (tlp.ends_transfer) log(tlp.transfer, DmaMoment::kAtAdapter);
        break;
      case TlpKind::kPush:
        if (tlp.ends_transfer) log(tlp.transfer, DmaMoment::kAtAdapter);
        break;
    }
  }

  // 2.
  void memory() {
    for (; !writes_.empty() && writes_.front().first == now_; writes_.pop_front()) {
      ++writes_visible_;
      if (writes_.front().second.ends_transfer) log(writes_.front().second.transfer, DmaMoment::kVisible);
    }
    for (; !requests_.empty(); requests_.pop_front()) {
      const RequestAtRoot& request = requests_.front();
      if (request.readable > now_) return;
      if (request.writes_before > writes_visible_) return note(DmaOccasion::kReadBehindWrites);
      if (request.tlp.ends_transfer) log(request.tlp.transfer, DmaMoment::kMemoryRead);
      answer(request.tlp);
    }
  }

  void answer(const Tlp& request) {
    std::uint32_t address = request.address;
    for (std::uint32_t left = request.requested; left > 0;) {
      Tlp completion;
      completion.kind = TlpKind::kCompletion;
      completion.transfer = request.transfer;
      completion.header = profile_.completion_header_bytes;
      completion.payload = std::min(left, profile_.max_payload_bytes);
      // As much as fits and, unless it is the last, up to a boundary.
      while (completion.payload < left &&
             (address + completion.payload) % profile_.read_completion_boundary_bytes != 0) {
        --completion.payload;
        note(DmaOccasion::kCutAtBoundary);
      }
      left -= completion.payload;
      address += completion.payload;
      completion.ends_request = left == 0;
      completion.ends_transfer = left == 0 && request.ends_transfer;
      down_.queue.push_back(completion);
    }
  }

  // 3. A request with a tag joins the lane's queue; writes requested meanwhile are ahead of it.
  void issue() {
    if (!reads_.empty() && free_tags_ == 0) note(DmaOccasion::kTagsUsedUp);
    while (!reads_.empty() && free_tags_ > 0) {
      WaitingRead& read = reads_.front();
      const std::vector<PieceCase>& pieces = dma_.transfers[read.transfer].pieces;
      Tlp request;
      request.transfer = read.transfer;
      request.header = profile_.read_header_bytes;
      request.address = pieces[read.piece].address + read.done;
      while (request.requested < profile_.max_read_request_bytes && read.done < pieces[read.piece].bytes) {
        ++request.requested;
        ++read.done;
        if (is_page(request.address + request.requested)) break;
      }
      if (is_page(request.address + request.requested) && read.done < pieces[read.piece].bytes) {
        note(DmaOccasion::kCutAtPage);
      }
      if (read.done == pieces[read.piece].bytes) {
        ++read.piece;
        read.done = 0;
      }
      request.ends_transfer = read.piece == pieces.size();
      --free_tags_;
      up_.queue.push_back(request);
      if (request.ends_transfer) reads_.pop_front();
    }
  }

  // 4.
  void ask() {
    for (; next_ask_ < dma_.transfers.size() && dma_.transfers[next_ask_].ask_ps == now_; ++next_ask_) {
      const TransferCase& wanted = dma_.transfers[next_ask_];
      switch (wanted.ask) {
        case Ask::kRead:
          reads_.push_back({next_ask_, 0, 0});
          issue();
          break;
        case Ask::kWrite:
          for (const PieceCase& piece : wanted.pieces) {
            cut(piece, profile_.max_payload_bytes, TlpKind::kWrite, next_ask_, &up_);
          }
          up_.queue.back().ends_transfer = true;
          break;
        case Ask::kRing:
        case Ask::kPush:
          combining_.push_back({wanted.ask == Ask::kRing ? now_ : now_ + profile_.write_combining_delay.count(),
                                next_ask_});
          break;
      }
    }
  }

  static bool is_page(std::uint32_t address) { return address % 4096 == 0; }

  void cut(const PieceCase& piece, std::uint32_t most, TlpKind kind, std::uint32_t transfer, LaneGroup* lane) {
    for (std::uint32_t done = 0; done < piece.bytes;) {
      Tlp tlp;
      tlp.kind = kind;
      tlp.transfer = transfer;
      tlp.header = profile_.write_header_bytes;
      while (tlp.payload < most && done < piece.bytes) {
        ++tlp.payload;
        ++done;
        if (is_page(piece.address + done)) break;
      }
      if (is_page(piece.address + done) && done < piece.bytes) note(DmaOccasion::kCutAtPage);
      lane->queue.push_back(tlp);
    }
  }

  // Stores of the CPU leave in order; a doorbell, which takes no time on the line, leaves after all earlier
  // stores.
  void flush() {
    for (; !combining_.empty() && combining_.front().first <= now_; combining_.pop_front()) {
      const std::uint32_t transfer = combining_.front().second;
      if (dma_.transfers[transfer].ask == Ask::kRing) {
        if (pushes_.sending || !pushes_.queue.empty()) return note(DmaOccasion::kDoorbellWaits);
        log_.push_back({transfer, DmaMoment::kAtAdapter, now_ + profile_.one_way_latency.count()});
        continue;
      }
      cut({dma_.transfers[transfer].pieces[0].bytes, 0}, 64, TlpKind::kPush, transfer, &pushes_);
      pushes_.queue.back().ends_transfer = true;
    }
  }

  // 5.
  void start(LaneGroup& lane) {
    if (lane.sending && lane.queue.size() > 1) note(DmaOccasion::kLaneBusy);
    if (lane.sending || lane.queue.empty()) return;
    lane.sending = true;
    lane.position = 0;
    if (lane.last_edge != now_) {  // the clock starts anew after a gap
      lane.since = now_;
      lane.edges = 0;
    }
    lane.next_byte = lane.since + edge(lane.edges + 1);
  }

  std::int64_t next_edge() {
    std::int64_t next = kNoTime;
    const auto consider = [&](std::int64_t t) {
      if (t > now_) next = std::min(next, t);
    };
    for (const LaneGroup* lane : lanes()) {
      if (lane->sending) consider(lane->next_byte);
      if (!lane->flying.empty()) consider(lane->flying.front().first);
    }
    if (!writes_.empty()) consider(writes_.front().first);
    if (!requests_.empty()) consider(requests_.front().readable);
    if (!combining_.empty()) consider(combining_.front().first);
    if (next_ask_ < dma_.transfers.size()) consider(dma_.transfers[next_ask_].ask_ps);
    return next;
  }

  const DmaCase& dma_;
  DmaOccasions& met_;
  const host::PcieProfile profile_;
  const ByteRate rate_;
  std::int64_t now_ = 0;
  LaneGroup up_, down_, pushes_;
  std::uint32_t free_tags_;
  std::deque<WaitingRead> reads_;
  std::deque<RequestAtRoot> requests_;
  std::deque<std::pair<std::int64_t, Tlp>> writes_;  // on their way to memory
  std::size_t writes_at_root_ = 0, writes_visible_ = 0;
  std::deque<std::pair<std::int64_t, std::uint32_t>> combining_;  // time, transfer
  std::uint32_t next_ask_ = 0;
  std::vector<DmaPassing> log_;
};

}  // namespace

std::vector<DmaPassing> run_reference(const DmaCase& dma, DmaOccasions& met) { return ClockedDma(dma, met).run(); }

}  // namespace verbatim::timing
