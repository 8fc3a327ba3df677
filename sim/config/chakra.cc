#include "sim/config/chakra.h"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/json_text.h"
#include "sim/config/words.h"

namespace verbatim::config {

namespace chakra {
namespace {

using workload::RankTrace, workload::TraceLimits, workload::TraceNode;

constexpr std::size_t kMostFindings = 20;

// Names by the number of Chakra's NodeType.
constexpr const char* kTypes[] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                  "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
enum Type { kInvalid, kMetadata, kMemLoad, kMemStore, kComp, kSend, kReceive, kCollective };
// Names by the number of Chakra's CollectiveCommType.
constexpr const char* kCollectives[] = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

// A number, also as a string, which protobuf's JSON uses for 64-bit values.
std::optional<std::uint64_t> number_of(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A number, or the index of one of the names.
template <std::size_t kCount>
std::optional<std::uint64_t> number_or_name(const Json& value, const char* const (&names)[kCount]) {
  if (value.is_string()) {
    for (std::size_t i = 0; i < kCount; ++i)
      if (value.get_ref<const std::string&>() == names[i]) return i;
  }
  const std::optional<std::uint64_t> number = number_of(value);
  return number && *number < kCount ? number : std::nullopt;
}

std::optional<workload::Pattern> collective_of(std::uint64_t type) {
  using enum workload::Pattern;
  constexpr std::optional<workload::Pattern> kPatterns[] = {
      kAllReduce, {}, kAllGather, {}, {}, kBroadcast, kAllToAll, kReduceScatter, kReduceScatter, kBarrier};
  return kPatterns[type];
}

// The consecutive top-level objects of the text, each with its braces; the last one may be incomplete.
std::vector<std::string_view> objects_of(std::string_view text) {
  std::vector<std::string_view> objects;
  std::size_t depth = 0, begin = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0 && --depth == 0) {
      objects.push_back(text.substr(begin, i + 1 - begin));
      begin = i + 1;
    }
  }
  const std::string_view rest = text.substr(begin);
  if (objects.empty() || rest.find_first_not_of(" \t\r\n") != std::string_view::npos) objects.push_back(rest);
  return objects;
}

class Reader {
 public:
  Reader(const std::string& path, Diagnostics& diagnostics) : path_(path), diagnostics_(diagnostics) {}

  std::shared_ptr<const RankTrace> read(std::string_view text) {
    const std::vector<std::string_view> objects = objects_of(text);
    for (std::size_t i = 0; i < objects.size() && found_ < kMostFindings; ++i) {
      const std::optional<Json> object = parse_json(objects[i], path_, diagnostics_);
      if (!object) return nullptr;
      if (!object->is_object()) {
        refuse("", "the trace is no list of nodes", kForm);
        return nullptr;
      }
      if (const auto list = object->find("workload_graph"); list != object->end() && objects.size() == 1) {
        read_list(*list);
        break;
      }
      if (i == 0 && !object->contains("type")) continue;  // the metadata
      pointer_ = "node " + std::to_string(i);
      read_node(*object);
    }
    if (found_ > 0) return nullptr;
    return std::make_shared<const RankTrace>(std::move(trace_));
  }

 private:
  static constexpr const char* kForm = "write the form of chakra_jsonizer, or {\"workload_graph\": [...]}";

  void refuse(const std::string& pointer, std::string text, std::string hint) {
    ++found_;
    if (found_ <= kMostFindings) diagnostics_.add(path_, pointer, std::move(text), std::move(hint));
  }

  void read_list(const Json& list) {
    if (!list.is_array()) return refuse("/workload_graph", "the trace is no list of nodes", kForm);
    for (std::size_t i = 0; i < list.size() && found_ < kMostFindings; ++i) {
      pointer_ = join_pointer("/workload_graph", i);
      if (list[i].is_object())
        read_node(list[i]);
      else
        refuse(pointer_, "the node is no object", kForm);
    }
  }

  // The value of a key, named as by the feeder or as by the jsonizer, or of an attribute; null if absent.
  static const Json* value_of(const Json& node, const char* of_feeder, const char* of_jsonizer = nullptr) {
    for (const char* const key : {of_feeder, of_jsonizer}) {
      if (key == nullptr) continue;
      if (const auto found = node.find(key); found != node.end()) return &*found;
    }
    const auto attributes = node.find("attr");
    if (attributes == node.end() || !attributes->is_array()) return nullptr;
    for (const Json& attribute : *attributes) {
      if (!attribute.is_object()) continue;
      const auto name = attribute.find("name");
      if (name == attribute.end() || *name != of_feeder) continue;
      for (const auto& [key, value] : attribute.items())
        if (key != "name" && key != "docString" && key != "doc_string") return &value;
    }
    return nullptr;
  }

