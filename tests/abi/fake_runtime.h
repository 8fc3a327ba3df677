// A runtime without a supervisor: implements verbs_shim/runtime/runtime.h with one in-process table, so that
// the verbs library can be tested call by call. It also acts as an adapter: a small script answers commands,
// and the test makes completions appear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/rings.h"
#include "verbs_shim/runtime/runtime.h"

namespace verbatim::fake {

struct Doorbell {
  std::int64_t cost_ps;
  std::int64_t sent_at_ps;
  protocol::DoorbellKind kind;
  std::uint32_t context;
  std::uint32_t number;
  std::uint64_t value;
  // The producer in the records when the doorbell was rung.
  std::uint32_t send_producer;
};

struct Cq {
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  std::uint32_t entries = 0;
  std::uint64_t ring = 0, record = 0;
  std::uint32_t producer = 0;
};

struct Qp {
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  protocol::CreateQp made{};
};

struct World {
  bool attached = true;
  std::int64_t now_ps = 0;
  protocol::CallCosts costs{};
  std::vector<std::byte> arena;
  std::size_t arena_used = 64;
  std::vector<Doorbell> doorbells;
  std::vector<std::int64_t> spent;
  std::vector<protocol::CommandType> commands;
  std::map<protocol::CommandType, int> failures;  // answered with this errno
  std::map<std::uint32_t, Cq> cqs;                // by handle
  std::map<std::uint32_t, Qp> qps;
  std::uint32_t next_handle = 1;
  protocol::RegMr last_mr{};
  protocol::ModifyQp last_modify{};
  protocol::QpAttributes qp_attributes{};  // answer of kQueryQp
  // Called for the commands a test wants to answer by itself; true: done, status set.
  std::function<bool(protocol::CommandHeader*)> on_command;
  std::function<long(long number, long a0, long a1, long a2)> on_system_call;
  // Called whenever virtual time passes, as other threads and the adapter would get on meanwhile.
  std::function<void()> on_time;
  std::size_t allocations = 0, releases = 0;

  protocol::Cqe* cqe(Cq& cq, std::uint32_t number);
  // Writes the next entry of a CQ, visible from `visible_at_ps` on.
  void complete(Cq& cq, protocol::Cqe cqe, std::int64_t visible_at_ps = 0);
  const std::byte* send_slot(const Qp& qp, std::uint32_t number) const;
  const std::byte* recv_slot(const Qp& qp, std::uint32_t number) const;
  const protocol::QueuePairRecord& record(const Qp& qp) const;
  std::uint32_t consumer(const Cq& cq) const;
};

// One world per test; reset() makes a new one.
World& world();
void reset();

inline constexpr std::uint64_t kNodeGuid = 0x0002c903'00112233;
inline constexpr std::uint32_t kContext = 7;
inline constexpr std::int64_t kEpochNs = 1'700'000'000'000'000'000;
inline constexpr std::uint64_t kCoreClockKhz = 400'000;

}  // namespace verbatim::fake
