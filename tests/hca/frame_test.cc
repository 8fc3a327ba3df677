// Raw packet queue pairs between two adapters on Ethernet: times of frames, their receivers, work queues and
// their limits, programs that write invalid data.
#include <gtest/gtest.h>

#include <cerrno>

#include "sim/hca/flow_table.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;

constexpr std::uint32_t kWqStrip = 1, kWqDelay = 4;

struct Frames : Pair {
  explicit Frames(PairOptions options = frame_options()) : Pair(options, false) {
    EXPECT_EQ(to_rts(a.program, a.qp), 0);
    EXPECT_EQ(to_rts(b.program, b.qp), 0);
  }
  static PairOptions frame_options() {
    PairOptions options;
    options.world.roce = true;
    options.world.link.header_bytes = 62;
    options.type = ib::QpType::kRawPacket;
    return options;
  }
  static int to_rts(Program& program, const Qp& qp) {
    protocol::QpAttributes attributes{};
    attributes.port_num = 1;
    attributes.qp_state = static_cast<std::uint32_t>(QpState::kInit);
    int error = program.modify(qp, ib::kQpState | ib::kQpPort, attributes);
    if (error == 0) error = program.to_state(qp, QpState::kRtr);
    return error == 0 ? program.to_state(qp, QpState::kRts) : error;
  }
  // Sends to the station with this address; the test has stations 1 and 2.
  void send(std::uint8_t to, std::uint32_t length, std::uint64_t offset = 0) {
    write_frame(to, offset, length);
    a.program.post_send(a.qp, {.wr_id = 5, .sges = {a.sge(offset, length)}});
  }
  void write_frame(std::uint8_t to, std::uint64_t offset, std::uint32_t length) {
    a.fill(offset, length, 3);
    const auto head = a.program.memory.at(Program::kBuffer + offset, 14);
    std::memset(head.data(), 0, head.size());
    head[5] = std::byte{to};
    head[11] = std::byte{1};
  }
  static int add_rule(Program& program, const Qp& qp, std::uint32_t* handle = nullptr,
                      std::vector<protocol::FlowSpec> specs = {}) {
    protocol::CreateFlow flow{};
    flow.qp = qp.made.handle;
    flow.port = 1;
    flow.spec_count = static_cast<std::uint8_t>(specs.size());
    std::copy(specs.begin(), specs.end(), flow.specs);
    const int error = program.command(flow);
    if (handle != nullptr) *handle = flow.handle;
    return error;
  }
  std::vector<std::uint64_t> drops() {
    std::vector<std::uint64_t> reasons;
    for (const TraceRecord& record : world.trace.all(TraceEvent::kPacketDropped)) reasons.push_back(record.values[3]);
    return reasons;
  }
  // Returns a work queue as a Qp, so that the driver can post to it.
  static Qp create_wq(Program& program, const Cq& cq, std::uint32_t flags = 0, int* error = nullptr, std::uint32_t max_wr = 16) {
    protocol::CreateWq create{};
    create.cookie = 0x7000;
    create.pd = program.pd;
    create.cq = cq.handle;
    create.flags = flags;
    create.max_wr = max_wr;
    create.max_sge = 2;
    const int result = program.command(create);
    if (error != nullptr) *error = result;
    Qp wq;
    wq.made.handle = create.handle;
    wq.made.number = create.number;
    wq.made.recv_entries = create.recv_entries;
    wq.made.recv_stride = create.recv_stride;
    wq.made.recv_offset = create.recv_offset;
    wq.made.record_offset = create.record_offset;
    return wq;
  }
  static int move_wq(Program& program, const Qp& wq, std::uint32_t state) {
    protocol::ModifyWq modify{};
    modify.handle = wq.made.handle;
    modify.mask = 1;
    modify.state = state;
    return program.command(modify);
  }
  static std::uint32_t create_table(Program& program, const std::vector<Qp>& queues, int* error = nullptr) {
    protocol::CreateRwqTable create{};
    for (std::size_t i = 0; i < queues.size(); ++i) create.queues[i] = queues[i].made.handle;
    while (1u << create.log_size < queues.size()) ++create.log_size;
    const int result = program.command(create);
    if (error != nullptr) *error = result;
    return create.handle;
  }
  static Qp create_scaling(Program& program, std::uint32_t table) {
    Qp qp;
    qp.made.pd = program.pd;
    qp.made.type = static_cast<std::uint32_t>(ib::QpType::kRawPacket);
    qp.made.hash.table = table;
    qp.made.hash.function = 1;
    qp.made.hash.key_length = 40;
    EXPECT_EQ(program.command(qp.made), 0);
    return qp;
  }
};

