#include "sim/supervisor/files/counter_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sim/supervisor/files/missed_expiries.h"

namespace verbatim::supervisor {

namespace {
void append(std::vector<std::byte>& bytes, std::uint64_t value) {
  const auto raw = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}
}  // namespace

std::uint32_t EventCounter::readiness() const {
  return (count_ > 0 ? POLLIN | POLLRDNORM : 0) | (count_ < kMost ? POLLOUT | POLLWRNORM : 0);
}

IoResult EventCounter::read(std::size_t limit, std::vector<std::byte>& bytes) {
  if (limit < sizeof count_) return -EINVAL;
  if (count_ == 0) return std::nullopt;
  const std::uint64_t taken = semaphore_ ? 1 : count_;
  append(bytes, taken);
  count_ -= taken;
  notify();
  return sizeof count_;
}

IoResult EventCounter::write(std::span<const std::byte> bytes) {
  std::uint64_t value;
  if (bytes.size() < sizeof value) return -EINVAL;
  std::memcpy(&value, bytes.data(), sizeof value);
  if (value > kMost) return -EINVAL;
  if (value > kMost - count_) return std::nullopt;
  count_ += value;
  notify();
  return sizeof value;
}

IoResult TimerFile::read(std::size_t limit, std::vector<std::byte>& bytes) {
  if (limit < sizeof expirations_) return -EINVAL;
  if (expirations_ == 0) return std::nullopt;
  append(bytes, expirations_);
  expirations_ = 0;
  return sizeof expirations_;
}

void TimerFile::set(Instant when, Duration interval, std::int64_t late_ns) {
  timer_.cancel();
  expirations_ = 0;
  interval_ = interval;
  late_ns_ = late_ns;
  if (when != kNever) timer_.schedule_at(std::max(when, engine_.now()));
}

void TimerFile::on_due() {
  const auto missed = MissedExpiries::of(std::exchange(late_ns_, 0), interval_);
  expirations_ += 1 + missed.count;
  if (interval_ > Duration::zero()) timer_.schedule_at(later(engine_.now(), interval_ - missed.since_last));
  notify();
}

}  // namespace verbatim::supervisor
