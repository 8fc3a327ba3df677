// Endless random flows: at each member flows arrive as a Poisson process while the run lasts. Flows,
// destinations and sizes are those of poisson_flows() for the same seed, for any duration.
//
// A flow uses an idle connection between its ends, or a new one, which is made at its arrival. If
// kMostConnections between two ends are busy, flows queue on them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/core/rng.h"
#include "sim/hca/endpoint.h"
#include "sim/workload/flow.h"
#include "sim/workload/traffic.h"

namespace verbatim::workload {

class PoissonLoad {
 public:
  static constexpr std::size_t kMostConnections = 8;
  // Arguments are indices of adapters.
  using Paths = std::function<FlowPaths(std::uint32_t poster, std::uint32_t peer)>;

  // To be constructed before the first event. `places`: all adapters by number; they must outlive the load's
  // last event, and the load the adapters' last event. The plan and its kind must outlive the load. `phases`:
  // by member, delay of its flows relative to the plan.
  PoissonLoad(Engine& engine, const LoadPlan& plan, const FlowKind& kind, std::vector<hca::Endpoint*> places,
              Paths paths, const std::vector<Duration>& phases);

  // A flow that has arrived.
  struct Arrival {
    FlowPlan plan;
    std::uint64_t acknowledged = 0;  // bytes
    Instant finish = kNever;
    ib::WcStatus status = ib::WcStatus::kSuccess;
  };
  // In the order of arrival; at one instant in the order of senders.
  const std::deque<Arrival>& arrivals() const { return arrivals_; }

 private:
  struct Connection final : hca::WorkSource {
    Connection(PoissonLoad& of, hca::Endpoint& at) : load(of), poster(at) {}

    struct Waiting {
      std::size_t flow = 0;        // index of the arrival
      std::uint64_t unposted = 0;  // bytes
    };
    struct Message {
      std::size_t flow = 0;
      std::uint32_t bytes = 0;
    };
    bool is_idle() const { return waiting.empty() && posted.empty(); }
    std::uint32_t depth() const { return std::min(load.kind_.depth, poster.profile().max_qp_wr); }
    void post_all();
    hca::SourceWork next_work(std::uint32_t qpn) override;
    void on_completed(std::uint32_t qpn, ib::WcStatus status) override;
    void on_adapter_failed(std::uint32_t qpn) override;
    void fail(ib::WcStatus why);

    PoissonLoad& load;
    hca::Endpoint& poster;
    hca::SourceEnd end;
    bool has_failed = false;
    Ring<Waiting> waiting;
    Ring<Message> posted;    // not completed
    std::uint32_t made = 0;  // how many of them the adapter has taken
  };
  struct Peer final : hca::WorkSource {
    hca::SourceWork next_work(std::uint32_t) override { CHECK(false); }
    void on_completed(std::uint32_t, ib::WcStatus) override { CHECK(false); }
    void on_adapter_failed(std::uint32_t) override {}  // the poster's retries detect it
  };
  struct Sender {
    Sender(PoissonLoad& of, std::uint32_t member, Duration phase);
    void on_arrival();
    void await_next();

    PoissonLoad& load;
    const std::uint32_t member;
    const Duration start;  // the plan's start plus the member's phase
    ArrivalClock clock;
    Timer timer;
  };

  Connection& connection(std::uint32_t from, std::uint32_t to);

  Engine& engine_;
  const LoadPlan& plan_;
  const FlowKind& kind_;
  const std::vector<hca::Endpoint*> places_;
  const Paths paths_;
  Peer peer_;
  std::deque<Arrival> arrivals_;
  std::deque<Connection> connections_;
  std::unordered_map<std::uint64_t, std::vector<Connection*>> by_pair_;  // for lookups only
  std::deque<Sender> senders_;
};

}  // namespace verbatim::workload
