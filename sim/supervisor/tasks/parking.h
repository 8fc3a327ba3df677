// Threads that wait by polling: a loop around ibv_poll_cq that finds nothing, or a spin on memory without
// calls. When sim/supervisor/spin has proven that only an outside event can end the loop, the thread is
// parked. It gets no token until a byte that the loop reads changes, a polled completion queue gets an entry,
// or a signal arrives. The program sees the same as if every turn of the loop had been executed. A turn is
// one period of the loop; a look is one poll of it.
//
// - A poll loop looks at t, t + c, t + 2c, … (c: cost of an empty poll). It resumes at the first look at or
//   after the change. A spin takes no virtual time and resumes at the time of the change. A turn that polls
//   several queues may end with any of its looks: the thread that resumes first executes the earlier polls of
//   that turn, which find nothing (ThreadParking::Turn).
// - Growing values change by a constant each turn (sim/supervisor/spin/growth.h). Another thread or an
//   adapter that accesses the program's memory meanwhile finds the values of that time. The thread resumes
//   with those of its turn; its registers are in the frame of the poll (protocol::kPollFrame). A loop proven
//   for a limited number of turns resumes by itself after them.
// - A turn may have thousands of looks at irregular times (spin/far_turn.cc). Its proof interprets it once,
//   with effort that skipped polls have earned.
// - A turn may make system calls that find nothing, or sleep, any number of times with a few different calls.
//   Their results are known (EmptyCall), and changes of their files wake the thread too. Such calls
//   take virtual time.
// - A turn may read clocks (sim/supervisor/spin/turn_clock.h). It then acts at several times, and a change
//   may fall between them. The thread resumes with the look before the change, in the past, and catches up to
//   the time of the change with memory as it was. The same happens before another thread of its process runs,
//   which must find memory as of that time (TokenKeeper::catch_up_parked_siblings). Memory that the turn writes
//   must not be registered, because adapters may read it at any time, and must not be shared with other
//   processes. Only bounds may be known for values computed from clocks if the next turn recomputes them; the
//   thread then resumes one turn earlier.
// - Earlier proofs are kept (LoopAnalyst::holds_again). If shorter turns begin where those of many polls end, the thread
//   stays parked and is not executed in between (LoopAnalyst::poll_on). A progress loop such as UCX' does something else
//   every hundred turns. The thread is parked for the turns until then if that is cheaper than executing them, and the
//   waits that follow need no further proof. A wait that reaches the end of such turns several times pays for a search
//   for a turn of many polls that later waits can use, and a long one for any (LoopAnalyst::due_search).
//
// A thread is parked only while no other thread of its host is about to run (it may share memory), except a
// thread that is about to look at a completion queue itself. If such a thread runs, its changes are noticed.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/supervisor/spin/kept_proofs.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "sim/supervisor/tasks/loop_traps.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class AnalysedMemory;
class ProcessMemory;

