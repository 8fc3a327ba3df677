// A program that writes random data wherever it can: rings, records, doorbells and mailboxes of one adapter,
// between valid work. Its actions are drawn from a source: random numbers in the test, an input's bytes in
// the fuzzer.
#pragma once

#include <vector>

#include "tests/hca/windows.h"

namespace verbatim::test {

// Source: `next()`, any number; `below(n)`; `chance(n, m)`, true n times of m.
template <class Source>
class Attacker {
 public:
  // It attacks world.client, with twelve queue pairs connected among themselves.
  Attacker(World& world, Source& source, std::uint64_t buffer_bytes, std::uint64_t arena_bytes)
      : program(world, *world.client, buffer_bytes, arena_bytes, 666),
        world_(world),
        source_(source),
        buffer_bytes_(buffer_bytes),
        cq_(program.create_cq(16, true)),
        srq_(program.create_srq(8)),
        ah_(program.create_ah(1)) {
    for (std::size_t i = 0; i < 12; ++i) qps_.push_back(make_qp(i));
    for (std::size_t i = 0; i < qps_.size(); i += 2) revive(i);
  }

  void step() {
    switch (source_.below(20)) {
      case 0:
        scribble(program.arena(), 1 + source_.below(3));
        break;
      case 1:
        command();
        break;
      case 2:
        world_.client->ring_doorbell(context_number(), static_cast<protocol::DoorbellKind>(source_.below(5)),
                                     static_cast<std::uint32_t>(number()), number());
        break;
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: {  // something that looks like work, sometimes with a detail wrong
        Qp& qp = qps_[source_.below(qps_.size())];
        if (qp.made.number == 0) break;
        const bool wrong = source_.chance(1, 10);
        SendRequest request{.wr_id = source_.next()};
        request.address_handle = source_.chance(9, 10) ? ah_ : static_cast<std::uint32_t>(number());
        request.remote_qpn = qps_[source_.below(qps_.size())].made.number;
        request.remote_qkey = PathOptions{}.qkey;
        request.opcode = static_cast<WqeOpcode>(source_.below(wrong ? 12 : 10));
        request.flags = static_cast<std::uint8_t>(source_.below(16));
        request.remote_va = Program::kBuffer + source_.below(buffer_bytes_);
        request.rkey = mr_.rkey + static_cast<std::uint32_t>(wrong ? number() : 0);
        if (request.opcode == WqeOpcode::kSendWithInvalidate) request.immediate = window_.rkey;
        if (request.opcode == WqeOpcode::kLocalInvalidate) request.rkey = window_.rkey;
        if (request.opcode == WqeOpcode::kBindMemoryWindow) bind(request);
        if (source_.chance(1, 8)) request.rkey = window_.rkey;
        for (std::uint64_t i = source_.below(4); i > 0; --i) {
          request.sges.push_back(
              {Program::kBuffer + source_.below(wrong ? buffer_bytes_ : buffer_bytes_ - 5000),
               static_cast<std::uint32_t>(source_.below(2500)), mr_.lkey});
        }
        for (std::uint64_t i = source_.below(40); i > 0; --i) request.inline_data.push_back(std::byte{1});
        program.post_send(qp, request);
        break;
      }
      case 8:
      case 9:
      case 10:
      case 11: {
        Qp& qp = qps_[source_.below(qps_.size())];
        if (qp.made.number == 0) break;
        const std::uint32_t length = source_.chance(1, 20) ? 100 : 8000;
        if (qp.made.recv_entries > 0) {
          program.post_recv(qp, 1, {{Program::kBuffer, length, mr_.lkey}});
        } else if (srq_.made.handle != 0) {
          program.post_recv(srq_, 1, {{Program::kBuffer, length, mr_.lkey}});
        }
        break;
      }
      case 12:
      case 13:
        if (program.state(qps_[0]) != ib::QpState::kRts || program.state(qps_[1]) != ib::QpState::kRts ||
            source_.chance(1, 10)) {
          revive(2 * source_.below(qps_.size() / 2));
        }
        break;
      case 14:
        program.drain(cq_);
        break;
      default:
        world_.run_for(Duration{static_cast<std::int64_t>(source_.below(3'000'000))});
        break;
    }
    program.completion_events.clear();
    program.async_events.clear();
  }

