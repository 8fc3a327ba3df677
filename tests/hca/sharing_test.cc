// Programs that share an adapter's context: objects that belong to the context, and objects of the program
// that created them.
#include <gtest/gtest.h>

#include "tests/hca/windows.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;
using protocol::CommandType;

constexpr std::uint32_t kEveryRight = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;
constexpr std::uint32_t kSharedBytes = 4096;

// a's and b's programs are connected; a third program has imported b's context and registered its buffer in
// b's domain, at the same address as b's buffer.
struct Sharers : Pair {
  explicit Sharers(const PairOptions& given = {})
      : Pair(given), importer(b.program, 300), mr(importer.reg_mr(Program::kBuffer, kSharedBytes, kEveryRight)) {
    EXPECT_NE(mr.handle, 0u);
    fill(importer, 'i');
    fill(b.program, 'b');
    fill(a.program, 'a');
  }
  static void fill(Program& program, char with) { std::ranges::fill(bytes(program), static_cast<std::byte>(with)); }
  static std::span<std::byte> bytes(Program& program) { return program.memory.at(Program::kBuffer, kSharedBytes); }
  static bool holds(Program& program, char what) {
    return std::ranges::all_of(bytes(program), [&](std::byte each) { return each == static_cast<std::byte>(what); });
  }
  protocol::Cqe ask(WqeOpcode opcode, std::uint32_t rkey, std::uint32_t length = kSharedBytes, std::uint64_t add = 0) {
    a.program.post_send(a.qp, {.wr_id = 1, .opcode = opcode, .sges = {a.sge(0, length)}, .remote_va = Program::kBuffer,
                               .rkey = rkey, .compare_add = add});
    world.run();
    return a.program.poll(a.send_cq).value_or(protocol::Cqe{.status = 0xff});
  }

  Program importer;
  Mr mr;
};

TEST(SharingTest, a_write_lands_in_the_program_that_registered_the_region) {
  for (const std::uint32_t mtu : {1u, 5u}) {
    PairOptions options;
    options.path.mtu = mtu;
    Sharers shared(options);
    EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, shared.mr.rkey).status, 0);
    EXPECT_TRUE(Sharers::holds(shared.importer, 'a'));
    EXPECT_TRUE(Sharers::holds(shared.b.program, 'b'));
  }
}

TEST(SharingTest, a_read_is_of_the_program_that_registered_the_region) {
  Sharers shared;
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaRead, shared.mr.rkey).status, 0);
  EXPECT_TRUE(Sharers::holds(shared.a.program, 'i'));
}

TEST(SharingTest, an_atomic_changes_the_program_that_registered_the_region) {
  Sharers shared;
  EXPECT_EQ(shared.ask(WqeOpcode::kAtomicFetchAdd, shared.mr.rkey, 8, 1).status, 0);
  EXPECT_EQ(Sharers::bytes(shared.importer)[0], static_cast<std::byte>('i' + 1));
  EXPECT_TRUE(Sharers::holds(shared.b.program, 'b'));
  EXPECT_EQ(Sharers::bytes(shared.a.program)[0], static_cast<std::byte>('i'));
}

TEST(SharingTest, a_window_leads_to_the_program_of_its_region) {
  Sharers shared;
  const Mr bindable = shared.importer.reg_mr(Program::kBuffer, kSharedBytes, kEveryRight | ib::kMwBind);
  const Window window = alloc_mw(shared.b.program, 1);
  shared.b.program.post_send(shared.b.qp, {.wr_id = 9,
                                           .opcode = WqeOpcode::kBindMemoryWindow,
                                           .immediate = ib::kRemoteWrite,
                                           .remote_va = Program::kBuffer,
                                           .rkey = window.rkey + 1,
                                           .compare_add = kSharedBytes,
                                           .swap = bindable.lkey,
                                           .address_handle = window.handle});
  shared.world.run();
  EXPECT_EQ(shared.b.program.poll(shared.b.send_cq)->status, 0);
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, window.rkey + 1).status, 0);
  EXPECT_TRUE(Sharers::holds(shared.importer, 'a'));
  EXPECT_TRUE(Sharers::holds(shared.b.program, 'b'));
}

