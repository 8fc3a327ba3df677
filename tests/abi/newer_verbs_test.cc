// Functions of rdma-core 59 to 65, which older headers do not declare.
#include "tests/abi/fixture.h"

// As in <infiniband/verbs.h> of rdma-core 65.
struct NewMrAttributes {
  std::size_t length;
  int access;
  std::uint64_t comp_mask;
  std::uint64_t iova;
  void* addr;
  int fd;
  std::uint64_t fd_offset;
  struct ibv_dmah* dmah;
  struct ibv_buf* buf;
};

extern "C" {
ibv_mr* ibv_reg_mr_ex(ibv_pd*, struct ibv_mr_init_attr*);
void* ibv_alloc_buf(ibv_pd*, std::size_t, struct ibv_buf**);
void ibv_free_buf(struct ibv_buf*);
ibv_mr* ibv_reg_buf_mr(ibv_pd*, struct ibv_buf*, void*, std::size_t, int);
int ibv_export_buf_dmabuf_fd(struct ibv_buf*);
int ibv_query_port_speed(ibv_context*, std::uint32_t, std::uint64_t*);
int ibv_dm_export_dmabuf_fd(ibv_dm*);
struct ibv_dmah* ibv_alloc_dmah(ibv_context*, struct ibv_dmah_init_attr*);
int _ibv_query_comp_cntr_caps(ibv_context*, struct ibv_comp_cntr_caps*, std::size_t);
struct ibv_comp_cntr* ibv_create_comp_cntr(ibv_context*, struct ibv_comp_cntr_init_attr*);
}