constexpr std::uint32_t kWqReady = 1;
std::uint64_t number_of(ib::DropReason reason) { return static_cast<std::uint64_t>(reason); }

// Frames follow each other after (8 of preamble + frame + 4 of check sequence + 12 of gap) bytes at 80 ps.
TEST(FrameTest, frames_take_their_bytes_with_preamble_check_sequence_and_gap) {
  PairOptions options = Frames::frame_options();
  options.world.link.bytes_before = 8;
  options.world.link.bytes_after = 12;
  Frames frames(options);
  EXPECT_EQ(Frames::add_rule(frames.b.program, frames.b.qp), 0);
  for (std::uint64_t i = 0; i < 10; ++i) {
    frames.b.program.post_recv(frames.b.qp, i, {frames.b.sge(2000 * i, 2000)});
    frames.write_frame(2, 2000 * i, 1514);
    frames.a.program.write_send(frames.a.qp, {.wr_id = 5, .sges = {frames.a.sge(2000 * i, 1514)}});
  }
  frames.a.program.ring(frames.a.qp);
  frames.world.run();
  const auto sent = frames.world.trace.all(TraceEvent::kPacketTransmitted);
  const auto received = frames.world.trace.all(TraceEvent::kPacketReceived);
  ASSERT_EQ(sent.size(), 10u);
  for (std::size_t i = 4; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].time_ps - sent[i - 1].time_ps, (8 + 1514 + 4 + 12) * 80) << i;
    EXPECT_EQ(received[i].time_ps - sent[i].time_ps, (8 + 62) * 80 + 9'200) << "by its header";
    EXPECT_EQ(sent[i].values[3], 1518u);
  }
  const auto completions = frames.b.program.drain(frames.b.recv_cq);
  ASSERT_EQ(completions.size(), 10u);
  for (const protocol::Cqe& entry : completions) {
    EXPECT_EQ(entry.byte_length, 1514u);
    EXPECT_EQ(entry.is_frame, 1u);
  }
  EXPECT_EQ(frames.a.program.drain(frames.a.send_cq).size(), 10u);
}

TEST(FrameTest, frames_without_a_rule_or_to_another_station_are_dropped_and_counted) {
  Frames frames;
  frames.b.program.post_recv(frames.b.qp, 1, {frames.b.sge(0, 2000)});
  frames.send(2, 100);
  frames.world.run();
  EXPECT_EQ(frames.drops(), std::vector<std::uint64_t>{number_of(ib::DropReason::kNoFlow)});
  // Without a switch no addresses are checked: a rule gets every matching frame, whatever its destination.
  EXPECT_EQ(Frames::add_rule(frames.b.program, frames.b.qp), 0);
  frames.send(9, 100);
  frames.world.run();
  EXPECT_EQ(frames.b.program.drain(frames.b.recv_cq).size(), 1u);
  EXPECT_EQ(frames.b.program.state(frames.b.qp), QpState::kRts);
}

TEST(FrameTest, packets_of_roce_do_not_reach_a_raw_queue_pair) {
  PairOptions options = Frames::frame_options();
  options.type = ib::QpType::kUd;
  options.path.is_global = true;
  Pair pair(options);
  ASSERT_TRUE(pair.ready);
  Qp raw = pair.b.program.create_qp(pair.b.send_cq, pair.b.recv_cq, {16, 16, 2, 2, 0}, ib::QpType::kRawPacket);
  ASSERT_NE(raw.made.number, 0u);
  EXPECT_EQ(Frames::to_rts(pair.b.program, raw), 0);
  pair.b.program.post_recv(raw, 1, {pair.b.sge(0, 2000)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 3,
                                       .sges = {pair.a.sge(0, 100)},
                                       .address_handle = pair.a.program.create_ah(2, true),
                                       .remote_qpn = raw.made.number,
                                       .remote_qkey = 0x11111111});
  pair.world.run();
  EXPECT_EQ(pair.world.trace.count(TraceEvent::kPacketDropped), 1u);
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 0u);
}

