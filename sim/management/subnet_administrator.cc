#include "sim/management/subnet_administrator.h"

#include <algorithm>
#include <utility>

#include "sim/mad/fields.h"

namespace verbatim::management {

namespace {
// OpenSM's time per request, from the port to the program and back: assumed.
constexpr Duration kWork = std::chrono::microseconds(50);

constexpr std::uint16_t kAdministratorInfo = 0x01, kInformInfo = 0x03, kServiceRecord = 0x31;
constexpr std::size_t kServiceBytes = 176;
// Maximum number of service records.
constexpr std::size_t kMostServices = 4096;

MadBytes bytes_of(const mad::sa::Message& message) {
  const ib::Mad mad = mad::sa::encode(message);
  return MadBytes(mad.begin(), mad.end());
}

// Whether service id, port and partition are equal (IBA 15.2.5.14).
bool is_same_service(std::span<const std::byte> a, std::span<const std::byte> b) {
  constexpr std::size_t kKeyBytes = 26;
  return std::equal(a.begin(), a.begin() + kKeyBytes, b.begin());
}

mad::sa::Message class_port_info(const mad::sa::Message& question) {
  constexpr std::uint8_t kResponseTime = 18;
  mad::sa::Message answer = question;
  answer.header.method = mad::kGetResponse;
  answer.data = {};
  mad::FieldWriter fields(answer.data);
  fields.number(0, 0, 8, 1u);
  fields.number(1, 0, 8, mad::sa::kClassVersion);
  fields.number(7, 3, 5, kResponseTime);
  return answer;
}

}  // namespace

SubnetAdministrator::SubnetAdministrator(Engine& engine, ComponentId source, ib::ManagementPort& port, const SubnetView& subnet,
                                         const PathFinder& paths, std::uint8_t mtu, std::uint8_t rate)
    : engine_(engine),
      port_(port),
      paths_(paths),
      mtu_(mtu),
      rate_(rate),
      records_(subnet, paths),
      sender_(engine, source, port),
      answers_(DelayLine<Answer>::of<&SubnetAdministrator::on_answered>(engine, source, EventClass::kSupervisor, this)) {}

// Answers one request at a time.
bool SubnetAdministrator::on_datagram(const ib::ManagementDatagram& datagram) {
  const mad::RmppHeader rmpp = mad::RmppHeader::of(datagram.mad);
  if (rmpp.is_active() && rmpp.type != mad::RmppType::kData) return sender_.on_datagram(datagram);
  Answer answer{datagram, {}};
  if (answer.datagram.grh) std::swap(answer.datagram.grh->source, answer.datagram.grh->destination);
  auto mad = answer_path_question(datagram.mad, paths_);
  if (!mad) mad = groups_.answer(datagram.mad, mtu_, rate_);
  if (mad) {
    answer.datagram.mad = *mad;
  } else if (const auto question = mad::sa::decode(datagram.mad)) {
    answer.message = this->answer(*question);
    if (answer.message.empty()) return false;
  } else {
    return false;
  }
  ready_ = std::max(ready_, engine_.now()) + kWork;
  answers_.push(ready_, std::move(answer));
  return true;
}

MadBytes SubnetAdministrator::answer(const mad::sa::Message& question) {
  const mad::Header& header = question.header;
  if (header.attribute_id == kServiceRecord) return answer_service(question);
  if (header.attribute_id == kAdministratorInfo && header.method == mad::kGet) return bytes_of(class_port_info(question));
  if (header.attribute_id == kInformInfo && header.method == mad::kSet) {
    mad::sa::Message accepted = question;  // accepted, but no report is ever sent
    accepted.header.method = mad::kGetResponse;
    return bytes_of(accepted);
  }
  if (header.method != mad::kGet && header.method != mad::kGetTable) return {};
  const std::vector<Record> groups = groups_.records();
  const auto selected = records_.select(question, groups);
  return selected ? answer_of(question, *selected) : MadBytes{};
}

MadBytes SubnetAdministrator::answer_service(const mad::sa::Message& question) {
  const std::span asked = std::span(question.data).first(kServiceBytes);
  const auto is_asked = [&](const Record& one) { return is_same_service(one, asked); };
  mad::sa::Message done = question;
  switch (question.header.method) {
    case mad::kSet:
      std::erase_if(services_, is_asked);
      if (services_.size() == kMostServices) done.header.status = mad::sa::kNoResources;
      else services_.emplace_back(asked.begin(), asked.end());
      done.header.method = mad::kGetResponse;
      return bytes_of(done);
    case mad::kDelete:
      if (std::erase_if(services_, is_asked) == 0) done.header.status = mad::sa::kNoRecords;
      done.header.method = mad::kDeleteResponse;
      return bytes_of(done);
    case mad::kGet:
    case mad::kGetTable: {
      std::vector<Record> found;
      constexpr std::uint64_t kNumber = 1;
      const bool by_number = (question.component_mask & kNumber) != 0;
      for (const Record& one : services_) {
        if (!by_number || std::equal(one.begin(), one.begin() + sizeof(std::uint64_t), asked.begin())) found.push_back(one);
      }
      return answer_of(question, found);
    }
    default:
      return {};
  }
}

void SubnetAdministrator::on_answered(Answer answer) {
  if (answer.message.empty()) return port_.send(answer.datagram);
  const bool is_table = std::to_integer<std::uint8_t>(answer.message[3]) == mad::kGetTableResponse;
  if (is_table) return sender_.send(answer.datagram, answer.message);
  std::ranges::copy(answer.message, answer.datagram.mad.begin());
  port_.send(answer.datagram);
}

}  // namespace verbatim::management
