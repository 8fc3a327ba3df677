// Requests of threads, decoded once from the slot when the thread returns the token: shared memory is not
// read again for them. Fields are those of protocol::Request; none has been checked.
#pragma once

#include <cstdint>
#include <variant>

#include "sim/core/time.h"
#include "sim/supervisor/tasks/pending_call.h"
#include "sim/supervisor/tasks/seen_poll.h"
#include "verbs_shim/protocol/accesses.h"
#include "verbs_shim/protocol/changing_code.h"
#include "verbs_shim/protocol/folder_view.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor::request {

// Requests that are answered immediately and take no virtual time.
struct NotPlaced {};  // the thread could not store the placements that it got with the token
struct NewCode {
  std::uint64_t address = 0, length = 0;
  int descriptor = -1;  // of the mapped file; -1: none
  std::uint64_t offset = 0;
  protocol::CodeQuestion question = protocol::CodeQuestion::kSearch;
  bool changes_unnoticed = false;
};
struct TrappedCall {
  std::uint64_t address = 0;
  std::uint64_t traps = 0;  // since the last report
};
struct MachineRefusal {
  std::uint32_t call = 0;  // number of the system call
  std::int64_t error = 0;  // errno
  std::int64_t size = 0;   // bytes that did not fit; 0: unknown
};
struct MakeFolders {};
struct View {
  protocol::ViewStep step{};
  std::int64_t argument = 0;
};
struct FailedPoll {
  std::uint64_t completions = 0;  // address of the first ibv_wc
  std::int64_t count = 0;
  std::uint64_t failed = 0;  // mask
};
struct FileEvents {
  bool is_own_work = false;  // of the runtime: the events are dropped
};
struct ReportedCall {
  std::uint64_t address = 0;  // of a protocol::ReportedCall
};
using Immediate = std::variant<NotPlaced, NewCode, TrappedCall, MachineRefusal, MakeFolders, View, FailedPoll,
                               FileEvents, ReportedCall>;

// Requests that are processed at the thread's clock plus their cost.
struct Attach {
  std::uint64_t room = 0;  // address of room for the places of accesses; 0: none
};
struct Spend {
  Duration cost{};
  bool reads_clock = false;  // a clock read that may be interpreted (ClockFollower)
  Instant row_began{};       // begin of the series of clock reads
};
struct Poll {
  SeenPoll seen;  // `at` is not set
  std::uint32_t known_calls = 0;
};
struct Poke {
  std::uint64_t context = 0;  // address of the thread's ucontext_t
  std::uint64_t fs_base = 0;
  std::uint64_t jump = 0;  // jump of the loop that trapped; 0: the thread was poked
};
struct Doorbell {
  Duration cost{};
  protocol::DoorbellKind kind{};
  std::uint64_t context = 0;
  std::uint32_t number = 0;
  std::uint64_t value = 0;
};
struct Access {
  std::uint64_t instruction = 0;
  std::uint64_t context = 0;  // address of the thread's ucontext_t
  std::uint64_t fs_base = 0;
  std::uint64_t address = 0;  // accessed
  std::uint64_t size = 0;
  protocol::AccessLateness lateness{};
};
struct Command : PendingCall {};  // the command is in the mailbox; arguments[0]: its size in bytes
struct SystemCall : PendingCall {};
struct RefusedCall : PendingCall {};  // a system call that is not simulated
struct Forked {
  std::uint32_t pid = 0;      // virtual
  std::int64_t native = 0;    // native pid or -errno
  std::int64_t region = -1;   // descriptor of the copy's region in the parent
  bool holds_parent = false;  // the parent waits until the copy has executed a program or ended
  bool shares_memory = false;
  std::uint64_t clear_tid = 0;
};
struct Fault {
  std::int64_t signal = 0;
  std::uint64_t address = 0;
  std::uint32_t architecture = 0;  // of a foreign call; 0: the fault is none
  std::int32_t number = 0;         // of the foreign call
  bool is_sent = false;            // by a program; it has no address then
};
// std::monostate: no known request.
using Timed = std::variant<std::monostate, Attach, Spend, Poll, Poke, Doorbell, Access, Command, SystemCall,
                           RefusedCall, Forked, Fault>;

using Any = std::variant<Timed, Immediate>;

// Reads every field of the slot at most once.
Any decode(const protocol::ThreadSlot& slot);

// Visitor of a request: one function for each kind.
template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Match(Cases...) -> Match<Cases...>;

// Arguments of a command or system call; nullptr: it is neither.
const PendingCall* arguments_of(const Timed& request);

// Cost of a call as the shim states it, limited to a plausible range.
Duration modelled_cost(Duration stated);

}  // namespace verbatim::supervisor::request
