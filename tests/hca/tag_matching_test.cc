// Shared receive queues with tag matching, from the ring of operations to what a message leaves behind.
#include <endian.h>
#include <gtest/gtest.h>
#include <infiniband/tm_types.h>

#include <cstring>

#include "tests/hca/requests.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcOpcode;
using ib::WcStatus;
using protocol::CqeQueue;
using protocol::TagOpcode;

constexpr std::uint32_t kOperations = 4;
constexpr std::uint32_t kMessage = 1000;  // bytes of an eager message behind its header: four packets

// A client whose messages the server's list of tags receives.
struct Tags {
  explicit Tags(std::uint32_t send_entries = 64, std::uint8_t max_rd_atomic = 4)
      : client(world, *world.client), server(world, *world.server) {
    path.mtu = 1;
    path.min_rnr_timer = 1;
    path.max_rd_atomic = max_rd_atomic;
    constexpr std::uint32_t kAccess = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead;
    client_mr = client.reg_mr(Program::kBuffer, 1 << 20, kAccess);
    server_mr = server.reg_mr(Program::kBuffer, 1 << 20, kAccess);
    client_cq = client.create_cq(256);
    client_recv_cq = client.create_cq(256);
    server_cq = server.create_cq(256);
    srq_cq = server.create_cq(256);
    srq = server.create_tag_srq(16, srq_cq, 8, kOperations);
    from = client.create_qp(client_cq, client_recv_cq, {64, 64, 4, 4, 64});
    to = server.create_qp(server_cq, server_cq, {send_entries, 0, 1, 0, 0}, ib::QpType::kRc, srq.made.handle);
    EXPECT_EQ(client.to_init(from, path) + server.to_init(to, path), 0);
    EXPECT_EQ(client.to_rtr(from, 2, to.made.number, path) + server.to_rtr(to, 1, from.made.number, path), 0);
    EXPECT_EQ(client.to_rts(from, path) + server.to_rts(to, path), 0);
  }

  protocol::TagOperationWqe* next_entry() {
    const std::uint32_t index = posted++ & (srq.made.operation_entries - 1);
    return reinterpret_cast<protocol::TagOperationWqe*>(
        server.at(srq.made.operation_offset + std::size_t{index} * srq.made.operation_stride));
  }
  void ring() {
    world.server->ring_doorbell(server.context, protocol::DoorbellKind::kTagOperations, srq.made.number, posted);
  }
  // A tagged receive of `bytes` at `offset` of the buffer, with its number as tag.
  void add(std::uint32_t handle, std::uint64_t offset, std::uint32_t bytes) {
    protocol::TagOperationWqe* entry = next_entry();
    *entry = {};
    entry->wr_id = 1000 + handle;
    entry->recv_wr_id = handle;
    entry->tag = handle;
    entry->mask = 0xffff;
    entry->handle = handle;
    entry->opcode = TagOpcode::kAdd;
    entry->flags = protocol::kTagSignaled;
    entry->sge_count = 1;
    const protocol::Sge sge{Program::kBuffer + offset, bytes, server_mr.lkey};
    std::memcpy(entry + 1, &sge, sizeof(sge));
    ring();
  }
  void change(TagOpcode opcode, std::uint32_t handle, std::uint32_t unexpected = 0) {
    protocol::TagOperationWqe* entry = next_entry();
    *entry = {};
    entry->wr_id = 2000 + handle;
    entry->handle = handle;
    entry->opcode = opcode;
    entry->flags = protocol::kTagSignaled | (opcode == TagOpcode::kSync ? protocol::kTagSync : 0);
    entry->unexpected_count = unexpected;
    ring();
  }
  void post_recv(std::uint64_t wr_id) {
    server.post_recv(srq, wr_id, {{Program::kBuffer + 0x80000, 4096, server_mr.lkey}});
  }
  void post_client_recv() { client.post_recv(from, 500, {{Program::kBuffer + 0x90000, 64, client_mr.lkey}}); }

