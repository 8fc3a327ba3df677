#include "sim/supervisor/tasks/request.h"

#include <algorithm>

#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor::request {

namespace {

std::uint64_t unsigned_of(std::int64_t argument) { return static_cast<std::uint64_t>(argument); }
std::uint32_t low_of(std::int64_t argument) { return static_cast<std::uint32_t>(argument); }

PendingCall arguments_in(const protocol::ThreadSlot& slot) {
  PendingCall call{.number = slot.number};
  std::ranges::copy(slot.arguments, call.arguments);
  return call;
}

Poll poll_of(const protocol::ThreadSlot& slot) {
  constexpr unsigned kHandleRegister = 7;  // rdi, in the kernel's register numbering
  const auto& a = slot.arguments;
  const std::uint32_t number = slot.number;
  return {.seen = {.handle = slot.poll_registers[kHandleRegister],
                   .queue = {low_of(a[1]), low_of(a[2])},
                   .entry = unsigned_of(a[3]),
                   .sequence = low_of(a[4]),
                   .cost = Duration(a[0]),
                   .yields = (number & protocol::kYields) != 0,
                   .starts = (number & protocol::kStartsPoll) != 0,
                   .clock_gettime = unsigned_of(a[5]),
                   .polls_before = slot.polls_alone},
          .known_calls = number >> protocol::kKnownCallsShift};
}

Forked forked_of(const protocol::ThreadSlot& slot) {
  const auto& a = slot.arguments;
  const std::int64_t pid = a[0], holds = a[3];
  constexpr std::int64_t kSharesMemory = 3;
  return {.pid = pid >= 0 && pid <= UINT32_MAX ? low_of(pid) : 0,
          .native = a[1],
          .region = a[2],
          .holds_parent = holds != 0,
          .shares_memory = holds == kSharesMemory,
          .clear_tid = unsigned_of(a[4])};
}

}  // namespace

Any decode(const protocol::ThreadSlot& slot) {
  using protocol::Request;
  const auto& a = slot.arguments;
  const Request kind = slot.request;
  switch (kind) {
    case Request::kAttach:
      return Timed(Attach{unsigned_of(a[0])});
    case Request::kSpend:
      return Timed(Spend{Duration(a[0]), slot.number == protocol::kReadsClock, instant_from_ps(a[1])});
    case Request::kPoll:
      return Timed(poll_of(slot));
    case Request::kPoke:
      return Timed(Poke{unsigned_of(a[0]), unsigned_of(a[1]), unsigned_of(a[2])});
    case Request::kDoorbell:
      return Timed(Doorbell{Duration(a[0]), static_cast<protocol::DoorbellKind>(a[1]), unsigned_of(a[2]),
                            low_of(a[3]), unsigned_of(a[4])});
    case Request::kAccess:
      return Timed(Access{unsigned_of(a[0]), unsigned_of(a[1]), unsigned_of(a[2]), unsigned_of(a[3]),
                          unsigned_of(a[4]), static_cast<protocol::AccessLateness>(a[5])});
    case Request::kCommand:
      return Timed(Command{arguments_in(slot)});
    case Request::kSystemCall:
      return Timed(SystemCall{arguments_in(slot)});
    case Request::kRefused:
      return Timed(RefusedCall{arguments_in(slot)});
    case Request::kForked:
      return Timed(forked_of(slot));
    case Request::kFault:
      return Timed(Fault{a[0], unsigned_of(a[1]), low_of(a[2]), static_cast<std::int32_t>(a[3]), a[4] != 0});
    case Request::kCode:
      return Immediate(
          NewCode{unsigned_of(a[0]), unsigned_of(a[1]), static_cast<int>(a[2]), unsigned_of(a[3]),
                  static_cast<protocol::CodeQuestion>(a[4]), a[5] != 0});
    case Request::kReplaceCall:
      return Immediate(TrappedCall{unsigned_of(a[0]), unsigned_of(a[1])});
    case Request::kMachine:
      return Immediate(MachineRefusal{slot.number, a[0], a[1]});
    case Request::kFolders:
      return Immediate(MakeFolders{});
    case Request::kView:
      return Immediate(View{static_cast<protocol::ViewStep>(a[0]), a[1]});
    case Request::kPlace:
      return Immediate(NotPlaced{});
    case Request::kFileEvents:
      return Immediate(FileEvents{a[0] != 0});
    case Request::kFailedPoll:
      return Immediate(FailedPoll{unsigned_of(a[0]), a[1], unsigned_of(a[2])});
    case Request::kReportCall:
      return Immediate(ReportedCall{unsigned_of(a[0])});
    case Request::kNone:
      break;
  }
  return Timed();
}

const PendingCall* arguments_of(const Timed& request) {
  if (const auto* call = std::get_if<SystemCall>(&request)) return call;
  if (const auto* command = std::get_if<Command>(&request)) return command;
  return std::get_if<RefusedCall>(&request);
}

Duration modelled_cost(Duration stated) {
  constexpr Duration kLongest(1'000'000'000'000);  // one second: far beyond any modelled cost
  return std::clamp(stated, Duration::zero(), kLongest);
}

}  // namespace verbatim::supervisor::request