TEST(SharingTest, one_message_is_gathered_from_both_programs_and_scattered_to_both) {
  for (const std::uint32_t mtu : {1u, 5u}) {
    PairOptions options;
    options.path.mtu = mtu;
    Sharers shared(options);
    const protocol::Sge own = shared.b.sge(0, 1000), others{Program::kBuffer, 1000, shared.mr.lkey};
    // Sends from b's queue pair, with lkeys of both programs.
    shared.a.program.post_recv(shared.a.qp, 1, {shared.a.sge(0, 2000)});
    shared.b.program.post_send(shared.b.qp, {.wr_id = 2, .sges = {others, own}});
    shared.world.run();
    EXPECT_EQ(shared.b.program.poll(shared.b.send_cq)->status, 0);
    EXPECT_EQ(Sharers::bytes(shared.a.program)[999], static_cast<std::byte>('i'));
    EXPECT_EQ(Sharers::bytes(shared.a.program)[1000], static_cast<std::byte>('b'));
    // Sends back, into the first bytes of both buffers.
    Sharers::fill(shared.a.program, 'a');
    shared.b.program.post_recv(shared.b.qp, 3, {own, others});
    shared.a.program.post_send(shared.a.qp, {.wr_id = 4, .sges = {shared.a.sge(0, 1500)}});
    shared.world.run();
    EXPECT_EQ(shared.a.program.poll(shared.a.send_cq)->status, 0);
    EXPECT_EQ(Sharers::bytes(shared.b.program)[999], static_cast<std::byte>('a'));
    EXPECT_EQ(Sharers::bytes(shared.b.program)[1000], static_cast<std::byte>('b'));
    EXPECT_EQ(Sharers::bytes(shared.importer)[499], static_cast<std::byte>('a'));
    EXPECT_EQ(Sharers::bytes(shared.importer)[500], static_cast<std::byte>('i'));
  }
}

TEST(SharingTest, what_a_read_brings_lands_in_the_program_of_the_lkey) {
  Sharers shared;
  shared.b.program.post_send(shared.b.qp, {.wr_id = 1, .opcode = WqeOpcode::kRdmaRead,
                                           .sges = {{Program::kBuffer, kSharedBytes, shared.mr.lkey}},
                                           .remote_va = Program::kBuffer, .rkey = shared.a.mr.rkey});
  shared.world.run();
  EXPECT_EQ(shared.b.program.poll(shared.b.send_cq)->status, 0);
  EXPECT_TRUE(Sharers::holds(shared.importer, 'a'));
  EXPECT_TRUE(Sharers::holds(shared.b.program, 'b'));
}

TEST(SharingTest, either_destroys_and_then_it_is_gone_for_both) {
  Sharers shared;
  EXPECT_EQ(shared.b.program.destroy(CommandType::kDeregMr, shared.mr.handle), 0);
  EXPECT_EQ(shared.importer.destroy(CommandType::kDeregMr, shared.mr.handle), ENOENT);
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, shared.mr.rkey).status, static_cast<unsigned>(WcStatus::kRemoteAccessError));
  EXPECT_EQ(shared.importer.destroy(CommandType::kDeallocPd, shared.b.program.pd), EBUSY);
  const Cq cq = shared.importer.create_cq(16);
  const Qp qp = shared.importer.create_qp(cq, cq);
  EXPECT_EQ(shared.b.program.destroy(CommandType::kDestroyCq, cq.handle), EBUSY);
  EXPECT_EQ(shared.b.program.destroy(CommandType::kDestroyQp, qp.made.handle), 0);
  EXPECT_EQ(shared.b.program.destroy(CommandType::kDestroyCq, cq.handle), 0);
  EXPECT_EQ(shared.importer.destroy(CommandType::kDestroyQp, qp.made.handle), ENOENT);
  // Its rings were returned to the importer's arena, not to that of the destroying process.
  for (int i = 0; i < 40; ++i) {
    const Cq again = shared.importer.create_cq(1 << 13);
    ASSERT_NE(again.handle, 0u) << i;
    ASSERT_EQ(shared.b.program.destroy(CommandType::kDestroyCq, again.handle), 0);
  }
}

TEST(SharingTest, another_opening_has_nothing_of_it) {
  Sharers shared;
  Program stranger(shared.world, *shared.world.server, 1 << 16, 1 << 20, 400);
  protocol::ImportObject import{};
  import.kind = protocol::ImportObject::kMr;
  import.handle = shared.mr.handle;
  import.pd = stranger.pd;
  EXPECT_EQ(stranger.command(import), EINVAL);
  EXPECT_EQ(stranger.destroy(CommandType::kDeregMr, shared.mr.handle), ENOENT);
  stranger.pd = shared.b.program.pd + 1000;
  int status = 0;
  stranger.reg_mr(Program::kBuffer, 64, kEveryRight, &status);
  EXPECT_EQ(status, EINVAL);
}

TEST(SharingTest, only_the_program_that_made_a_queue_rings_for_it) {
  Sharers shared;
  shared.b.program.write_send(shared.b.qp, {.wr_id = 1, .opcode = WqeOpcode::kRdmaWrite, .sges = {shared.b.sge(0, 64)},
                                            .remote_va = Program::kBuffer, .rkey = shared.a.mr.rkey});
  shared.importer.ring(shared.b.qp);
  shared.world.run();
  EXPECT_FALSE(shared.b.program.poll(shared.b.send_cq));
  shared.b.program.ring(shared.b.qp);
  shared.world.run();
  EXPECT_EQ(shared.b.program.poll(shared.b.send_cq)->status, 0);
}