  // Writes a header, and behind it what counts up.
  void send(std::uint8_t opcode, std::uint64_t tag, std::uint32_t bytes) {
    auto buffer = client.memory.at(Program::kBuffer, sizeof(ibv_tmh) + bytes);
    const ibv_tmh header{opcode, {}, htobe32(0xabcd), htobe64(tag)};
    for (std::size_t i = 0; i < bytes; ++i) buffer[sizeof(header) + i] = static_cast<std::byte>(i * 7 + 3);
    std::memcpy(buffer.data(), &header, sizeof(header));
    post(sizeof(header) + bytes);
  }
  // Announces `bytes` at 0x20000 of the client's buffer.
  void announce(std::uint64_t tag, std::uint32_t bytes, std::uint32_t rkey) {
    auto buffer = client.memory.at(Program::kBuffer, 32);
    const ibv_tmh header{IBV_TMH_RNDV, {}, htobe32(0xabcd), htobe64(tag)};
    const ibv_rvh announced{htobe64(Program::kBuffer + 0x20000), htobe32(rkey), htobe32(bytes)};
    std::memcpy(buffer.data(), &header, sizeof(header));
    std::memcpy(&buffer[sizeof(header)], &announced, sizeof(announced));
    auto data = client.memory.at(Program::kBuffer + 0x20000, bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + 3);
    post(32);
  }
  void post(std::uint32_t bytes) {
    client.post_send(from, {.wr_id = 1, .sges = {{Program::kBuffer, bytes, client_mr.lkey}}});
  }
  bool has_message(std::uint64_t offset, std::uint32_t bytes) {
    const auto buffer = server.memory.at(Program::kBuffer + offset, bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      if (buffer[i] != static_cast<std::byte>(i * 7 + 3)) return false;
    }
    return true;
  }
  std::vector<protocol::Cqe> results() {
    world.run();
    return server.drain(srq_cq);
  }

  PathOptions path;
  World world;
  Program client, server;
  Mr client_mr, server_mr;
  Cq client_cq, client_recv_cq, server_cq, srq_cq;
  Srq srq;
  Qp from, to;
  std::uint32_t posted = 0;
};

std::uint64_t tag_of(const protocol::Cqe& entry) { return std::uint64_t{entry.source_qp} << 32 | entry.wqe_counter; }
void expect(const protocol::Cqe& entry, WcOpcode opcode, std::uint64_t wr_id, std::uint8_t flags) {
  EXPECT_EQ(entry.status, 0);
  EXPECT_EQ(entry.opcode, static_cast<std::uint8_t>(opcode));
  EXPECT_EQ(entry.wr_id, wr_id);
  EXPECT_EQ(entry.flags, flags);
}

