#include "tools/verbatim/run_picture.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/core/input_file.h"
#include "sim/core/words.h"
#include "sim/ib/aeth.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/qp_state.h"
#include "sim/ib/wc_status.h"
#include "tools/verbatim/packet_keys.h"
#include "tools/verbatim/syndrome_words.h"

namespace verbatim::cli {

namespace {

using observe::number_of;
using observe::TraceLine;

bool is_answer(std::string_view opcode) {
  return opcode.find("Acknowledge") != opcode.npos || opcode.find("Response") != opcode.npos;
}

// Congestion notifications (CNP) all have PSN 0; they belong to no work request.
bool is_request(std::string_view opcode) { return opcode != "CNP" && !is_answer(opcode); }

constexpr std::size_t kShortest = sizeof "hca/" - 1;  // shortest prefix of a component's name
constexpr std::uint32_t kPsnMask = 0xffffff;
// Distance from `a` to `b`, modulo 2^24.
std::uint64_t psn_distance(std::uint64_t a, std::uint64_t b) { return (b - a) & kPsnMask; }

class Painter {
 public:
  explicit Painter(const RecordedRun& run) : run_(run) {
    for (const TraceLine& line : run.lines) {
      if (line.component.starts_with("hca/")) adapters_.insert(line.component.substr(4));
    }
    learn();
  }

  RunPicture paint() {
    bin_links();
    for (const TraceLine& line : run_.lines) add(line);
    for (const Placement& one : placements_)
      picture_.rows[one.row].text = text(join("DMA writes ", one.bytes, " bytes", one.count > 1 ? join(" in ", one.count, " pieces") : ""));
    follow_requests();
    cut_output();
    for (const auto& [end, peer] : peers_)
      picture_.peers.emplace_back(column(end.first, end.second), column(peer.first, peer.second));
    return std::move(picture_);
  }

 private:
  using End = std::pair<std::string, std::uint64_t>;  // adapter, number

  struct Sender {
    std::uint64_t last_index = ~std::uint64_t{0};
    std::vector<std::int32_t> requests;  // in the order of posting
    std::uint64_t path_mtu = 0;          // most payload in one packet
    std::optional<std::uint64_t> first_psn;
    std::size_t fetched = 0, posted = 0;
  };

  std::uint32_t text(std::string words) {
    const auto [known, is_new] = texts_.try_emplace(std::move(words), static_cast<std::uint32_t>(picture_.strings.size()));
    if (is_new) picture_.strings.push_back(known->first);
    return known->second;
  }

  // The adapter's host for a port of an adapter: "server" for "port/server:1"; "" for switch ports.
  std::string adapter_of_port(const std::string& component) const {
    if (!component.starts_with("port/")) return "";
    std::string name = component.substr(5, component.rfind(':') - 5);
    return adapters_.contains(name) ? name : "";
  }

  int column(const std::string& host, std::uint64_t qpn) {
    const auto [known, is_new] = columns_.try_emplace({host, qpn}, 0);
    if (is_new) {
      known->second = static_cast<int>(picture_.columns.size());
      picture_.columns.push_back({host, qpn});
    }
    return known->second;
  }

  // Finds connected queue pairs, from packets with a known sender.
  void learn() {
    PacketTable<std::uint64_t> by_psn;  // adapter, PSN -> queue pair that gathered it
    PacketTable<End> sent;              // opcode, destination, PSN -> sender
    for (const TraceLine& line : run_.lines) {
      if (line.component.size() < kShortest) continue;
      if (line.event == "payload-gathered" || line.event == "ack-sent") {
        by_psn[at_adapter(line.component.substr(4), line)] = number_of(line, "qpn");
      }
      const std::string adapter = adapter_of_port(line.component);
      if (adapter.empty()) continue;
      const PacketKey key = of_packet(line);
      if (line.event == "packet-transmitted") {
        const auto sender = by_psn.find(at_adapter(adapter, line));
        if (sender != by_psn.end()) sent[key] = {adapter, sender->second};
      } else if (line.event == "packet-received") {
        const auto from = sent.find(key);
        if (from == sent.end()) continue;
        const End to{adapter, number_of(line, "dest_qp")};
        peers_.try_emplace(to, from->second);
        peers_.try_emplace(from->second, to);
        sent.erase(from);
      }
    }
    for (const auto& [end, peer] : peers_) by_peer_[{numbers_.of(end.first), peer.second}].push_back(end.second);
  }

