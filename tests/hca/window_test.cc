// Memory windows: access for a peer, who may bind and invalidate them, and the order of these operations.
#include <gtest/gtest.h>

#include "tests/hca/windows.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;
using protocol::CommandType;

constexpr std::uint32_t kAll = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;
constexpr std::uint32_t kForWindows = ib::kLocalWrite | ib::kMwBind;

std::uint8_t code(WcStatus status) { return static_cast<std::uint8_t>(status); }

struct Binding {
  std::uint64_t offset = 0, length = 0;
  std::uint32_t access = kAll;
};

// A pair whose responder, b, has a region of its whole buffer that peers may only access through windows.
struct Windows : Pair {
  explicit Windows(std::uint32_t type, const PairOptions& given = {}, std::uint32_t access = kForWindows)
      : Pair(given), region(b.program.reg_mr(Program::kBuffer, given.buffer_bytes, access)), window(alloc_mw(b.program, type)) {}

  SendRequest binding(const Binding& to, std::uint32_t key) const {
    return {.wr_id = 7,
            .opcode = WqeOpcode::kBindMemoryWindow,
            .immediate = to.access,
            .remote_va = Program::kBuffer + to.offset,
            .rkey = key,
            .compare_add = to.length,
            .swap = region.lkey,
            .address_handle = window.handle};
  }
  // The next key, as ibv_inc_rkey() computes it.
  std::uint32_t next_key() {
    window.rkey = (window.rkey & ~0xffu) | ((window.rkey + 1) & 0xffu);
    return window.rkey;
  }
  std::uint8_t bind(const Binding& to) {
    b.program.post_send(b.qp, binding(to, next_key()));
    world.run();
    return b.program.drain(b.send_cq).at(0).status;
  }
  std::uint8_t ask(WqeOpcode opcode, std::uint64_t offset, std::uint32_t length, std::uint32_t key) {
    a.program.post_send(a.qp, {.wr_id = 1,
                               .opcode = opcode,
                               .sges = {a.sge(0, length)},
                               .remote_va = Program::kBuffer + offset,
                               .rkey = key});
    world.run();
    return a.program.drain(a.send_cq).at(0).status;
  }
  std::uint8_t write(std::uint64_t offset, std::uint32_t length) {
    return ask(WqeOpcode::kRdmaWrite, offset, length, window.rkey);
  }
  void again() {
    for (Side* side : {&a, &b}) {
      ASSERT_EQ(side->program.to_state(side->qp, QpState::kReset), 0);
      side->qp.send_producer = side->qp.recv_producer = 0;
    }
    connect_both();
  }

  Mr region;
  Window window;
};

TEST(WindowTest, a_window_opens_its_bytes_and_no_others) {
  for (const std::uint32_t type : {1u, 2u}) {
    Windows pair(type);
    ASSERT_EQ(pair.ask(WqeOpcode::kRdmaWrite, 0, 8, pair.region.rkey), code(WcStatus::kRemoteAccessError));
    pair.again();
    ASSERT_EQ(pair.bind({1000, 5000}), 0u);
    pair.a.fill(0, 5000, 3);
    EXPECT_EQ(pair.write(1000, 5000), 0u);
    EXPECT_TRUE(pair.b.equals(1000, 5000, 3));
    EXPECT_EQ(pair.ask(WqeOpcode::kRdmaRead, 5992, 8, pair.window.rkey), 0u);
    EXPECT_EQ(pair.ask(WqeOpcode::kAtomicFetchAdd, 1000, 8, pair.window.rkey), 0u);
    const std::pair<std::uint64_t, std::uint32_t> beyond[] = {{999, 8}, {5993, 8}, {1000, 5001}, {0, 8}};
    for (const auto& [offset, length] : beyond) {
      EXPECT_EQ(pair.write(offset, length), code(WcStatus::kRemoteAccessError)) << type << " " << offset;
      pair.again();
    }
  }
}

