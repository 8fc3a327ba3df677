#include "sim/supervisor/kernel/async_io.h"

#include <algorithm>

#include "sim/supervisor/files/epoll_file.h"

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kPage = 4096, kRingHead = 32;

// Completion ring size of Linux (aio_setup_ring): twice `requests`, at least twice four entries for each
// processor, plus 2, rounded up to whole pages. One entry stays free.
std::size_t ring_room(std::uint32_t requests) {
  const std::size_t wanted = 2 * std::max<std::size_t>(requests, 4) + 2;
  const std::size_t pages = (kRingHead + wanted * sizeof(io_event) + kPage - 1) / kPage;
  return (pages * kPage - kRingHead) / sizeof(io_event) - 1;
}

}  // namespace

class AsyncContext::Poll final : public Waiter {
 public:
  Poll(AsyncContext& context, AsyncOrigin origin, const VirtualFilePtr& file, std::uint32_t events)
      : context_(context), origin_(std::move(origin)), open_(file), events_(events) {
    add_with_watched(files_, file);
    for (const VirtualFilePtr& watched : files_) watched->wait_queue.add(*this);
  }
  ~Poll() {
    for (const VirtualFilePtr& watched : files_) watched->wait_queue.remove(*this);
  }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  void wake(bool = false) override {
    const std::uint32_t ready = files_.front()->readiness() & events_;
    if (ready != 0) finish(ready);
  }
  void finish(std::uint32_t result) {
    if (is_done_) return;
    is_done_ = true;
    context_.complete(origin_, result);
    if (!context_.release_.scheduled()) context_.release_.schedule_after(Duration::zero());
  }
  std::uint64_t address() const { return origin_.address; }
  bool is_done() const { return is_done_; }

 private:
  AsyncContext& context_;
  AsyncOrigin origin_;
  PassedFile open_;
  std::uint32_t events_;
  std::vector<VirtualFilePtr> files_;
  bool is_done_ = false;
};

AsyncContext::AsyncContext(Engine& engine, ComponentId source, std::uint32_t requests)
    : capacity_(ring_room(requests)),
      release_(Timer::of<&AsyncContext::release_polls>(engine, source, EventClass::kSupervisor, this)) {}

AsyncContext::~AsyncContext() = default;

std::size_t AsyncContext::room() const {
  const auto waiting = std::ranges::count_if(polls_, [](const auto& poll) { return !poll->is_done(); });
  const std::size_t taken = events_.size() + handed_out_.size() + static_cast<std::size_t>(waiting);
  return taken < capacity_ ? capacity_ - taken : 0;
}

void AsyncContext::complete(const AsyncOrigin& origin, std::int64_t result) {
  if (ended_) return;
  events_.push_back({origin.data, origin.address, result, 0});
  if (origin.notified != nullptr) {
    const std::uint64_t one = 1;
    origin.notified->write(std::as_bytes(std::span(&one, 1)));
  }
  notify();
}

void AsyncContext::add_poll(const AsyncOrigin& origin, const VirtualFilePtr& file, std::uint32_t events) {
  const std::uint32_t ready = file->readiness() & events;
  if (ready != 0) return complete(origin, ready);
  polls_.push_back(std::make_unique<Poll>(*this, origin, file, events));
}

bool AsyncContext::cancel_poll(std::uint64_t address) {
  for (const auto& poll : polls_) {
    if (poll->is_done() || poll->address() != address) continue;
    poll->finish(0);
    return true;
  }
  return false;
}

void AsyncContext::hand_out(std::uint32_t tid, AsyncOrigin origin) {
  handed_out_.push_back({tid, std::move(origin)});
}

std::optional<AsyncOrigin> AsyncContext::take_back(std::uint32_t tid) {
  const auto found = std::ranges::find(handed_out_, tid, &HandedOut::tid);
  if (found == handed_out_.end()) return std::nullopt;
  AsyncOrigin origin = std::move(found->origin);
  handed_out_.erase(found);
  return origin;
}

void AsyncContext::drop_events(std::size_t count) {
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count));
}

void AsyncContext::release_polls() {
  std::erase_if(polls_, [](const auto& poll) { return poll->is_done(); });
}

void AsyncContext::end() {
  if (ended_) return;
  ended_ = true;
  events_.clear();
  polls_.clear();
  handed_out_.clear();
  notify();
}

}  // namespace verbatim::supervisor
