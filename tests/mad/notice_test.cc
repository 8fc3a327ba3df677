// The Notice attribute and the details of its traps: conversion to fields and back, with the offsets of the
// specification.
#include "sim/mad/notice.h"

#include "sim/mad/fields.h"
#include "sim/mad/smp.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>

namespace verbatim::mad {
namespace {

template <std::size_t bytes>
std::array<std::byte, bytes> random_bytes() {
  std::array<std::byte, bytes> all;
  for (std::byte& byte : all) byte = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  return all;
}

template <std::size_t bytes>
int bits_between(const std::array<std::byte, bytes>& a, const std::array<std::byte, bytes>& b) {
  int differing = 0;
  for (std::size_t i = 0; i < bytes; ++i) differing += std::popcount(std::to_integer<unsigned>(a[i] ^ b[i]));
  return differing;
}

template <std::size_t bytes>
void flip(std::array<std::byte, bytes>& all, std::size_t bit) {
  all[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
}

TEST(NoticeTest, comes_back_as_it_was_with_all_its_bits) {
  EXPECT_TRUE(rc::check([] {
    auto bytes = random_bytes<Notice::kBytes>();
    const Notice notice = Notice::decode(bytes);
    RC_ASSERT(notice.encode() == bytes);
    flip(bytes, *rc::gen::inRange<std::size_t>(0, Notice::kBytes * 8));
    RC_ASSERT(Notice::decode(bytes) != notice);
  }));
}

template <class Details>
class NoticeDetailsTest : public testing::Test {};
using AllDetails = testing::Types<GidDetails, LinkStateDetails, PortDetails, CapabilityDetails, SystemImageDetails,
                                  BadMKeyDetails, BadKeyDetails, BadPKeyAtSwitchDetails>;
TYPED_TEST_SUITE(NoticeDetailsTest, AllDetails);

// Every bit belongs to a field or is reserved: reserved bits are ignored, all others change the details.
TYPED_TEST(NoticeDetailsTest, read_each_bit_once) {
  EXPECT_TRUE(rc::check([] {
    auto bytes = random_bytes<kDetailBytes>();
    const auto details = decode_details<TypeParam>(bytes);
    const NoticeDetails written = encode_details(details);
    RC_ASSERT(decode_details<TypeParam>(written) == details);
    flip(bytes, *rc::gen::inRange<std::size_t>(0, kDetailBytes * 8));
    const auto other = decode_details<TypeParam>(bytes);
    RC_ASSERT(bits_between(written, encode_details(other)) == (other == details ? 0 : 1));
  }));
}

unsigned at(std::span<const std::byte> bytes, std::size_t place) { return std::to_integer<unsigned>(bytes[place]); }

// IBA 13.4.8.2 and 14.2.5.1: offsets counted by hand.
TEST(NoticeTest, lies_where_the_specification_has_it) {
  ib::KeyViolation violation;
  violation.key = 0x81828384;
  violation.service_level = ib::ServiceLevel{0xb};
  violation.source_lid = ib::Lid{0x1112};
  violation.destination_lid = ib::Lid{0x2122};
  violation.source_qp = ib::Qpn{0x313233};
  violation.destination_qp = ib::Qpn{0x414243};
  violation.source_gid.raw[0] = 0x51;
  violation.destination_gid.raw[15] = 0x61;
  Notice notice = bad_qkey_notice(0x7172, violation);
  notice.notice_count = 0x7fff;
  const auto bytes = notice.encode();
  EXPECT_EQ(at(bytes, 0), 0x82u) << "generic, security";
  EXPECT_EQ(at(bytes, 3), 1u) << "a channel adapter";
  EXPECT_EQ(at(bytes, 4) << 8 | at(bytes, 5), 258u);
  EXPECT_EQ(at(bytes, 6), 0x71u);
  EXPECT_EQ(at(bytes, 8), 0x7fu);
  constexpr std::size_t kDetails = 10;
  EXPECT_EQ(at(bytes, kDetails + 2), 0x11u);
  EXPECT_EQ(at(bytes, kDetails + 4), 0x21u);
  EXPECT_EQ(at(bytes, kDetails + 6), 0x81u);
  EXPECT_EQ(at(bytes, kDetails + 10), 0xb0u);
  EXPECT_EQ(at(bytes, kDetails + 11), 0x31u);
  EXPECT_EQ(at(bytes, kDetails + 14), 0u);
  EXPECT_EQ(at(bytes, kDetails + 15), 0x41u);
  EXPECT_EQ(at(bytes, kDetails + 18), 0x51u);
  EXPECT_EQ(at(bytes, kDetails + 49), 0x61u);
  EXPECT_EQ(at(bytes, 64), 0u) << "of the issuer, by an administrator alone";

  violation.key = 0x8001;
  const Notice other = bad_pkey_notice(1, violation);
  EXPECT_EQ(other.trap_number, 257u);
  EXPECT_EQ(at(other.details, 8), 0x80u) << "16 bits of 32";
}

TEST(NoticeTest, of_a_wrong_m_key_has_the_way_back) {
  BadMKeyDetails details;
  details.lid = 0x0102;
  details.method = 0x11;
  details.attribute_id = 0x2122;
  details.attribute_modifier = 0x31323334;
  details.mkey = 0x4142434445464748;
  details.dr_notice = true;
  details.dr_hop_count = 3;
  details.dr_notice_return_path[29] = std::byte{0x77};
  const NoticeDetails bytes = encode_details(details);
  EXPECT_EQ(at(bytes, 2), 1u);
  EXPECT_EQ(at(bytes, 6), 0x11u);
  EXPECT_EQ(at(bytes, 8), 0x21u);
  EXPECT_EQ(at(bytes, 10), 0x31u);
  EXPECT_EQ(at(bytes, 14), 0x41u);
  EXPECT_EQ(at(bytes, 23), 0x83u);
  EXPECT_EQ(at(bytes, 53), 0x77u);
}

TEST(NoticeTest, tells_of_a_request_with_a_wrong_m_key_what_it_asked_for_and_which_way_it_came) {
  ib::Mad request{};
  Header header;
  header.management_class = kSubnetManagementDirected;
  header.method = kSet;
  header.attribute_id = smp::kPortInfo;
  header.attribute_modifier = 5;
  put_header(request, header);
  smp::DirectedRoute route;
  route.hop_count = 2;
  route.return_path[1] = 4;
  route.put(request);
  FieldWriter(request).number(kHeaderBytes, 0, 64, std::uint64_t{0x99});
  const Notice notice = bad_mkey_notice(Notice::kSwitch, 7, request, 0xffff);
  EXPECT_EQ(notice.trap_number, 256);
  EXPECT_EQ(notice.type, Notice::Type::kSecurity);
  EXPECT_EQ(notice.producer_type, Notice::kSwitch);
  const auto details = decode_details<BadMKeyDetails>(notice.details);
  EXPECT_EQ(details.method, kSet);
  EXPECT_EQ(details.attribute_id, smp::kPortInfo);
  EXPECT_EQ(details.attribute_modifier, 5u);
  EXPECT_EQ(details.mkey, 0x99u);
  EXPECT_TRUE(details.dr_notice);
  EXPECT_EQ(details.dr_hop_count, 2);
  EXPECT_EQ(details.dr_notice_return_path[1], std::byte{4});

  header.management_class = kSubnetManagementLid;
  put_header(request, header);
  EXPECT_FALSE(decode_details<BadMKeyDetails>(bad_mkey_notice(Notice::kSwitch, 7, request, 3).details).dr_notice);
}

TEST(NoticeTest, of_states_and_capabilities_name_the_port) {
  const Notice link = link_state_notice(9);
  EXPECT_EQ(link.trap_number, 128);
  EXPECT_EQ(link.producer_type, Notice::kSwitch);
  EXPECT_EQ(decode_details<LinkStateDetails>(link.details).lid, 9);
  CapabilityDetails capabilities;
  capabilities.lid = 8;
  capabilities.capability_mask = 0x12345678;
  const Notice changed = capability_notice(capabilities);
  EXPECT_EQ(changed.trap_number, 144);
  EXPECT_EQ(changed.issuer_lid, 8);
  EXPECT_EQ(decode_details<CapabilityDetails>(changed.details), capabilities);
}

}  // namespace
}  // namespace verbatim::mad