TEST(WindowTest, its_rights_are_its_own) {
  const std::pair<std::uint32_t, WqeOpcode> rights[] = {{ib::kRemoteWrite, WqeOpcode::kRdmaWrite},
                                                        {ib::kRemoteRead, WqeOpcode::kRdmaRead},
                                                        {ib::kRemoteAtomic, WqeOpcode::kAtomicCompareSwap}};
  for (const auto& [right, opcode] : rights) {
    Windows with(2), without(2);
    ASSERT_EQ(with.bind({0, 64, right}), 0u);
    EXPECT_EQ(with.ask(opcode, 0, 8, with.window.rkey), 0u);
    ASSERT_EQ(without.bind({0, 64, kAll & ~right}), 0u);
    EXPECT_EQ(without.ask(opcode, 0, 8, without.window.rkey), code(WcStatus::kRemoteAccessError));
  }
}

TEST(WindowTest, a_zero_based_window_counts_from_its_first_byte) {
  Windows pair(2);
  ASSERT_EQ(pair.bind({1000, 100, kAll | ib::kZeroBased}), 0u);
  pair.a.fill(0, 50, 9);
  EXPECT_EQ(pair.write(50 - Program::kBuffer, 50), 0u);
  EXPECT_TRUE(pair.b.equals(1050, 50, 9));
  EXPECT_EQ(pair.write(51 - Program::kBuffer, 50), code(WcStatus::kRemoteAccessError));
}

TEST(WindowTest, what_cannot_be_bound_is_a_bind_error) {
  struct Case {
    const char* name;
    std::uint32_t type;
    std::uint32_t region_access;
    Binding to;
    std::function<void(Windows&, SendRequest&)> spoil;
  };
  const std::uint64_t whole = PairOptions{}.buffer_bytes;
  const Case cases[] = {
      {"a region that is not made for windows", 1, ib::kLocalWrite, {0, 64}, {}},
      {"remote write without local write", 2, ib::kMwBind, {0, 64, ib::kRemoteWrite}, {}},
      {"remote atomic without local write", 1, ib::kMwBind, {0, 64, ib::kRemoteAtomic}, {}},
      {"beyond the region", 2, kForWindows, {whole - 8, 9}, {}},
      {"round the end of all addresses", 1, kForWindows, {8, ~std::uint64_t{0}}, {}},
      {"a right that windows do not give", 2, kForWindows, {0, 64, ib::kMwBind}, {}},
      {"no bytes, type 2", 2, kForWindows, {0, 0}, {}},
      {"an unknown region", 1, kForWindows, {0, 64}, [](Windows&, SendRequest& wr) { wr.swap ^= 0x10; }},
      {"an unknown window", 1, kForWindows, {0, 64}, [](Windows&, SendRequest& wr) { wr.address_handle += 9; }},
      {"a region of another domain", 2, kForWindows, {0, 64},
       [](Windows& pair, SendRequest& wr) {
         protocol::AllocPd alloc{};
         ASSERT_EQ(pair.b.program.command(alloc), 0);
         const std::uint32_t own = std::exchange(pair.b.program.pd, alloc.handle);
         wr.swap = pair.b.program.reg_mr(Program::kBuffer, 4096, kForWindows).lkey;
         pair.b.program.pd = own;
       }},
      {"a window of another domain", 2, kForWindows, {0, 64},
       [](Windows& pair, SendRequest& wr) {
         protocol::AllocPd alloc{};
         ASSERT_EQ(pair.b.program.command(alloc), 0);
         const std::uint32_t own = std::exchange(pair.b.program.pd, alloc.handle);
         const Window other = alloc_mw(pair.b.program, 2);
         wr.address_handle = other.handle;
         wr.rkey = other.rkey;
         pair.b.program.pd = own;
       }},
  };
  for (const Case& c : cases) {
    Windows pair(c.type, {}, c.region_access);
    SendRequest wr = pair.binding(c.to, pair.next_key());
    if (c.spoil) c.spoil(pair, wr);
    pair.b.program.post_send(pair.b.qp, wr);
    pair.b.program.post_send(pair.b.qp, {.wr_id = 8, .sges = {pair.b.sge(0, 8)}});
    pair.world.run();
    const auto done = pair.b.program.drain(pair.b.send_cq);
    ASSERT_EQ(done.size(), 2u) << c.name;
    EXPECT_EQ(done[0].status, code(WcStatus::kMwBindError)) << c.name;
    EXPECT_EQ(done[1].status, code(WcStatus::kWorkRequestFlushed)) << c.name;
    EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr) << c.name;
    EXPECT_EQ(pair.write(0, 8), code(WcStatus::kRetryExceeded)) << c.name;  // no answer
  }
}

