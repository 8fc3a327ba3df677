#include "sim/observe/remote_races.h"

#include <algorithm>
#include <cstring>

#include "sim/core/words.h"
#include "sim/ib/aeth.h"

namespace verbatim::observe {

namespace {

constexpr std::uint64_t kWord = 8;

// What takes longer from port to port is lost.
constexpr std::int64_t kLongestWay = 1'000'000'000;  // ps
constexpr std::int64_t kLongestAnswer = 200'000'000;

std::uint64_t destination_of(const ib::Packet& packet) {
  if (!packet.ethernet) return packet.lrh.destination.value;
  std::uint64_t half[2];
  std::memcpy(half, packet.grh->destination.raw, sizeof half);
  return half[0] ^ (half[1] << 1);
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
      by_port_(indices_of(adapters_, &Adapter::port)) {}

std::size_t RemoteRaces::at(const std::vector<std::size_t>& indices, std::uint32_t component) {
  return component < indices.size() ? indices[component] : kNone;
}

void RemoteRaces::on_record(const TraceRecord& record, std::span<const std::byte>) {
  const bool is_answer = record.event == TraceEvent::kAckSent;
  if ((!is_answer && record.event != TraceEvent::kCompletion) || flows_.empty()) return;
  const std::size_t adapter = at(by_adapter_, record.component);
  if (adapter == kNone) return;
  if (!is_answer) return answer_all({adapter, static_cast<std::uint32_t>(record.values[1])}, record.time_ps);
  answer({adapter, static_cast<std::uint32_t>(record.values[0])}, {static_cast<std::uint32_t>(record.values[1])}, record.time_ps);
}

void RemoteRaces::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId port) {
  if (record.event != TraceEvent::kPacketTransmitted && record.event != TraceEvent::kPacketReceived) return;
  if (packet.is_frame || packet.corrupted || ib::transport_of(packet.bth.opcode) != ib::Transport::kRc) return;
  const ib::OpcodeInfo& info = ib::info(packet.bth.opcode);
  const ib::Operation operation = ib::operation_of(packet.bth.opcode);
  const bool is_response = operation == ib::Operation::kReadResponseFirst || operation == ib::Operation::kReadResponseOnly;
  if (!info.has_reth && !info.has_atomic_eth && !is_response) return;
  const std::size_t here = at(by_port_, port.value);
  if (here == kNone) return;
  if (is_response) {
    if (record.event == TraceEvent::kPacketReceived) answer_read(here, packet.bth.psn, record.time_ps);
    return;
  }
  const PacketKey key{destination_of(packet), packet.bth.destination.value, packet.bth.psn.value};
  if (record.event == TraceEvent::kPacketTransmitted) {
    // What is sent again may have been executed before.
    if (packet.retransmission != 0) return;
    under_way_.insert_or_assign(key, Sent{here, record.time_ps});
    departures_.emplace_back(record.time_ps, key);
    return;
  }
  const auto sent = under_way_.find(key);
  if (sent == under_way_.end()) return;
  const auto [source, sent_ps] = sent->second;
  under_way_.erase(sent);
  const bool is_read = operation == ib::Operation::kReadRequest;
  const Kind kind = info.has_atomic_eth ? Kind::kAtomic : is_read ? Kind::kRead : Kind::kWrite;
  const std::uint64_t va = info.has_atomic_eth ? packet.atomic.va.value : packet.reth.va.value;
  const std::uint64_t length = info.has_atomic_eth ? kWord : packet.reth.length;
  const std::uint32_t rkey = info.has_atomic_eth ? packet.atomic.rkey.value : packet.reth.rkey.value;
  if (length == 0 || va + length < va) return;
  receive(here, packet, {kind, rkey, va, va + length, packet.bth.psn, sent_ps, kOpen}, source, record.time_ps);
}

void RemoteRaces::receive(std::size_t target, const ib::Packet& packet, const Access& access, std::size_t source,
                          std::int64_t now) {
  forget_old(target, access.sent_ps, now);
  const FlowKey key{target, packet.bth.destination.value};
  Flow& flow = flows_[key];
  flow.source = source;
  for (auto it = flows_.lower_bound({target, 0}); it != flows_.end() && it->first.first == target; ++it) {
    if (it->second.va < access.end && access.va < it->second.end) compare(key, flow, access, it->first, it->second);
  }
  if (access.kind == Kind::kAtomic) answer_all(key, now);
  flow.accesses.push_back(access);
  flow.va = std::min(flow.va, access.va);
  flow.end = std::max(flow.end, access.end);
}

void RemoteRaces::compare(const FlowKey& key, const Flow& flow, const Access& access, const FlowKey& other_key,
                          const Flow& other) {
  const bool is_own = key == other_key;
  if (is_own && access.kind != Kind::kWrite) return;
  for (const Access& earlier : other.accesses) {
    if (earlier.key != access.key || earlier.end <= access.va || access.end <= earlier.va) continue;
    if (earlier.answered_ps <= access.sent_ps || access.answered_ps <= earlier.sent_ps) continue;
    if (is_own && earlier.kind != Kind::kRead) continue;
    if (earlier.kind == Kind::kRead && access.kind == Kind::kRead) continue;
    if (earlier.kind == Kind::kAtomic && access.kind == Kind::kAtomic) continue;
    const std::uint64_t first = std::min(earlier.va, access.va), last = std::max(earlier.end, access.end) - 1;
    if (!is_own && first / kWord == last / kWord) continue;
    if (!told_.emplace(key, access.key, earlier.kind, access.kind).second) continue;
    const std::string text =
        join(text_of(access, key, flow), " is sent before ", text_of(earlier, other_key, other), " is answered, and nothing orders them: ",
             is_own ? "the WRITE needs a fence, or the READ's completion, before it"
                    : "the later one must wait for the completion of the earlier one, or for a message that follows it");
    Diagnosis finding{adapters_[flow.source].host, 0, 0, text};
    finding.check = check_;
    tracer_.diagnose(finding);
    return;
  }
}

std::string RemoteRaces::text_of(const Access& access, const FlowKey& key, const Flow& flow) const {
  const char* const verb = access.kind == Kind::kRead ? "a READ" : access.kind == Kind::kWrite ? "a WRITE" : "an atomic";
  return join(verb, " of ", access.end - access.va, " bytes at ", Hex{access.va}, " by ", adapters_[flow.source].name, " through QP ",
              key.second, " of ", adapters_[key.first].name);
}

void RemoteRaces::answer(const FlowKey& key, ib::Psn up_to, std::int64_t now) {
  const auto flow = flows_.find(key);
  if (flow == flows_.end()) return;
  for (Access& access : flow->second.accesses) {
    if (ib::is_before(up_to, access.psn)) break;
    if (access.kind == Kind::kRead) continue;
    access.answered_ps = std::min(access.answered_ps, now);
  }
}

// Of which queue pair it is the packet does not say: all that it may belong to are answered.
void RemoteRaces::answer_read(std::size_t source, ib::Psn psn, std::int64_t now) {
  for (auto& [key, flow] : flows_) {
    if (flow.source != source) continue;
    for (Access& access : flow.accesses) {
      if (access.kind == Kind::kRead && access.psn == psn) access.answered_ps = std::min(access.answered_ps, now);
    }
  }
}

void RemoteRaces::answer_all(const FlowKey& key, std::int64_t now) {
  const auto flow = flows_.find(key);
  if (flow == flows_.end()) return;
  for (Access& access : flow->second.accesses) access.answered_ps = std::min(access.answered_ps, now);
}

// What was answered before any packet left that is under way is no match for those that come. One has left at `first_sent`.
void RemoteRaces::forget_old(std::size_t target, std::int64_t first_sent, std::int64_t now) {
  for (; !departures_.empty(); departures_.pop_front()) {
    const auto& [time_ps, key] = departures_.front();
    const auto sent = under_way_.find(key);
    if (sent == under_way_.end() || sent->second.time_ps != time_ps) continue;  // it has come, or the key is another packet's
    if (time_ps >= now - kLongestWay) break;
    under_way_.erase(sent);
  }
  if (!departures_.empty()) first_sent = std::min(first_sent, departures_.front().first);
  for (auto it = flows_.lower_bound({target, 0}); it != flows_.end() && it->first.first == target;) {
    std::deque<Access>& accesses = it->second.accesses;
    // What nobody answers for long belongs to a connection that is gone.
    const auto is_over = [&](const Access& access) {
      return access.answered_ps <= first_sent || access.sent_ps < now - kLongestAnswer;
    };
    while (!accesses.empty() && is_over(accesses.front())) accesses.pop_front();
    it = accesses.empty() ? flows_.erase(it) : std::next(it);
  }
}

}  // namespace verbatim::observe