  PacketKey at_adapter(std::string_view adapter, const TraceLine& line) { return {numbers_.of(adapter), number_of(line, "psn")}; }
  PacketKey of_packet(const TraceLine& line, std::string_view adapter = "") {
    return {(adapter.empty() ? 0 : numbers_.of(adapter)) | opcodes_.of(line.value("opcode")) << 32,
            number_of(line, "psn") | number_of(line, "dest_qp") << 32};
  }

  void add(const TraceLine& line) {
    const std::string_view event = line.event;
    if (line.component.size() < kShortest) return;
    if (event.starts_with("packet-") && line.values.starts_with("frame")) return;
    if (event == "packet-transmitted") return on_transmitted(line);
    if (event == "packet-received") return on_received(line);
    if (event == "packet-dropped") return on_dropped(line);
    if (event == "fault") return on_fault(line);
    if (event == "ack-sent") {
      answers_[at_adapter(line.component.substr(4), line)] = {number_of(line, "syndrome"), number_of(line, "msn"), number_of(line, "qpn")};
      return;
    }
    if (event == "ack-received") return on_acknowledged(line);
    if (line.component.starts_with("hca/")) return on_adapter(line);
    if (line.component.starts_with("host/")) return on_host(line);
    if (event == "link-state") {
      const std::string adapter = adapter_of_port(line.component);
      if (!adapter.empty()) add_row(line, column(adapter, 0), line.value("up") == "1" ? "the link is up" : "the link is down", RunPicture::kFault);
    }
  }

  RunPicture::Row& add_row(const TraceLine& line, int where, std::string words, std::uint32_t flags = 0, std::string note = "") {
    RunPicture::Row& row = picture_.rows.emplace_back();
    row.time_ps = line.time_ps;
    row.from = where;
    row.text = text(std::move(words));
    row.note = text(std::move(note));
    row.flags = flags;
    return row;
  }

  void on_transmitted(const TraceLine& line) {
    const std::string adapter = adapter_of_port(line.component);
    if (adapter.empty()) return;
    ++picture_.packets;
    const std::string opcode(line.value("opcode"));
    const std::uint64_t dest = number_of(line, "dest_qp"), psn = number_of(line, "psn");
    std::uint64_t own = 0;
    std::uint32_t flags = 0;
    std::string note;
    if (const auto answer = answers_.find(at_adapter(adapter, line)); opcode.find("Acknowledge") != opcode.npos && answer != answers_.end()) {
      const auto& [syndrome, msn, qpn] = answer->second;
      own = qpn;
      note = words_of_syndrome(static_cast<std::uint8_t>(syndrome), &flags) + join(", MSN ", msn);
    } else if (const auto gathered = gathered_.find(at_adapter(adapter, line)); gathered != gathered_.end()) {
      own = gathered->second;
    }
    // If several queue pairs have sent this PSN, the one connected to the addressee.
    if (const auto known = by_peer_.find({numbers_.of(adapter), dest}); known != by_peer_.end()) {
      if (std::ranges::find(known->second, own) == known->second.end()) own = known->second.front();
    }
    // With the sender's queue pair: those connected to equal numbers on different hosts may send equal PSNs. There are
    // fewer than 256 opcodes.
    PacketKey sent = of_packet(line, adapter);
    sent.names |= own << 40;
    if (is_request(opcode) && !sent_.try_emplace(sent, true).second) {
      flags |= RunPicture::kRetransmission;
      note = "retransmission";
    }
    const auto peer = peers_.find({adapter, own});
    const auto at = static_cast<std::uint32_t>(picture_.rows.size());
    RunPicture::Row& row = add_row(line, column(adapter, own), spelled(opcode), flags, note);
    if (peer != peers_.end()) row.to = column(peer->second.first, peer->second.second);
    row.psn = psn & kPsnMask;
    row.bytes = static_cast<std::uint32_t>(number_of(line, "wire_bytes"));
    next_alike_.resize(picture_.rows.size());
    const auto [alike, is_first] = under_way_.try_emplace(of_packet(line), Alike{at, at});
    if (!is_first) alike->second.last = next_alike_[alike->second.last] = at;
  }

