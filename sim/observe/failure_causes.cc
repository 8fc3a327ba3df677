#include "sim/observe/failure_causes.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/qp_state.h"
#include "sim/ib/wc_status.h"
#include "sim/observe/remedies.h"

namespace verbatim::observe {

namespace {

using ib::DropReason;
using ib::QpState;
using ib::WcStatus;
using Causes = std::vector<FailureCause>;

constexpr std::string_view kLoop = "credit loop: ";  // prefix of such a diagnosis

// The number directly after `words` in the text.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == text.npos || at + words.size() == text.size()) return std::nullopt;
  const char next = text[at + words.size()];
  if (next < '0' || next > '9') return std::nullopt;
  return number_in(text.substr(at + words.size()));
}

std::string host_of(std::string_view component) { return std::string(component.substr(component.find('/') + 1)); }

// The text after the first ": "; the whole text if there is none.
std::string behind_colon(const std::string& text) {
  const std::size_t at = text.find(": ");
  return at == text.npos ? text : text.substr(at + 2);
}

std::string times(std::uint64_t count, std::string_view what) { return join(count, " ", what, count == 1 ? "" : "s"); }

class Reader {
 public:
  explicit Reader(std::span<const TraceLine> facts) : facts_(facts) {
    for (const TraceLine& line : facts) {
      if (line.event == "qp-state") {
        const std::uint64_t to = number_of(line, "to");
        if (to < ib::kQpStateCount) lives_[{line.component, number_of(line, "qpn")}].push_back({line.time_ps, QpState(to)});
      }
      if (line.event == "program-exited") ends_.push_back(&line);
    }
  }

  std::vector<Failure> failures() {
    const bool has_completions = std::ranges::any_of(facts_, [](const TraceLine& line) { return line.event == "completion"; });
    for (const TraceLine& line : facts_) {
      if (failures_.size() >= kMostFailures) break;
      if (line.event == "diagnosis" && !has_completions) on_diagnosed_completion(line);
      if (line.event == "completion" && line.value("status") != "0") on_completion(line);
      if (line.event == "diagnosis") on_diagnosis(line);
      if (line.event == "check") on_check(line);
      if (line.event == "async-event" && line.value("type") == "0") on_overrun(line);
    }
    return std::move(failures_);
  }

 private:
  // One end of a connection.
  struct End {
    std::string component;
    std::uint64_t qpn = 0;
  };
  struct State {
    std::int64_t time_ps;
    QpState state;
  };

  static std::string name_of(const End& end) { return join("QP ", end.qpn, " of ", host_of(end.component)); }

  void add(std::int64_t time_ps, std::string what, std::string subject, Causes causes, bool is_finding = false) {
    if (causes.empty() || !known_failures_.insert(what + causes.front().evidence).second) return;
    failures_.push_back({time_ps, std::move(what), std::move(subject), std::move(causes), is_finding});
  }

  // The latest diagnosis until `until_ps` that begins with `begin`, by this adapter; with `other`, by any
  // other adapter.
  const TraceLine* last_diagnosis(std::string_view begin, std::int64_t until_ps, std::string_view component, bool other) const {
    const TraceLine* found = nullptr;
    for (const TraceLine& line : facts_) {
      if (line.time_ps > until_ps) break;
      if (line.event != "diagnosis" || (line.component == component) == other || !line.values.starts_with(begin)) continue;
      found = &line;
    }
    return found;
  }

  std::optional<QpState> state_at(const End& end, std::int64_t time_ps) const {
    const auto life = lives_.find({end.component, end.qpn});
    if (life == lives_.end()) return std::nullopt;
    QpState state = QpState::kReset;
    for (const State& change : life->second) {
      if (change.time_ps <= time_ps) state = change.state;
    }
    return state;
  }