TEST(TagMatching, an_expected_message_lies_in_its_buffer_without_the_header_and_tells_what_that_said) {
  Tags tags;
  tags.add(7, 0x1000, kMessage);
  tags.send(IBV_TMH_EAGER, 0x5500'0000'0001'0007, kMessage);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 2u);
  expect(entries[1], WcOpcode::kTagReceive, 7, ib::kWcTagMatch | ib::kWcTagDataValid);
  EXPECT_EQ(entries[1].queue, CqeQueue::kNone);
  EXPECT_EQ(entries[1].byte_length, kMessage);
  EXPECT_EQ(tag_of(entries[1]), 0x5500'0000'0001'0007u);
  EXPECT_EQ(entries[1].srq_number, htobe32(0xabcd));
  EXPECT_EQ(entries[1].qpn, tags.to.made.number);
  EXPECT_TRUE(tags.has_message(0x1000, kMessage));
  EXPECT_EQ(tags.server.drain(tags.server_cq).size(), 0u);
}

TEST(TagMatching, lost_packets_change_nothing_of_it) {
  for (std::uint32_t lost = 0; lost < 4; ++lost) {
    Tags tags;
    tags.add(7, 0x1000, kMessage);
    tags.world.run();
    tags.world.to_server.keep = lose({lost});
    tags.send(IBV_TMH_EAGER, 7, kMessage);
    const std::vector<protocol::Cqe> entries = tags.results();
    ASSERT_EQ(entries.size(), 2u) << lost;
    expect(entries[1], WcOpcode::kTagReceive, 7, ib::kWcTagMatch | ib::kWcTagDataValid);
    EXPECT_TRUE(tags.has_message(0x1000, kMessage));
  }
}

TEST(TagMatching, an_unexpected_message_waits_for_a_receive_of_the_ring_and_takes_it_whole) {
  Tags tags;
  tags.send(IBV_TMH_EAGER, 7, kMessage);
  tags.world.run_for(Duration{30'000'000});
  EXPECT_TRUE(tags.server.drain(tags.srq_cq).empty());
  tags.post_recv(3);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 1u);
  expect(entries[0], WcOpcode::kTagReceive, 3, 0);
  EXPECT_EQ(entries[0].queue, CqeQueue::kReceive);
  EXPECT_EQ(entries[0].byte_length, kMessage + sizeof(ibv_tmh));
  EXPECT_TRUE(tags.has_message(0x80000 + sizeof(ibv_tmh), kMessage));
  // From here until the program's report, an added entry requires one, and matches nothing.
  tags.add(7, 0x1000, kMessage);
  tags.change(TagOpcode::kSync, 0, 1);
  const std::vector<protocol::Cqe> operations = tags.results();
  ASSERT_EQ(operations.size(), 2u);
  expect(operations[0], WcOpcode::kTagAdd, 1007, ib::kWcTagSyncRequired);
  expect(operations[1], WcOpcode::kTagSync, 2000, 0);
}

TEST(TagMatching, a_receive_that_is_added_while_the_message_is_refused_takes_it) {
  Tags tags;
  tags.send(IBV_TMH_EAGER, 7, kMessage);
  tags.world.run_for(Duration{5'000'000});  // receiver not ready
  tags.add(7, 0x1000, kMessage);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 2u);
  expect(entries[1], WcOpcode::kTagReceive, 7, ib::kWcTagMatch | ib::kWcTagDataValid);
}

TEST(TagMatching, what_has_no_tag_completes_as_such) {
  Tags tags;
  tags.post_recv(3);
  tags.add(7, 0x1000, kMessage);
  tags.send(IBV_TMH_NO_TAG, 7, 100);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 2u);
  expect(entries[1], WcOpcode::kNoTag, 3, 0);
}

TEST(TagMatching, a_write_with_immediate_takes_a_receive_of_the_ring) {
  Tags tags;
  tags.post_recv(3);
  tags.client.post_send(tags.from, {.wr_id = 1,
                                    .opcode = WqeOpcode::kRdmaWriteWithImm,
                                    .sges = {{Program::kBuffer, 100, tags.client_mr.lkey}},
                                    .remote_va = Program::kBuffer + 0x1000,
                                    .rkey = tags.server_mr.rkey});
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 1u);
  expect(entries[0], WcOpcode::kReceiveRdmaWithImm, 3, ib::kWcWithImm);
}

TEST(TagMatching, a_deleted_receive_takes_nothing_and_deleting_too_late_says_so) {
  Tags tags;
  tags.add(7, 0x1000, kMessage);
  tags.change(TagOpcode::kDelete, 7);
  tags.change(TagOpcode::kDelete, 7);
  tags.post_recv(3);
  tags.send(IBV_TMH_EAGER, 7, 10);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 4u);
  expect(entries[1], WcOpcode::kTagDelete, 2007, 0);
  EXPECT_EQ(entries[2].status, code(WcStatus::kTagMatchingError));
  expect(entries[3], WcOpcode::kTagReceive, 3, 0);
  const auto* record =
      reinterpret_cast<const protocol::SharedReceiveQueueRecord*>(tags.server.at(tags.srq.made.record_offset));
  EXPECT_EQ(record->operations_done.load(), 3u);
  EXPECT_EQ(record->tags_left.load(), 1u);
}

