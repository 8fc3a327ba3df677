#include "sim/fabric/shared_buffer.h"

#include <algorithm>

namespace verbatim::fabric {

namespace {
constexpr auto kIsLater = [](const auto& a, const auto& b) { return a.when > b.when; };
}  // namespace

SharedBuffer::SharedBuffer(std::uint64_t bytes, std::uint32_t cell_bytes)
    : cell_bytes_(cell_bytes), pool_cells_(bytes / cell_bytes) {
  CHECK(cell_bytes > 0);
}

std::size_t SharedBuffer::add_group(const GroupParams& params) {
  CHECK(params.alpha_log2 >= kLeastAlpha && params.alpha_log2 <= kMostAlpha);
  Group group;
  group.reserved = cells_of(params.reserved_bytes);
  group.headroom = params.is_lossless ? cells_of(params.headroom_bytes) : 0;
  group.resume_offset = cells_of(params.resume_offset_bytes);
  group.alpha_log2 = static_cast<std::int8_t>(params.alpha_log2);
  group.is_lossless = params.is_lossless;
  CHECK(pool_used_ == 0 && pool_cells_ >= std::uint64_t{group.reserved} + group.headroom);
  pool_cells_ -= group.reserved + group.headroom;
  groups_.push_back(std::move(group));
  return groups_.size() - 1;
}

bool SharedBuffer::admit(std::size_t number, std::uint32_t wire_bytes, Instant now) {
  settle_until(now);
  Group& group = groups_[number];
  const std::uint32_t cells = cells_of(wire_bytes);
  const std::uint64_t pool_before = group.in_pool();
  const std::uint64_t pool_after =
      group.used + cells > group.reserved ? group.used + cells - group.reserved : 0;
  const bool fits_pool = pool_after - pool_before <= free_pool_cells();
  if (fits_pool && group.used + cells <= limit_of(group)) {
    group.used += cells;
    pool_used_ += pool_after - pool_before;
    return true;
  }
  if (group.in_headroom + cells > group.headroom) return false;
  group.in_headroom += cells;
  return true;
}

void SharedBuffer::release(std::size_t number, std::uint32_t wire_bytes, Instant when) {
  groups_[number].releases.insert_sorted({when, cells_of(wire_bytes)},
                                         [](const Release& a, const Release& b) { return a.when < b.when; });
  due_.push_back({when, number});
  std::push_heap(due_.begin(), due_.end(), kIsLater);
}

bool SharedBuffer::is_full(std::size_t number) const {
  const Group& group = groups_[number];
  return group.is_lossless && (group.in_headroom > 0 || (group.used > 0 && group.used >= limit_of(group)));
}

bool SharedBuffer::has_room_again(std::size_t number) const {
  const Group& group = groups_[number];
  return group.in_headroom == 0 && has_room(group, group.used, limit_of(group));
}

bool SharedBuffer::can_have_room_again(std::size_t number, std::span<const std::uint64_t> kept) const {
  const Group& group = groups_[number];
  const Use use = use_of(group, kept[number]);
  if (use.in_headroom > 0) return false;
  std::uint64_t in_pool = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::uint64_t used = use_of(groups_[i], kept[i]).used;
    in_pool += used > groups_[i].reserved ? used - groups_[i].reserved : 0;
  }
  return has_room(group, use.used, group.reserved + times_alpha(pool_cells_ - std::min(in_pool, pool_cells_), group.alpha_log2));
}

bool SharedBuffer::has_room(const Group& group, std::uint64_t used, std::uint64_t limit) {
  return used == 0 || (used < limit && used + group.resume_offset <= limit);
}

// A leaving packet releases headroom first.
SharedBuffer::Use SharedBuffer::use_of(const Group& group, std::uint64_t kept) {
  const std::uint64_t all = group.used + group.in_headroom;
  const std::uint64_t leaving = all > kept ? all - kept : 0;
  const std::uint64_t in_headroom = group.in_headroom - std::min(leaving, group.in_headroom);
  return {kept > in_headroom ? kept - in_headroom : 0, in_headroom};
}

void SharedBuffer::settle_until(Instant end) {
  while (!due_.empty() && due_.front().when < end) {
    std::pop_heap(due_.begin(), due_.end(), kIsLater);
    Group& group = groups_[due_.back().group];
    group.left = due_.back().when;
    due_.pop_back();
    give_back(group, group.releases.pop_front().cells);
  }
}

void SharedBuffer::give_back(Group& group, std::uint32_t cells) {
  const std::uint64_t from_headroom = std::min<std::uint64_t>(cells, group.in_headroom);
  const std::uint64_t pool_before = group.in_pool();
  group.in_headroom -= from_headroom;
  CHECK(group.used >= cells - from_headroom);
  group.used -= cells - from_headroom;
  pool_used_ -= pool_before - group.in_pool();
}

}  // namespace verbatim::fabric