  static std::string spelled(std::string opcode) {
    std::ranges::replace(opcode, '-', ' ');
    return opcode;
  }

  // The packet of the line: the first in flight, or the last if all have arrived.
  RunPicture::Row* packet_of(const TraceLine& line, bool takes) {
    const auto found = under_way_.find(of_packet(line));
    if (found == under_way_.end()) return nullptr;
    std::uint32_t at = found->second.first;
    while (takes && picture_.rows[at].end_ps >= 0 && at != found->second.last) at = next_alike_[at];
    return &picture_.rows[at];
  }

  void on_received(const TraceLine& line) {
    const std::string adapter = adapter_of_port(line.component);
    if (adapter.empty()) return;
    RunPicture::Row* row = packet_of(line, true);
    if (row == nullptr) return;
    const int to = column(adapter, number_of(line, "dest_qp"));
    if (row->end_ps >= 0) {  // arrives again
      const RunPicture::Row first = *row;
      RunPicture::Row& again = add_row(line, first.from, std::string(picture_.strings[first.text]), first.flags | RunPicture::kDuplicate, "arrives twice");
      again.psn = first.psn;
      again.bytes = first.bytes;
      again.to = to;
      again.end_ps = line.time_ps;
      return;
    }
    row->end_ps = line.time_ps;
    row->to = to;
    came_[of_packet(line, adapter)] = static_cast<std::uint32_t>(row - picture_.rows.data());
  }

  void on_dropped(const TraceLine& line) {
    const auto reason = static_cast<ib::DropReason>(number_of(line, "reason"));
    const std::string why = join("dropped at ", line.component, ": ", ib::text_of(reason));
    RunPicture::Row* row = nullptr;
    if (line.component.starts_with("hca/")) {
      const auto came = came_.find(of_packet(line, std::string_view(line.component).substr(4)));
      if (came != came_.end()) row = &picture_.rows[came->second];
    } else {
      row = packet_of(line, true);
      if (row != nullptr) row->end_ps = line.time_ps;
    }
    if (row == nullptr) return;
    row->flags |= RunPicture::kDropped;
    row->note = text(row->note == 0 ? why : picture_.strings[row->note] + "; " + why);
  }

  void on_fault(const TraceLine& line) {
    RunPicture::Row* row = packet_of(line, true);
    if (row == nullptr) return;
    row->flags |= RunPicture::kFault;
    const std::string why = join("scripted fault ", line.value("rule"), " at ", line.component);
    row->note = text(row->note == 0 ? why : picture_.strings[row->note] + "; " + why);
  }

  Sender& sender(const std::string& adapter, std::uint64_t qpn) { return senders_[{adapter, qpn}]; }

  RunPicture::Request& request_at(Sender& from, std::size_t index, int where) {
    while (from.requests.size() <= index) {
      from.requests.push_back(static_cast<std::int32_t>(picture_.requests.size()));
      picture_.requests.emplace_back().column = where;
    }
    return picture_.requests[static_cast<std::size_t>(from.requests[index])];
  }

