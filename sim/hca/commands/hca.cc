#include "sim/hca/hca.h"

#include <utility>

#include "sim/hca/commands/hca_impl.h"

namespace verbatim::hca {

namespace {
constexpr std::uint32_t kFirstCqn = 0x80;
constexpr std::uint32_t kFirstSrqn = 0x40;
constexpr std::uint32_t kNumberLimit = 1u << 24;

void put_word(std::uint64_t value, std::uint8_t* bytes) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (56 - 8 * i));
}

// The table as a subnet manager has set it, whose first entry was `first`: prefix and GUID each.
std::vector<ib::Gid> gids_of(const PortConfiguration& to, ib::Gid first) {
  put_word(to.subnet_prefix, first.raw);
  std::vector<ib::Gid> gids = {first};
  for (std::size_t i = 1; i < to.guids.size(); ++i) {
    if (to.guids[i] == 0) continue;
    gids.resize(i + 1);
    put_word(to.subnet_prefix, gids[i].raw);
    put_word(to.guids[i], gids[i].raw + 8);
  }
  return gids;
}
}  // namespace

Hca::Hca(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, std::string device_name,
         const HcaProfile& profile, const PortAddress& address)
    : impl_(std::make_unique<Impl>(engine, tracer, choices, id, std::move(device_name), profile, address)) {}

Hca::~Hca() = default;

ComponentId Hca::component() const { return impl_->adapter.id; }
const std::string& Hca::device_name() const { return impl_->device_name; }
const HcaProfile& Hca::profile() const { return impl_->adapter.profile; }
const PortAddress& Hca::address() const { return impl_->adapter.address; }
const CongestionCounters& Hca::congestion_counters() const { return impl_->adapter.congestion.counters(); }
const QueueCounters& Hca::queue_counters() const { return impl_->adapter.counters; }

void Hca::set_injection(const ib::InjectionSetting& setting) {
  Adapter& adapter = impl_->adapter;
  adapter.congestion.set_injection(setting);
  adapter.qps.each([](const Ref<QueuePair>& qp) {
    if (qp.get() != nullptr && qp.get()->can_receive()) qp.get()->renew_pacer();
  });
}
ib::InjectionLog* Hca::injection_log() {
  InjectionState* const state = impl_->adapter.congestion.injection();
  return state == nullptr ? nullptr : &state->log;
}

void Hca::attach(fabric::Port& port) {
  impl_->adapter.sender.attach(port);
  impl_->adapter.input.attach(port);
}

ib::ManagementPort& Hca::management() { return impl_->adapter.services; }
void Hca::attach(ib::ManagementAgent& agent) { impl_->adapter.services.attach(agent); }
ib::KeyViolations& Hca::key_violations() { return impl_->adapter.key_guard.violations(); }
void Hca::attach(ib::KeyViolationListener& listener) { impl_->adapter.key_guard.set_listener(listener); }
void Hca::attach(ib::LateReceiveJudge& judge) { impl_->adapter.late_receive_judge = &judge; }

void Hca::configure(const PortConfiguration& configuration) { impl_->configure(configuration); }
void Hca::set_subnet_manager(bool is_one) { impl_->adapter.address.is_subnet_manager = is_one; }

void Hca::fail() { impl_->fail(); }
bool Hca::has_failed() const { return impl_->adapter.has_failed; }

std::uint32_t Hca::open(const ProgramPort& program) { return impl_->open(program); }
std::uint32_t Hca::share(std::uint32_t context, const ProgramPort& program) { return impl_->share(context, program); }
void Hca::leave(std::uint32_t context) { impl_->leave(context); }
void Hca::keep_memory(std::uint32_t context) { impl_->keep_memory(context); }
void Hca::close(std::uint32_t context) { impl_->close(context); }
void Hca::use_failing_calls(FailingCalls& calls, ComponentId host) {
  impl_->failing_calls = &calls;
  impl_->host = host;
}

void Hca::execute(std::span<std::byte> mailbox) { impl_->execute(mailbox); }

void Hca::ring_doorbell(std::uint32_t context, protocol::DoorbellKind kind, std::uint32_t number,
                        std::uint64_t value, Duration call_time) {
  impl_->ring_doorbell(context, kind, number, value, call_time);
}

const Inspector& Hca::inspector() const { return impl_->inspector; }

