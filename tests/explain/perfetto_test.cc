// The trace of `verbatim report --perfetto`, parsed according to the published schema.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::perfetto {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A protocol buffers message: fields by number, in order.
struct Message {
  std::multimap<unsigned, std::uint64_t> numbers;
  std::multimap<unsigned, std::string> texts;

  std::uint64_t number(unsigned field, std::uint64_t otherwise = 0) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? otherwise : found->second;
  }
  std::string text(unsigned field) const {
    const auto found = texts.find(field);
    return found == texts.end() ? "" : found->second;
  }
  bool has_text(unsigned field) const { return texts.contains(field); }
};

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Returns an empty message and fails the test if the bytes are not a message.
Message parse(std::string_view bytes) {
  Message message;
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    const auto field = static_cast<unsigned>(tag.value_or(0) >> 3);
    const unsigned type = tag.value_or(7) & 7;
    if (type == 0) {
      message.numbers.emplace(field, take_varint(bytes).value_or(0));
    } else if (type == 1 && bytes.size() >= 8) {
      std::uint64_t value = 0;
      for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << 8 * i;
      message.numbers.emplace(field, value);
      bytes.remove_prefix(8);
    } else if (const auto length = type == 2 ? take_varint(bytes) : std::nullopt; length && *length <= bytes.size()) {
      message.texts.emplace(field, bytes.substr(0, *length));
      bytes.remove_prefix(*length);
    } else {
      ADD_FAILURE() << "wire type " << type << " with " << bytes.size() << " bytes left";
      return {};
    }
  }
  return message;
}

struct Track {
  std::string name;
  std::uint64_t parent = 0;
  bool is_process = false, is_counter = false;
};

struct Event {
  std::uint64_t time = 0, type = 0, track = 0;
  std::string name;
  std::vector<std::string> categories;
  std::map<std::string, std::string> annotations;
  std::vector<std::uint64_t> flows;
};

constexpr std::uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;

struct Trace {
  std::map<std::uint64_t, Track> tracks;
  std::vector<Event> events;

  std::string path(std::uint64_t track) const {
    const Track& one = tracks.at(track);
    return (one.parent == 0 ? "" : path(one.parent) + "/") + one.name;
  }
  // Events of the type on tracks whose path has this suffix.
  std::vector<const Event*> on(std::string_view end, std::uint64_t type) const {
    std::vector<const Event*> found;
    for (const Event& event : events) {
      if (event.type == type && path(event.track).ends_with(end)) found.push_back(&event);
    }
    return found;
  }
};

void read_track(const Message& descriptor, Trace& trace) {
  Track track{.name = descriptor.text(2), .parent = descriptor.number(5), .is_process = descriptor.has_text(3),
              .is_counter = descriptor.has_text(8)};
  EXPECT_TRUE(track.parent == 0 || trace.tracks.contains(track.parent)) << track.name;
  EXPECT_TRUE(trace.tracks.emplace(descriptor.number(1), track).second) << track.name;
}

Trace read_trace(const std::string& path) {
  Trace trace;
  std::map<std::uint64_t, std::string> names;
  const std::string bytes = support::text_of_file(path);
  bool first = true;
  for (const auto& [field, text] : parse(bytes).texts) {
    EXPECT_EQ(field, 1u);
    const Message packet = parse(text);
    EXPECT_EQ(packet.number(10), 1u);                               // sequence id of the writer
    EXPECT_EQ(packet.number(13), std::exchange(first, false) ? 3u : 2u);  // starts anew; depends on earlier packets
    if (packet.has_text(60)) read_track(parse(packet.text(60)), trace);
    if (packet.has_text(12)) {
      const Message name = parse(parse(packet.text(12)).text(2));
      names[name.number(1)] = name.text(2);
    }
    if (!packet.has_text(11)) continue;
    const Message told = parse(packet.text(11));
    Event event{.time = packet.number(8), .type = told.number(9), .track = told.number(11)};
    EXPECT_TRUE(trace.tracks.contains(event.track));
    EXPECT_EQ(trace.tracks[event.track].is_counter, event.type == kCounter);
    if (event.type == kBegin || event.type == kInstant) {
      EXPECT_TRUE(names.contains(told.number(10)));
      event.name = names[told.number(10)];
    }
    const auto categories = told.texts.equal_range(22);
    for (auto i = categories.first; i != categories.second; ++i) event.categories.push_back(i->second);
    const auto annotations = told.texts.equal_range(4);
    for (auto i = annotations.first; i != annotations.second; ++i) {
      const Message one = parse(i->second);
      event.annotations[one.text(10)] = one.has_text(6) ? one.text(6) : std::to_string(one.number(3));
    }
    const auto flows = told.numbers.equal_range(47);
    for (auto i = flows.first; i != flows.second; ++i) event.flows.push_back(i->second);
    trace.events.push_back(std::move(event));
  }
  return trace;
}

// Events are in the order of time; slices of a track are nested or consecutive.
void expect_well_formed(const Trace& trace) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> open;  // start times of open slices by track
  std::uint64_t before = 0;
  for (const Event& event : trace.events) {
    EXPECT_GE(event.time, before);
    before = event.time;
    std::vector<std::uint64_t>& slices = open[event.track];
    if (event.type == kBegin) slices.push_back(event.time);
    if (event.type != kEnd) continue;
    ASSERT_FALSE(slices.empty()) << trace.path(event.track);
    EXPECT_GE(event.time, slices.back());
    slices.pop_back();
  }
  for (const auto& [track, slices] : open) EXPECT_TRUE(slices.empty()) << trace.path(track);
}

