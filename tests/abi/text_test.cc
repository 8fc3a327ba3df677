// Texts, rate tables and copies of kernel structures compared to Debian's library, which is loaded in
// addition to the built one.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <cstring>
#include <string>
#include <vector>

extern "C" {
void ibv_copy_ah_attr_from_kern(ibv_ah_attr*, ib_uverbs_ah_attr*);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr*, ib_uverbs_qp_attr*);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec*, ib_user_path_rec*);
void ibv_copy_path_rec_to_kern(ib_user_path_rec*, ibv_sa_path_rec*);
const char* ibv_wr_opcode_str(ibv_wr_opcode);
}

namespace {

class Installed : public testing::Test {
 protected:
  void SetUp() override {
    verbs_ = dlopen("/lib/x86_64-linux-gnu/libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (verbs_ == nullptr) GTEST_SKIP() << "rdma-core is not installed";
  }
  template <typename Function>
  Function real(const char* name, Function) {
    void* found = dlsym(verbs_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function>(found);
  }
  template <typename Enum>
  void compare(const char* name, const char* (*ours)(Enum)) {
    auto theirs = real(name, ours);
    ASSERT_NE(reinterpret_cast<void*>(theirs), reinterpret_cast<void*>(ours));
    for (int value = -2; value < 64; ++value) {
      EXPECT_STREQ(ours(static_cast<Enum>(value)), theirs(static_cast<Enum>(value))) << name << " " << value;
    }
  }
  void* verbs_ = nullptr;
};

TEST_F(Installed, texts_are_the_same) {
  compare("ibv_wc_status_str", ibv_wc_status_str);
  compare("ibv_node_type_str", ibv_node_type_str);
  compare("ibv_port_state_str", ibv_port_state_str);
  compare("ibv_event_type_str", ibv_event_type_str);
}

// Debian 12's library does not have this function.
TEST(Opcodes, have_the_names_of_rdma_core_56) {
  EXPECT_STREQ(ibv_wr_opcode_str(IBV_WR_RDMA_WRITE), "rdma-write");
  EXPECT_STREQ(ibv_wr_opcode_str(IBV_WR_SEND_WITH_INV), "send-with-inv");
  EXPECT_STREQ(ibv_wr_opcode_str(IBV_WR_ATOMIC_WRITE), "atomic-write");
  EXPECT_STREQ(ibv_wr_opcode_str(static_cast<ibv_wr_opcode>(IBV_WR_ATOMIC_WRITE + 1)), "unknown");
  EXPECT_STREQ(ibv_wr_opcode_str(static_cast<ibv_wr_opcode>(-1)), "unknown");
}

TEST_F(Installed, rates_are_the_same) {
  auto to_mult = real("ibv_rate_to_mult", ibv_rate_to_mult);
  auto to_mbps = real("ibv_rate_to_mbps", ibv_rate_to_mbps);
  for (int i = -2; i < 64; ++i) {
    EXPECT_EQ(ibv_rate_to_mult(static_cast<ibv_rate>(i)), to_mult(static_cast<ibv_rate>(i))) << i;
    EXPECT_EQ(ibv_rate_to_mbps(static_cast<ibv_rate>(i)), to_mbps(static_cast<ibv_rate>(i))) << i;
  }
  auto from_mult = real("mult_to_ibv_rate", mult_to_ibv_rate);
  for (int i = -2; i < 1000; ++i) EXPECT_EQ(mult_to_ibv_rate(i), from_mult(i)) << i;
  auto from_mbps = real("mbps_to_ibv_rate", mbps_to_ibv_rate);
  for (int i = -2; i < 1'300'000; ++i) ASSERT_EQ(mbps_to_ibv_rate(i), from_mbps(i)) << i;
}

template <typename To, typename From>
void same_copy(void (*ours)(To*, From*), void (*theirs)(To*, From*)) {
  std::vector<unsigned char> from(sizeof(From)), mine(sizeof(To), 0), other(sizeof(To), 0);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 37 + 11);
  ours(reinterpret_cast<To*>(mine.data()), reinterpret_cast<From*>(from.data()));
  theirs(reinterpret_cast<To*>(other.data()), reinterpret_cast<From*>(from.data()));
  EXPECT_EQ(mine, other);
}

TEST_F(Installed, copies_are_the_same) {
  same_copy(ibv_copy_ah_attr_from_kern, real("ibv_copy_ah_attr_from_kern", ibv_copy_ah_attr_from_kern));
  same_copy(ibv_copy_qp_attr_from_kern, real("ibv_copy_qp_attr_from_kern", ibv_copy_qp_attr_from_kern));
  same_copy(ibv_copy_path_rec_from_kern, real("ibv_copy_path_rec_from_kern", ibv_copy_path_rec_from_kern));
  same_copy(ibv_copy_path_rec_to_kern, real("ibv_copy_path_rec_to_kern", ibv_copy_path_rec_to_kern));
}

}  // namespace
