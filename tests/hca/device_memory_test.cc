// Memory accessed without PCI Express: device memory and null regions; also on-demand paging regions.
#include <gtest/gtest.h>

#include "tests/hca/windows.h"

namespace verbatim::test {
namespace {

using ib::QpState;
using ib::WcStatus;
using protocol::CommandType;

constexpr std::uint32_t kEverything =
    ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic | ib::kZeroBased;
constexpr std::uint64_t kSize = 128 << 10;

std::uint32_t status_of(WcStatus status) { return static_cast<std::uint32_t>(status); }

int alloc_dm(Program& program, std::uint64_t length, std::uint32_t* handle, std::uint32_t log_align = 0) {
  protocol::AllocDm alloc{};
  alloc.length = length;
  alloc.log_align = log_align;
  const int status = program.command(alloc);
  *handle = alloc.handle;
  return status;
}

int copy_dm(Program& program, std::uint32_t dm, std::uint64_t offset, std::uint64_t length, bool to_device,
            std::uint64_t address = Program::kBuffer) {
  protocol::CopyDm copy{};
  copy.handle = dm;
  copy.offset = offset;
  copy.length = length;
  copy.address = address;
  copy.to_device = to_device ? 1 : 0;
  return program.command(copy);
}

int reg_dm(Program& program, std::uint32_t dm, std::uint64_t offset, std::uint64_t length, std::uint32_t access, Mr* mr) {
  protocol::RegDmMr reg{};
  reg.dm = dm;
  reg.pd = program.pd;
  reg.offset = offset;
  reg.length = length;
  reg.access = access;
  const int status = program.command(reg);
  *mr = {reg.handle, reg.key, reg.key};
  return status;
}

// b has 64 KiB of device memory with a region that covers it.
struct WithDeviceMemory : Pair {
  explicit WithDeviceMemory(const PairOptions& given = {}) : Pair(given) {
    EXPECT_EQ(alloc_dm(b.program, 65536, &dm), 0);
    EXPECT_EQ(reg_dm(b.program, dm, 0, 65536, kEverything, &region), 0);
  }
  std::uint32_t ask(WqeOpcode opcode, std::uint64_t offset, std::uint32_t length, std::uint64_t add = 0) {
    a.program.post_send(a.qp, {.wr_id = 1,
                               .opcode = opcode,
                               .sges = {a.sge(0, length)},
                               .remote_va = offset,
                               .rkey = region.rkey,
                               .compare_add = add});
    world.run();
    return a.program.drain(a.send_cq).at(0).status;
  }
  std::uint32_t dm = 0;
  Mr region;
};

TEST(DeviceMemoryTest, a_peer_writes_reads_and_counts_in_it) {
  WithDeviceMemory pair;
  pair.a.fill(0, 9000, 4);
  EXPECT_EQ(pair.ask(WqeOpcode::kRdmaWrite, 100, 9000), 0u);
  ASSERT_EQ(copy_dm(pair.b.program, pair.dm, 100, 9000, false), 0);
  EXPECT_TRUE(pair.b.equals(0, 9000, 4));
  pair.a.fill(0, 9000, 77);
  EXPECT_EQ(pair.ask(WqeOpcode::kRdmaRead, 100, 9000), 0u);
  EXPECT_TRUE(pair.a.equals(0, 9000, 4));
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(pair.ask(WqeOpcode::kAtomicFetchAdd, 40960, 8, 5), 0u);
    std::uint64_t before = 0;
    std::memcpy(&before, pair.a.program.memory.at(Program::kBuffer, 8).data(), 8);
    EXPECT_EQ(before, 5 * i);
  }
  EXPECT_EQ(pair.ask(WqeOpcode::kRdmaWrite, 65529, 8), status_of(WcStatus::kRemoteAccessError));
}

TEST(DeviceMemoryTest, messages_go_out_of_it_and_into_it) {
  WithDeviceMemory pair;
  pair.b.fill(0, 4096, 8);
  ASSERT_EQ(copy_dm(pair.b.program, pair.dm, 4096, 4096, true), 0);
  // Half of the message is from the adapter's memory, half from the program's, and it is received in the same
  // manner.
  pair.b.program.post_recv(pair.b.qp, 1, {{0, 1000, pair.region.lkey}, pair.b.sge(20000, 1000)});
  pair.a.program.post_recv(pair.a.qp, 1, {pair.a.sge(0, 2000)});
  pair.b.program.post_send(pair.b.qp, {.wr_id = 2, .sges = {{4096, 1000, pair.region.lkey}, pair.b.sge(0, 1000)}});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.recv_cq).at(0).status, 0u);
  EXPECT_TRUE(pair.a.equals(0, 1000, 8));
  EXPECT_TRUE(pair.a.equals(1000, 1000, 8));
  pair.a.program.post_send(pair.a.qp, {.wr_id = 3, .sges = {pair.a.sge(0, 2000)}});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).status, 0u);
  EXPECT_TRUE(pair.b.equals(20000, 1000, 8));
  ASSERT_EQ(copy_dm(pair.b.program, pair.dm, 0, 1000, false, Program::kBuffer + 30000), 0);
  EXPECT_TRUE(pair.b.equals(30000, 1000, 8));
}

