// A program that sends random plausible commands, and a model of the expected answers, for
// command_sequence_test.cc. All names belong to this test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>

#include "sim/core/rng.h"
#include "tests/hca/driver.h"

namespace verbatim::test {
namespace {
using protocol::CommandType;

enum Kind : std::size_t { kPd, kMr, kMw, kDm, kAh, kCq, kSrq, kXrcd, kQp, kKinds };
constexpr const char* kNames[] = {"PD", "MR", "MW", "DM", "AH", "CQ", "SRQ", "XRCD", "QP"};
constexpr CommandType kDestroy[] = {CommandType::kDeallocPd,  CommandType::kDeregMr,    CommandType::kDeallocMw,
                                    CommandType::kFreeDm,     CommandType::kDestroyAh,  CommandType::kDestroyCq,
                                    CommandType::kDestroySrq, CommandType::kCloseXrcd, CommandType::kDestroyQp};
constexpr std::uint32_t kLimits[] = {12, 20, 12, 1'000'000, 10, 16, 8, 1'000'000, 24};

hca::HcaProfile small_profile() {
  hca::HcaProfile profile = test_profile();
  profile.max_pd = kLimits[kPd];
  profile.max_mr = kLimits[kMr];
  profile.max_mw = kLimits[kMw];
  profile.max_ah = kLimits[kAh];
  profile.max_cq = kLimits[kCq];
  profile.max_srq = kLimits[kSrq];
  profile.max_qp = kLimits[kQp];
  profile.max_dm_size = 64 << 10;
  return profile;
}

struct Object {
  std::vector<std::pair<Kind, std::uint32_t>> uses;  // by handle, once for each use
  std::uint32_t users = 0;
  std::uint32_t groups = 0;  // of a queue pair: the groups that it may be attached to
  ib::QpType type = ib::QpType::kRc;
  Qp qp;
  Cq cq;
  std::uint32_t key = 0;
  Program* maker = nullptr;  // whose arena contains its rings
};

struct Tally {
  std::uint64_t done = 0, refused = 0, busy = 0, full = 0;
};

class Sequence {
 public:
  static constexpr std::uint64_t kBufferBytes = 1 << 16;
  static constexpr std::uint64_t kFarLengths[] = {1ull << 31, 1ull << 32, 1ull << 62, 1ull << 63, UINT64_MAX, 0x11000};

  Sequence(World& world, Rng& random, std::uint32_t process, std::map<std::uint32_t, Tally>& tallies,
           std::array<std::uint32_t, kKinds>& alive)
      : world_(world),
        random_(random),
        tallies_(tallies),
        alive_(alive),
        process_(process) {
    actor_ = programs_.emplace_back(std::make_unique<Program>(world, *world.client, kBufferBytes, 256 << 10, process)).get();
    if (actor_->pd != 0) add(kPd, actor_->pd, {});
  }
  ~Sequence() {
    world_.client->close(programs_.front()->context);
    for (std::size_t kind = 0; kind < kKinds; ++kind) alive_[kind] -= static_cast<std::uint32_t>(objects_[kind].size());
  }

  void step() {
    share();
    switch (random_.below(24)) {
      case 0:
        create_simple();
        break;
      case 1:
      case 2:
        register_memory();
        break;
      case 3:
        allocate_window();
        break;
      case 4:
        device_memory();
        break;
      case 5:
        create_ah();
        break;
      case 6:
        create_cq();
        break;
      case 7:
        create_srq();
        break;
      case 8:
      case 9:
      case 10:
        create_qp();
        break;
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
      case 16:
        modify_qp();
        break;
      case 17:
        ask();
        break;
      case 18:
        change_others();
        break;
      case 19:
        work();
        break;
      default:
        destroy();
        break;
    }
    for (const auto& program : programs_) {
      program->completion_events.clear();
      program->async_events.clear();
      program->dma_faults.clear();
    }
  }

