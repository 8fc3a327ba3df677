// Answers to requests that take no virtual time (request::Immediate).
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "sim/supervisor/run_context.h"
#include "sim/supervisor/spec/program_call.h"
#include "sim/supervisor/tasks/request.h"

namespace verbatim::supervisor {

class Kernel;
class MachineWatch;
class ParkingLot;
class ProgramCode;
class RunFiles;
class Thread;

class ImmediateAnswers {
 public:
  struct Parts {
    Kernel& kernel;
    ProgramCode& code;
    MachineWatch& watch;
    RunFiles& files;
    ParkingLot& lot;
  };
  ImmediateAnswers(const RunContext& run, const Parts& parts) : run_(run), parts_(parts) {}

  // `listener` gets every call of a program that reaches the shim.
  void report_calls_to(std::function<void(const ProgramCall&)> listener) { on_call_ = std::move(listener); }
  bool reports_calls() const { return static_cast<bool>(on_call_); }

  // Answers the request in the thread's slot. `horizon`: of the thread's slice.
  void answer(Thread& thread, const request::Immediate& asked, Instant horizon);

 private:
  void report_call(Thread& thread, const request::ReportedCall& reported, Instant horizon) const;

  const RunContext& run_;
  const Parts parts_;
  std::function<void(const ProgramCall&)> on_call_;
};

}  // namespace verbatim::supervisor