TEST(TagMatching, the_adapter_reads_what_is_announced_and_tells_both_sides) {
  for (const std::uint32_t bytes : {0u, 1u, 256u, 3000u}) {
    Tags tags;
    tags.post_client_recv();
    tags.add(7, 0x1000, 4096);
    tags.announce(7, bytes, tags.client_mr.rkey);
    const std::vector<protocol::Cqe> entries = tags.results();
    ASSERT_EQ(entries.size(), 3u) << bytes;
    expect(entries[1], WcOpcode::kTagReceive, 7, ib::kWcTagMatch);
    EXPECT_EQ(tag_of(entries[1]), 7u);
    expect(entries[2], WcOpcode::kTagReceive, 7, ib::kWcTagDataValid);
    EXPECT_EQ(entries[2].byte_length, bytes);
    EXPECT_TRUE(tags.has_message(0x1000, bytes));
    // The sender gets its message back as ended, and the server's own send queue has nothing of it.
    const std::vector<protocol::Cqe> told = tags.client.drain(tags.client_recv_cq);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].byte_length, sizeof(ibv_tmh));
    ibv_tmh header;
    std::memcpy(&header, tags.client.memory.at(Program::kBuffer + 0x90000, sizeof(header)).data(), sizeof(header));
    EXPECT_EQ(header.opcode, IBV_TMH_FIN);
    EXPECT_EQ(header.tag, htobe64(7));
    EXPECT_EQ(header.app_ctx, htobe32(0xabcd));
    EXPECT_TRUE(tags.server.drain(tags.server_cq).empty());
  }
}

TEST(TagMatching, a_rendezvous_survives_losses_on_either_way) {
  for (std::uint32_t lost = 0; lost < 12; ++lost) {
    for (const bool to_server : {true, false}) {
      Tags tags;
      tags.post_client_recv();
      tags.add(7, 0x1000, 4096);
      tags.world.run();
      (to_server ? tags.world.to_server : tags.world.to_client).keep = lose({lost});
      tags.announce(7, 1500, tags.client_mr.rkey);
      const std::vector<protocol::Cqe> entries = tags.results();
      ASSERT_EQ(entries.size(), 3u) << lost << to_server;
      expect(entries[2], WcOpcode::kTagReceive, 7, ib::kWcTagDataValid);
      EXPECT_TRUE(tags.has_message(0x1000, 1500));
      EXPECT_EQ(tags.client.drain(tags.client_recv_cq).size(), 1u);
    }
  }
}

TEST(TagMatching, a_rendezvous_among_the_programs_own_requests_takes_no_slot_of_their_ring) {
  Tags tags(/*send_entries=*/2);
  for (std::uint32_t round = 0; round < 6; ++round) {
    tags.post_client_recv();
    tags.add(7, 0x1000, 4096);
    tags.announce(7, 2000, tags.client_mr.rkey);
    for (std::uint32_t i = 0; i < 2; ++i) {
      tags.server.post_send(tags.to, {.wr_id = 10 + i,
                                      .opcode = WqeOpcode::kRdmaWrite,
                                      .sges = {{Program::kBuffer, 600, tags.server_mr.lkey}},
                                      .remote_va = Program::kBuffer + 0x40000,
                                      .rkey = tags.client_mr.rkey});
      // Once before the announcement arrives, once during its READ.
      tags.world.run_for(Duration{2'600'000});
    }
    EXPECT_EQ(tags.results().size(), 3u) << round;
    const std::vector<protocol::Cqe> own = tags.server.drain(tags.server_cq);
    ASSERT_EQ(own.size(), 2u) << round;
    for (std::uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(own[i].wr_id, 10 + i);
      EXPECT_EQ(own[i].wqe_counter, round * 2 + i);
      EXPECT_EQ(own[i].status, 0);
    }
    EXPECT_EQ(tags.server.state(tags.to), QpState::kRts);
  }
}

