#include "sim/hca/datapath/diagnoses.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "sim/core/time_text.h"
#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/completion_queue.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/ib/addressee.h"
#include "sim/ib/qp_state.h"
#include "sim/ib/wc_status.h"

namespace verbatim::hca {

using ib::WcStatus;
using protocol::CommandType;

namespace {

std::string_view verb_of(CommandType type) {
  switch (type) {
    case CommandType::kListDevices:
      return "ibv_get_device_list";
    case CommandType::kOpenDevice:
      return "ibv_open_device";
    case CommandType::kCloseDevice:
      return "ibv_close_device";
    case CommandType::kQueryDevice:
      return "ibv_query_device";
    case CommandType::kQueryPort:
      return "ibv_query_port";
    case CommandType::kQueryGid:
      return "ibv_query_gid";
    case CommandType::kQueryPkey:
      return "ibv_query_pkey";
    case CommandType::kAllocPd:
      return "ibv_alloc_pd";
    case CommandType::kDeallocPd:
      return "ibv_dealloc_pd";
    case CommandType::kRegMr:
      return "ibv_reg_mr";
    case CommandType::kDeregMr:
      return "ibv_dereg_mr";
    case CommandType::kCreateChannel:
      return "ibv_create_comp_channel";
    case CommandType::kCreateCq:
      return "ibv_create_cq";
    case CommandType::kDestroyCq:
      return "ibv_destroy_cq";
    case CommandType::kModifyCq:
      return "ibv_modify_cq";
    case CommandType::kResizeCq:
      return "ibv_resize_cq";
    case CommandType::kCreateQp:
      return "ibv_create_qp";
    case CommandType::kQueryQp:
      return "ibv_query_qp";
    case CommandType::kModifyQp:
      return "ibv_modify_qp";
    case CommandType::kDestroyQp:
      return "ibv_destroy_qp";
    case CommandType::kCreateAh:
      return "ibv_create_ah";
    case CommandType::kDestroyAh:
      return "ibv_destroy_ah";
    case CommandType::kCreateSrq:
      return "ibv_create_srq";
    case CommandType::kModifySrq:
      return "ibv_modify_srq";
    case CommandType::kQuerySrq:
      return "ibv_query_srq";
    case CommandType::kDestroySrq:
      return "ibv_destroy_srq";
    case CommandType::kAttachMulticast:
      return "ibv_attach_mcast";
    case CommandType::kDetachMulticast:
      return "ibv_detach_mcast";
    case CommandType::kAllocMw:
      return "ibv_alloc_mw";
    case CommandType::kDeallocMw:
      return "ibv_dealloc_mw";
    case CommandType::kOpenXrcd:
      return "ibv_open_xrcd";
    case CommandType::kCloseXrcd:
      return "ibv_close_xrcd";
    case CommandType::kOpenQp:
      return "ibv_open_qp";
    case CommandType::kReregMr:
      return "ibv_rereg_mr";
    case CommandType::kReportRefusal:
      return "mlx5dv";
    case CommandType::kAllocDm:
      return "ibv_alloc_dm";
    case CommandType::kFreeDm:
      return "ibv_free_dm";
    case CommandType::kCopyDm:
      return "ibv_memcpy_to_dm or ibv_memcpy_from_dm";
    case CommandType::kRegDmMr:
      return "ibv_reg_dm_mr";
    case CommandType::kAllocNullMr:
      return "ibv_alloc_null_mr";
    case CommandType::kAdviseMr:
      return "ibv_advise_mr";
    case CommandType::kImportDevice:
      return "ibv_import_device";
    case CommandType::kImportObject:
      return "ibv_import_pd, ibv_import_mr or ibv_import_dm";
    case CommandType::kCreateFlow:
      return "ibv_create_flow";
    case CommandType::kDestroyFlow:
      return "ibv_destroy_flow";
    case CommandType::kCreateCounters:
      return "ibv_create_counters";
    case CommandType::kDestroyCounters:
      return "ibv_destroy_counters";
    case CommandType::kAttachCounter:
      return "ibv_attach_counters_point_flow";
    case CommandType::kReadCounters:
      return "ibv_read_counters";
    case CommandType::kCreateWq:
      return "ibv_create_wq";
    case CommandType::kModifyWq:
      return "ibv_modify_wq";
    case CommandType::kDestroyWq:
      return "ibv_destroy_wq";
    case CommandType::kCreateRwqTable:
      return "ibv_create_rwq_ind_table";
    case CommandType::kDestroyRwqTable:
      return "ibv_destroy_rwq_ind_table";
  }
  return "an unknown command";
}

std::string rights(std::uint32_t access) {
  constexpr std::pair<std::uint32_t, const char*> kNames[] = {
      {ib::kLocalWrite, "IBV_ACCESS_LOCAL_WRITE"},     {ib::kRemoteWrite, "IBV_ACCESS_REMOTE_WRITE"},
      {ib::kRemoteRead, "IBV_ACCESS_REMOTE_READ"},     {ib::kRemoteAtomic, "IBV_ACCESS_REMOTE_ATOMIC"},
  };
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((access & bit) != 0) text += (text.empty() ? "" : " and ") + std::string(name);
  }
  return text;
}

std::uint32_t right_for(ib::Opcode opcode) {
  const ib::OpcodeInfo& operation = ib::info(opcode);
  if (operation.has_atomic_eth) return ib::kRemoteAtomic;
  return operation_of(opcode) == ib::Operation::kReadRequest ? ib::kRemoteRead : ib::kRemoteWrite;
}

std::string range(std::uint64_t first, std::uint64_t length) {
  return join("[", Hex{first}, ", ", Hex{first + length}, ")");
}

}  // namespace

