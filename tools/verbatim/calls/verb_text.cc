#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>

#include "sim/ib/qp_state.h"
#include "sim/ib/types.h"
#include "sim/ib/wc_status.h"
#include "tools/verbatim/calls/call_text.h"
#include "tools/verbatim/calls/flag_names.h"
#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::cli {

namespace {

using protocol::CommandType;
using protocol::ReportedCall;
using protocol::ReportedCallKind;

constexpr std::size_t kMostRequests = 8;  // of a list
constexpr std::size_t kMostParts = 64;    // of a request

std::string number_text(std::uint64_t value) { return std::to_string(value); }
std::string named(const char* what, std::uint64_t number) {
  return std::string(what) + " " + std::to_string(number);
}

constexpr FlagName kAccess[] = {{IBV_ACCESS_LOCAL_WRITE, "LOCAL_WRITE"},
                                {IBV_ACCESS_REMOTE_WRITE, "REMOTE_WRITE"},
                                {IBV_ACCESS_REMOTE_READ, "REMOTE_READ"},
                                {IBV_ACCESS_REMOTE_ATOMIC, "REMOTE_ATOMIC"},
                                {IBV_ACCESS_MW_BIND, "MW_BIND"},
                                {IBV_ACCESS_ZERO_BASED, "ZERO_BASED"},
                                {IBV_ACCESS_ON_DEMAND, "ON_DEMAND"},
                                {IBV_ACCESS_HUGETLB, "HUGETLB"},
                                {IBV_ACCESS_RELAXED_ORDERING, "RELAXED_ORDERING"}};
constexpr FlagName kQpTypes[] = {{IBV_QPT_RC, "RC"},
                                 {IBV_QPT_UC, "UC"},
                                 {IBV_QPT_UD, "UD"},
                                 {IBV_QPT_RAW_PACKET, "RAW_PACKET"},
                                 {IBV_QPT_XRC_SEND, "XRC_SEND"},
                                 {IBV_QPT_XRC_RECV, "XRC_RECV"}};
constexpr FlagName kStates[] = {{IBV_QPS_RESET, "RESET"}, {IBV_QPS_INIT, "INIT"}, {IBV_QPS_RTR, "RTR"},
                                {IBV_QPS_RTS, "RTS"},     {IBV_QPS_SQD, "SQD"},   {IBV_QPS_SQE, "SQE"},
                                {IBV_QPS_ERR, "ERR"}};
constexpr FlagName kOpcodes[] = {{IBV_WR_RDMA_WRITE, "RDMA_WRITE"},
                                 {IBV_WR_RDMA_WRITE_WITH_IMM, "RDMA_WRITE_WITH_IMM"},
                                 {IBV_WR_SEND, "SEND"},
                                 {IBV_WR_SEND_WITH_IMM, "SEND_WITH_IMM"},
                                 {IBV_WR_RDMA_READ, "RDMA_READ"},
                                 {IBV_WR_ATOMIC_CMP_AND_SWP, "ATOMIC_CMP_AND_SWP"},
                                 {IBV_WR_ATOMIC_FETCH_AND_ADD, "ATOMIC_FETCH_AND_ADD"},
                                 {IBV_WR_LOCAL_INV, "LOCAL_INV"},
                                 {IBV_WR_BIND_MW, "BIND_MW"},
                                 {IBV_WR_SEND_WITH_INV, "SEND_WITH_INV"},
                                 {IBV_WR_ATOMIC_WRITE, "ATOMIC_WRITE"}};

const char* opcode_of(protocol::WqeOpcode opcode) {
  constexpr const char* kNames[] = {
      "SEND",        "SEND_WITH_IMM",      "SEND_WITH_INV",        "RDMA_WRITE", "RDMA_WRITE_WITH_IMM",
      "RDMA_READ",   "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "LOCAL_INV",  "BIND_MW",
      "ATOMIC_WRITE"};
  const auto at = static_cast<std::size_t>(opcode);
  return at < std::size(kNames) ? kNames[at] : "opcode ?";
}

std::string bytes_of(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

// Sum of the lengths of the list's entries.
std::uint64_t length_of(const ReadMemory& read, std::uint64_t list, std::int64_t count) {
  std::uint64_t length = 0;
  for (std::size_t i = 0;
       i < std::min<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), kMostParts);
       ++i) {
    if (const auto part = value_at<ibv_sge>(read, list + i * sizeof(ibv_sge))) length += part->length;
  }
  return length;
}

