// Requests after an atomic on the same queue pair are executed after it (IBA 9.5: a responder executes SEND,
// WRITE and atomic requests in message order; facts/ordering.md, rules 6 and 8), for any choice of the
// adapter: with its own receives, with shared receives, and through XRC.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

constexpr std::uint32_t kAccess = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;
constexpr std::uint64_t kFrom = 4096;  // what WRITEs bring
constexpr std::uint64_t kAtomics = 4;

enum class Receives { kOwn, kShared, kXrc };

class AtomicOrderTest : public ::testing::TestWithParam<Receives> {
 protected:
  // `seed` 0: hardware as users know it.
  void connect(std::uint64_t seed) {
    choices_ = seed == 0 ? std::unique_ptr<Choices>(std::make_unique<DefaultChoices>())
                         : std::make_unique<SeededChoices>(seed, World::component_names());
    WorldOptions options;
    options.choices = choices_.get();
    from_ = to_ = {};
    server.reset();
    client.reset();
    world = std::make_unique<World>(options);
    client = std::make_unique<Program>(*world, *world->client);
    server = std::make_unique<Program>(*world, *world->server);
    client_mr = client->reg_mr(Program::kBuffer, 1 << 20, kAccess);
    server_mr = server->reg_mr(Program::kBuffer, 1 << 20, kAccess);
    client_cq = client->create_cq(64);
    server_cq = server->create_cq(64);
    make_queue_pairs();
    const PathOptions path;
    ASSERT_EQ(client->to_init(from_, path) + server->to_init(to_, path), 0);
    ASSERT_EQ(client->to_rtr(from_, 2, to_.made.number, path), 0);
    ASSERT_EQ(server->to_rtr(to_, 1, from_.made.number, path), 0);
    ASSERT_EQ(client->to_rts(from_, path), 0);
  }
  void make_queue_pairs() {
    constexpr protocol::QpCapabilities kCapabilities{64, 64, 4, 4, 64};
    const bool is_xrc = GetParam() == Receives::kXrc;
    from_ = is_xrc ? client->create_qp(client_cq, {}, kCapabilities, ib::QpType::kXrcSend)
                   : client->create_qp(client_cq, client_cq, kCapabilities);
    if (is_xrc) {
      to_.made.xrcd = server->open_xrcd(77);
      srq_ = server->create_srq(16, 4, to_.made.xrcd, server_cq.handle);
      ASSERT_EQ(server->try_create_qp(to_, {}, {}, {}, ib::QpType::kXrcReceive), 0);
    } else if (GetParam() == Receives::kShared) {
      srq_ = server->create_srq(16);
      to_ = server->create_qp(server_cq, server_cq, kCapabilities, ib::QpType::kRc, srq_.made.handle);
    } else {
      to_ = server->create_qp(server_cq, server_cq, kCapabilities);
    }
  }
  void post_recv() {
    const std::vector<protocol::Sge> sges = {{Program::kBuffer + 8192, 64, server_mr.lkey}};
    if (GetParam() == Receives::kOwn) {
      server->post_recv(to_, 1, sges);
    } else {
      server->post_recv(srq_, 1, sges);
    }
  }
  void write_send(WqeOpcode opcode, std::uint64_t local, std::uint32_t length, std::uint64_t remote) {
    SendRequest request{.wr_id = 4,
                        .opcode = opcode,
                        .sges = {{Program::kBuffer + local, length, client_mr.lkey}},
                        .remote_va = Program::kBuffer + remote,
                        .rkey = server_mr.rkey,
                        .compare_add = 1};
    if (GetParam() == Receives::kXrc) request.remote_srqn = srq_.made.number;
    client->write_send(from_, request);
  }
  void write_atomics(std::uint64_t stride) {
    for (std::uint64_t i = 0; i < kAtomics; ++i) {
      write_send(WqeOpcode::kAtomicFetchAdd, 8 * i, 8, i * stride);
    }
  }
  void ring() { client->ring(from_); }
  static std::uint64_t word(Program& program, std::uint64_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, program.memory.at(Program::kBuffer + offset, 8).data(), 8);
    return value;
  }
  void expect_success(std::size_t count) {
    const auto sent = client->drain(client_cq);
    ASSERT_EQ(sent.size(), count);
    for (const protocol::Cqe& entry : sent) EXPECT_EQ(entry.status, 0u);
    for (std::uint64_t i = 0; i < kAtomics; ++i) EXPECT_EQ(word(*client, 8 * i), i);
  }
  // When the receive completes, all additions are done.
  void receive_behind_atomics(WqeOpcode opcode, std::uint32_t length) {
    for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(seed);
      ASSERT_NO_FATAL_FAILURE(connect(seed));
      post_recv();
      write_atomics(0);
      write_send(opcode, kFrom, length, 512);
      ring();
      std::size_t received = 0;
      while (world->engine.step()) {
        const std::size_t now = server->drain(server_cq).size();
        if (now > 0) {
          EXPECT_EQ(word(*server, 0), kAtomics);
        }
        received += now;
      }
      EXPECT_EQ(received, 1u);
      expect_success(kAtomics + 1);
      if (HasFailure()) return;
    }
  }

  static constexpr std::uint64_t kSeeds = 60;
  std::unique_ptr<Choices> choices_;
  std::unique_ptr<World> world;
  std::unique_ptr<Program> client, server;
  Mr client_mr, server_mr;
  Cq client_cq, server_cq;
  Srq srq_;
  Qp from_, to_;
};

