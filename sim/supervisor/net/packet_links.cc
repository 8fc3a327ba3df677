#include "sim/supervisor/net/packet_links.h"

#include <algorithm>
#include <deque>

namespace verbatim::supervisor {

// One direction between two hosts. Packets arrive in order, except those that a fault delays.
class PacketLinks::Link {
 public:
  Link(PacketLinks& links, std::size_t from, std::size_t to)
      : links_(links),
        from_(from),
        to_(to),
        latency_(links.network_.latency(from, to)),
        timer_(Timer::of<&Link::on_arrival>(links.network_.engine(), links.network_.host(from).component,
                                            EventClass::kSupervisor, this)) {}

  void send(IpPacket packet, std::size_t headers) {
    TcpNetwork& network = links_.network_;
    const auto byte_time = byte_time_of(network.spec().bits_per_second);
    free_at_ = std::max(network.engine().now(), free_at_) + byte_time.time_for(packet.bytes.size() + headers);
    const bool is_error = packet.kind == IpPacket::Kind::kUnreachable;
    const NetworkFate fate = is_error ? NetworkFate{} : network.fate_of(links_.protocol_, from_, to_, free_at_);
    if (fate.is_lost) return;
    const Instant arrival = free_at_ + latency_ + fate.delay;
    const auto behind = std::ranges::upper_bound(flights_, arrival, {}, &Flight::arrival);
    flights_.insert(behind, {arrival, std::move(packet)});
    if (!timer_.scheduled() || flights_.front().arrival < timer_.when()) timer_.reschedule_at(flights_.front().arrival);
  }

 private:
  struct Flight {
    Instant arrival;
    IpPacket packet;
  };

  void on_arrival() {
    IpPacket packet = std::move(flights_.front().packet);
    flights_.pop_front();
    if (!flights_.empty()) timer_.schedule_at(flights_.front().arrival);
    TcpNetwork& network = links_.network_;
    network.tracer().report_contact(network.host(from_).component, network.host(to_).component,
                                    network.engine().now() - latency_);
    links_.deliver_(from_, to_, std::move(packet));
  }

  PacketLinks& links_;
  std::size_t from_, to_;
  Duration latency_;
  Instant free_at_{};
  std::deque<Flight> flights_;
  Timer timer_;
};

PacketLinks::PacketLinks(TcpNetwork& network, NetworkProtocol protocol, Deliver deliver)
    : network_(network), protocol_(protocol), deliver_(std::move(deliver)) {}
PacketLinks::~PacketLinks() = default;

void PacketLinks::send(std::size_t from_host, std::size_t to_host, IpPacket packet, std::size_t headers) {
  auto& link = links_[{from_host, to_host}];
  if (link == nullptr) link = std::make_unique<Link>(*this, from_host, to_host);
  link->send(std::move(packet), headers);
}

}  // namespace verbatim::supervisor
