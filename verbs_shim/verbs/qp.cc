// Queue pairs: creation, state changes, destruction.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

struct CreateRequest {
  ibv_pd* pd;
  ibv_xrcd* xrcd;
  ibv_cq* send_cq;
  ibv_cq* recv_cq;
  ibv_srq* srq;
  void* qp_context;
  ibv_qp_cap* capabilities;  // in and out
  ibv_qp_type type;
  bool signal_all;
  std::uint32_t create_flags;
  std::uint64_t caller;
  ibv_rwq_ind_table* table;  // RSS queue pairs only, with the hash
  ibv_rx_hash_conf hash;
};

// True for nullptr, which the type may allow, and for a live object.
template <typename Object, typename Public>
bool alive_or_absent(Public* handle) {
  return handle == nullptr || object<Object>(handle) != nullptr;
}

bool well_formed(const CreateRequest& request) {
  if (!alive_or_absent<Pd>(request.pd) || !alive_or_absent<Xrcd>(request.xrcd) ||
      !alive_or_absent<Cq>(request.send_cq) || !alive_or_absent<Cq>(request.recv_cq) ||
      !alive_or_absent<Srq>(request.srq) || !alive_or_absent<RwqTable>(request.table)) {
    return false;
  }
  if (request.table != nullptr) return request.pd != nullptr;
  switch (request.type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD:
    case IBV_QPT_RAW_PACKET:
      return request.pd != nullptr && request.send_cq != nullptr && request.recv_cq != nullptr;
    case IBV_QPT_XRC_SEND:
      return request.pd != nullptr && request.send_cq != nullptr;
    case IBV_QPT_XRC_RECV:
      return request.xrcd != nullptr;
    default:
      return false;
  }
}

void attach_queues(Qp& qp, const protocol::CreateQp& made) {
  if (made.type == IBV_QPT_XRC_RECV) return;  // has no queues
  qp.record = static_cast<protocol::QueuePairRecord*>(shim::arena(made.record_offset));
  qp.send.ring = static_cast<std::byte*>(shim::arena(made.send_offset));
  qp.send.entries = made.send_entries;
  qp.send.stride = made.send_stride;
  qp.send.max_wr =
      made.capabilities.max_send_wr < made.send_entries ? made.capabilities.max_send_wr : made.send_entries;
  qp.send.max_sge = made.capabilities.max_send_sge;
  qp.send.max_inline = made.capabilities.max_inline_data;
  qp.receive.ring = static_cast<std::byte*>(shim::arena(made.recv_offset));
  qp.receive.entries = made.recv_entries;
  qp.receive.stride = made.recv_stride;
  qp.receive.max_wr =
      made.capabilities.max_recv_wr < made.recv_entries ? made.capabilities.max_recv_wr : made.recv_entries;
  qp.receive.max_sge = made.capabilities.max_recv_sge;
}

ibv_qp_cap public_capabilities(const protocol::QpCapabilities& in) {
  return {in.max_send_wr, in.max_recv_wr, in.max_send_sge, in.max_recv_sge, in.max_inline_data};
}

protocol::QpCapabilities protocol_capabilities(const ibv_qp_cap& in) {
  return {in.max_send_wr, in.max_recv_wr, in.max_send_sge, in.max_recv_sge, in.max_inline_data};
}

void put_hash(const CreateRequest& request, protocol::ReceiveHash* to) {
  to->table = static_cast<std::uint32_t>(request.table->ind_tbl_handle);
  to->fields = request.hash.rx_hash_fields_mask;
  to->function = request.hash.rx_hash_function;
  to->key_length = request.hash.rx_hash_key_len;
  if (to->key_length == sizeof(to->key)) std::memcpy(to->key, request.hash.rx_hash_key, sizeof(to->key));
}