  // 0 if absent, as in protobuf.
  std::uint64_t number(const Json& node, const char* of_feeder, const char* of_jsonizer, std::uint64_t most) {
    const Json* const value = value_of(node, of_feeder, of_jsonizer);
    if (value == nullptr) return 0;
    const std::optional<std::uint64_t> number = number_of(*value);
    if (!number)
      refuse(pointer_, in_quotes(of_feeder) + " is no whole number from 0", "write one");
    else if (*number > most)
      refuse(pointer_, in_quotes(of_feeder) + " is more than " + std::to_string(most), "write less");
    else
      return *number;
    return 0;
  }

  void read_node(const Json& object) {
    TraceNode node;
    node.id = number(object, "Id", "id", ~std::uint64_t{0});
    const Json* const given = value_of(object, "NodeType", "type");
    const auto type =
        given == nullptr ? std::optional<std::uint64_t>(kInvalid) : number_or_name(*given, kTypes);
    if (!type || *type == kInvalid)
      return refuse(
          pointer_, given == nullptr ? "the node has no type" : given->dump() + " is no type of a node",
          "write COMP_NODE, COMM_SEND_NODE, COMM_RECV_NODE, COMM_COLL_NODE, MEM_LOAD_NODE, MEM_STORE_NODE or METADATA_NODE");
    const Json* const on_processor = value_of(object, "is_cpu_op");
    node.is_on_processor =
        on_processor != nullptr && (*on_processor == true || *on_processor == 1 || *on_processor == "1");
    read_dependencies(object, node);
    const bool is_of_accelerator = !node.is_on_processor;
    if (*type == kSend || *type == kReceive)
      read_message(object, *type == kSend, node);
    else if (*type == kCollective && is_of_accelerator)
      read_collective(object, node);
    else if (*type != kMetadata)
      node.time = Duration(
          static_cast<std::int64_t>(number(object, "runtime", "durationMicros", TraceLimits::kComputeUs)) *
          kPsPerMicrosecond);
    trace_.push_back(std::move(node));
  }

  void read_dependencies(const Json& object, TraceNode& node) {
    const Json* const list = value_of(object, "data_deps", "dataDeps");
    if (list == nullptr) return;
    if (!list->is_array()) return refuse(pointer_, "\"data_deps\" is no list", "write a list of ids");
    for (const Json& one : *list) {
      if (const auto id = number_of(one))
        node.before.push_back(*id);
      else
        return refuse(pointer_, one.dump() + " in \"data_deps\" is no id", "write a list of ids");
    }
  }

  void read_message(const Json& object, bool is_send, TraceNode& node) {
    constexpr std::uint64_t kMostRanks = 1 << 20;
    node.kind = is_send ? TraceNode::Kind::kSend : TraceNode::Kind::kReceive;
    node.bytes = number(object, "comm_size", nullptr, TraceLimits::kMessageBytes);
    node.peer =
        static_cast<std::uint32_t>(number(object, is_send ? "comm_dst" : "comm_src", nullptr, kMostRanks));
    node.tag = number(object, "comm_tag", nullptr, ~std::uint64_t{0});
  }

  void read_collective(const Json& object, TraceNode& node) {
    node.kind = TraceNode::Kind::kCollective;
    const Json* const type = value_of(object, "comm_type");
    const auto number_of_type = type == nullptr ? std::nullopt : number_or_name(*type, kCollectives);
    if (!number_of_type)
      return refuse(
          pointer_, "the collective has no type that is known",
          "give comm_type: ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER or BARRIER");
    const auto pattern = collective_of(*number_of_type);
    if (!pattern)
      return refuse(pointer_, std::string(kCollectives[*number_of_type]) + " is not done here",
                    "ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER and BARRIER are");
    node.pattern = *pattern;
    node.bytes = number(object, "comm_size", nullptr, TraceLimits::kMessageBytes);
    if (node.bytes == 0 && *pattern != workload::Pattern::kBarrier)
      return refuse(pointer_, "the collective has no bytes", "give comm_size");
    if (*pattern == workload::Pattern::kBarrier) node.bytes = 1;
    const Json* const group = value_of(object, "pg_name");
    if (group != nullptr && group->is_string()) node.group = group->get<std::string>();
  }

  static constexpr std::int64_t kPsPerMicrosecond = 1'000'000;

  const std::string& path_;
  Diagnostics& diagnostics_;
  std::string pointer_;  // of the node that is read
  std::size_t found_ = 0;
  RankTrace trace_;
};

}  // namespace
}  // namespace chakra

bool is_execution_trace(std::string_view text, std::string_view path) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return path.ends_with(".et") || (first != std::string_view::npos && text[first] == '{');
}

std::shared_ptr<const workload::RankTrace> read_execution_trace(std::string_view text,
                                                                const std::string& path,
                                                                Diagnostics& diagnostics) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') {
    diagnostics.add(path, "", "the trace is not JSON; Chakra's protobuf form is not read",
                    "convert it with chakra_jsonizer --input_filename x.0.et --output_filename x.0.json");
    return nullptr;
  }
  return chakra::Reader(path, diagnostics).read(text);
}

}  // namespace verbatim::config