  void on_adapter(const TraceLine& line) {
    const std::string adapter = line.component.substr(4);
    const std::string_view event = line.event;
    const std::uint64_t qpn = number_of(line, "qpn");
    if (event == "payload-gathered") {
      gathered_[at_adapter(adapter, line)] = qpn;
      Sender& from = sender(adapter, qpn);
      from.path_mtu = std::max(from.path_mtu, number_of(line, "length"));
      if (!from.first_psn) from.first_psn = number_of(line, "psn") & kPsnMask;
    } else if (event == "wqe-fetched") {
      on_fetched(line, adapter, qpn);
    } else if (event == "doorbell" && line.value("kind") == "0") {
      last_rung_[{adapter, number_of(line, "number")}] = line.time_ps;
      add_row(line, column(adapter, number_of(line, "number")), "doorbell, up to request " + std::string(line.value("producer")));
    } else if (event == "completion") {
      on_completion(line, adapter, qpn);
    } else if (event == "qp-state") {
      const std::uint64_t from = number_of(line, "from"), to = number_of(line, "to");
      if (from >= ib::kQpStateCount || to >= ib::kQpStateCount) return;
      const int where = column(adapter, qpn);
      picture_.changes.push_back({line.time_ps, where, static_cast<unsigned>(to)});
      const auto state = static_cast<ib::QpState>(to);
      add_row(line, where, join(ib::name_of(static_cast<ib::QpState>(from)), " to ", ib::name_of(state)),
              state == ib::QpState::kErr ? RunPicture::kError : 0);
    } else if (event == "retransmission") {
      constexpr const char* kCauses[] = {"", "after a timeout", "after a NAK", "after an RNR NAK", "since a response is missing"};
      const std::uint64_t cause = number_of(line, "cause");
      add_row(line, column(adapter, qpn), join("sends again from PSN ", line.value("psn")), RunPicture::kRetransmission,
              join(cause < std::size(kCauses) ? kCauses[cause] : "", ", ", line.value("tries_left"),
                   line.value("tries_left") == "1" ? " retry left" : " retries left"));
    } else if (event == "duplicate-request") {
      add_row(line, column(adapter, qpn), join("duplicate of PSN ", line.value("psn")), RunPicture::kDuplicate);
    } else if (event == "dma-write") {
      on_placement(line, adapter);
    } else if (event == "completion-event") {
      add_row(line, column(adapter, 0), observe::in_words(line));
    } else if (event == "async-event") {
      add_row(line, column(adapter, 0), observe::in_words(line), RunPicture::kError);
    } else if (event == "post-send" || event == "post-receive" || event == "arm") {
      on_call(line, adapter);
    } else if (event == "diagnosis") {
      const std::string_view words = line.values;
      std::uint64_t number = 0;
      if (words.starts_with("QP ")) std::from_chars(words.data() + 3, words.data() + words.size(), number);
      add_row(line, column(adapter, number), std::string(words), RunPicture::kError);
    }
  }

  void on_fetched(const TraceLine& line, const std::string& adapter, std::uint64_t qpn) {
    Sender& from = sender(adapter, qpn);
    const std::uint64_t index = number_of(line, "index");
    // An index that is fetched again is not a new request.
    const bool is_new = from.last_index == ~std::uint64_t{0} || ((index - from.last_index) & 0xffff) - 1 < 0x7fff;
    if (!is_new) return;
    from.last_index = index;
    RunPicture::Request& request = request_at(from, from.fetched, column(adapter, qpn));
    request.fetched = line.time_ps;
    request.bytes = number_of(line, "length");
    const auto rung = last_rung_.find({adapter, qpn});
    if (rung != last_rung_.end()) request.rung = rung->second;
    RunPicture::Row& row = add_row(line, column(adapter, qpn), join("fetches a request of ", request.bytes, " bytes"));
    row.request = from.requests[from.fetched++];
  }

  void on_call(const TraceLine& line, const std::string& adapter) {
    const std::uint64_t number = number_of(line, "number");
    const std::string place = line.value("place") == "-" ? "" : std::string(line.value("place"));
    if (line.event == "arm") {
      add_row(line, column(adapter, 0), join("ibv_req_notify_cq of CQ ", number, place.empty() ? "" : " at " + place));
      return;
    }
    const bool is_send = line.event == "post-send";
    const int where = column(adapter, number);
    RunPicture::Row& row = add_row(line, where, join(is_send ? "ibv_post_send, wr_id " : "ibv_post_recv, wr_id ", line.value("wr_id"),
                                                     place.empty() ? "" : " at " + place));
    if (!is_send) return;
    Sender& from = sender(adapter, number);
    RunPicture::Request& request = request_at(from, from.posted, where);
    request.posted = line.time_ps;
    request.wr_id = number_of(line, "wr_id");
    request.place = text(place);
    row.request = from.requests[from.posted++];
  }

