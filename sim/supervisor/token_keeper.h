// The token: exactly one thread of the run has it, or the engine. A thread gets it with an answer, keeps it
// until the horizon of its slice at the latest, and returns it with a request.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/supervisor/run_context.h"
#include "sim/supervisor/scheduling/horizon.h"
#include "sim/supervisor/scheduling/second_core.h"
#include "sim/supervisor/scheduling/token.h"
#include "sim/supervisor/tasks/request.h"
#include "sim/supervisor/tasks/thread.h"
#include "sim/supervisor/verb_notes.h"

namespace verbatim::supervisor {

class CallPlaces;
class ImmediateAnswers;
class Kernel;
class MachineWatch;
class ParkingLot;
class ProcessLifetimes;
class ProcessList;
class ProgramCode;
class RunMemory;
class RunReport;
class SliceHorizon;
class ThreadTimes;
class ThreadWaits;

// Numbers of requests, for the log.
class RequestCounts {
 public:
  void count(const request::Timed& asked);
  void count_answered_ahead() { ++answered_ahead_; }
  void count_immediate() { ++immediate_; }
  void log(std::uint64_t hand_overs, std::uint64_t events) const;

 private:
  std::array<std::uint64_t, std::variant_size_v<request::Timed>> asked_{};
  std::uint64_t answered_ahead_ = 0, immediate_ = 0;
  std::map<std::uint32_t, std::uint64_t> calls_;  // system calls by number
};

class TokenKeeper {
 public:
  struct Parts {
    RunReport& report;
    ProcessList& processes;
    Horizon& events;
    const SliceHorizon& horizon;
    Kernel& kernel;
    RunMemory& memory;
    ParkingLot& lot;
    ThreadTimes& times;
    ProgramCode& code;
    ImmediateAnswers& answers;
    ProcessLifetimes& lifetimes;
    MachineWatch& watch;
    CallPlaces& places;
    ThreadWaits& waits;
  };
  TokenKeeper(const RunContext& run, const Parts& parts);

  // Called once, before the first process. Programs run on `core`; the simulator may use another processor of
  // `allowed`.
  void begin(int core, const cpu_set_t& allowed);

  // The first thread of a process that was just launched has the token: takes its requests until one takes
  // time.
  void begin_process(Process& process);
  // Passes `answer` and the token to the thread, which runs until its next request, and takes that request.
  void resume(Thread& thread, const Answer& answer);
  // The thread executes the rest of a skipped turn itself, in the past (ParkingLot::start_turn): its polls
  // find nothing, and it takes no virtual time of its own beyond the turn's.
  void finish_turn(Thread& thread, const ThreadParking::Turn& turn);
  // `thread` is about to run. Threads of its process whose turns take virtual time, and whose memory it may
  // read, first do what they would have done until now.
  void catch_up_parked_siblings(Thread& thread);

  // Whether the thread had the token when its process died, which then must be ended at the thread's time.
  // Returns true once.
  bool take_dead_holder(const Thread& thread);
  // The process has ended and is about to be retired.
  void forget(const Process& process);
  // A thread of this slot has ended, and the slot is about to be used again.
  void forget(const Process& process, std::uint32_t slot);
  // A call that is executed before its time has opened a device, or let another process reach one.
  void note_use_of_adapter() { opened_ahead_ = true; }

  // Latest virtual time that any thread or call has reached ahead of the engine.
  Instant ran_ahead() const { return ran_ahead_; }
  // Latest time of a call that was executed ahead of the engine.
  Instant called_ahead() const { return called_ahead_; }
  // False: memory of the host's programs may be ahead of the engine's time.
  bool may_access_memory(std::size_t host) const {
    return is_taking_request_ || run_.engine.now() >= ran_until_[host];
  }
  // Whether the user has interrupted the run.
  bool interrupted() const { return wait_.interrupted(); }
  void log() const;

 private:
  // Result of taking a request: it takes effect when its timer fires; it was a poke of a thread that does not
  // wait, which continues as if it had not been poked; it is answered.
  enum class Taken : std::uint8_t { kScheduled, kNotWaiting, kAnswered };

  void take_request(Process& process);
  void take_requests(Process& process);
  // Restarts the measurement of the time without a request, after which the thread is poked.
  void restart_poke_timer(Process& process);
  // False: there is no message, and the reason has been dealt with.
  bool wait_for_message(Process& process);
  // Records the native id of the thread that the process is creating, if any. False: the thread does not exist,
  // and the process or the run has been ended.
  bool adopt_thread(Process& process);
  Taken take(Thread& thread, const request::Timed& asked);
  Taken take_poke(Thread& thread, const request::Poke& poke);
  Duration cost_of(Thread& thread, protocol::ThreadSlot& slot);
  bool may_answer_ahead(Thread& thread, Instant due) const;
  Taken answer_ahead(Thread& thread, Instant due);
  // Reads the clock and the doorbells of the thread's slice. False: they are inconsistent, and the process
  // was killed.
  bool take_slice(Thread& thread);
  void grant(Thread& thread, const Answer& answer, Instant start, const Horizon::Bounds& bounds);
  void give_token(Thread& thread, protocol::ThreadSlot* before);
  void fill_slot(Thread& thread, const Answer& answer, Instant start);
  void raise_signals(Thread& thread);

  struct Slice {
    Instant start{};
    Instant horizon{};
    Instant end{};  // clock of the thread that returned the token last
  };

  const RunContext& run_;
  const Parts parts_;
  TokenWait wait_;
  std::optional<SecondCore> second_core_;  // set by begin()
  VerbNotes notes_;
  RequestCounts counts_;
  Thread* running_ = nullptr;           // thread that got the token last
  const Thread* ran_before_ = nullptr;  // thread that got it before running_; only compared, may dangle
  bool two_alternate_ = false;          // running_ also had the token before ran_before_
  Thread* dead_holder_ = nullptr;       // thread that held the token when its process died
  Slice slice_;
  std::vector<Instant> ran_until_;  // by host: latest virtual time that a thread of it has reached
  Instant ran_ahead_{}, called_ahead_{};
  bool opened_ahead_ = false;       // the call that is executed early has opened a path to the adapter
  bool is_taking_request_ = false;  // of a thread whose clock may be ahead of the engine's
};

}  // namespace verbatim::supervisor