Trace trace_of(std::vector<std::string> what) {
  const support::TemporaryFolder folder;
  const std::string out = folder.path() + "/run", file = folder.path() + "/a run.trace";
  what.insert(what.begin(), {"run", "--quiet", "--log", "off", "--keep-trace", "--out", out});
  cli::verbatim(std::move(what));
  const cli::Finished made = cli::verbatim({"report", out, "--perfetto", file});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("ui.perfetto.dev"));
  EXPECT_THAT(made.out, Not(HasSubstr("report.html")));
  return read_trace(file);
}

std::vector<std::string> pingpong(const std::string& more) {
  return {"--topology", support::topology("two_hosts"), "server=ibv_rc_pingpong " + more,
          "client=ibv_rc_pingpong " + more + " server"};
}

TEST(Perfetto, a_pingpong_as_tracks_slices_flows_and_counters) {
  const Trace trace = trace_of(pingpong("-n 20"));
  expect_well_formed(trace);
  std::vector<std::string> processes;
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.is_process) processes.push_back(track.name);
  }
  EXPECT_THAT(processes, ::testing::UnorderedElementsAre("client", "server"));

  std::vector<const Event*> requests;
  for (const Event* slice : trace.on("/work requests", kBegin)) {
    if (slice->name == "request") requests.push_back(slice);
  }
  ASSERT_EQ(requests.size(), 40u);
  for (const Event* request : requests) {
    EXPECT_EQ(request->annotations.at("status"), "IBV_WC_SUCCESS");
    EXPECT_EQ(request->annotations.at("bytes"), "4096");
    ASSERT_EQ(request->flows.size(), 1u);
    // Packets of the request have its flow, on both sides, not before its post.
    unsigned sent = 0, came = 0;
    for (const Event& event : trace.events) {
      if (event.flows != request->flows || event.type != kInstant) continue;
      EXPECT_GE(event.time, request->time);
      const std::string path = trace.path(event.track);
      sent += path.ends_with("/packets sent") ? 1 : 0;
      came += path.ends_with("/packets received") ? 1 : 0;
    }
    EXPECT_GE(sent, 1u);
    EXPECT_EQ(came, sent);
  }
  std::vector<std::string> states;
  for (const Event* slice : trace.on("/state", kBegin)) states.push_back(slice->name);
  EXPECT_THAT(states, Contains("RTS").Times(2));
  EXPECT_FALSE(trace.on("links/server:1", kCounter).empty());
  std::vector<std::string> output;
  for (const Event* line : trace.on("client/output", kInstant)) output.push_back(line->name);
  EXPECT_THAT(output, Contains(HasSubstr("20 iters in")));
}

TEST(Perfetto, a_lost_packet_is_told_and_does_not_come) {
  std::vector<std::string> run = pingpong("-n 10");
  run.insert(run.begin(), {"--fault", R"({"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3})"});
  const Trace trace = trace_of(run);
  expect_well_formed(trace);
  std::vector<const Event*> lost;
  for (const Event& event : trace.events) {
    if (std::ranges::find(event.categories, "fault") != event.categories.end()) lost.push_back(&event);
  }
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_THAT(lost.front()->categories, Contains("dropped"));
  EXPECT_THAT(lost.front()->annotations.at("why"), HasSubstr("a fault of the scenario or the seed"));
  unsigned came = 0, again = 0;
  for (const Event& event : trace.events) {
    if (event.flows != lost.front()->flows) continue;
    if (!event.annotations.contains("psn") || event.annotations.at("psn") != lost.front()->annotations.at("psn")) continue;
    came += trace.path(event.track).ends_with("/packets received") ? 1 : 0;
    again += std::ranges::find(event.categories, "retransmission") != event.categories.end() ? 1 : 0;
  }
  EXPECT_EQ(again, 2u);  // once sent and once received
  EXPECT_EQ(came, 1u);
  EXPECT_FALSE(trace.on("links/client:1 drops so far", kCounter).empty());
}

// As many tracks as requests are outstanding at a time.
TEST(Perfetto, requests_that_overlap_do_not_share_a_track) {
  const Trace trace = trace_of({"--topology", support::topology("two_hosts"), "server=ib_send_bw -n 50 -t 8",
                                "client=ib_send_bw -n 50 -t 8 server"});
  expect_well_formed(trace);
  std::size_t lanes = 0;
  for (const auto& [uuid, track] : trace.tracks) lanes += track.name == "work requests" ? 1 : 0;
  EXPECT_GE(lanes, 4u);
  std::size_t requests = 0;
  for (const Event* slice : trace.on("/work requests", kBegin)) requests += slice->name == "request" ? 1 : 0;
  EXPECT_EQ(requests, 50u);
}

TEST(Perfetto, a_folder_that_is_not_there_is_told) {
  const support::TemporaryFolder folder;
  const std::string run = folder.path() + "/run";
  std::vector<std::string> words = pingpong("-n 2");
  words.insert(words.begin(), {"run", "--quiet", "--keep-trace", "--out", run});
  cli::verbatim(std::move(words));
  const cli::Finished made = cli::verbatim({"report", run, "--perfetto", folder.path() + "/none/trace"});
  EXPECT_NE(made.code, 0);
  EXPECT_THAT(made.err, HasSubstr("none/trace"));
}

}  // namespace
}  // namespace verbatim::perfetto
