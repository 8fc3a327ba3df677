// Management datagrams: bytes to fields and back, against the places that the specification gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/mad/cm_messages.h"
#include "sim/mad/sa_records.h"
#include "sim/management/multicast_record.h"
#include "sim/management/path_record.h"

namespace verbatim::mad {
namespace {

using namespace cm;

ib::Mad random_mad() {
  ib::Mad mad;
  for (std::byte& byte : mad) byte = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  return mad;
}

// A datagram of random bytes with the header of this message.
template <class M>
ib::Mad random_message() {
  ib::Mad mad = random_mad();
  const ib::Mad named = encode(M{}, 7);
  std::copy_n(named.begin(), kHeaderBytes, mad.begin());
  return mad;
}

template <class M>
class CmMessage : public testing::Test {};
using Messages = testing::Types<Req, Mra, Rej, Rep, Rtu, Dreq, Drep, SidrReq, SidrRep, Lap, Apr>;
TYPED_TEST_SUITE(CmMessage, Messages);

TYPED_TEST(CmMessage, comes_back_as_it_was) {
  EXPECT_TRUE(rc::check([] {
    const auto message = decode<TypeParam>(random_message<TypeParam>());
    RC_ASSERT(message.has_value());
    const ib::Mad mad = encode(*message, 99);
    RC_ASSERT(decode<TypeParam>(mad) == message);
    RC_ASSERT(header_of(mad).transaction_id == 99u);
  }));
}

// Every bit of the datagram is a field's, or reserved: what is reserved is not read, all others change the message.
TYPED_TEST(CmMessage, reads_each_bit_once) {
  EXPECT_TRUE(rc::check([] {
    const ib::Mad mad = random_message<TypeParam>();
    const auto message = decode<TypeParam>(mad);
    const ib::Mad written = encode(*message, header_of(mad).transaction_id);
    const std::size_t bit = *rc::gen::inRange<std::size_t>(kHeaderBytes * 8, mad.size() * 8);
    ib::Mad changed = mad;
    changed[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
    const auto other = decode<TypeParam>(changed);
    const ib::Mad rewritten = encode(*other, header_of(mad).transaction_id);
    int differing = 0;
    for (std::size_t i = 0; i < mad.size(); ++i) differing += std::popcount(std::to_integer<unsigned>(written[i] ^ rewritten[i]));
    RC_ASSERT(differing == (other == message ? 0 : 1));
    if (differing == 1) RC_ASSERT((rewritten[bit / 8] ^ written[bit / 8]) == (changed[bit / 8] ^ mad[bit / 8]));
  }));
}

TYPED_TEST(CmMessage, is_not_taken_for_another) {
  const ib::Mad mad = encode(TypeParam{}, 1);
  int taken = 0;
  taken += decode<Req>(mad).has_value();
  taken += decode<Mra>(mad).has_value();
  taken += decode<Rej>(mad).has_value();
  taken += decode<Rep>(mad).has_value();
  taken += decode<Rtu>(mad).has_value();
  taken += decode<Dreq>(mad).has_value();
  taken += decode<Drep>(mad).has_value();
  taken += decode<SidrReq>(mad).has_value();
  taken += decode<SidrRep>(mad).has_value();
  taken += decode<Lap>(mad).has_value();
  taken += decode<Apr>(mad).has_value();
  EXPECT_EQ(taken, 1);
  for (const std::size_t at : {0, 1, 2, 3, 16, 17}) {
    ib::Mad wrong = mad;
    wrong[at] ^= std::byte{0x40};
    EXPECT_FALSE(decode<TypeParam>(wrong)) << at;
  }
}

unsigned at(const ib::Mad& mad, std::size_t place) { return std::to_integer<unsigned>(mad[place]); }

// IBA tables 99, 106: places counted by hand.
TEST(CmMessages, lie_where_the_specification_has_them) {
  Req req;
  req.local_comm_id = 0x01020304;
  req.vendor_id = 0xc1c2c3;
  req.ece_options = 0xd1d2d3d4;
  req.service_id = 0x1112131415161718;
  req.local_qpn = 0x212223;
  req.starting_psn = 0x313233;
  req.retry_count = 7;
  req.local_cm_response_timeout = 0x1f;
  req.path_mtu = 5;
  req.rnr_retry_count = 6;
  req.max_cm_retries = 15;
  req.srq = true;
  req.primary.local_lid = 0x4142;
  req.primary.flow_label = 0xabcde;
  req.primary.packet_rate = 0x3f;
  req.private_data.front() = std::byte{0x77};
  const ib::Mad mad = encode(req, 0x0a);
  EXPECT_EQ(at(mad, 1), 7u);
  EXPECT_EQ(at(mad, 15), 0x0au);
  EXPECT_EQ(at(mad, 17), 0x10u);
  EXPECT_EQ(at(mad, 20), 0xd1u);
  EXPECT_EQ(at(mad, 24), 1u);
  EXPECT_EQ(at(mad, 24 + 4), 0u);
  EXPECT_EQ(at(mad, 24 + 5), 0xc1u);
  EXPECT_EQ(at(mad, 24 + 8), 0x11u);
  EXPECT_EQ(at(mad, 24 + 32), 0x21u);
  EXPECT_EQ(at(mad, 24 + 44), 0x31u);
  EXPECT_EQ(at(mad, 24 + 47), 0xffu);
  EXPECT_EQ(at(mad, 24 + 50), 0x56u);
  EXPECT_EQ(at(mad, 24 + 51), 0xf8u);
  EXPECT_EQ(at(mad, 24 + 52), 0x41u);
  EXPECT_EQ(at(mad, 24 + 88), 0xabu);
  EXPECT_EQ(at(mad, 24 + 90), 0xe0u);
  EXPECT_EQ(at(mad, 24 + 91), 0x3fu);
  EXPECT_EQ(at(mad, 24 + 140), 0x77u);
  Rep rep;
  rep.local_ca_guid = 0x5152535455565758;
  rep.rnr_retry_count = 7;
  rep.target_ack_delay = 0x1f;
  rep.vendor_id = {0xe1, 0xe2, 0xe3};
  rep.ece_options = 0xf1f2f3f4;
  const ib::Mad reply = encode(rep, 1);
  EXPECT_EQ(at(reply, 23), 0xf4u);
  EXPECT_EQ(at(reply, 24 + 15), 0xe1u);
  EXPECT_EQ(at(reply, 24 + 19), 0xe2u);
  EXPECT_EQ(at(reply, 24 + 23), 0xe3u);
  EXPECT_EQ(at(reply, 24 + 26), 0xf8u);
  EXPECT_EQ(at(reply, 24 + 27), 0xe0u);
  EXPECT_EQ(at(reply, 24 + 28), 0x51u);
}

TEST(PathRecords, come_back_as_they_were) {
  EXPECT_TRUE(rc::check([] {
    std::array<std::byte, sa::PathRecord::kBytes> bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
    const sa::PathRecord record = sa::PathRecord::decode(bytes);
    RC_ASSERT(sa::PathRecord::decode(record.encode()) == record);
  }));
}

TEST(McMemberRecords, come_back_as_they_were) {
  EXPECT_TRUE(rc::check([] {
    std::array<std::byte, sa::McMemberRecord::kBytes> bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
    const sa::McMemberRecord record = sa::McMemberRecord::decode(bytes);
    RC_ASSERT(sa::McMemberRecord::decode(record.encode()) == record);
  }));
}

// Members of a group get the same LID and keys; groups with members have different LIDs.
TEST(MulticastGroups, are_made_by_the_first_and_go_with_the_last) {
  management::MulticastGroups groups;
  const auto named = [](std::uint8_t number) {
    ib::Gid gid;
    gid.raw[0] = 0xff;
    gid.raw[15] = number;
    return gid;
  };
  const auto join = [&](std::uint8_t group, std::uint8_t port, std::uint32_t qkey) {
    const ib::Mad question = management::encode_join(named(group), named(port), 0xffff, qkey);
    return management::decode_join_answer(*groups.answer(question, 5, 16));
  };
  const auto leave = [&](std::uint8_t group, std::uint8_t port) {
    return header_of(*groups.answer(management::encode_leave(named(group), named(port)), 5, 16)).status;
  };
  const auto first = join(1, 10, 77), second = join(1, 11, 78), other = join(2, 10, 79);
  ASSERT_TRUE(first && second && other);
  EXPECT_EQ(first->lid.value, 0xc000);
  EXPECT_EQ(second->lid, first->lid);
  EXPECT_EQ(second->qkey, 77u);
  EXPECT_EQ(other->lid.value, 0xc001);
  EXPECT_EQ(leave(1, 10), 0);
  EXPECT_NE(leave(1, 10), 0);
  EXPECT_EQ(leave(1, 11), 0);
  EXPECT_EQ(join(3, 10, 80)->lid.value, 0xc000);
  const ib::Mad nameless = management::encode_join({}, named(10), 0xffff, 1);
  const auto unnamed = management::decode_join_answer(*groups.answer(nameless, 5, 16));
  ASSERT_TRUE(unnamed);
  EXPECT_EQ(unnamed->group.raw[0], 0xff);
  EXPECT_FALSE(groups.answer(management::encode_path_question({}, {}, 1), 5, 16));
}

class OnePath final : public management::PathFinder {
 public:
  std::optional<management::Path> find(const ib::Gid& from, const ib::Gid& to, std::optional<std::uint16_t> pkey) const override {
    if (from.raw[15] != 1 || to.raw[15] != 2 || (pkey && *pkey != 0x8001)) return std::nullopt;
    management::Path path;
    path.sgid = from;
    path.dgid = to;
    path.slid = ib::Lid{11};
    path.dlid = ib::Lid{22};
    path.pkey = 0x8001;
    path.mtu = 4;
    path.rate = 16;
    path.packet_life_time = 18;
    return path;
  }
};

TEST(PathRecords, are_asked_for_and_answered) {
  ib::Gid one, two;
  one.raw[15] = 1;
  two.raw[15] = 2;
  const OnePath paths;
  const auto answer = management::answer_path_question(management::encode_path_question(one, two, 0x8001), paths);
  ASSERT_TRUE(answer);
  const auto path = management::decode_path_answer(*answer);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->error, 0);
  EXPECT_EQ(path->path.dlid.value, 22);
  EXPECT_EQ(path->path.rate, 16);
  const auto ask = management::encode_path_question;
  for (const auto& question : {ask(two, one, 0x8001), ask(one, two, 0x8002)}) {
    const auto none = management::decode_path_answer(*management::answer_path_question(question, paths));
    ASSERT_TRUE(none);
    EXPECT_NE(none->error, 0);
  }
  EXPECT_FALSE(management::answer_path_question(*answer, paths)) << "an answer is no question";
}

TEST(PathRecords, random_bytes_do_no_harm) {
  EXPECT_TRUE(rc::check([] {
    ib::Mad mad = random_mad();
    if (*rc::gen::arbitrary<bool>()) std::copy_n(management::encode_path_question({}, {}, 1).begin(), kHeaderBytes, mad.begin());
    const OnePath paths;
    management::answer_path_question(mad, paths);
    management::decode_path_answer(mad);
  }));
}

}  // namespace
}  // namespace verbatim::mad