TEST_P(AtomicOrderTest, a_write_behind_atomics_on_the_same_word_stays) {
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(connect(seed));
    const std::uint64_t value = 1000;
    std::memcpy(client->memory.at(Program::kBuffer + kFrom, 8).data(), &value, 8);
    write_atomics(0);
    write_send(WqeOpcode::kRdmaWrite, kFrom, 8, 0);
    ring();
    world->run();
    EXPECT_EQ(word(*server, 0), value);
    expect_success(kAtomics + 1);
    if (HasFailure()) return;
  }
}

TEST_P(AtomicOrderTest, a_receive_behind_atomics_completes_when_they_are_done) {
  receive_behind_atomics(WqeOpcode::kSend, 16);
}

TEST_P(AtomicOrderTest, so_does_one_that_an_immediate_alone_takes) {
  receive_behind_atomics(WqeOpcode::kRdmaWriteWithImm, 0);
}

TEST_P(AtomicOrderTest, atomics_on_different_words_are_seen_in_order) {
  for (std::uint64_t seed = 0; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(connect(seed));
    write_atomics(8);
    ring();
    while (world->engine.step()) {
      for (std::uint64_t i = 1; i < kAtomics; ++i) {
        EXPECT_LE(word(*server, 8 * i), word(*server, 8 * (i - 1))) << i;
      }
    }
    EXPECT_EQ(word(*server, 8 * (kAtomics - 1)), 1u);
    EXPECT_EQ(client->drain(client_cq).size(), kAtomics);
    if (HasFailure()) return;
  }
}

// A reset drops requests that wait at the responder, and none is executed later.
TEST_P(AtomicOrderTest, a_reset_forgets_what_waits_for_atomics) {
  ASSERT_NO_FATAL_FAILURE(connect(0));
  post_recv();
  write_atomics(0);
  write_send(WqeOpcode::kSend, kFrom, 16, 0);
  ring();
  while (word(*server, 0) == 0) ASSERT_TRUE(world->engine.step());
  ASSERT_EQ(server->to_state(to_, ib::QpState::kReset), 0);
  world->run();
  EXPECT_TRUE(server->drain(server_cq).empty());
}

std::string name_of(const ::testing::TestParamInfo<Receives>& info) {
  constexpr const char* kNames[] = {"own", "shared", "xrc"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Receives, AtomicOrderTest,
                         ::testing::Values(Receives::kOwn, Receives::kShared, Receives::kXrc), name_of);

}  // namespace
}  // namespace verbatim::test
