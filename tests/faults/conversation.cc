#include "tests/faults/conversation.h"

#include <algorithm>

#include "tests/hca/windows.h"

namespace verbatim::faults {

using test::Program;
using test::SendRequest;
using test::WqeOpcode;

namespace {

constexpr const char* kKinds[] = {"send",      "send-imm", "send-invalidate", "write",
                                  "write-imm", "read",     "fetch-add",       "compare-swap"};
constexpr const char* kActions[] = {"drop", "duplicate", "corrupt", "delay"};

void print(std::ostream& stream, const char* name, const std::vector<Step>& steps) {
  stream << name << ":";
  for (const Step& step : steps) {
    stream << ' ' << kKinds[static_cast<int>(step.kind)] << '/' << step.length
           << (step.is_fenced ? "/fence" : "");
  }
  stream << '\n';
}

std::uint8_t seed_of(std::uint8_t side, std::size_t step) {
  return static_cast<std::uint8_t>(side + 2 * step + 1);
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Plan& plan) {
  stream << "max_rd_atomic " << int{plan.max_rd_atomic} << ", psn " << plan.first_psn << ", ready receives "
         << plan.ready_receives << ", retry_cnt " << int{plan.retry_cnt} << ", credits "
         << plan.end_to_end_credits << ", freedom " << plan.freedom_seed << ", NAK "
         << plan.recovery.nak_generation.count() << " + " << plan.recovery.nak_reaction.count() << " ps, READ "
         << plan.recovery.read_nak_generation.count() << " + " << plan.recovery.read_nak_reaction.count() << " ps"
         << (plan.recovery.selective_repeat ? ", selective repeat, window 2^" + std::to_string(plan.recovery.log_tx_psn_window) : "")
         << (plan.may_fail ? ", may fail" : "") << '\n';
  print(stream, "a", plan.from_a);
  print(stream, "b", plan.from_b);
  for (const Loss& loss : plan.losses) {
    stream << kActions[static_cast<int>(loss.action)] << ' ' << (loss.from_a ? 'a' : 'b') << ' ' << loss.nth
           << ' ' << loss.delay_us << " us\n";
  }
  return stream;
}

test::PairOptions Conversation::options_of(const Plan& plan) {
  test::PairOptions options;
  options.buffer_bytes = kBufferBytes;
  options.path.mtu = 1;      // 256 bytes
  options.path.timeout = 8;  // 1.05 ms
  options.path.retry_cnt = plan.retry_cnt;
  options.path.min_rnr_timer = 1;
  options.path.sq_psn = options.path.rq_psn = plan.first_psn;
  options.world.profile.end_to_end_credits = plan.end_to_end_credits;
  options.world.profile.loss_recovery = plan.recovery;
  if (plan.freedom_seed != 0) options.world.choices = &choices_;
  options.path.max_rd_atomic = options.path.max_dest_rd_atomic = plan.max_rd_atomic;
  return options;
}

Conversation::Conversation(const Plan& plan)
    : plan_(plan), choices_(plan.freedom_seed, test::World::component_names()), pair_(options_of(plan)) {
  for (const Loss& loss : plan_.losses) {
    Rule rule;
    rule.action = loss.action;
    rule.selection.first = loss.nth;
    rule.delay = std::chrono::duration_cast<Duration>(std::chrono::microseconds(loss.delay_us));
    script_.add(rule, loss.from_a ? *pair_.world.client_port : *pair_.world.server_port);
  }
}

std::uint64_t Conversation::word(Side& side, std::uint64_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, side.program.memory.at(Program::kBuffer + offset, 8).data(), 8);
  return value;
}

void Conversation::post_receive(Side& side, std::uint32_t number) {
  side.program.post_recv(side.qp, number, {side.sge(kReceived + number * kSlot, kSlot)});
}

void Conversation::post(Side& side, Side& peer, const std::vector<Step>& steps, std::uint8_t seed) {
  std::uint64_t compares = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const std::uint64_t slot = i * kSlot;
    side.fill(kOut + slot, step.length, seed_of(seed, i));
    SendRequest request;
    request.wr_id = i;
    request.rkey = peer.mr.rkey;
    request.sges = {side.sge(kOut + slot, step.length)};
    request.immediate = static_cast<std::uint32_t>(i);
    if (step.is_fenced) request.flags |= protocol::kWqeFence;
    switch (step.kind) {
      case Kind::kSend:
        break;
      case Kind::kSendImm:
        request.opcode = WqeOpcode::kSendWithImm;
        break;
      case Kind::kSendInvalidate:
        request.opcode = WqeOpcode::kSendWithInvalidate;
        request.immediate = alloc_mw(peer.program, 2).rkey;
        break;
      case Kind::kWrite:
      case Kind::kWriteImm:
        request.opcode = step.kind == Kind::kWrite ? WqeOpcode::kRdmaWrite : WqeOpcode::kRdmaWriteWithImm;
        request.remote_va = Program::kBuffer + kWritten + slot;
        break;
      case Kind::kRead:
        request.opcode = WqeOpcode::kRdmaRead;
        peer.fill(kReadFrom + slot, step.length, seed_of(seed, i));
        request.remote_va = Program::kBuffer + kReadFrom + slot;
        request.sges = {side.sge(kReadInto + slot, step.length)};
        break;
      case Kind::kFetchAdd:
        request.opcode = WqeOpcode::kAtomicFetchAdd;
        request.remote_va = Program::kBuffer + kCounter;
        request.compare_add = std::uint64_t{1} << i;
        request.sges = {side.sge(kResults + i * 8, 8)};
        break;
      case Kind::kCompareSwap:
        request.opcode = WqeOpcode::kAtomicCompareSwap;
        request.remote_va = Program::kBuffer + kWord;
        request.compare_add = compares;
        request.swap = ++compares;
        request.sges = {side.sge(kResults + i * 8, 8)};
        break;
    }
    side.program.post_send(side.qp, request);
  }
}

