#include "tests/fidelity/flood.h"

#include <algorithm>

namespace verbatim::fidelity {

namespace {
// Interval at which the programs poll.
constexpr Duration kStep{200'000};
}  // namespace

test::PairOptions Flood::pair_options(const FloodOptions& options) {
  test::PairOptions pair;
  pair.world.profile = options.client;
  pair.world.server_profile = options.server;
  pair.world.link = options.link;
  pair.world.record = false;
  pair.type = options.type;
  pair.buffer_bytes = options.buffer_bytes;
  pair.arena_bytes = 64 << 20;
  pair.cqe = 65536;
  pair.capabilities = {options.window, 1, 1, 1, options.type == ib::QpType::kUd ? 316u : 0u};
  return pair;
}

Flood::Flood(const FloodOptions& options, Make make)
    : pair(pair_options(options)), options_(options), make_(std::move(make)) {
  CHECK(pair.ready);
  pair.world.tracer.add(counter_);
  client_.side = &pair.a;
  server_.side = &pair.b;
  connect(client_, server_);
  if (options.type == ib::QpType::kUd) address_handle = pair.a.program.create_ah(2);
}

void Flood::connect(Side& client, Side& server) {
  const test::PathOptions path;
  for (std::uint32_t i = 0; i < options_.queue_pairs; ++i) {
    for (Side* side : {&client, &server}) {
      test::Pair::Side& own = *side->side;
      side->flows.push_back(
          {own.program.create_qp(own.send_cq, own.recv_cq, pair.options.capabilities, options_.type), 0});
    }
    const test::Qp &a = client.flows.back().qp, &b = server.flows.back().qp;
    const int failed = pair.a.program.to_init(a, path) | pair.b.program.to_init(b, path) |
                       pair.a.program.to_rtr(a, 2, b.made.number, path) |
                       pair.b.program.to_rtr(b, 1, a.made.number, path) | pair.a.program.to_rts(a, path) |
                       pair.b.program.to_rts(b, path);
    CHECK(failed == 0);
  }
}

void Flood::poll(Side& side) {
  while (const auto entry = side.side->program.poll(side.side->send_cq)) {
    CHECK(entry->status == 0);
    Flow& flow = side.flows[entry->wr_id];
    side.posted -= entry->wqe_counter + 1 - flow.complete;
    flow.complete = entry->wqe_counter + 1;
  }
}

void Flood::post(Side& side) {
  const std::int64_t now = pair.world.now_ps();
  const std::size_t count = side.flows.size();
  // The loop ends after a round in which no queue pair had space.
  for (std::size_t idle = 0; idle < count;) {
    if (options_.outstanding > 0 && side.posted + options_.batch > options_.outstanding) return;
    if (options_.post_time > Duration(0) && side.core_free_ps > now) return;
    const std::size_t i = options_.at_random ? rng_.next() % count : side.turn++ % count;
    Flow& flow = side.flows[i];
    if (flow.qp.send_producer - flow.complete + options_.batch > options_.window) {
      ++idle;
      continue;
    }
    idle = 0;
    for (std::uint32_t k = 0; k < options_.batch; ++k) {
      test::SendRequest request = make_(*this, rng_);
      request.wr_id = i;
      const bool signals = (flow.qp.send_producer + 1) % options_.signal_every == 0;
      request.flags = static_cast<std::uint8_t>((request.inline_data.empty() ? 0 : protocol::kWqeInline) |
                                                (signals ? protocol::kWqeSignaled : 0));
      side.side->program.write_send(flow.qp, request);
    }
    side.side->program.ring(flow.qp);
    side.posted += options_.batch;
    side.core_free_ps =
        std::max(side.core_free_ps, now - to_ps(kStep)) + to_ps(options_.post_time) * options_.batch;
  }
}

void Flood::run(Duration time) {
  for (const Instant end = pair.world.engine.now() + time; pair.world.engine.now() < end;) {
    for (Side* side : {&client_, &server_}) {
      if (side == &server_ && !options_.both_ways) continue;
      poll(*side);
      post(*side);
    }
    pair.world.run_for(kStep);
  }
}

double Flood::rate(const char* component, TraceEvent event, Duration warm_up, Duration time) {
  run(warm_up);
  counter_.component = pair.world.components.id(component).value;
  counter_.event = event;
  counter_.count = 0;
  run(time);
  return static_cast<double>(counter_.count) / (static_cast<double>(to_ps(time)) * 1e-12) / 1e6;
}

}  // namespace verbatim::fidelity
