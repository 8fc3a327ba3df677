#include "sim/observe/remote_races.h"

#include <algorithm>
#include <utility>

#include "sim/core/time_text.h"
#include "sim/core/words.h"
#include "sim/ib/aeth.h"
#include "sim/observe/packet_address.h"

namespace verbatim::observe {

namespace {

constexpr std::uint64_t kWord = 8;

// A packet that needs longer from port to port counts as lost.
constexpr std::int64_t kLongestWay = 1'000'000'000;  // ps
constexpr std::int64_t kLongestAnswer = 200'000'000;

// Number of different ranges kept for each connection.
constexpr std::size_t kRangesMax = 64;

// CommMgt (IBA 13.4.4); and the last queue pair state without a connection.
constexpr std::uint64_t kConnectionClass = 0x07, kInit = 1;

bool is_response(ib::Operation operation) {
  return operation == ib::Operation::kReadResponseFirst || operation == ib::Operation::kReadResponseOnly;
}

// Whether the operation consumes a receive, and so notifies the program at the target.
bool is_message(const ib::OpcodeInfo& info, ib::Operation operation) {
  switch (operation) {
    case ib::Operation::kSendFirst:
    case ib::Operation::kSendMiddle:
    case ib::Operation::kSendLast:
    case ib::Operation::kSendOnly:
      return true;
    default:
      return info.has_immediate || info.has_invalidate;
  }
}

std::vector<std::size_t> indices_of(const std::vector<RemoteRaces::Adapter>& adapters, ComponentId RemoteRaces::Adapter::*which) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const std::size_t component = (adapters[i].*which).value;
    if (component >= indices.size()) indices.resize(component + 1, std::numeric_limits<std::size_t>::max());
    indices[component] = i;
  }
  return indices;
}

}  // namespace

RemoteRaces::RemoteRaces(Tracer& tracer, std::string_view check, std::vector<Adapter> adapters)
    : tracer_(tracer),
      check_(check),
      adapters_(std::move(adapters)),
      by_adapter_(indices_of(adapters_, &Adapter::adapter)),
      by_port_(indices_of(adapters_, &Adapter::port)) {
  for (const Adapter& adapter : adapters_) hosts_.push_back(by_host_.try_emplace(adapter.host, by_host_.size()).first->second);
  const std::size_t hosts = by_host_.size();
  if (hosts <= 2) return;
  clocks_.resize(hosts);
  places_.assign(hosts, kNone);
}

std::uint32_t RemoteRaces::tick(std::size_t host) {
  Clock& clock = clocks_[host];
  clock.shown.reset();
  std::size_t& place = places_[host];
  if (place == kNone) place = next_place_++;
  if (clock.knows.size() <= place) clock.knows.resize(place + 1);
  return ++clock.knows[place];
}

std::shared_ptr<const RemoteRaces::Knowledge> RemoteRaces::snapshot(std::size_t host) {
  Clock& clock = clocks_[host];
  if (clock.shown == nullptr) clock.shown = std::make_shared<const Knowledge>(clock.knows);
  return clock.shown;
}

void RemoteRaces::merge_into(std::size_t host, const Knowledge& knows) {
  Clock& clock = clocks_[host];
  bool is_new = false;
  if (clock.knows.size() < knows.size()) clock.knows.resize(knows.size());
  for (std::size_t i = 0; i < knows.size(); ++i) {
    if (knows[i] <= clock.knows[i]) continue;
    clock.knows[i] = knows[i];
    is_new = true;
  }
  if (is_new) clock.shown.reset();
}

void RemoteRaces::merge_clock(std::size_t from, std::size_t to) {
  if (from != to) merge_into(to, clocks_[from].knows);
}

void RemoteRaces::merge_all_clocks(std::size_t to) {
  for (std::size_t from = 0; from < clocks_.size(); ++from) merge_clock(from, to);
}

void RemoteRaces::on_contact(ComponentId from, ComponentId to, Instant) {
  if (clocks_.empty()) return;
  const auto sender = by_host_.find(from), receiver = by_host_.find(to);
  if (sender != by_host_.end() && receiver != by_host_.end()) merge_clock(sender->second, receiver->second);
}

