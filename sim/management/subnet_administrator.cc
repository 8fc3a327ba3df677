#include "sim/management/subnet_administrator.h"

#include <algorithm>
#include <utility>

namespace verbatim::management {

namespace {
// What OpenSM takes for a question, from the port to the program and back: assumed.
constexpr Duration kWork = std::chrono::microseconds(50);
}  // namespace

SubnetAdministrator::SubnetAdministrator(Engine& engine, ComponentId source, ib::ManagementPort& port, const PathFinder& paths,
                                         std::uint8_t mtu, std::uint8_t rate)
    : engine_(engine),
      port_(port),
      paths_(paths),
      mtu_(mtu),
      rate_(rate),
      answers_(DelayLine<ib::ManagementDatagram>::of<&SubnetAdministrator::on_answered>(engine, source, EventClass::kSupervisor,
                                                                                        this)) {}

// One after the other.
void SubnetAdministrator::on_datagram(const ib::ManagementDatagram& datagram) {
  auto mad = answer_path_question(datagram.mad, paths_);
  if (!mad) mad = groups_.answer(datagram.mad, mtu_, rate_);
  if (!mad) return;
  ib::ManagementDatagram answer = datagram;
  if (answer.grh) std::swap(answer.grh->source, answer.grh->destination);
  answer.mad = *mad;
  ready_ = std::max(ready_, engine_.now()) + kWork;
  answers_.push(ready_, std::move(answer));
}

void SubnetAdministrator::on_answered(ib::ManagementDatagram answer) { port_.send(answer); }

}  // namespace verbatim::management