void Hca::report_end_of_region(std::uint32_t context, std::uint32_t handle, std::function<std::string()> place) {
  impl_->report_end_of_region(context, handle, std::move(place));
}

Instant Hca::next_effect() const { return impl_->next_effect(); }

void Hca::visit_touches_before(Instant limit, std::vector<host::TouchedBytes>& bytes, const TouchVisitor& visit) const {
  impl_->adapter.dma.for_each_touch_before(limit, [&](Instant when, const host::DmaClient& client, std::uint64_t cookie) {
    bytes.clear();
    const host::Touch touch = client.touch_of(cookie, bytes);
    if (touch == host::Touch::kUnknown || !bytes.empty()) visit(when, touch, bytes);
  });
}

std::size_t Hca::queue_pair_bytes() { return Pool<QueuePair>::bytes_each(); }

void Hca::receive(fabric::PortNumber, ib::PacketPtr packet, fabric::ArrivalTimes times) {
  impl_->adapter.receiver.receive(std::move(packet), times);
}

void Hca::link_changed(fabric::PortNumber, bool up) { impl_->link_changed(up); }

Hca::Impl::Impl(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, std::string device_name,
                const HcaProfile& profile, const PortAddress& address)
    : device_name(std::move(device_name)),
      adapter(engine, tracer, choices, id, profile, address),
      qp_numbers_(kFirstQueuePairNumber, kNumberLimit, profile.reuse_qp_numbers),
      cq_numbers_(kFirstCqn, kNumberLimit),
      srq_numbers_(kFirstSrqn, kNumberLimit),
      doorbell_stage_(adapter.clock, profile.doorbell),
      doorbells_on_the_way_(
          DelayLine<Doorbell>::of<&Impl::on_doorbell_arrived>(engine, id, EventClass::kArrival, this)),
      doorbells_(DelayLine<Doorbell>::of<&Impl::on_doorbell>(engine, id, EventClass::kStage, this)) {
  own_context_ = context_pool_.create(0u, ProgramPort{}, std::shared_ptr<Arena>(), own_objects_);
}

Hca::Impl::~Impl() { adapter.input.detach(); }

Context* Hca::Impl::find_context(std::uint32_t number) {
  const auto it = contexts_.find(number);
  return it == contexts_.end() || it->second.get()->has_left() ? nullptr : it->second.get();
}

std::uint32_t Hca::Impl::open(const ProgramPort& program) {
  auto objects = std::make_unique<Ucontext>();
  const std::uint32_t number = add_context(*objects, program);
  openings_[number] = std::move(objects);
  return number;
}

std::uint32_t Hca::Impl::share(std::uint32_t context, const ProgramPort& program) {
  return add_context(contexts_.at(context).get()->objects, program);
}

std::uint32_t Hca::Impl::add_context(Ucontext& objects, const ProgramPort& program) {
  CHECK(program.memory != nullptr && program.listener != nullptr);
  // Kept when the last context is closed: it knows which memory has been used before.
  std::shared_ptr<Arena>& arena = arenas_[program.process];
  if (arena == nullptr || arena->memory().data() != program.arena.data()) {
    arena = std::make_shared<Arena>(program.arena);
  }
  const std::uint32_t number = ++last_context_;
  contexts_[number] = context_pool_.create(number, program, arena, objects);
  objects.contexts.push_back(contexts_[number]);
  return number;
}

void Hca::Impl::leave(std::uint32_t number) {
  if (const auto it = contexts_.find(number); it != contexts_.end()) it->second.get()->leave();
}

void Hca::Impl::keep_memory(std::uint32_t number) {
  if (const auto it = contexts_.find(number); it != contexts_.end()) it->second.get()->keep_memory();
}

void Hca::Impl::close(std::uint32_t number) {
  const auto found = contexts_.find(number);
  if (found == contexts_.end()) return;
  Ucontext& objects = found->second.get()->objects;
  end_objects(objects);
  const std::uint32_t first = objects.contexts.front().get()->number;
  for (const Ref<Context>& one : objects.contexts) {
    contexts_.erase(one.get()->number);
    context_pool_.destroy(one);
  }
  openings_.erase(first);
}

