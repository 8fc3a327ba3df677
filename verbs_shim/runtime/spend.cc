// Calls that take virtual time: a thread passes it by itself before its horizon, and otherwise asks the supervisor. Both
// happen on the shim's stack.
#include "verbs_shim/runtime/spend.h"

#include <utility>

#include "verbs_shim/protocol/clocks.h"
#include "verbs_shim/runtime/accesses.h"
#include "verbs_shim/runtime/polls.h"
#include "verbs_shim/runtime/repeated_call.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/shim_stack.h"

namespace verbatim::shim {

using protocol::Request;
using protocol::ThreadSlot;

namespace {

// Chosen delays: a call that the thread would answer itself may be delayed. It is identified by counting
// calls, and the count must not depend on how the thread runs. Calls that a parked thread does not execute
// (empty polls, yields, clock reads) are therefore not counted, except the first poll or yield after a call
// of another kind.
bool is_late(protocol::OwnCall kind) {
  thread_state().waits = false;
  access_row_ends();
  return --my_slot->calls_until_late[static_cast<std::uint32_t>(kind)] == 0;
}

bool is_late_to_wait() {
  if (std::exchange(thread_state().waits, true)) return false;
  return --my_slot->calls_until_late[static_cast<std::uint32_t>(protocol::OwnCall::kOther)] == 0;
}

// Spends time or rings a doorbell, on the shim's stack. Signals of the answer stay in the slot, see raise_answered().
long ask_for_time(Request request, std::uint32_t number, const long (&arguments)[6]) {
  ThreadSlot& slot = *my_slot;
  begin_request(request);
  make_request(slot, request, number, arguments);
  RepeatedCalls& calls = thread_state().repeated_calls;
  calls.keep_only(slot.repeats & protocol::kAllKnownCalls);
  return slot.result;
}

__attribute__((noinline)) void raise_answered() { Raised(*my_slot).raise_all(program_mask()); }

// Runs the body of a call that takes time on the shim's stack, then raises the signals of its answer. Both are on the
// same stack in every run, whoever answers the call.
template <class Body>
void take_time(const Body& body) {
  on_shim_stack(body);
  if (my_slot->raised_count != 0) [[unlikely]] raise_answered();
}

// A row of clock reads: its start, and the cost of the next read.
struct ClockRow {
  std::int64_t start_ps;
  std::int64_t cost_ps;
};

ClockRow next_clock_read(std::int64_t first_cost_ps) {
  ThreadState& state = thread_state();
  const std::int64_t now = my_slot->clock_ps;
  if (!state.in_clock_row) return {now, first_cost_ps};
  if (state.completions_to_time != 0) return {now, protocol::cost_in_clock_row(0)};
  return {state.clock_row_start_ps, protocol::cost_in_clock_row(now - state.clock_row_start_ps)};
}

}  // namespace

void clock_reads_follow(unsigned completions) { thread_state().completions_to_time = completions; }

std::int64_t read_clock(std::int64_t first_cost_ps, bool is_function) {
  ThreadState& state = thread_state();
  const ClockRow row = next_clock_read(first_cost_ps);
  const unsigned to_time = state.completions_to_time;
  // A clock read does not interrupt a row of polls: a loop that polls and reads a clock is a waiting loop,
  // too.
  take_time([&] {
    if (row.cost_ps <= 0 || passes_locally(row.cost_ps)) return;
    const bool is_seen = is_function && !has_foreign_bases && to_time <= 1;
    if (is_seen) bring_lines();
    ask_for_time(Request::kSpend, is_seen ? protocol::kReadsClock : 0, {row.cost_ps, row.start_ps, 0, 0, 0, 0});
  });
  state.in_clock_row = true;
  state.completions_to_time = to_time == 0 ? 0 : to_time - 1;
  state.clock_row_start_ps = row.start_ps;
  return my_slot->clock_ps;
}

bool reads_clock_locally(std::int64_t first_cost_ps) {
  ThreadState& state = thread_state();
  const ClockRow row = next_clock_read(first_cost_ps);
  const unsigned to_time = state.completions_to_time;
  if (row.cost_ps > 0) {
    if (!passes_locally(row.cost_ps)) return false;
  }
  state.in_clock_row = true;
  state.completions_to_time = to_time == 0 ? 0 : to_time - 1;
  state.clock_row_start_ps = row.start_ps;
  return true;
}

void spend(std::int64_t cost_ps) {
  if (cost_ps <= 0) return;
  thread_state().polls_in_a_row = thread_state().yields_in_a_row = 0;
  take_time([cost_ps] {
    if (!is_late(protocol::OwnCall::kOther) && passes_locally(cost_ps)) return;
    ask_for_time(Request::kSpend, 0, {cost_ps, 0, 0, 0, 0, 0});
  });
}

void spend_between_polls(std::int64_t cost_ps) {
  if (cost_ps <= 0) return;
  take_time([cost_ps] {
    if (is_late_to_wait() || !passes_locally(cost_ps)) ask_for_time(Request::kSpend, 0, {cost_ps, 0, 0, 0, 0, 0});
  });
}

namespace {

// Asks whether the thread may be parked, and provides current memory lines for the analysis.
long ask_to_wait(std::uint32_t kind, const long (&arguments)[6]) {
  bring_lines();
  return ask_for_time(Request::kPoll, kind, arguments);
}

void yield_for(std::int64_t cost_ps) {
  ThreadState& state = thread_state();
  constexpr unsigned kFewest = 2;
  const bool late = is_late_to_wait();
  const unsigned before = state.yields_in_a_row;
  if (!late && before < state.polls_allowed && passes_locally(cost_ps)) {
    ++state.yields_in_a_row;
    if (before >= kFewest) ++my_slot->polls_alone;
    return;
  }
  if (before < kFewest) {  // in a poll loop that yields, the polls ask
    ask_for_time(Request::kSpend, 0, {cost_ps, 0, 0, 0, 0, 0});
    state.yields_in_a_row = before + 1;
    return;
  }
  const long allowed = ask_to_wait(protocol::kYields,
                                  {cost_ps, 0, 0, 0, 0, reinterpret_cast<long>(&verbatim_clock_gettime)});
  state.polls_allowed = static_cast<unsigned>(allowed);
  state.yields_in_a_row = kFewest;
}

void look(std::int64_t cost_ps, std::uint32_t context, std::uint32_t cq_number, std::uint64_t offset,
          std::uint32_t sequence, std::uint32_t kind) {
  ThreadState& state = thread_state();
  state.yields_in_a_row = 0;
  const bool late = is_late_to_wait();
  // After enough empty polls, a program may be parked: it asks before its horizon is reached.
  if (!late && state.polls_in_a_row < state.polls_allowed && passes_locally(cost_ps)) {
    ++state.polls_in_a_row;
    ++my_slot->polls_alone;
    return;
  }
  kind |= state.repeated_calls.known() << protocol::kKnownCallsShift;
  const long allowed = ask_to_wait(kind,
                                  {cost_ps, static_cast<long>(context), static_cast<long>(cq_number),
                                   static_cast<long>(offset), static_cast<long>(sequence),
                                   reinterpret_cast<long>(&verbatim_clock_gettime)});
  state.polls_allowed = static_cast<unsigned>(allowed);
}

void ring(std::int64_t cost_ps, protocol::DoorbellKind kind, std::uint32_t context, std::uint32_t number,
          std::uint64_t value) {
  ThreadSlot& slot = *my_slot;
  const bool late = is_late(protocol::own_call_of(kind));
  if (!late && slot.doorbell_count < protocol::kMaxQueuedDoorbells && passes_locally(cost_ps)) {
    slot.doorbells[slot.doorbell_count++] = {slot.clock_ps, kind, context, number, 0, value, cost_ps};
    const std::int64_t effect = slot.clock_ps + region_header().own_effect_ps;
    if (effect < slot.horizon_ps) slot.horizon_ps = effect;
    return;
  }
  ask_for_time(Request::kDoorbell, 0,
               {cost_ps, static_cast<long>(kind), static_cast<long>(context), static_cast<long>(number),
                static_cast<long>(value), 0});
}

void spend_on_look(std::int64_t cost_ps, std::uint32_t context, std::uint32_t cq_number, std::uint64_t offset,
                   std::uint32_t sequence, std::uint32_t kind) {
  if (cost_ps <= 0) return;
  if (has_foreign_bases) return spend_between_polls(cost_ps);  // the caller's registers are not where the analysis expects them
  take_time([=] { look(cost_ps, context, cq_number, offset, sequence, kind); });
}

}  // namespace

void spend_on_yield() {
  const std::int64_t cost_ps = costs().system_call_ps;
  if (cost_ps <= 0) return;
  if (has_foreign_bases) return spend_between_polls(cost_ps);  // as in spend_on_look()
  take_time([cost_ps] { yield_for(cost_ps); });
}

void spend_on_poll(std::int64_t cost_ps, std::uint32_t context, std::uint32_t cq_number, std::uint64_t offset,
                   std::uint32_t sequence) {
  spend_on_look(cost_ps, context, cq_number, offset, sequence, 0);
}

void spend_on_start_poll(std::int64_t cost_ps, std::uint32_t context, std::uint32_t cq_number, std::uint64_t offset,
                         std::uint32_t sequence) {
  spend_on_look(cost_ps, context, cq_number, offset, sequence, protocol::kStartsPoll);
}

void ring_doorbell(std::int64_t cost_ps, protocol::DoorbellKind kind, std::uint32_t context,
                   std::uint32_t number, std::uint64_t value) {
  take_time([=] { ring(cost_ps, kind, context, number, value); });
}

}  // namespace verbatim::shim
