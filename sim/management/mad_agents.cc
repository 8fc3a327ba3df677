#include "sim/management/mad_agents.h"

#include <algorithm>
#include <cerrno>

#include "sim/mad/fields.h"

namespace verbatim::management {

namespace {

constexpr std::uint8_t kFirstOuiClass = 0x30, kLastOuiClass = 0x4f;
constexpr bool has_oui(std::uint8_t management_class) {
  return management_class >= kFirstOuiClass && management_class <= kLastOuiClass;
}

std::uint32_t oui_of(const ib::Mad& mad) {
  constexpr std::size_t kOuiAt = 37;
  std::uint32_t oui = 0;
  mad::FieldReader(mad).number(kOuiAt, 0, 24, oui);
  return oui;
}

// The two classes of subnet management are registered separately.
bool is_same_kind(const MadRegistration& a, const MadRegistration& b) {
  return a.queue == b.queue && a.management_class == b.management_class && a.class_version == b.class_version &&
         (!has_oui(a.management_class) || a.oui == b.oui);
}

}  // namespace

struct MadAgents::Pending {
  // `message`: to be sent in segments by RMPP; empty: the datagram is the whole message.
  Pending(MadAgents& all, std::uint32_t agent, const PendingKey& key, const Sending& sending, MadBytes message)
      : all(all),
        agent(agent),
        key(key),
        sending(sending),
        message(std::move(message)),
        left(sending.retries),
        timer(Timer::of<&Pending::on_timer>(all.engine_, all.source_, EventClass::kSupervisor, this)) {}

  void start() { timer.schedule_after(std::chrono::milliseconds(sending.timeout_ms)); }
  void send() {
    if (message.empty()) return all.port_.send(sending.datagram);
    all.sender_.send(sending.datagram, message);
  }

  void on_timer() {
    if (left > 0) {
      --left;
      send();
      return start();
    }
    const auto self = all.pending_.extract(key);
    const auto found = all.agents_.find(agent);
    if (found != all.agents_.end()) found->second.client->on_unanswered(agent, sending.datagram);
  }