  // Used without a trace: rebuilds a completion from an adapter's diagnosis.
  void on_diagnosed_completion(const TraceLine& line) {
    constexpr std::string_view kBegin = ": work request with wr_id ", kStatus = " completes with ";
    const std::string_view text = line.values;
    const std::size_t begin = text.find(kBegin), status = text.find(kStatus);
    if (!text.starts_with("QP ") || begin == text.npos || status == text.npos) return;
    const std::string_view status_text = text.substr(status + kStatus.size());
    for (std::size_t i = 0; i < std::size(ib::kWcStatusNames); ++i) {
      if (!status_text.starts_with(join(ib::kWcStatusNames[i].text, ": "))) continue;
      on_completion({line.time_ps, line.component, "completion",
                     join("cqn=0 qpn=", number_in(text.substr(3)), " wr_id=", number_in(text.substr(begin + kBegin.size())), " status=", i), ""});
    }
  }

  void on_completion(const TraceLine& line) {
    const std::uint64_t status = number_of(line, "status");
    if (status >= std::size(ib::kWcStatusNames) || WcStatus(status) == WcStatus::kWorkRequestFlushed) return;
    const End self{line.component, number_of(line, "qpn")};
    const ib::WcStatusName& names = ib::kWcStatusNames[status];
    const std::uint64_t wr_id = number_of(line, "wr_id");
    const std::string place = posted_at(self, wr_id, line.time_ps);
    std::string what = join(name_of(self), ": the work request with wr_id ", wr_id, place, " completes with ", names.text, " (", names.name, ")");
    const std::string own = join("QP ", self.qpn, ": work request with wr_id ", wr_id, " completes with ");
    const TraceLine* diagnosis = last_diagnosis(own, line.time_ps, line.component, false);
    std::string text = diagnosis != nullptr ? diagnosis->values.substr(own.size()) : "";
    std::vector<FailureCause> causes;
    // A failed receive has no diagnosis of its own; the responder's diagnosis names the reason.
    if (diagnosis == nullptr) {
      const std::string begin = join("QP ", self.qpn, ": ");
      const TraceLine* last = last_diagnosis(begin, line.time_ps, self.component, false);
      const TraceLine* place =
          last_diagnosis(begin + "received data cannot be written to memory", line.time_ps, self.component, false);
      if (place != nullptr && place->time_ps == last->time_ps) {
        causes.push_back({place->values.substr(begin.size()), std::string(remedy_for(place->values))});
      } else {
        add_diagnosed(causes, begin, self, line.time_ps);
      }
    } else if (WcStatus(status) == WcStatus::kRetryExceeded) {
      add_retry_causes(causes, self, text, line.time_ps);
    } else if (WcStatus(status) == WcStatus::kRnrRetryExceeded) {
      add_receive_causes(causes, self, text, line.time_ps);
    } else if (text.find("has refused it") != text.npos) {
      add_peer_causes(causes, self, text, line.time_ps);
    } else {
      add_diagnosed(causes, join("QP ", self.qpn, ": work request with wr_id ", wr_id, ": "), self, line.time_ps);
    }
    if (causes.empty() && diagnosis != nullptr) causes.push_back({behind_colon(text), std::string(remedy_for(text))});
    if (causes.empty()) causes.push_back({"the trace has no reason for it", ""});
    add(line.time_ps, std::move(what), std::string(names.name), std::move(causes));
  }

  void add_diagnosed(Causes& causes, const std::string& begin, const End& self, std::int64_t until_ps) const {
    const TraceLine* line = last_diagnosis(begin, until_ps, self.component, false);
    if (line == nullptr) return;
    // "it refuses …" if the sentence begins with a verb.
    const std::string_view rest = std::string_view(line->values).substr(begin.size());
    const bool has_verb = rest.starts_with("refuses ") || rest.starts_with("drops ");
    causes.push_back({join(has_verb ? "it " : "", rest), std::string(remedy_for(line->values))});
  }

  // " (app.c:88)": the source location of a call.
  static std::string place_of(const TraceLine& line) {
    const std::string_view place = line.value("place");
    return place.empty() || place == "-" ? "" : join(" (", place.substr(0, place.find('<')), ")");
  }

  // Location of the last post of the request until `until_ps`; "" if unknown.
  std::string posted_at(const End& self, std::uint64_t wr_id, std::int64_t until_ps) const {
    std::string found;
    for (const TraceLine& line : facts_) {
      if (line.time_ps > until_ps) break;
      if (line.event != "post-send" && line.event != "post-receive") continue;
      if (line.component == self.component && number_of(line, "number") == self.qpn && number_of(line, "wr_id") == wr_id) found = place_of(line);
    }
    return found;
  }