// State of one parked thread.
struct Parked {
  enum class Kind : std::uint8_t { kPoll, kSpin };
  Kind kind = Kind::kPoll;
  Instant since{};          // time of the last executed look; kSpin: of the end of the slice
  // kPoll: duration of a turn, and the times of its looks from its beginning; the first is 0.
  Duration turn{};
  std::vector<Duration> looks{Duration::zero()};
  // kPoll: the polled queues, each once.
  std::vector<PolledQueue> queues;
  // kPoll: files of the system calls in the turn that find nothing; a change of one wakes the thread.
  std::vector<VirtualFilePtr> files;
  std::uint32_t known_calls = 0;  // mask of the stored answers of these calls, see known_places()
  // Bytes whose change wakes the thread, with their expected values. The last ones are the proof's `writes`.
  std::vector<spin::ByteRun> watched;
  // kPoll: the proof of the loop.
  std::shared_ptr<const spin::PollLoopProof> proof;
  // `proof` if values grow or alternate, or clocks are read, else nullptr.
  std::shared_ptr<const spin::PollLoopProof> growing;
  // `watched` as it was when the thread was parked; saved when show() first changes it (loops with clocks).
  std::vector<spin::ByteRun> as_parked;
  std::int64_t most_looks = 0;  // the thread resumes with this look at the latest; 0: no limit
  bool is_shown = false;        // show() is writing memory
  std::uint64_t epoch = 0;      // ProcessMemory::epoch() when the thread was parked
  std::uint64_t left_at = 0;    // epoch in which memory was found as whole turns leave it; 0: it has not been compared
  // kSpin: an instruction of the loop, and the address that it presumably waits for: the first that it reads
  // outside of its own stack frames, or else the first that it reads.
  std::uint64_t code = 0, awaited = 0;
  // Writes to the process's memory since then: places of those that are not by show() or show_registers(), complete
  // unless is_incomplete is set; and the number of all.
  std::vector<spin::MemoryRange> written;
  bool is_incomplete = false;
  std::uint64_t writes = 0;
  bool is_written_elsewhere = false;  // watched bytes were changed by a write to another address

  bool reads_clocks() const { return growing != nullptr && growing->period_ps != 0; }
  // kPoll: time of a look, and number of the first look at or after `when`, at least 1. Look 0 is at `since`.
  Instant time_of(std::int64_t look) const;
  std::int64_t look_due(Instant when) const;
  std::int64_t turn_of(std::int64_t look) const { return look / static_cast<std::int64_t>(looks.size()); }
  // First look of the turn that contains `look`.
  std::int64_t beginning(std::int64_t look) const { return turn_of(look) * static_cast<std::int64_t>(looks.size()); }

  // Watches this code, as it is in memory.
  void watch_code(const ProcessMemory& memory, std::span<const spin::ByteRun> code);
  // Before a thread with `growing` is parked: writes the bytes that whole turns leave in memory.
  void start(ProcessMemory& memory) const;
  // Writes to memory the values at the time of the look.
  void show(ProcessMemory& memory, std::int64_t look);
  // Sets the registers in the poll's frame, and in the slot, to their values in the turn of the look.
  void show_registers(Process& process, protocol::ThreadSlot& slot, std::int64_t look);
  // The bytes of `runs` at the beginning of the turn of the look.
  std::vector<spin::ByteRun> at_turn(std::vector<spin::ByteRun> runs, std::int64_t look) const;
  // True if the turn of the look reads, writes or perhaps executes one of the bytes between its first poll and the look.
  bool touches_before(std::int64_t look, const spin::MemoryRange& bytes) const;
  // The process's memory was written: adds the range to `written`, up to a limit.
  void note_write(std::uint64_t address, std::uint64_t length);
  // True if no program of the host has run since the thread was parked, and no memory of another process was written.
  bool nothing_has_run(std::uint64_t epoch_now) const;
  // True if all bytes that the turn of the look reads and writes before the look are known to be as when the
  // thread was parked. False if `growing` or `is_written_elsewhere` is set or the writes are not known.
  bool is_as_parked_before(std::int64_t look, std::uint64_t epoch_now) const;
  // True if the watched bytes are known to have their expected values in memory: only show() has written to one.
  bool is_as_watched(std::uint64_t epoch_now) const;
  // True if skipped turns may change a byte of `runs`.
  bool changes(std::span<const spin::ByteRun> runs) const;
  // True if they may change a byte that is at one of the places, or may be: memory that is not private to the
  // process may be mapped at several.
  bool may_change(const ProcessMemory& memory, std::span<const spin::MemoryRange> places) const;

  bool polls(std::uint32_t context, std::uint32_t cq_number) const;
  // True if watched bytes in memory that other processes can write have changed.
  bool shared_has_changed(const ProcessMemory& memory) const;

 private:
  void show(ProcessMemory& memory, std::vector<spin::ByteRun> then);