TEST(TagMatching, a_read_that_the_sender_refuses_fails_the_tagged_receive) {
  Tags tags;
  tags.add(7, 0x1000, 4096);
  tags.announce(7, 1500, tags.client_mr.rkey + 1);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 3u);
  expect(entries[1], WcOpcode::kTagReceive, 7, ib::kWcTagMatch);
  EXPECT_EQ(entries[2].wr_id, 7u);
  EXPECT_EQ(entries[2].status, code(WcStatus::kRemoteAccessError));
  EXPECT_EQ(tags.server.state(tags.to), QpState::kErr);
}

// Longer than its tagged receive, or without READs: the program is to read it, and finds the request where the message would be.
TEST(TagMatching, what_is_announced_and_cannot_be_read_completes_the_tagged_receive_as_incomplete) {
  for (const bool has_reads : {true, false}) {
    Tags tags(64, has_reads ? 4 : 0);
    tags.post_recv(3);
    tags.add(7, 0x1000, has_reads ? 1499 : 4096);
    tags.add(8, 0x3000, 4096);
    tags.announce(7, 1500, tags.client_mr.rkey);
    const std::vector<protocol::Cqe> entries = tags.results();
    ASSERT_EQ(entries.size(), 3u);
    const protocol::Cqe& told = entries[2];
    EXPECT_EQ(told.status, code(WcStatus::kRendezvousIncomplete));
    EXPECT_EQ(told.opcode, static_cast<std::uint8_t>(WcOpcode::kTagReceive));
    EXPECT_EQ(told.wr_id, 7u);
    EXPECT_EQ(told.flags, ib::kWcTagMatch | ib::kWcTagDataValid);
    EXPECT_EQ(told.byte_length, 32u);
    EXPECT_EQ(tag_of(told), 7u);
    ibv_tmh header;
    ibv_rvh announced;
    std::memcpy(&header, tags.server.memory.at(Program::kBuffer + 0x1000, 16).data(), sizeof(header));
    std::memcpy(&announced, tags.server.memory.at(Program::kBuffer + 0x1010, 16).data(), sizeof(announced));
    EXPECT_EQ(header.opcode, IBV_TMH_RNDV);
    EXPECT_EQ(be32toh(announced.len), 1500u);
    // The list and the queue pair go on: it was a match like any other.
    tags.send(IBV_TMH_EAGER, 8, 100);
    const std::vector<protocol::Cqe> next = tags.results();
    ASSERT_EQ(next.size(), 1u);
    expect(next[0], WcOpcode::kTagReceive, 8, ib::kWcTagMatch | ib::kWcTagDataValid);
    EXPECT_EQ(tags.client.drain(tags.client_cq).size(), 2u);
  }
}

TEST(TagMatching, a_request_that_does_not_fit_its_tagged_receive_is_unexpected) {
  Tags tags;
  tags.post_recv(3);
  tags.add(7, 0x1000, 31);
  tags.announce(7, 1500, tags.client_mr.rkey);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 2u);
  expect(entries[1], WcOpcode::kTagReceive, 3, 0);
  EXPECT_EQ(entries[1].byte_length, 32u);
}

TEST(TagMatching, a_message_longer_than_its_tagged_receive_is_a_length_error) {
  Tags tags;
  tags.add(7, 0x1000, 100);
  tags.send(IBV_TMH_EAGER, 7, kMessage);
  const std::vector<protocol::Cqe> entries = tags.results();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].wr_id, 7u);
  EXPECT_EQ(entries[1].status, code(WcStatus::kLocalLengthError));
  EXPECT_EQ(entries[1].queue, CqeQueue::kNone);
  EXPECT_EQ(tags.client.drain(tags.client_cq)[0].status, code(WcStatus::kRemoteInvalidRequestError));
}