// The sniffer receives packets that arrive at the port and leave it, in wire format.
TEST(FrameTest, a_sniffer_sees_the_packets_of_roce) {
  PairOptions options = Frames::frame_options();
  options.type = ib::QpType::kRc;
  options.path.is_global = true;
  Pair pair(options);
  ASSERT_TRUE(pair.ready);
  Program watcher(pair.world, *pair.world.server, 1 << 16, 1 << 20, 200);
  Cq cq = watcher.create_cq(16);
  const Mr mr = watcher.reg_mr(Program::kBuffer, 1 << 16, ib::kLocalWrite);
  Qp raw = watcher.create_qp(cq, cq, {16, 16, 2, 2, 0}, ib::QpType::kRawPacket);
  EXPECT_EQ(Frames::to_rts(watcher, raw), 0);
  for (std::uint64_t i = 0; i < 4; ++i) watcher.post_recv(raw, i, {{Program::kBuffer + i * 1000, 1000, mr.lkey}});
  protocol::CreateFlow sniffer{};
  sniffer.qp = raw.made.handle;
  sniffer.type = 3;
  sniffer.port = 1;
  EXPECT_EQ(watcher.command(sniffer), 0);
  pair.a.fill(0, 100, 7);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 100)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 2, .sges = {pair.a.sge(0, 100)}});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  const auto seen = watcher.drain(cq);
  ASSERT_EQ(seen.size(), 2u);
  // Without check sequence: Ethernet 14, IPv6 40, UDP 8, BTH 12, payload 100 or AETH 4, ICRC 4.
  EXPECT_EQ(seen[0].byte_length, 178u);
  EXPECT_EQ(seen[1].byte_length, 82u);
  const auto request = watcher.memory.at(Program::kBuffer, 178), answer = watcher.memory.at(Program::kBuffer + 1000, 82);
  EXPECT_EQ(request[5], std::byte{2}) << "to the server";
  EXPECT_EQ(answer[5], std::byte{1});
  EXPECT_TRUE(std::equal(request.begin() + 74, request.begin() + 174, pair.a.program.memory.at(Program::kBuffer, 100).begin()));
}

TEST(FrameTest, there_are_no_more_rules_counters_queues_and_tables_than_the_profile_says) {
  PairOptions options = Frames::frame_options();
  options.world.profile.max_flow = options.world.profile.max_counters = 2;
  options.world.profile.max_wq = options.world.profile.max_rwq_tables = 2;
  options.world.profile.max_rwq_table_size = 2;
  Frames frames(options);
  Program& program = frames.b.program;
  std::uint32_t rule = 0;
  EXPECT_EQ(Frames::add_rule(program, frames.b.qp, &rule), 0);
  EXPECT_EQ(Frames::add_rule(program, frames.b.qp), 0);
  EXPECT_EQ(Frames::add_rule(program, frames.b.qp), ENOMEM);
  EXPECT_EQ(program.destroy(protocol::CommandType::kDestroyFlow, rule), 0);
  EXPECT_EQ(Frames::add_rule(program, frames.b.qp), 0);
  protocol::CreateCounters counters{};
  EXPECT_EQ(program.command(counters), 0);
  EXPECT_EQ(program.command(counters), 0);
  EXPECT_EQ(program.command(counters), ENOMEM);
  int error = 0;
  const Qp first = Frames::create_wq(program, frames.b.recv_cq);
  const Qp second = Frames::create_wq(program, frames.b.recv_cq);
  Frames::create_wq(program, frames.b.recv_cq, 0, &error);
  EXPECT_EQ(error, ENOMEM);
  Frames::create_table(program, {first, second, first, second}, &error);
  EXPECT_EQ(error, EINVAL) << "larger than any";
  Frames::create_table(program, {first, second});
  const std::uint32_t table = Frames::create_table(program, {first});
  Frames::create_table(program, {first}, &error);
  EXPECT_EQ(error, ENOMEM);
  EXPECT_EQ(program.destroy(protocol::CommandType::kDestroyWq, first.made.handle), EBUSY);
  EXPECT_EQ(program.destroy(protocol::CommandType::kDestroyRwqTable, table), 0);
  // The handle of a work queue is not that of a queue pair, and vice versa.
  EXPECT_EQ(program.destroy(protocol::CommandType::kDestroyQp, second.made.handle), ENOENT);
  EXPECT_EQ(program.destroy(protocol::CommandType::kDestroyWq, frames.b.qp.made.handle), ENOENT);
  EXPECT_EQ(program.to_state(second, QpState::kInit), EINVAL);
}