// `add` gets each request of a list and returns the address of the next.
template <class Request, class Add>
void add_list(CallText& text, const ReadMemory& read, std::uint64_t address, const Add& add) {
  std::size_t count = 0;
  for (; address != 0 && count < kMostRequests; ++count) {
    const auto request = value_at<Request>(read, address);
    if (!request) {
      text.arguments.push_back(in_hex(address));
      return;
    }
    add(*request);
    address = reinterpret_cast<std::uint64_t>(request->next);
  }
  if (count == 0) text.arguments.push_back("NULL");
  if (address != 0) text.arguments.push_back("...");
}

void add_sends(CallText& text, const ReadMemory& read, std::uint64_t address) {
  add_list<ibv_send_wr>(text, read, address, [&](const ibv_send_wr& wr) {
    text.arguments.push_back(named("wr_id", wr.wr_id));
    text.arguments.push_back(constant_text(wr.opcode, kOpcodes));
    text.arguments.push_back(
        bytes_of(length_of(read, reinterpret_cast<std::uint64_t>(wr.sg_list), wr.num_sge)));
  });
}

void add_receives(CallText& text, const ReadMemory& read, std::uint64_t address) {
  add_list<ibv_recv_wr>(text, read, address, [&](const ibv_recv_wr& wr) {
    text.arguments.push_back(named("wr_id", wr.wr_id));
    text.arguments.push_back(
        bytes_of(length_of(read, reinterpret_cast<std::uint64_t>(wr.sg_list), wr.num_sge)));
  });
}

// Shows a call of the extended interface, whose requests are in the ring already.
void add_ring(CallText& text, const ReportedCall& call, const ReadMemory& read) {
  const auto ring = static_cast<std::uint64_t>(call.arguments[0]),
             entries = static_cast<std::uint64_t>(call.arguments[1]),
             stride = static_cast<std::uint64_t>(call.arguments[2]);
  const auto first = static_cast<std::uint32_t>(call.arguments[3]),
             end = static_cast<std::uint32_t>(call.arguments[4]);
  std::size_t count = 0;
  for (std::uint32_t i = first; i != end; ++i) {
    const std::uint64_t at = ring + (i & (entries - 1)) * stride;
    const auto wqe = count++ < kMostRequests ? value_at<protocol::SendWqe>(read, at) : std::nullopt;
    if (!wqe) {
      text.arguments.push_back("...");
      return;
    }
    std::uint64_t length = wqe->inline_length;
    if ((wqe->flags & protocol::kWqeInline) == 0) {
      length = 0;
      for (std::size_t n = 0; n < wqe->sge_count; ++n) {
        const auto part = value_at<protocol::Sge>(read, at + sizeof *wqe + n * sizeof(protocol::Sge));
        if (part) length += part->length;
      }
    }
    text.arguments.push_back(named("wr_id", wqe->wr_id));
    text.arguments.push_back(opcode_of(wqe->opcode));
    text.arguments.push_back(bytes_of(length));
  }
}

std::string completion_text(std::uint64_t wr_id, std::uint32_t status) {
  const std::string text = status < std::size(ib::kWcStatusNames)
                               ? std::string(ib::kWcStatusNames[status].text)
                               : number_text(status);
  return named("wr_id", wr_id) + " " + text;
}

// Text of a command and of its response.
struct CommandWords {
  std::string name;
  std::vector<std::string> arguments;
  std::string given;
};

template <class Command>
Command command_at(const ReadMemory& read, std::uint64_t address) {
  return value_at<Command>(read, address).value_or(Command{});
}