// mlx5 takes the low byte of the new key, whatever its other bytes are.
TEST(WindowTest, only_the_low_byte_of_a_new_key_is_the_programs) {
  Windows pair(2);
  pair.b.program.post_send(pair.b.qp, pair.binding({0, 64}, 0x12345));
  pair.world.run();
  ASSERT_EQ(pair.b.program.drain(pair.b.send_cq).at(0).status, 0u);
  pair.window.rkey = (pair.window.rkey & ~0xffu) | 0x45u;
  EXPECT_EQ(pair.write(0, 8), 0u);
}

TEST(WindowTest, a_window_of_type_1_moves_when_it_is_bound_again_and_ends_when_it_is_bound_to_nothing) {
  Windows pair(1);
  ASSERT_EQ(pair.bind({0, 64}), 0u);
  const std::uint32_t first = pair.window.rkey;
  ASSERT_EQ(pair.bind({4096, 64}), 0u);
  EXPECT_EQ(pair.write(4096, 8), 0u);
  EXPECT_EQ(pair.ask(WqeOpcode::kRdmaWrite, 0, 8, first), code(WcStatus::kRemoteAccessError));
  pair.again();
  ASSERT_EQ(pair.bind({0, 0, 0}), 0u);
  EXPECT_EQ(pair.write(4096, 8), code(WcStatus::kRemoteAccessError));
}

TEST(WindowTest, a_window_of_type_2_is_bound_again_after_it_was_invalidated) {
  Windows pair(2);
  ASSERT_EQ(pair.bind({0, 64}), 0u);
  const std::uint32_t first = pair.window.rkey;
  pair.b.program.post_send(pair.b.qp, {.wr_id = 3, .opcode = WqeOpcode::kLocalInvalidate, .rkey = first});
  pair.world.run();
  const auto done = pair.b.program.drain(pair.b.send_cq);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, 0u);
  EXPECT_EQ(done[0].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kLocalInvalidate));
  EXPECT_EQ(pair.write(0, 8), code(WcStatus::kRemoteAccessError));
  pair.again();
  ASSERT_EQ(pair.bind({128, 64}), 0u);
  EXPECT_EQ(pair.write(128, 8), 0u);
  EXPECT_EQ(pair.bind({0, 64}), code(WcStatus::kMwBindError));  // the window is still bound
}

TEST(WindowTest, one_of_type_2_serves_the_queue_pair_through_which_it_was_bound) {
  for (const std::uint32_t type : {1u, 2u}) {
    Windows pair(type);
    Qp other_a = pair.a.program.create_qp(pair.a.send_cq, pair.a.recv_cq);
    const Qp other_b = pair.b.program.create_qp(pair.b.send_cq, pair.b.recv_cq);
    for (auto* side : {&pair.a, &pair.b}) {
      const Qp& own = side == &pair.a ? other_a : other_b;
      const Qp& peer = side == &pair.a ? other_b : other_a;
      ASSERT_EQ(side->program.to_init(own, {}), 0);
      ASSERT_EQ(side->program.to_rtr(own, side == &pair.a ? 2 : 1, peer.made.number, {}), 0);
      ASSERT_EQ(side->program.to_rts(own, {}), 0);
    }
    ASSERT_EQ(pair.bind({0, 64}), 0u);
    EXPECT_EQ(pair.write(0, 8), 0u);
    std::swap(other_a, pair.a.qp);
    EXPECT_EQ(pair.write(0, 8), type == 1 ? 0u : code(WcStatus::kRemoteAccessError));
  }
}

