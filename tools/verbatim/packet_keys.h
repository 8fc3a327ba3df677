// Keys for finding packets of a run. A run has millions of packets, so keys are numbers and tables are
// hashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace verbatim::cli {

// Numbers for names of adapters and opcodes; 0 for unknown ones.
class NameNumbers {
 public:
  std::uint64_t of(std::string_view name) {
    if (name == last_) return last_number_;
    last_ = name;
    return last_number_ = known_.try_emplace(last_, known_.size() + 1).first->second;
  }

 private:
  std::unordered_map<std::string, std::uint64_t> known_;
  std::string last_;
  std::uint64_t last_number_ = 0;
};

struct PacketKey {
  std::uint64_t names = 0;   // number of the adapter's name, and of the opcode's << 32
  std::uint64_t number = 0;  // PSN, and destination << 32
  friend bool operator==(const PacketKey&, const PacketKey&) = default;
};

struct PacketKeyHash {
  std::size_t operator()(const PacketKey& key) const {
    std::uint64_t mixed = (key.number ^ key.names * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    mixed ^= mixed >> 32;
    return mixed * 0xd6e8feb86659fd93u;
  }
};

// Never iterated, because the order is undefined.
template <class Value>
using PacketTable = std::unordered_map<PacketKey, Value, PacketKeyHash>;

}  // namespace verbatim::cli
