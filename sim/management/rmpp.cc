#include "sim/management/rmpp.h"

#include <algorithm>
#include <cstring>

#include "sim/core/check.h"

namespace verbatim::management {

using mad::RmppHeader;
using mad::RmppType;

namespace {

// As in Linux (mad_rmpp.c): a window of 64 segments, and two seconds for an acknowledgement. Messages without
// progress for 40 seconds are discarded.
constexpr std::uint32_t kWindow = 64;
constexpr Duration kAckTimeout = std::chrono::seconds(2), kForgetting = std::chrono::seconds(40);
constexpr int kRetries = 5;
// Maximum size of a received message.
constexpr std::size_t kLongest = std::size_t{16} << 20;

}  // namespace

struct RmppSender::Message {
  Message(RmppSender& all, const Key& key, const ib::ManagementDatagram& datagram, std::span<const std::byte> whole)
      : all(all),
        key(key),
        datagram(datagram),
        bytes(whole.begin(), whole.end()),
        offset(mad::data_offset(key.management_class)),
        per_segment(static_cast<std::uint32_t>(ib::kMadBytes - offset)),
        timer(Timer::of<&Message::on_timer>(all.engine_, all.source_, EventClass::kSupervisor, this)) {
    CHECK(bytes.size() >= offset);
    const auto length = static_cast<std::uint32_t>(bytes.size() - offset);
    segments = std::max(1u, (length + per_segment - 1) / per_segment);
    padding = segments * per_segment - length;
  }

  void send_segment(std::uint32_t number) {
    const std::size_t at = offset + std::size_t{number - 1} * per_segment;
    ib::ManagementDatagram one = datagram;
    one.mad = {};
    std::copy_n(bytes.begin(), offset, one.mad.begin());
    const std::size_t end = std::min(bytes.size(), at + per_segment);
    if (end > at) std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), end - at, &one.mad[offset]);
    RmppHeader header;
    header.type = RmppType::kData;
    header.flags = RmppHeader::kActive;
    header.segment = number;
    if (number == 1) {  // IBA 13.6.2.1: the length of all segments together
      header.flags |= RmppHeader::kFirst;
      header.length = segments * mad::kRmppData - padding;
    }
    if (number == segments) {
      header.flags |= RmppHeader::kLast;
      header.length = mad::kRmppData - padding;
    }
    header.put(one.mad);
    all.port_.send(one);
  }

  void go_on() {
    while (sent < std::min(window_end, segments)) send_segment(++sent);
    timer.cancel();
    timer.schedule_after(kAckTimeout);
  }

  void on_timer() {
    if (++tries > kRetries) {
      all.messages_.erase(key);  // destroys this object, too
      return;
    }
    sent = acknowledged;
    go_on();
  }

  RmppSender& all;
  const Key key;
  const ib::ManagementDatagram datagram;
  const MadBytes bytes;
  const std::size_t offset;
  const std::uint32_t per_segment;
  std::uint32_t segments = 1, padding = 0;
  std::uint32_t sent = 0, acknowledged = 0, window_end = 1;
  int tries = 0;
  Timer timer;
};

RmppSender::RmppSender(Engine& engine, ComponentId source, ib::ManagementPort& port)
    : engine_(engine), source_(source), port_(port) {}

RmppSender::~RmppSender() = default;

RmppSender::Key RmppSender::key_of(const ib::ManagementDatagram& datagram) {
  const mad::Header header = mad::header_of(datagram.mad);
  return {header.transaction_id, header.management_class, datagram.lid.value};
}

void RmppSender::send(const ib::ManagementDatagram& datagram, std::span<const std::byte> message) {
  ib::ManagementDatagram outgoing = datagram;
  std::copy_n(message.begin(), std::min(message.size(), outgoing.mad.size()), outgoing.mad.begin());
  const Key key = key_of(outgoing);
  messages_.erase(key);
  auto one = std::make_unique<Message>(*this, key, outgoing, message);
  Message& begun = *one;
  messages_.emplace(key, std::move(one));
  begun.go_on();
}