Qp* create(ibv_context* handle, const CreateRequest& request) {
  Context* context = context_of(handle);
  if (request.type == IBV_QPT_DRIVER) {
    return refuse(refuse_with(EOPNOTSUPP, "ibv_create_qp: there are no queue pairs of a driver's own (IBV_QPT_DRIVER)"));
  }
  if (context == nullptr || !well_formed(request)) {
    return refuse(refuse_with(EINVAL, "ibv_create_qp: a PD, CQ, SRQ or XRC domain that type %d needs is missing or destroyed",
                              static_cast<int>(request.type)));
  }
  auto* qp = allocate_object<Qp>();
  if (qp == nullptr) return nullptr;
  protocol::CreateQp command{};
  command.cookie = reinterpret_cast<std::uint64_t>(qp);
  command.pd = request.pd == nullptr ? 0 : request.pd->handle;
  command.send_cq = request.send_cq == nullptr ? 0 : request.send_cq->handle;
  command.recv_cq = request.recv_cq == nullptr ? 0 : request.recv_cq->handle;
  command.srq = request.srq == nullptr ? 0 : request.srq->handle;
  command.xrcd = request.xrcd == nullptr ? 0 : reinterpret_cast<Xrcd*>(request.xrcd)->handle;
  command.type = request.type;
  command.signal_all = request.signal_all ? 1 : 0;
  command.create_flags = request.create_flags;
  if (request.table != nullptr) put_hash(request, &command.hash);
  command.capabilities = protocol_capabilities(*request.capabilities);
  if (int error = execute(command, context->handle)) {
    release_object(qp);
    return refuse(error);
  }
  const std::uint64_t ring_bytes = std::uint64_t{command.send_entries} * command.send_stride +
                                   std::uint64_t{command.recv_entries} * command.recv_stride;
  if (!allocate_in_domain(request.pd, ResourceType::kQp, ring_bytes, &qp->domain_memory)) {
    destroy(protocol::CommandType::kDestroyQp, handle, command.handle);
    release_object(qp);
    return refuse(refuse_with(ENOMEM, "ibv_create_qp: the allocator of the parent domain gave no memory"));
  }
  attach_queues(*qp, command);
  if (qp->record != nullptr) qp->record->created_from = request.caller;
  if (qp->send.entries != 0) {
    qp->fingerprints = static_cast<PostNote*>(shim::allocate(qp->send.entries * sizeof(PostNote)));
  }
  qp->receive.notes = allocate_notes(qp->receive.entries);
  if (qp->record != nullptr) qp->record->receive_notes = notes_for_adapter(qp->receive.notes);
  if (const Pd* domain = object<Pd>(request.pd); domain != nullptr) qp->single.is_promised = domain->td != nullptr;
  // The number may have belonged to a destroyed QP whose completions were never polled.
  qp->send.stale = waiting_completions(request.send_cq);
  qp->receive.stale = waiting_completions(request.recv_cq);
  qp->signal_all = request.signal_all;
  qp->capabilities = public_capabilities(command.capabilities);
  *request.capabilities = qp->capabilities;
  ibv_qp* base = public_qp(qp);
  base->context = handle;
  base->qp_context = request.qp_context;
  base->pd = request.pd;
  enter_domain(request.pd);
  base->send_cq = request.send_cq;
  base->recv_cq = request.recv_cq;
  base->srq = request.srq;
  base->handle = command.handle;
  base->qp_num = command.number;
  base->state = IBV_QPS_RESET;
  base->qp_type = request.type;
  add_qp(*context, *qp);
  return qp;
}

void discard_completions_of(Qp& qp) {
  const ibv_qp* base = public_qp(&qp);
  discard_completions(base->send_cq, base->qp_num);
  if (base->recv_cq != base->send_cq) discard_completions(base->recv_cq, base->qp_num);
}

// RESET empties both queues: the adapter discards what was posted and restarts its counters at 0, and so does
// this side.
void restart_queues(Qp& qp) {
  if (qp.record == nullptr) return;
  discard_completions_of(qp);
  qp.send.producer = qp.send.reclaimed = qp.fence_end = 0;
  qp.has_failed = false;
  qp.send.stale = waiting_completions(public_qp(&qp)->send_cq);
  qp.receive.producer = qp.receive.reclaimed = 0;
  qp.receive.stale = waiting_completions(public_qp(&qp)->recv_cq);
  qp.record->send_producer.store(0, std::memory_order_release);
  qp.record->recv_producer.store(0, std::memory_order_release);
}

