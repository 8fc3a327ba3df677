#include <sys/syscall.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "tests/abi/fixture.h"

namespace verbatim::fake {
namespace {

class Event : public VerbsTest {
 protected:
  void SetUp() override {
    VerbsTest::SetUp();
    world().on_system_call = [this](long number, long fd, long buffer, long size) -> long {
      if (number == SYS_close) {
        closed.push_back(fd);
        return 0;
      }
      if (number != SYS_read) return -ENOSYS;
      auto& queue = fd == context->async_fd ? async : completions;
      if (queue.empty()) return -EAGAIN;
      if (size < static_cast<long>(queue.front().size())) return -EINVAL;
      const long length = static_cast<long>(queue.front().size());
      std::memcpy(reinterpret_cast<void*>(buffer), queue.front().data(), queue.front().size());
      queue.pop_front();
      return length;
    };
    channel = ibv_create_comp_channel(context);
    ASSERT_NE(channel, nullptr);
    watched = ibv_create_cq(context, 4, &cookie, channel, 0);
    ASSERT_NE(watched, nullptr);
  }

  template <typename T>
  static std::vector<char> bytes(const T& value) {
    return {reinterpret_cast<const char*>(&value), reinterpret_cast<const char*>(&value) + sizeof(value)};
  }
  void raise(const ibv_cq* cq) {
    completions.push_back(bytes(protocol::CompletionEvent{fake_cq(cq).cookie}));
  }
  void raise_async(std::uint64_t element, ibv_event_type type) {
    async.push_back(bytes(protocol::AsyncEvent{element, static_cast<std::uint32_t>(type), 0}));
  }

  std::deque<std::vector<char>> completions, async;
  std::vector<long> closed;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* watched = nullptr;
  int cookie = 0;
};

TEST_F(Event, a_completion_event_names_its_queue) {
  raise(watched);
  ibv_cq* got = nullptr;
  void* got_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &got, &got_context), 0);
  EXPECT_EQ(got, watched);
  EXPECT_EQ(got_context, &cookie);
  ibv_ack_cq_events(got, 1);
  errno = 0;
  EXPECT_EQ(ibv_get_cq_event(channel, &got, &got_context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Event, a_channel_with_a_queue_is_busy) {
  EXPECT_EQ(channel->refcnt, 1);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
  ASSERT_EQ(ibv_destroy_cq(watched), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_THAT(closed, testing::ElementsAre(530));
}

TEST_F(Event, destruction_waits_for_acknowledgements) {
  raise(watched);
  raise(watched);
  ibv_cq* got = nullptr;
  void* got_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &got, &got_context), 0);
  ASSERT_EQ(ibv_get_cq_event(channel, &got, &got_context), 0);
  ibv_ack_cq_events(got, 1);
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    EXPECT_EQ(ibv_destroy_cq(watched), 0);
    destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(destroyed);
  ibv_ack_cq_events(got, 1);
  destroyer.join();
  EXPECT_TRUE(destroyed);
}

TEST_F(Event, an_event_nobody_read_does_not_hold_the_destruction) {
  raise(watched);
  EXPECT_EQ(ibv_destroy_cq(watched), 0);
}

TEST_F(Event, an_event_of_a_destroyed_queue_is_skipped) {
  ibv_cq* other = ibv_create_cq(context, 4, nullptr, channel, 0);
  raise(watched);
  raise(other);
  ASSERT_EQ(ibv_destroy_cq(watched), 0);
  ibv_cq* got = nullptr;
  void* got_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &got, &got_context), 0);
  EXPECT_EQ(got, other);
}

TEST_F(Event, asynchronous_events_name_their_element) {
  raise_async(fake_qp(qp).cookie, IBV_EVENT_QP_ACCESS_ERR);
  raise_async(fake_cq(cq).cookie, IBV_EVENT_CQ_ERR);
  raise_async(1, IBV_EVENT_PORT_ACTIVE);
  ibv_async_event events[3];
  for (ibv_async_event& event : events) ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(events[0].element.qp, qp);
  EXPECT_EQ(events[0].event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(events[1].element.cq, cq);
  EXPECT_EQ(events[2].element.port_num, 1);
  for (ibv_async_event& event : events) ibv_ack_async_event(&event);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_get_async_event(context, &events[0]), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Event, destroying_a_queue_pair_waits_for_its_events) {
  raise_async(fake_qp(qp).cookie, IBV_EVENT_COMM_EST);
  ibv_async_event event;
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    destroyed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(destroyed);
  ibv_ack_async_event(&event);
  destroyer.join();
}

}  // namespace
}  // namespace verbatim::fake
