// The list of tagged receives: effects of operations and messages.
#include <endian.h>
#include <gtest/gtest.h>
#include <infiniband/tm_types.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "sim/hca/queues/tag_list.h"

namespace verbatim::hca {
namespace {

using ib::WcStatus;
using protocol::TagOpcode;

std::vector<std::byte> message(std::uint8_t opcode, std::uint64_t tag, std::size_t bytes = 16) {
  ibv_tmh header{};
  header.opcode = opcode;
  header.app_ctx = 77;
  header.tag = htobe64(tag);
  std::vector<std::byte> payload(bytes);
  std::ranges::copy(std::as_bytes(std::span(&header, 1)).first(std::min(bytes, sizeof(header))), payload.begin());
  return payload;
}

std::vector<std::byte> announcement(std::uint64_t tag, std::uint32_t length, std::size_t bytes = 32) {
  std::vector<std::byte> payload = message(IBV_TMH_RNDV, tag, bytes);
  ibv_rvh announced{};
  announced.va = htobe64(0x1234'0000);
  announced.rkey = htobe32(0x55);
  announced.len = htobe32(length);
  std::memcpy(&payload[sizeof(ibv_tmh)], &announced, std::min(sizeof(announced), bytes - sizeof(ibv_tmh)));
  return payload;
}

struct Tags {
  WcStatus add(std::uint32_t handle, std::uint64_t tag, std::uint64_t mask = ~0ull) {
    TagOperation operation;
    operation.opcode = TagOpcode::kAdd;
    operation.handle = handle;
    operation.recv_wr_id = handle;
    operation.tag = tag;
    operation.mask = mask;
    const protocol::Sge sge{0x1000, 100, 3};
    operation.sges = ScatterList(reinterpret_cast<const std::byte*>(&sge), 1);
    return list.execute(std::move(operation));
  }
  WcStatus remove(std::uint32_t handle) {
    TagOperation operation;
    operation.opcode = TagOpcode::kDelete;
    operation.handle = handle;
    return list.execute(std::move(operation));
  }
  void sync(std::uint32_t count) {
    TagOperation operation;
    operation.flags = protocol::kTagSync;
    operation.unexpected_count = count;
    EXPECT_EQ(list.execute(std::move(operation)), WcStatus::kSuccess);
  }
  // The tagged receive that takes such a message; 0: none does, and it takes one of the ring.
  std::uint64_t receive(const std::vector<std::byte>& payload, bool ends_message = true, bool can_read = true) {
    const std::optional<RecvWork> work = list.take(payload, ends_message, can_read);
    if (work) return work->wr_id;
    last = list.take_unmatched(payload);
    return 0;
  }

  TagList list{4};
  TagMatch last;
};

TEST(TagList, the_first_entry_that_fits_takes_the_message_and_leaves) {
  Tags tags;
  tags.add(1, 5);
  tags.add(2, 0x30, 0xf0);
  tags.add(3, 5);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 5)), 1u);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 5)), 3u);
  EXPECT_EQ(tags.list.left(), 2u);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 0xa37)), 2u);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 5)), 0u);
  EXPECT_EQ(tags.last.opcode, ib::WcOpcode::kTagReceive);
  EXPECT_EQ(tags.last.flags, 0);
}

TEST(TagList, a_tag_with_bits_outside_its_mask_matches_nothing) {
  Tags tags;
  tags.add(1, 0x35, 0xf0);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 0x35)), 0u);
}

TEST(TagList, an_eager_message_is_placed_behind_its_header) {
  Tags tags;
  tags.add(1, 5);
  const std::optional<RecvWork> work = tags.list.take(message(IBV_TMH_EAGER, 5, 40), false, true);
  ASSERT_TRUE(work && work->match);
  EXPECT_EQ(work->match->consumed, 16u);
  EXPECT_EQ(work->capacity, 116u);
  EXPECT_EQ(work->match->tag, 5u);
  EXPECT_EQ(work->match->app_ctx, 77u);
  EXPECT_EQ(work->match->flags, ib::kWcTagMatch | ib::kWcTagDataValid);
  EXPECT_FALSE(work->match->rendezvous);
}

TEST(TagList, what_has_no_tag_is_neither_matched_nor_unexpected) {
  Tags tags;
  tags.add(1, 0, 0);  // would take anything
  for (const std::uint8_t opcode : {0, 2, 9}) EXPECT_EQ(tags.receive(message(opcode, 0)), 0u);
  EXPECT_EQ(tags.last.opcode, ib::WcOpcode::kNoTag);
  for (const std::size_t bytes : {0u, 1u, 15u}) EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 0, bytes)), 0u);
  EXPECT_EQ(tags.last.opcode, ib::WcOpcode::kNoTag);
  EXPECT_TRUE(tags.list.is_synchronized());
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 0)), 1u);
}

TEST(TagList, after_an_unexpected_message_new_entries_wait_for_the_program) {
  Tags tags;
  tags.add(1, 1);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 9)), 0u);
  EXPECT_FALSE(tags.list.is_synchronized());
  tags.add(2, 2);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 2)), 0u);  // the second unexpected one
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 1)), 1u);  // was there before
  tags.sync(1);
  EXPECT_FALSE(tags.list.is_synchronized());
  EXPECT_EQ(tags.list.size(), 1u);
  tags.sync(2);
  EXPECT_TRUE(tags.list.is_synchronized());
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 2)), 2u);
}

