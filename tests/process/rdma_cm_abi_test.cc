// Addresses in commands to /dev/infiniband/rdma_cm, some in fields that are too short for their family.
#include "sim/supervisor/kernel/rdma_cm_abi.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <infiniband/ib.h>

#include <cstring>

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

}  // namespace
}  // namespace verbatim::supervisor
