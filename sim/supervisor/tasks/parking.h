// Threads that wait by running: a loop around ibv_poll_cq that finds nothing, or a spin on memory with no
// call at all. When the loop is proven to end only by somebody else's act (sim/supervisor/spin), the thread
// is parked: it gets no token until a byte that the loop reads changes, the polled completion queue gets an
// entry, or a signal comes. What the program sees is the same as if every turn of the loop had been executed:
//   a poll loop looks at t, t + c, t + 2c, … (c: the cost of an empty poll), so it goes on at the first of
//   these times at or after the change; a spin takes no virtual time, so it goes on at the time of the change.
//   A turn that polls several queues may end with any of these looks: the polls of the turn before it are
//   made up for when the thread goes on (see Thread::Turn).
// Values may grow from turn to turn, by a constant each (sim/supervisor/spin/growth.h). Who looks at the program's memory
// meanwhile, another thread or an adapter, finds the values of that time there, and the thread those of the turn in which it
// goes on; its registers lie in the frame of the poll that it is in (protocol::kPollFrame). Such a loop may be proven for so
// many turns only: then it goes on by itself.
// A turn may have thousands of looks, at times of their own (spin/far_turn.cc): it is followed by interpreting it once, with the
// effort that polls which were passed over have earned.
// A loop may ask the kernel in vain, or sleep, between its looks, as often as it likes by a few different calls: what they found
// is known (Thread::Nothing), and the files that they asked wake the thread, too. It takes time, as reading clocks does:
// A loop may read clocks between its looks (sim/supervisor/spin/turn_clock.h). Then what a turn does it does at several times,
// and a change comes in the middle of it: the thread goes on with the look before, in the past, up to the time of the change,
// with memory as it was. So it also does before another thread of its process runs, which finds memory as of that time
// (Supervisor::Impl::bring_to_present). What it writes must not be registered, since adapters look at any time, nor shared with
// other processes. Of what a turn computes of clocks, only bounds may be known, if the next one makes it anew: the thread goes
// on with the turn before that one.
// A thread is parked only while no other thread of its host is about to run (they may share memory), but one that is about to
// look at a completion queue itself; when that goes on all the same, what it changes is noticed.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/supervisor/spin/spin_prover.h"
#include "sim/supervisor/tasks/loop_traps.h"
#include "sim/supervisor/tasks/thread.h"

namespace verbatim::supervisor {

class AnalysedMemory;
class ProcessMemory;

// Why and how one thread is parked.
struct Parked {
  enum class Kind : std::uint8_t { kPoll, kSpin };
  Kind kind = Kind::kPoll;
  Instant since{};          // kPoll: the time of the last look
  // kPoll: what a turn takes, and when it looks, from its beginning, which is a look.
  Duration turn{};
  std::vector<Duration> looks{Duration::zero()};
  // kPoll: what is looked at, each once.
  std::vector<PolledQueue> queues;
  // kPoll: what calls of the kernel in the turn ask for in vain; it wakes the thread, too.
  std::vector<VirtualFilePtr> files;
  std::uint32_t known_calls = 0;  // the places of those calls, see known_places()
  // Bytes that wake the thread when they are changed, with the values that they are to have now.
  std::vector<spin::ByteRun> watched;
  // kPoll: what is known of a turn.
  std::shared_ptr<const spin::PollLoopProof> proof;
  // The same for values that grow; nullptr: none does.
  std::shared_ptr<const spin::PollLoopProof> growing;
  std::vector<spin::ByteRun> as_parked;  // `watched` before anything else was shown, if it was
  std::int64_t most_looks = 0;  // it goes on with this look at the latest; 0: with none
  bool is_shown = false;        // memory is being changed on its behalf
  std::uint64_t epoch = 0;      // of memory, when the thread was parked
  // kSpin: an instruction of the loop, and what it waits for as far as one can tell: an address that it reads outside of its own
  // frames.
  std::uint64_t code = 0, awaited = 0;
  std::vector<spin::MemoryRange> written;  // what has been written since, where all of it is known

  bool reads_clocks() const { return growing != nullptr && growing->period_ps != 0; }
  // Looks are counted from the one at `since`: when such a look is, and the first that is not before `when`, but that one.
  Instant time_of(std::int64_t look) const;
  std::int64_t look_due(Instant when) const;
  std::int64_t turn_of(std::int64_t look) const { return look / static_cast<std::int64_t>(looks.size()); }
  // The look with which the turn of that look begins.
  std::int64_t beginning(std::int64_t look) const { return turn_of(look) * static_cast<std::int64_t>(looks.size()); }