std::string Diagnoses::peer_of(const QueuePair& qp) {
  if (qp.is_datagram() || qp.is_raw()) return "";
  const protocol::AddressVector& path = qp.attributes.path;
  const ib::Qpn number{qp.attributes.dest_qp_num};
  if (path.is_global == 0) return ib::addressee(ib::Lid{path.dlid}, number);
  ib::Gid gid;
  std::memcpy(gid.raw, path.dgid, sizeof gid.raw);
  return ib::addressee(gid, number);
}

void Diagnoses::end_command(CommandType type, std::uint32_t process, int error) {
  const char* name = strerrorname_np(error);
  const std::string text = join(verb_of(type), ": ", name != nullptr ? name : "an error", reason_.empty() ? "" : ": ", reason_);
  adapter_.tracer.diagnose({adapter_.id, process, error, text});
}

void Diagnoses::report(const QueuePair& qp, const std::string& text, const std::string& unanswered) {
  adapter_.tracer.diagnose({adapter_.id, qp.context.program.process, 0, join("QP ", qp.number, ": ", text), unanswered});
}

void Diagnoses::on_overrun(const CompletionQueue& cq, std::uint32_t number, std::uint32_t depth) {
  adapter_.tracer.diagnose({adapter_.id, cq.context.program.process, 0,
                            join("CQ ", number, ": it overruns: a completion is due, and all ", depth,
                                 " entries hold completions that the program has not polled; nothing completes on it any more")});
}

std::string Diagnoses::unknown_key(std::uint32_t key, bool is_remote) const {
  const char* const kind = is_remote ? "rkey" : "lkey";
  const std::uint32_t swapped = __builtin_bswap32(key);
  std::string text = join("there is no memory with ", kind, " ", Hex{key});
  if (keys_.find(swapped) != nullptr) {
    return text + join(", but there is with ", Hex{swapped}, ", the same bytes in reverse order: is an htonl or ntohl missing, or one "
                       "too many?");
  }
  if (!keys_.was_given(key)) return text;
  text += ": it has been deregistered";
  const auto ended = std::ranges::find(ended_.rbegin(), ended_.rend(), key, &EndedRegion::key);
  if (ended == ended_.rend()) return text;
  const std::string place = ended->place();
  if (!place.empty()) text += " at " + place;
  return text + join(", ", time_text(adapter_.engine.now() - ended->when), " before");
}

void Diagnoses::on_end_of_region(std::uint32_t key, std::function<std::string()> place) {
  constexpr std::size_t kMost = 1000;
  if (ended_.size() == kMost) ended_.pop_front();
  ended_.push_back({key, adapter_.engine.now(), std::move(place)});
}

std::string Diagnoses::why_not(const Context& owner, std::uint32_t pd, std::uint32_t key, std::uint64_t va,
                               std::uint64_t length, std::uint32_t access) const {
  const bool is_remote = (access & ib::kRemoteRights) != 0;
  const char* const kind = is_remote ? "rkey" : "lkey";
  const MemoryRegion* region = keys_.find(key);
  if (region == nullptr || keys_.find_window(key) != nullptr) return unknown_key(key, is_remote);
  if (&region->context->objects != &owner.objects) return join(kind, " ", Hex{key}, " belongs to another program's memory");
  if (region->pd != pd) return join("the memory with ", kind, " ", Hex{key}, " belongs to another protection domain than the queue pair");
  if ((region->access & access) != access) {
    return join("the memory with ", kind, " ", Hex{key}, " was registered without ", rights(access & ~region->access));
  }
  const std::uint64_t end = va + length, region_end = region->iova + region->length;
  if (region->length == 0) {
    return join("the bytes ", range(va, length), " are not within the memory with ", kind, " ", Hex{key},
                ", because it was registered with a length of 0 bytes");
  }
  if (va < region->iova || end < va || end > region_end) {
    const std::string misses = va < region->iova                     ? join("begins ", region->iova - va, " bytes before the region")
                               : va >= region_end                    ? join("begins ", va - region_end, " bytes after its end")
                                                                     : join("ends ", end - region_end, " bytes after its end");
    const std::uint64_t swapped = __builtin_bswap64(va);
    const bool was_swapped = swapped >= region->iova && swapped < region_end && length <= region_end - swapped;
    if (was_swapped) {
      return join("the address ", Hex{va}, " is not within the memory with ", kind, " ", Hex{key}, ", ",
                  range(region->iova, region->length), ", but ", Hex{swapped}, " is, which has the same bytes in reverse order");
    }
    return join("the bytes ", range(va, length), " are not within the memory with ", kind, " ", Hex{key}, ", ",
                range(region->iova, region->length), ": the range ", misses);
  }
  return join("the bytes ", range(va, length), " are not mapped", (access & ~ib::kRemoteRead) != 0 ? " or not writable" : "",
              " in the program");
}