 private:
  // Selects the acting program: the one that opened the device, or one that imported it. Importers are
  // created and end, and leave their objects.
  void share() {
    actor_ = programs_.front().get();
    if (has_importer_ && random_.below(3) == 0) actor_ = programs_.back().get();
    if (random_.below(300) != 0) return;
    if (has_importer_) {
      if (random_.chance(1, 2)) world_.client->keep_memory(programs_.back()->context);
      world_.client->leave(programs_.back()->context);
      actor_ = programs_.front().get();
      EXPECT_EQ(programs_.back()->destroy(CommandType::kDeallocPd, 1), EINVAL) << "it has left";
    } else {
      programs_.push_back(std::make_unique<Program>(*programs_.front(), process_ + 1'000'000, kBufferBytes, 256 << 10));
    }
    has_importer_ = !has_importer_;
  }

  bool is_full(Kind kind) const { return alive_[kind] >= kLimits[kind]; }
  bool is_alive(Kind kind, std::uint32_t handle) const { return objects_[kind].contains(handle); }
  // Usually an existing handle; otherwise a destroyed one, or any number.
  std::uint32_t pick(Kind kind) {
    const auto& there = objects_[kind];
    if (!there.empty() && random_.below(12) != 0) {
      auto it = there.begin();
      std::advance(it, static_cast<std::ptrdiff_t>(random_.below(there.size())));
      return it->first;
    }
    return static_cast<std::uint32_t>(random_.chance(1, 2) ? random_.below(last_handle_ + 2) : random_.next());
  }
  Object& add(Kind kind, std::uint32_t handle, std::vector<std::pair<Kind, std::uint32_t>> uses) {
    EXPECT_GT(handle, last_handle_) << kNames[kind] << ": a handle comes twice";
    last_handle_ = handle;
    ++alive_[kind];
    for (const auto& [of, used] : uses) ++objects_[of].at(used).users;
    Object& object = objects_[kind][handle];
    object.uses = std::move(uses);
    object.maker = actor_;
    return object;
  }
  // Checks the status of a command that creates an object; returns true if it was created. `valid`: the
  // command has no error; `may_lack_room`: memory may be insufficient.
  bool judge(Kind kind, CommandType type, int status, bool valid, bool may_lack_room = false) {
    Tally& tally = tallies_[static_cast<std::uint32_t>(type)];
    if (status == 0) {
      ++tally.done;
      EXPECT_TRUE(valid && !is_full(kind)) << kNames[kind] << " made of nothing, or beyond its limit";
      return true;
    }
    ++(status == ENOMEM ? tally.full : tally.refused);
    EXPECT_TRUE(status != ENOMEM || is_full(kind) || may_lack_room) << kNames[kind];
    if (valid && !is_full(kind) && !may_lack_room) {
      ADD_FAILURE() << kNames[kind] << ": status " << status;
    }
    return false;
  }