  // The thread is about to be parked: memory is as turns leave it.
  void start(ProcessMemory& memory) const;
  // Gives memory the values that it has while that look is due.
  void show(ProcessMemory& memory, std::int64_t look);
  // Gives the registers in the poll's frame, and those told at its entry, the values of the turn of that look.
  void show_registers(Process& process, protocol::ThreadSlot& slot, std::int64_t look) const;
  // The bytes of `run` as they are when the turn of that look begins.
  spin::ByteRun at_turn(spin::ByteRun run, std::int64_t look) const;
  // Whether the turn of that look, from its first poll to this one, reads or writes one of the bytes.
  bool touches_before(std::int64_t look, const spin::MemoryRange& bytes) const;
  // The process's memory has been written.
  void note_write(std::uint64_t address, std::uint64_t length);
  // Whether it is known that what the turn of that look reads and writes until then is as it was when the thread was parked.
  bool is_as_parked_before(std::int64_t look, std::uint64_t epoch_now) const;
  // Whether a byte of `runs` may be changed by turns that are not executed.
  bool changes(std::span<const spin::ByteRun> runs) const;

  bool polls(std::uint32_t context, std::uint32_t cq_number) const;
  // Whether what it watches of memory that other processes may write has other values now.
  bool shared_has_changed(const ProcessMemory& memory) const;

 private:
  void show(ProcessMemory& memory, std::vector<spin::ByteRun> then);

  mutable std::optional<std::vector<std::size_t>> shared_;  // which of `watched`; not known before somebody asks
};

// The caller's registers that a call keeps become these where POLL_ENTRY has stored them; the stack pointer is as it was.
void show_kept_registers(Process& process, protocol::ThreadSlot& slot, const spin::Registers& registers);

// Memory of the process as it is now, whatever turns of its parked threads have not been executed.
void show_growth(Process& process);

// The prover of one process, and what it has proven before.
class LoopAnalyst {
 public:
  // `epoch_ns`: what CLOCK_REALTIME shows at virtual time 0. `traps_loops`: SupervisorOptions::traps_loops.
  // `interposed`: see spin::Limits; they outlive *this.
  LoopAnalyst(Process& process, std::int64_t epoch_ns, bool traps_loops, std::span<const spin::MemoryRange> interposed);
  ~LoopAnalyst();

  // The thread is at the entry of a poll that finds nothing, with the registers in its slot.
  std::optional<Parked> poll_loop(const PendingCall& poll, const std::uint64_t (&registers)[18], const SeenPoll& seen,
                                  const Thread::KnownCalls& known);
  // The thread was poked, or trapped at the jump by which its loop goes back (0: it was poked). If its loop is proven, its saved
  // registers and memory are set to the canonical state.
  std::optional<Parked> spin(std::uint64_t context_address, std::uint64_t fs_base, std::uint64_t jump);
  // The thread reads a clock now, at the entry of whose function it is, in a row of reads that began at `row_began`: what it does
  // until the next one, if that can be told.
  // What it writes meanwhile is written at once where others of the process may see it, else when anybody looks at its memory.
  std::optional<spin::ClockStep> follow_clock(const Thread& thread, const spin::Registers& at_entry, Instant now,
                                              Instant row_began);
  void write_followed();
  // Whether the thread, whose poll is about to return completions that have failed, uses what is undefined in them
  // (Request::kFailedPoll, with its answer).
  std::int64_t use_of_failed(const protocol::ThreadSlot& slot);
  // The thread, which spins with its registers saved there, is about to go on as an adapter has placed those bytes: the address
  // of an instruction that reads others of them than its loop does, before any call out of its file; 0: none is seen.
  std::uint64_t read_beside(std::uint64_t context_address, std::uint64_t fs_base, const Parked& parked,
                            const spin::MemoryRange& placed);
  // Whether that is worth a try for the first read that is handed over at a place: not where it was in vain lately.
  bool may_follow_clock(std::uint64_t place);
  void note_followed(std::uint64_t place, bool in_vain);
  // So many polls have passed, or have not been executed as the thread was parked: proofs are worth as much effort.
  void add_credit(std::int64_t polls);
  // A thread has got the token: what is poked from now on is another computation.
  void begin_slice() { pokes_in_vain_ = 0; }
  // How many times the usual real time a thread may compute before it is poked: 1, and ever more, up to 256, while pokes find
  // nothing but computations. An analysis costs as much as milliseconds of them.
  unsigned patience() const {
    return 1U << std::min((has_proven_spin_ ? 0 : kFirstPatience) + pokes_without_proof_ / kPokesForPatience, kMostPatience);
  }
  // Of a process in which nothing was poked yet. Most never spin, and among thousands of processes each is so cold when it gets
  // its turn that a few calls take it as long as the usual period.
  static unsigned first_patience() { return 1U << kFirstPatience; }

  // After a poll_loop() that gave nothing: how many polls are better passed by before the next one is looked at. None when
  // the loop would be parked if each poll of a turn had been seen; ever more when it is not proven time and again.
  std::uint32_t polls_to_pass() const { return polls_to_pass_; }

