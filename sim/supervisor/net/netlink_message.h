// Messages of netlink(7) and their attributes.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace verbatim::supervisor {

// One netlink message with its attributes.
class NetlinkMessage {
 public:
  template <class Body>
  NetlinkMessage(std::uint16_t type, std::uint32_t sequence, std::uint32_t port, const Body& body) {
    const nlmsghdr header{0, type, NLM_F_MULTI, sequence, port};
    append(&header, sizeof header);
    append(&body, sizeof body);
  }
  // For families without a body.
  NetlinkMessage(std::uint16_t type, std::uint32_t sequence, std::uint32_t port) {
    const nlmsghdr header{0, type, NLM_F_MULTI, sequence, port};
    append(&header, sizeof header);
  }
  void add(std::uint16_t type, const void* data, std::size_t size) {
    const rtattr attribute{static_cast<std::uint16_t>(sizeof(rtattr) + size), type};
    append(&attribute, sizeof attribute);
    append(data, size);
  }
  void add(std::uint16_t type, std::uint32_t value) { add(type, &value, sizeof value); }
  void add64(std::uint16_t type, std::uint64_t value) { add(type, &value, sizeof value); }
  void add8(std::uint16_t type, std::uint8_t value) { add(type, &value, sizeof value); }
  void add(std::uint16_t type, const std::string& text) { add(type, text.c_str(), text.size() + 1); }
  // A nested attribute; `add_parts` adds its contents.
  template <class AddParts>
  void add_nested(std::uint16_t type, const AddParts& add_parts) {
    const std::size_t at = bytes_.size();
    add(type, nullptr, 0);
    add_parts();
    const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at + offsetof(rtattr, rta_len), &length, sizeof length);
  }
  void end(std::vector<std::byte>& all) {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &length, sizeof length);
    all.insert(all.end(), bytes_.begin(), bytes_.end());
  }

 private:
  void append(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  std::vector<std::byte> bytes_;
};

// Visits the attributes of a request whose body has `body_size` bytes.
template <class Visit>
void for_each_attribute(std::span<const std::byte> request, std::size_t body_size, const Visit& visit) {
  for (std::size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(body_size); at + sizeof(rtattr) <= request.size();) {
    rtattr attribute;
    std::memcpy(&attribute, request.data() + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > request.size() - at) break;
    visit(attribute.rta_type, request.subspan(at + sizeof attribute, attribute.rta_len - sizeof attribute));
    at += RTA_ALIGN(attribute.rta_len);
  }
}

}  // namespace verbatim::supervisor