  void create_simple() {
    if (random_.chance(1, 2)) {
      protocol::AllocPd alloc{};
      const int status = actor_->command(alloc);
      if (judge(kPd, CommandType::kAllocPd, status, true)) add(kPd, alloc.handle, {});
      return;
    }
    protocol::OpenXrcd open{};
    open.inode = random_.below(3);
    open.flags = 0100;
    const int status = actor_->command(open);
    if (judge(kXrcd, CommandType::kOpenXrcd, status, true)) add(kXrcd, open.handle, {});
  }
  void register_memory() {
    if (random_.below(8) == 0) {
      protocol::AllocNullMr alloc{};
      alloc.pd = pick(kPd);
      const int status = actor_->command(alloc);
      if (judge(kMr, CommandType::kAllocNullMr, status, is_alive(kPd, alloc.pd))) {
        add(kMr, alloc.handle, {{kPd, alloc.pd}}).key = alloc.lkey;
      }
      return;
    }
    protocol::RegMr reg{};
    reg.start = reg.iova = Program::kBuffer + random_.below(kBufferBytes);
    reg.length = random_.below(kBufferBytes);
    reg.pd = pick(kPd);
    reg.access = static_cast<std::uint32_t>(random_.below(64));
    // Lengths and addresses near the ends of 32 and 64 bits.
    if (random_.below(16) == 0) reg.length = kFarLengths[random_.below(std::size(kFarLengths))] - random_.below(3);
    if (random_.below(16) == 0) reg.start = reg.iova = kFarLengths[random_.below(std::size(kFarLengths))] - random_.below(5000);
    const bool writes = (reg.access & (ib::kRemoteWrite | ib::kRemoteAtomic)) != 0;
    const bool valid = is_alive(kPd, reg.pd) && reg.length > 0 && reg.length <= kBufferBytes &&
                       reg.start >= Program::kBuffer && reg.start - Program::kBuffer <= kBufferBytes - reg.length &&
                       (!writes || (reg.access & ib::kLocalWrite) != 0);
    const int status = actor_->command(reg);
    if (judge(kMr, CommandType::kRegMr, status, valid)) add(kMr, reg.handle, {{kPd, reg.pd}}).key = reg.lkey;
  }
  void allocate_window() {
    protocol::AllocMw alloc{};
    alloc.pd = pick(kPd);
    alloc.type = static_cast<std::uint32_t>(random_.below(4));
    const int status = actor_->command(alloc);
    const bool valid = is_alive(kPd, alloc.pd) && (alloc.type == 1 || alloc.type == 2);
    if (judge(kMw, CommandType::kAllocMw, status, valid)) add(kMw, alloc.handle, {{kPd, alloc.pd}}).key = alloc.rkey;
  }
  void device_memory() {
    if (random_.chance(1, 2)) {
      protocol::AllocDm alloc{};
      alloc.length = random_.below(80 << 10);
      alloc.log_align = static_cast<std::uint32_t>(random_.below(12));
      const int status = actor_->command(alloc);
      if (judge(kDm, CommandType::kAllocDm, status, alloc.length > 0 && alloc.length <= 64 << 10, true)) {
        add(kDm, alloc.handle, {});
      }
      return;
    }
    protocol::RegDmMr reg{};
    reg.dm = pick(kDm);
    reg.pd = pick(kPd);
    reg.length = random_.below(8) == 0 ? kFarLengths[random_.below(std::size(kFarLengths))] : random_.below(1000);
    if (random_.below(8) == 0) reg.offset = kFarLengths[random_.below(std::size(kFarLengths))] - reg.length;
    reg.access = ib::kZeroBased | ib::kLocalWrite | static_cast<std::uint32_t>(random_.below(16));
    const int status = actor_->command(reg);
    const bool parents = is_alive(kDm, reg.dm) && is_alive(kPd, reg.pd);
    Tally& tally = tallies_[static_cast<std::uint32_t>(CommandType::kRegDmMr)];
    if (status == 0) {
      ++tally.done;
      EXPECT_TRUE(parents && !is_full(kMr) && reg.offset + reg.length <= 64 << 10);
      add(kMr, reg.handle, {{kPd, reg.pd}, {kDm, reg.dm}}).key = reg.key;
    } else {
      ++tally.refused;
    }
  }
  void create_ah() {
    protocol::CreateAh create{};
    create.pd = pick(kPd);
    create.address.dlid = static_cast<std::uint16_t>(1 + random_.below(2));
    create.address.port = static_cast<std::uint8_t>(random_.below(10) == 0 ? random_.below(256) : 1);
    create.address.service_level = static_cast<std::uint8_t>(random_.below(16));
    const int status = actor_->command(create);
    if (judge(kAh, CommandType::kCreateAh, status, is_alive(kPd, create.pd) && create.address.port == 1)) {
      add(kAh, create.handle, {{kPd, create.pd}});
    }
  }
  void create_cq() {
    protocol::CreateCq create{};
    create.cqe = static_cast<std::uint32_t>(random_.below(100));
    create.channel_fd = random_.chance(1, 2) ? 5 : -1;
    const int status = actor_->command(create);
    if (!judge(kCq, CommandType::kCreateCq, status, create.cqe > 0, true)) return;
    EXPECT_GE(create.ring_entries, create.cqe);
    add(kCq, create.handle, {}).cq = {create.handle,      create.number,        create.ring_entries,
                                      create.ring_offset, create.record_offset, 0};
  }
  void create_srq() {
    protocol::CreateSrq create{};
    create.pd = pick(kPd);
    create.srq_type = static_cast<std::uint32_t>(random_.below(3));
    create.max_num_tags = static_cast<std::uint32_t>(random_.below(20));
    create.max_ops = static_cast<std::uint32_t>(random_.below(20));
    create.xrcd = pick(kXrcd);
    create.cq = pick(kCq);
    create.max_wr = static_cast<std::uint32_t>(random_.below(50));
    create.max_sge = static_cast<std::uint32_t>(random_.below(6));
    const std::uint32_t asked = create.max_wr;
    const bool is_xrc = create.srq_type == 1;
    const bool has_tags = create.srq_type == 2, has_cq = is_xrc || has_tags;
    const bool parents = is_alive(kPd, create.pd) && (!is_xrc || is_alive(kXrcd, create.xrcd)) &&
                         (!has_cq || is_alive(kCq, create.cq));
    const bool sized = asked > 0 && (!has_tags || (create.max_num_tags > 0 && create.max_ops > 0));
    const int status = actor_->command(create);
    if (!judge(kSrq, CommandType::kCreateSrq, status, parents && sized, true)) return;
    EXPECT_GE(create.max_wr, asked);
    std::vector<std::pair<Kind, std::uint32_t>> uses = {{kPd, create.pd}};
    if (is_xrc) uses.emplace_back(kXrcd, create.xrcd);
    if (has_cq) uses.emplace_back(kCq, create.cq);
    add(kSrq, create.handle, std::move(uses)).key = create.srq_type;
  }
  void create_qp() {
    static constexpr ib::QpType kTypes[] = {ib::QpType::kRc, ib::QpType::kUc,      ib::QpType::kUd,
                                            ib::QpType::kRc, ib::QpType::kXrcSend, ib::QpType::kXrcReceive};
    const ib::QpType type = kTypes[random_.below(std::size(kTypes))];
    protocol::CreateQp create{};
    create.type = static_cast<std::uint32_t>(type);
    create.pd = pick(kPd);
    create.send_cq = pick(kCq);
    create.recv_cq = pick(kCq);
    create.xrcd = pick(kXrcd);
    create.srq = random_.below(4) == 0 ? pick(kSrq) : 0;
    create.signal_all = static_cast<std::uint32_t>(random_.below(2));
    create.capabilities = {static_cast<std::uint32_t>(random_.below(40)), static_cast<std::uint32_t>(random_.below(40)),
                           static_cast<std::uint32_t>(random_.below(8)), static_cast<std::uint32_t>(random_.below(8)),
                           static_cast<std::uint32_t>(random_.below(200))};
    const protocol::CreateQp asked = create;
    const bool is_receiver = type == ib::QpType::kXrcReceive, is_sender = type == ib::QpType::kXrcSend;
    bool valid = true;
    std::vector<std::pair<Kind, std::uint32_t>> uses;
    if (is_receiver) {
      valid = is_alive(kXrcd, create.xrcd) && create.srq == 0;
      uses = {{kXrcd, create.xrcd}};
    } else {
      valid = is_alive(kPd, create.pd) && is_alive(kCq, create.send_cq) && (is_sender || is_alive(kCq, create.recv_cq));
      uses = {{kPd, create.pd}, {kCq, create.send_cq}};
      if (!is_sender) uses.emplace_back(kCq, create.recv_cq);
      if (create.srq != 0) {
        const std::uint32_t srq_type = is_alive(kSrq, create.srq) ? objects_[kSrq].at(create.srq).key : 1;
        valid = valid && srq_type != 1 && (srq_type == 0 || type == ib::QpType::kRc) && !is_sender && type != ib::QpType::kUc;
        uses.emplace_back(kSrq, create.srq);
      }
    }
    const int status = actor_->command(create);
    if (!judge(kQp, CommandType::kCreateQp, status, valid, true)) return;
    if (!is_receiver) {
      EXPECT_GE(create.capabilities.max_send_wr, asked.capabilities.max_send_wr);
      EXPECT_GE(create.capabilities.max_send_sge, asked.capabilities.max_send_sge);
      EXPECT_GE(create.capabilities.max_inline_data, asked.capabilities.max_inline_data);
    }
    if (!is_receiver && !is_sender && create.srq == 0) {
      EXPECT_GE(create.capabilities.max_recv_wr, asked.capabilities.max_recv_wr);
      EXPECT_GE(create.capabilities.max_recv_sge, asked.capabilities.max_recv_sge);
    }
    Object& object = add(kQp, create.handle, std::move(uses));
    object.type = type;
    object.qp.made = create;
  }