  struct Counts {
    std::uint64_t proofs = 0;   // analyses that interpreted code
    std::uint64_t repeats = 0;  // proofs that still held
    std::uint64_t refusals = 0;
    std::uint64_t clock_reads = 0;  // that were followed
    std::uint64_t trapped = 0;  // analyses that the loop's own jump has asked for
  };
  const Counts& counts() const { return counts_; }
  // Why the last analysis gave no proof; poll_refusal(): the last one of a poll loop, whatever pokes found since.
  const std::string& refusal() const { return refusal_; }
  const std::string& poll_refusal() const { return poll_refusal_; }

 private:
  spin::CodeMemory& code_memory();
  unsigned effort_of_poke() const;
  static constexpr unsigned kFirstPatience = 3;     // doublings, until a loop was proven
  static constexpr unsigned kPokesForPatience = 2;  // in vain, for each doubling
  static constexpr unsigned kMostPatience = 8;      // doublings

  void refuse_poll_loop(std::string why);
  void note_own_end(const SeenPoll& seen);
  spin::Limits poll_limits() const;
  std::optional<std::vector<PolledQueue>> queues_of(const spin::PollLoopProof& proof, const SeenPoll& seen);
  bool grows_in_private(const spin::PollLoopProof& proof) const;
  bool writes_registered(const spin::PollLoopProof& proof) const;
  spin::ClockModel clock_model(std::int64_t poll_ps, std::uint64_t gettime, Instant look, const Thread::KnownCalls& known) const;

  Process& process_;
  std::span<const spin::MemoryRange> interposed_;
  LoopTraps traps_;
  const bool traps_loops_;
  std::int64_t epoch_ns_;
  std::unique_ptr<AnalysedMemory> code_;
  spin::SpinProver prover_;
  std::shared_ptr<const spin::PollLoopProof> last_;
  std::uint64_t access_epoch_ = 0;  // of the process, at the last question
  std::uint32_t polls_to_pass_ = 0;
  unsigned wants_ = 0;     // in a row, since a loop was parked
  unsigned failures_ = 0;  // in a row
  unsigned far_polls_ = 0;  // of the last proof, if it was of a turn of many polls
  bool has_far_times_ = true;  // spin::Limits::far_times
  bool may_be_far_ = false;  // the last refusals speak for one
  unsigned few_turns_ = 0;  // refusals in a row because something else comes after a few turns
  std::uint32_t polls_to_skip_ = 0;  // until that has come
  unsigned turn_steps_;  // instructions with which a turn of few polls is looked for
  unsigned short_polls_ = 1;  // of the last proof, if it was of such a turn
  std::int64_t credit_;  // instructions that may be spent on turns of many polls
  std::int64_t polls_of_slice_ = 0;  // on the average, times kSlicesOfAverage
  Instant own_end_{};             // when the turns that the thread was parked with end by themselves, if soon
  unsigned own_ends_ = 0;         // in a row that were waited for
  unsigned own_ends_before_ = 32;  // a longer turn is looked for
  unsigned tries_of_longer_ = 0;  // that are left
  bool shows_something_ = false;  // see queues_of()
  // The handles of the device contexts whose queues the program has polled, by the address of its ibv_context.
  std::map<std::uint64_t, std::uint32_t> contexts_;
  // A row of clock reads that is followed, of one thread at a time.
  struct FollowedRow {
    const Thread* thread = nullptr;  // nullptr: none is
    std::uint64_t epoch = 0;         // of memory, at the last step
    std::vector<spin::ByteRun> unwritten;
    bool is_stepping = false;
  };
  FollowedRow row_;
  std::unique_ptr<spin::SpinProver> follower_;  // made for the first row
  std::uint64_t private_stack_ = 0;  // stack pointer of the last row, if what lies above it is the process's own

  spin::Limits limits_within(unsigned steps, unsigned effort = 0) const;
  bool may_write_later(std::uint64_t stack_pointer);
  struct ClockPlace {
    unsigned to_skip = 0, vain = 0;  // reads; tries in a row
  };
  std::map<std::uint64_t, ClockPlace> clock_places_;  // by a number made of the function and the stack pointer
  unsigned asks_to_skip_ = 0;  // after them
  std::map<std::uint64_t, unsigned> placed_reads_tried_;  // by the place of the loop
  unsigned pokes_in_vain_ = 0;  // since the thread got the token
  unsigned pokes_without_proof_ = 0;  // in a row, whatever slices they were in
  bool has_proven_spin_ = false;
  unsigned spin_effort_ = 0;    // that the last spin which was proven has needed, see spin()
  Counts counts_;
  std::string refusal_;
  std::string poll_refusal_;
};

}  // namespace verbatim::supervisor