// Every byte arrives, and the completion is earlier by the time of PCI Express.
TEST(DeviceMemoryTest, a_read_of_it_crosses_no_pci_express) {
  const auto time_of = [](bool on_adapter) {
    WithDeviceMemory pair;
    pair.world.run();
    const Instant begun = pair.world.engine.now();
    SendRequest request{.wr_id = 1,
                        .opcode = WqeOpcode::kRdmaRead,
                        .sges = {pair.a.sge(0, 64)},
                        .remote_va = on_adapter ? 0 : Program::kBuffer,
                        .rkey = on_adapter ? pair.region.rkey : pair.b.mr.rkey};
    pair.a.program.post_send(pair.a.qp, request);
    pair.world.run();
    EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, 0u);
    return pair.world.engine.now() - begun;
  };
  const host::PcieProfile pcie = test_profile().pcie;
  const Duration saved = time_of(false) - time_of(true);
  EXPECT_GT(saved, 2 * pcie.one_way_latency + pcie.memory_read_latency);
  EXPECT_LT(saved, 2 * pcie.one_way_latency + pcie.memory_read_latency + Duration(50'000));
}

TEST(DeviceMemoryTest, there_is_so_much_and_no_more) {
  Pair pair;
  Program& program = pair.a.program;
  protocol::QueryDevice query{};
  ASSERT_EQ(program.command(query), 0);
  EXPECT_EQ(query.attributes.max_dm_size, kSize);
  std::uint32_t one = 0, two = 0, three = 0;
  EXPECT_EQ(alloc_dm(program, 0, &one), EINVAL);
  EXPECT_EQ(alloc_dm(program, kSize + 1, &one), EINVAL);
  EXPECT_EQ(alloc_dm(program, 64, &one, 40), EINVAL);
  ASSERT_EQ(alloc_dm(program, 4, &one), 0);
  ASSERT_EQ(alloc_dm(program, 4096, &two, 12), 0);
  EXPECT_EQ(alloc_dm(program, kSize - 4096, &three), ENOMEM);
  EXPECT_EQ(program.destroy(CommandType::kFreeDm, two), 0);
  EXPECT_EQ(program.destroy(CommandType::kFreeDm, two), ENOENT);
  EXPECT_EQ(alloc_dm(program, kSize - 64, &three), 0);
  // Resources of a closed device are available again.
  pair.world.client->close(program.context);
  Program other(pair.world, *pair.world.client, 1 << 20, 1 << 20, 101);
  EXPECT_EQ(alloc_dm(other, kSize, &one), 0);
}

TEST(DeviceMemoryTest, it_is_zeros_at_first_and_private) {
  Pair pair;
  Program& program = pair.a.program;
  Program other(pair.world, *pair.world.client, 1 << 20, 1 << 20, 101);
  std::uint32_t dm = 0, again = 0;
  ASSERT_EQ(alloc_dm(program, 4096, &dm), 0);
  pair.a.fill(0, 4096, 9);
  ASSERT_EQ(copy_dm(program, dm, 0, 4096, true), 0);
  EXPECT_EQ(copy_dm(other, dm, 0, 4096, false), EINVAL);
  ASSERT_EQ(program.destroy(CommandType::kFreeDm, dm), 0);
  ASSERT_EQ(alloc_dm(other, 4096, &again), 0);
  other.memory.at(Program::kBuffer, 1)[0] = std::byte{7};
  ASSERT_EQ(copy_dm(other, again, 0, 4096, false), 0);
  for (const std::byte byte : other.memory.at(Program::kBuffer, 4096)) ASSERT_EQ(byte, std::byte{0});
}

TEST(DeviceMemoryTest, copies_are_of_whole_words_within_it) {
  WithDeviceMemory pair;
  Program& program = pair.b.program;
  for (const bool to_device : {false, true}) {
    EXPECT_EQ(copy_dm(program, pair.dm, 0, 65536, to_device), 0);
    EXPECT_EQ(copy_dm(program, pair.dm, 3, 4, to_device), EINVAL);
    EXPECT_EQ(copy_dm(program, pair.dm, 4, 3, to_device), EINVAL);
    EXPECT_EQ(copy_dm(program, pair.dm, 65536, 4, to_device), EFAULT);
    EXPECT_EQ(copy_dm(program, pair.dm, 4, ~std::uint64_t{3}, to_device), EFAULT);
    EXPECT_EQ(copy_dm(program, pair.dm, 0, 4, to_device, 0x10), EFAULT);
    EXPECT_EQ(copy_dm(program, pair.dm, 0, 4, to_device, 1ull << 63), EFAULT);
    EXPECT_EQ(copy_dm(program, pair.dm + 50, 0, 4, to_device), EINVAL);
  }
}

TEST(DeviceMemoryTest, regions_of_it_are_zero_based_and_keep_it) {
  WithDeviceMemory pair;
  Program& program = pair.b.program;
  Mr mr;
  EXPECT_EQ(reg_dm(program, pair.dm, 0, 64, ib::kLocalWrite, &mr), EINVAL);
  EXPECT_EQ(reg_dm(program, pair.dm, 0, 64, ib::kZeroBased | ib::kRemoteWrite, &mr), EINVAL);
  EXPECT_EQ(reg_dm(program, pair.dm, 4, 65536, kEverything, &mr), EINVAL);
  EXPECT_EQ(reg_dm(program, pair.dm, ~std::uint64_t{0}, 64, kEverything, &mr), EINVAL);
  EXPECT_EQ(program.destroy(CommandType::kFreeDm, pair.dm), EBUSY);
  protocol::ReregMr rereg{};
  rereg.handle = pair.region.handle;
  rereg.flags = 4;
  rereg.access = ib::kLocalWrite;
  EXPECT_EQ(program.command(rereg), EINVAL);
  EXPECT_EQ(program.destroy(CommandType::kDeregMr, pair.region.handle), 0);
  EXPECT_EQ(program.destroy(CommandType::kFreeDm, pair.dm), 0);
}

TEST(NullRegionTest, what_is_written_is_dropped_and_what_is_read_is_zero) {
  Pair pair;
  protocol::AllocNullMr alloc{};
  alloc.pd = pair.b.program.pd;
  ASSERT_EQ(pair.b.program.command(alloc), 0);
  const protocol::Sge anywhere{0x1234567890, 1000, alloc.lkey};
  pair.a.fill(0, 3000, 5);
  pair.b.program.post_recv(pair.b.qp, 1, {pair.b.sge(0, 1000), anywhere, pair.b.sge(1000, 1000)});
  pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {pair.a.sge(0, 3000)}});
  pair.world.run();
  EXPECT_EQ(pair.b.program.drain(pair.b.recv_cq).at(0).byte_length, 3000u);
  EXPECT_TRUE(pair.b.equals(0, 1000, 5));
  EXPECT_FALSE(pair.b.equals(1000, 1000, 5));  // the last third of the message
  pair.a.program.drain(pair.a.send_cq);
  pair.a.program.post_recv(pair.a.qp, 1, {pair.a.sge(0, 2000)});
  pair.b.program.post_send(pair.b.qp, {.wr_id = 2, .sges = {anywhere, pair.b.sge(0, 1000)}});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.recv_cq).at(0).status, 0u);
  for (const std::byte byte : pair.a.program.memory.at(Program::kBuffer, 1000)) ASSERT_EQ(byte, std::byte{0});
  EXPECT_TRUE(pair.a.equals(1000, 1000, 5));
  EXPECT_TRUE(pair.b.program.dma_faults.empty());
  // A null region has no remote key.
  pair.a.program.post_send(pair.a.qp, {.wr_id = 3, .opcode = WqeOpcode::kRdmaRead, .sges = {pair.a.sge(0, 8)},
                                       .remote_va = 0, .rkey = alloc.lkey});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, status_of(WcStatus::kRemoteAccessError));
  EXPECT_EQ(pair.b.program.destroy(CommandType::kDeallocPd, alloc.pd), EBUSY);
  EXPECT_EQ(pair.b.program.destroy(CommandType::kDeregMr, alloc.handle), 0);
}