  void on_completion(const TraceLine& line, const std::string& adapter, std::uint64_t qpn) {
    const std::uint64_t status = number_of(line, "status");
    const auto& names = status < std::size(ib::kWcStatusNames) ? ib::kWcStatusNames[status] : ib::WcStatusName{"an unknown status", ""};
    const bool is_flushed = status == static_cast<unsigned>(ib::WcStatus::kWorkRequestFlushed);
    add_row(line, column(adapter, qpn), join("completion of wr_id ", line.value("wr_id"), " in CQ ", line.value("cqn")),
            is_flushed ? RunPicture::kFlushed : status != 0 ? RunPicture::kError : 0, status == 0 ? "" : std::string(names.name));
    completions_.push_back(static_cast<std::uint32_t>(picture_.rows.size() - 1));
    completed_.push_back({{adapter, qpn}, number_of(line, "wr_id"), status});
  }

  // Adjacent pieces in a column become one row.
  void on_placement(const TraceLine& line, const std::string& adapter) {
    const int where = column(adapter, 0);
    const std::uint64_t bytes = number_of(line, "length");
    const auto [known, is_first] = last_placement_.try_emplace(where, placements_.size());
    const bool goes_on = !is_first && line.time_ps - placements_[known->second].time_ps < 1'000'000;
    if (!goes_on) {
      known->second = placements_.size();
      placements_.push_back({static_cast<std::uint32_t>(picture_.rows.size()), 0, 0, line.time_ps});
      add_row(line, where, "");
    }
    Placement& last = placements_[known->second];
    ++last.count;
    last.bytes += bytes;
    last.time_ps = line.time_ps;
  }

  void on_acknowledged(const TraceLine& line) {
    if (ib::ack_kind(static_cast<std::uint8_t>(number_of(line, "syndrome"))) != ib::AckKind::kAck) return;
    acknowledged_[{line.component.substr(4), number_of(line, "qpn")}].push_back({line.time_ps, number_of(line, "psn")});
  }

  void on_host(const TraceLine& line) {
    std::string host = line.component.substr(5);
    host = host.substr(0, host.find('/'));
    const std::string_view event = line.event;
    const int where = column(host, 0);
    if (event == "program-started") {
      add_row(line, where, join("process ", line.value("pid"), " starts"));
    } else if (event == "program-exited") {
      const bool is_killed = line.value("signal") != "0";
      add_row(line, where,
              join("process ", line.value("pid"), is_killed ? " is killed by signal " : " ends with exit code ", line.value(is_killed ? "signal" : "exit_code")),
              is_killed || line.value("exit_code") != "0" ? RunPicture::kError : 0);
    } else if (event == "program-output") {
      add_row(line, where, join("writes ", line.value("length"), " bytes to ", line.value("fd") == "2" ? "standard error" : "standard output"));
      outputs_.push_back(&line);
    } else if (event == "socket-data") {
      add_row(line, where, join(line.value("length"), line.value("length") == "1" ? " byte arrives by socket" : " bytes arrive by socket"));
    } else if (event == "diagnosis" || event == "check") {
      add_row(line, where, line.values, RunPicture::kError);
    }
  }