std::string address_of_vector(const protocol::AddressVector& to) {
  std::string text = to.is_global != 0 ? "dgid" : named("dlid", to.dlid);
  if (to.is_global == 0) return text;
  constexpr const char* kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < sizeof to.dgid; ++i) {
    text += i % 2 == 0 ? (i == 0 ? " " : ":") : "";
    text += {kDigits[to.dgid[i] >> 4], kDigits[to.dgid[i] & 15]};
  }
  return text;
}

std::vector<std::string> changes_of(const protocol::ModifyQp& command) {
  const protocol::QpAttributes& to = command.attributes;
  std::vector<std::string> text;
  const auto add = [&](std::uint32_t bit, const std::string& what) {
    if ((command.mask & bit) != 0) text.push_back(what);
  };
  add(ib::kQpState, constant_text(to.qp_state, kStates));
  add(ib::kQpAccessFlags, "access " + flag_text(to.qp_access_flags, kAccess));
  add(ib::kQpPort, named("port", to.port_num));
  add(ib::kQpQkey, "qkey " + in_hex(to.qkey));
  add(ib::kQpAv, address_of_vector(to.path));
  add(ib::kQpPathMtu, named("mtu", ib::is_mtu(to.path_mtu) ? ib::mtu_bytes(to.path_mtu) : to.path_mtu));
  add(ib::kQpDestQpn, named("dest_qp", to.dest_qp_num));
  add(ib::kQpRqPsn, named("rq_psn", to.rq_psn));
  add(ib::kQpSqPsn, named("sq_psn", to.sq_psn));
  add(ib::kQpMaxRdAtomic, named("max_rd_atomic", to.max_rd_atomic));
  add(ib::kQpMaxDestRdAtomic, named("max_dest_rd_atomic", to.max_dest_rd_atomic));
  add(ib::kQpTimeout, named("timeout", to.timeout));
  add(ib::kQpRetryCount, named("retry_cnt", to.retry_cnt));
  add(ib::kQpRnrRetry, named("rnr_retry", to.rnr_retry));
  add(ib::kQpMinRnrTimer, named("min_rnr_timer", to.min_rnr_timer));
  return text;
}

std::string key_text(std::uint32_t lkey, std::uint32_t rkey) {
  return "MR lkey " + in_hex(lkey) + (rkey != lkey ? " rkey " + in_hex(rkey) : "");
}

CommandWords of_memory(const ReadMemory& read, std::uint64_t at, CommandType type) {
  switch (type) {
    case CommandType::kRegMr: {
      const auto c = command_at<protocol::RegMr>(read, at);
      return {"ibv_reg_mr",
              {in_hex(c.start), number_text(c.length), flag_text(c.access, kAccess)},
              key_text(c.lkey, c.rkey)};
    }
    case CommandType::kReregMr: {
      const auto c = command_at<protocol::ReregMr>(read, at);
      return {"ibv_rereg_mr",
              {in_hex(c.start), number_text(c.length), flag_text(c.access, kAccess)},
              key_text(c.lkey, c.rkey)};
    }
    case CommandType::kAllocMw: {
      const auto c = command_at<protocol::AllocMw>(read, at);
      return {"ibv_alloc_mw", {named("PD", c.pd), named("type", c.type)}, "MW rkey " + in_hex(c.rkey)};
    }
    case CommandType::kAllocDm: {
      const auto c = command_at<protocol::AllocDm>(read, at);
      return {"ibv_alloc_dm", {number_text(c.length)}, named("DM", c.handle)};
    }
    case CommandType::kCopyDm: {
      const auto c = command_at<protocol::CopyDm>(read, at);
      return {c.to_device != 0 ? "ibv_memcpy_to_dm" : "ibv_memcpy_from_dm",
              {named("DM", c.handle), number_text(c.offset), in_hex(c.address), number_text(c.length)},
              ""};
    }
    case CommandType::kRegDmMr: {
      const auto c = command_at<protocol::RegDmMr>(read, at);
      return {"ibv_reg_dm_mr",
              {named("DM", c.dm), number_text(c.offset), number_text(c.length), flag_text(c.access, kAccess)},
              key_text(c.key, c.key)};
    }
    default: {
      const auto c = command_at<protocol::AllocNullMr>(read, at);
      return {"ibv_alloc_null_mr", {named("PD", c.pd)}, "MR lkey " + in_hex(c.lkey)};
    }
  }
}