namespace verbatim::fake {
namespace {

using NewerVerbs = VerbsTest;
using protocol::CommandType;

enum : std::uint64_t { kIova = 1, kAddress = 2, kFd = 4, kFdOffset = 8, kDmah = 16, kBuffer = 32 };

ibv_mr* register_ex(ibv_pd* pd, NewMrAttributes attributes) {
  errno = 0;
  return ibv_reg_mr_ex(pd, reinterpret_cast<ibv_mr_init_attr*>(&attributes));
}

TEST_F(NewerVerbs, memory_is_registered_by_its_address) {
  char bytes[64];
  ibv_mr* mr = register_ex(pd, {.length = 64, .access = IBV_ACCESS_LOCAL_WRITE, .comp_mask = kAddress, .addr = bytes});
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, bytes);
  EXPECT_EQ(mr->length, 64u);
  EXPECT_EQ(world().last_mr.iova, reinterpret_cast<std::uint64_t>(bytes));
  EXPECT_EQ(world().last_mr.access, std::uint32_t{IBV_ACCESS_LOCAL_WRITE});
  mr = register_ex(pd, {.length = 64, .comp_mask = kAddress | kIova, .iova = 0x5000, .addr = bytes});
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(world().last_mr.iova, 0x5000u);
}

// The results of rdma-core for a provider without reg_mr_ex (libibverbs/dummy_ops.c).
TEST_F(NewerVerbs, combinations_that_describe_no_memory_are_refused) {
  char bytes[64];
  EXPECT_EQ(register_ex(pd, {.length = 64, .comp_mask = 0, .addr = bytes}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(register_ex(pd, {.length = 64, .comp_mask = kAddress | kFdOffset, .addr = bytes}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(register_ex(pd, {.length = 64, .comp_mask = kFd | kFdOffset}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(register_ex(pd, {.length = 64, .comp_mask = kFd | kFdOffset | kIova, .fd = 0}), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);  // no dmabufs
  EXPECT_EQ(register_ex(pd, {.length = 64, .comp_mask = kAddress | kDmah, .addr = bytes}), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(register_ex(pd, {.length = 64, .comp_mask = kAddress | 1u << 20, .addr = bytes}), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(NewerVerbs, a_buffer_is_registered_in_its_domain_and_within_its_bounds) {
  struct ibv_buf* buffer = nullptr;
  auto* bytes = static_cast<std::byte*>(ibv_alloc_buf(pd, 5000, &buffer));
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(bytes) % 4096, 0u);
  ibv_mr* mr = ibv_reg_buf_mr(pd, buffer, bytes + 1000, 4000, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(world().last_mr.start, reinterpret_cast<std::uint64_t>(bytes) + 1000);
  EXPECT_EQ(world().last_mr.length, 4000u);
  EXPECT_NE(register_ex(pd, {.length = 1, .comp_mask = kAddress | kBuffer, .addr = bytes, .buf = buffer}), nullptr);

  const auto refused = [&](ibv_pd* domain, std::byte* at, std::size_t length) {
    errno = 0;
    return ibv_reg_buf_mr(domain, buffer, at, length, 0) == nullptr && errno == EINVAL;
  };
  EXPECT_TRUE(refused(pd, bytes + 1000, 4001));
  EXPECT_TRUE(refused(pd, bytes - 1, 1));
  EXPECT_TRUE(refused(pd, bytes + 5001, 0));
  EXPECT_TRUE(refused(ibv_alloc_pd(context), bytes, 1));
  EXPECT_EQ(register_ex(pd, {.length = 1, .comp_mask = kBuffer, .buf = buffer}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(register_ex(pd, {.length = 1, .comp_mask = kAddress | kBuffer | kFd, .addr = bytes, .buf = buffer}), nullptr);
  EXPECT_EQ(errno, EINVAL);

  EXPECT_EQ(ibv_export_buf_dmabuf_fd(buffer), -1);
  EXPECT_EQ(errno, ENODATA);
  ibv_free_buf(buffer);
  EXPECT_TRUE(refused(pd, bytes, 1));  // destroyed
}

TEST_F(NewerVerbs, a_parent_domain_may_allow_unprotected_memory) {
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = pd;
  attributes.comp_mask = 1 << 2;  // IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC
  ibv_pd* const parent = ibv_alloc_parent_domain(context, &attributes);
  ASSERT_NE(parent, nullptr);
  struct ibv_buf* buffer = nullptr;
  void* const bytes = ibv_alloc_buf(parent, 4096, &buffer);
  ASSERT_NE(bytes, nullptr);
  EXPECT_NE(ibv_reg_buf_mr(parent, buffer, bytes, 4096, 0), nullptr);
  errno = 0;
  EXPECT_EQ(ibv_reg_buf_mr(pd, buffer, bytes, 4096, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_free_buf(buffer);
}

TEST_F(NewerVerbs, the_port_s_speed_is_width_times_rate) {
  std::uint64_t speed = 0;
  ibv_port_attr port;
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  ASSERT_EQ(port.active_width, 2);  // 4 lanes
  ASSERT_EQ(port.active_speed, 32);  // EDR: 25 Gb/s a lane
  ASSERT_EQ(ibv_query_port_speed(context, 1, &speed), 0);
  EXPECT_EQ(speed, 1000u);
  EXPECT_EQ(ibv_query_port_speed(context, 2, &speed), EINVAL);
  EXPECT_EQ(ibv_query_port_speed(context, 257, &speed), EINVAL);
}

TEST_F(NewerVerbs, features_that_the_adapter_lacks_are_refused) {
  errno = 0;
  EXPECT_EQ(ibv_alloc_dmah(context, nullptr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(ibv_create_comp_cntr(context, nullptr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  errno = 0;
  EXPECT_EQ(ibv_dm_export_dmabuf_fd(nullptr), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  std::uint64_t capabilities[2] = {~0ull, ~0ull};
  auto* const as_struct = reinterpret_cast<ibv_comp_cntr_caps*>(capabilities);
  EXPECT_EQ(_ibv_query_comp_cntr_caps(context, as_struct, sizeof capabilities), EOPNOTSUPP);
  EXPECT_EQ(capabilities[1], 0u);
}

}  // namespace
}  // namespace verbatim::fake
