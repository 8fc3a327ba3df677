#include "sim/observe/trace_line.h"

#include <charconv>

#include "sim/core/time.h"
#include "sim/ib/qp_state.h"
#include "sim/ib/wc_status.h"

namespace verbatim::observe {

namespace {

// Takes the text before the next two blanks off the line, with these.
std::string_view take_column(std::string_view& line) {
  const std::size_t end = line.find("  ");
  const std::string_view column = line.substr(0, end);
  line.remove_prefix(end == line.npos ? line.size() : end + 2);
  return column;
}

// Name of a state: "RTS" for "3".
std::string state_name(const std::string& number) {
  const bool is_state = number.size() == 1 && number[0] >= '0' && number[0] < '0' + static_cast<int>(ib::kQpStateCount);
  return is_state ? ib::name_of(static_cast<ib::QpState>(number[0] - '0')) : "state " + number;
}

constexpr std::string_view kAsyncEvents[] = {
    "IBV_EVENT_CQ_ERR",       "IBV_EVENT_QP_FATAL",          "IBV_EVENT_QP_REQ_ERR",        "IBV_EVENT_QP_ACCESS_ERR",
    "IBV_EVENT_COMM_EST",     "IBV_EVENT_SQ_DRAINED",        "IBV_EVENT_PATH_MIG",          "IBV_EVENT_PATH_MIG_ERR",
    "IBV_EVENT_DEVICE_FATAL", "IBV_EVENT_PORT_ACTIVE",       "IBV_EVENT_PORT_ERR",          "IBV_EVENT_LID_CHANGE",
    "IBV_EVENT_PKEY_CHANGE",  "IBV_EVENT_SM_CHANGE",         "IBV_EVENT_SRQ_ERR",           "IBV_EVENT_SRQ_LIMIT_REACHED",
    "IBV_EVENT_QP_LAST_WQE_REACHED", "IBV_EVENT_CLIENT_REREGISTER", "IBV_EVENT_GID_CHANGE", "IBV_EVENT_WQ_FATAL"};

}  // namespace

std::string status_name(std::uint64_t status) {
  return status < std::size(ib::kWcStatusNames) ? std::string(ib::kWcStatusNames[status].name) : "status " + std::to_string(status);
}

std::string async_event_text(std::uint64_t type, std::uint64_t number) {
  if (type >= std::size(kAsyncEvents)) return "asynchronous event " + std::to_string(type) + " of object " + std::to_string(number);
  const std::string_view name = kAsyncEvents[type];
  // The object of the event; a port if the event is of no other object.
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  if (has("DEVICE")) return std::string(name);
  const bool is_of_queue_pair = has("_QP_") || has("COMM_EST") || has("SQ_DRAINED") || has("PATH_MIG");
  const char* const kind = is_of_queue_pair ? "QP " : has("_CQ_") ? "CQ " : has("_SRQ_") ? "SRQ " : has("_WQ_") ? "WQ " : "port ";
  return std::string(name) + " of " + kind + std::to_string(number);
}

std::int64_t picoseconds_of(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == text.npos || text.size() != dot + 7) return -1;
  std::int64_t whole = 0, millionths = 0;
  const auto parse = [](std::string_view digits, std::int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
  };
  if (!parse(text.substr(0, dot), whole) || !parse(text.substr(dot + 1), millionths)) return -1;
  constexpr std::int64_t kLast = to_ps(kEndOfTime) + 1;  // a run that reaches the end of virtual time ends 1 ps later
  if (whole > kLast / 1'000'000) return -1;
  const std::int64_t time = whole * 1'000'000 + millionths;
  return time > kLast ? -1 : time;
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
  return number;
}

std::uint64_t number_of(const TraceLine& line, std::string_view name) { return number_in(line.value(name)); }

std::string_view TraceLine::value(std::string_view name) const {
  for (std::string_view rest = values; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    const std::string_view pair = rest.substr(0, end);
    if (pair.starts_with(name) && pair.size() > name.size() && pair[name.size()] == '=') return pair.substr(name.size() + 1);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return {};
}

std::string in_words(const TraceLine& line) {
  const auto value = [&](const char* name) { return std::string(line.value(name)); };
  if (line.event == "doorbell") {
    const std::string kind = value("kind"), number = value("number");
    if (kind == "0") return "doorbell for sends of QP " + number + ", up to number " + value("producer");
    if (kind == "1") return "ibv_req_notify_cq of CQ " + number;
    if (kind == "2") return "doorbell for receives of queue " + number + ", up to number " + value("producer");
  }
  if (line.event == "completion") {
    return "completion of wr_id " + value("wr_id") + ", QP " + value("qpn") + ", in CQ " + value("cqn") +
           (value("status") == "0" ? "" : " with " + status_name(number_of(line, "status")));
  }
  if (line.event == "async-event") return async_event_text(number_of(line, "type"), number_of(line, "number"));
  if (line.event == "completion-event") return "event of CQ " + value("cqn") + " on channel " + value("channel");
  if (line.event == "dma-write") return "write of " + value("length") + " bytes to " + value("va");
  if (line.event == "qp-state") return "QP " + value("qpn") + " changes from " + state_name(value("from")) + " to " + state_name(value("to"));
  if (line.event == "retransmission") return "retransmission of QP " + value("qpn") + " from PSN " + value("psn") + ", " + value("tries_left") + (value("tries_left") == "1" ? " retry left" : " retries left");
  if (line.event == "post-send" || line.event == "post-receive") {
    const std::string kind = line.event == "post-send" ? "send" : "receive";
    return "post of a " + kind + " to QP " + value("number") + ", wr_id " + value("wr_id") + (value("place") == "-" ? "" : ", at " + value("place"));
  }
  return line.values.empty() ? line.event : line.event + " " + line.values;
}

std::optional<TraceLine> parse_trace_line(std::string_view line) {
  TraceLine parsed;
  std::string_view time = take_column(line);
  if (!time.ends_with(" us")) return std::nullopt;
  time.remove_suffix(3);
  parsed.time_ps = picoseconds_of(time);
  if (parsed.time_ps < 0) return std::nullopt;
  parsed.component = take_column(line);
  parsed.event = take_column(line);
  if (parsed.component.empty() || parsed.event.empty()) return std::nullopt;
  const std::size_t bytes = line.rfind("bytes=");
  if (bytes != line.npos && (bytes == 0 || line[bytes - 1] == ' ')) {
    parsed.bytes = line.substr(bytes + 6);
    line = line.substr(0, bytes == 0 ? 0 : bytes - 1);
  }
  parsed.values = line;
  return parsed;
}

std::optional<std::vector<TraceLine>> read_trace(InputFile& file) {
  std::vector<TraceLine> lines;
  while (const auto line = file.line()) {
    if (auto parsed = parse_trace_line(*line)) lines.push_back(std::move(*parsed));
  }
  if (!file.problem().empty()) return std::nullopt;
  return lines;
}

}  // namespace verbatim::observe
