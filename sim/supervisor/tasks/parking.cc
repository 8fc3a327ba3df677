#include "sim/supervisor/tasks/parking.h"

#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>

#include "sim/hca/inspector.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/tasks/analysed_memory.h"
#include "sim/supervisor/tasks/mapped_twice.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/tasks/vector_context.h"
#include "verbs_shim/protocol/clocks.h"
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/protocol/repeated_calls.h"

namespace verbatim::supervisor {

namespace {

// The shim's images and the system-call gate. Their code takes virtual time or leaves the thread.
constexpr spin::MemoryRange kLibrary[] = {
    {protocol::kRuntimeImage, protocol::kRegionAddress - protocol::kRuntimeImage},
    {protocol::kPatchAreas[0], protocol::kPatchAreaSize},
    {protocol::kPatchAreas[1], protocol::kPatchAreaSize},
    {protocol::kPatchAreas[2], protocol::kPatchAreaSize},
    {protocol::kPatchAreas[3], protocol::kPatchAreaSize},
    {protocol::kPatchAreas[4], protocol::kPatchAreaSize}};
// ibv_poll_cq(cq, count, completions). ibv_start_poll(cq, attributes) has a 32-bit comp_mask.
constexpr spin::PollEntry kPollCq{.kind = 1};
// sched_yield(), in loops where nothing else takes time.
constexpr spin::PollEntry kYield{.kind = 3, .argument_sizes = {0, 0, 0}};
constexpr spin::PollEntry kStartPoll{.kind = 2, .empty_result = ENOENT, .argument_sizes = {8, 8, 0}, .reads_zeros = 4};
constexpr unsigned kMostPassedShift = 14;  // kPollsAlone << 14 polls take milliseconds of real time
constexpr unsigned kFailuresLookedInto = 8, kMostSkippedShift = 6;
// Polls to pass after a request that is refused without an analysis.
constexpr std::uint32_t kPassedWithoutAnalysis = protocol::kPollsAlone << 5;

// Instructions of a turn with polls. The first turn after a completion is often longer.
constexpr unsigned kPollSteps = 1'000;
// Language interpreters take thousands of instructions per turn. The limit rises after failures.
constexpr unsigned kMostPollSteps = 32'000;
constexpr unsigned kShortTurn = spin::KeptProofs::kFewPolls;
// Limits of turns of many polls. The instruction limit grows with the number of failures, up to some
// milliseconds (kFarSteps). The initial credit may be lost without a proof. Each passed poll and each slice
// of polls adds the number of instructions that takes about as long as executing it.
constexpr unsigned kFarPolls = 20'000, kFarSteps = 600'000, kFewestFarSteps = 8'192;
constexpr std::int64_t kFirstCredit = 1'500'000, kMostCredit = 100'000'000;
// A slice costs two context switches, some tens of microseconds.
constexpr std::int64_t kStepsForPoll = 8, kStepsForSlice = 400, kSlicesOfAverage = 8;
// Proof of few turns, parking, and the slice after them.
constexpr std::int64_t kStepsForParking = 2'000;
constexpr unsigned kSkippedWithoutCredit = 8;
// Waits that are expected to use a proof for later waits, the highest price of a search for one, and the lowest of a
// search for any.
constexpr std::int64_t kUsesOfReusable = 8, kMostReusablePrice = 100'000, kLeastFarPrice = 100'000;
// Doublings of the price of a search for such a turn as long as no wait lasts for a whole turn; of long searches that end
// without a proof, each kLongBeforeDearer add one.
constexpr unsigned kMostFarPrice = 6, kLongBeforeDearer = 4;
constexpr unsigned kFailuresBeforeFar = 2;
// A deviation after a few turns is part of a turn of many polls only if it occurs repeatedly.
constexpr unsigned kFewTurnsBeforeFar = 5;
// A poll that is a slice of its own costs as much as kPollsForSlice polls that pass.
constexpr std::int64_t kPollsOfAnEnd = 2 * protocol::kPollsAlone, kLookedInto = 16'384;
constexpr std::int64_t kPollsForSlice = 200;
constexpr std::uint64_t kManyTurns = 1 << 20;
// Three turns that read some hundred bytes. A long computation is poked repeatedly, with growing intervals.
constexpr unsigned kSpinSteps = 20'000;
// A longer turn may for example scan all of 65,536 notifications. Each level of effort has four times the
// instructions of the one before, up to 20 million (most of a second). A level is used once, after this many
// failed pokes, which arrive every 20 ms in the end; the highest level is repeated every
// kPokesBetweenGreatest pokes.
constexpr unsigned kPokesBeforeEffort[] = {0, 10, 12, 16, 30, 200};
constexpr unsigned kPokesBetweenGreatest = 600;
constexpr unsigned kMostEffort = std::size(kPokesBeforeEffort) - 1;
constexpr unsigned kEffortOfPages = 1;  // a page that is read costs the prover about 20 KiB

}  // namespace

spin::Limits LoopAnalyst::limits_within(unsigned steps, unsigned effort) const {
  spin::Limits limits;
  limits.steps = steps << 2 * effort;
  limits.pages <<= 2 * std::min(effort, kEffortOfPages);
  limits.polls = kShortTurn;
  limits.libraries = kLibrary;
  limits.interposed = interposed_;
  return limits;
}

LoopAnalyst::LoopAnalyst(Process& process, std::int64_t epoch_ns, bool traps_loops,
                         std::span<const spin::MemoryRange> interposed, KnownLoops& loops)
    : process_(process),
      interposed_(interposed),
      traps_(process, loops),
      traps_loops_(traps_loops),
      epoch_ns_(epoch_ns),
      code_(std::make_unique<AnalysedMemory>(process.memory(), *process.patches())),
      effort_{.turn_steps = kPollSteps, .credit = kFirstCredit} {}
LoopAnalyst::~LoopAnalyst() = default;
spin::CodeMemory& LoopAnalyst::code_memory() { return *code_; }

namespace {

// Adds the files of `call` that are not in `files` yet.
void add_files_of(const EmptyCall* call, std::vector<VirtualFilePtr>& files) {
  if (call == nullptr) return;
  for (const std::weak_ptr<VirtualFile>& asked : call->files) {
    VirtualFilePtr file = asked.lock();
    if (std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
  }
}

spin::Registers registers_of(const std::uint64_t (&saved)[18]) {
  spin::Registers registers;
  std::copy_n(saved, 16, registers.gpr.begin());
  registers.rip = saved[16];
  registers.fs_base = saved[17];
  return registers;
}

}  // namespace

std::optional<Parked> LoopAnalyst::poll_on(const std::uint64_t (&saved)[18], const SeenPoll& seen, const KnownCalls& known) {
  // The turns after few turns are different ones. They are found by execution.
  if (effort_.own_end == Instant{} || !effort_.own_end_is_far) return std::nullopt;
  if (effort_.ends_to_skip != 0) {
    --effort_.ends_to_skip;
    return std::nullopt;
  }
  auto parked = poll_loop(saved, seen, known, 0);
  if (parked) ++counts_.continued;
  effort_.ends_in_vain = parked ? 0 : std::min(effort_.ends_in_vain + 1, kMostSkippedShift);
  effort_.ends_to_skip = parked ? 0 : 1U << effort_.ends_in_vain;
  return parked;
}

std::optional<Parked> LoopAnalyst::poll_loop(const std::uint64_t (&saved)[18], const SeenPoll& seen,
                                             const KnownCalls& known) {
  // The shim may have passed fewer polls than requested.
  const std::int64_t passed = std::min(seen.polls_before, effort_.polls_to_pass) + 1;
  effort_.polls_of_slice += (kSlicesOfAverage * passed - effort_.polls_of_slice) / kSlicesOfAverage;
  return poll_loop(saved, seen, known, passed);
}

std::optional<Parked> LoopAnalyst::poll_loop(const std::uint64_t (&saved)[18], const SeenPoll& seen, const KnownCalls& known,
                                             std::int64_t passed) {
  add_credit(passed);
  effort_.polls_to_pass = protocol::kPollsAlone;
  const spin::Registers registers = registers_of(saved);
  // Instructions may trap again that did not trap when the proof was made.
  const std::uint64_t access_epoch = process_.region().header().access_epoch;
  if (std::exchange(access_epoch_, access_epoch) != access_epoch) forget_proofs();
  const Search search = due_search();
  const bool is_known = holds_again(registers, search);
  if (!is_known && effort_.polls_to_skip > passed) {
    effort_.polls_to_skip -= static_cast<std::uint32_t>(passed);
    effort_.polls_to_pass += effort_.polls_to_skip;
    return std::nullopt;
  }
  effort_.polls_to_skip = 0;
  // A program that polls between computations makes requests often, because each of its other requests ends
  // the passing of polls. After repeated failures most of these requests are refused without an analysis.
  if (!is_known && effort_.asks_to_skip > 0) {
    --effort_.asks_to_skip;
    effort_.polls_to_pass = kPassedWithoutAnalysis;
    return std::nullopt;
  }
  note_own_end(seen);
  if (is_known) {
    ++counts_.repeats;
  } else {
    const std::uint64_t entry = registers.rip;
    spin::ClockModel clock = clock_model(seen.cost.count(), seen.clock_gettime, seen.at, known);
    if (seen.yields) clock.yield = 0;
    const spin::PollEntry kind = seen.yields ? kYield : seen.starts ? kStartPoll : kPollCq;
    const spin::Limits within = poll_limits(search);
    auto proof = prover_.prove_poll_loop(
        registers, [&](std::uint64_t rip) { return rip == entry ? std::optional(kind) : std::nullopt; },
        *code_, within, &clock);
    ++counts_.proofs;
    if (search == Search::kNone) {  // the others are paid with the cost of the present wait
      const std::int64_t price = within.steps > kPollSteps ? proof.steps : proof.far_steps;
      const bool is_long = proof.steps > kPollSteps;
      const unsigned long_in_vain = is_long ? effort_.long_in_vain / kLongBeforeDearer : 0;
      effort_.credit -= price << std::min(effort_.far_in_vain + long_in_vain, kMostFarPrice);
      if (is_long) effort_.long_in_vain = proof.proven ? 0 : effort_.long_in_vain + 1;
      if (proof.far_steps != 0) ++effort_.far_in_vain;
    }
    const bool is_private = !proof.proven || changes_in_private(proof);
    // Another thread may change objects on which the kernel's result depends, such as the descriptor table.
    const bool may_change = known_places(known) != 0 && process_.threads().size() > 1;
    const bool is_alone = proof.period_ps == 0 || (!may_change && !writes_registered(proof));
    const bool is_refused = !proof.proven || !is_private || !is_alone;
    auto few = is_refused ? prover_.take_short_proof() : std::nullopt;
    if (few && changes_in_private(*few)) {
      last_ = std::make_shared<const spin::PollLoopProof>(std::move(*few));
      kept_.keep(last_);
    } else {
      last_.reset();
    }
    if (search == Search::kReusable) {
      // Later waits share the price of a proof that they can use.
      const spin::PollLoopProof* const found = is_refused ? last_.get() : &proof;
      const bool is_found = found != nullptr && found->polls.size() > kShortTurn && !found->groups.empty();
      const std::int64_t doubled = std::max<std::int64_t>(2 * effort_.reusable_price, proof.far_steps);
      effort_.reusable_price = is_found ? std::max<std::int64_t>(proof.far_steps / kUsesOfReusable, kStepsForParking)
                                        : std::min(doubled, kMostReusablePrice);
      effort_.searched_ends = effort_.own_ends_of_wait;
    } else if (search == Search::kAny) {
      effort_.far_price = is_refused ? 2 * effort_.far_price : std::max<std::int64_t>(proof.far_steps, kLeastFarPrice);
    }
    // After turns of many polls the next one is more likely than the few turns.
    const bool is_for_few =
        last_ != nullptr && (within.likely_polls == 0 || !last_->groups.empty()) &&
        is_worth_parking(last_->turns, last_->polls.size());
    if (is_refused) {
      effort_.waits_for_few = is_for_few;
      effort_.few_turns = proof.refusal.reason == spin::Reason::kFewTurns ? effort_.few_turns + 1 : 0;
      effort_.may_be_far = effort_.few_turns > kFewTurnsBeforeFar;
    }
    if (is_refused && !is_for_few) {
      ++counts_.refusals;
      // Values that follow rules need no recomputation and may be in shared memory.
      if (proof.proven && !is_private && proof.remakes) effort_.may_remake = false;
      refuse_poll_loop(!proof.proven ? proof.refusal.describe()
                       : !is_private ? "changes memory that is shared"
                       : may_change  ? "enters the kernel in a process with several threads"
                                     : "reads a clock and writes to registered memory");
      last_.reset();
      // At the first comparison of a clock that is not settled, the loop is about to take the other branch.
      const bool is_soon = proof.refusal.reason == spin::Reason::kFewTurns ||
                           (effort_.failures == 0 && proof.refusal.reason == spin::Reason::kUnsettled &&
                            proof.turns != spin::kEveryTurn);
      if (effort_.few_turns == 0 && effort_.failures > kFailuresBeforeFar) effort_.short_polls = 1;
      if (proof.ran_out && effort_.failures >= kFailuresBeforeFar)
        effort_.turn_steps = std::min(2 * effort_.turn_steps, kMostPollSteps);
      if (effort_.few_turns == 0 || effort_.may_be_far) effort_.failures = std::min(effort_.failures + 1, kMostPassedShift + 2);
      if (effort_.failures > 2) effort_.polls_to_pass = protocol::kPollsAlone << (effort_.failures - 2);
      if (effort_.failures > kFailuresLookedInto)
        effort_.asks_to_skip = 1u << std::min(effort_.failures - kFailuresLookedInto, kMostSkippedShift);
      // The turn has many polls, and there is no credit for it.
      else if (effort_.may_be_far && effort_.credit <= 0) effort_.asks_to_skip = kSkippedWithoutCredit;
      // Many regular turns may follow the deviation. If turns of many polls were proven before, this one
      // differs, and the next may not.
      if (is_soon) {
        effort_.polls_to_skip = std::max(static_cast<std::uint32_t>(proof.turns), within.likely_polls);
        effort_.polls_to_pass += effort_.polls_to_skip;
      }
      return std::nullopt;
    }
    if (!is_refused) {
      effort_.waits_for_few |= proof.turns != spin::kEveryTurn && !proof.groups.empty();
      last_ = std::make_shared<const spin::PollLoopProof>(std::move(proof));
      kept_.keep(last_);
    }
    // The shortest repetition is the cheapest to prove.
    const auto polls = static_cast<unsigned>(last_->polls.size());
    effort_.short_polls = polls > kShortTurn ? 1 : polls;
    const bool is_far = polls > kShortTurn && last_->groups.empty();
    if (is_far) effort_.far_polls = effort_.far_polls == 0 ? polls : std::min(effort_.far_polls, polls);
    // The turns of the proof are followed by a different one.
    if (is_far && last_->turns != spin::kEveryTurn) effort_.polls_to_skip = polls;
  }
  return parked_by_last(seen, known, search);
}

std::optional<Parked> LoopAnalyst::parked_by_last(const SeenPoll& seen, const KnownCalls& known, Search search) {
  // The turns of a proof for few turns may be too few the next time.
  const std::uint64_t parked_polls = std::min(last_->turns, kManyTurns) * last_->polls.size();
  if (last_->turns == spin::kEveryTurn || parked_polls >= poll_limits(search).fewest_polls)
    effort_.failures = effort_.few_turns = 0;
  auto queues = queues_of(*last_, seen);
  if (!queues && shows_something_) return std::nullopt;
  if (!queues) {
    // One poll of each device must be observed. The number of attempts is limited in case it never occurs.
    effort_.polls_to_pass = 0;
    if (++effort_.wants > 2 * kShortTurn) {
      effort_.wants = 0;
      effort_.polls_to_pass = protocol::kPollsAlone << 8;
      refuse_poll_loop("does not behave as its code says");
    }
    return std::nullopt;
  }
  effort_.wants = 0;
  const std::size_t polls = last_->polls.size();
  std::vector<spin::ByteRun> left = last_->writes;
  if (last_->grows() && last_->period_ps == 0) spin::show_turn(*last_, 0, 0, left);
  const bool may_differ = polls > 1 && last_->period_ps == 0;
  if (may_differ && !has_left(left)) {
    const std::size_t turns = (protocol::kPollsAlone + polls - 1) / polls;
    effort_.polls_to_pass = static_cast<std::uint32_t>(turns * polls - 1);  // the next request is at the same poll of a turn
    return std::nullopt;
  }
  Parked parked;
  parked.kind = Parked::Kind::kPoll;
  parked.since = seen.at;
  const bool takes_time = last_->period_ps != 0;
  parked.turn = takes_time ? Duration(last_->period_ps) : seen.cost * static_cast<std::int64_t>(polls);
  parked.looks.reserve(polls);
  for (std::size_t i = 1; i < polls; ++i)
    parked.looks.push_back(takes_time ? Duration(last_->polls[i].look_ps) : seen.cost * static_cast<std::int64_t>(i));
  parked.proof = last_;
  parked.queues = std::move(*queues);
  if (takes_time) {
    parked.known_calls = known_places(known);
    for (const EmptyCall* const call : known) add_files_of(call, parked.files);
  }
  if (last_->grows() || takes_time || !last_->varying.empty()) {
    parked.growing = last_;
    // Beyond the end of virtual time no limit is needed.
    if (last_->turns < static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2 / to_ps(parked.turn)))
      parked.most_looks = static_cast<std::int64_t>(last_->turns * polls);
    if (parked.most_looks != 0 && (parked.most_looks < kLookedInto || polls > kShortTurn)) {
      effort_.own_end = seen.at + last_->turns * parked.turn;
      effort_.own_end_is_far = polls > kShortTurn;
      // The turn after those of many polls is passed.
      effort_.own_end_lasts = kPollsOfAnEnd * seen.cost + (effort_.own_end_is_far ? 2 * parked.turn : Duration::zero());
    }
  }
  if (effort_.own_end == Instant{}) effort_.own_ends_of_wait = effort_.searched_ends = 0;
  parked.watched = last_->reads;
  parked.watch_code(process_.memory(), last_->code);
  if (parked.reads_clocks()) {
    // The previous turn may differ from the turns of the proof; its bytes are taken from memory.
    const PresentBytes present(process_.memory(), last_->writes);
    for (std::size_t i = 0; i < last_->writes.size(); ++i) {
      parked.watched.push_back(last_->writes[i]);
      std::ranges::copy(present.of(i), parked.watched.back().bytes.begin());
    }
    return parked;
  }
  std::ranges::move(left, std::back_inserter(parked.watched));
  if (may_differ) parked.left_at = process_.memory().epoch();
  // Whole turns leave these bytes in memory, and the next turn begins with them. For growing values see
  // Parked::start.
  if (parked.growing == nullptr) process_.memory().write_changed(last_->writes);
  return parked;
}

// Counts consecutive ends of the parked turns at the predicted time: these turns are part of a longer one.
void LoopAnalyst::note_own_end(const SeenPoll& seen) {
  if (effort_.own_end == Instant{}) return;
  const bool has_come = seen.at >= effort_.own_end && seen.at <= effort_.own_end + effort_.own_end_lasts;
  effort_.own_ends_of_wait = has_come ? effort_.own_ends_of_wait + 1 : 0;
  if (!has_come) effort_.searched_ends = 0;
  effort_.own_end = {};
}

// A proof also holds for the later turns of its loop: a counter of one wait begins where that of an earlier wait has passed.
bool LoopAnalyst::holds_again(const spin::Registers& at_entry, Search search) {
  const auto is_wanted = [&](const spin::PollLoopProof& proof, std::uint64_t left) {
    if (left == spin::kEveryTurn) return true;
    const std::size_t polls = proof.polls.size();
    if (search == Search::kAny || (search == Search::kReusable && polls <= kShortTurn)) return false;
    return is_worth_parking(left, polls);
  };
  // memory may have been mapped anew
  const auto found = kept_.find(at_entry, *code_, is_wanted, [&](const spin::PollLoopProof& proof) {
    return changes_in_private(proof);
  });
  if (!found) return false;
  effort_.waits_for_few |= found->turn.left != spin::kEveryTurn;
  last_ = found->turn.is_first() ? found->proof
                                 : std::make_shared<const spin::PollLoopProof>(spin::from_turn(*found->proof, found->turn));
  return true;
}

LoopAnalyst::Search LoopAnalyst::due_search() const {
  if (!effort_.waits_for_few) return Search::kNone;
  if (effort_.own_ends_of_wait * kStepsForParking >= effort_.far_price) return Search::kAny;
  // The end of turns of many polls is a deviation, and the turn that contains it is not one of them.
  const std::int64_t spent = (effort_.own_ends_of_wait - effort_.searched_ends) * kStepsForParking;
  return spent >= effort_.reusable_price && !effort_.own_end_is_far ? Search::kReusable : Search::kNone;
}

// Parking and the end of the parked turns cost about as much as two slices of polls.
bool LoopAnalyst::is_worth_parking(std::uint64_t turns, std::size_t polls_of_turn) const {
  const std::uint64_t polls = std::min<std::uint64_t>(turns, kManyTurns) * polls_of_turn;
  const auto polls_of_slice = static_cast<std::uint64_t>(std::max<std::int64_t>(effort_.polls_of_slice / kSlicesOfAverage, 1));
  const auto slice = static_cast<std::uint64_t>(kPollsForSlice);
  return polls * (polls_of_slice + slice) > 2 * slice * polls_of_slice;
}

void LoopAnalyst::forget_proofs() {
  code_->forget_pages();
  last_.reset();
  kept_.forget();
}

// The limits grow with the number of failures.
spin::Limits LoopAnalyst::poll_limits(Search search) const {
  spin::Limits within = limits_within(effort_.credit > 0 ? effort_.turn_steps : kPollSteps);
  within.shortest_turn = effort_.short_polls;
  within.may_remake = effort_.may_remake;
  const std::int64_t polls_of_slice = std::max<std::int64_t>(effort_.polls_of_slice / kSlicesOfAverage, 1);
  if (search != Search::kAny) within.fewest_polls /= static_cast<unsigned>(1 + kPollsForSlice / polls_of_slice);
  if (search != Search::kNone) {
    within.ends_with_shortest = search == Search::kReusable;
    within.likely_polls = search == Search::kAny ? effort_.far_polls : 0;
    within.far_polls = kFarPolls;
    within.far_steps = kFarSteps;
    return within;
  }
  if (effort_.waits_for_few) return within;
  const bool is_likely = effort_.far_polls != 0 || effort_.may_be_far;
  if (effort_.credit <= 0 || (!is_likely && (effort_.failures <= kFailuresBeforeFar || effort_.failures % 2 == 0))) return within;
  within.likely_polls = effort_.far_polls;
  if (effort_.far_polls == 0 || effort_.failures > kFailuresBeforeFar) within.far_polls = kFarPolls;
  within.far_steps = is_likely ? kFarSteps : kFewestFarSteps << std::min(effort_.failures - kFailuresBeforeFar, 6U);
  return within;
}

void LoopAnalyst::note_skipped(const Parked& parked, std::int64_t polls) {
  add_credit(polls);
  if (parked.looks.size() > kShortTurn && polls != 0) effort_.far_in_vain = 0;
}

void LoopAnalyst::add_credit(std::int64_t polls) {
  const std::int64_t slices = kSlicesOfAverage * polls / std::max<std::int64_t>(effort_.polls_of_slice, kSlicesOfAverage);
  effort_.credit = std::min(effort_.credit + kStepsForPoll * polls + kStepsForSlice * slices, kMostCredit);
}

namespace {

// The common head of every provider's ibv_cq (infiniband/verbs.h).
struct QueueOfProgram {
  std::uint64_t context, channel, cq_context;
  std::uint32_t handle;
};

}  // namespace

// The polled queues, each once. nullopt: the device of one is still unknown, or one has an entry
// (shows_something_). The poll that was observed identifies the device of its queue.
std::optional<std::vector<PolledQueue>> LoopAnalyst::queues_of(const spin::PollLoopProof& proof, const SeenPoll& seen) {
  shows_something_ = false;
  if (seen.yields) return std::vector<PolledQueue>{};
  std::vector<PolledQueue> queues{seen.queue};
  std::vector<std::uint64_t> handles{seen.handle};
  for (const spin::PollPoint& poll : proof.polls) {
    const std::uint64_t handle = poll.registers.gpr[spin::kRdi];
    if (std::ranges::find(handles, handle) == handles.end()) handles.push_back(handle);
  }
  if (handles.size() == 1) return queues;
  std::vector<spin::MemoryRange> places;
  for (const std::uint64_t handle : handles) places.push_back({handle, sizeof(QueueOfProgram)});
  std::vector<QueueOfProgram> polled(handles.size());
  if (!process_.memory().read_ranges(places, reinterpret_cast<std::uint8_t*>(polled.data()))) return std::nullopt;
  contexts_[polled.front().context] = seen.queue.context;
  for (const QueueOfProgram& queue : std::span(polled).subspan(1)) {
    const auto context = contexts_.find(queue.context);
    if (context == contexts_.end()) return std::nullopt;
    DeviceContext* const device = process_.devices().find_own(context->second);
    if (device == nullptr) return std::nullopt;
    const auto empty = device->hca().inspector().empty_completion_queue(device->handle(), queue.handle);
    if (!empty) {
      shows_something_ = true;
      return std::nullopt;
    }
    queues.push_back({context->second, *empty});
  }
  return queues;
}

void LoopAnalyst::refuse_poll_loop(std::string why) {
  poll_refusal_ = std::move(why);
  refusal_ = poll_refusal_;
}

spin::ClockModel LoopAnalyst::clock_model(std::int64_t poll_ps, std::uint64_t gettime, Instant look,
                                          const KnownCalls& known) const {
  const HostSpec& host = process_.host();
  spin::ClockModel model;
  model.look_ps = to_ps(look);
  model.poll_ps = poll_ps;
  model.gettime = gettime;
  model.time = process_.region().header().time_function;
  model.yield = process_.region().header().yield_function;
  model.timeofday = process_.region().header().timeofday_function;
  model.yield_ps = host.costs.system_call_ps;
  model.gettime_ps = host.costs.clock_read_ps;
  model.counter_ps = host.costs.timestamp_counter_ps;
  model.counter_hz = host.timestamp_counter_hz;
  for (const EmptyCall* const empty : known) {
    if (empty == nullptr) continue;
    const std::uint32_t number = empty->call.number;
    spin::KnownCall& call = model.calls.emplace_back();
    call.number = number;
    call.arguments = protocol::system_call(number).arguments;
    std::copy_n(empty->call.arguments, call.passed.size(), call.passed.begin());
    call.address = protocol::memory_of_call(number, empty->call.arguments).address;
    call.bytes = empty->memory;
    call.result = static_cast<std::uint64_t>(empty->result);
    call.cost_ps = host.costs.system_call_ps + to_ps(empty->slept);
  }
  model.cost_in_row = protocol::cost_in_clock_row;
  model.base_ns = [epoch_ns = epoch_ns_](std::int64_t clock) -> std::optional<std::int64_t> {
    std::int64_t base = 0;
    return protocol::clock_base(clock, epoch_ns, &base) ? std::optional(base) : std::nullopt;
  };
  return model;
}

// A loop that needed a high level of effort will need it again.
unsigned LoopAnalyst::effort_of_poke() const {
  unsigned effort = pokes_.in_vain == 1 ? pokes_.spin_effort : 0;
  for (unsigned more = 1; more <= kMostEffort; ++more) {
    if (pokes_.in_vain == kPokesBeforeEffort[more]) effort = more;
  }
  const unsigned past_all = pokes_.in_vain - std::min(pokes_.in_vain, kPokesBeforeEffort[kMostEffort]);
  return past_all != 0 && past_all % kPokesBetweenGreatest == 0 ? kMostEffort : effort;
}

namespace {

// Bytes that a function may use below its stack pointer (System V ABI), and the assumed extent above it of
// its frame and those of its callers.
constexpr std::uint64_t kRedZone = 128, kOwnFrames = 4096;

// First address that the loop reads outside of its own stack, presumably what it waits for. 0: it reads
// nothing.
std::uint64_t awaited_of(const spin::SpinProof& proof) {
  const std::uint64_t stack = proof.canonical.gpr[spin::kRsp] - kRedZone;
  const auto is_elsewhere = [&](const spin::ByteRun& run) { return run.address - stack >= kRedZone + kOwnFrames; };
  const auto found = std::ranges::find_if(proof.reads, is_elsewhere);
  if (found != proof.reads.end()) return found->address;
  return proof.reads.empty() ? 0 : proof.reads.front().address;
}

}  // namespace

std::optional<Parked> LoopAnalyst::spin(std::uint64_t context_address, std::uint64_t fs_base, std::uint64_t jump) {
  const auto saved = SavedContext::read(process_.memory(), context_address);
  if (!saved) return std::nullopt;
  const bool is_trapped = jump != 0;
  const unsigned effort = is_trapped ? 0 : effort_of_poke();
  VectorContext vectors(process_.memory(), saved->floating);
  const spin::SpinProof proof = prover_.prove_spin(spin::from_context(saved->general, fs_base), *code_,
                                                   limits_within(kSpinSteps, effort), &vectors.registers());
  ++counts_.proofs;
  if (is_trapped) {
    ++counts_.trapped;
  } else {
    ++pokes_.in_vain;
    ++pokes_.without_proof;
  }
  // Vector registers that carry a value into the next turn are restored too.
  const bool holds = proof.proven && vectors.holds(proof.vectors);
  const bool is_aliased = holds && are_mapped_twice(process_.memory(), proof.changed, proof.reads, proof.writes);
  if (!holds || is_aliased) {
    ++counts_.refusals;
    refusal_ = is_aliased     ? "changes memory that it reads at another address"
               : proof.proven ? "keeps values in vector registers"
                              : proof.refusal.describe();
    if (is_trapped) traps_.note_trapped(jump, false);
    return std::nullopt;
  }
  if (is_trapped) {
    traps_.note_trapped(jump, true);
  } else {
    pokes_.spin_effort = effort;
    if (effort == 0 && traps_loops_) traps_.note_poked(proof.jump);
  }
  pokes_.without_proof = 0;
  pokes_.has_proven_spin = true;
  vectors.set(proof.vectors);
  gregset_t canonical;
  std::copy_n(saved->general, std::size(canonical), canonical);
  spin::to_context(proof.canonical, canonical);
  if (!std::ranges::equal(canonical, saved->general))
    process_.memory().write(SavedContext::place_in(context_address), std::as_bytes(std::span(canonical)));
  for (const spin::ByteRun& run : proof.to_write) {
    process_.memory().write(run.address, std::as_bytes(std::span(run.bytes)));
  }
  Parked parked;
  parked.kind = Parked::Kind::kSpin;
  parked.code = proof.canonical.rip;
  parked.awaited = awaited_of(proof);
  parked.watched = proof.reads;
  parked.watch_code(process_.memory(), proof.code);
  parked.watched.insert(parked.watched.end(), proof.writes.begin(), proof.writes.end());
  return parked;
}

}  // namespace verbatim::supervisor