  // The peer's QP number, the only identification in the diagnosis.
  static std::uint64_t peer_number(std::string_view text) { return number_after(text, ", QP ").value_or(0); }

  // Causes of a NAK: the peer's own diagnosis.
  void add_peer_causes(Causes& causes, const End& self, const std::string& text, std::int64_t until_ps) const {
    const std::string begin = join("QP ", peer_number(text), ": ");
    for (const char* verb : {"refuses ", "received data cannot be written to memory"}) {
      const TraceLine* line = last_diagnosis(begin + verb, until_ps, self.component, true);
      if (line == nullptr) line = last_diagnosis(begin + verb, until_ps, self.component, false);  // both QPs on one adapter
      if (line == nullptr) continue;
      causes.push_back({join(name_of({line->component, peer_number(text)}), ", the peer, ", line->values.substr(begin.size())),
                        std::string(remedy_for(line->values))});
      return;
    }
  }

  void add_receive_causes(Causes& causes, const End& self, const std::string& text, std::int64_t until_ps) const {
    const std::string begin = join("QP ", peer_number(text), ": no receive is posted");
    const TraceLine* none = last_diagnosis(begin, until_ps, self.component, true);
    if (none == nullptr) return;
    const End peer{none->component, peer_number(text)};
    std::string evidence = join(name_of(peer), ", the peer, had no receive posted for the message that arrived at ", time_text(none->time_ps));
    for (const TraceLine& line : facts_) {
      if (line.time_ps < none->time_ps || line.component != peer.component) continue;
      if (line.event != "post-receive" || number_of(line, "number") != peer.qpn) continue;
      evidence += join("; it posted one ", time_text(line.time_ps - none->time_ps), " later", place_of(line));
      break;
    }
    const std::uint64_t tries = number_after(text, "rnr_retry = ").value_or(0);
    causes.push_back({evidence, std::string(remedy_for("no receive is posted"))});
    causes.push_back({join("with rnr_retry ", tries, " the sender gives up after ", times(tries + 1, "attempt"),
                           tries == 0 ? "" : ", the peer's min_rnr_timer apart"),
                      "rnr_retry 7 repeats without limit; a longer min_rnr_timer at the receiver gives the receiver more time"});
  }

  void add_retry_causes(Causes& causes, const End& self, const std::string& text, std::int64_t until_ps) const {
    const std::uint64_t qpn = peer_number(text);
    add_drop_causes(causes, self, text, until_ps);
    if (causes.empty()) add_psn_causes(causes, self, qpn, until_ps);
    add_answer_causes(causes, self, until_ps);
    if (causes.empty()) add_loop_cause(causes);
    const std::uint64_t exponent = number_after(text, "timeout exponent of ").value_or(0);
    const std::uint64_t retries = number_after(text, "after ").value_or(0);
    if (exponent == 0 || exponent > 31) return;
    const std::int64_t one = std::int64_t{4'096'000} << exponent;
    if (causes.empty()) causes.push_back({"the packets got no answer, and this run has no record that they were dropped", ""});
    const bool is_short = one * static_cast<std::int64_t>(retries + 1) < 1'000'000'000;
    causes.push_back({join("timeout ", exponent, " is 4.096 us * 2^", exponent, " = ", time_text(one), ", so ", times(retries + 1, "attempt"),
                           " take at least ", time_text(one * static_cast<std::int64_t>(retries + 1))),
                      is_short ? "this is short: timeout 14 (67108.864 us) with retry_cnt 7 is usual" : ""});
  }