TEST(WindowTest, a_send_invalidates_a_window_of_type_2_and_nothing_else) {
  enum Kind { kBound, kNotBound, kType1, kRegion, kStale, kKinds };
  for (int kind = 0; kind < kKinds; ++kind) {
    PairOptions options;
    options.path.mtu = 1;
    Windows pair(kind == kType1 ? 1 : 2, options);
    const std::uint32_t before = pair.window.rkey;
    if (kind != kNotBound) {
      ASSERT_EQ(pair.bind({0, 8192}), 0u);
    }
    const std::uint32_t key = kind == kRegion ? pair.region.rkey : kind == kStale ? before : pair.window.rkey;
    pair.b.program.post_recv(pair.b.qp, 1, {{Program::kBuffer, 4096, pair.region.lkey}});
    pair.a.program.post_send(
        pair.a.qp,
        {.wr_id = 4, .opcode = WqeOpcode::kSendWithInvalidate, .sges = {pair.a.sge(0, 600)}, .immediate = key});
    pair.world.run();
    const auto received = pair.b.program.drain(pair.b.recv_cq);
    const auto sent = pair.a.program.drain(pair.a.send_cq);
    ASSERT_EQ(received.size(), 1u);
    ASSERT_EQ(sent.size(), 1u);
    if (kind == kBound || kind == kNotBound) {
      EXPECT_EQ(sent[0].status, 0u);
      EXPECT_EQ(received[0].status, 0u);
      EXPECT_EQ(received[0].flags, ib::kWcWithInvalidate);
      EXPECT_EQ(received[0].immediate, key);
      EXPECT_EQ(received[0].byte_length, 600u);
      EXPECT_EQ(pair.write(0, 8), code(WcStatus::kRemoteAccessError)) << kind;
      pair.again();
      EXPECT_EQ(pair.bind({0, 64}), 0u);
    } else {
      EXPECT_EQ(sent[0].status, code(WcStatus::kRemoteAccessError)) << kind;
      EXPECT_EQ(received[0].status, code(WcStatus::kLocalProtectionError)) << kind;
      EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kErr);
      pair.again();
      EXPECT_EQ(pair.write(0, 8), 0u) << kind;
    }
  }
}

// A SEND whose acknowledgement was lost is repeated after the window has been bound again with the same key.
TEST(WindowTest, a_repeated_send_invalidates_nothing) {
  Windows pair(2);
  ASSERT_EQ(pair.bind({0, 64}), 0u);
  const std::uint32_t key = pair.window.rkey;
  bool loses = true;
  pair.world.to_client.keep = [&](ib::Packet&) { return !loses; };
  pair.b.program.post_recv(pair.b.qp, 1, {{Program::kBuffer, 4096, pair.region.lkey}});
  pair.a.program.post_send(
      pair.a.qp, {.wr_id = 4, .opcode = WqeOpcode::kSendWithInvalidate, .sges = {pair.a.sge(0, 8)}, .immediate = key});
  pair.world.run_for(Duration(30'000'000));
  ASSERT_EQ(pair.b.program.drain(pair.b.recv_cq).size(), 1u);
  ASSERT_TRUE(pair.a.program.drain(pair.a.send_cq).empty());
  pair.b.program.post_send(pair.b.qp, pair.binding({0, 64}, key));
  loses = false;
  pair.world.run();
  EXPECT_GT(pair.world.trace.count(TraceEvent::kDuplicate), 0u);
  EXPECT_EQ(pair.b.program.drain(pair.b.send_cq).at(0).status, 0u);
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
  EXPECT_EQ(pair.write(0, 8), 0u);
}

// A SEND after a bind reaches the peer when the window exists, also if long requests precede the bind.
TEST(WindowTest, binding_keeps_its_place_among_requests) {
  PairOptions options;
  options.path.mtu = 1;
  Windows pair(2, options);
  const std::uint32_t key = pair.next_key();
  pair.a.program.post_recv(pair.a.qp, 1, {pair.a.sge(0, 64)});
  pair.a.program.post_recv(pair.a.qp, 2, {pair.a.sge(0, 64)});
  Qp& qp = pair.b.qp;
  pair.b.program.write_send(qp, {.wr_id = 1, .opcode = WqeOpcode::kRdmaRead, .sges = {pair.b.sge(65536, 900000)},
                                 .remote_va = Program::kBuffer, .rkey = pair.a.mr.rkey});
  pair.b.program.write_send(qp, {.wr_id = 2, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.b.sge(0, 20000)},
                                 .remote_va = Program::kBuffer + 65536, .rkey = pair.a.mr.rkey});
  SendRequest bind = pair.binding({0, 64}, key);
  bind.wr_id = 3;
  pair.b.program.write_send(qp, bind);
  pair.b.program.write_send(qp, {.wr_id = 4, .sges = {pair.b.sge(0, 8)}});
  SendRequest end = {.wr_id = 5, .opcode = WqeOpcode::kLocalInvalidate, .flags = protocol::kWqeSignaled | protocol::kWqeFence,
                     .rkey = key};
  pair.b.program.write_send(qp, end);
  pair.b.program.write_send(qp, {.wr_id = 6, .sges = {pair.b.sge(0, 8)}});
  pair.b.program.ring(qp);
  std::vector<std::uint64_t> told;
  std::uint8_t first = 0xff;
  while (told.size() < 2) {
    pair.world.run_for(Duration(100'000));
    for (const auto& entry : pair.a.program.drain(pair.a.recv_cq)) {
      told.push_back(entry.wr_id);
      if (told.size() == 1) {
        // The fenced invalidation does not start before the READ is complete.
        pair.a.program.post_send(pair.a.qp, {.wr_id = 9, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 8)},
                                             .remote_va = Program::kBuffer, .rkey = key});
      }
    }
    for (const auto& entry : pair.a.program.drain(pair.a.send_cq)) first = entry.status;
  }
  EXPECT_EQ(first, 0u);
  pair.window.rkey = key;
  EXPECT_EQ(pair.write(0, 8), code(WcStatus::kRemoteAccessError));
  const auto done = pair.b.program.drain(pair.b.send_cq);
  ASSERT_EQ(done.size(), 6u);
  for (std::size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].wr_id, i + 1);
    EXPECT_EQ(done[i].status, 0u);
  }
}