TEST(TagMatching, an_error_in_the_middle_of_a_message_flushes_its_tagged_receive) {
  Tags tags;
  tags.add(7, 0x1000, kMessage);
  tags.world.run();
  tags.world.to_server.keep = [n = 0](ib::Packet&) mutable { return n++ < 2; };
  tags.send(IBV_TMH_EAGER, 7, kMessage);
  tags.world.run_for(Duration{5'000'000});
  EXPECT_EQ(tags.server.to_state(tags.to, QpState::kErr), 0);
  tags.world.run_for(Duration{5'000'000});
  const std::vector<protocol::Cqe> entries = tags.server.drain(tags.srq_cq);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].wr_id, 7u);
  EXPECT_EQ(entries[1].status, code(WcStatus::kWorkRequestFlushed));
  EXPECT_EQ(entries[1].queue, CqeQueue::kNone);
}

TEST(TagMatching, an_error_during_a_rendezvous_flushes_its_tagged_receive) {
  Tags tags;
  tags.add(7, 0x1000, 4096);
  tags.world.run();
  tags.world.to_server.keep = [n = 0](ib::Packet&) mutable { return n++ < 1; };
  tags.announce(7, 3000, tags.client_mr.rkey);
  tags.world.run_for(Duration{5'000'000});
  EXPECT_EQ(tags.server.to_state(tags.to, QpState::kErr), 0);
  tags.world.run_for(Duration{5'000'000});
  const std::vector<protocol::Cqe> entries = tags.server.drain(tags.srq_cq);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[2].status, code(WcStatus::kWorkRequestFlushed));
}

TEST(TagMatching, a_forged_producer_or_entry_fails_the_queue_and_its_users_alone) {
  for (const bool forges_entry : {true, false}) {
    Tags tags;
    tags.world.run();
    if (forges_entry) {
      protocol::TagOperationWqe* entry = tags.next_entry();
      *entry = {};
      entry->opcode = static_cast<TagOpcode>(77);
    } else {
      tags.posted += kOperations + 1;
    }
    tags.ring();
    tags.world.run();
    EXPECT_EQ(tags.server.state(tags.to), QpState::kErr);
    EXPECT_EQ(tags.client.state(tags.from), QpState::kRts);
    tags.add(7, 0x1000, 100);
    EXPECT_TRUE(tags.results().empty());
  }
}

TEST(TagMatching, doorbells_of_other_queues_and_of_none_are_nothing) {
  Tags tags;
  const Srq basic = tags.server.create_srq(4);
  for (const std::uint32_t number : {basic.made.number, 0u, 0xffffffu, tags.to.made.number + 1000}) {
    tags.world.server->ring_doorbell(tags.server.context, protocol::DoorbellKind::kTagOperations, number, 1000);
  }
  tags.world.run();
  EXPECT_EQ(tags.server.state(tags.to), QpState::kRts);
}

TEST(TagMatching, its_completion_queue_stays_and_a_datagram_queue_pair_cannot_use_it) {
  Tags tags;
  EXPECT_EQ(tags.server.destroy(protocol::CommandType::kDestroyCq, tags.srq_cq.handle), EBUSY);
  const Qp datagram =
      tags.server.create_qp(tags.server_cq, tags.server_cq, {4, 0, 1, 0, 0}, ib::QpType::kUd, tags.srq.made.handle);
  EXPECT_EQ(datagram.made.handle, 0u);
  EXPECT_EQ(tags.server.destroy(protocol::CommandType::kDestroySrq, tags.srq.made.handle), EBUSY);
  EXPECT_EQ(tags.server.destroy(protocol::CommandType::kDestroyQp, tags.to.made.handle), 0);
  tags.add(7, 0x1000, 100);  // in flight when the queue is destroyed
  EXPECT_EQ(tags.server.destroy(protocol::CommandType::kDestroySrq, tags.srq.made.handle), 0);
  EXPECT_EQ(tags.server.destroy(protocol::CommandType::kDestroyCq, tags.srq_cq.handle), 0);
  tags.world.run();
}

}  // namespace
}  // namespace verbatim::test
