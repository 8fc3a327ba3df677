// Source locations of trace lines and of decisions.
#include "tools/verbatim/places.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

using Kind = supervisor::CallPlace::Kind;

RunReport::Place place(const char* component, Kind kind, std::int64_t time_ps, std::uint32_t number, std::uint64_t wr_id,
                       const char* text) {
  RunReport::Place made{.component = component, .call = {}};
  made.call.kind = kind;
  made.call.time_ps = time_ps;
  made.call.number = number;
  made.call.wr_id = wr_id;
  made.call.place = text;
  return made;
}

std::string of(const std::vector<RunReport::Place>& places, std::int64_t time_ps, const char* event, const char* values) {
  return Places(places).of(observe::TraceLine{time_ps, "hca/a", event, values, ""});
}

TEST(Places, a_completion_is_of_the_last_request_before_it_with_its_number) {
  const std::vector<RunReport::Place> places = {
      place("hca/a", Kind::kSend, 10, 72, 7, "a.c:1"), place("hca/a", Kind::kSend, 20, 72, 7, "a.c:2"),
      place("hca/a", Kind::kSend, 30, 72, 8, "a.c:3"), place("hca/a", Kind::kSend, 40, 72, 7, "a.c:4"),
      place("hca/b", Kind::kSend, 20, 72, 7, "b.c:1"), place("hca/a", Kind::kSend, 20, 73, 7, "a.c:5")};
  EXPECT_EQ(of(places, 35, "completion", "cqn=128 qpn=72 wr_id=7 status=0"), "posted at a.c:2");
  EXPECT_EQ(of(places, 40, "completion", "cqn=128 qpn=72 wr_id=7 status=0"), "posted at a.c:4");
  EXPECT_EQ(of(places, 5, "completion", "cqn=128 qpn=72 wr_id=7 status=0"), "");
  EXPECT_EQ(of(places, 35, "completion", "cqn=128 qpn=72 wr_id=9 status=0"), "");
  EXPECT_EQ(of(places, 35, "doorbell", "kind=0 number=72 producer=3"), "posted at a.c:3");
}

TEST(Places, what_may_be_of_either_is_told_of_both) {
  const std::vector<RunReport::Place> places = {place("hca/a", Kind::kSend, 10, 72, 7, "a.c:1"),
                                                place("hca/a", Kind::kReceive, 20, 72, 7, "a.c:2"),
                                                place("hca/b", Kind::kSend, 20, 80, 1, "b.c:1")};
  EXPECT_EQ(of(places, 35, "completion", "cqn=128 qpn=72 wr_id=7 status=0"), "posted at a.c:2, or at a.c:1");
  EXPECT_EQ(of(places, 35, "payload-gathered", "qpn=72 psn=1 length=64"), "posted at a.c:1");
  EXPECT_EQ(of(places, 35, "dma-write", "process=1000 va=0x10 length=64"), "of a message posted at b.c:1");
}

TEST(Places, an_event_is_asked_for_where_its_queue_was_armed_last) {
  const std::vector<RunReport::Place> places = {place("hca/a", Kind::kArm, 10, 129, 0, "a.c:1"),
                                                place("hca/a", Kind::kArm, 20, 130, 0, "a.c:2"),
                                                place("hca/a", Kind::kArm, 30, 129, 0, "a.c:3")};
  EXPECT_EQ(of(places, 25, "completion-event", "cqn=129 channel=1 process=1000"), "armed at a.c:1");
  EXPECT_EQ(of(places, 35, "completion-event", "cqn=129 channel=1 process=1000"), "armed at a.c:3");
  EXPECT_EQ(of(places, 35, "doorbell", "kind=1 number=130 producer=0"), "called at a.c:2");
  EXPECT_EQ(of(places, 35, "completion-event", "cqn=131 channel=1 process=1000"), "");
}

// A function that posts for several callers, or one in a header, is a wrapper.
TEST(Places, the_frame_outside_a_wrapper_is_named_first) {
  const auto sends = [](std::initializer_list<const char*> texts) {
    std::vector<RunReport::Place> places;
    for (const char* text : texts) places.push_back(place("hca/a", Kind::kSend, 10, 72, 0, text));
    return places;
  };
  const auto posted = [](std::vector<RunReport::Place> places) { return Places(std::move(places)).of_post("hca/a", 72, 20, {}); };
  EXPECT_EQ(posted(sends({"app.c:5, from app.c:20", "app.c:5, from app.c:30"})), "app.c:30, through app.c:5");
  EXPECT_EQ(posted(sends({"app.c:5, from app.c:20", "app.c:5, from app.c:20"})), "app.c:5, from app.c:20");
  EXPECT_EQ(posted(sends({"app.h:5, from app.c:20"})), "app.c:20, through app.h:5");
  EXPECT_EQ(posted(sends({"app.h:5"})), "app.h:5");
  EXPECT_EQ(posted({}), "");
  // Further words of a place stay behind it.
  std::vector<RunReport::Place> late = {place("thread/1", Kind::kLate, 10, 0, 0, "app.h:5, from app.c:20, before touching 4 bytes at 0x10")};
  late[0].call.site = "thread-before-access";
  EXPECT_EQ(Places(late).of(explore::Decision{"thread-before-access", "thread/1", 0, 1, 145, 0}),
            "app.c:20, through app.h:5, before touching 4 bytes at 0x10");
}

TEST(Places, a_late_thread_is_known_by_site_and_occurrence) {
  std::vector<RunReport::Place> places = {place("thread/1", Kind::kLate, 10, 0, 0, "a.c:1"),
                                          place("thread/1", Kind::kLate, 20, 0, 0, "a.c:2")};
  places[0].call.site = places[1].call.site = "thread-before-call";
  places[1].call.occurrence = 4;
  EXPECT_EQ(Places(places).of(explore::Decision{"thread-before-call", "thread/1", 4, 1, 145, 0}), "a.c:2");
  EXPECT_EQ(Places(places).end_of(explore::Decision{"thread-before-call", "thread/1", 5, 1, 145, 0}), std::nullopt);
  EXPECT_EQ(Places(places).of(explore::Decision{"thread-before-call", "thread/1", 5, 1, 145, 0}), "");
  // A later report of the same call, which has more information, replaces it.
  places.push_back(places[1]);
  places.back().call.place = "a.c:2, changed";
  places.back().call.time_ps = 77;
  EXPECT_EQ(Places(places).of(explore::Decision{"thread-before-call", "thread/1", 4, 1, 145, 0}), "a.c:2, changed");
  EXPECT_EQ(Places(places).end_of(explore::Decision{"thread-before-call", "thread/1", 4, 1, 145, 0}), 77);
  EXPECT_EQ(Places(places).of(explore::Decision{"thread-after-wait", "thread/1", 4, 1, 145, 0}), "");
  EXPECT_EQ(Places().of(explore::Decision{"ack-delay", "hca/a", 4, 1, 145, 0}), "");
}

}  // namespace
}  // namespace verbatim::cli