std::size_t RemoteRaces::at(const std::vector<std::size_t>& indices, std::uint32_t component) {
  return component < indices.size() ? indices[component] : kNone;
}

// Adapters are identified by address once they have sent a packet.
void RemoteRaces::update_clock(std::size_t here, const TraceRecord& record, const ib::Packet& packet) {
  if (record.event == TraceEvent::kPacketTransmitted) {
    by_address_[source_of(packet)] = here;
    return;
  }
  const ib::OpcodeInfo& info = ib::info(packet.bth.opcode);
  const ib::Operation operation = ib::operation_of(packet.bth.opcode);
  const bool is_reliable = !packet.is_frame && ib::transport_of(packet.bth.opcode) == ib::Transport::kRc;
  const bool takes_receive = is_reliable && is_message(info, operation);
  const bool is_answer = is_response(operation) || operation == ib::Operation::kAtomicAcknowledge;
  if (is_reliable && !takes_receive && !is_answer) return;
  const auto sender = packet.is_frame ? by_address_.end() : by_address_.find(source_of(packet));
  if (sender == by_address_.end()) return merge_all_clocks(hosts_[here]);
  merge_clock(hosts_[sender->second], hosts_[here]);
  if (takes_receive) messages_.insert_or_assign({here, packet.bth.destination.value}, Message{sender->second, packet.bth.psn});
}

void RemoteRaces::update_clock(const TraceRecord& record) {
  const std::size_t here = at(by_adapter_, record.component);
  if (here == kNone) return;
  const FlowKey key{here, static_cast<std::uint32_t>(record.values[0])};
  if (record.event == TraceEvent::kAckSent) {
    const auto message = messages_.find(key);
    if (message == messages_.end() || ib::is_before({static_cast<std::uint32_t>(record.values[1])}, message->second.psn)) return;
    merge_clock(hosts_[here], hosts_[message->second.source]);
    messages_.erase(message);
  } else if (record.event == TraceEvent::kDatagramReceived && record.values[1] >> 8 == kConnectionClass) {
    merge_all_clocks(hosts_[here]);
  } else if (record.event == TraceEvent::kQpState && record.values[2] <= kInit) {
    // The queue pair number may be reused by another connection.
    flows_.erase(key);
    messages_.erase(key);
  }
}

void RemoteRaces::on_record(const TraceRecord& record, std::span<const std::byte>) {
  if (!clocks_.empty()) update_clock(record);
  const bool is_answer = record.event == TraceEvent::kAckSent;
  if ((!is_answer && record.event != TraceEvent::kCompletion) || flows_.empty()) return;
  const std::size_t adapter = at(by_adapter_, record.component);
  if (adapter == kNone) return;
  if (!is_answer) return answer_all({adapter, static_cast<std::uint32_t>(record.values[1])}, record.time_ps);
  answer({adapter, static_cast<std::uint32_t>(record.values[0])}, {static_cast<std::uint32_t>(record.values[1])}, record.time_ps);
}

void RemoteRaces::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) {
  if (record.event != TraceEvent::kPacketTransmitted && record.event != TraceEvent::kPacketReceived) return;
  // Payload without bytes is synthetic traffic: it changes no memory, and no program reads it.
  if (packet.corrupted || !packet.payload.has_bytes()) return;
  if (!clocks_.empty()) {
    if (const std::size_t here = at(by_port_, port.value); here != kNone) update_clock(here, record, packet);
  }
  if (packet.is_frame || ib::transport_of(packet.bth.opcode) != ib::Transport::kRc) return;
  const ib::OpcodeInfo& info = ib::info(packet.bth.opcode);
  const ib::Operation operation = ib::operation_of(packet.bth.opcode);
  if (!info.has_reth && !info.has_atomic_eth && !is_response(operation)) return;
  const std::size_t here = at(by_port_, port.value);
  if (here == kNone) return;
  if (is_response(operation)) {
    if (record.event == TraceEvent::kPacketReceived) answer_read(here, packet.bth.psn, record.time_ps);
    return;
  }
  const PacketKey key{destination_of(packet), packet.bth.destination.value, packet.bth.psn.value};
  if (record.event == TraceEvent::kPacketTransmitted) {
    // A retransmitted request may have been executed before.
    if (packet.retransmission != 0) return;
    under_way_.insert_or_assign(key, Sent{here, record.time_ps, clocks_.empty() ? nullptr : snapshot(hosts_[here])});
    departures_.emplace_back(record.time_ps, key);
    return;
  }
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return;
  const Sent sent = std::move(found->second);
  under_way_.erase(found);
  const bool is_read = operation == ib::Operation::kReadRequest;
  const Kind kind = info.has_atomic_eth ? Kind::kAtomic : is_read ? Kind::kRead : Kind::kWrite;
  const std::uint64_t va = info.has_atomic_eth ? packet.atomic.va.value : packet.reth.va.value;
  const std::uint64_t length = info.has_atomic_eth ? kWord : packet.reth.length;
  const std::uint32_t rkey = info.has_atomic_eth ? packet.atomic.rkey.value : packet.reth.rkey.value;
  if (sent.knows != nullptr && !is_read) merge_into(hosts_[here], *sent.knows);
  if (length == 0 || va + length < va) return;
  receive(here, packet, {kind, rkey, va, va + length, packet.bth.psn, sent.time_ps, kOpen}, sent, record.time_ps);
}

