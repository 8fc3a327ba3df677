// Violations of the specification by an adapter with a quirk, and their absence without it.
#include "sim/hca/quirks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "tests/hca/driver.h"
#include "tests/hca/scripted_choices.h"

namespace verbatim::test {
namespace {

using hca::Quirk;

constexpr std::uint64_t kLength = 64;
constexpr std::uint32_t kLongestWait = 1'000'000;

PairOptions options_with(ScriptedChoices& choices, hca::Quirks quirks) {
  PairOptions options;
  options.world.choices = &choices;
  options.world.profile.quirks = quirks;
  return options;
}

SendRequest write_of(Pair& pair, WqeOpcode opcode, std::uint64_t length) {
  SendRequest request{.wr_id = 1, .opcode = opcode, .sges = {pair.a.sge(0, length)}};
  request.remote_va = Program::kBuffer;
  request.rkey = pair.b.mr.rkey;
  return request;
}

// Whether anybody could see a word of 8 bytes of which some are old and some are new.
bool tears_words(hca::Quirks quirks) {
  ScriptedChoices choices;
  choices.answers["placement"] = 6;  // byte by byte, where that may be
  choices.answers["placement/hold"] = 1;
  choices.answers_once["placement/hold"] = 0;
  choices.answers["placement/delay"] = 16;
  Pair pair(options_with(choices, quirks));
  pair.a.fill(0, kLength, 0x41);
  std::vector<std::uint64_t> before(kLength / sizeof(std::uint64_t)), after = before;
  std::memcpy(before.data(), pair.b.program.memory.at(Program::kBuffer, kLength).data(), kLength);
  std::memcpy(after.data(), pair.a.program.memory.at(Program::kBuffer, kLength).data(), kLength);
  pair.a.program.post_send(pair.a.qp, write_of(pair, WqeOpcode::kRdmaWrite, kLength));
  bool torn = false;
  while (pair.world.engine.step()) {
    std::vector<std::uint64_t> now(before.size());
    std::memcpy(now.data(), pair.b.program.memory.at(Program::kBuffer, kLength).data(), kLength);
    for (std::size_t i = 0; i < now.size(); ++i) torn = torn || (now[i] != before[i] && now[i] != after[i]);
  }
  EXPECT_TRUE(pair.b.equals(0, kLength, 0x41)) << "in the end all is there";
  return torn;
}

TEST(Quirks, words_land_in_pieces_only_by_torn8) {
  EXPECT_TRUE(tears_words(hca::bit_of(Quirk::kTorn8)));
  EXPECT_FALSE(tears_words(0));
  EXPECT_FALSE(tears_words(~hca::bit_of(Quirk::kTorn8)));
}

// Whether the completion that `side` polls was there before the bytes of the message.
bool completes_early(hca::Quirks quirks, std::string_view site, WqeOpcode opcode, bool at_responder) {
  ScriptedChoices choices;
  choices.answers["placement"] = 1;
  choices.answers_once["placement/hold"] = 1;
  choices.answers["placement/delay"] = kLongestWait;
  choices.answers[std::string(site)] = 1;
  Pair pair(options_with(choices, quirks));
  pair.a.fill(0, kLength, 0x41);
  if (opcode != WqeOpcode::kRdmaWrite) pair.b.program.post_recv(pair.b.qp, 7, {pair.b.sge(0, kLength)});
  pair.a.program.post_send(pair.a.qp, write_of(pair, opcode, kLength));
  bool early = false, came = false;
  while (pair.world.engine.step()) {
    const auto entry = at_responder ? pair.b.program.poll(pair.b.recv_cq) : pair.a.program.poll(pair.a.send_cq);
    if (!entry) continue;
    came = true;
    early = early || !pair.b.equals(0, kLength, 0x41);
  }
  EXPECT_TRUE(came);
  EXPECT_TRUE(pair.b.equals(0, kLength, 0x41)) << "in the end all is there";
  EXPECT_TRUE(quirks != 0 || !choices.asked.contains(site)) << "nothing is asked of an adapter without it";
  return early;
}

TEST(Quirks, an_acknowledgement_passes_the_bytes_only_by_early_ack) {
  constexpr std::string_view kSite = "quirk-early-ack";
  EXPECT_TRUE(completes_early(hca::bit_of(Quirk::kEarlyAcknowledgement), kSite, WqeOpcode::kRdmaWrite, false));
  EXPECT_FALSE(completes_early(0, kSite, WqeOpcode::kRdmaWrite, false));
  EXPECT_FALSE(completes_early(hca::bit_of(Quirk::kEarlyAcknowledgement), kSite, WqeOpcode::kSend, true))
      << "a receive is complete with its bytes";
}

TEST(Quirks, a_receive_completes_before_its_bytes_only_by_multipath) {
  constexpr std::string_view kSite = "quirk-multipath";
  for (const WqeOpcode opcode : {WqeOpcode::kSend, WqeOpcode::kRdmaWriteWithImm}) {
    EXPECT_TRUE(completes_early(hca::bit_of(Quirk::kMultipath), kSite, opcode, true));
    EXPECT_FALSE(completes_early(0, kSite, opcode, true));
  }
}

}  // namespace
}  // namespace verbatim::test
