// Descriptors that count: eventfd and timerfd.
#pragma once

#include <memory>

#include "sim/core/engine.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class EventCounter final : public VirtualFile {
 public:
  EventCounter(std::uint64_t count, bool semaphore) : count_(count), semaphore_(semaphore) {}

  std::uint32_t readiness() const override;
  std::string describe() const override { return "eventfd"; }
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  IoResult write(std::span<const std::byte> bytes) override;
  IoResult read_async(std::uint64_t, std::size_t limit, std::vector<std::byte>& bytes) override {
    return read(limit, bytes);
  }

 private:
  static constexpr std::uint64_t kMost = ~0ull - 1;
  std::uint64_t count_;
  bool semaphore_;
};

class TimerFile final : public VirtualFile {
 public:
  TimerFile(Engine& engine, ComponentId source, int clock)
      : engine_(engine),
        clock_(clock),
        timer_(Timer::of<&TimerFile::on_due>(engine, source, EventClass::kSupervisor, this)) {}

  std::uint32_t readiness() const override { return expirations_ > 0 ? POLLIN | POLLRDNORM : 0; }
  std::string describe() const override { return "timerfd"; }
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;

  int clock() const { return clock_; }
  // First expiration at `when` (kNever: disarmed), then every `interval` unless that is zero. Drops unread
  // expirations. `late_ns`: see missed_expiries.h.
  void set(Instant when, Duration interval, std::int64_t late_ns);
  Duration remaining() const { return timer_.scheduled() ? timer_.when() - engine_.now() : Duration::zero(); }
  Duration interval() const { return interval_; }

 private:
  void on_due();

  Engine& engine_;
  int clock_;
  std::uint64_t expirations_ = 0;
  Duration interval_{};
  std::int64_t late_ns_ = 0;  // of the next expiration
  Timer timer_;
};

}  // namespace verbatim::supervisor