void RemoteRaces::receive(std::size_t target, const ib::Packet& packet, Access access, const Sent& sent, std::int64_t now) {
  forget_old(target, access.sent_ps, now);
  const FlowKey key{target, packet.bth.destination.value};
  Flow& flow = flows_[key];
  flow.source = sent.source;
  for (auto it = flows_.lower_bound({target, 0}); it != flows_.end() && it->first.first == target; ++it) {
    if (it->second.va >= access.end || access.va >= it->second.end) continue;
    compare(key, flow, access, it->first, it->second, sent.knows.get());
  }
  if (access.kind == Kind::kAtomic) answer_all(key, now);
  if (!clocks_.empty()) {
    if (access.kind != Kind::kRead) access.arrived_at = tick(hosts_[target]);
    keep_last(flow, access);
  }
  flow.accesses.push_back(access);
  flow.va = std::min(flow.va, access.va);
  flow.end = std::max(flow.end, access.end);
}

// An answered access is redundant if the same connection accesses the same bytes in the same way later.
void RemoteRaces::keep_last(Flow& flow, const Access& next) {
  std::deque<Access>& all = flow.accesses;
  const auto is_superseded = [&](const Access& one) {
    return one.answered_ps != kOpen && one.kind == next.kind && one.key == next.key && one.va == next.va && one.end == next.end;
  };
  if (const auto found = std::ranges::find_if(all, is_superseded); found != all.end()) all.erase(found);
  if (all.size() >= kRangesMax && all.front().answered_ps != kOpen) all.pop_front();
}

// Accesses of different hosts are ordered by clocks, those of one host by time.
bool RemoteRaces::is_ordered(const Access& earlier, const Flow& of, const Access& later, const Flow& flow, std::size_t target,
                             const Knowledge* knows) const {
  const std::size_t requester = hosts_[of.source];
  if (knows == nullptr || requester == hosts_[flow.source]) return earlier.answered_ps <= later.sent_ps;
  return earlier.answered_at <= known(*knows, requester) || earlier.arrived_at <= known(*knows, hosts_[target]);
}

void RemoteRaces::compare(const FlowKey& key, const Flow& flow, const Access& access, const FlowKey& other_key, const Flow& other,
                          const Knowledge* knows) {
  const bool is_own = key == other_key;
  if (is_own && access.kind != Kind::kWrite) return;
  for (const Access& earlier : other.accesses) {
    if (earlier.key != access.key || earlier.end <= access.va || access.end <= earlier.va) continue;
    if (is_ordered(earlier, other, access, flow, key.first, knows) || access.answered_ps <= earlier.sent_ps) continue;
    if (is_own && earlier.kind != Kind::kRead) continue;
    if (earlier.kind == Kind::kRead && access.kind == Kind::kRead) continue;
    if (earlier.kind == Kind::kAtomic && access.kind == Kind::kAtomic) continue;
    const std::uint64_t first = std::min(earlier.va, access.va), last = std::max(earlier.end, access.end) - 1;
    if (!is_own && first / kWord == last / kWord) continue;
    if (!reported_.emplace(key, access.key, earlier.kind, access.kind).second) continue;
    report(access, key, flow, earlier, other_key, other);
    return;
  }
}