void Hca::Impl::end_objects(Ucontext& objects) {
  Context* context = objects.contexts.front().get();
  // Users before what they use; in the order of handles.
  while (!objects.flows.empty()) close_flow(*context, objects.flows.begin()->first);
  counters_count_ -= static_cast<std::uint32_t>(objects.counters.size());
  while (!objects.qps.empty()) close_qp(*context, objects.qps.begin()->first);
  while (!objects.tables.empty()) close_table(*context, objects.tables.begin()->first);
  while (!objects.wqs.empty()) close_wq(*context, objects.wqs.begin()->first);
  while (!objects.srqs.empty()) remove_srq(*objects.srqs.begin()->second.get());
  while (!objects.cqs.empty()) remove_cq(*objects.cqs.begin()->second.get());
  while (!objects.xrcds.empty()) close_xrc_opening(*context, objects.xrcds.begin()->first);
  for (const auto& [handle, region] : objects.mrs) adapter.keys.remove(region->key);
  for (const auto& [handle, window] : objects.mws) adapter.keys.remove(window->key);
  mw_count_ -= static_cast<std::uint32_t>(objects.mws.size());
  mr_count_ -= static_cast<std::uint32_t>(objects.mrs.size());
  ah_count_ -= static_cast<std::uint32_t>(objects.ahs.size());
  pd_count_ -= static_cast<std::uint32_t>(objects.pds.size());
  for (const auto& [handle, dm] : objects.dms) adapter.memory.release(dm.offset);
  objects.counters.clear();
  objects.mrs.clear();
  objects.mws.clear();
  objects.ahs.clear();
  objects.pds.clear();
  objects.dms.clear();
}

// Completions that are written stay to be polled: they are in the program's memory.
void Hca::Impl::fail() {
  if (adapter.has_failed) return;
  adapter.completions.withdraw();
  for (const auto& [number, objects] : openings_) end_objects(*objects);
  notify_programs(ib::AsyncEventType::kDeviceFatal);
  adapter.has_failed = true;
  fail_sources();
  adapter.services.report_failure();
}

void Hca::Impl::notify_programs(ib::AsyncEventType event) {
  if (adapter.has_failed) return;
  for (const auto& [number, context] : contexts_) {
    if (!context.get()->has_left()) adapter.notifier.port_event(*context.get(), event);
  }
}

CompletionQueue* Hca::Impl::find_cq_by_number(const Context& context, std::uint32_t number) {
  const auto it = cqs_.find(number);
  CompletionQueue* cq = it == cqs_.end() ? nullptr : it->second.get();
  return cq != nullptr && &cq->context == &context ? cq : nullptr;
}

void Hca::Impl::report_end_of_region(std::uint32_t number, std::uint32_t handle, std::function<std::string()> place) {
  const Context* const context = find_context(number);
  if (context == nullptr) return;
  const auto region = context->objects.mrs.find(handle);
  if (region != context->objects.mrs.end()) adapter.diagnoses.on_end_of_region(region->second->key, std::move(place));
}

Instant Hca::Impl::next_effect() const {
  return std::min({adapter.notifier.next(), adapter.services.next_delivery(), adapter.records.next()});
}

QueuePair* Hca::Impl::find_qp_by_number(const Context& context, std::uint32_t number) {
  QueuePair* qp = adapter.qp_by_number(ib::Qpn{number});
  return qp != nullptr && &qp->context == &context ? qp : nullptr;
}

void Hca::Impl::ring_doorbell(std::uint32_t number, protocol::DoorbellKind kind, std::uint32_t object,
                              std::uint64_t value, Duration call_time) {
  Context* context = find_context(number);
  if (context == nullptr) return;  // a program can only ring what it has opened
  const bool sends = kind == protocol::DoorbellKind::kSendQueue;
  std::uint32_t before = 0, pushed = 0;
  if (kind == protocol::DoorbellKind::kCompletionQueueArm) {
    if (const CompletionQueue* cq = find_cq_by_number(*context, object)) before = cq->written();
  } else if (kind == protocol::DoorbellKind::kTagOperations) {
    // A shared receive queue has no resets.
  } else if (QueuePair* qp = find_qp_by_number(*context, object)) {
    before = qp->ring_epoch;
    if (sends) pushed = qp->on_ring(static_cast<std::uint32_t>(value));
  }
  send_doorbell(*context, kind, object, value, before, pushed, call_time);
}

