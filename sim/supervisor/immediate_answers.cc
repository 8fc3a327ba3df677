#include "sim/supervisor/immediate_answers.h"

#include <algorithm>
#include <span>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine_watch.h"
#include "sim/supervisor/parking_lot.h"
#include "sim/supervisor/program_code.h"
#include "sim/supervisor/run_files.h"

namespace verbatim::supervisor {

void ImmediateAnswers::answer(Thread& thread, const request::Immediate& asked, Instant horizon) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const auto answer = [&slot](std::int64_t result) {
    slot.result = result;
    slot.action = protocol::Action::kReturn;
  };
  std::visit(request::Match{
                 [](const request::NotPlaced&) {
                 },  // the thread continues with the answer that it got with the token
                 [&](const request::NewCode& code) {
                   answer(static_cast<std::int64_t>(parts_.code.search(process, code)));
                 },
                 [&](const request::TrappedCall& call) {
                   answer(static_cast<std::int64_t>(parts_.code.replace_call(process, call)));
                 },
                 [&](const request::MachineRefusal& refusal) {
                   answer(0);
                   parts_.watch.note_refusal(process, refusal);
                 },
                 [&](const request::MakeFolders&) {
                   answer(0);
                   parts_.kernel.paths_of(process).make_folders();
                 },
                 [&](const request::View& view) { answer(parts_.files.answer_about_view(thread, view)); },
                 [&](const request::FailedPoll& poll) {
                   answer(parts_.lot.analyst_of(process).use_of_failed(poll, slot));
                 },
                 [&](const request::FileEvents& events) {
                   answer(static_cast<std::int64_t>(
                       parts_.kernel.fetch_file_events(process.host_index(), events.is_own_work)));
                 },
                 [&](const request::ReportedCall& reported) { report_call(thread, reported, horizon); },
             },
             asked);
}

void ImmediateAnswers::report_call(Thread& thread, const request::ReportedCall& reported,
                                   Instant horizon) const {
  if (!on_call_) return;
  const ProcessMemory& memory = thread.process().memory();
  const auto read = [&memory](std::uint64_t address, std::span<std::byte> to) {
    return memory.read_present(address, to);
  };
  const protocol::ThreadSlot& slot = thread.process().region().slot(thread.slot());
  ProgramCall call{
      .host = thread.process().host().name, .pid = thread.process().pid(), .tid = thread.tid(), .read = read};
  call.now = std::max(run_.engine.now(), std::min(instant_from_ps(slot.clock_ps), horizon));
  call.place = reported.address;
  const auto bytes = std::as_writable_bytes(std::span(&call.call, 1));
  if (read(call.place, bytes) != bytes.size() ||
      static_cast<std::uint32_t>(call.call.kind) >= protocol::kReportedCallKinds)
    return;
  on_call_(call);
}

}  // namespace verbatim::supervisor