  // Computed at the first use: indices in `watched`; whether all changing bytes are private to the process.
  mutable std::optional<std::vector<std::size_t>> shared_;
  mutable std::optional<bool> changes_in_private_;
};

// Sets the caller's callee-saved registers, which POLL_ENTRY has stored below the stack pointer, to those in
// `registers`.
void show_kept_registers(Process& process, protocol::ThreadSlot& slot, const spin::Registers& registers);

// Updates the process's memory with the effects of all skipped turns of its parked threads.
void show_growth(Process& process);
// As above, if a byte that is about to be accessed may have changed.
void show_growth(Process& process, std::span<const spin::MemoryRange> accessed);

// The prover of one process, with its earlier proofs.
class LoopAnalyst {
 public:
  // `epoch_ns`: CLOCK_REALTIME at virtual time 0. `traps_loops`: SupervisorOptions::traps_loops.
  // `interposed`: see spin::Limits. `loops`: those of the run. Both must outlive *this.
  LoopAnalyst(Process& process, std::int64_t epoch_ns, bool traps_loops, std::span<const spin::MemoryRange> interposed,
              KnownLoops& loops);
  ~LoopAnalyst();

  // The thread is at the entry of a poll that finds nothing. `registers` is from its slot. If nullopt is
  // returned, polls_to_pass() is the number of polls until the next call.
  std::optional<Parked> poll_loop(const std::uint64_t (&registers)[18], const SeenPoll& seen, const KnownCalls& known);
  // The turns for which the thread was parked have ended as predicted, no program of the host has run since, and the
  // thread's next poll finds nothing. Parks it for the turns of another proof that begins in this state. nullopt: there
  // is none, or it is not looked for.
  std::optional<Parked> poll_on(const std::uint64_t (&registers)[18], const SeenPoll& seen, const KnownCalls& known);
  // The thread was poked (interrupted while it computed; `jump` is 0) or trapped at `jump`, the backward jump
  // of its loop. If the loop is proven, the thread's saved registers and memory are set to the state of
  // SpinProof::canonical.
  std::optional<Parked> spin(std::uint64_t context_address, std::uint64_t fs_base, std::uint64_t jump);
  // The thread is at the entry of a clock function at `now`, in a series of reads that began at `row_began`.
  // Returns its effects until the next read, or nullopt if they cannot be predicted.
  // Its stores are written to memory at once if another thread may see them, otherwise by write_followed()
  // before the next access to the process's memory.
  std::optional<spin::ClockStep> follow_clock(const Thread& thread, const spin::Registers& at_entry, Instant now,
                                              Instant row_began);
  void write_followed();
  // The thread's poll is about to return failed completions. Returns the answer to Request::kFailedPoll, a
  // FieldUseAnswer: the next instruction that uses a field undefined in them. 0: none was found.
  std::int64_t use_of_failed(const request::FailedPoll& poll, const protocol::ThreadSlot& slot);
  // The thread spins, with its registers saved at `context_address`, and is about to resume because an
  // adapter has placed the bytes `placed`. Returns the address of an instruction that reads bytes of `placed`
  // that its loop does not read, before a call out of its file. 0: none found, or the loop has no try left.
  std::uint64_t read_beside(std::uint64_t context_address, std::uint64_t fs_base, const Parked& parked,
                            const spin::MemoryRange& placed);
  // Asked before the first read of a series at this place. False for a number of calls after follow_clock()
  // failed for such a read, which note_followed() reports; the number doubles with each failure.
  bool may_follow_clock(std::uint64_t place);
  void note_followed(std::uint64_t place, bool in_vain);
  // The polls of whole turns that were skipped while the thread was parked. Proofs may cost that much effort.
  void note_skipped(const Parked& parked, std::int64_t polls);
  // Code of the process may have changed: an earlier proof does not compare it.
  void forget_proofs();
  LoopTraps& traps() { return traps_; }
  // A thread has got the token. Later pokes concern a new computation.
  void begin_slice() { pokes_.in_vain = 0; }
  // Factor for the real time before a computing thread is poked: at least 1, doubled up to 256 while pokes
  // find computations only. An analysis costs as much as milliseconds of computation.
  unsigned poke_backoff() const {
    return 1U << std::min((pokes_.has_proven_spin ? 0 : kFirstBackoff) + pokes_.without_proof / kPokesForBackoff, kMostBackoff);
  }
  // Initial value, before the first poke of a process. Most processes never spin. With thousands of
  // processes, cold caches make even a few calls as long as the usual period.
  static unsigned first_poke_backoff() { return 1U << kFirstBackoff; }