CommandWords of_queues(const ReadMemory& read, std::uint64_t at, CommandType type) {
  switch (type) {
    case CommandType::kCreateCq: {
      const auto c = command_at<protocol::CreateCq>(read, at);
      CommandWords words{"ibv_create_cq", {named("cqe", c.cqe)}, named("CQ", c.number)};
      if (c.channel_fd >= 0)
        words.arguments.push_back(named("channel", static_cast<std::uint64_t>(c.channel_fd)));
      return words;
    }
    case CommandType::kCreateQp: {
      const auto c = command_at<protocol::CreateQp>(read, at);
      return {"ibv_create_qp",
              {constant_text(c.type, kQpTypes), named("max_send_wr", c.capabilities.max_send_wr),
               named("max_recv_wr", c.capabilities.max_recv_wr)},
              named("QP", c.number)};
    }
    case CommandType::kCreateSrq: {
      const auto c = command_at<protocol::CreateSrq>(read, at);
      return {
          "ibv_create_srq", {named("max_wr", c.max_wr), named("max_sge", c.max_sge)}, named("SRQ", c.number)};
    }
    case CommandType::kCreateWq: {
      const auto c = command_at<protocol::CreateWq>(read, at);
      return {
          "ibv_create_wq", {named("max_wr", c.max_wr), named("max_sge", c.max_sge)}, named("WQ", c.number)};
    }
    case CommandType::kOpenQp: {
      const auto c = command_at<protocol::OpenQp>(read, at);
      return {"ibv_open_qp", {named("QP", c.number)}, ""};
    }
    case CommandType::kModifyQp: {
      const auto c = command_at<protocol::ModifyQp>(read, at);
      CommandWords words{"ibv_modify_qp", changes_of(c), ""};
      words.arguments.insert(words.arguments.begin(), named("handle", c.handle));
      return words;
    }
    case CommandType::kQueryQp:
      return {"ibv_query_qp", {named("handle", command_at<protocol::QueryQp>(read, at).handle)}, ""};
    default: {
      const auto c = command_at<protocol::ResizeCq>(read, at);
      return {"ibv_resize_cq", {named("handle", c.handle), named("cqe", c.cqe)}, ""};
    }
  }
}