  // Causes if packets to the peer were dropped. `text` is the diagnosis.
  void add_drop_causes(Causes& causes, const End& self, const std::string& text, std::int64_t until_ps) const {
    const std::uint64_t qpn = peer_number(text), lid = number_after(text, "LID ").value_or(0);
    const TraceLine* last = nullptr;
    for (const TraceLine& line : facts_) {
      if (line.time_ps > until_ps) break;
      const bool is_own = line.component == self.component || number_of(line, "reason") == unsigned(DropReason::kAfterNak);
      if (line.event == "packet-dropped" && !is_own && number_of(line, "dest_qp") == qpn && !is_answer(line)) last = &line;
    }
    if (last == nullptr) return;
    const auto reason = DropReason(number_of(*last, "reason"));
    const TraceLine* first = nullptr;
    std::uint64_t count = 0;
    for (const TraceLine& line : facts_) {
      if (line.time_ps > until_ps || line.event != "packet-dropped" || line.component != last->component) continue;
      if (number_of(line, "dest_qp") != qpn || DropReason(number_of(line, "reason")) != reason) continue;
      if (first == nullptr) first = &line;
      ++count;
    }
    // A run keeps a limited number of facts; the diagnosis has counted all drops.
    if (text.ends_with(ib::text_of(reason)))
      count = std::max(count, number_after(text, last->component + " dropped ").value_or(0));
    const End peer{last->component, qpn};
    switch (reason) {
      case DropReason::kWrongState:
        return add_state_cause(causes, peer, first->time_ps);
      case DropReason::kUnknownQp:
        return add_unknown_cause(causes, peer, first->time_ps);
      case DropReason::kNoRoute: {
        const std::uint64_t swapped = lid >> 8 | (lid & 0xff) << 8;
        causes.push_back({join(name_of(self), " sends to LID ", lid, ", and no port of the fabric has this LID",
                               lid > 0xff && swapped < lid ? join("; with its two bytes swapped it is LID ", swapped) : ""),
                          "ah_attr.dlid must be the lid of the peer's port (ibv_query_port) in host byte order: check what the programs "
                          "exchange, and that ntohs is applied exactly once"});
        return;
      }
      case DropReason::kWrongSource:
        causes.push_back({name_of(peer) + " is connected to another queue pair, not to this one",
                          "dest_qp_num and the path (dlid, or dgid and sgid_index) of each side must name the other side"});
        return;
      case DropReason::kWrongTransport:
        causes.push_back({name_of(peer) + " has another qp_type", "both queue pairs of a connection must have the same qp_type; check dest_qp_num"});
        return;
      case DropReason::kWrongPkey:
        causes.push_back({name_of(peer) + " has another P_Key", "pkey_index must choose an entry with the same P_Key on both sides (ibv_query_pkey)"});
        return;
      case DropReason::kWrongVlan:
        causes.push_back({"the paths of this queue pair and of " + name_of(peer) + " are in different VLANs",
                          "sgid_index must choose entries of one VLAN's interfaces on both sides (ndev_ifindex of ibv_query_gid_ex)"});
        return;
      default:
        causes.push_back({join(last->component, " dropped ", times(count, "packet"), " to QP ", qpn, ", the first at ",
                               time_text(first->time_ps), ": ", ib::text_of(reason)),
                          reason == DropReason::kHeadLifetime || reason == DropReason::kSwitchLifetime
                              ? "the fabric was congested, or packets around a ring of switches blocked each other: see the routes and rings in "
                                "`verbatim describe` and `verbatim check`"
                              : ""});
    }
  }

  static bool is_answer(const TraceLine& line) {
    const std::string_view opcode = line.value("opcode");
    return opcode.find("Acknowledge") != opcode.npos || opcode.find("Response") != opcode.npos;
  }

  void add_state_cause(Causes& causes, const End& peer, std::int64_t first_ps) const {
    const QpState state = state_at(peer, first_ps).value_or(QpState::kReset);
    std::string evidence = join(name_of(peer), ", the peer, was in ", ib::name_of(state));
    if (state == QpState::kErr) {
      const TraceLine* why = last_diagnosis(join("QP ", peer.qpn, ": "), first_ps, peer.component, false);
      evidence += join(" when a packet arrived at ", time_text(first_ps), why != nullptr ? "; before that, " + why->values : "");
      causes.push_back({evidence, "find out first why that queue pair failed"});
      return;
    }
    std::int64_t ready = -1;
    const auto life = lives_.find({peer.component, peer.qpn});  // absent if the queue pair never left RESET
    for (const State& change : life == lives_.end() ? std::vector<State>() : life->second) {
      const bool is_ready = change.state >= QpState::kRtr && change.state < QpState::kErr;
      if (ready < 0 && change.time_ps > first_ps && is_ready) ready = change.time_ps;
    }
    evidence += ready < 0 ? " and never left this state" : join(" until ", time_text(ready));
    causes.push_back({join(evidence, "; your first packet arrived at ", time_text(first_ps)),
                      "send only after the peer has confirmed that its ibv_modify_qp to RTR succeeded, for example by one more message over "
                      "the socket; rdma_cm does this for you"});
  }