TEST(SharingTest, a_region_that_is_registered_anew_is_of_the_program_that_asks) {
  Sharers shared;
  protocol::ReregMr rereg{};
  rereg.handle = shared.mr.handle;
  rereg.flags = 4;  // IBV_REREG_MR_CHANGE_ACCESS
  rereg.access = kEveryRight;
  EXPECT_EQ(shared.b.program.command(rereg), 0);
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, shared.mr.rkey, 64).status, 0);
  EXPECT_EQ(Sharers::bytes(shared.importer)[0], static_cast<std::byte>('a')) << "its bytes have stayed";
  rereg.flags = 1;  // IBV_REREG_MR_CHANGE_TRANSLATION
  rereg.start = rereg.iova = Program::kBuffer;
  rereg.length = kSharedBytes;
  EXPECT_EQ(shared.b.program.command(rereg), 0);
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, rereg.rkey, 64).status, 0);
  EXPECT_EQ(Sharers::bytes(shared.b.program)[0], static_cast<std::byte>('a'));
}

TEST(SharingTest, what_a_program_has_made_goes_on_when_it_has_left) {
  Sharers shared;
  hca::Hca& hca = *shared.world.server;
  hca.leave(shared.b.program.context);
  EXPECT_EQ(shared.b.program.destroy(CommandType::kDeregMr, shared.b.mr.handle), EINVAL) << "no command of its own";
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, shared.b.mr.rkey).status, 0);
  EXPECT_TRUE(Sharers::holds(shared.b.program, 'a')) << "its memory is still its own";
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaRead, shared.mr.rkey).status, 0);
  shared.a.program.post_send(shared.a.qp,
                             {.wr_id = 1, .opcode = WqeOpcode::kRdmaWrite, .sges = {shared.a.sge(0, 64)}, .rkey = 12345});
  shared.world.run();
  EXPECT_TRUE(shared.b.program.async_events.empty()) << "nobody hears of its queue pair's error";
  EXPECT_EQ(shared.importer.destroy(CommandType::kDestroyQp, shared.b.qp.made.handle), 0);
}

TEST(SharingTest, the_regions_of_a_program_that_has_ended_keep_their_bytes) {
  Sharers shared;
  hca::Hca& hca = *shared.world.server;
  hca.keep_memory(shared.importer.context);
  hca.leave(shared.importer.context);
  Sharers::fill(shared.importer, 'x');  // any program that has the address
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaRead, shared.mr.rkey).status, 0);
  EXPECT_TRUE(Sharers::holds(shared.a.program, 'i'));
  Sharers::fill(shared.a.program, 'a');
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, shared.mr.rkey, 100).status, 0);
  EXPECT_TRUE(Sharers::holds(shared.importer, 'x'));
  Sharers::fill(shared.a.program, 'y');
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaRead, shared.mr.rkey).status, 0);
  EXPECT_EQ(Sharers::bytes(shared.a.program)[99], static_cast<std::byte>('a'));
  EXPECT_EQ(Sharers::bytes(shared.a.program)[100], static_cast<std::byte>('i'));
  EXPECT_EQ(shared.b.program.destroy(CommandType::kDeregMr, shared.mr.handle), 0);
}

TEST(SharingTest, pages_on_demand_go_with_their_program) {
  Sharers shared;
  const Mr on_demand = shared.importer.reg_mr(Program::kBuffer, kSharedBytes, kEveryRight | ib::kOnDemand);
  ASSERT_NE(on_demand.handle, 0u);
  shared.world.server->keep_memory(shared.importer.context);
  shared.world.server->leave(shared.importer.context);
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaRead, on_demand.rkey).status, static_cast<unsigned>(WcStatus::kRemoteAccessError));
}

TEST(SharingTest, the_end_of_an_opening_is_that_of_all_its_objects) {
  PairOptions options;
  options.world.profile.max_mr = 8;
  options.world.profile.max_pd = 4;
  options.path.timeout = 1;
  options.path.retry_cnt = 1;
  Sharers shared(options);
  hca::Hca& hca = *shared.world.server;
  hca.leave(shared.b.program.context);
  hca.close(shared.b.program.context);
  EXPECT_EQ(shared.importer.destroy(CommandType::kDeregMr, shared.mr.handle), EINVAL);
  EXPECT_EQ(shared.ask(WqeOpcode::kRdmaWrite, shared.mr.rkey).status, static_cast<unsigned>(WcStatus::kRetryExceeded));
  Program fresh(shared.world, hca, 1 << 16, 1 << 20, 500);
  for (int i = 0; i < 8; ++i) EXPECT_NE(fresh.reg_mr(Program::kBuffer, 64, kEveryRight).handle, 0u) << i;
}

}  // namespace
}  // namespace verbatim::test
