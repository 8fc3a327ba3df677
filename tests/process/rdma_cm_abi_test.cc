// Addresses in commands to /dev/infiniband/rdma_cm, some in fields that are too short for their family.
#include "sim/supervisor/kernel/rdma_cm_abi.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <infiniband/ib.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

namespace verbatim::supervisor {
namespace {

// A field with bytes behind it that do not belong to it.
struct Place {
  sockaddr_in6 address;
  unsigned char behind[64];
};

TEST(Addresses, are_not_read_beyond_their_place) {
  Place place;
  std::memset(&place, 0xff, sizeof place);
  place.address.sin6_family = AF_IB;
  EXPECT_EQ(rdma_cm_abi::address_from(place.address).family, cm::Family::kNone);
  EXPECT_EQ(rdma_cm_abi::address_from(place).family, cm::Family::kIb);
  place.address.sin6_family = AF_INET6;
  place.address.sin6_port = htons(7);
  EXPECT_EQ(rdma_cm_abi::address_from(place.address).family, cm::Family::kIpv6);
  EXPECT_EQ(rdma_cm_abi::address_from(place.address).port, 7);
  EXPECT_EQ(rdma_cm_abi::address_from(std::as_bytes(std::span(&place.address, 1)).first(sizeof(sockaddr_in6) - 1)).family,
            cm::Family::kNone);
  place.address.sin6_family = 99;
  EXPECT_EQ(rdma_cm_abi::address_from(place).family, cm::Family::kNone);
}

// All fields differ, so that none can be taken for another.
TEST(Addresses, are_read_as_they_were_stored) {
  cm::Address ip, ip6, ib;
  ip.family = cm::Family::kIpv4;
  ip.ip.raw[10] = ip.ip.raw[11] = 0xff;
  ip.ip.raw[12] = 10;
  ip.ip.raw[15] = 3;
  ip.port = 0x1234;
  ip6.family = cm::Family::kIpv6;
  ip6.ip.raw[0] = 0xfe;
  ip6.ip.raw[15] = 9;
  ip6.port = 0x4321;
  ip6.scope = 7;
  ib.family = cm::Family::kIb;
  ib.ip.raw[0] = 0xfe;
  ib.ip.raw[8] = 5;
  ib.scope = 0x1'0000'0002;
  ib.pkey = 0x8001;
  ib.flow_info = 0x000a'bcde;
  ib.service_id = 0x0106'0000'0000'1111;
  ib.service_mask = 0xffff'ffff'ffff'0000;
  for (const cm::Address& address : {ip, ip6, ib}) {
    std::byte stored[sizeof(sockaddr_ib)]{};
    const std::size_t length = rdma_cm_abi::store_address(address, stored);
    const std::size_t lengths[] = {sizeof(sockaddr_in), sizeof(sockaddr_in6), sizeof(sockaddr_ib)};
    EXPECT_NE(std::ranges::find(lengths, length), std::end(lengths));
    const cm::Address read = rdma_cm_abi::address_from(std::span(std::as_const(stored)).first(length));
    EXPECT_EQ(read.family, address.family);
    EXPECT_EQ(std::memcmp(read.ip.raw, address.ip.raw, sizeof read.ip.raw), 0);
    EXPECT_EQ(read.port, address.port);
    EXPECT_EQ(read.scope, address.scope);
    EXPECT_EQ(read.pkey, address.pkey);
    EXPECT_EQ(read.flow_info, address.flow_info);
    EXPECT_EQ(read.service_id, address.service_id);
    EXPECT_EQ(read.service_mask, address.service_mask);
  }
  std::byte none[sizeof(sockaddr_ib)]{};
  EXPECT_EQ(rdma_cm_abi::store_address({}, none), 0u);
}

}  // namespace
}  // namespace verbatim::supervisor