TEST(ZeroBasedTest, a_region_counts_from_its_first_byte) {
  Pair pair;
  const Mr mr = pair.b.program.reg_mr(Program::kBuffer + 1001, 500, ib::kLocalWrite | ib::kRemoteWrite | ib::kZeroBased);
  ASSERT_NE(mr.lkey, 0u);
  pair.a.fill(0, 100, 6);
  const auto write = [&](std::uint64_t at) {
    pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .opcode = WqeOpcode::kRdmaWrite, .sges = {pair.a.sge(0, 100)},
                                         .remote_va = at, .rkey = mr.rkey});
    pair.world.run();
    return pair.a.program.drain(pair.a.send_cq).at(0).status;
  };
  EXPECT_EQ(write(400), 0u);
  EXPECT_TRUE(pair.b.equals(1401, 100, 6));
  EXPECT_EQ(write(401), status_of(WcStatus::kRemoteAccessError));
}

TEST(OnDemandTest, what_is_not_mapped_when_it_is_needed_is_an_access_error) {
  constexpr std::uint64_t kLater = 0x4000000;
  const std::uint32_t access = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic | ib::kOnDemand;
  for (const bool is_implicit : {false, true}) {
    for (const auto opcode : {WqeOpcode::kRdmaWrite, WqeOpcode::kRdmaRead, WqeOpcode::kAtomicFetchAdd, WqeOpcode::kSend}) {
      Pair pair;
      const Mr mr = is_implicit ? pair.b.program.reg_mr(0, SIZE_MAX, access) : pair.b.program.reg_mr(kLater, 8192, access);
      ASSERT_NE(mr.lkey, 0u);
      for (const bool is_there : {true, false}) {
        Pair* at = &pair;
        Pair fresh;
        if (!is_there) at = &fresh;
        const Mr key = is_there      ? mr
                       : is_implicit ? fresh.b.program.reg_mr(0, SIZE_MAX, access)
                                     : fresh.b.program.reg_mr(kLater, 8192, access);
        if (is_there) at->b.program.memory.map(kLater, 8192);
        at->b.program.post_recv(at->b.qp, 1, {{kLater, 8, key.lkey}});
        at->a.program.post_send(at->a.qp, {.wr_id = 1, .opcode = opcode, .sges = {at->a.sge(0, 8)}, .remote_va = kLater,
                                           .rkey = key.rkey});
        at->world.run();
        const auto expected = is_there                      ? WcStatus::kSuccess
                              : opcode == WqeOpcode::kSend ? WcStatus::kRemoteOperationError
                                                            : WcStatus::kRemoteAccessError;
        EXPECT_EQ(at->a.program.drain(at->a.send_cq).at(0).status, status_of(expected)) << is_there << is_implicit;
        EXPECT_TRUE(at->b.program.dma_faults.empty());
      }
    }
  }
}