  // After poll_loop() returned nullopt: number of polls to pass before its next call. Zero if the loop is
  // proven, but the device of a polled queue is unknown until its poll is seen. Grows while proofs fail.
  std::uint32_t polls_to_pass() const { return effort_.polls_to_pass; }

  struct Counts {
    std::uint64_t proofs = 0;   // analyses that interpreted code
    std::uint64_t repeats = 0;  // proofs that still held
    std::uint64_t continued = 0;  // parkings at the end of other turns, without execution in between
    std::uint64_t refusals = 0;
    std::uint64_t clock_reads = 0;  // interpreted clock reads
    std::uint64_t trapped = 0;  // analyses requested by a trapped jump
  };
  const Counts& counts() const { return counts_; }
  // Reason why the last analysis failed; poll_refusal(): of the last analysis of a poll loop.
  const std::string& refusal() const { return refusal_; }
  const std::string& poll_refusal() const { return poll_refusal_; }

 private:
  spin::CodeMemory& code_memory();
  unsigned effort_of_poke() const;
  static constexpr unsigned kFirstBackoff = 3;     // initial doublings, until a loop was proven
  static constexpr unsigned kPokesForBackoff = 2;  // failed pokes per doubling
  static constexpr unsigned kMostBackoff = 8;      // doublings

  // A search for a turn of many polls: none, for one that later waits can use, or for any.
  enum class Search : std::uint8_t { kNone, kReusable, kAny };
  // The search that is worth its price, as the present wait has cost so much in parkings for few turns.
  Search due_search() const;
  // True if a kept proof, which becomes last_, holds for a thread at a poll's entry.
  bool holds_again(const spin::Registers& at_entry, Search search);
  // True if parking for this number of turns is cheaper than executing them.
  bool is_worth_parking(std::uint64_t turns, std::size_t polls_of_turn) const;
  void add_credit(std::int64_t polls);  // skipped or passed
  void refuse_poll_loop(std::string why);
  void note_own_end(const SeenPoll& seen);
  spin::Limits poll_limits(Search search) const;
  std::optional<std::vector<PolledQueue>> queues_of(const spin::PollLoopProof& proof, const SeenPoll& seen);
  bool changes_in_private(const spin::PollLoopProof& proof) const;
  bool has_left(std::span<const spin::ByteRun> left) const;
  // `passed`: executed polls since the last analysis.
  std::optional<Parked> poll_loop(const std::uint64_t (&registers)[18], const SeenPoll& seen, const KnownCalls& known,
                                  std::int64_t passed);
  // The thread's state if last_ holds; nullopt as in poll_loop().
  std::optional<Parked> parked_by_last(const SeenPoll& seen, const KnownCalls& known, Search search);
  bool writes_registered(const spin::PollLoopProof& proof) const;
  spin::ClockModel clock_model(std::int64_t poll_ps, std::uint64_t gettime, Instant look, const KnownCalls& known) const;

