#include "sim/observe/pcap_sink.h"

#include <algorithm>
#include <string_view>

#include "sim/core/check.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/wire.h"

namespace verbatim::observe {

namespace {

// pcapng (draft-ietf-opsawg-pcapng), little-endian.
constexpr std::uint32_t kSectionHeader = 0x0a0d'0d0a, kInterface = 1, kEnhancedPacket = 6;
constexpr std::uint16_t kEndOfOptions = 0, kComment = 1;
constexpr std::uint16_t kSectionApplication = 4;
constexpr std::uint16_t kInterfaceName = 2, kInterfaceDescription = 3, kTimeResolution = 9,
                        kFrameCheckLength = 13;
constexpr std::uint16_t kPacketFlags = 2;
constexpr std::uint32_t kInbound = 1, kOutbound = 2;
constexpr std::uint16_t kLinkEthernet = 1, kLinkErf = 197;

// Extensible record format: 16 bytes before the packet, big-endian except for the time.
constexpr std::uint32_t kErfHeaderBytes = 16;
constexpr std::uint8_t kErfInfiniBand = 21;
constexpr std::uint8_t kErfVaryingLength = 4;

class Block {
 public:
  // Continues a block; with `type`, begins one.
  explicit Block(std::vector<std::byte>& to) : to_(to) {}
  Block(std::vector<std::byte>& to, std::uint32_t type) : to_(to) {
    to_.clear();
    put(type, 4);
    put(0, 4);  // length, filled in later
  }

  void put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void put_big_endian(std::uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) to_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void put(std::span<const std::byte> bytes) { to_.insert(to_.end(), bytes.begin(), bytes.end()); }
  void pad() { to_.resize((to_.size() + 3) & ~std::size_t{3}); }
  void option(std::uint16_t code, std::string_view text) {
    put(code, 2);
    put(text.size(), 2);
    put(std::as_bytes(std::span(text)));
    pad();
  }
  void option(std::uint16_t code, std::uint64_t value, int bytes) {
    put(code, 2);
    put(static_cast<std::uint64_t>(bytes), 2);
    put(value, bytes);
    pad();
  }

  void end() {
    put(kEndOfOptions, 4);
    put(0, 4);
    const auto length = static_cast<std::uint32_t>(to_.size());
    for (std::size_t i = 0; i < 4; ++i)
      to_[4 + i] = to_[length - 4 + i] = static_cast<std::byte>(length >> (8 * i));
  }
  void write(std::FILE* file) {
    end();
    std::fwrite(to_.data(), 1, to_.size(), file);
    to_.clear();
  }

