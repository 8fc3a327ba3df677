// What packets of a run are found by. A run has millions of them: keys are numbers, and tables are hashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace verbatim::cli {

// Of adapters and opcodes; nothing begins with 0.
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
  std::uint64_t names = 0;   // of the adapter, and that of the opcode << 32
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

// Nothing walks one: their order is nobody's.
template <class Value>
using PacketTable = std::unordered_map<PacketKey, Value, PacketKeyHash>;

}  // namespace verbatim::cli