protocol::QpAttributes to_protocol(const ibv_qp_attr& in, int mask) {
  protocol::QpAttributes out{};
  // Fields that the mask does not name may be uninitialised in the program and are not passed on.
  auto given = [mask](int bit) { return (mask & bit) != 0; };
  if (given(IBV_QP_STATE)) out.qp_state = in.qp_state;
  if (given(IBV_QP_CUR_STATE)) out.cur_qp_state = in.cur_qp_state;
  if (given(IBV_QP_EN_SQD_ASYNC_NOTIFY)) out.en_sqd_async_notify = in.en_sqd_async_notify;
  if (given(IBV_QP_ACCESS_FLAGS)) out.qp_access_flags = in.qp_access_flags;
  if (given(IBV_QP_PKEY_INDEX)) out.pkey_index = in.pkey_index;
  if (given(IBV_QP_PORT)) out.port_num = in.port_num;
  if (given(IBV_QP_QKEY)) out.qkey = in.qkey;
  if (given(IBV_QP_AV)) out.path = address_vector(in.ah_attr);
  if (given(IBV_QP_PATH_MTU)) out.path_mtu = in.path_mtu;
  if (given(IBV_QP_TIMEOUT)) out.timeout = in.timeout;
  if (given(IBV_QP_RETRY_CNT)) out.retry_cnt = in.retry_cnt;
  if (given(IBV_QP_RNR_RETRY)) out.rnr_retry = in.rnr_retry;
  if (given(IBV_QP_RQ_PSN)) out.rq_psn = in.rq_psn;
  if (given(IBV_QP_MAX_QP_RD_ATOMIC)) out.max_rd_atomic = in.max_rd_atomic;
  if (given(IBV_QP_MIN_RNR_TIMER)) out.min_rnr_timer = in.min_rnr_timer;
  if (given(IBV_QP_SQ_PSN)) out.sq_psn = in.sq_psn;
  if (given(IBV_QP_MAX_DEST_RD_ATOMIC)) out.max_dest_rd_atomic = in.max_dest_rd_atomic;
  if (given(IBV_QP_PATH_MIG_STATE)) out.path_mig_state = in.path_mig_state;
  if (given(IBV_QP_CAP)) out.capabilities = protocol_capabilities(in.cap);
  if (given(IBV_QP_DEST_QPN)) out.dest_qp_num = in.dest_qp_num;
  if (given(IBV_QP_RATE_LIMIT)) out.rate_limit = in.rate_limit;
  if (given(IBV_QP_ALT_PATH)) {
    out.alternate_path = address_vector(in.alt_ah_attr);
    out.alt_pkey_index = in.alt_pkey_index;
    out.alt_port_num = in.alt_port_num;
    out.alt_timeout = in.alt_timeout;
  }
  return out;
}

void from_protocol(ibv_qp_attr* out, const protocol::QpAttributes& in) {
  std::memset(out, 0, sizeof(*out));
  out->qp_state = static_cast<ibv_qp_state>(in.qp_state);
  out->cur_qp_state = static_cast<ibv_qp_state>(in.cur_qp_state);
  out->path_mtu = static_cast<ibv_mtu>(in.path_mtu);
  out->path_mig_state = static_cast<ibv_mig_state>(in.path_mig_state);
  out->qkey = in.qkey;
  out->rq_psn = in.rq_psn;
  out->sq_psn = in.sq_psn;
  out->dest_qp_num = in.dest_qp_num;
  out->qp_access_flags = in.qp_access_flags;
  out->cap = public_capabilities(in.capabilities);
  out->ah_attr = ah_attributes(in.path);
  out->alt_ah_attr = ah_attributes(in.alternate_path);
  out->pkey_index = in.pkey_index;
  out->alt_pkey_index = in.alt_pkey_index;
  out->en_sqd_async_notify = in.en_sqd_async_notify;
  out->sq_draining = in.sq_draining;
  out->max_rd_atomic = in.max_rd_atomic;
  out->max_dest_rd_atomic = in.max_dest_rd_atomic;
  out->min_rnr_timer = in.min_rnr_timer;
  out->port_num = in.port_num;
  out->timeout = in.timeout;
  out->retry_cnt = in.retry_cnt;
  out->rnr_retry = in.rnr_retry;
  out->alt_port_num = in.alt_port_num;
  out->alt_timeout = in.alt_timeout;
  out->rate_limit = in.rate_limit;
}

}  // namespace

