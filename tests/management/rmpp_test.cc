// IBA 13.6: messages of many segments arrive complete, whichever datagram is lost.
#include "sim/management/rmpp.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/core/delay_line.h"

namespace verbatim::management {
namespace {

// Two ends and a line that loses the nth datagram.
class RmppTest : public testing::Test {
 protected:
  struct Wire final : ib::ManagementPort {
    Wire(Engine& engine, ComponentId source, std::function<void(const ib::ManagementDatagram&)> out)
        : engine(engine),
          out(std::move(out)),
          line(DelayLine<ib::ManagementDatagram>::of<&Wire::on_arrival>(engine, source, EventClass::kArrival, this)) {}
    void send(const ib::ManagementDatagram& datagram) override {
      if (++sent == lost) return;
      line.push(engine.now() + std::chrono::microseconds(1), datagram);
    }
    void on_arrival(ib::ManagementDatagram datagram) { out(datagram); }
    Engine& engine;
    std::function<void(const ib::ManagementDatagram&)> out;
    int sent = 0, lost = 0;
    DelayLine<ib::ManagementDatagram> line;
  };

  static MadBytes message(std::size_t bytes) {
    MadBytes all(56 + bytes);
    all[0] = std::byte{1};
    all[1] = std::byte{mad::kSubnetAdministration};
    all[3] = std::byte{mad::kGetTableResponse};
    for (std::size_t i = 56; i < all.size(); ++i) all[i] = std::byte(i * 7);
    return all;
  }

  // The received message, if it arrived exactly once.
  std::optional<MadBytes> transfer(const MadBytes& whole, int lost_segment, int lost_answer) {
    Engine engine;
    std::optional<MadBytes> come;
    int times = 0;
    RmppSender* sends = nullptr;
    RmppReceiver* receives = nullptr;
    Wire there(engine, ComponentId{0}, [&](const ib::ManagementDatagram& one) {
      if (auto all = receives->on_segment(one)) come = std::move(all), ++times;
    });
    Wire back(engine, ComponentId{1}, [&](const ib::ManagementDatagram& one) { sends->on_datagram(one); });
    there.lost = lost_segment;
    back.lost = lost_answer;
    RmppSender sender(engine, ComponentId{2}, there);
    RmppReceiver receiver(engine, back);
    sends = &sender;
    receives = &receiver;
    ib::ManagementDatagram way;
    way.lid = ib::Lid{4};
    sender.send(way, whole);
    engine.run();
    EXPECT_LE(times, 1);
    return come;
  }

  // Without the header of the transaction, which is each datagram's own.
  static void expect_same(const MadBytes& a, const MadBytes& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_TRUE(std::equal(a.begin() + 36, a.end(), b.begin() + 36));
  }
};

TEST_F(RmppTest, any_length_comes_as_it_was_sent) {
  for (const std::size_t bytes : {0, 1, 199, 200, 201, 400, 5'000, 50'001}) {
    const auto come = transfer(message(bytes), 0, 0);
    ASSERT_TRUE(come) << bytes;
    expect_same(*come, message(bytes));
  }
}

TEST_F(RmppTest, each_datagram_may_be_lost) {
  const MadBytes whole = message(70 * 200);
  for (int lost = 1; lost <= 70; ++lost) {
    const auto come = transfer(whole, lost, 0);
    ASSERT_TRUE(come) << lost;
    expect_same(*come, whole);
  }
  for (int lost = 1; lost <= 3; ++lost) ASSERT_TRUE(transfer(whole, 0, lost)) << lost;
}

}  // namespace
}  // namespace verbatim::management