void RemoteRaces::report(const Access& access, const FlowKey& key, const Flow& flow, const Access& earlier,
                       const FlowKey& other_key, const Flow& other) {
  const std::string& by = adapters_[flow.source].name;
  std::string text = join(text_of(access, key, flow), " is sent ");
  if (earlier.answered_ps > access.sent_ps) {
    text += join("before ", text_of(earlier, other_key, other), " is answered, so their order is not defined: ");
    text += key == other_key ? "give the WRITE IBV_SEND_FENCE, or post it after the READ has completed"
                             : "post the later one after the completion of the earlier one, or after a message that follows it";
  } else {
    text += join(time_text(access.sent_ps - earlier.answered_ps), " after ", text_of(earlier, other_key, other),
                 " was answered, and ", by, " has received nothing since that depends on it, so their order is not defined: the program that posted ",
                 "the earlier one must send a message after its completion");
  }
  Diagnosis finding{adapters_[flow.source].host, 0, 0, text};
  finding.check = check_;
  tracer_.diagnose(finding);
}

std::string RemoteRaces::text_of(const Access& access, const FlowKey& key, const Flow& flow) const {
  const char* const verb = access.kind == Kind::kRead ? "a READ" : access.kind == Kind::kWrite ? "a WRITE" : "an atomic";
  return join(verb, " of ", access.end - access.va, " bytes at ", Hex{access.va}, " by ", adapters_[flow.source].name,
              " through QP ", key.second, " of ", adapters_[key.first].name);
}

void RemoteRaces::end(Access& access, const Flow& flow, std::int64_t now) {
  if (access.answered_ps != kOpen) return;
  access.answered_ps = now;
  if (!clocks_.empty()) access.answered_at = tick(hosts_[flow.source]);
}

void RemoteRaces::answer(const FlowKey& key, ib::Psn up_to, std::int64_t now) {
  const auto flow = flows_.find(key);
  if (flow == flows_.end()) return;
  for (Access& access : flow->second.accesses) {
    if (ib::is_before(up_to, access.psn)) break;
    if (access.kind == Kind::kRead) continue;
    end(access, flow->second, now);
  }
}

// A response does not identify its queue pair, so all matching READs count as answered.
void RemoteRaces::answer_read(std::size_t source, ib::Psn psn, std::int64_t now) {
  for (auto& [key, flow] : flows_) {
    if (flow.source != source) continue;
    for (Access& access : flow.accesses) {
      if (access.kind == Kind::kRead && access.psn == psn) end(access, flow, now);
    }
  }
}

void RemoteRaces::answer_all(const FlowKey& key, std::int64_t now) {
  const auto flow = flows_.find(key);
  if (flow == flows_.end()) return;
  for (Access& access : flow->second.accesses) end(access, flow->second, now);
}

// Drops accesses that were answered before any packet in flight was sent, as these cannot race with it.
// `first_sent` is the time of one packet in flight.
void RemoteRaces::forget_old(std::size_t target, std::int64_t first_sent, std::int64_t now) {
  for (; !departures_.empty(); departures_.pop_front()) {
    const auto& [time_ps, key] = departures_.front();
    const auto sent = under_way_.find(key);
    if (sent == under_way_.end() || sent->second.time_ps != time_ps) continue;  // it has arrived, or the key is reused
    if (time_ps >= now - kLongestWay) break;
    under_way_.erase(sent);
  }
  if (!departures_.empty()) first_sent = std::min(first_sent, departures_.front().first);
  for (auto it = flows_.lower_bound({target, 0}); it != flows_.end() && it->first.first == target;) {
    std::deque<Access>& accesses = it->second.accesses;
    // An access without answer for long belongs to a connection that no longer exists.
    const auto is_over = [&](const Access& access) {
      const bool is_answered = access.answered_ps <= first_sent;
      return is_answered ? clocks_.empty() : access.sent_ps < now - kLongestAnswer && access.answered_ps == kOpen;
    };
    while (!accesses.empty() && is_over(accesses.front())) accesses.pop_front();
    it = accesses.empty() ? flows_.erase(it) : std::next(it);
  }
}

}  // namespace verbatim::observe