  // The next transition of a queue pair, or any transition, with attributes that may be wrong in one place.
  void modify_qp() {
    const std::uint32_t handle = pick(kQp);
    const auto it = objects_[kQp].find(handle);
    Qp nobody;
    nobody.made.handle = handle;
    Qp& qp = it == objects_[kQp].end() ? nobody : it->second.qp;
    PathOptions path;
    path.timeout = 4;
    path.retry_cnt = path.rnr_retry = 1;
    path.min_rnr_timer = 1;
    path.mtu = 1 + static_cast<std::uint32_t>(random_.below(random_.below(8) == 0 ? 8 : 5));
    path.max_rd_atomic = path.max_dest_rd_atomic = static_cast<std::uint8_t>(random_.below(random_.below(8) == 0 ? 64 : 16));
    path.access = static_cast<std::uint32_t>(random_.below(16)) & ~1u;
    const std::uint32_t peer = objects_[kQp].empty() ? 0 : objects_[kQp].at(pick_alive(kQp)).qp.made.number;
    const ib::QpState state = actor_->state(qp);
    int status = 0;
    if (random_.below(6) == 0) {
      status = actor_->to_state(qp, static_cast<ib::QpState>(random_.below(8)));
    } else if (random_.below(16) == 0) {
      protocol::QpAttributes attributes{};
      attributes.qp_state = static_cast<std::uint32_t>(random_.below(7));
      attributes.port_num = attributes.alt_port_num = 1;
      attributes.path.dlid = static_cast<std::uint16_t>(random_.below(3));
      attributes.dest_qp_num = peer;
      attributes.path_mtu = path.mtu;
      status = actor_->modify(qp, static_cast<std::uint32_t>(random_.below(1 << 21)), attributes);
    } else if (state == ib::QpState::kReset) {
      status = actor_->to_init(qp, path);
    } else if (state == ib::QpState::kInit) {
      status = actor_->to_rtr(qp, 1, peer, path);
    } else if (state == ib::QpState::kRtr) {
      status = actor_->to_rts(qp, path);
    } else {
      status = actor_->to_state(qp, random_.chance(1, 2) ? ib::QpState::kReset : ib::QpState::kErr);
    }
    Tally& tally = tallies_[static_cast<std::uint32_t>(CommandType::kModifyQp)];
    ++(status == 0 ? tally.done : tally.refused);
    if (it == objects_[kQp].end()) {
      EXPECT_EQ(status, EINVAL);
      return;
    }
    const ib::QpState now = actor_->state(qp);
    EXPECT_LE(static_cast<std::uint32_t>(now), static_cast<std::uint32_t>(ib::QpState::kErr));
    if (status != 0) {
      EXPECT_EQ(now, state) << "a refused modify changed the state";
    } else if (now == ib::QpState::kReset && state != ib::QpState::kReset) {
      qp.send_producer = qp.recv_producer = 0;
    }
  }
  std::uint32_t pick_alive(Kind kind) {
    auto it = objects_[kind].begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(objects_[kind].size())));
    return it->first;
  }

