#include "sim/host/dma_engine.h"

#include <algorithm>

namespace verbatim::host {

namespace {
constexpr std::uint32_t count_of(std::uint32_t bytes, std::uint32_t unit) {
  return (bytes + unit - 1) / unit;
}
// Bytes from the start of the piece to the end of its page.
std::uint32_t bytes_to_page_end(DmaPiece piece) { return DmaPiece::kPageBytes - piece.page_offset; }
}  // namespace

DmaEngine::DmaEngine(Engine& engine, ComponentId id, const PcieProfile& profile)
    : engine_(engine),
      id_(id),
      profile_(profile),
      upstream_(tlp_byte_time(profile)),
      downstream_(tlp_byte_time(profile)),
      pushes_(tlp_byte_time(profile)),
      tags_(profile.outstanding_reads),
      completions_outlast_requests_(profile.max_read_request_bytes >= 2 * profile.read_header_bytes),
      requests_fill_pages_(profile.max_read_request_bytes > 0 &&
                           DmaPiece::kPageBytes % profile.max_read_request_bytes == 0),
      full_completion_bytes_(completion_bytes(profile.max_read_request_bytes)),
      tag_timer_(Timer::of<&DmaEngine::issue_reads>(engine, id, EventClass::kDma, this)),
      read_touches_(DelayLine<Transfer>::of<&DmaEngine::on_read_touch>(engine, id, EventClass::kDma, this)),
      write_touches_(DelayLine<Transfer>::of<&DmaEngine::on_write_touch>(engine, id, EventClass::kDma, this)) {
  CHECK(profile.outstanding_reads > 0);
  CHECK(profile.max_payload_bytes > 0 && profile.max_read_request_bytes > 0);
  CHECK(profile.read_completion_boundary_bytes > 0 &&
        profile.max_payload_bytes % profile.read_completion_boundary_bytes == 0);
  CHECK(profile.write_header_bytes > 0 && profile.read_header_bytes > 0);
}

std::uint64_t DmaEngine::completion_bytes(DmaPiece request) const {
  // The first of several completions is shorter by the distance from the preceding boundary.
  const std::uint32_t before = request.page_offset % profile_.read_completion_boundary_bytes;
  const std::uint32_t completions =
      request.bytes <= profile_.max_payload_bytes ? 1 : count_of(request.bytes + before, profile_.max_payload_bytes);
  return request.bytes + std::uint64_t{completions} * profile_.completion_header_bytes;
}

bool DmaEngine::has_equal_requests(DmaPiece piece) const {
  // All sizes are powers of two: a request whose start is not a multiple of the boundary has one completion.
  if (piece.page_offset == 0) return piece.bytes <= DmaPiece::kPageBytes || requests_fill_pages_;
  return piece.page_offset % profile_.read_completion_boundary_bytes == 0 &&
         (piece.bytes <= bytes_to_page_end(piece) ||
          (piece.page_offset % profile_.max_read_request_bytes == 0 && requests_fill_pages_));
}

void DmaEngine::read(std::span<const DmaPiece> pieces, DmaClient& client, std::uint64_t cookie, Trail trail) {
  CHECK(!pieces.empty());
  for (const DmaPiece& piece : pieces) CHECK(piece.bytes > 0);
  if (const std::uint32_t requests = requests_at_once(pieces); requests > 0) {
    const ReadTimes times = issue_at_once(pieces[0].bytes, requests, trail);
    read_touches_.push(times.touch, {&client, cookie, times.at_adapter});
    return;
  }
  PendingRead pending;
  pending.client = &client;
  pending.cookie = cookie;
  pending.trail = std::move(trail);
  pending.piece_count = static_cast<std::uint32_t>(pieces.size());
  if (pieces.size() == 1) {
    pending.first_piece[0] = pieces[0];
  } else {
    pending.more.assign(pieces.begin(), pieces.end());
  }
  pending_.push_back(std::move(pending));
  if (pending_.size() == 1) issue_reads();
}

std::uint32_t DmaEngine::requests_at_once(std::span<const DmaPiece> pieces) const {
  if (pieces.size() != 1 || !pending_.empty() || !has_equal_requests(pieces[0])) return 0;
  const std::uint32_t requests = count_of(pieces[0].bytes, profile_.max_read_request_bytes);
  return tags_free(requests) ? requests : 0;
}

std::optional<DmaEngine::ReadTimes> DmaEngine::read_length(DmaPiece piece, Trail& trail) {
  CHECK(piece.bytes > 0);
  const std::uint32_t requests = requests_at_once({&piece, 1});
  if (requests == 0) return std::nullopt;
  return issue_at_once(piece.bytes, requests, trail);
}

bool DmaEngine::tags_free(std::uint32_t requests) const {
  // Completions return in request order, so the tag of the last request is the last one freed.
  return requests > 0 && requests <= tags_.size() && completions_outlast_requests_ &&
         tag_free_at(requests - 1) <= engine_.now();
}

void DmaEngine::add_request(Trail& trail, Instant free, Instant out, Instant touch) const {
  const Instant at_root = out + profile_.one_way_latency;
  trail.add(engine_.now(), {id_, "PCIe read: tags and earlier requests"});
  trail.add(std::max(trail.end(), free), {id_, "PCIe upstream: line busy"});
  trail.add(out, {id_, "PCIe upstream: read request", TrailKind::kBytes, profile_.read_header_bytes});
  trail.add(at_root, {id_, "PCIe one way", TrailKind::kDelay});
  trail.add(at_root + profile_.memory_read_latency, {id_, "host memory read", TrailKind::kDelay});
  trail.add(touch, {id_, "host memory: earlier accesses"});
}

void DmaEngine::add_completion(Trail& trail, Instant free, std::uint64_t bytes, Instant end) const {
  trail.add(std::max(trail.end(), free), {id_, "PCIe downstream: line busy"});
  trail.add(end, {id_, "PCIe downstream: completions", TrailKind::kBytes, bytes});
  trail.add(end + profile_.one_way_latency, {id_, "PCIe one way", TrailKind::kDelay});
}

DmaEngine::ReadTimes DmaEngine::issue_at_once(std::uint32_t bytes, std::uint32_t requests, Trail& trail) {
  const Duration latency = profile_.one_way_latency + profile_.memory_read_latency;
  const Instant earliest = std::max(last_write_visible_, last_read_touch_);
  const Instant upstream_free = upstream_.free_at(), downstream_free = downstream_.free_at();
  const Instant first_out = upstream_.reserve(engine_.now(), profile_.read_header_bytes);
  const Instant first_touch = std::max(first_out + latency, earliest);
  const Instant last_out =
      requests == 1
          ? first_out
          : upstream_.reserve(engine_.now(), std::uint64_t{requests - 1} * profile_.read_header_bytes);
  last_read_touch_ = std::max(last_out + latency, earliest);
  // Each completion but the last is longer than several request headers, so the downstream lane is busy from
  // the first completion to the end of the last.
  const std::uint32_t full = profile_.max_read_request_bytes;
  const std::uint64_t full_bytes = full_completion_bytes_;
  const std::uint64_t last_bytes = completion_bytes(bytes - (requests - 1) * full);
  const Instant end = downstream_.reserve(first_touch, (requests - 1) * full_bytes + last_bytes);
  if (trail) [[unlikely]] {
    add_request(trail, upstream_free, first_out, first_touch);
    add_completion(trail, downstream_free, (requests - 1) * full_bytes + last_bytes, end);
  }
  SerialLine::Mark mark = downstream_.mark(last_bytes + (requests - 1) * full_bytes);
  const std::span<SerialLine::Mark> tags = tags_;
  const auto take = [&mark, full_bytes](std::span<SerialLine::Mark> some) {
    for (SerialLine::Mark& tag : some) {
      mark.busy_bytes += full_bytes;
      tag = mark;
    }
  };
  const std::size_t to_end = std::min<std::size_t>(requests, tags.size() - next_tag_);
  take(tags.subspan(next_tag_, to_end));
  take(tags.first(requests - to_end));
  next_tag_ += requests;
  if (next_tag_ >= tags.size()) next_tag_ -= tags.size();
  // The last completion may be shorter.
  tags[next_tag_ == 0 ? tags.size() - 1 : next_tag_ - 1].busy_bytes -= full_bytes - last_bytes;
  return {last_read_touch_, end + profile_.one_way_latency};
}

void DmaEngine::issue_reads() {
  while (!pending_.empty()) {
    PendingRead& read = pending_.front();
    Instant at_adapter{};
    Instant touch{};
    while (read.next_piece < read.piece_count) {
      const Instant tag_free = tag_free_at(0);
      if (tag_free > engine_.now()) {
        // The request is placed on the lane only when it has a tag, so that later writes may pass it.
        tag_timer_.schedule_at(tag_free);
        return;
      }
      const DmaPiece& piece = read.pieces()[read.next_piece];
      const std::uint32_t rest = piece.bytes - read.next_offset;
      DmaPiece request(0, std::uint64_t{piece.page_offset} + read.next_offset);
      request.bytes = std::min({rest, profile_.max_read_request_bytes, bytes_to_page_end(request)});
      const std::uint32_t bytes = request.bytes;
      const bool is_last = bytes == rest && read.next_piece + 1 == read.piece_count;
      const Instant upstream_free = upstream_.free_at(), downstream_free = downstream_.free_at();
      const Instant request_out = upstream_.reserve(engine_.now(), profile_.read_header_bytes);
      touch = std::max({request_out + profile_.one_way_latency + profile_.memory_read_latency,
                        last_write_visible_, last_read_touch_});
      last_read_touch_ = touch;
      const std::uint64_t answer_bytes = completion_bytes(request);
      const Instant completed = downstream_.reserve(touch, answer_bytes);
      at_adapter = completed + profile_.one_way_latency;
      if (read.trail && is_last) [[unlikely]] {
        add_request(read.trail, upstream_free, request_out, touch);
        add_completion(read.trail, downstream_free, answer_bytes, completed);
      }
      take_tag(downstream_.mark(0));
      read.next_offset += bytes;
      if (bytes == rest) {
        read.next_offset = 0;
        ++read.next_piece;
      }
    }
    const PendingRead done = pending_.pop_front();
    read_touches_.push(touch, {done.client, done.cookie, at_adapter});
  }
}

Instant DmaEngine::ring(Trail& trail) {
  const Instant out = std::max(engine_.now(), pushes_.free_at());
  trail.add(out, {id_, "PCIe downstream: earlier pushes"});
  trail.add(out + profile_.one_way_latency, {id_, "PCIe one way", TrailKind::kDelay});
  return out + profile_.one_way_latency;
}

Instant DmaEngine::push(std::uint32_t bytes, Trail& trail) {
  CHECK(bytes > 0);
  const std::uint64_t all =
      bytes + std::uint64_t{count_of(bytes, kWriteCombiningLine)} * profile_.write_header_bytes;
  const Instant flushed = engine_.now() + profile_.write_combining_delay;
  const Instant free = std::max(flushed, pushes_.free_at());
  const Instant out = pushes_.reserve(flushed, all);
  trail.add(flushed, {id_, "CPU: write-combining buffer", TrailKind::kDelay});
  trail.add(free, {id_, "PCIe downstream: earlier pushes"});
  trail.add(out, {id_, "PCIe downstream: pushed work request", TrailKind::kBytes, all});
  trail.add(out + profile_.one_way_latency, {id_, "PCIe one way", TrailKind::kDelay});
  return out + profile_.one_way_latency;
}

DmaWriteTimes DmaEngine::write(std::span<const DmaPiece> pieces, DmaClient& client, std::uint64_t cookie,
                               Trail trail) {
  const DmaWriteTimes times = write_length(pieces, std::move(trail));
  write_touches_.push(times.visible, {&client, cookie, times.visible});
  return times;
}

DmaWriteTimes DmaEngine::write_length(std::span<const DmaPiece> pieces, Trail trail) {
  CHECK(!pieces.empty());
  std::uint64_t bytes = 0;
  for (DmaPiece rest : pieces) {
    CHECK(rest.bytes > 0);
    while (rest.bytes > 0) {
      const std::uint32_t part = std::min(rest.bytes, bytes_to_page_end(rest));
      bytes += part + std::uint64_t{count_of(part, profile_.max_payload_bytes)} * profile_.write_header_bytes;
      rest = {rest.bytes - part, std::uint64_t{rest.page_offset} + part};
    }
  }
  const Instant free = upstream_.free_at();
  DmaWriteTimes times;
  times.left_adapter = upstream_.reserve(engine_.now(), bytes);
  times.visible = times.left_adapter + profile_.one_way_latency + profile_.memory_write_latency;
  if (trail) [[unlikely]] {
    trail.add(std::max(trail.end(), free), {id_, "PCIe upstream: line busy"});
    trail.add(times.left_adapter, {id_, "PCIe upstream: write", TrailKind::kBytes, bytes});
    trail.add(times.left_adapter + profile_.one_way_latency, {id_, "PCIe one way", TrailKind::kDelay});
    trail.add(times.visible, {id_, "host memory write", TrailKind::kDelay});
  }
  last_write_visible_ = times.visible;
  return times;
}

}  // namespace verbatim::host