  void add_unknown_cause(Causes& causes, const End& peer, std::int64_t first_ps) const {
    const std::string host = host_of(peer.component);
    const TraceLine* end = nullptr;
    for (const TraceLine* line : ends_) {
      if (line->time_ps <= first_ps && host_of(line->component).starts_with(host)) end = line;
    }
    const bool has_been = lives_.contains({peer.component, peer.qpn});
    if (has_been && end != nullptr) {
      causes.push_back({join("the program that owned ", name_of(peer), " ended at ", time_text(end->time_ps), " with ",
                             end->value("signal") != "0" ? join("signal ", end->value("signal")) : join("exit code ", end->value("exit_code")),
                             "; a packet for it arrived at ", time_text(first_ps)),
                        "find out why it ended; before a program exits it should notify its peer, and wait until the peer's requests have completed"});
      return;
    }
    if (has_been) {
      causes.push_back({join(name_of(peer), " had been destroyed when a packet for it arrived at ", time_text(first_ps)),
                        "destroy a queue pair only when both sides have agreed, for example over the socket, that they no longer need it"});
      return;
    }
    std::string others, hint;
    for (const auto& [key, life] : lives_) {
      if (key.first != peer.component) continue;
      others += join(others.empty() ? "" : ", ", key.second);
      if (__builtin_bswap32(static_cast<std::uint32_t>(key.second)) >> 8 == peer.qpn ||
          (__builtin_bswap32(static_cast<std::uint32_t>(key.second)) & 0xffffff) == peer.qpn)
        hint = join("; with its bytes swapped it is ", key.second);
    }
    causes.push_back({join(host, " never had a QP ", peer.qpn, " (", others.empty() ? "it had none" : "it had " + others, ")", hint),
                      "dest_qp_num must be the peer's qp->qp_num in host byte order: check what the programs exchange, and that ntohl is applied "
                      "exactly once"});
  }

  // Causes if the peer expects another PSN than the one sent.
  void add_psn_causes(Causes& causes, const End& self, std::uint64_t qpn, std::int64_t until_ps) const {
    std::optional<std::uint64_t> sent, expected;
    std::vector<const TraceLine*> duplicates;
    const TraceLine* duplicate = nullptr;  // of the first transmission; that of a retransmission proves nothing
    std::int64_t first_again_ps = until_ps;
    std::string component;
    for (const TraceLine& line : facts_) {
      if (line.time_ps > until_ps) break;
      const bool is_own = line.event == "retransmission" && line.component == self.component && number_of(line, "qpn") == self.qpn;
      if (is_own && (!sent || *sent != number_of(line, "psn"))) {
        sent = number_of(line, "psn");
        first_again_ps = line.time_ps;
      }
      if (line.component == self.component || number_of(line, "qpn") != qpn) continue;
      if (line.event == "ack-sent" && number_of(line, "syndrome") == 0x60) expected = number_of(line, "psn"), component = line.component;
      if (line.event == "duplicate-request") duplicates.push_back(&line);
    }
    for (const TraceLine* line : duplicates) {
      if (sent && line->time_ps < first_again_ps && number_of(*line, "psn") == *sent) duplicate = line;
    }
    constexpr std::string_view kRemedy = "rq_psn of each side must equal sq_psn of the other: exchange the number that is set by ibv_modify_qp to RTS";
    if (expected && sent && *expected != *sent) {
      causes.push_back({join(name_of({component, qpn}), ", the peer, expects PSN ", *expected, " and receives PSN ", *sent), std::string(kRemedy)});
    } else if (duplicate != nullptr && sent) {
      causes.push_back({join(name_of({duplicate->component, qpn}), ", the peer, treats PSN ", *sent, " as a duplicate: its rq_psn is higher"),
                        std::string(kRemedy)});
    }
  }

