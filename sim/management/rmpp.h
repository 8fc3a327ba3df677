// Reliable multi-packet transactions (IBA 13.6): answers that are longer than a datagram. The receiver tells how many segments
// may come; the sender repeats from the last one acknowledged until it hears of more.
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

// A message as agents hand it over: the datagram's first bytes up to where its data begin, and all data behind.
using MadBytes = std::vector<std::byte>;

class RmppSender {
 public:
  // `port`: by which segments and acknowledgements leave. Both outlive it.
  RmppSender(Engine& engine, ComponentId source, ib::ManagementPort& port);
  ~RmppSender();

  // Sends a message by the way of `datagram`. `message` begins with a datagram's header, and is not shorter.
  void send(const ib::ManagementDatagram& datagram, std::span<const std::byte> message);
  // An acknowledgement, a stop or an abort has come. Whether it was of something sent here.
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

  // A segment has come: the whole message when it is complete.
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