  // Assigns PSNs to requests, and to these their packets and acknowledgements.
  void follow_requests() {
    for (auto& [end, from] : senders_) {
      if (from.requests.empty() || !from.first_psn) continue;
      const auto peer = peers_.find(end);
      // READ responses use the same path MTU as packets of this side.
      const std::uint64_t mtu = std::max<std::uint64_t>(
          {from.path_mtu, peer == peers_.end() ? 0 : sender(peer->second.first, peer->second.second).path_mtu, 1});
      std::uint64_t psn = *from.first_psn;
      for (const std::int32_t index : from.requests) {
        RunPicture::Request& request = picture_.requests[static_cast<std::size_t>(index)];
        const std::uint64_t packets = std::max<std::uint64_t>(1, (request.bytes + mtu - 1) / mtu);
        request.first_psn = psn;
        request.last_psn = (psn + packets - 1) & kPsnMask;
        psn = (psn + packets) & kPsnMask;
      }
    }
    std::map<int, std::size_t> next;  // by column: the first request that may still have packets
    std::map<int, End> ends;
    for (const auto& [end, from] : senders_) ends[column(end.first, end.second)] = end;
    for (RunPicture::Row& row : picture_.rows) {
      if (row.to < 0 || row.bytes == 0 || !is_request(picture_.strings[row.text])) continue;
      const auto end = ends.find(row.from);
      if (end == ends.end()) continue;
      const Sender& from = senders_[end->second];
      // PSNs of retransmissions are lower, by less than half of the PSN space.
      std::size_t& at = next[row.from];
      while (at > 0 && psn_distance(first_psn(from, at), row.psn) > kPsnMask / 2) --at;
      while (at + 1 < from.requests.size() && psn_distance(first_psn(from, at + 1), row.psn) <= kPsnMask / 2) ++at;
      if (at >= from.requests.size()) continue;
      RunPicture::Request& request = picture_.requests[static_cast<std::size_t>(from.requests[at])];
      if (psn_distance(request.first_psn, row.psn) > psn_distance(request.first_psn, request.last_psn)) continue;
      row.request = from.requests[at];
      if (request.first_left < 0) request.first_left = row.time_ps;
      request.last_left = row.time_ps;
      if (row.end_ps >= 0 && (row.flags & RunPicture::kDropped) == 0) request.last_came = row.end_ps;
    }
    std::map<std::pair<int, std::uint64_t>, std::int32_t> by_last;  // column and last PSN
    for (std::size_t i = 0; i < picture_.requests.size(); ++i)
      by_last[{picture_.requests[i].column, picture_.requests[i].last_psn}] = static_cast<std::int32_t>(i);
    for (RunPicture::Row& row : picture_.rows) {
      if (row.to < 0 || row.bytes == 0 || !is_answer(picture_.strings[row.text])) continue;
      const auto answered = by_last.find({row.to, row.psn});
      if (answered != by_last.end()) row.request = answered->second;
    }
    for (auto& [end, from] : senders_) {
      const auto answers = acknowledged_.find(end);
      if (answers == acknowledged_.end()) continue;
      std::size_t answer = 0;
      for (const std::int32_t index : from.requests) {
        RunPicture::Request& request = picture_.requests[static_cast<std::size_t>(index)];
        const auto& all = answers->second;
        while (answer < all.size() && psn_distance(request.last_psn, all[answer].second) > kPsnMask / 2) ++answer;
        if (answer < all.size()) request.acknowledged = all[answer].first;
      }
    }
    find_completions();
  }

  std::uint64_t first_psn(const Sender& from, std::size_t at) const {
    return picture_.requests[static_cast<std::size_t>(from.requests[at])].first_psn;
  }

  // The first completion with its wr_id after its acknowledgement or, without one, after it was fetched.
  void find_completions() {
    std::map<std::tuple<End, std::uint64_t>, std::vector<std::size_t>> by_id;
    for (std::size_t i = 0; i < completed_.size(); ++i) by_id[{completed_[i].end, completed_[i].wr_id}].push_back(i);
    std::map<std::tuple<End, std::uint64_t>, std::size_t> used;
    for (auto& [end, from] : senders_) {
      for (const std::int32_t index : from.requests) {
        RunPicture::Request& request = picture_.requests[static_cast<std::size_t>(index)];
        if (!request.wr_id) continue;
        const std::tuple key{end, *request.wr_id};
        const auto found = by_id.find(key);
        if (found == by_id.end()) continue;
        const std::int64_t from_ps = std::max(request.acknowledged, request.posted);
        std::size_t& at = used[key];
        while (at < found->second.size() && picture_.rows[completions_[found->second[at]]].time_ps < from_ps) ++at;
        if (at == found->second.size()) continue;
        const std::size_t which = found->second[at++];
        request.completed = picture_.rows[completions_[which]].time_ps;
        request.status = completed_[which].status;
        picture_.rows[completions_[which]].request = index;
      }
    }
  }