 private:
  std::vector<std::byte>& to_;
};

void add_to(std::string& comment, const std::string& text) {
  if (!comment.empty()) comment += "; ";
  comment += text;
}

std::string words_of_drop(const TraceRecord& record) {
  const std::string_view reason = text_of(static_cast<ib::DropReason>(record.values[3]));
  return "dropped here: " + (reason.empty() ? std::to_string(record.values[3]) : std::string(reason));
}

std::string comment_on(const TraceRecord& record, const ib::Packet& packet) {
  std::string comment;
  const auto add = [&](const std::string& text) { add_to(comment, text); };
  if (record.event == TraceEvent::kPacketDropped) add(words_of_drop(record));
  if (packet.corrupted) add("corrupted on its way: a bit is not as sent");
  if (packet.retransmission > 0) add("retransmission #" + std::to_string(packet.retransmission));
  return comment;
}

}  // namespace

PcapSink::PcapSink(std::FILE* file, const std::vector<PcapInterface>& interfaces,
                   const std::string& application, std::uint32_t snap_length)
    : snap_length_(snap_length), interfaces_(interfaces), order_([file](const std::vector<std::byte>& block) {
        std::fwrite(block.data(), 1, block.size(), file);
      }) {
  Block section(block_, kSectionHeader);
  section.put(0x1a2b'3c4d, 4);
  section.put(1, 2);  // version 1.0
  section.put(0, 2);
  section.put(~std::uint64_t{0}, 8);  // length of the section: unknown
  section.option(kSectionApplication, application);
  section.write(file);
  for (const PcapInterface& interface : interfaces) {
    Block block(block_, kInterface);
    block.put(interface.is_ethernet ? kLinkEthernet : kLinkErf, 2);
    block.put(0, 2);
    // In captured bytes; 0: packets are not truncated.
    block.put(snap_length == 0 ? 0 : snap_length + (interface.is_ethernet ? 0 : kErfHeaderBytes), 4);
    block.option(kInterfaceName, interface.name);
    block.option(kInterfaceDescription, interface.description);
    constexpr std::uint8_t kNanoseconds = 9;  // 10^-9 s
    block.option(kTimeResolution, kNanoseconds, 1);
    if (interface.is_ethernet) block.option(kFrameCheckLength, 0, 1);
    block.write(file);
  }
  for (std::size_t i = 0; i < interfaces_.size(); ++i) {
    assign(interfaces_[i].port, static_cast<std::uint32_t>(i));
    if (interfaces_[i].far_port) assign(*interfaces_[i].far_port, static_cast<std::uint32_t>(i));
  }
}

void PcapSink::assign(ComponentId port, std::uint32_t interface) {
  if (port.value >= interface_of_.size()) interface_of_.resize(port.value + 1u, kNone);
  interface_of_[port.value] = interface;
}

void PcapSink::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) {
  const bool is_same = !block_.empty() && record_.event == TraceEvent::kPacketTransmitted && record_.time_ps == record.time_ps &&
                       record_.component == record.component;
  if (record.event == TraceEvent::kFault) {
    if (is_same) add_to(comment_, "hit by fault " + std::to_string(record.values[3]));
    return;
  }
  const bool starts = record.event == TraceEvent::kPacketTransmitted || record.event == TraceEvent::kPauseFrame;
  if (!starts && record.event != TraceEvent::kPacketReceived && record.event != TraceEvent::kPacketDropped) return;
  if (port.value >= interface_of_.size() || interface_of_[port.value] == kNone) return;
  const std::uint32_t interface = interface_of_[port.value];
  const bool is_of_cable = interfaces_[interface].far_port.has_value(), is_ethernet = interfaces_[interface].is_ethernet;
  if (is_of_cable && !starts) {
    const bool is_dropped = record.event == TraceEvent::kPacketDropped && is_same;
    // With other reasons the packet has not entered the cable.
    const bool is_lost = is_dropped && static_cast<ib::DropReason>(record.values[3]) == ib::DropReason::kFault;
    if (is_lost) add_to(comment_, words_of_drop(record));
    return;
  }
  end_packet();
  CHECK(is_ethernet == packet.ethernet.has_value());
  encode(packet, packet_);

  const auto nanoseconds = static_cast<std::uint64_t>(record.time_ps / 1000);
  const auto length = static_cast<std::uint32_t>(packet_.size());
  const std::uint32_t kept = snap_length_ == 0 ? length : std::min(length, snap_length_);
  const std::uint32_t header = is_ethernet ? 0 : kErfHeaderBytes;
  Block block(block_, kEnhancedPacket);
  block.put(interface, 4);
  block.put(nanoseconds >> 32, 4);
  block.put(nanoseconds & 0xffff'ffff, 4);
  block.put(kept + header, 4);
  block.put(length + header, 4);
  if (!is_ethernet) {
    // Seconds and units of 2^-32 seconds, rounded up so that readers compute the exact nanosecond.
    const std::uint64_t fraction = ((nanoseconds % 1'000'000'000 << 32) + 999'999'999) / 1'000'000'000;
    block.put(fraction, 4);
    block.put(nanoseconds / 1'000'000'000, 4);
    block.put(kErfInfiniBand, 1);
    block.put(kErfVaryingLength, 1);
    block.put_big_endian(kept + header, 2);
    block.put_big_endian(0, 2);       // lost packets: none
    block.put_big_endian(length, 2);  // length on the wire
  }
  block.put(std::span(packet_).first(kept));
  block.pad();
  record_ = record;
  comment_ = comment_on(record, packet);
  // A port drops packets that cannot leave, and those lost on the link to it; the device behind it drops
  // packets that arrived.
  leaves_ = is_of_cable ? port == interfaces_[interface].port
                        : starts ||
                              (record.event == TraceEvent::kPacketDropped && record.component == port.value &&
                               record.values[3] != static_cast<std::uint64_t>(ib::DropReason::kLostOnLink));
}

void PcapSink::flush() {
  end_packet();
  order_.flush();
}

void PcapSink::end_packet() {
  if (block_.empty()) return;
  Block block(block_);
  if (!comment_.empty()) block.option(kComment, comment_);
  block.option(kPacketFlags, leaves_ ? kOutbound : kInbound, 4);
  block.end();
  order_.add(record_, block_);
  block_.clear();
}

}  // namespace verbatim::observe