  Process& process_;
  std::span<const spin::MemoryRange> interposed_;
  LoopTraps traps_;
  const bool traps_loops_;
  std::int64_t epoch_ns_;
  std::unique_ptr<AnalysedMemory> code_;
  spin::SpinProver prover_;
  std::shared_ptr<const spin::PollLoopProof> last_;
  spin::KeptProofs kept_;
  std::uint64_t access_epoch_ = 0;  // RegionHeader::access_epoch at the last poll_loop()
  // Poll loops: how many polls pass between analyses, and what an analysis may cost.
  struct PollEffort {
    std::uint32_t polls_to_pass = 0;
    unsigned wants = 0;         // consecutive analyses in which a polled device was unknown
    unsigned failures = 0;      // consecutive failed analyses
    unsigned far_in_vain = 0;   // searches for turns of many polls since a wait lasted for one
    unsigned long_in_vain = 0;  // searches of more than kPollSteps instructions since one of them ended with a proof
    unsigned far_polls = 0;     // fewest polls of a proven turn of many polls; 0: none
    bool may_remake = true;     // spin::Limits::may_remake
    bool may_be_far = false;    // recent refusals suggest a turn of many polls
    unsigned few_turns = 0;     // consecutive refusals because the loop does something else after a few turns
    std::uint32_t polls_to_skip = 0;  // polls to pass until the loop does something else
    unsigned turn_steps = 0;          // instruction limit for a turn of few polls
    unsigned short_polls = 1;         // polls of the last proven turn of few polls, else 1
    std::int64_t credit = 0;          // instructions available for turns of many polls
    bool waits_for_few = false;         // loops are parked for few turns, after which they do something else
    std::int64_t searched_ends = 0;     // own_ends_of_wait at the last search for turns that later waits can use
    std::int64_t own_ends_of_wait = 0;  // consecutive ends of parked turns by themselves, in the present wait
    // Cost of the wait, in instructions, from which on any turn of many polls is searched, or one that later waits can use.
    std::int64_t far_price = 100'000;
    std::int64_t reusable_price = 20'000;
    std::int64_t polls_of_slice = 0;  // moving average, times kSlicesOfAverage
    Instant own_end{};                // time at which the parked turns end by themselves, if soon
    Duration own_end_lasts{};         // time after it until the next request at the latest
    bool own_end_is_far = false;      // they have many polls
    unsigned ends_to_skip = 0, ends_in_vain = 0;  // ends after which poll_on() does nothing; its consecutive failures
    unsigned asks_to_skip = 0;        // requests that poll_loop() refuses without an analysis
  };
  PollEffort effort_;
  bool shows_something_ = false;  // a polled queue has an entry, see queues_of()
  // Handles of device contexts whose queues the program has polled, by address of the ibv_context.
  std::map<std::uint64_t, std::uint32_t> contexts_;
  // A series of clock reads being interpreted, of at most one thread.
  struct FollowedRow {
    const Thread* thread = nullptr;  // nullptr: no series
    std::uint64_t epoch = 0;         // of memory, after the last step
    std::vector<spin::ByteRun> unwritten;
    bool is_stepping = false;
  };
  FollowedRow row_;
  std::unique_ptr<spin::SpinProver> follower_;  // created for the first series
  // Stack pointer of the last series, if its stack is private to the process.
  std::uint64_t private_stack_ = 0;

  spin::Limits limits_within(unsigned steps, unsigned effort = 0) const;
  bool may_write_later(std::uint64_t stack_pointer);
  struct ClockPlace {
    unsigned to_skip = 0, vain = 0;  // reads to skip; consecutive failures
  };
  std::map<std::uint64_t, ClockPlace> clock_places_;  // key: hash of the function and the stack pointer
  std::map<std::uint64_t, unsigned> placed_reads_tried_;  // by address of the loop
  struct Pokes {
    unsigned in_vain = 0;        // since the thread got the token
    unsigned without_proof = 0;  // consecutive, across slices
    bool has_proven_spin = false;
    unsigned spin_effort = 0;  // effort of the last proven spin, see effort_of_poke()
  };
  Pokes pokes_;
  Counts counts_;
  std::string refusal_;
  std::string poll_refusal_;
};

}  // namespace verbatim::supervisor