bool RmppSender::on_datagram(const ib::ManagementDatagram& datagram) {
  const auto found = messages_.find(key_of(datagram));
  if (found == messages_.end()) return false;
  Message& message = *found->second;
  const RmppHeader header = RmppHeader::of(datagram.mad);
  if (header.type == RmppType::kStop || header.type == RmppType::kAbort) {
    messages_.erase(found);
    return true;
  }
  // IBA 13.6.6.1: ignores an acknowledgement of segments that were not sent, or one that shrinks the window.
  if (header.type != RmppType::kAck || header.segment > message.sent || header.length < header.segment) return true;
  if (header.segment < message.acknowledged) return true;
  message.acknowledged = header.segment;
  message.window_end = std::max(message.window_end, header.length);
  message.tries = 0;
  if (message.acknowledged == message.segments) {
    messages_.erase(found);
  } else {
    message.go_on();
  }
  return true;
}

std::optional<MadBytes> RmppReceiver::on_segment(const ib::ManagementDatagram& datagram) {
  forget_old();
  const mad::Header head = mad::header_of(datagram.mad);
  const RmppHeader header = RmppHeader::of(datagram.mad);
  const Key key{head.transaction_id, head.management_class, head.method, datagram.lid.value};
  if (header.type != RmppType::kData || header.version != 1) {
    messages_.erase(key);
    return std::nullopt;
  }
  if (header.segment == 1 && !messages_.contains(key)) messages_[key];
  const auto found = messages_.find(key);
  if (found == messages_.end()) return std::nullopt;
  Message& message = found->second;
  message.last = engine_.now();
  const std::size_t offset = mad::data_offset(head.management_class);
  // A duplicate or out-of-order segment: acknowledges the last one in order.
  if (message.is_complete || header.segment != message.segments + 1) {
    acknowledge(datagram, message);
    return std::nullopt;
  }
  if (message.segments == 0) {
    message.bytes.assign(datagram.mad.begin(), datagram.mad.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  ++message.segments;
  std::size_t end = ib::kMadBytes;
  if (header.is_last() && header.length > 0 && header.length <= mad::kRmppData) {
    end = std::max(offset, mad::kRmppEnd + header.length);
  }
  message.bytes.insert(message.bytes.end(), datagram.mad.begin() + static_cast<std::ptrdiff_t>(offset),
                       datagram.mad.begin() + static_cast<std::ptrdiff_t>(end));
  if (message.bytes.size() > kLongest) {
    messages_.erase(found);
    return std::nullopt;
  }
  message.is_complete = header.is_last();
  if (!message.is_complete && message.segments < message.window_end) return std::nullopt;
  message.window_end = message.segments + kWindow;
  acknowledge(datagram, message);
  if (!message.is_complete) return std::nullopt;
  return std::move(message.bytes);
}

void RmppReceiver::acknowledge(const ib::ManagementDatagram& datagram, const Message& message) {
  ib::ManagementDatagram answer = datagram;
  if (answer.grh) std::swap(answer.grh->source, answer.grh->destination);
  std::fill(answer.mad.begin() + mad::data_offset(mad::header_of(answer.mad).management_class), answer.mad.end(), std::byte{0});
  mad::Header head = mad::header_of(answer.mad);
  head.method ^= mad::kResponseBit;
  mad::put_header(answer.mad, head);
  RmppHeader header;
  header.type = RmppType::kAck;
  header.flags = RmppHeader::kActive;
  header.segment = message.segments;
  header.length = message.window_end;
  header.put(answer.mad);
  port_.send(answer);
}

void RmppReceiver::forget_old() {
  std::erase_if(messages_, [&](const auto& one) { return one.second.last + kForgetting < engine_.now(); });
}

}  // namespace verbatim::management
