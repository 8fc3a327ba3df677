#include "sim/ib/ip_network.h"

#include <gtest/gtest.h>

namespace verbatim::ib {
namespace {

constexpr std::uint32_t ip(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

TEST(IpNetwork, contains_its_addresses_of_both_families) {
  const IpInterface first = IpInterface::of_first(ip(10, 0, 0, 7));
  const IpInterface further = IpInterface::of_further(ip(192, 168, 1, 7), 24);
  EXPECT_TRUE(first.network.contains(ipv4_gid(ip(10, 255, 255, 255))));
  EXPECT_FALSE(first.network.contains(ipv4_gid(ip(11, 0, 0, 0))));
  EXPECT_TRUE(further.network.contains(ipv4_gid(ip(192, 168, 1, 0))));
  EXPECT_FALSE(further.network.contains(ipv4_gid(ip(192, 168, 2, 0))));
  EXPECT_TRUE(first.network.contains(first.v6()));
  EXPECT_FALSE(first.network.contains(further.v6()));
  EXPECT_TRUE(further.network.contains(further.v6()));
  EXPECT_FALSE(further.network.contains(first.v6()));
  EXPECT_EQ(further.broadcast(), ip(192, 168, 1, 255));
  EXPECT_EQ(IpInterface::of_further(ip(10, 1, 0, 1), 31).broadcast(), ip(10, 1, 0, 1));
}

TEST(IpNetwork, the_narrowest_route_is_taken_and_of_equal_ones_the_first) {
  const IpInterface own[] = {IpInterface::of_first(ip(10, 0, 0, 1)), IpInterface::of_further(ip(10, 1, 0, 1), 24),
                             IpInterface::of_further(ip(10, 1, 0, 2), 24)};
  const auto routes = routes_of(own, {});
  EXPECT_EQ(find_route(routes, ipv4_gid(ip(10, 0, 0, 2))), 0u);
  EXPECT_EQ(find_route(routes, ipv4_gid(ip(10, 1, 0, 9))), 1u);
  EXPECT_EQ(find_route(routes, ipv4_gid(ip(10, 1, 1, 9))), 0u);
  EXPECT_EQ(find_route(routes, own[2].v6()), 1u);
  EXPECT_EQ(find_route(routes, ipv4_gid(ip(172, 17, 0, 1))), std::nullopt);
}

TEST(IpNetwork, networks_of_others_are_reached_by_the_first) {
  const IpInterface own[] = {IpInterface::of_first(ip(10, 0, 0, 1)), IpInterface::of_further(ip(172, 17, 0, 1), 16)};
  const IpNetwork others[] = {IpInterface::of_further(ip(172, 17, 0, 9), 16).network,
                              IpInterface::of_further(ip(172, 18, 0, 9), 16).network};
  const auto routes = routes_of(own, others);
  ASSERT_EQ(routes.size(), 3u);
  EXPECT_EQ(find_route(routes, ipv4_gid(ip(172, 17, 0, 9))), 1u);
  EXPECT_EQ(find_route(routes, ipv4_gid(ip(172, 18, 0, 9))), 0u);
  EXPECT_EQ(find_route(routes, IpInterface::of_further(ip(172, 18, 0, 9), 16).v6()), 0u);
}

}  // namespace
}  // namespace verbatim::ib