  // Packets that were not dropped may be stuck in the fabric.
  void add_loop_cause(Causes& causes) const {
    for (const TraceLine& line : facts_) {
      if (line.event != "diagnosis" || !line.values.starts_with(kLoop)) continue;
      causes.push_back({"the fabric is deadlocked: " + line.values, std::string(remedy_for(line.values))});
      return;
    }
  }

  // Causes if answers of the peer were lost or late.
  void add_answer_causes(Causes& causes, const End& self, std::int64_t until_ps) const {
    const TraceLine* lost = nullptr;
    const TraceLine* late = nullptr;
    std::uint64_t count = 0;
    for (const TraceLine& line : facts_) {
      if (line.event != "packet-dropped" || number_of(line, "dest_qp") != self.qpn || !is_answer(line)) continue;
      const auto reason = DropReason(number_of(line, "reason"));
      const bool is_here = line.component == self.component;
      if (line.time_ps > until_ps && is_here && late == nullptr) late = &line;
      if (line.time_ps > until_ps || (is_here && reason != DropReason::kCorrupted)) continue;
      lost = &line;
      ++count;
    }
    if (lost != nullptr) {
      causes.push_back({join(lost->component, " dropped ", times(count, "answer"), " of the peer: ",
                             ib::text_of(DropReason(number_of(*lost, "reason")))),
                        ""});
    }
    if (late == nullptr || !causes.empty()) return;
    causes.push_back({join("an answer arrived at ", time_text(late->time_ps), ", ", time_text(late->time_ps - until_ps), " after the sender had given up"),
                      "the timeout is too short for this path: use a larger timeout, and retry_cnt up to 7"});
  }

  void on_diagnosis(const TraceLine& line) {
    // "ibv_modify_qp: EINVAL: …"
    const std::string_view text = line.values;
    if (text.starts_with(kLoop)) add(line.time_ps, "packets are stuck in the fabric", "credit-loop", {{line.values, std::string(remedy_for(text))}});
    if (!text.starts_with("ibv_") && !text.starts_with("rdma_") && !text.starts_with("mlx5dv")) return;
    const std::size_t verb = text.find(": ");
    if (verb == text.npos) return;
    const std::string_view rest = text.substr(verb + 2);
    const std::string_view error = rest.substr(0, rest.find(':'));
    // Errors that programs provoke deliberately, and full queues.
    if (error == "EOPNOTSUPP" || error == "EAGAIN" || error == "ENOMEM") return;
    std::string why(rest.substr(std::min(rest.size(), error.size() + 2)));
    if (why.empty()) why = "no reason is known";
    add(line.time_ps, join(host_of(line.component), ": ", text.substr(0, verb), " answers ", error), join(error, " ", text.substr(0, verb)),
        {{why, std::string(remedy_for(why))}});
  }

  void on_check(const TraceLine& line) {
    const std::string_view text = line.values;
    const std::size_t name = text.find(": ");
    if (name == text.npos) return;
    const std::string check(text.substr(0, name)), remedy(remedy_for(text.substr(0, name + 1)));
    add(line.time_ps, join("a mistake in the program of ", host_of(line.component), " (check ", check, ")"), check,
        {{std::string(text.substr(name + 2)), remedy}}, true);
  }

  void on_overrun(const TraceLine& line) {
    add(line.time_ps, join("CQ ", line.value("number"), " of ", host_of(line.component), " has overrun (IBV_EVENT_CQ_ERR)"), "IBV_EVENT_CQ_ERR",
        {{join("a completion was due at ", time_text(line.time_ps), ", and the CQ was full"),
          "create the CQ with room for all requests that may be outstanding on all its queue pairs, and poll it often enough"}});
  }

  std::span<const TraceLine> facts_;
  std::map<std::pair<std::string, std::uint64_t>, std::vector<State>> lives_;  // by adapter and QP number
  std::vector<const TraceLine*> ends_;
  std::vector<Failure> failures_;
  std::set<std::string> known_failures_;
};

}  // namespace

std::vector<Failure> failures_of(std::span<const TraceLine> facts) { return Reader(facts).failures(); }

}  // namespace verbatim::observe
