// Reliable multi-packet transactions (IBA 13.6), for messages longer than a datagram. The receiver announces
// how many segments may be sent; the sender repeats from the last acknowledged segment until it gets further
// acknowledgements.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/ib/management.h"
#include "sim/mad/rmpp.h"

namespace verbatim::management {

// A message as agents exchange it: the first datagram's bytes before its data, then all data.
using MadBytes = std::vector<std::byte>;

class RmppSender {
 public:
  // Segments and acknowledgements leave by `port`. Both references must outlive this.
  RmppSender(Engine& engine, ComponentId source, ib::ManagementPort& port);
  ~RmppSender();

  // Sends a message to the destination of `datagram`. `message` begins with a datagram's header and is not
  // shorter than it.
  void send(const ib::ManagementDatagram& datagram, std::span<const std::byte> message);
  // An acknowledgement, stop or abort has arrived. Returns whether it belongs to a message of this sender.
  bool on_datagram(const ib::ManagementDatagram& datagram);

 private:
  struct Message;
  struct Key {
    std::uint64_t transaction;
    std::uint8_t management_class;
    std::uint16_t lid;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key key_of(const ib::ManagementDatagram& datagram);

  Engine& engine_;
  const ComponentId source_;
  ib::ManagementPort& port_;
  std::map<Key, std::unique_ptr<Message>> messages_;
};

class RmppReceiver {
 public:
  RmppReceiver(Engine& engine, ib::ManagementPort& port) : engine_(engine), port_(port) {}

  // A segment has arrived. Returns the whole message once it is complete.
  std::optional<MadBytes> on_segment(const ib::ManagementDatagram& datagram);

 private:
  struct Key {
    std::uint64_t transaction;
    std::uint8_t management_class, method;
    std::uint16_t lid;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Message {
    MadBytes bytes;
    std::uint32_t segments = 0;
    std::uint32_t window_end = 1;
    bool is_complete = false;
    Instant last;
  };

  void acknowledge(const ib::ManagementDatagram& datagram, const Message& message);
  void forget_old();

  Engine& engine_;
  ib::ManagementPort& port_;
  std::map<Key, Message> messages_;
};

}  // namespace verbatim::management