std::string Conversation::run() {
  const auto count = [](const std::vector<Step>& steps) {
    return static_cast<std::uint32_t>(
        std::count_if(steps.begin(), steps.end(), [](const Step& step) { return consumes(step.kind); }));
  };
  const std::uint32_t to_a = count(plan_.from_b), to_b = count(plan_.from_a);
  std::uint32_t posted_a = 0, posted_b = 0;
  while (posted_a < std::min(to_a, plan_.ready_receives)) post_receive(pair_.a, posted_a++);
  while (posted_b < std::min(to_b, plan_.ready_receives)) post_receive(pair_.b, posted_b++);
  post(pair_.a, pair_.b, plan_.from_a, 0);
  post(pair_.b, pair_.a, plan_.from_b, 1);
  for (int look = 0; look < 5'000; ++look) {
    pair_.world.run_for(Duration(200'000'000));
    if (posted_a < to_a) post_receive(pair_.a, posted_a++);
    if (posted_b < to_b) post_receive(pair_.b, posted_b++);
    if (posted_a == to_a && posted_b == to_b && pair_.world.engine.empty()) break;
  }
  if (!pair_.world.engine.empty()) return "it never ends";
  std::string wrong = check("a", pair_.a, pair_.b, plan_.from_a, 0);
  if (wrong.empty()) wrong = check("b", pair_.b, pair_.a, plan_.from_b, 1);
  return wrong;
}

Conversation::Effects Conversation::effects_of(const std::vector<Step>& steps, std::size_t count) {
  Effects effects;
  for (std::size_t i = 0; i < count; ++i) {
    if (steps[i].kind == Kind::kFetchAdd) effects.counter += std::uint64_t{1} << i;
    if (steps[i].kind == Kind::kCompareSwap) ++effects.word;
    if (consumes(steps[i].kind)) ++effects.receives;
  }
  return effects;
}

std::string Conversation::check(const char* name, Side& side, Side& peer, const std::vector<Step>& steps,
                                std::uint8_t seed) {
  const auto wrong = [&](std::size_t i, const std::string& what) {
    return std::string(name) + "'s step " + std::to_string(i) + ": " + what;
  };
  const auto code = [](ib::WcStatus status) { return static_cast<std::uint8_t>(status); };
  const auto sent = side.program.drain(side.send_cq);
  auto received = peer.program.drain(peer.recv_cq);
  // A queue pair in error flushes posted requests; these completions are last.
  while (plan_.may_fail && !received.empty() &&
         received.back().status == code(ib::WcStatus::kWorkRequestFlushed)) {
    received.pop_back();
  }
  std::size_t good = 0;
  while (good < sent.size() && sent[good].status == 0) ++good;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].wr_id != i) return wrong(i, "completed out of order");
    const auto flushed = code(ib::WcStatus::kWorkRequestFlushed),
               exceeded = code(ib::WcStatus::kRetryExceeded);
    const bool allowed =
        i < good ||
        (plan_.may_fail && (sent[i].status == flushed || (i == good && sent[i].status == exceeded)));
    if (!allowed) return wrong(i, "status " + std::to_string(sent[i].status));
  }
  if (sent.size() != steps.size()) return std::to_string(sent.size()) + " completions at " + name;
  if (good < steps.size()) has_failed_ = true;

  // The peer's state shows the first steps, each executed once: at least the completed ones.
  Effects seen{word(peer, kCounter), word(peer, kWord), received.size()};
  std::size_t executed = good;
  while (executed < steps.size() && effects_of(steps, executed) != seen) ++executed;
  if (effects_of(steps, executed) != seen)
    return std::string("something at the peer of ") + name + " happened not once";

  for (std::size_t i = 0; i < executed; ++i) {
    const Step& step = steps[i];
    const std::uint64_t slot = i * kSlot;
    const Effects before = effects_of(steps, i);
    if (consumes(step.kind)) {
      const protocol::Cqe& receive = received[before.receives];
      const std::uint64_t at = kReceived + before.receives * kSlot;
      if (receive.status != 0 || receive.wr_id != before.receives) return wrong(i, "received out of order");
      if (receive.byte_length != step.length) return wrong(i, "received another length");
      if (step.kind != Kind::kWriteImm && !peer.equals(at, step.length, seed_of(seed, i))) {
        return wrong(i, "received other bytes");
      }
      if ((step.kind == Kind::kSendImm || step.kind == Kind::kWriteImm) && receive.immediate != i) {
        return wrong(i, "received another immediate");
      }
    }
    if (i >= good) continue;
    if (writes(step.kind) && !peer.equals(kWritten + slot, step.length, seed_of(seed, i))) {
      return wrong(i, "wrote other bytes");
    }
    if (step.kind == Kind::kRead && !side.equals(kReadInto + slot, step.length, seed_of(seed, i))) {
      return wrong(i, "read other bytes");
    }
    if (step.kind == Kind::kFetchAdd && word(side, kResults + i * 8) != before.counter) {
      return wrong(i, "the counter was not what the additions before made it");
    }
    if (step.kind == Kind::kCompareSwap && word(side, kResults + i * 8) != before.word) {
      return wrong(i, "the word was not what the swaps before made it");
    }
  }
  return "";
}

}  // namespace verbatim::faults