  MadAgents& all;
  const std::uint32_t agent;
  const PendingKey key;
  const Sending sending;
  const MadBytes message;
  std::uint32_t left;
  Timer timer;
};

MadAgents::MadAgents(Engine& engine, ComponentId source, ib::ManagementPort& port)
    : engine_(engine), source_(source), port_(port), sender_(engine, source, port), receiver_(engine, port) {}

MadAgents::~MadAgents() = default;

bool MadAgents::overlaps(const MadRegistration& registration) const {
  return std::ranges::any_of(agents_, [&](const auto& one) {
    const MadRegistration& other = one.second.registration;
    return is_same_kind(other, registration) && (other.methods & registration.methods).any();
  });
}

std::int64_t MadAgents::add(const MadRegistration& registration, MadClient& client) {
  if (registration.rmpp_version > 1) return -EINVAL;
  if (registration.management_class == 0) {
    if (registration.methods.any()) return -EINVAL;
  } else {
    const bool of_subnet = mad::is_subnet_management(registration.management_class);
    if (of_subnet != (registration.queue == ib::kSubnetManagementQp)) return -EINVAL;
    if (has_oui(registration.management_class) && registration.oui == 0) return -EINVAL;
    if (registration.rmpp_version != 0 && !mad::has_rmpp(registration.management_class)) return -EINVAL;
    if (registration.methods.any() && reserved_.contains(registration.management_class)) return -EINVAL;
    if (overlaps(registration)) return -EINVAL;
  }
  agents_[++last_agent_] = {registration, &client};
  return last_agent_;
}

void MadAgents::remove(std::uint32_t agent) {
  agents_.erase(agent);
  std::erase_if(pending_, [&](const auto& one) { return one.second->agent == agent; });
}

int MadAgents::send(std::uint32_t number, Sending sending, MadBytes message) {
  const auto found = agents_.find(number);
  if (found == agents_.end() || message.size() < mad::kHeaderBytes) return -EINVAL;
  const MadRegistration& registration = found->second.registration;
  ib::ManagementDatagram& datagram = sending.datagram;
  datagram.queue = registration.queue;
  datagram.mad = {};
  std::copy_n(message.begin(), std::min(message.size(), datagram.mad.size()), datagram.mad.begin());
  mad::Header header = mad::header_of(datagram.mad);
  if (!mad::is_answer(header)) {
    header.transaction_id = std::uint64_t{number} << 32 | (header.transaction_id & 0xffff'ffff);
    mad::put_header(datagram.mad, header);
    std::copy_n(datagram.mad.begin(), mad::kHeaderBytes, message.begin());
  }
  const bool by_rmpp = registration.rmpp_version != 0 && !registration.does_rmpp_itself &&
                       mad::has_rmpp(header.management_class) && mad::RmppHeader::of(datagram.mad).is_active();
  if (!by_rmpp && message.size() > ib::kMadBytes) return -EINVAL;
  if (by_rmpp && message.size() < mad::data_offset(header.management_class)) return -EINVAL;
  const PendingKey key{header.transaction_id, header.management_class};
  if (sending.timeout_ms > 0 && pending_.contains(key)) return -EINVAL;
  auto pending = std::make_unique<Pending>(*this, number, key, sending, by_rmpp ? std::move(message) : MadBytes{});
  pending->send();
  if (sending.timeout_ms == 0) return 0;
  pending->start();
  pending_.emplace(key, std::move(pending));
  return 0;
}

MadAgents::Agent* MadAgents::find_agent(const ib::ManagementDatagram& datagram, const mad::Header& header,
                                      std::uint32_t* number) {
  if (mad::is_answer(header) && header.method != mad::kTrapRepress) {
    *number = static_cast<std::uint32_t>(header.transaction_id >> 32);
    const auto found = agents_.find(*number);
    return found == agents_.end() || found->second.registration.queue != datagram.queue ? nullptr : &found->second;
  }
  const std::uint8_t method = header.method & 0x7f;
  for (auto& [id, agent] : agents_) {
    const MadRegistration& wants = agent.registration;
    if (wants.queue != datagram.queue || wants.management_class != header.management_class ||
        wants.class_version != header.class_version || !wants.methods[method])
      continue;
    if (has_oui(header.management_class) && wants.oui != oui_of(datagram.mad)) continue;
    *number = id;
    return &agent;
  }
  return nullptr;
}

bool MadAgents::deliver(const ib::ManagementDatagram& datagram) {
  const mad::Header header = mad::header_of(datagram.mad);
  const bool has_rmpp = mad::has_rmpp(header.management_class) && mad::RmppHeader::of(datagram.mad).is_active();
  if (has_rmpp && mad::RmppHeader::of(datagram.mad).type != mad::RmppType::kData && sender_.on_datagram(datagram)) return true;
  std::uint32_t number = 0;
  const Agent* agent = find_agent(datagram, header, &number);
  if (agent == nullptr) return false;
  deliver_to(number, *agent, datagram);
  return true;
}

// A response is accepted only for a pending request.
void MadAgents::deliver_to(std::uint32_t number, const Agent& agent, const ib::ManagementDatagram& datagram) {
  const mad::Header header = mad::header_of(datagram.mad);
  const PendingKey key{header.transaction_id, header.management_class};
  const bool is_answer = mad::is_answer(header) && header.method != mad::kTrapRepress;
  if (is_answer && !pending_.contains(key)) return;
  const MadRegistration& registration = agent.registration;
  MadBytes message(datagram.mad.begin(), datagram.mad.end());
  const bool by_rmpp = registration.rmpp_version != 0 && !registration.does_rmpp_itself &&
                       mad::has_rmpp(header.management_class) && mad::RmppHeader::of(datagram.mad).is_active();
  if (by_rmpp) {
    auto whole = receiver_.on_segment(datagram);
    if (!whole) return;
    message = std::move(*whole);
  }
  if (is_answer) pending_.erase(key);
  agent.client->on_message(number, datagram, std::move(message));
}

}  // namespace verbatim::management
