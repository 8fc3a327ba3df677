#include "tests/capture/pcapng.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace verbatim::capture {

namespace {

class File {
 public:
  explicit File(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
  }

  std::size_t size() const { return bytes_.size(); }
  std::uint64_t number(std::size_t at, std::size_t count) const {
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes_.at(at + i);
    return value;
  }
  std::uint64_t big_number(std::size_t at, std::size_t count) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes_.at(at + i);
    return value;
  }
  std::string text(std::size_t at, std::size_t count) const {
    return std::string(bytes_.begin() + static_cast<std::ptrdiff_t>(at),
                       bytes_.begin() + static_cast<std::ptrdiff_t>(at + count));
  }
  std::vector<std::uint8_t> part(std::size_t at, std::size_t count) const {
    return {bytes_.begin() + static_cast<std::ptrdiff_t>(at),
            bytes_.begin() + static_cast<std::ptrdiff_t>(at + count)};
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

struct Interface {
  std::string name;
  bool is_ethernet = false;
};

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

// Calls visit(code, offset, length) for each option between `at` and `end`.
template <class Visit>
void visit_options(const File& file, std::size_t at, std::size_t end, const Visit& visit) {
  while (at + 4 <= end) {
    const auto code = file.number(at, 2), length = file.number(at + 2, 2);
    if (code == 0) return;
    visit(code, at + 4, length);
    at += 4 + (length + 3) / 4 * 4;
  }
}

// Processes one bit at a time, least significant bit first.
std::uint32_t crc(const std::vector<std::uint8_t>& bytes, std::uint32_t polynomial, std::uint32_t state) {
  for (const std::uint8_t byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool carry = ((state ^ (byte >> bit)) & 1) != 0;
      state >>= 1;
      if (carry) state ^= polynomial;
    }
  }
  return state;
}

// Offsets of the network header and the BTH.
struct Offsets {
  std::size_t network = 0, bth = 0;
  bool ipv4 = false, ipv6 = false;  // ipv6: also a GRH
};

Offsets offsets_of(const Frame& frame) {
  const auto& bytes = frame.bytes;
  if (!frame.is_ethernet) {
    const bool global = (bytes.at(1) & 3) == 3;
    return {8, global ? 48u : 8u, false, global};
  }
  const bool ipv4 = bytes.at(12) == 0x08;
  return {14, 14 + (ipv4 ? 20u : 40u) + 8, ipv4, !ipv4};
}

}  // namespace

std::vector<Frame> read_pcapng(const std::string& path, bool may_be_cut) {
  const File file(path);
  std::vector<Interface> interfaces;
  std::vector<Frame> frames;
  for (std::size_t at = 0; at < file.size();) {
    const auto type = file.number(at, 4), length = file.number(at + 4, 4);
    require(length >= 12 && length % 4 == 0 && at + length <= file.size(),
            "a block has an impossible length");
    require(file.number(at + length - 4, 4) == length, "the two lengths of a block differ");
    const std::size_t body = at + 8, end = at + length - 4;
    if (type == 0x0a0d0d0a) {
      require(file.number(body, 4) == 0x1a2b3c4d, "not little-endian");
    } else if (type == 1) {
      Interface interface;
      const auto link = file.number(body, 2);
      require(link == 1 || link == 197, "an unknown link type");
      interface.is_ethernet = link == 1;
      bool nanoseconds = false;
      visit_options(file, body + 8, end, [&](std::uint64_t code, std::size_t offset, std::size_t size) {
        if (code == 2) interface.name = file.text(offset, size);
        if (code == 9) nanoseconds = file.number(offset, 1) == 9;
      });
      require(nanoseconds && !interface.name.empty(), "an interface without a name or nanoseconds");
      interfaces.push_back(interface);
    } else if (type == 6) {
      const Interface& interface = interfaces.at(file.number(body, 4));
      Frame frame;
      frame.interface = interface.name;
      frame.is_ethernet = interface.is_ethernet;
      frame.nanoseconds = file.number(body + 4, 4) << 32 | file.number(body + 8, 4);
      const auto captured = file.number(body + 12, 4);
      const auto whole = file.number(body + 16, 4);
      require(captured == whole || (may_be_cut && captured < whole), "a packet was cut");
      std::size_t skip = 0;
      if (!frame.is_ethernet) {
        skip = 16;
        const std::size_t erf = body + 20;
        require(file.number(erf + 8, 1) == 21, "not an ERF record of type 21");
        require(file.big_number(erf + 10, 2) == captured, "the ERF record tells another length");
        require(file.big_number(erf + 14, 2) == whole - 16, "the ERF record tells another wire length");
        const auto seconds = file.number(erf + 4, 4), fraction = file.number(erf, 4);
        require(seconds * 1'000'000'000 + (fraction * 1'000'000'000 >> 32) == frame.nanoseconds,
                "the ERF record tells another time");
      }
      frame.length = whole - skip;
      frame.bytes = file.part(body + 20 + skip, captured - skip);
      visit_options(file, body + 20 + (captured + 3) / 4 * 4, end,
                    [&](std::uint64_t code, std::size_t offset, std::size_t size) {
                      if (code == 1) frame.comment = file.text(offset, size);
                      if (code == 2) frame.outbound = (file.number(offset, 4) & 3) == 2;
                    });
      frames.push_back(std::move(frame));
    } else {
      throw std::runtime_error("an unknown block");
    }
    at += length;
  }
  return frames;
}

std::size_t bth_of(const Frame& frame) { return offsets_of(frame).bth; }

bool is_icrc_right(const Frame& frame) {
  const Offsets at = offsets_of(frame);
  const std::size_t end = frame.bytes.size() - (frame.is_ethernet ? 4 : 6);
  std::vector<std::uint8_t> masked(frame.bytes.begin(),
                                   frame.bytes.begin() + static_cast<std::ptrdiff_t>(end));
  masked.at(at.bth + 4) = 0xff;
  if (at.ipv6) {
    masked[at.network] |= 0x0f;
    masked[at.network + 1] = masked[at.network + 2] = masked[at.network + 3] = masked[at.network + 7] = 0xff;
  }
  if (at.ipv4) {
    masked[at.network + 1] = masked[at.network + 8] = masked[at.network + 10] = masked[at.network + 11] =
        0xff;
  }
  if (frame.is_ethernet) {
    masked[at.bth - 2] = masked[at.bth - 1] = 0xff;
    masked.erase(masked.begin(), masked.begin() + 14);
    masked.insert(masked.begin(), 8, 0xff);
  } else {
    masked[0] |= 0xf0;
  }
  const std::uint32_t expected = ~crc(masked, 0xedb88320, 0xffffffff);
  std::uint32_t found = 0;
  for (std::size_t i = 4; i-- > 0;) found = found << 8 | frame.bytes[end + i];
  return found == expected;
}

bool is_vcrc_right(const Frame& frame) {
  if (frame.is_ethernet) return true;
  const std::size_t end = frame.bytes.size() - 2;
  const std::vector<std::uint8_t> covered(frame.bytes.begin(),
                                          frame.bytes.begin() + static_cast<std::ptrdiff_t>(end));
  const std::uint32_t expected = ~crc(covered, 0xd008, 0xffff) & 0xffff;
  return (frame.bytes[end] | frame.bytes[end + 1] << 8) == static_cast<int>(expected);
}

}  // namespace verbatim::capture
