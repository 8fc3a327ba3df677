#include "sim/config/import/ibnetdiscover.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "sim/config/import/subnet_nodes.h"

namespace verbatim::config::imports {

namespace {

constexpr std::uint32_t kMostSubnetPorts = 254, kMostSubnetLid = 0xbfff;
constexpr std::size_t kMostSubnetNodes = 100'000;
constexpr const char* kPortForm = R"(a line of a port is `[1] "S-0002c90200000001"[2]`)";

// Takes parts off the front of `text`.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(trimmed(text)) {}

  bool is_at_end() const { return text_.empty(); }
  bool starts_with(char c) const { return text_.starts_with(c); }
  std::string_view rest() const { return text_; }

  // The text between two characters, the first of which begins the rest; nullopt if it does not.
  std::optional<std::string_view> between(char open, char close) {
    if (!text_.starts_with(open)) return std::nullopt;
    const std::size_t end = text_.find(close, 1);
    if (end == text_.npos) return std::nullopt;
    const std::string_view found = text_.substr(1, end - 1);
    text_ = trimmed(text_.substr(end + 1));
    return found;
  }

 private:
  std::string_view text_;
};

// The number after a word of a comment: "lid 7".
std::optional<std::uint64_t> number_behind(std::string_view comment, std::string_view word) {
  const auto words = words_of(comment);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == word) return whole_number(words[i + 1], kMostSubnetLid);
  }
  return std::nullopt;
}

// "# "leaf1" enhanced port 0 lid 3": leaf1.
std::string quoted_in(std::string_view comment) {
  const std::size_t begin = comment.find('"'), end = comment.rfind('"');
  return begin == comment.npos || end == begin ? std::string() : std::string(comment.substr(begin + 1, end - begin - 1));
}

class DiscoveryReader {
 public:
  DiscoveryReader(std::string_view text, LineFindings& findings) : lines_(text), findings_(findings) {}

  std::optional<Fabric> read() {
    while (lines_.next() && !findings_.is_full()) line();
    if (findings_.count() == 0 && nodes_.empty())
      findings_.add(0, "there is no node", "a block begins with a line such as `Switch 36 \"S-0002c90200000001\"`");
    if (findings_.count() > 0) return std::nullopt;
    auto fabric = fabric_of(nodes_, "ibnetdiscover", findings_);
    if (fabric && routers_ > 0) {
      fabric->assumptions.push_back(
          {std::to_string(routers_) + (routers_ == 1 ? " router is" : " routers are") + " taken for adapters", "\"hosts\""});
    }
    if (fabric && has_lmc_) {
      fabric->assumptions.push_back(
          {"ports have one LID each; the file has LMCs other than 0", "nothing: LMC is not simulated"});
    }
    return fabric;
  }

 private:
  void refuse(std::string text, std::string hint) { findings_.add(lines_.number(), std::move(text), std::move(hint)); }

  void line() {
    const std::string_view text = trimmed(lines_.text());
    if (text.empty()) {
      in_block_ = false;
      return;
    }
    if (text.front() == '#' || text.starts_with("Chassis ") || text.starts_with("Non-Chassis Nodes")) return;
    const std::size_t hash = comment_of(text);
    const std::string_view body = trimmed(text.substr(0, hash));
    const std::string_view comment = hash == text.npos ? std::string_view() : trimmed(text.substr(hash + 1));
    if (body.front() == '[') return port(body, comment);
    if (const std::size_t equals = body.find('='); equals != body.npos && body.find('"') == body.npos) {
      return value(body.substr(0, equals), body.substr(equals + 1));
    }
    node(body, comment);
  }