// A second handle of a receiving queue pair of an XRC domain.
ibv_qp* open_qp(ibv_context* handle, ibv_qp_open_attr* attributes) {
  constexpr std::uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  constexpr std::uint32_t kKnown = kNeeded | IBV_QP_OPEN_ATTR_CONTEXT;
  Context* context = context_of(handle);
  if (context == nullptr || (attributes->comp_mask & kNeeded) != kNeeded ||
      (attributes->comp_mask & ~kKnown) != 0 || attributes->qp_type != IBV_QPT_XRC_RECV ||
      object<Xrcd>(attributes->xrcd) == nullptr) {
    return refuse(refuse_with(EINVAL, "ibv_open_qp: comp_mask %#x needs NUM, XRCD and TYPE, and the type IBV_QPT_XRC_RECV",
                              attributes->comp_mask));
  }
  auto* qp = allocate_object<Qp>();
  if (qp == nullptr) return nullptr;
  protocol::OpenQp command{};
  command.cookie = reinterpret_cast<std::uint64_t>(qp);
  command.xrcd = reinterpret_cast<Xrcd*>(attributes->xrcd)->handle;
  command.number = attributes->qp_num;
  if (int error = execute(command, context->handle)) {
    release_object(qp);
    return refuse(error);
  }
  ibv_qp* base = public_qp(qp);
  base->context = handle;
  if ((attributes->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) base->qp_context = attributes->qp_context;
  base->handle = command.handle;
  base->qp_num = command.number;
  base->state = static_cast<ibv_qp_state>(command.state);
  base->qp_type = IBV_QPT_XRC_RECV;
  fill_send_operations(&qp->base, 0);
  add_qp(*context, *qp);
  return base;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                   IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
                                   IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH |
                                   IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  constexpr std::uint32_t kScales = IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  std::uint32_t mask = attributes->comp_mask;
  if ((mask & ~kKnown) != 0) return refuse(refuse_with(EINVAL, "ibv_create_qp_ex: unknown bits in comp_mask %#x", mask));
  if ((mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0) {
    return refuse(refuse_with(EOPNOTSUPP, "ibv_create_qp_ex: the device has no TSO (max_tso_header)"));
  }
  const bool scales = (mask & kScales) != 0;
  if (scales && ((mask & kScales) != kScales || object<RwqTable>(attributes->rwq_ind_tbl) == nullptr)) {
    return refuse(refuse_with(EINVAL, "ibv_create_qp_ex: IND_TABLE and RX_HASH come together, with a table that is there"));
  }
  bool extended = (mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  std::uint64_t supported = supported_send_ops(attributes->qp_type);
  if (extended && (attributes->send_ops_flags & ~supported) != 0) {
    return refuse(refuse_with(EOPNOTSUPP, "ibv_create_qp_ex: type %d lacks %#llx of send_ops_flags %#llx",
                              static_cast<int>(attributes->qp_type),
                              static_cast<unsigned long long>(attributes->send_ops_flags & ~supported),
                              static_cast<unsigned long long>(attributes->send_ops_flags)));
  }

  CreateRequest request{};
  request.caller = address_of(__builtin_return_address(0));
  request.pd = (mask & IBV_QP_INIT_ATTR_PD) != 0 ? attributes->pd : nullptr;
  request.xrcd = (mask & IBV_QP_INIT_ATTR_XRCD) != 0 ? attributes->xrcd : nullptr;
  bool receive_only = attributes->qp_type == IBV_QPT_XRC_RECV || scales;
  bool send_only = attributes->qp_type == IBV_QPT_XRC_SEND;
  request.send_cq = receive_only ? nullptr : attributes->send_cq;
  request.recv_cq = receive_only || send_only ? nullptr : attributes->recv_cq;
  request.srq = receive_only || send_only ? nullptr : attributes->srq;
  request.qp_context = attributes->qp_context;
  request.capabilities = &attributes->cap;
  request.type = attributes->qp_type;
  request.signal_all = attributes->sq_sig_all != 0;
  request.create_flags = (mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 ? attributes->create_flags : 0;
  if (scales) {
    request.table = attributes->rwq_ind_tbl;
    request.hash = attributes->rx_hash_conf;
  }
  Qp* qp = create(context, request);
  if (qp == nullptr) return nullptr;
  qp->extended = extended;
  fill_send_operations(&qp->base, extended ? attributes->send_ops_flags : 0);
  return public_qp(qp);
}

}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Qp;

extern "C" ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  verbs::CreateRequest request{};
  request.caller = verbs::address_of(__builtin_return_address(0));
  request.pd = pd;
  request.send_cq = attributes->send_cq;
  request.recv_cq = attributes->recv_cq;
  request.srq = attributes->srq;
  request.qp_context = attributes->qp_context;
  request.capabilities = &attributes->cap;
  request.type = attributes->qp_type;
  request.signal_all = attributes->sq_sig_all != 0;
  Qp* qp = verbs::create(pd->context, request);
  if (qp == nullptr) return nullptr;
  verbs::fill_send_operations(&qp->base, 0);
  return verbs::public_qp(qp);
}

extern "C" ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* handle) {
  auto* qp = verbs::object<Qp>(handle);
  return qp != nullptr && qp->extended ? &qp->base : nullptr;
}

extern "C" int ibv_modify_qp(ibv_qp* handle, ibv_qp_attr* attributes, int mask) {
  auto* qp = verbs::object<Qp>(handle);
  if (qp == nullptr) return EINVAL;
  protocol::ModifyQp command{};
  command.handle = handle->handle;
  command.mask = static_cast<std::uint32_t>(mask);
  command.attributes = verbs::to_protocol(*attributes, mask);
  if (int error = verbs::execute(command, verbs::handle_of(handle->context), protocol::ModifyQp::kType))
    return error;
  if ((mask & IBV_QP_STATE) == 0) return 0;
  handle->state = attributes->qp_state;
  if (handle->state == IBV_QPS_RESET) verbs::restart_queues(*qp);
  return 0;
}

extern "C" int ibv_query_qp(ibv_qp* handle, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init) {
  auto* qp = verbs::object<Qp>(handle);
  if (qp == nullptr) return EINVAL;
  protocol::QueryQp command{};
  command.handle = handle->handle;
  command.mask = static_cast<std::uint32_t>(mask);
  if (int error = verbs::execute(command, verbs::handle_of(handle->context), protocol::QueryQp::kType))
    return error;
  verbs::from_protocol(attributes, command.attributes);
  attributes->cap = qp->capabilities;
  if ((mask & IBV_QP_STATE) != 0) handle->state = attributes->qp_state;
  init->qp_context = handle->qp_context;
  init->send_cq = handle->send_cq;
  init->recv_cq = handle->recv_cq;
  init->srq = handle->srq;
  init->cap = qp->capabilities;
  init->qp_type = handle->qp_type;
  init->sq_sig_all = qp->signal_all ? 1 : 0;
  return 0;
}

extern "C" int ibv_destroy_qp(ibv_qp* handle) {
  auto* qp = verbs::object<Qp>(handle);
  if (qp == nullptr) return EINVAL;
  if (int error = verbs::destroy(protocol::CommandType::kDestroyQp, handle->context, handle->handle))
    return error;
  verbs::discard_completions_of(*qp);
  if (auto* context = verbs::context_of(handle->context)) verbs::remove_qp(*context, *qp);
  verbs::wait_for_acknowledgements(&handle->mutex, &handle->cond, &handle->events_completed, &qp->async_events,
                                   VERBATIM_WAIT_IN(protocol::WaitingVerb::kDestroyQp, handle->qp_num, qp->event_taker));
  verbs::release_in_domain(handle->pd, verbs::ResourceType::kQp, &qp->domain_memory);
  verbs::leave_domain(handle->pd);
  shim::release(qp->fingerprints);
  shim::release(qp->receive.notes);
  verbs::release_object(qp);
  return 0;
}

// Enhanced connection establishment (ibv_query_ece(3)): the adapters have no options beyond the
// specification. A queue pair reports its vendor without options, and accepts none of a peer's options,
// whatever the peer's vendor.
extern "C" int ibv_query_ece(ibv_qp* handle, ibv_ece* ece) {
  if (verbs::object<Qp>(handle) == nullptr) return EINVAL;
  *ece = {};
  ece->vendor_id = reinterpret_cast<const verbs::Device*>(handle->context->device)->vendor_id;
  return 0;
}

extern "C" int ibv_set_ece(ibv_qp* handle, ibv_ece* ece) {
  if (ece->vendor_id == 0) {
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
  }
  if (verbs::object<Qp>(handle) == nullptr || ece->comp_mask != 0) {
    errno = EINVAL;
    return EINVAL;
  }
  ece->options = 0;
  return 0;
}

// No arrival order within a message is guaranteed.
extern "C" int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) { return 0; }
