#include "sim/workload/flow_files.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

namespace verbatim::workload {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;
constexpr std::uint64_t kMostPs = 1'000'000'000'000'000'000;  // a million seconds

// For messages: control characters replaced, length limited.
std::string quoted(std::string_view token) {
  constexpr std::size_t kMost = 40;
  std::string text = "\"";
  for (const char c : token.substr(0, kMost)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (token.size() > kMost ? "...\"" : "\"");
}

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  // Advances to the next line that has words; false: end of the text.
  bool next() {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = end + 1;
      ++number_;
      line = line.substr(0, line.find('#'));
      words_.clear();
      constexpr std::string_view kBlanks = " \t\r";
      for (std::size_t begin = 0; (begin = line.find_first_not_of(kBlanks, begin)) != std::string_view::npos;) {
        const std::size_t past = std::min(line.find_first_of(kBlanks, begin), line.size());
        words_.push_back(line.substr(begin, past - begin));
        begin = past;
      }
      if (!words_.empty()) return true;
    }
    words_.clear();
    return false;
  }
  const std::vector<std::string_view>& words() const { return words_; }
  std::uint32_t number() const { return number_; }  // from 1; at the end, of the last line

 private:
  const std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
  std::vector<std::string_view> words_;
};

std::optional<std::uint64_t> whole_number(std::string_view word, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number > most) return std::nullopt;
  return number;
}