TEST(TagList, an_operation_may_bring_the_count_with_it) {
  Tags tags;
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 9)), 0u);
  TagOperation operation;
  operation.opcode = TagOpcode::kAdd;
  operation.flags = protocol::kTagSync;
  operation.unexpected_count = 1;
  operation.recv_wr_id = 8;
  operation.mask = ~0ull;
  operation.tag = 4;
  tags.list.execute(std::move(operation));
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 4)), 0u + 8);
}

TEST(TagList, deleting_fails_when_a_message_was_faster) {
  Tags tags;
  tags.add(1, 1);
  tags.add(2, 2);
  EXPECT_EQ(tags.receive(message(IBV_TMH_EAGER, 1)), 1u);
  EXPECT_EQ(tags.remove(1), WcStatus::kTagMatchingError);
  EXPECT_EQ(tags.remove(2), WcStatus::kSuccess);
  EXPECT_EQ(tags.remove(2), WcStatus::kTagMatchingError);
  EXPECT_EQ(tags.list.left(), 2u);
  EXPECT_EQ(tags.list.size(), 0u);
}

TEST(TagList, it_has_room_for_so_many) {
  Tags tags;
  for (std::uint32_t handle = 1; handle <= 4; ++handle) EXPECT_EQ(tags.add(handle, handle), WcStatus::kSuccess);
  EXPECT_EQ(tags.add(5, 5), WcStatus::kTagMatchingError);
  tags.remove(2);
  EXPECT_EQ(tags.add(5, 5), WcStatus::kSuccess);
}

TEST(TagList, an_announced_message_is_read_when_that_can_be_done) {
  struct Case {
    std::vector<std::byte> payload;
    bool ends_message, can_read, is_taken;
    bool is_incomplete = false;
  };
  const Case kCases[] = {
      {announcement(5, 100), true, true, true},
      {announcement(5, 0), true, true, true},
      {announcement(5, 100, 64), true, true, true},   // with 32 bytes of the program's own
      {announcement(5, 101), true, true, true, true},  // longer than the receive
      {announcement(5, 101, 64), true, true, true, true},
      {announcement(5, 100, 65), true, true, false},  // a longer request than the device takes
      {announcement(5, 100, 64), false, true, false},
      {announcement(5, 100), true, false, true, true},  // the queue pair has no READs
      {announcement(5, 100, 65), true, false, false},
      {announcement(5, 100, 31), true, true, false},
  };
  for (const Case& each : kCases) {
    Tags tags;
    tags.add(1, 5);
    EXPECT_EQ(tags.receive(each.payload, each.ends_message, each.can_read), each.is_taken ? 1u : 0u)
        << each.payload.size();
    EXPECT_EQ(tags.list.size(), each.is_taken ? 0u : 1u);
    EXPECT_EQ(tags.list.is_synchronized(), each.is_taken);
    if (!each.is_taken) continue;
    tags.add(2, 6);
    std::vector<std::byte> other = each.payload;
    other[15] = std::byte{6};
    const std::optional<RecvWork> work = tags.list.take(other, each.ends_message, each.can_read);
    ASSERT_TRUE(work && work->match);
    EXPECT_EQ(work->match->is_incomplete, each.is_incomplete);
    EXPECT_EQ(work->match->rendezvous.has_value(), !each.is_incomplete);
    EXPECT_EQ(work->match->consumed, each.is_incomplete ? 0 : other.size());
    EXPECT_EQ(work->match->flags, ib::kWcTagMatch | (each.is_incomplete ? ib::kWcTagDataValid : 0));
  }
  Tags tags;
  tags.add(1, 5);
  const std::optional<RecvWork> work = tags.list.take(announcement(5, 60, 40), true, true);
  ASSERT_TRUE(work && work->match->rendezvous);
  EXPECT_EQ(work->match->rendezvous->va, 0x1234'0000u);
  EXPECT_EQ(work->match->rendezvous->rkey, 0x55u);
  EXPECT_EQ(work->match->rendezvous->length, 60u);
  EXPECT_EQ(work->match->consumed, 40u);
  EXPECT_EQ(work->match->flags, ib::kWcTagMatch);
}

TEST(TagList, entries_that_a_program_forged_are_seen) {
  std::vector<std::byte> entry(64);
  protocol::TagOperationWqe wqe{};
  wqe.opcode = TagOpcode::kAdd;
  wqe.sge_count = 2;  // there is room for one
  std::memcpy(entry.data(), &wqe, sizeof(wqe));
  EXPECT_TRUE(parse_tag_operation(entry).malformed);
  wqe.sge_count = 1;
  std::memcpy(entry.data(), &wqe, sizeof(wqe));
  EXPECT_FALSE(parse_tag_operation(entry).malformed);
  wqe.opcode = static_cast<TagOpcode>(3);
  std::memcpy(entry.data(), &wqe, sizeof(wqe));
  EXPECT_TRUE(parse_tag_operation(entry).malformed);
}

}  // namespace
}  // namespace verbatim::hca
