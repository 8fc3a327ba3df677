#include "sim/config/resolve_nodes.h"

#include <charconv>
#include <map>

namespace verbatim::config {

namespace {

class NodeResolver {
 public:
  NodeResolver(TopologySpec& topology, Diagnostics& diagnostics) : topology_(topology), diagnostics_(diagnostics) {}

  void run() {
    for (HostSpec& host : topology_.hosts) {
      resolve(host.node);
      for (FurtherAdapterSpec& adapter : host.further_adapters) resolve(adapter.node);
    }
    for (SwitchSpec& one : topology_.switches) resolve(one.node);
  }

 private:
  void add(const std::string& pointer, std::string text, std::string hint) {
    diagnostics_.add(topology_.file, pointer, std::move(text), std::move(hint));
  }

  void resolve(NodeSpec& node) {
    if (node.pointer.empty()) return;
    if (topology_.is_roce())
      return add(node.pointer, "there is no subnet on Ethernet", "leave it out, or choose the link layer \"infiniband\"");
    constexpr std::size_t kMostBytes = 63;
    if (node.description.size() > kMostBytes)
      add(node.pointer + "/description", in_quotes(node.description) + " is too long",
          "a node's description has at most 63 bytes");
    node.guid = guid(node.guid_text, node.pointer + "/guid");
    node.port_guid = guid(node.port_guid_text, node.pointer + "/port_guid");
    node.system_guid = guid(node.system_guid_text, node.pointer + "/system_guid");
    if (node.guid != 0) own(guids_, node.guid, node.pointer + "/guid", "the GUID " + in_quotes(node.guid_text));
    if (node.port_guid != 0 && node.port_guid != node.guid)
      own(guids_, node.port_guid, node.pointer + "/port_guid", "the GUID " + in_quotes(node.port_guid_text));
    if (node.lid != 0) own(lids_, node.lid, node.pointer + "/lid", "LID " + std::to_string(node.lid));
  }

  std::uint64_t guid(const std::string& text, const std::string& pointer) {
    if (text.empty()) return 0;
    const std::string_view digits = text.starts_with("0x") ? std::string_view(text).substr(2) : std::string_view(text);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error == std::errc() && end == digits.data() + digits.size() && value != 0) return value;
    add(pointer, in_quotes(text) + " is not a GUID", "write up to 16 hexadecimal digits, such as \"0x0002c90200000001\"");
    return 0;
  }

  void own(std::map<std::uint64_t, std::string>& owners, std::uint64_t value, const std::string& pointer,
           const std::string& what) {
    const auto [entry, is_new] = owners.try_emplace(value, pointer);
    if (!is_new) add(pointer, what + " is already that of " + entry->second, "each node has its own");
  }

  TopologySpec& topology_;
  Diagnostics& diagnostics_;
  std::map<std::uint64_t, std::string> guids_, lids_;  // pointers
};

}  // namespace

void resolve_nodes(TopologySpec& topology, Diagnostics& diagnostics) { NodeResolver(topology, diagnostics).run(); }

}  // namespace verbatim::config
