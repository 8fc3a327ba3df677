#include "tools/verbatim/labs/arming_order.h"

#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "sim/core/words.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::cli {

namespace {

using protocol::ReportedCallKind;
using protocol::ReportedCallStep;
using supervisor::ProgramCall;

constexpr std::int64_t kMostDescriptors = 1024;  // of one poll()

template <class T>
std::optional<T> value_at(const ProgramCall& event, std::int64_t address) {
  T value;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  if (event.read(static_cast<std::uint64_t>(address), bytes) != bytes.size()) return std::nullopt;
  return value;
}

// Objects that a system call waits for.
struct Wait {
  enum class Kind { kNone, kRead, kReadiness } kind = Kind::kNone;
  bool is_limited = false;                     // has a time limit
  std::optional<std::set<std::int32_t>> among;  // descriptors; nullopt: any of the process
};

Wait wait_of(const ProgramCall& event) {
  const auto& words = event.call.arguments;
  switch (event.call.number) {
    case SYS_read:
      return {Wait::Kind::kRead, false, std::set{static_cast<std::int32_t>(words[0])}};
    case SYS_poll:
    case SYS_ppoll: {
      std::set<std::int32_t> descriptors;
      for (std::int64_t i = 0; i < std::min(words[1], kMostDescriptors); ++i) {
        const auto one = value_at<pollfd>(event, words[0] + i * static_cast<std::int64_t>(sizeof(pollfd)));
        if (one) descriptors.insert(one->fd);
      }
      const bool is_limited = event.call.number == SYS_poll ? static_cast<std::int32_t>(words[2]) >= 0 : words[2] != 0;
      return {Wait::Kind::kReadiness, is_limited, std::move(descriptors)};
    }
    case SYS_select:
    case SYS_pselect6:
      return {Wait::Kind::kReadiness, words[4] != 0, std::nullopt};
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return {Wait::Kind::kReadiness, static_cast<std::int32_t>(words[3]) >= 0, std::nullopt};
    case SYS_epoll_pwait2:
      return {Wait::Kind::kReadiness, words[3] != 0, std::nullopt};
    default:
      return {};
  }
}

}  // namespace

void ArmingOrder::on_call(const ProgramCall& event) {
  Process& process = processes_[event.pid];
  Thread& thread = threads_[{event.pid, event.tid}];
  if (event.call.step == ReportedCallStep::kBegins) begin(event, process, thread);
  if (event.call.step == ReportedCallStep::kHasEnded) end(event, process, thread);
}

void ArmingOrder::begin(const ProgramCall& event, Process& process, Thread& thread) {
  if (event.call.kind != ReportedCallKind::kSystemCall) return;
  const Wait wait = wait_of(event);
  if (wait.kind == Wait::Kind::kNone || wait.is_limited) return;
  if (wait.kind == Wait::Kind::kRead && thread.is_ready) return;
  for (const auto& [number, queue] : process.queues) {
    if (queue.channel < 0 || (wait.among && !wait.among->contains(queue.channel))) continue;
    if (!thread.sleep) thread.sleep.emplace();
    if (!queue.is_armed || queue.is_known_empty || !thread.sleep->empty()) continue;
    const std::string ms = std::to_string(to_ps(event.now) / 1'000'000'000) + "." +
                           std::to_string(to_ps(event.now) / 1'000'000 % 1'000 + 1'000).substr(1);
    thread.sleep = join("process ", event.pid, " of ", event.host, " sleeps at ", ms, " ms for an event of CQ ", number,
                        ", and since it armed the CQ (ibv_req_notify_cq) it has not polled it until it was empty: a completion that "
                        "arrived before the arming raises no event");
  }
}

void ArmingOrder::end(const ProgramCall& event, Process& process, Thread& thread) {
  const protocol::ReportedCall& call = event.call;
  const auto queue = [&] { return process.queues.find(call.number); };
  switch (call.kind) {
    case ReportedCallKind::kSystemCall: {
      const Wait wait = wait_of(event);
      if (wait.kind == Wait::Kind::kNone) return;
      if (call.result != -EAGAIN) note_sleep(thread);
      thread.sleep.reset();
      thread.is_ready = wait.kind == Wait::Kind::kReadiness && call.result > 0;
      return;
    }
    case ReportedCallKind::kCommand:
      return end_command(event, process);
    case ReportedCallKind::kArm:
      if (const auto found = queue(); found != process.queues.end() && call.result == 0) {
        found->second.is_armed = true;
        found->second.is_known_empty = !process.can_complete;
      }
      return;
    case ReportedCallKind::kPoll:  // fewer than requested: the CQ is empty
      if (const auto found = queue(); found != process.queues.end() && call.result >= 0 && call.result < call.arguments[0])
        found->second.is_known_empty = true;
      return;
    case ReportedCallKind::kStartPoll:
    case ReportedCallKind::kNextPoll:
      if (const auto found = queue(); found != process.queues.end() && call.result == ENOENT) found->second.is_known_empty = true;
      return;
    default:
      return;
  }
}

void ArmingOrder::end_command(const ProgramCall& event, Process& process) {
  const std::int64_t address = event.call.arguments[0];
  const auto header = value_at<protocol::CommandHeader>(event, address);
  if (!header || header->status != 0) return;
  if (header->type == protocol::CommandType::kCreateCq) {
    const auto made = value_at<protocol::CreateCq>(event, address);
    if (made) process.queues[made->number] = {.channel = made->channel_fd};
  }
  if (header->type == protocol::CommandType::kModifyQp) {
    const auto modified = value_at<protocol::ModifyQp>(event, address);
    const bool sets_state = modified && (modified->mask & IBV_QP_STATE) != 0;
    if (sets_state && modified->attributes.qp_state == IBV_QPS_RTR) process.can_complete = true;
  }
}

void ArmingOrder::note_sleep(Thread& thread) {
  if (!thread.sleep) return;
  ++sleeps_;
  if (!mistake_ && !thread.sleep->empty()) mistake_ = thread.sleep;
}

void ArmingOrder::finish() {
  for (auto& [id, thread] : threads_) {
    note_sleep(thread);
    thread.sleep.reset();
  }
}

}  // namespace verbatim::cli