TEST(OnDemandTest, a_request_of_this_side_is_a_protection_error_where_nothing_is_mapped) {
  Pair pair;
  const Mr mr = pair.a.program.reg_mr(0x4000000, 8192, ib::kLocalWrite | ib::kOnDemand);
  pair.a.program.post_send(pair.a.qp, {.wr_id = 1, .sges = {{0x4000000, 8, mr.lkey}}});
  pair.world.run();
  EXPECT_EQ(pair.a.program.drain(pair.a.send_cq).at(0).status, status_of(WcStatus::kLocalProtectionError));
}

TEST(OnDemandTest, advice_is_for_regions_that_are_paged_on_demand) {
  Pair pair;
  Program& program = pair.a.program;
  enum { kPrefetch, kWrite, kNoFault, kUnknown };
  const auto advise = [&](std::uint32_t advice, std::uint32_t flags, std::uint64_t va, std::uint32_t length, std::uint32_t lkey) {
    protocol::AdviseMr command{};
    command.pd = program.pd;
    command.advice = advice;
    command.flags = flags;
    command.va = va;
    command.length = length;
    command.lkey = lkey;
    return program.command(command);
  };
  const Mr readable = program.reg_mr(Program::kBuffer, 4096, ib::kOnDemand);
  const Mr writable = program.reg_mr(Program::kBuffer, 4096, ib::kOnDemand | ib::kLocalWrite);
  const Mr nothing = program.reg_mr(0x4000000, 4096, ib::kOnDemand | ib::kLocalWrite);
  EXPECT_EQ(advise(kPrefetch, 1, Program::kBuffer, 4096, readable.lkey), 0);
  EXPECT_EQ(advise(kWrite, 1, Program::kBuffer, 4096, readable.lkey), EPERM);
  EXPECT_EQ(advise(kWrite, 1, Program::kBuffer, 4096, writable.lkey), 0);
  EXPECT_EQ(advise(kPrefetch, 0, Program::kBuffer + 1, 4096, writable.lkey), EFAULT);
  EXPECT_EQ(advise(kPrefetch, 0, Program::kBuffer - 1, 1, writable.lkey), EFAULT);
  EXPECT_EQ(advise(kPrefetch, 1, 0x4000000, 8, nothing.lkey), EFAULT);
  EXPECT_EQ(advise(kPrefetch, 0, 0x4000000, 8, nothing.lkey), 0);
  EXPECT_EQ(advise(kNoFault, 1, 0x4000000, 8, nothing.lkey), 0);
  EXPECT_EQ(advise(kPrefetch, 2, Program::kBuffer, 8, writable.lkey), EINVAL);
  EXPECT_EQ(advise(kUnknown, 0, Program::kBuffer, 8, writable.lkey), EOPNOTSUPP);
  EXPECT_EQ(advise(kPrefetch, 0, Program::kBuffer, 8, 0x77700), ENOENT);
  EXPECT_EQ(advise(kPrefetch, 0, Program::kBuffer, 8, pair.a.mr.lkey), EPERM);
  EXPECT_EQ(advise(kPrefetch, 0, Program::kBuffer, 8, alloc_mw(program, 2).rkey), EINVAL);
}

