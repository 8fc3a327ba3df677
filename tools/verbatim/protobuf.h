// Writes messages in the wire format of protocol buffers (protobuf.dev, "Encoding"), field by field.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace verbatim::cli {

class ProtobufMessage {
 public:
  void add_number(unsigned field, std::uint64_t value) {
    add_tag(field, kVarint);
    add_varint(value);
  }
  void add_fixed(unsigned field, std::uint64_t value) {
    add_tag(field, kFixed64);
    for (unsigned shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift));
  }
  void add_double(unsigned field, double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    add_fixed(field, bits);
  }
  void add_text(unsigned field, std::string_view text) {
    add_tag(field, kLengthDelimited);
    add_varint(text.size());
    bytes_.append(text);
  }
  void add_message(unsigned field, const ProtobufMessage& message) { add_text(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  enum WireType : unsigned { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2 };

  void add_tag(unsigned field, WireType type) { add_varint(std::uint64_t{field} << 3 | type); }
  void add_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace verbatim::cli