std::string Diagnoses::why_not_remote(const QueuePair& qp, std::uint32_t key, std::uint64_t va, std::uint64_t length,
                                      std::uint32_t access) const {
  const MemoryWindow* window = keys_.find_window(key);
  if (window == nullptr) return why_not(qp.memory_owner(), qp.memory_pd(), key, va, length, access);
  const std::string name = join("the memory window with rkey ", Hex{key});
  if (window->region == nullptr) return name + " is not bound";
  if (&window->context->objects != &qp.memory_owner().objects) return name + " belongs to another program";
  if (window->type == MemoryWindow::kType1 && window->pd != qp.memory_pd()) {
    return name + " belongs to another protection domain than the queue pair";
  }
  if (window->type == MemoryWindow::kType2 && window->qp.get() != &qp) return name + " is bound through another queue pair";
  if ((window->access & access) != access) return name + " was bound without " + rights(access & ~window->access);
  const std::uint64_t first = (window->access & ib::kZeroBased) != 0 ? 0 : window->start;
  return join("the bytes ", range(va, length), " are not within ", name, ", ", range(first, window->length));
}

void Diagnoses::on_unplaceable(const QueuePair& qp, const ScatterList& list, std::uint64_t offset, std::uint32_t length,
                               const Context& owner, std::uint32_t pd) {
  list.visit(offset, length, [&](const protocol::Sge& sge, std::uint32_t skip, std::uint32_t part) {
    const std::uint64_t va = sge.va + skip;
    if (keys_.check(sge.lkey, owner, pd, va, part, ib::kLocalWrite).region != nullptr) return true;
    report(qp, "received data cannot be written to memory: " + why_not(owner, pd, sge.lkey, va, part, ib::kLocalWrite));
    return false;
  });
}

void Diagnoses::on_refused(const QueuePair& qp, const ib::Packet& packet, const Refusal& refusal) {
  const ib::Opcode opcode = packet.bth.opcode;
  const ib::OpcodeInfo& operation = ib::info(opcode);
  const auto why = [&]() -> std::string {
    switch (refusal.why) {
      case Refusal::kOperation:
        return "its transport service has no such request";
      case Refusal::kSequence:
        return operation.begins_message ? "it begins a message while another one is incomplete"
                                        : "it continues a message that has not begun";
      case Refusal::kSharedReceiveQueue:
        return join("there is no shared receive queue ", packet.xrc_srqn, " in the XRC domain, or the message names two");
      case Refusal::kRight:
        return join("its qp_access_flags ", Hex{qp.attributes.qp_access_flags}, " lack ", rights(right_for(opcode)));
      case Refusal::kResponderResources:
        return join("it has resources for max_dest_rd_atomic = ", qp.attributes.max_dest_rd_atomic,
                    " READs and atomics at a time; the peer's max_rd_atomic must not be greater");
      case Refusal::kPacketLength:
        return join("the packet carries ", refusal.bytes, " bytes where its path MTU is ", refusal.limit,
                    "; path_mtu must be the same on both sides");
      case Refusal::kMessageLength:
        return join("a message of ", refusal.bytes, " bytes is longer than the port's max_msg_sz ", refusal.limit);
      case Refusal::kAnnouncedLength:
        return join("the message has ", refusal.bytes, " bytes so far, but its first packet announced ", refusal.limit);
      case Refusal::kAlignment:
        return join("the address ", Hex{operation.has_reth ? packet.reth.va.value : packet.atomic.va.value},
                    " of an atomic is not a multiple of 8");
      case Refusal::kRemoteKey: {
        const ib::Reth& reth = refusal.memory;
        return why_not_remote(qp, reth.rkey.value, reth.va.value, reth.length, right_for(opcode));
      }
      case Refusal::kReceiveLength:
        return join("the message has ", operation.ends_message ? "" : "at least ", refusal.bytes,
                    qp.is_datagram() ? " bytes with the 40 of the GRH" : " bytes", ", and the receive for it has ", refusal.limit);
      case Refusal::kReceiveKey:
        return "a key in the scatter list of the receive does not allow the adapter to write there";
      case Refusal::kReceiveEntry:
        return "the receive for it is invalid: the program has overwritten its entry in the queue";
      case Refusal::kInvalidatedKey:
        return join("rkey ", Hex{packet.invalidate_rkey}, " is not a memory window of type 2 that was bound through this queue pair");
      case Refusal::kReceiveQueue:
        return "its receive queue has already failed";
    }
    return "";
  }();
  const bool is_silent = !qp.is_reliable();
  report(qp, join(is_silent ? "drops " : "refuses ", operation.name, " with PSN ", packet.bth.psn.value, ": ", why));
}

