// Processes the requests of threads when their time has come: the thread is answered and continues, or waits.
#pragma once

#include <optional>
#include <variant>

#include "sim/supervisor/run_context.h"
#include "sim/supervisor/tasks/request.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class CallPlaces;
class ClockFollower;
class Kernel;
class MachineWatch;
class ParkingLot;
class ProcessFactory;
class ProcessLifetimes;
class ProcessList;
class ProgramCode;
class RunReport;
class TokenKeeper;

class ThreadRunner final : public ThreadOwner {
 public:
  struct Parts {
    RunReport& report;
    const ProcessList& processes;
    Kernel& kernel;
    TokenKeeper& token;
    ParkingLot& lot;
    ClockFollower& clocks;
    ProgramCode& code;
    ProcessFactory& factory;
    ProcessLifetimes& lifetimes;
    MachineWatch& watch;
    CallPlaces& places;
  };
  ThreadRunner(const RunContext& run, const Parts& parts) : run_(run), parts_(parts) {}

  void on_due(Thread& thread) override;
  void ring(Thread& thread, const protocol::QueuedDoorbell& doorbell) override;

 private:
  void handle(Thread& thread, std::monostate);
  void handle(Thread& thread, const request::Attach& attach);
  void handle(Thread& thread, const request::Spend& spend);
  void handle(Thread& thread, const request::Poll& poll);
  void handle(Thread& thread, const request::Poke&);
  void handle(Thread& thread, const request::Doorbell& doorbell);
  void handle(Thread& thread, const request::Access& access);
  void handle(Thread& thread, const request::Command&);
  void handle(Thread& thread, const request::SystemCall& call);
  void handle(Thread& thread, const request::RefusedCall&);
  void handle(Thread& thread, const request::Forked& forked);
  void handle(Thread& thread, const request::Fault& fault);
  // nullopt: the thread waits, or has ended.
  void resume_with(Thread& thread, const std::optional<Answer>& answer);

  const RunContext& run_;
  const Parts parts_;
};

}  // namespace verbatim::supervisor