// A decimal number times 10^digits, rounded down; no exponent.
std::optional<std::uint64_t> decimal(std::string_view word, std::size_t digits, std::uint64_t most) {
  const std::size_t point = word.find('.');
  std::string scaled(word.substr(0, point));
  std::string_view behind = point == std::string_view::npos ? std::string_view() : word.substr(point + 1);
  if (scaled.empty() || behind.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  scaled += behind.substr(0, digits);
  scaled.append(digits - std::min(digits, behind.size()), '0');
  return whole_number(scaled, most);
}

class LineReader {
 public:
  LineReader(std::string_view text, std::vector<LineFinding>& findings) : lines_(text), findings_(findings) {}

 protected:
  bool is_full() const { return findings_.size() >= FlowFile::kMostFindings; }
  void refuse(std::string text, std::string hint) {
    refuse(std::max(lines_.number(), 1u), std::move(text), std::move(hint));
  }
  void refuse(std::uint32_t line, std::string text, std::string hint) {
    findings_.push_back({line, std::move(text), std::move(hint)});
  }
  std::optional<std::uint64_t> number(std::string_view word, const char* what, std::uint64_t most) {
    const auto value = whole_number(word, most);
    if (!value) refuse(quoted(word) + " is no " + what, "write a whole number from 0 to " + std::to_string(most));
    return value;
  }
  std::uint32_t kind(const FlowFile::Kind& wanted) {
    const auto found = std::ranges::find(file_.kinds, wanted);
    const auto place = static_cast<std::uint32_t>(found - file_.kinds.begin());
    if (found == file_.kinds.end()) file_.kinds.push_back(wanted);
    return place;
  }
  std::optional<FlowFile> result() {
    if (findings_.empty() && file_.flows.empty()) refuse("the file has no flow", "write one");
    if (!findings_.empty()) return std::nullopt;
    return std::move(file_);
  }

  Lines lines_;
  std::vector<LineFinding>& findings_;
  FlowFile file_;
};

class MatrixReader : LineReader {
 public:
  using LineReader::LineReader;

  std::optional<FlowFile> read() {
    while (!is_full() && lines_.next()) {
      const std::string_view first = lines_.words().front();
      if (std::uint64_t* const header = header_of(first))
        read_header(*header);
      else if (first.find("->") != std::string_view::npos)
        read_connection();
      else if (first == "trigger")
        read_trigger();
      else if (first == "failure")
        read_failure();
      else
        refuse(quoted(first) + " begins no line of a connection matrix",
               "lines are `0->1 start 0 size 1000`, `trigger …`, `failure …`");
    }
    if (!is_full()) {
      check_count("Connections", connections_, file_.flows.size() + bad_flows_);
      check_count("Triggers", triggers_, defined_);
      check_count("Failures", failures_, file_.failures.size() + bad_failures_);
      resolve_triggers();
    }
    file_.nodes = static_cast<std::uint32_t>(nodes_ == kNone ? 0 : nodes_);
    return result();
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t* header_of(std::string_view word) {
    if (word == "Nodes") return &nodes_;
    if (word == "Connections") return &connections_;
    if (word == "Triggers") return &triggers_;
    return word == "Failures" ? &failures_ : nullptr;
  }

  void read_header(std::uint64_t& header) {
    const auto& words = lines_.words();
    if (words.size() != 2)
      return refuse(quoted(words.front()) + " needs one number", "write `" + std::string(words.front()) + " 4`");
    if (header != kNone) return refuse(quoted(words.front()) + " is there twice", "leave one of them out");
    const std::uint64_t most = words.front() == "Nodes" ? FlowFile::kMostNodes : FlowFile::kMostFlows;
    const auto value = number(words[1], "number of them", most);
    if (value == 0u && &header == &nodes_) return refuse("there are no nodes", "write `Nodes 4`");
    if (value) header = *value;
  }

  void check_count(const char* name, std::uint64_t header, std::uint64_t found) {
    if (header == kNone && found == 0) return;
    if (header == kNone && std::string_view(name) == "Connections") {
      refuse("the file has no line \"Connections\"", "say how many there are: `Connections " + std::to_string(found) + "`");
    } else if (header != kNone && header != found) {
      refuse("the file says \"" + std::string(name) + " " + std::to_string(header) + "\", and has " + std::to_string(found),
             "make them the same");
    }
  }

  // Keys and values after the first word. False: refused.
  template <class Take>
  bool read_pairs(Take take) {
    const auto& words = lines_.words();
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool has_value = i + 1 < words.size();
      const int taken = take(words[i], has_value ? words[i + 1] : std::string_view());
      if (taken < 0) return false;
      if (taken == 2 && !has_value) {
        refuse(quoted(words[i]) + " has no value behind it", "write one");
        return false;
      }
      i += static_cast<std::size_t>(taken - 1);
    }
    return true;
  }

  void read_connection() {
    ++bad_flows_;  // until it is valid
    const std::string_view ends = lines_.words().front();
    const std::size_t arrow = ends.find("->");
    FlowPlan flow;
    const std::uint64_t last_node = nodes_ == kNone ? FlowFile::kMostNodes - 1 : nodes_ - 1;
    const auto from = number(ends.substr(0, arrow), "node", last_node),
               to = number(ends.substr(arrow + 2), "node", last_node);
    if (!from || !to) return;
    if (nodes_ == kNone)
      return refuse("a connection comes before the line \"Nodes\"", "say first how many there are: `Nodes 16`");
    if (*from == *to)
      return refuse("the connection leads from node " + std::to_string(*from) + " to itself", "name another node");
    flow.from = static_cast<std::uint32_t>(*from);
    flow.to = static_cast<std::uint32_t>(*to);
    bool has_size = false, has_start = false;
    FlowFile::Kind of_flow;
    const bool is_read = read_pairs([&](std::string_view key, std::string_view value) {
      if (key == "start") {
        const auto start = decimal(value, 0, kMostPs);
        if (!start) {
          refuse(quoted(value) + " is no start", "write picoseconds, at most a million seconds");
          return -1;
        }
        flow.start = Duration(static_cast<std::int64_t>(*start));
        has_start = true;
        return 2;
      }
      const bool is_size = key == "size", is_id = key == "id", is_priority = key == "prio";
      if (is_size || is_id || is_priority) {
        const auto number_of = number(value,
                                      is_size ? "number of bytes"
                                      : is_id ? "number of a flow"
                                              : "priority",
                                      kMostBytes);
        if (!number_of) return -1;
        if (is_size) flow.bytes = *number_of;
        has_size = has_size || is_size;
        file_.has_priorities = file_.has_priorities || is_priority;
        if (is_id && (*number_of == 0 || !ids_.emplace(*number_of, lines_.number()).second)) {
          refuse(*number_of == 0 ? "flow ids begin with 1" : "there are two flows with id " + std::to_string(*number_of),
                 "choose another");
          return -1;
        }
        return 2;
      }
      std::uint32_t* const trigger = key == "trigger"             ? &flow.trigger
                                     : key == "send_done_trigger" ? &flow.on_sent
                                     : key == "recv_done_trigger" ? &flow.on_received
                                                                  : nullptr;
      if (trigger == nullptr) {
        refuse(quoted(key) + " is no key of a connection",
               "keys are start, size, id, trigger, send_done_trigger, recv_done_trigger, prio");
        return -1;
      }
      const auto id = number(value, "id of a trigger", FlowFile::kMostFlows);
      if (!id) return -1;
      if (*id == 0 && trigger != &flow.trigger) return 2;  // none
      Trigger& of = triggers_by_id_[*id];
      if (of.line == 0) of.line = lines_.number();
      (trigger == &flow.trigger ? of.starts : of.is_fired) = true;
      *trigger = static_cast<std::uint32_t>(*id);
      of_flow.fires_on_arrival = of_flow.fires_on_arrival || trigger == &flow.on_received;
      return 2;
    });
    if (!is_read) return;
    if (!has_size) return refuse("the connection has no size", "write `size` and bytes; 0 is without end");
    if (has_start == (flow.trigger != FlowPlan::kNone)) {
      return refuse(
          has_start ? "the connection has a start and a trigger" : "the connection has neither a start nor a trigger",
          "give one of them");
    }
    if (flow.is_endless() && (flow.on_sent != FlowPlan::kNone || flow.on_received != FlowPlan::kNone))
      return refuse("a flow without end fires no trigger", "give it a size, or leave the trigger out");
    flow.kind = kind(of_flow);
    --bad_flows_;
    file_.flows.push_back(flow);
  }

  void read_trigger() {
    ++defined_;
    std::uint64_t id = 0;
    std::optional<TriggerPlan> plan;
    std::uint32_t count = 0;
    const bool is_read = read_pairs([&](std::string_view key, std::string_view value) {
      if (key == "id" || key == "count") {
        const auto given = number(value, key == "id" ? "id of a trigger" : "count", FlowFile::kMostFlows);
        if (!given) return -1;
        if (key == "id")
          id = *given;
        else
          count = static_cast<std::uint32_t>(*given);
        return 2;
      }
      using Kind = TriggerPlan::Kind;
      const std::optional<Kind> named = key == "oneshot"     ? std::optional(Kind::kAll)
                                        : key == "multishot" ? std::optional(Kind::kNext)
                                        : key == "barrier"   ? std::optional(Kind::kCount)
                                                             : std::nullopt;
      if (!named || plan) {
        refuse(named ? "the trigger is of two kinds" : quoted(key) + " is no key of a trigger",
               "write `trigger id 1 oneshot`, `multishot`, or `barrier count 4`");
        return -1;
      }
      plan = TriggerPlan{.kind = *named};
      return 1;
    });
    if (!is_read) return;
    if (id == 0 || !plan)
      return refuse(id == 0 ? "the trigger has no id above 0" : "the trigger has no kind", "write `trigger id 1 oneshot`");
    if ((plan->kind == TriggerPlan::Kind::kCount) != (count > 0))
      return refuse("a barrier has a count above 0, and no other trigger has one", "write `trigger id 1 barrier count 4`");
    if (count > 0) plan->count = count;
    Trigger& of = triggers_by_id_[id];
    if (of.plan) return refuse("there are two triggers with id " + std::to_string(id), "choose another id");
    of.plan = plan;
    of.line = lines_.number();
  }

  void read_failure() {
    ++bad_failures_;  // until it is valid
    FlowFile::Failure failure{.line = lines_.number()};
    int given = 0;
    const bool is_read = read_pairs([&](std::string_view key, std::string_view value) {
      using Tier = FlowFile::Failure::Tier;
      ++given;
      if (key == "switch_type") {
        if (value != "TOR" && value != "AGG" && value != "CORE") {
          refuse(quoted(value) + " is no type of switch", "write TOR, AGG or CORE");
          return -1;
        }
        failure.tier = value == "TOR" ? Tier::kTor : value == "AGG" ? Tier::kAggregation : Tier::kCore;
        return 2;
      }
      if (key != "switch_id" && key != "link_id") {
        refuse(quoted(key) + " is no key of a failure", "keys are switch_type, switch_id, link_id");
        return -1;
      }
      const auto id = number(value, "number from 0", FlowFile::kMostNodes);
      if (!id) return -1;
      (key == "switch_id" ? failure.number : failure.link) = static_cast<std::uint32_t>(*id);
      return 2;
    });
    if (!is_read) return;
    if (given != 3) return refuse("the failure does not name one link", "give switch_type, switch_id and link_id");
    --bad_failures_;
    file_.failures.push_back(failure);
  }

  // Replaces trigger ids by indices, in the order of ids.
  void resolve_triggers() {
    std::map<std::uint64_t, std::uint32_t> places;
    for (const auto& [id, trigger] : triggers_by_id_) {
      if (is_full()) return;
      const std::string name = "trigger " + std::to_string(id);
      if (!trigger.plan)
        refuse(trigger.line, "there is no " + name, "write `trigger id " + std::to_string(id) + " oneshot`");
      else if (trigger.starts && !trigger.is_fired)
        refuse(trigger.line, "nothing fires " + name, "name it by send_done_trigger or recv_done_trigger of a connection");
      else
        places.emplace(id, static_cast<std::uint32_t>(file_.triggers.size())), file_.triggers.push_back(*trigger.plan);
    }
    if (!findings_.empty()) return;
    for (FlowPlan& flow : file_.flows) {
      for (std::uint32_t* const trigger : {&flow.trigger, &flow.on_sent, &flow.on_received}) {
        if (*trigger != FlowPlan::kNone) *trigger = places.at(*trigger);
      }
    }
  }

  struct Trigger {
    std::optional<TriggerPlan> plan;
    std::uint32_t line = 0;  // of the trigger, or of its first use
    bool starts = false, is_fired = false;
  };
  std::uint64_t nodes_ = kNone, connections_ = kNone, triggers_ = kNone, failures_ = kNone;
  std::uint64_t bad_flows_ = 0, defined_ = 0, bad_failures_ = 0;
  std::map<std::uint64_t, Trigger> triggers_by_id_;
  std::map<std::uint64_t, std::uint32_t> ids_;
};

class ListReader : LineReader {
 public:
  using LineReader::LineReader;

  std::optional<FlowFile> read() {
    constexpr const char* kForm = "lines have source, destination, priority, port, bytes and start in seconds";
    std::optional<std::uint64_t> count;
    if (lines_.next() && lines_.words().size() == 1)
      count = number(lines_.words().front(), "number of flows", FlowFile::kMostFlows);
    else
      refuse("the first line is no number of flows", kForm);
    Duration latest{0};
    while (findings_.size() < FlowFile::kMostFindings && lines_.next()) {
      const auto& words = lines_.words();
      if (words.size() != 6) {
        refuse("the line has " + std::to_string(words.size()) + " numbers, and not 6", kForm);
        continue;
      }
      constexpr std::uint64_t kPriorities = 7, kPorts = 65535;
      const auto from = number(words[0], "node", FlowFile::kMostNodes - 1),
                 to = number(words[1], "node", FlowFile::kMostNodes - 1);
      const auto priority = number(words[2], "priority", kPriorities), port = number(words[3], "port", kPorts);
      const auto bytes = number(words[4], "number of bytes", kMostBytes);
      const auto start = decimal(words[5], 12, kMostPs);
      if (!start) refuse(quoted(words[5]) + " is no start", "write seconds as a decimal number, at most a million");
      if (!from || !to || !priority || !port || !bytes || !start) continue;
      const Duration when(static_cast<std::int64_t>(*start));
      if (*from == *to)
        refuse("the flow leads from node " + std::to_string(*from) + " to itself", "name another node");
      else if (*bytes == 0)
        refuse("the flow has no bytes", "write 1 at least");
      else if (when < latest)
        refuse("the flow starts before the one above it", "sort the flows by their starts");
      latest = std::max(latest, when);
      FlowPlan flow{
          .from = static_cast<std::uint32_t>(*from), .to = static_cast<std::uint32_t>(*to), .bytes = *bytes, .start = when};
      flow.kind = kind({.priority = static_cast<std::uint32_t>(*priority)});
      flow.port = static_cast<std::uint16_t>(*port);
      file_.nodes = std::max({file_.nodes, flow.from + 1, flow.to + 1});
      file_.flows.push_back(flow);
    }
    if (findings_.empty() && count && *count != file_.flows.size())
      refuse("the file says that it has " + std::to_string(*count) + " flows, and has " + std::to_string(file_.flows.size()),
             "make them the same");
    return result();
  }
};

}  // namespace

std::optional<FlowFormat> flow_format_of(std::string_view text) {
  Lines lines(text);
  if (!lines.next()) return std::nullopt;
  const std::string_view first = lines.words().front();
  if (first == "Nodes" || first == "Connections") return FlowFormat::kConnectionMatrix;
  if (lines.words().size() == 1 && first.find_first_not_of("0123456789") == std::string_view::npos)
    return FlowFormat::kFlowList;
  return std::nullopt;
}

std::optional<FlowFile> read_connection_matrix(std::string_view text, std::vector<LineFinding>& findings) {
  return MatrixReader(text, findings).read();
}

std::optional<FlowFile> read_flow_list(std::string_view text, std::vector<LineFinding>& findings) {
  return ListReader(text, findings).read();
}

}  // namespace verbatim::workload
