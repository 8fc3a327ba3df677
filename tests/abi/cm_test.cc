#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include <cerrno>
#include <cstring>

#include "tests/abi/fake_runtime.h"

namespace verbatim::fake {
namespace {

TEST(Cm, says_where_a_program_asks_first_that_it_is_absent) {
  reset();
  EXPECT_EQ(rdma_create_event_channel(), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  world().attached = false;
  EXPECT_EQ(rdma_create_event_channel(), nullptr);
  EXPECT_EQ(errno, ENODEV);
  int count = 3;
  EXPECT_EQ(rdma_get_devices(&count), nullptr);
  EXPECT_EQ(errno, ENODEV);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(rsocket(AF_INET, SOCK_STREAM, 0), -1);
  EXPECT_EQ(errno, ENODEV);
  EXPECT_EQ(rclose(5), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(Cm, addresses_are_resolved) {
  reset();
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_NUMERICHOST;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* found = nullptr;
  ASSERT_EQ(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &found), 0);
  EXPECT_EQ(found->ai_family, AF_INET);
  EXPECT_EQ(found->ai_qp_type, IBV_QPT_RC);
  EXPECT_EQ(found->ai_src_addr, nullptr);
  ASSERT_EQ(found->ai_dst_len, sizeof(sockaddr_in));
  auto* address = reinterpret_cast<sockaddr_in*>(found->ai_dst_addr);
  EXPECT_EQ(ntohs(address->sin_port), 7471);
  EXPECT_EQ(address->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  rdma_freeaddrinfo(found);
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_port_space = RDMA_PS_UDP;
  ASSERT_EQ(rdma_getaddrinfo(nullptr, "7471", &hints, &found), 0);
  EXPECT_EQ(found->ai_qp_type, IBV_QPT_UD);
  EXPECT_NE(found->ai_src_addr, nullptr);
  EXPECT_EQ(found->ai_dst_addr, nullptr);
  rdma_freeaddrinfo(found);
  EXPECT_EQ(rdma_getaddrinfo(nullptr, nullptr, nullptr, &found), -1);
  EXPECT_EQ(errno, EINVAL);
  rdma_addrinfo numeric{};
  numeric.ai_flags = RAI_NUMERICHOST;
  EXPECT_NE(rdma_getaddrinfo("300.1.1.1", "1", &numeric, &found), 0);
  rdma_freeaddrinfo(nullptr);
}

}  // namespace
}  // namespace verbatim::fake