// All other commands: the verb, and the meaning of the first word after the header; nullptr: it is not shown.
struct PlainCommand {
  CommandType type;
  const char* name;
  const char* word;
  const char* made;  // meaning of that word in the response
};
constexpr PlainCommand kPlain[] = {
    {CommandType::kListDevices, "ibv_get_device_list", nullptr, nullptr},
    {CommandType::kOpenDevice, "ibv_open_device", nullptr, "context"},
    {CommandType::kCloseDevice, "ibv_close_device", nullptr, nullptr},
    {CommandType::kQueryDevice, "ibv_query_device", nullptr, nullptr},
    {CommandType::kQueryPort, "ibv_query_port", "port", nullptr},
    {CommandType::kQueryGid, "ibv_query_gid", "port", nullptr},
    {CommandType::kQueryPkey, "ibv_query_pkey", "port", nullptr},
    {CommandType::kAllocPd, "ibv_alloc_pd", nullptr, "PD"},
    {CommandType::kDeallocPd, "ibv_dealloc_pd", "PD", nullptr},
    {CommandType::kDeregMr, "ibv_dereg_mr", "handle", nullptr},
    {CommandType::kCreateChannel, "ibv_create_comp_channel", nullptr, "channel"},
    {CommandType::kDestroyCq, "ibv_destroy_cq", "handle", nullptr},
    {CommandType::kDestroyQp, "ibv_destroy_qp", "handle", nullptr},
    {CommandType::kCreateAh, "ibv_create_ah", "PD", nullptr},
    {CommandType::kDestroyAh, "ibv_destroy_ah", "AH", nullptr},
    {CommandType::kModifySrq, "ibv_modify_srq", "handle", nullptr},
    {CommandType::kQuerySrq, "ibv_query_srq", "handle", nullptr},
    {CommandType::kDestroySrq, "ibv_destroy_srq", "handle", nullptr},
    {CommandType::kAttachMulticast, "ibv_attach_mcast", "handle", nullptr},
    {CommandType::kDetachMulticast, "ibv_detach_mcast", "handle", nullptr},
    {CommandType::kDeallocMw, "ibv_dealloc_mw", "handle", nullptr},
    {CommandType::kOpenXrcd, "ibv_open_xrcd", nullptr, nullptr},
    {CommandType::kCloseXrcd, "ibv_close_xrcd", "handle", nullptr},
    {CommandType::kFreeDm, "ibv_free_dm", "DM", nullptr},
    {CommandType::kAdviseMr, "ibv_advise_mr", nullptr, nullptr},
    {CommandType::kImportDevice, "ibv_import_device", "cmd_fd", nullptr},
    {CommandType::kImportObject, "import_object", nullptr, nullptr},
    {CommandType::kCreateFlow, "ibv_create_flow", "handle", nullptr},
    {CommandType::kDestroyFlow, "ibv_destroy_flow", "handle", nullptr},
    {CommandType::kCreateCounters, "ibv_create_counters", nullptr, "counters"},
    {CommandType::kDestroyCounters, "ibv_destroy_counters", "counters", nullptr},
    {CommandType::kAttachCounter, "ibv_attach_counters_point_flow", "counters", nullptr},
    {CommandType::kReadCounters, "ibv_read_counters", "counters", nullptr},
    {CommandType::kModifyWq, "ibv_modify_wq", "handle", nullptr},
    {CommandType::kDestroyWq, "ibv_destroy_wq", "handle", nullptr},
    {CommandType::kCreateRwqTable, "ibv_create_rwq_ind_table", "log_size", nullptr},
    {CommandType::kDestroyRwqTable, "ibv_destroy_rwq_ind_table", "handle", nullptr},
    {CommandType::kModifyCq, "ibv_modify_cq", "handle", nullptr},
    {CommandType::kReportRefusal, "call_of_what_no_adapter_has", nullptr, nullptr},
};

CommandWords words_of_command(const ReadMemory& read, std::uint64_t at) {
  const auto header = value_at<protocol::CommandHeader>(read, at);
  if (!header) return {"command", {in_hex(at)}, ""};
  switch (header->type) {
    case CommandType::kRegMr:
    case CommandType::kReregMr:
    case CommandType::kAllocMw:
    case CommandType::kAllocDm:
    case CommandType::kCopyDm:
    case CommandType::kRegDmMr:
    case CommandType::kAllocNullMr:
      return of_memory(read, at, header->type);
    case CommandType::kCreateCq:
    case CommandType::kCreateQp:
    case CommandType::kCreateSrq:
    case CommandType::kCreateWq:
    case CommandType::kOpenQp:
    case CommandType::kModifyQp:
    case CommandType::kQueryQp:
    case CommandType::kResizeCq:
      return of_queues(read, at, header->type);
    default:
      break;
  }
  for (const PlainCommand& plain : kPlain) {
    if (plain.type != header->type) continue;
    const auto word = value_at<std::uint32_t>(read, at + sizeof *header).value_or(0);
    CommandWords words{plain.name, {}, plain.made != nullptr ? named(plain.made, word) : ""};
    if (plain.word != nullptr) words.arguments.push_back(named(plain.word, word));
    return words;
  }
  return {"command_" + number_text(static_cast<std::uint32_t>(header->type)), {in_hex(at)}, ""};
}