TEST(ImportTest, objects_are_found_by_their_handles) {
  WithDeviceMemory pair;
  Program& program = pair.b.program;
  const auto import = [&](std::uint32_t kind, std::uint32_t handle, std::uint32_t pd, protocol::ImportObject* found) {
    *found = {};
    found->kind = kind;
    found->handle = handle;
    found->pd = pd;
    return program.command(*found);
  };
  using Object = protocol::ImportObject;
  Object found;
  EXPECT_EQ(import(Object::kPd, program.pd, 0, &found), 0);
  EXPECT_EQ(import(Object::kPd, pair.dm, 0, &found), EINVAL);
  EXPECT_EQ(import(Object::kDm, pair.dm, 0, &found), 0);
  EXPECT_EQ(found.length, 65536u);
  EXPECT_EQ(import(Object::kDm, program.pd, 0, &found), EINVAL);
  EXPECT_EQ(import(Object::kMr, pair.b.mr.handle, program.pd, &found), 0);
  EXPECT_EQ(found.lkey, pair.b.mr.lkey);
  EXPECT_EQ(found.rkey, pair.b.mr.rkey);
  EXPECT_EQ(found.length, pair.options.buffer_bytes);
  EXPECT_EQ(import(Object::kMr, pair.b.mr.handle, program.pd + 1, &found), EINVAL);
  EXPECT_EQ(import(3, program.pd, 0, &found), EINVAL);
}

}  // namespace
}  // namespace verbatim::test