  void ask() {
    switch (random_.below(4)) {
      case 0: {
        protocol::QueryQp query{};
        query.handle = pick(kQp);
        EXPECT_EQ(actor_->command(query) == 0, is_alive(kQp, query.handle));
        break;
      }
      case 1: {
        protocol::SrqAttributes query{};
        query.handle = pick(kSrq);
        EXPECT_EQ(actor_->command(query, CommandType::kQuerySrq) == 0, is_alive(kSrq, query.handle));
        break;
      }
      case 2: {
        static constexpr std::pair<protocol::ImportObject::Kind, Kind> kImported[] = {
            {protocol::ImportObject::kPd, kPd}, {protocol::ImportObject::kDm, kDm}, {protocol::ImportObject::kMr, kMr}};
        const auto [import_kind, kind] = kImported[random_.below(std::size(kImported))];
        protocol::ImportObject import{};
        import.kind = import_kind;
        import.handle = pick(kind);
        import.pd = pick(kPd);
        const bool fits =
            kind != kMr || (is_alive(kMr, import.handle) && objects_[kMr].at(import.handle).uses[0].second == import.pd);
        EXPECT_EQ(actor_->command(import) == 0, is_alive(kind, import.handle) && fits);
        break;
      }
      default: {
        protocol::QueryPort query{};
        query.port = static_cast<std::uint32_t>(random_.below(3));
        EXPECT_EQ(actor_->command(query) == 0, query.port == 1);
        break;
      }
    }
  }
  void change_others() {
    switch (random_.below(5)) {
      case 4: {
        protocol::ModifyCq moderate{};
        moderate.handle = pick(kCq);
        moderate.count = static_cast<std::uint16_t>(random_.below(4));
        moderate.period_us = static_cast<std::uint16_t>(random_.below(5000));
        EXPECT_EQ(actor_->command(moderate) == 0,
                  is_alive(kCq, moderate.handle) && moderate.period_us <= protocol::ModifyCq::kMaxPeriodUs);
        break;
      }
      case 0: {
        protocol::ReregMr rereg{};
        rereg.handle = pick(kMr);
        rereg.flags = static_cast<std::uint32_t>(random_.below(9));
        rereg.pd = pick(kPd);
        rereg.access = static_cast<std::uint32_t>(random_.below(64));
        rereg.start = rereg.iova = Program::kBuffer + random_.below(kBufferBytes);
        rereg.length = random_.below(kBufferBytes);
        if (actor_->command(rereg) != 0) break;
        ASSERT_TRUE(is_alive(kMr, rereg.handle));
        if ((rereg.flags & 2) == 0) break;
        Object& region = objects_[kMr].at(rereg.handle);
        --objects_[kPd].at(region.uses[0].second).users;
        region.uses[0].second = rereg.pd;
        ++objects_[kPd].at(rereg.pd).users;
        break;
      }
      case 1: {
        protocol::ResizeCq resize{};
        resize.handle = pick(kCq);
        resize.cqe = static_cast<std::uint32_t>(random_.below(200));
        const int status = actor_->command(resize);
        if (status != 0) break;
        ASSERT_TRUE(is_alive(kCq, resize.handle));
        Cq& cq = objects_[kCq].at(resize.handle).cq;
        cq.ring = resize.ring_offset;
        cq.entries = resize.ring_entries;
        break;
      }
      case 2: {
        protocol::SrqAttributes modify{};
        modify.handle = pick(kSrq);
        modify.mask = static_cast<std::uint32_t>(random_.below(4));
        modify.srq_limit = static_cast<std::uint32_t>(random_.below(40));
        const bool is_done = actor_->command(modify, CommandType::kModifySrq) == 0;
        EXPECT_TRUE(!is_done || is_alive(kSrq, modify.handle));
        break;
      }
      default: {
        protocol::Multicast group{};
        group.qp = pick(kQp);
        group.gid[0] = 0xff;
        group.gid[15] = static_cast<std::uint8_t>(random_.below(3));
        group.lid = 0xc001;
        const bool attaches = random_.chance(1, 2);
        const int status =
            actor_->command(group, attaches ? CommandType::kAttachMulticast : CommandType::kDetachMulticast);
        const auto it = objects_[kQp].find(group.qp);
        const bool is_datagram = it != objects_[kQp].end() && it->second.type == ib::QpType::kUd;
        if (!is_datagram) {
          EXPECT_EQ(status, EINVAL);
          break;
        }
        const std::uint32_t bit = 1u << group.gid[15];
        if (attaches) {
          EXPECT_EQ(status, 0);
          it->second.groups |= bit;
        } else {
          EXPECT_EQ(status == 0, (it->second.groups & bit) != 0);
          it->second.groups &= ~bit;
        }
        break;
      }
    }
  }
  // Requests to objects that are being created and destroyed.
  void work() {
    if (!objects_[kQp].empty()) {
      Object& object = objects_[kQp].at(pick_alive(kQp));
      Qp& qp = object.qp;
      const std::uint32_t key = objects_[kMr].empty() ? 0 : objects_[kMr].at(pick_alive(kMr)).key;
      const protocol::Sge sge{Program::kBuffer + random_.below(4096), static_cast<std::uint32_t>(random_.below(3000)), key};
      if (object.maker != actor_) return;
      if (qp.made.recv_entries > 0 && random_.chance(1, 2)) actor_->post_recv(qp, 1, {sge});
      if (qp.made.send_entries > 0 && object.type != ib::QpType::kXrcReceive) {
        SendRequest request{.wr_id = 2, .opcode = static_cast<WqeOpcode>(random_.below(10)), .sges = {sge}};
        request.address_handle = objects_[kAh].empty() ? 0 : pick_alive(kAh);
        request.remote_qpn = objects_[kQp].at(pick_alive(kQp)).qp.made.number;
        request.remote_va = Program::kBuffer + 8 * random_.below(512);
        request.rkey = key;
        actor_->post_send(qp, request);
      }
    }
    if (!objects_[kCq].empty()) {
      Object& object = objects_[kCq].at(pick_alive(kCq));
      object.maker->drain(object.cq);
      object.maker->arm(object.cq);
    }
    world_.run_for(Duration{static_cast<std::int64_t>(random_.below(20'000'000))});
  }