  Program program;

 private:
  // Its own context, or an unused one: the supervisor replaces the program's number by the adapter's, so
  // another program's never appears here.
  std::uint32_t context_number() {
    return source_.chance(9, 10) ? program.context : static_cast<std::uint32_t>(number()) | 1u << 20;
  }
  std::uint64_t number() {
    switch (source_.below(5)) {
      case 0:
        return source_.below(8);
      case 1:
        return source_.next();
      case 2:
        return ~source_.below(4);
      case 3:
        return source_.below(1 << 16);
      default:
        return 0x40 + source_.below(0x60);
    }
  }
  void scribble(std::span<std::byte> bytes, std::size_t count) {
    for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
      const std::size_t at = source_.below(bytes.size() < 60000 ? bytes.size() : 60000);
      if (source_.chance(1, 2)) {
        bytes[at] = static_cast<std::byte>(source_.next());
      } else {
        const std::uint32_t word = static_cast<std::uint32_t>(number());
        std::memcpy(bytes.data() + (at & ~std::size_t{3}) % (bytes.size() - 4), &word, sizeof(word));
      }
    }
  }
  // A mailbox with a plausible head and random contents.
  void command() {
    alignas(8) std::byte mailbox[1024] = {};
    for (std::uint64_t words = source_.below(32); words > 0; --words) {
      const auto word = static_cast<std::uint32_t>(source_.chance(1, 4) ? number() : source_.below(12));
      std::memcpy(mailbox + 16 + source_.below(60) * 4, &word, sizeof(word));
    }
    static constexpr std::uint32_t kSizes[] = {
        sizeof(protocol::QueryDevice),   sizeof(protocol::QueryPort), sizeof(protocol::AllocPd),
        sizeof(protocol::DestroyObject), sizeof(protocol::RegMr),     sizeof(protocol::CreateCq),
        sizeof(protocol::ResizeCq),      sizeof(protocol::CreateQp),  sizeof(protocol::ModifyQp),
        sizeof(protocol::QueryQp),       sizeof(protocol::CreateAh),  sizeof(protocol::QueryGid)};
    protocol::CommandHeader header{};
    header.type = static_cast<protocol::CommandType>(source_.below(48));
    if (header.type == protocol::CommandType::kCloseDevice) header.type = protocol::CommandType::kQueryPort;
    // Destroying everything at once would leave nothing to attack.
    if (header.type == protocol::CommandType::kDestroyQp && !source_.chance(1, 8))
      header.type = protocol::CommandType::kQueryQp;
    header.size = size_of(header.type, kSizes[source_.below(std::size(kSizes))]);
    header.context = context_number();
    if (source_.chance(1, 20)) header.size = static_cast<std::uint32_t>(number());
    std::memcpy(mailbox, &header, sizeof(header));
    world_.client->execute(
        std::span(mailbox).first(source_.chance(1, 20) ? source_.below(sizeof(mailbox)) : sizeof(mailbox)));
  }
  static std::uint32_t size_of(protocol::CommandType type, std::uint32_t otherwise) {
    switch (type) {
      case protocol::CommandType::kAllocPd:
        return sizeof(protocol::AllocPd);
      case protocol::CommandType::kRegMr:
        return sizeof(protocol::RegMr);
      case protocol::CommandType::kAllocMw:
        return sizeof(protocol::AllocMw);
      case protocol::CommandType::kReregMr:
        return sizeof(protocol::ReregMr);
      case protocol::CommandType::kAllocDm:
        return sizeof(protocol::AllocDm);
      case protocol::CommandType::kCopyDm:
        return sizeof(protocol::CopyDm);
      case protocol::CommandType::kRegDmMr:
        return sizeof(protocol::RegDmMr);
      case protocol::CommandType::kAllocNullMr:
        return sizeof(protocol::AllocNullMr);
      case protocol::CommandType::kAdviseMr:
        return sizeof(protocol::AdviseMr);
      case protocol::CommandType::kCreateCq:
        return sizeof(protocol::CreateCq);
      case protocol::CommandType::kResizeCq:
        return sizeof(protocol::ResizeCq);
      case protocol::CommandType::kCreateQp:
        return sizeof(protocol::CreateQp);
      case protocol::CommandType::kModifyQp:
        return sizeof(protocol::ModifyQp);
      case protocol::CommandType::kQueryQp:
        return sizeof(protocol::QueryQp);
      case protocol::CommandType::kCreateSrq:
        return sizeof(protocol::CreateSrq);
      case protocol::CommandType::kModifySrq:
      case protocol::CommandType::kQuerySrq:
        return sizeof(protocol::SrqAttributes);
      case protocol::CommandType::kCreateAh:
        return sizeof(protocol::CreateAh);
      case protocol::CommandType::kDeallocPd:
      case protocol::CommandType::kDeregMr:
      case protocol::CommandType::kDeallocMw:
      case protocol::CommandType::kFreeDm:
      case protocol::CommandType::kDestroyCq:
      case protocol::CommandType::kDestroyQp:
      case protocol::CommandType::kDestroyAh:
      case protocol::CommandType::kDestroySrq:
        return sizeof(protocol::DestroyObject);
      default:
        return otherwise;
    }
  }
  void bind(SendRequest& request) {
    window_.rkey = (window_.rkey & ~0xffu) | ((window_.rkey + 1) & 0xff);
    request.rkey = window_.rkey;
    if (source_.chance(9, 10)) request.address_handle = window_.handle;
    request.compare_add = source_.chance(1, 10) ? number() : source_.below(20000);
    request.swap = mr_.lkey;
    request.immediate = ib::kRemoteWrite | ib::kRemoteRead | static_cast<std::uint32_t>(source_.below(64));
  }
  // Two connections of each kind, one of them with the shared receive queue where that is allowed.
  Qp make_qp(std::size_t i) {
    const ib::QpType types[] = {ib::QpType::kRc, ib::QpType::kRc, ib::QpType::kRc,
                                ib::QpType::kUc, ib::QpType::kUd, ib::QpType::kUd};
    const bool shares = i / 2 == 1 || i / 2 == 5;
    return program.create_qp(cq_, cq_, {8, 8, 4, 4, 64}, types[i / 2], shares ? srq_.made.handle : 0);
  }
  // Both ends of a connection start again, made anew when a random command has destroyed them.
  void revive(std::size_t first) {
    PathOptions path;
    path.mtu = 1;
    path.timeout = 4;
    path.retry_cnt = 1;
    path.min_rnr_timer = 1;
    program.destroy(protocol::CommandType::kDeallocMw, window_.handle);
    window_ = alloc_mw(program, 1 + static_cast<std::uint32_t>(source_.below(2)));
    program.destroy(protocol::CommandType::kDeregMr, mr_.handle);
    if (program.query(srq_).header.status != 0) srq_ = program.create_srq(8);
    program.set_srq_limit(srq_, static_cast<std::uint32_t>(source_.below(10)));
    program.destroy(protocol::CommandType::kDestroyAh, ah_);
    ah_ = program.create_ah(1, source_.chance(1, 2));
    mr_ = program.reg_mr(Program::kBuffer, buffer_bytes_,
                         ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic | ib::kMwBind);
    for (const std::size_t i : {first & ~1ul, first | 1ul}) {
      if (program.to_state(qps_[i], ib::QpState::kReset) != 0) qps_[i] = make_qp(i);
      qps_[i].send_producer = qps_[i].recv_producer = 0;
      program.to_init(qps_[i], path);
    }
    for (const std::size_t i : {first & ~1ul, first | 1ul}) {
      program.to_rtr(qps_[i], 1, qps_[i ^ 1].made.number, path);
      program.to_rts(qps_[i], path);
      for (int n = 0; n < 4 && qps_[i].made.recv_entries > 0; ++n) {
        program.post_recv(qps_[i], 1, {{Program::kBuffer, 8000, mr_.lkey}});
      }
    }
  }

  World& world_;
  Source& source_;
  const std::uint64_t buffer_bytes_;
  Mr mr_;
  Window window_;
  Cq cq_;
  Srq srq_;
  std::uint32_t ah_ = 0;
  std::vector<Qp> qps_;
};

}  // namespace verbatim::test