TEST(FrameTest, a_program_that_goes_takes_its_rules_and_queues_along) {
  Frames frames;
  Program& program = frames.b.program;
  const Qp wq = Frames::create_wq(program, frames.b.recv_cq, kWqStrip);
  EXPECT_EQ(Frames::move_wq(program, wq, kWqReady), 0);
  const Qp scaling = Frames::create_scaling(program, Frames::create_table(program, {wq, wq}));
  EXPECT_EQ(Frames::add_rule(program, scaling), 0);
  EXPECT_EQ(Frames::add_rule(program, frames.b.qp), 0);
  frames.world.server->close(program.context);
  frames.send(2, 100);
  frames.world.run();
  EXPECT_EQ(frames.drops(), std::vector<std::uint64_t>{number_of(ib::DropReason::kNoFlow)});
}

TEST(FrameTest, a_full_completion_queue_fails_its_work_queues) {
  PairOptions options = Frames::frame_options();
  options.cqe = 2;
  Frames frames(options);
  Program& program = frames.b.program;
  Qp wq = Frames::create_wq(program, frames.b.recv_cq);
  EXPECT_EQ(Frames::move_wq(program, wq, kWqReady), 0);
  EXPECT_EQ(Frames::add_rule(program, Frames::create_scaling(program, Frames::create_table(program, {wq}))), 0);
  for (std::uint64_t i = 0; i < 4; ++i) {
    program.post_recv(wq, i, {frames.b.sge(i * 2000, 2000)});
    frames.send(2, 100, i * 2000);
  }
  frames.world.run();
  EXPECT_EQ(Frames::move_wq(program, wq, kWqReady), EINVAL) << "in error";
  ASSERT_EQ(program.async_events.size(), 1u);
  EXPECT_EQ(program.async_events[0].event_type, static_cast<std::uint32_t>(ib::AsyncEventType::kCqError));
}

TEST(FrameTest, a_wild_producer_number_fails_the_work_queue_alone) {
  Frames frames;
  Program& program = frames.b.program;
  Qp wq = Frames::create_wq(program, frames.b.recv_cq);
  EXPECT_EQ(Frames::move_wq(program, wq, kWqReady), 0);
  wq.recv_producer = 1u << 20;
  program.post_recv(wq, 1, {frames.b.sge(0, 100)});
  const Qp scaling = Frames::create_scaling(program, Frames::create_table(program, {wq}));
  EXPECT_EQ(Frames::add_rule(program, scaling), 0);
  frames.send(2, 100);
  frames.world.run();
  ASSERT_EQ(program.async_events.size(), 1u);
  EXPECT_EQ(program.async_events[0].event_type, static_cast<std::uint32_t>(ib::AsyncEventType::kWqFatal));
  EXPECT_EQ(program.async_events[0].element, 0x7000u);
  EXPECT_EQ(program.state(frames.b.qp), QpState::kRts);
}

