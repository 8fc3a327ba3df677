#include "sim/observe/series.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/words.h"
#include "sim/ib/packet.h"
#include "sim/observe/drop_names.h"
#include "sim/observe/microseconds.h"

namespace verbatim::observe {

namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr unsigned kNumberBits = 24, kComponentBits = 32;

}  // namespace

Series::Series(const ComponentTable& components, Duration step, Write write)
    : components_(components), step_ps_(step.count()), write_(std::move(write)) {
  CHECK(step_ps_ >= 0);
  write_(kHeader);
}

Series::Key Series::key(std::uint64_t what, std::uint32_t component, std::uint64_t number) {
  CHECK(number < std::uint64_t{1} << kNumberBits);
  return (what << kComponentBits | component) << kNumberBits | number;
}

void Series::on_record(const TraceRecord& record, std::span<const std::byte>) {
  const ComponentId where{record.component};
  if (record.event == TraceEvent::kRate) {
    set_level(What::kRate, where, record.values[0], static_cast<std::int64_t>(record.values[1]), record.time_ps);
  } else if (record.event == TraceEvent::kPauseFrame) {
    for (std::uint64_t priority = 0; priority < 8; ++priority) {
      if ((record.values[0] >> priority & 1) != 0)
        set_level(What::kPausing, where, priority, static_cast<std::int64_t>(record.values[1] >> priority & 1), record.time_ps);
    }
  }
}

void Series::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId) {
  const ComponentId where{record.component};
  const auto add = [&](std::uint64_t what, std::int64_t amount) {
    count(what, where, packet.lrh.lane.value, amount, record.time_ps);
  };
  const auto first = [](What what) { return static_cast<std::uint64_t>(what); };
  if (record.event == TraceEvent::kPacketTransmitted) add(first(What::kSentBytes), static_cast<std::int64_t>(record.values[3]));
  if (record.event == TraceEvent::kPacketMarked) add(first(What::kMarks), 1);
  if (record.event == TraceEvent::kPacketDropped) add(first(What::kDrops) + record.values[3], 1);
}

void Series::on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) {
  set_level(What::kQueueBytes, port, lane, static_cast<std::int64_t>(bytes), to_ps(now));
}

void Series::set_level(What what, ComponentId where, std::uint64_t number, std::int64_t value, std::int64_t time_ps) {
  advance(time_ps);
  const Key own = key(static_cast<std::uint64_t>(what), where.value, number);
  Level& level = levels_[own];
  // The default of a level is 0: queues are empty and nothing is paused.
  if (level.value < 0 && what != What::kRate) level.value = 0;
  if (level.value == value) return;
  if (step_ps_ == 0) {
    level.value = value;
    return add_line(own, "", part_ps_, std::to_string(value));
  }
  if (!level.is_listed) {
    level.is_listed = true;
    listed_.push_back(own);
  }
  enter_part(level);
  time_ps = std::max(time_ps, part_ps_);
  if (level.value < 0) {
    level.known_from_ps = level.counted_to_ps = time_ps;
    level.least = level.most = value;
  }
  level.area += static_cast<__int128>(level.value) * (time_ps - level.counted_to_ps);
  level.counted_to_ps = time_ps;
  level.value = value;
  level.least = std::min(level.least, value);
  level.most = std::max(level.most, value);
}

void Series::count(std::uint64_t what, ComponentId where, std::uint64_t number, std::int64_t amount, std::int64_t time_ps) {
  advance(time_ps);
  const Key own = key(what, where.value, number);
  if (step_ps_ == 0) return add_line(own, "", part_ps_, std::to_string(amount));
  counts_[own] += amount;
}

void Series::advance(std::int64_t time_ps) {
  if (step_ps_ == 0) {
    if (time_ps <= part_ps_) return;
    flush_instant();
    part_ps_ = time_ps;
    return;
  }
  while (time_ps - part_ps_ >= step_ps_) {
    close_part(part_ps_ + step_ps_);
    part_ps_ += step_ps_;
    if (listed_.empty()) part_ps_ = time_ps - time_ps % step_ps_;
  }
}

void Series::enter_part(Level& level) const {
  if (level.part_ps == part_ps_) return;
  level.part_ps = level.known_from_ps = level.counted_to_ps = part_ps_;
  level.area = 0;
  level.least = level.most = level.value;
}

void Series::close_part(std::int64_t end_ps) {
  std::vector<std::pair<Key, std::int64_t>> counts(counts_.begin(), counts_.end());
  counts_.clear();
  std::ranges::sort(counts);
  std::ranges::sort(listed_);
  std::erase_if(listed_, [&](Key own) {
    Level& level = levels_.at(own);
    level.is_listed = write_level(own, level, end_ps);
    return !level.is_listed;
  });
  for (const auto& [own, amount] : counts) add_line(own, "", part_ps_, std::to_string(amount));
  flush_instant();
}

bool Series::write_level(Key own, Level& level, std::int64_t end_ps) {
  enter_part(level);
  level.area += static_cast<__int128>(level.value) * (end_ps - level.counted_to_ps);
  level.counted_to_ps = end_ps;
  const auto what = static_cast<What>(own >> (kNumberBits + kComponentBits));
  // A share of time is in millionths, rounded up so that every pause shows; other means are rounded down.
  const std::int64_t scale = what == What::kPausing ? kMillion : 1;
  const std::int64_t length = end_ps - level.known_from_ps, rest = what == What::kPausing ? length - 1 : 0;
  const auto mean = length > 0 ? static_cast<std::int64_t>((level.area * scale + rest) / length) : level.value * scale;
  const std::int64_t extreme = what == What::kRate ? level.least : level.most;
  if (extreme != level.written_extreme || mean != level.written_mean) {
    if (what == What::kPausing) {
      if (mean != level.written_mean) add_line(own, "_share", part_ps_, microseconds(mean));
    } else {
      add_line(own, what == What::kRate ? "_least" : "_most", part_ps_, std::to_string(extreme));
      add_line(own, "_mean", part_ps_, std::to_string(mean));
    }
    level.written_extreme = extreme;
    level.written_mean = mean;
  }
  return level.value != level.written_extreme || level.value * scale != level.written_mean;
}

void Series::add_line(Key own, std::string_view suffix, std::int64_t time_ps, std::string_view value) {
  constexpr std::array<std::string_view, 5> kNames = {"queue_bytes", "pausing", "rate_mbps", "marks", "sent_bytes"};
  const std::uint64_t what = own >> (kNumberBits + kComponentBits);
  const std::string name = what < kNames.size() ? std::string(kNames[what]) : "drops:" + drop_name(what - kNames.size());
  const std::uint64_t number = own & ((std::uint64_t{1} << kNumberBits) - 1);
  const ComponentId where{static_cast<std::uint32_t>(own >> kNumberBits)};
  instant_.emplace_back(own, join(microseconds(time_ps), ",", name, suffix, ",", components_.name(where), ",", number, ",", value, "\n"));
}

void Series::flush_instant() {
  std::ranges::stable_sort(instant_, {}, &std::pair<Key, std::string>::first);
  for (const auto& [own, line] : instant_) write_(line);
  instant_.clear();
}

void Series::finish(std::int64_t end_ps) {
  advance(end_ps);
  if (step_ps_ != 0) return close_part(std::max(end_ps, part_ps_));
  flush_instant();
}

}  // namespace verbatim::observe