  // Index of the # that begins a comment, outside quotes.
  static std::size_t comment_of(std::string_view text) {
    bool is_quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"')
        is_quoted = !is_quoted;
      else if (text[i] == '#' && !is_quoted)
        return i;
    }
    return text.npos;
  }

  // "vendid=0x2c9"; "switchguid=0x…(…)" has the GUIDs of the node and, in brackets, of the port.
  void value(std::string_view key, std::string_view text) {
    const std::size_t bracket = text.find('(');
    const auto number = hex_number(trimmed(text.substr(0, bracket)));
    if (!number) return refuse(in_quotes(text) + " is not a hexadecimal number", "write, for example, 0x2c9");
    if (key == "vendid") return;
    if (key == "devid")
      next_.device_id = static_cast<std::uint32_t>(*number);
    else if (key == "sysimgguid")
      next_.system_guid = *number;
    else if (key == "switchguid" || key == "caguid" || key == "rtguid")
      next_.guid = *number;
    else
      return refuse("unknown key " + in_quotes(key),
                    "the keys are vendid, devid, sysimgguid, switchguid, caguid and rtguid");
    if (bracket == text.npos) return;
    const auto port_guid =
        text.ends_with(')') ? hex_number(text.substr(bracket + 1, text.size() - bracket - 2)) : std::nullopt;
    if (!port_guid)
      return refuse(in_quotes(text) + " has no GUID of a port in its brackets",
                    "write switchguid=0x2c90200000001(2c90200000001)");
    next_.port_guid = *port_guid;
  }

  void node(std::string_view body, std::string_view comment) {
    const std::size_t quote = body.find('"');
    const auto words = words_of(body.substr(0, quote));
    constexpr std::string_view kTypes[] = {"Switch", "Ca", "Hca", "Rt"};
    if (words.empty() || std::ranges::find(kTypes, words[0]) == std::end(kTypes)) {
      if (!words.empty() && (words[0] == "include" || words[0] == "do" || words[0] == "module"))
        return refuse("the command " + in_quotes(words[0]) + " of ibsim is not followed",
                      "put the text of the other file in its place");
      return refuse(in_quotes(body) + " is neither a node nor a port",
                    "a node begins with Switch, Ca, Hca or Rt; " + std::string(kPortForm));
    }
    const auto ports = words.size() == 2 ? whole_number(words[1], kMostSubnetPorts) : std::nullopt;
    if (!ports || *ports == 0)
      return refuse("the number of ports is missing, or not 1 to " + std::to_string(kMostSubnetPorts),
                    R"(write, for example, Switch 36 "S-0002c90200000001")");
    Cursor cursor(quote == body.npos ? std::string_view() : body.substr(quote));
    const auto id = cursor.between('"', '"');
    if (!id || id->empty() || !cursor.is_at_end())
      return refuse("the node's identifier is missing", R"(write it in quotes: Switch 36 "S-0002c90200000001")");
    if (!ids_.insert(std::string(*id)).second)
      return refuse("there is a block of " + in_quotes(*id) + " already", "describe each node once");
    if (nodes_.size() == kMostSubnetNodes)
      return refuse("there are more than " + std::to_string(kMostSubnetNodes) + " nodes", "a subnet has at most 49151 LIDs");
    SubnetNode node;
    node.id = std::string(*id);
    node.is_switch = words[0] == "Switch";
    node.ports = static_cast<std::uint32_t>(*ports);
    node.line = lines_.number();
    routers_ += words[0] == "Rt" ? 1 : 0;
    node.device = std::exchange(next_, Device{});
    node.device.is_switch = node.is_switch;
    node.device.name = node.id;
    // "S-0002c90200000001" contains the GUID.
    if (node.device.guid == 0 && id->size() == 18 && (*id)[1] == '-')
      node.device.guid = hex_number(id->substr(2)).value_or(0);
    node.device.description = quoted_in(comment);
    set_names(node.device);
    if (node.is_switch) {
      node.device.lid = static_cast<std::uint32_t>(number_behind(comment, "lid").value_or(0));
      note_lmc(comment);
    }
    nodes_.push_back(std::move(node));
    in_block_ = true;
  }

  void note_lmc(std::string_view comment) { has_lmc_ = has_lmc_ || number_behind(comment, "lmc").value_or(0) != 0; }

  // [1](0002c90200000002) "S-0002c90200000001"[2](…) w=4 s=7  # lid 7 lmc 0 "leaf1" lid 3 4xEDR
  void port(std::string_view body, std::string_view comment) {
    if (!in_block_) return refuse("this port has no node", "the line of its node comes first, with no empty line between");
    SubnetNode& node = nodes_.back();
    Cursor cursor(body);
    const auto number = whole_number(cursor.between('[', ']').value_or(""), node.ports);
    SubnetPort port;
    port.line = lines_.number();
    if (!number || *number == 0)
      return refuse("this is not a port of " + in_quotes(node.id), "its ports are 1 to " + std::to_string(node.ports));
    port.number = static_cast<std::uint32_t>(*number);
    if (cursor.starts_with('[')) cursor.between('[', ']');  // port of a chassis: [ext 3]
    if (cursor.starts_with('(')) {
      const auto guid = hex_number(cursor.between('(', ')').value_or(""));
      if (!guid) return refuse("the GUID in the brackets is not a hexadecimal number", kPortForm);
      port.guid = *guid;
    }
    const auto far = cursor.between('"', '"');
    const auto far_port = whole_number(cursor.between('[', ']').value_or(""), kMostSubnetPorts);
    if (!far || !far_port) return refuse("the far end of the cable is missing", kPortForm);
    port.far_id = std::string(*far);
    port.far_port = static_cast<std::uint32_t>(*far_port);
    if (cursor.starts_with('[')) cursor.between('[', ']');
    if (cursor.starts_with('(')) cursor.between('(', ')');
    if (!options(cursor.rest(), port)) return;
    if (const auto words = words_of(comment); !words.empty()) {
      if (std::string rate = rate_of_port(words.back()); !rate.empty()) port.rate = std::move(rate);
    }
    if (!node.is_switch) {
      // "lid 7 lmc 0 …": the port's own LID precedes the far end's.
      if (comment.starts_with("lid ")) port.lid = static_cast<std::uint32_t>(number_behind(comment, "lid").value_or(0));
      note_lmc(comment);
    }
    if (!node.cabled.try_emplace(port.number, port).second)
      refuse(in_quotes(node.id) + " port " + std::to_string(port.number) + " has a cable already", "a port has one cable");
  }

  // ibsim's options: w is a width, s and e are masks of speeds.
  bool options(std::string_view text, SubnetPort& port) {
    std::uint64_t width = 0, speed = 0, extended = 0;
    for (const std::string_view word : words_of(text)) {
      const auto number = word.size() > 2 && word[1] == '=' ? whole_number(word.substr(2), 31) : std::nullopt;
      if (!number || (word[0] != 'w' && word[0] != 's' && word[0] != 'e')) {
        refuse(in_quotes(word) + " is not known here",
               "behind the far end there are w=WIDTH, s=SPEEDS and e=EXTENDED SPEEDS, as in ibsim, or a comment");
        return false;
      }
      (word[0] == 'w' ? width : word[0] == 's' ? speed : extended) = *number;
    }
    if (width == 0 && speed == 0 && extended == 0) return true;
    const std::uint64_t lanes = width == 1 || width == 2 || width == 8 || width == 12 ? width : 4;
    constexpr const char* kSpeeds[] = {"SDR", "DDR", "QDR"};
    constexpr const char* kExtended[] = {"FDR", "EDR", "HDR", "NDR"};
    const char* name = "QDR";
    if (extended != 0)
      name = kExtended[std::min<int>(static_cast<int>(std::bit_width(extended)) - 1, 3)];
    else if (speed != 0)
      name = kSpeeds[std::min<int>(static_cast<int>(std::bit_width(speed)) - 1, 2)];
    port.rate = std::string(name) + " " + std::to_string(lanes) + "x";
    return true;
  }

  Lines lines_;
  LineFindings& findings_;
  Device next_;  // values for the next node
  bool in_block_ = false, has_lmc_ = false;
  std::set<std::string> ids_;
  std::vector<SubnetNode> nodes_;
  std::size_t routers_ = 0;
};

}  // namespace

std::optional<Fabric> read_ibnetdiscover(std::string_view text, LineFindings& findings) {
  return DiscoveryReader(text, findings).read();
}

}  // namespace verbatim::config::imports