  void bin_links() {
    bool has_any = false;
    for (const TraceLine& line : run_.lines) {
      if (line.event != "packet-transmitted") continue;
      if (!has_any) picture_.first_packet_ps = line.time_ps;
      picture_.last_packet_ps = line.time_ps;
      has_any = true;
    }
    if (!has_any) return;
    std::map<std::string, RunPicture::Link> links;
    for (const TraceLine& line : run_.lines) {
      const bool is_sent = line.event == "packet-transmitted";
      if (!is_sent && line.event != "packet-dropped") continue;
      RunPicture::Link& link = links[line.component];
      if (is_sent) link.bytes.put(picture_.bin_of(line.time_ps), static_cast<std::uint32_t>(number_of(line, "wire_bytes")));
      else link.drops.push_back(line.time_ps);
    }
    for (auto& [component, link] : links) {
      link.port = component;
      picture_.links.push_back(std::move(link));
    }
  }

  // The trace has the length of each piece, the files have the text.
  void cut_output() {
    std::map<std::string, std::pair<std::string, std::size_t>> files;  // host and descriptor -> text, how much is cut off
    for (const auto& [name, content] : run_.outputs) files[name].first = content;
    const bool has_files = !run_.folder.empty() && run_.report.contains("programs");
    for (const nlohmann::json& program : has_files ? run_.report["programs"] : nlohmann::json::array()) {
      const std::string host = program.value("host", "");
      for (const char* name : {"stdout", "stderr"}) {
        const std::string key = host + " " + name;
        if (files.contains(key)) continue;  // a second program of the host
        InputFile file(run_.folder + "/" + program.value(name, ""));
        files[key].first = file.rest(InputFile::kMostText).value_or("");
      }
    }
    for (const TraceLine* line : outputs_) {
      const std::string host = line->component.substr(5, line->component.find('/', 5) - 5);
      const bool is_error = line->value("fd") == "2";
      auto& [content, used] = files[host + (is_error ? " stderr" : " stdout")];
      const std::size_t length = std::min<std::size_t>(number_of(*line, "length"), content.size() - used);
      if (length == 0) continue;
      picture_.output.push_back({line->time_ps, host, content.substr(used, length), is_error});
      used += length;
    }
  }

  struct Alike {
    std::uint32_t first, last;  // rows of packets with the same key
  };
  struct Placement {
    std::uint32_t row = 0, count = 0;
    std::uint64_t bytes = 0;
    std::int64_t time_ps = 0;
  };
  struct Completed {
    End end;
    std::uint64_t wr_id, status;
  };

  const RecordedRun& run_;
  RunPicture picture_;
  std::set<std::string> adapters_;
  std::unordered_map<std::string, std::uint32_t> texts_ = {{"", 0}};
  std::map<End, int> columns_;
  std::map<End, End> peers_;
  NameNumbers numbers_, opcodes_;  // of adapters, of opcodes
  PacketTable<std::vector<std::uint64_t>> by_peer_;  // adapter, destination -> connected queue pairs
  PacketTable<std::uint64_t> gathered_;              // adapter, PSN -> queue pair
  PacketTable<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> answers_;
  PacketTable<bool> sent_;
  PacketTable<Alike> under_way_;
  std::vector<std::uint32_t> next_alike_;  // by row of a packet: the next row with the same key
  PacketTable<std::uint32_t> came_;
  std::map<End, Sender> senders_;
  std::map<End, std::int64_t> last_rung_;
  std::map<End, std::vector<std::pair<std::int64_t, std::uint64_t>>> acknowledged_;
  std::map<int, std::size_t> last_placement_;  // by column: index in placements_
  std::vector<Placement> placements_;
  std::vector<std::uint32_t> completions_;
  std::vector<Completed> completed_;
  std::vector<const TraceLine*> outputs_;
};

}  // namespace

std::size_t RunPicture::bin_of(std::int64_t time_ps) const {
  const auto span = static_cast<double>(std::max<std::int64_t>(0, last_packet_ps - first_packet_ps) + 1);
  const double part = static_cast<double>(time_ps - first_packet_ps) / span * static_cast<double>(BinnedValues::kBins);
  return static_cast<std::size_t>(std::clamp(part, 0.0, static_cast<double>(BinnedValues::kBins - 1)));
}

RunPicture picture_of(const RecordedRun& run) { return Painter(run).paint(); }

}  // namespace verbatim::cli