void Hca::Impl::send_doorbell(Context& context, protocol::DoorbellKind kind, std::uint32_t number, std::uint64_t value,
                              std::uint32_t before, std::uint32_t pushed, Duration call_time) {
  const Instant now = adapter.engine.now();
  Trail trail;
  if (kind == protocol::DoorbellKind::kSendQueue) trail = adapter.tracer.trail(now - call_time);
  trail.add(now, {adapter.id, "CPU: post", TrailKind::kDelay});
  const Instant arrival = pushed > 0 ? adapter.dma.push(pushed, trail) : adapter.dma.ring(trail);
  doorbells_on_the_way_.push(arrival,
                             {context.self, kind, number, value, before, now, pushed > 0, std::move(trail)});
}

void Hca::Impl::link_changed(bool up) {
  const bool was_active = adapter.address.state == PortState::kActive;
  adapter.port_is_up = up;
  adapter.services.report_link(up);
  if (up ? adapter.address.state != PortState::kActive : !was_active) return;
  notify_programs(up ? ib::AsyncEventType::kPortActive : ib::AsyncEventType::kPortError);
}

void Hca::Impl::configure(const PortConfiguration& to) {
  PortAddress& address = adapter.address;
  const auto notify = [&](ib::AsyncEventType event) {
    if (adapter.port_is_up) notify_programs(event);
  };
  const PortState before = address.state;
  const bool has_other_lid = address.lid != to.lid, has_other_manager = address.sm_lid != to.sm_lid;
  const bool has_other_pkeys = address.pkeys != to.pkeys;
  address.state = to.state;
  address.lid = to.lid;
  address.sm_lid = to.sm_lid;
  address.lmc = to.lmc;
  address.sm_service_level = to.sm_service_level;
  address.subnet_timeout = to.subnet_timeout;
  address.pkeys = to.pkeys;
  const std::vector<ib::Gid> gids = gids_of(to, address.gids.front());
  const bool has_other_gids = address.gids != gids;
  address.gids = gids;
  if (has_other_manager) notify(ib::AsyncEventType::kSubnetManagerChange);
  if (has_other_lid) notify(ib::AsyncEventType::kLidChange);
  if (has_other_gids) notify(ib::AsyncEventType::kGidChange);
  if (has_other_pkeys) notify(ib::AsyncEventType::kPkeyChange);
  if (to.asks_for_registration) notify(ib::AsyncEventType::kClientReregister);
  if (before != PortState::kActive && to.state == PortState::kActive) notify(ib::AsyncEventType::kPortActive);
  if (before == PortState::kActive && to.state != PortState::kActive) notify(ib::AsyncEventType::kPortError);
}

void Hca::Impl::on_doorbell_arrived(Doorbell doorbell) {
  const Instant done = doorbell_stage_.accept(adapter.engine.now(), doorbell.trail, adapter.id, "doorbell");
  doorbells_.push(done, std::move(doorbell));
}

void Hca::Impl::on_doorbell(Doorbell doorbell) {
  const Context* context = doorbell.context.get();
  if (context == nullptr) return;
  const std::uint32_t producer = static_cast<std::uint32_t>(doorbell.value);
  adapter.tracer.record(adapter.id, TraceEvent::kDoorbell, static_cast<std::uint64_t>(doorbell.kind),
                        doorbell.number, doorbell.value);
  if (doorbell.kind == protocol::DoorbellKind::kCompletionQueueArm) {
    CompletionQueue* cq = find_cq_by_number(*context, doorbell.number);
    if (cq != nullptr) cq->arm(doorbell.value == protocol::kArmSolicited, doorbell.before, doorbell.rung);
    return;
  }
  if (doorbell.kind == protocol::DoorbellKind::kTagOperations) {
    SharedReceiveQueue* srq = adapter.srq_by_number(doorbell.number).get();
    if (srq != nullptr && &srq->context == context && srq->tags != nullptr) srq->tags->on_doorbell(producer);
    return;
  }
  QueuePair* qp = find_qp_by_number(*context, doorbell.number);
  if (qp == nullptr || qp->ring_epoch != doorbell.before) return;  // gone, or reset meanwhile
  if (doorbell.kind == protocol::DoorbellKind::kSendQueue) {
    qp->requester_driver.on_doorbell(producer, doorbell.has_work, std::move(doorbell.trail));
  }
  if (doorbell.kind == protocol::DoorbellKind::kReceiveQueue) qp->own_receives.on_doorbell(producer);
}

}  // namespace verbatim::hca