std::string completions_text(const ReportedCall& call, const ReadMemory& read) {
  std::string text;
  for (std::int64_t i = 0; i < call.result; ++i) {
    if (i == static_cast<std::int64_t>(kMostRequests)) return text + ", ...";
    const auto done = value_at<ibv_wc>(
        read, static_cast<std::uint64_t>(call.arguments[1]) + static_cast<std::uint64_t>(i) * sizeof(ibv_wc));
    if (!done) return text + (i == 0 ? "" : ", ") + in_hex(static_cast<std::uint64_t>(call.arguments[1]));
    text += (i == 0 ? "" : ", ") + completion_text(done->wr_id, static_cast<std::uint32_t>(done->status));
  }
  return text;
}

}  // namespace

CallText text_of_verb(const ReportedCall& call, const ReadMemory& read) {
  const auto address = static_cast<std::uint64_t>(call.arguments[0]);
  CallText text;
  switch (call.kind) {
    case ReportedCallKind::kPostSend:
      text = {"ibv_post_send", {named("QP", call.number)}, "", ""};
      add_sends(text, read, address);
      break;
    case ReportedCallKind::kPostReceive:
      text = {"ibv_post_recv", {named("QP", call.number)}, "", ""};
      add_receives(text, read, address);
      break;
    case ReportedCallKind::kPostSharedReceive:
      text = {"ibv_post_srq_recv", {named("SRQ", call.number)}, "", ""};
      add_receives(text, read, address);
      break;
    case ReportedCallKind::kPostWorkQueue:
      text = {"ibv_post_wq_recv", {named("WQ", call.number)}, "", ""};
      add_receives(text, read, address);
      break;
    case ReportedCallKind::kCompleteSends:
      text = {"ibv_wr_complete", {named("QP", call.number)}, "", ""};
      add_ring(text, call, read);
      break;
    case ReportedCallKind::kPoll:
      return {"ibv_poll_cq", {named("CQ", call.number)}, "", ""};
    case ReportedCallKind::kStartPoll:
      return {"ibv_start_poll", {named("CQ", call.number)}, "", ""};
    case ReportedCallKind::kNextPoll:
      return {"ibv_next_poll", {named("CQ", call.number)}, "", ""};
    case ReportedCallKind::kArm:
      text = {"ibv_req_notify_cq", {named("CQ", call.number)}, "", ""};
      if (call.arguments[0] != 0) text.arguments.push_back("solicited only");
      break;
    default: {
      CommandWords words = words_of_command(read, address);
      return {std::move(words.name), std::move(words.arguments), "", ""};
    }
  }
  return text;
}

void add_result_of_verb(CallText& text, const ReportedCall& call, const ReadMemory& read) {
  const bool polls = call.kind == ReportedCallKind::kPoll;
  const bool asks = call.kind == ReportedCallKind::kStartPoll || call.kind == ReportedCallKind::kNextPoll;
  if ((polls && call.result == 0) || (call.kind == ReportedCallKind::kStartPoll && call.result == ENOENT)) {
    text.subject = named("polls of CQ", call.number) + " in vain";
  }
  if (polls && call.result > 0) {
    text.result = " = " + std::to_string(call.result) + " [" + completions_text(call, read) + "]";
    return;
  }
  if (asks && call.result == 0) {
    const auto cq = value_at<ibv_cq_ex>(read, static_cast<std::uint64_t>(call.arguments[0]));
    text.result =
        cq ? " = 0 [" + completion_text(cq->wr_id, static_cast<std::uint32_t>(cq->status)) + "]" : " = 0";
    return;
  }
  if (call.result != 0) {
    text.result = call.result < 0 ? " = -1" : " = " + error_text(call.result);
    return;
  }
  text.result = " = 0";
  if (call.kind != ReportedCallKind::kCommand) return;
  const std::string given = words_of_command(read, static_cast<std::uint64_t>(call.arguments[0])).given;
  if (!given.empty()) text.result = " = " + given;
}

}  // namespace verbatim::cli
