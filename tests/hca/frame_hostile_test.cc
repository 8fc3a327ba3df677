// A program creates, changes and destroys raw packet queue pairs, work queues, tables, rules and counters in
// any order, with valid, wrong or stale handles, sends frames of all kinds, and writes to its rings: the
// adapter survives, and a connection of another program is not affected.
#include <gtest/gtest.h>

#include <vector>

#include "sim/core/rng.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

class FrameAttacker {
 public:
  FrameAttacker(World& world, hca::Hca& hca, std::uint64_t seed)
      : program(world, hca, 1 << 16, 1 << 20, 666), world_(world), random_(seed, "test/frames"), cq_(program.create_cq(64)) {
    mr_ = program.reg_mr(Program::kBuffer, 1 << 16, ib::kLocalWrite);
    for (int i = 0; i < 4; ++i) handles_.push_back(make_qp());
  }

  void step() {
    switch (random_.below(16)) {
      case 0:
        return flow();
      case 1:
        return counters();
      case 2:
        return work_queue();
      case 3:
        return table();
      case 4:
        return scaling();
      case 5:
        return destroy();
      case 6:
        return scribble();
      case 7:
        if (!queues_.empty()) change(queues_[random_.below(queues_.size())]);
        return;
      case 8:
      case 9:
        return receive();
      case 10:
      case 11:
      case 12:
        return send();
      case 13:
        if (qps_.size() < 8) make_qp();
        program.drain(cq_);
        return;
      default:
        world_.run_for(Duration{static_cast<std::int64_t>(random_.below(3'000'000))});
        program.async_events.clear();
    }
  }

  Program program;
  std::uint64_t flows_made = 0, queues_made = 0, scaling_made = 0, frames_taken = 0;