// Binds among other requests with every seventh packet lost: nothing is executed twice or out of order.
TEST(WindowTest, binding_survives_retransmissions) {
  PairOptions options;
  options.path.mtu = 1;
  options.path.timeout = 1;
  options.capabilities = {256, 64, 4, 4, 64};
  Windows pair(2, options);
  std::uint32_t count = 0;
  const auto keep = [&](ib::Packet&) { return ++count % 7 != 0; };
  pair.world.to_client.keep = pair.world.to_server.keep = keep;
  std::uint64_t id = 0;
  for (int round = 0; round < 20; ++round) {
    const std::uint32_t key = pair.next_key();
    pair.b.program.post_send(pair.b.qp, {.wr_id = id++, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.b.sge(0, 700)},
                                         .remote_va = Program::kBuffer, .rkey = pair.a.mr.rkey});
    SendRequest bind = pair.binding({static_cast<std::uint64_t>(round), 64}, key);
    bind.wr_id = id++;
    pair.b.program.post_send(pair.b.qp, bind);
    pair.b.program.post_send(pair.b.qp, {.wr_id = id++, .opcode = WqeOpcode::kRdmaRead, .sges = {pair.b.sge(4096, 700)},
                                         .remote_va = Program::kBuffer, .rkey = pair.a.mr.rkey});
    if (round < 19) {
      pair.b.program.post_send(pair.b.qp, {.wr_id = id++, .opcode = WqeOpcode::kLocalInvalidate, .rkey = key});
    }
  }
  pair.world.run();
  const auto done = pair.b.program.drain(pair.b.send_cq);
  ASSERT_EQ(done.size(), id);
  for (std::size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, 0u) << i;
  }
  EXPECT_GT(pair.world.trace.count(TraceEvent::kRetransmission), 0u);
  pair.world.to_client.keep = pair.world.to_server.keep = {};
  EXPECT_EQ(pair.write(19, 64), 0u);
}

TEST(WindowTest, what_has_a_window_bound_to_it_stays) {
  for (const std::uint32_t type : {1u, 2u}) {
    Windows pair(type);
    Program& program = pair.b.program;
    ASSERT_EQ(pair.bind({0, 64}), 0u);
    EXPECT_EQ(program.destroy(CommandType::kDeregMr, pair.region.handle), EBUSY);
    protocol::ReregMr rereg{};
    rereg.handle = pair.region.handle;
    rereg.flags = 4;
    rereg.access = ib::kLocalWrite;
    EXPECT_EQ(program.command(rereg), EBUSY);
    EXPECT_EQ(pair.write(0, 8), 0u);
    EXPECT_EQ(program.destroy(CommandType::kDeallocMw, pair.window.handle), 0);
    EXPECT_EQ(program.destroy(CommandType::kDeallocMw, pair.window.handle), ENOENT);
    EXPECT_EQ(pair.write(0, 8), code(WcStatus::kRemoteAccessError));
    EXPECT_EQ(program.destroy(CommandType::kDeregMr, pair.region.handle), 0);
  }
}