// A frame is dropped when it has waited for the timeout since its check, not 1 ps earlier; the next frame is
// dropped after another check for a receive.
TEST(FrameTest, a_queue_that_delays_drops_waits_for_its_timeout) {
  PairOptions options = Frames::frame_options();
  options.world.profile.delay_drop_timeout = Duration{50'000'000};
  Frames frames(options);
  Program& program = frames.b.program;
  Qp wq = Frames::create_wq(program, frames.b.recv_cq, kWqDelay);
  EXPECT_EQ(Frames::move_wq(program, wq, kWqReady), 0);
  EXPECT_EQ(Frames::add_rule(program, Frames::create_scaling(program, Frames::create_table(program, {wq}))), 0);
  frames.send(2, 100);
  frames.send(2, 100, 2000);
  const auto arrived = [&](std::size_t n) {
    const std::int64_t tail = frames.world.trace.all(TraceEvent::kPacketReceived).at(n).time_ps + (104 - 62) * 80;
    const std::int64_t cycle = 2500;
    return (tail + cycle - 1) / cycle * cycle + 12 * cycle;  // end of the check stage
  };
  while (frames.world.trace.count(TraceEvent::kPacketReceived) < 2) ASSERT_TRUE(frames.world.engine.step());
  for (std::size_t i = 0; i < 2; ++i) {
    const Instant deadline = Instant(Duration(arrived(i))) + Duration{50'000'000};
    frames.world.engine.run_until(deadline - Duration(1));
    EXPECT_EQ(frames.drops().size(), i);
    constexpr Duration kLook{2'000'000};
    frames.world.engine.run_until(i == 0 ? deadline : deadline + kLook);
    EXPECT_EQ(frames.drops().size(), i + 1);
  }
  EXPECT_EQ(frames.drops()[0], number_of(ib::DropReason::kNoReceive));
  // A receive that is posted in time takes the frame, at any time of the post.
  for (int wait = 0; wait < 40'000'000; wait += 777'777) {
    frames.send(2, 100);
    frames.world.run_for(Duration{wait});
    program.post_recv(wq, 7, {frames.b.sge(0, 2000)});
    frames.world.run_for(Duration{49'000'000});
    EXPECT_EQ(program.drain(frames.b.recv_cq).size(), 1u) << wait;
  }
}

TEST(FrameTest, requests_that_no_frame_is_made_of_complete_with_an_error) {
  for (int kind = 0; kind < 4; ++kind) {
    Frames frames;
    frames.write_frame(2, 0, 8000);
    SendRequest request{.wr_id = 9, .sges = {frames.a.sge(0, 100)}};
    if (kind == 0) request.sges[0].length = 13;
    if (kind == 1) request.sges[0].length = 4096 + 14 + 8 + 1;
    if (kind == 2) request.opcode = WqeOpcode::kSendWithImm;
    if (kind == 3) request.opcode = WqeOpcode::kRdmaWrite;
    frames.a.program.post_send(frames.a.qp, request);
    frames.world.run();
    const auto completions = frames.a.program.drain(frames.a.send_cq);
    ASSERT_EQ(completions.size(), 1u) << kind;
    const WcStatus expected = kind < 2 ? WcStatus::kLocalLengthError : WcStatus::kLocalQpOperationError;
    EXPECT_EQ(completions[0].status, static_cast<std::uint8_t>(expected)) << kind;
    EXPECT_EQ(frames.world.trace.count(TraceEvent::kPacketTransmitted), 0u);
  }
  Frames frames;
  frames.send(2, 4096 + 14 + 8);
  frames.world.run();
  EXPECT_EQ(frames.world.trace.count(TraceEvent::kPacketTransmitted), 1u) << "the longest";
}

// A program can write commands into the mailbox itself: the adapter must refuse everything that the library
// would refuse.
TEST(FrameTest, forged_commands_are_refused) {
  Frames frames;
  Program& program = frames.b.program;
  protocol::FlowSpec spec{};
  for (const std::uint32_t type : {0u, 0x1fu, 0x100u, 0x150u, 0x1002u, 0x1003u, 0xffffffffu}) {
    spec.type = type;
    EXPECT_EQ(Frames::add_rule(program, frames.b.qp, nullptr, {spec}), EINVAL) << type;
  }
  protocol::CreateFlow flow{};
  flow.qp = frames.b.qp.made.handle;
  flow.port = 1;
  flow.spec_count = 255;
  EXPECT_EQ(program.command(flow), EINVAL);
  protocol::ReadCounters read{};
  EXPECT_EQ(program.command(read), EINVAL);
  protocol::CreateRwqTable table{};
  for (const std::uint32_t log : {0u, 10u, 12u, 31u, 32u, 0xffffffffu}) {
    table.log_size = log;
    EXPECT_EQ(program.command(table), EINVAL);
  }
  Qp qp;
  qp.made.pd = program.pd;
  qp.made.type = static_cast<std::uint32_t>(ib::QpType::kRawPacket);
  qp.made.hash.table = 12345;
  EXPECT_EQ(program.command(qp.made), EINVAL);
}

}  // namespace
}  // namespace verbatim::test