 private:
  std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }
  std::uint32_t some_handle() {
    if (random_.chance(1, 8)) return random_.chance(1, 2) ? below(64) : ~below(4);
    return handles_[random_.below(handles_.size())];
  }
  void keep(std::uint32_t handle) {
    handles_.push_back(handle);
    if (handles_.size() > 64) handles_.erase(handles_.begin());
  }
  std::uint32_t make_qp() {
    Qp qp;
    const std::uint32_t flags[] = {0, 1 << 1, 1 << 8, 1 << 9, 1 << 11, 0xb02};
    qp.made.create_flags = flags[random_.below(std::size(flags))];
    if (program.try_create_qp(qp, cq_, cq_, {8, 8, 2, 2, 64}, ib::QpType::kRawPacket) != 0) return 0;
    protocol::QpAttributes attributes{};
    attributes.port_num = 1;
    attributes.qp_state = static_cast<std::uint32_t>(ib::QpState::kInit);
    program.modify(qp, ib::kQpState | ib::kQpPort, attributes);
    program.to_state(qp, ib::QpState::kRtr);
    program.to_state(qp, ib::QpState::kRts);
    qps_.push_back(qp);
    if (qps_.size() > 8) qps_.erase(qps_.begin());
    keep(qp.made.handle);
    return qp.made.handle;
  }
  void flow() {
    protocol::CreateFlow create{};
    create.qp = qps_.empty() || random_.chance(1, 4) ? some_handle() : qps_[random_.below(qps_.size())].made.handle;
    create.type = random_.chance(1, 3) ? below(5) : 0;
    create.flags = random_.chance(1, 4) ? below(8) : 0;
    create.priority = static_cast<std::uint16_t>(below(4));
    create.port = random_.chance(1, 20) ? 0 : 1;
    create.spec_count = static_cast<std::uint8_t>(below(random_.chance(1, 10) ? 256 : 3));
    constexpr std::uint32_t kTypes[] = {0x20, 0x30, 0x31, 0x32, 0x40, 0x41, 0x50, 0x130, 0x1000, 0x1001, 0x1003, 0x34, 0};
    for (protocol::FlowSpec& spec : create.specs) {
      spec.type = kTypes[random_.below(std::size(kTypes))];
      spec.argument = some_handle();
      for (std::uint8_t& byte : spec.mask) byte = random_.chance(1, 20) ? 0xff : 0;
      for (std::uint8_t& byte : spec.value) byte = static_cast<std::uint8_t>(below(3));
    }
    if (program.command(create) != 0) return;
    ++flows_made;
    keep(create.handle);
  }
  void counters() {
    protocol::CreateCounters create{};
    if (program.command(create) == 0) keep(create.handle);
    protocol::AttachCounter attach{};
    attach.counters = some_handle();
    attach.flow = random_.chance(1, 2) ? 0 : some_handle();
    attach.description = below(3);
    attach.index = below(70);
    program.command(attach);
    protocol::ReadCounters read{};
    read.counters = some_handle();
    read.count = below(70);
    program.command(read);
  }
  void work_queue() {
    protocol::CreateWq create{};
    create.pd = program.pd;
    create.cq = cq_.handle;
    create.flags = below(18);
    create.max_wr = below(20);
    create.max_sge = below(4);
    if (program.command(create) != 0) return;
    ++queues_made;
    Qp wq;
    wq.made.handle = create.handle;
    wq.made.number = create.number;
    wq.made.recv_entries = create.recv_entries;
    wq.made.recv_stride = create.recv_stride;
    wq.made.recv_offset = create.recv_offset;
    wq.made.record_offset = create.record_offset;
    queues_.push_back(wq);
    if (queues_.size() > 8) queues_.erase(queues_.begin());
    keep(create.handle);
    change(queues_.back(), 1);
  }
  void change(Qp& wq, std::uint32_t state = 9) {
    protocol::ModifyWq modify{};
    modify.handle = wq.made.handle;
    modify.mask = state == 9 ? below(9) : 1;
    modify.state = state == 9 ? below(4) : state;
    modify.current_state = below(3);
    modify.flags = modify.flags_mask = below(3);
    if (program.command(modify) == 0 && modify.current_state == 0) wq.recv_producer = 0;
  }
  void table() {
    protocol::CreateRwqTable create{};
    create.log_size = random_.chance(1, 10) ? below(64) : below(4);
    for (int i = 0; i < 16; ++i) {
      create.queues[i] = queues_.empty() || random_.chance(1, 30) ? some_handle()
                                                                  : queues_[random_.below(queues_.size())].made.handle;
    }
    if (program.command(create) == 0) keep(create.handle);
  }
  void scaling() {
    Qp qp;
    qp.made.pd = program.pd;
    qp.made.type = static_cast<std::uint32_t>(ib::QpType::kRawPacket);
    qp.made.hash.table = some_handle();
    qp.made.hash.function = 1;
    qp.made.hash.key_length = random_.chance(1, 10) ? 3 : 40;
    const std::uint64_t fields[] = {0, 3, 0xc, 0xf3, 0x33, 0x3 | 1ull << 31, 0xffff};
    qp.made.hash.fields = fields[random_.below(std::size(fields))];
    if (qp.made.hash.table == 0 || program.command(qp.made) != 0) return;
    ++scaling_made;
    keep(qp.made.handle);
  }
  void destroy() {
    constexpr protocol::CommandType kTypes[] = {
        protocol::CommandType::kDestroyFlow, protocol::CommandType::kDestroyFlow, protocol::CommandType::kDestroyFlow,
        protocol::CommandType::kDestroyCounters, protocol::CommandType::kDestroyWq,
        protocol::CommandType::kDestroyRwqTable, protocol::CommandType::kDestroyQp};
    program.destroy(kTypes[random_.below(std::size(kTypes))], some_handle());
  }
  void scribble() {
    const std::span<std::byte> arena = program.arena();
    const std::size_t at = random_.below(40'000) & ~std::size_t{3};
    const auto word = static_cast<std::uint32_t>(random_.chance(1, 2) ? random_.next() : random_.below(100));
    std::memcpy(&arena[at], &word, sizeof(word));
  }
  void receive() {
    std::vector<Qp>& from = random_.chance(1, 2) ? qps_ : queues_;
    if (from.empty()) return;
    Qp& qp = from[random_.below(from.size())];
    const std::uint32_t length = random_.chance(1, 10) ? 50 : 5000;
    program.post_recv(qp, 1, {{Program::kBuffer + random_.below(1000), length, mr_.lkey}});
  }
  void send() {
    if (qps_.empty()) return;
    const auto bytes = program.memory.at(Program::kBuffer + 20'000, 5000);
    for (std::size_t i = 0; i < 60; ++i) bytes[i] = static_cast<std::byte>(below(3));
    if (random_.chance(1, 2)) bytes[12] = std::byte{0x08}, bytes[13] = std::byte{0}, bytes[14] = std::byte{0x45};
    if (random_.chance(1, 4)) bytes[12] = std::byte{0x81};
    bytes[23] = std::byte{17};
    bytes[5] = static_cast<std::byte>(1 + below(3));
    const std::uint32_t length = random_.chance(1, 10) ? below(6000) : 60 + below(200);
    program.post_send(qps_[random_.below(qps_.size())],
                      {.wr_id = 2, .flags = 1, .sges = {{Program::kBuffer + 20'000, length, mr_.lkey}}});
    for (const protocol::Cqe& entry : program.drain(cq_)) frames_taken += entry.is_frame;
  }

  World& world_;
  Rng random_;
  Cq cq_;
  Mr mr_;
  std::vector<Qp> qps_, queues_;
  std::vector<std::uint32_t> handles_;
};

TEST(FrameHostileTest, objects_of_frames_in_any_order_harm_nobody_else) {
  PairOptions options;
  options.world.roce = true;
  options.world.record = false;
  options.world.link.header_bytes = 62;
  options.world.profile.delay_drop_timeout = Duration{20'000'000};
  options.path.is_global = true;
  std::uint64_t flows = 0, queues = 0, scaling = 0, taken = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Pair pair(options);
    ASSERT_TRUE(pair.ready);
    FrameAttacker attacker(pair.world, *pair.world.client, seed);
    for (int round = 0; round < 4000; ++round) {
      attacker.step();
      if (round % 1000 != 0) continue;
      pair.a.fill(0, 5000, static_cast<std::uint8_t>(round));
      pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 5000)});
      pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 5000)}});
      pair.world.run_for(Duration{300'000'000});
      const auto received = pair.b.program.drain(pair.b.recv_cq);
      ASSERT_EQ(received.size(), 1u) << seed;
      ASSERT_EQ(received[0].status, 0u);
      ASSERT_EQ(pair.a.program.drain(pair.a.send_cq).size(), 1u);
      ASSERT_TRUE(pair.b.equals(0, 5000, static_cast<std::uint8_t>(round)));
    }
    flows += attacker.flows_made;
    queues += attacker.queues_made;
    scaling += attacker.scaling_made;
    taken += attacker.frames_taken;
    pair.world.client->close(attacker.program.context);
    pair.world.run_for(Duration{1'000'000'000});
    EXPECT_TRUE(pair.world.engine.empty()) << seed;
  }
  // The attack reached every part.
  EXPECT_GT(flows, 500u);
  EXPECT_GT(queues, 1000u);
  EXPECT_GT(scaling, 100u);
  EXPECT_GT(taken, 200u);
}

}  // namespace
}  // namespace verbatim::test