TEST(WindowTest, destroying_the_queue_pair_ends_its_windows_of_type_2) {
  for (const std::uint32_t type : {1u, 2u}) {
    Windows pair(type);
    ASSERT_EQ(pair.bind({0, 64}), 0u);
    ASSERT_EQ(pair.b.program.destroy(CommandType::kDestroyQp, pair.b.qp.made.handle), 0);
    EXPECT_EQ(pair.b.program.destroy(CommandType::kDeregMr, pair.region.handle), type == 1 ? EBUSY : 0);
  }
}

TEST(WindowTest, a_domain_with_a_window_stays) {
  Windows pair(1);
  Program& program = pair.b.program;
  protocol::AllocPd alloc{};
  ASSERT_EQ(program.command(alloc), 0);
  program.pd = alloc.handle;
  const Window window = alloc_mw(program, 2);
  EXPECT_EQ(program.destroy(CommandType::kDeallocPd, alloc.handle), EBUSY);
  EXPECT_EQ(program.destroy(CommandType::kDeallocMw, window.handle), 0);
  EXPECT_EQ(program.destroy(CommandType::kDeallocPd, alloc.handle), 0);
  int status = 0;
  alloc_mw(program, 1, &status);
  EXPECT_EQ(status, EINVAL);  // no such domain
  for (const std::uint32_t type : {0u, 3u}) {
    alloc_mw(pair.a.program, type, &status);
    EXPECT_EQ(status, EINVAL);
  }
}

TEST(WindowTest, the_key_of_a_window_is_no_local_key_and_stale_ones_are_found_out) {
  Windows pair(2);
  ASSERT_EQ(pair.bind({0, 64}), 0u);
  pair.b.program.post_send(pair.b.qp, {.wr_id = 1, .sges = {{Program::kBuffer, 8, pair.window.rkey}}});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.send_cq).at(0).status, code(WcStatus::kLocalProtectionError));
  pair.again();
  ASSERT_EQ(pair.b.program.destroy(CommandType::kDeallocMw, pair.window.handle), 0);
  const Mr next = pair.b.program.reg_mr(Program::kBuffer, 4096, ib::kLocalWrite | ib::kRemoteWrite);
  EXPECT_NE(next.rkey, pair.window.rkey);
  EXPECT_EQ(pair.write(0, 8), code(WcStatus::kRemoteAccessError));
}

TEST(WindowTest, unreliable_connections_have_windows_too) {
  PairOptions options;
  options.type = ib::QpType::kUc;
  Windows pair(2, options);
  pair.b.program.post_send(pair.b.qp, {.wr_id = 1, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.b.sge(0, 9000)},
                                       .remote_va = Program::kBuffer + 32768, .rkey = pair.a.mr.rkey});
  pair.b.program.post_send(pair.b.qp, pair.binding({0, 64}, pair.next_key()));
  pair.world.run();
  const auto done = pair.b.program.drain(pair.b.send_cq);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].wr_id, 1u);
  EXPECT_EQ(done[1].wr_id, 7u);
  EXPECT_EQ(done[1].opcode, static_cast<std::uint8_t>(ib::WcOpcode::kBindMw));
  EXPECT_EQ(done[0].status + done[1].status, 0);
  pair.a.fill(0, 64, 5);
  EXPECT_EQ(pair.write(0, 64), 0u);
  EXPECT_TRUE(pair.b.equals(0, 64, 5));
  // An unreliable queue pair with an error of its own sends no more, but receives.
  pair.b.program.post_send(pair.b.qp, {.wr_id = 2, .opcode = WqeOpcode::kLocalInvalidate, .rkey = pair.region.rkey});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.send_cq).at(0).status, code(WcStatus::kLocalQpOperationError));
  EXPECT_EQ(pair.b.program.state(pair.b.qp), QpState::kSqe);
}

TEST(WindowTest, the_device_says_so) {
  Pair pair;
  protocol::QueryDevice query{};
  ASSERT_EQ(pair.a.program.command(query), 0);
  constexpr std::uint64_t kWindow = 1u << 17, kExtensions = 1u << 21, kType2A = 1u << 23, kType2B = 1u << 24;
  EXPECT_EQ(query.attributes.device_cap_flags & (kWindow | kExtensions | kType2A | kType2B),
            kWindow | kExtensions | kType2B);
  EXPECT_GT(query.attributes.max_mw, 0u);
}

}  // namespace
}  // namespace verbatim::test