void Diagnoses::on_wrong_state(const QueuePair& qp, const ib::Packet& packet) {
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  report(qp, join("drops ", operation.name, ": it is in ", ib::name_of(qp.state()),
                operation.is_request ? ", and a queue pair receives requests from RTR on" : ", and a queue pair receives answers in RTS and SQD"));
}

void Diagnoses::on_no_receive(const QueuePair& qp, const ib::Packet& packet) {
  if (starved_.contains(qp.number)) return;
  starved_[qp.number] = adapter_.engine.now();
  report(qp, join("no receive is posted for ", ib::info(packet.bth.opcode).name, " with PSN ", packet.bth.psn.value,
                qp.is_reliable() ? "; the sender gets an RNR NAK and tries again" : "; the message is dropped"));
}

Instant Diagnoses::starved_since(const QueuePair& qp) const {
  const auto found = starved_.find(qp.number);
  // Another queue pair may have had its number.
  return found == starved_.end() || found->second < qp.responder_driver.started() ? kNever : found->second;
}

void Diagnoses::report_late_receive(const QueuePair& qp, const RecvWork& work) {
  const auto found = starved_.find(qp.number);
  if (found == starved_.end()) return;
  const std::uint64_t came_ps = static_cast<std::uint64_t>(to_ps(found->second)) & protocol::RecvWqe::kPostedMask;
  starved_.erase(found);
  if (work.posted_ps < came_ps) {  // the adapter read the ring before the post, and fetches take time
    report(qp, join("the receive with wr_id ", work.wr_id, " was posted while a message arrived that had none"));
    return;
  }
  const auto late_ps = static_cast<std::int64_t>(work.posted_ps - came_ps);
  report(qp, join("the receive with wr_id ", work.wr_id, " was posted ", time_text(late_ps), " after the message for it had arrived"));
}

void Diagnoses::on_failed_work(const QueuePair& qp, const FinishedRequest& finished) {
  const std::string peer = peer_of(qp);
  const auto why = [&]() -> std::string {
    switch (finished.status) {
      case WcStatus::kRetryExceeded:
        return join("no answer from ", peer, " after ", qp.attributes.retry_cnt, " retries with a timeout exponent of ",
                    qp.attributes.timeout);
      case WcStatus::kRnrRetryExceeded:
        return join(peer, " had no receive posted at any of ", qp.attributes.rnr_retry + 1u,
                    qp.attributes.rnr_retry == 0 ? " attempt" : " attempts", " (rnr_retry = ", qp.attributes.rnr_retry, ")");
      case WcStatus::kRemoteInvalidRequestError:
      case WcStatus::kRemoteAccessError:
      case WcStatus::kRemoteOperationError:
      case WcStatus::kRemoteInvalidRdRequest:
        return join(peer, " has refused it with a NAK; the reason is reported by that side");
      case WcStatus::kBadResponseError:
        return join("the response of ", peer, " is not what was asked for");
      case WcStatus::kLocalLengthError:
        return join("a message of ", finished.length, " bytes cannot be sent: the port's max_msg_sz is ",
                    adapter_.profile.max_message_bytes, ", the path MTU (the limit of a datagram) is ", qp.path_mtu(), ", and an atomic has 8 bytes");
      case WcStatus::kLocalQpOperationError:
        return join("the queue pair cannot do this: its transport service has no such operation, max_rd_atomic = ",
                    qp.attributes.max_rd_atomic, " allows none, or the request names an object that does not exist");
      case WcStatus::kMwBindError:
        return "the memory cannot be bound to the window: the region's rights and range, the protection domains and the "
               "state of the window must agree";
      case WcStatus::kLocalProtectionError:
        return "a key in its scatter list does not allow the access";
      default:
        return "";
    }
  }();
  report(qp, join("work request with wr_id ", finished.wr_id, " completes with ", ib::names_of(finished.status).text, ": ", why),
       finished.status == WcStatus::kRetryExceeded ? peer : "");
}

}  // namespace verbatim::hca