  void destroy() {
    const auto kind = static_cast<Kind>(random_.below(kKinds));
    const std::uint32_t handle = pick(kind);
    const int status = actor_->destroy(kDestroy[kind], handle);
    Tally& tally = tallies_[static_cast<std::uint32_t>(kDestroy[kind])];
    const auto it = objects_[kind].find(handle);
    if (it == objects_[kind].end()) {
      ++tally.refused;
      EXPECT_EQ(status, ENOENT) << kNames[kind] << " " << handle << " is not there";
      return;
    }
    if (it->second.users > 0 || it->second.groups != 0) {
      ++tally.busy;
      EXPECT_EQ(status, EBUSY) << kNames[kind] << " " << handle << " is used";
      return;
    }
    ++tally.done;
    EXPECT_EQ(status, 0) << kNames[kind] << " " << handle;
    for (const auto& [of, used] : it->second.uses) --objects_[of].at(used).users;
    objects_[kind].erase(it);
    --alive_[kind];
  }

  std::vector<std::unique_ptr<Program>> programs_;  // the opener, then importers; only the last one may still exist
  Program* actor_ = nullptr;
  bool has_importer_ = false;
  World& world_;
  Rng& random_;
  std::map<std::uint32_t, Tally>& tallies_;
  std::array<std::uint32_t, kKinds>& alive_;
  const std::uint32_t process_;
  std::uint32_t last_handle_ = 0;
  std::map<std::uint32_t, Object> objects_[kKinds];
};

}  // namespace
}  // namespace verbatim::test
