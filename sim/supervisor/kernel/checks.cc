#include "sim/supervisor/kernel/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/core/time_text.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/machine/call_stack.h"
#include "sim/supervisor/machine/code_place.h"

namespace verbatim::supervisor {

namespace {

using protocol::Check;
using protocol::CommandType;

std::string count(std::uint64_t number, const char* what) { return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s"); }

bool is_private(Process& process, std::uint64_t address) {
  const auto mapping = process.memory().mapping_at(address);
  return mapping && !mapping->is_shared;
}

// Call stack at the time when the shim copied it.
std::string callers_then(Process& process, std::uint64_t caller, const protocol::NoteStack& stack) {
  const auto word = [&stack](std::uint64_t address) -> std::optional<std::uint64_t> {
    const std::uint64_t length = std::min<std::uint64_t>(stack.length, sizeof stack.bytes), at = address - stack.stack;
    std::uint64_t value;
    if (length < sizeof value || at > length - sizeof value) return std::nullopt;
    std::memcpy(&value, stack.bytes + at, sizeof value);
    return value;
  };
  return callers_text(process.native_pid(), caller, {stack.address, stack.stack, stack.frame}, word);
}

}  // namespace

void Checks::report(Process& process, Check check, std::uint64_t caller, const std::string& text, Instant when,
                    const std::function<std::string()>& callers) {
  if (check == Check::kNone || static_cast<std::uint32_t>(check) >= protocol::kCheckCount || !is_on(check)) return;
  // One finding for each place in the program.
  const auto place_of_finding = std::make_tuple(process.pid(), check, caller, caller == 0 ? text : std::string());
  if (reported_.contains(place_of_finding)) return;
  Findings& findings = findings_[{process.program(), check}];
  if (findings.reported >= kMostOfKind) {
    ++findings.more;
    return;
  }
  ++findings.reported;
  reported_.insert(place_of_finding);
  const std::string place = place_of_call(process.native_pid(), caller) + (callers ? callers() : "");
  const char* const name = protocol::kChecks[static_cast<std::uint32_t>(check)].name;
  Diagnosis finding{process.host().component, process.pid(), 0, text};
  finding.check = name;
  finding.place = place;
  tracer_.diagnose(finding, when);
}

std::vector<std::pair<std::size_t, std::string>> Checks::rest() const {
  std::vector<std::pair<std::size_t, std::string>> sentences;
  for (const auto& [kind, findings] : findings_) {
    if (findings.more == 0) continue;
    const char* const name = protocol::kChecks[static_cast<std::uint32_t>(kind.second)].name;
    sentences.emplace_back(kind.first, fmt::format("{} of the check {}", count(findings.more, "more finding"), name));
  }
  return sentences;
}

void Checks::report_note(Process& process, const protocol::VerbNote& note, std::uint64_t caller, const protocol::NoteStack& stack,
                         const std::string& text, Instant when) {
  // A receive or send that a system library posted is not reported: UCX, for one, unmaps buffers of a queue
  // pair that it then destroys.
  if (note.posted != 0 && is_of_system_library(process.memory(), note.posted)) return;
  if (note.private_at != 0 && !is_private(process, note.private_at)) return;
  const std::string posted = note.posted == note.caller ? "" : place_of_call(process.native_pid(), note.posted);
  report(process, note.check, caller, posted.empty() ? text : text + "; it was posted at " + posted, when,
         [&] { return callers_then(process, caller, stack); });
}

void Checks::before_sleep(Thread& thread, std::span<const VirtualFilePtr> files, Instant deadline, Instant now) {
  // A thread with a deadline polls again by itself.
  if (deadline != kNever || thread.wait.is_retried() || thread.process().devices().empty() ||
      !is_on(Check::kMissedWakeUp)) {
    return;
  }
  for (const VirtualFilePtr& file : files) {
    check_wait(thread, file, &hca::Inspector::slept_on, "sleeps until", now);
  }
}

void Checks::after_read(Thread& thread, const VirtualFilePtr& file, Instant now) {
  // A thread that does not block, or has blocked, does not depend on the event, and neither does one with another
  // event.
  if (thread.process().devices().empty() || !is_on(Check::kMissedWakeUp) || file->nonblocking() || thread.wait.is_retried() ||
      file->readiness() != 0)
    return;
  check_wait(thread, file, &hca::Inspector::would_sleep_on, "waits for", now);
}

void Checks::check_wait(Thread& thread, const VirtualFilePtr& file, FindSlept find, const char* relation, Instant now) {
  Process& process = thread.process();
  for (DeviceContext* const context : process.devices().own()) {
    const std::uint32_t channel = context->known_channel(file);
    const hca::SleptOn slept = (context->hca().inspector().*find)(context->handle(), channel, thread.tid());
    if (slept.cq == 0) continue;
    report(process, Check::kMissedWakeUp, slept.armed_from,
           fmt::format("thread {} {} the next event of CQ {}, which held {} that it had not polled when it armed the CQ: such "
                       "completions need not raise an event",
                       thread.tid(), relation, slept.cq, count(slept.old, "completion")),
           now);
  }
}

void Checks::keep(Process& process, const hca::CompletionQueueState& cq) {
  if (figures_.size() >= kMostFigures) return;
  figures_.push_back({.host = process.host().name,
                      .process = process.pid(),
                      .queue = fmt::format("CQ {}", cq.number),
                      .entries = cq.entries,
                      .most = cq.most_waiting});
}

void Checks::keep(Process& process, const hca::QueuePairState& qp) {
  if (figures_.size() >= kMostFigures) return;
  figures_.push_back({.host = process.host().name,
                      .process = process.pid(),
                      .queue = fmt::format("QP {}", qp.number),
                      .send_entries = qp.send_entries,
                      .send_most = qp.send_most,
                      .send_full = qp.send_full,
                      .recv_entries = qp.recv_entries,
                      .recv_least = qp.recv_least,
                      .receives_taken = qp.received,
                      .rnr_naks = qp.rnr_naks});
}

void Checks::before_command(Thread& thread, DeviceContext& context, std::span<const std::byte> mailbox, Instant now) {
  protocol::DestroyObject destroy;
  if (mailbox.size() != sizeof destroy) return;
  std::memcpy(&destroy, mailbox.data(), sizeof destroy);
  const CommandType type = destroy.header.type;
  if (type == CommandType::kDeregMr) {
    Process& process = thread.process();
    const std::uint64_t caller = process.region().slot(thread.slot()).verb_caller;
    context.hca().report_end_of_region(context.handle(), destroy.handle,
                                     [native_pid = process.native_pid(), caller] { return place_of_call(native_pid, caller); });
    return check_region(thread, context, destroy.handle, now);
  }
  if (type != CommandType::kDestroyCq && type != CommandType::kDestroyQp) return;
  const bool is_cq = type == CommandType::kDestroyCq;
  const hca::Inspection one = context.hca().inspector().inspect_one(context.handle(), is_cq, destroy.handle);
  for (const auto& cq : one.cqs) keep(thread.process(), cq);
  for (const auto& qp : one.qps) keep(thread.process(), qp);
}

void Checks::after_command(Thread& thread, DeviceContext& context, std::span<const std::byte> mailbox) {
  if (!is_on(Check::kLeak)) return;
  const auto load = [&mailbox](auto& command) {
    if (mailbox.size() != sizeof command) return false;
    std::memcpy(&command, mailbox.data(), sizeof command);
    return command.header.status == 0;
  };
  protocol::CommandHeader header;
  std::memcpy(&header, mailbox.data(), sizeof header);
  const std::uint64_t caller = thread.process().region().slot(thread.slot()).verb_caller;
  protocol::RegMr region;
  protocol::AllocPd domain;
  protocol::DestroyObject destroyed;
  if (header.type == CommandType::kRegMr && load(region)) context.made_at[{true, region.handle}] = caller;
  if (header.type == CommandType::kAllocPd && load(domain)) context.made_at[{false, domain.handle}] = caller;
  const bool is_region = header.type == CommandType::kDeregMr;
  if (!is_region && header.type != CommandType::kDeallocPd) return;
  if (load(destroyed)) context.made_at.erase({is_region, destroyed.handle});
}

void Checks::check_region(Thread& thread, DeviceContext& context, std::uint32_t handle, Instant now) {
  if (!is_on(Check::kRegionInUse)) return;
  const hca::RegionUse use = context.hca().inspector().use_of_region(context.handle(), handle);
  if (use.sends + use.receives == 0) return;
  Process& process = thread.process();
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const std::string what = use.sends > 0 ? count(use.sends, "send") : count(use.receives, "receive");
  report(process, Check::kRegionInUse, slot.verb_caller,
         fmt::format("thread {} deregisters the memory region with lkey {:#x} while {} of QP {} still use{} it", thread.tid(), use.key, what,
                     use.qp, use.sends + use.receives == 1 ? "s" : ""),
         now, [&] {
           return callers_text(process.native_pid(), slot.verb_caller, {slot.verb_caller, slot.verb_stack, slot.verb_frame},
                               [&process](std::uint64_t address) { return process.memory().load<std::uint64_t>(address); });
         });
}

// Since Linux 5.12, fork leaves pinned pages with the process that registered them. Adapters go on writing to
// its memory, and the copy keeps the contents at the time of the fork, with or without MADV_DONTFORK.
void Checks::before_failure_of_copy(Process& process, Process& original, int code, Instant now) {
  if (!is_on(Check::kForkedBuffer)) return;
  original.memory().placed.visit_since(process.family().copied, [&](std::uint64_t address, std::uint32_t length, Instant when) {
    if (!is_private(process, address)) return true;
    report(process, Check::kForkedBuffer, 0,
           fmt::format("the process ends with exit code {}; it is a copy of process {}, forked at {}, and adapters have written only to the "
                       "memory of process {} since then (last {} bytes at {:#x}, at {}): this process still has the old bytes",
                       code, original.pid(), time_text(process.family().copied), original.pid(), length, address,
                       time_text(when)),
           now);
    return false;
  });
}

void Checks::before_exit(Process& process, int code, Instant now) {
  for (DeviceContext* const context : process.devices().own()) {
    const hca::Inspection all = context->hca().inspector().inspect(context->handle());
    for (const auto& cq : all.cqs) keep(process, cq);
    for (const auto& qp : all.qps) keep(process, qp);
    if (code != 0 || !is_on(Check::kLeak)) continue;
    const auto left = [&](const std::string& what, std::uint64_t made) {
      report(process, Check::kLeak, made, fmt::format("the program exits without destroying {}", what), now);
    };
    for (const auto& qp : all.qps) left(fmt::format("QP {}", qp.number), qp.created_from);
    for (const auto& cq : all.cqs) left(fmt::format("CQ {}", cq.number), cq.created_from);
    // Objects with a known creation place, then the number of the others.
    const auto left_of = [&](bool are_regions, std::size_t number, const char* what) {
      for (const auto& [made, at] : context->made_at) {
        if (made.first != are_regions || number == 0) continue;
        left(fmt::format("a {}", what), at);
        --number;
      }
      if (number > 0) left(count(number, what), 0);
    };
    left_of(true, all.regions, "memory region");
    left_of(false, all.domains, "protection domain");
  }
}

}  // namespace verbatim::supervisor
