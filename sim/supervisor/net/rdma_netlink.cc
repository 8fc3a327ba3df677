#include "sim/supervisor/net/rdma_netlink.h"

#include <endian.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <vector>

#include "sim/hca/inspector.h"
#include "sim/supervisor/net/adapter_queries.h"
#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/net/netlink_message.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint32_t kPort = 1;     // an adapter has one
constexpr std::uint8_t kMigrated = 0;  // IB_MIG_MIGRATED

// The objects that a request selects.
struct Selection {
  std::optional<std::uint32_t> device, port, queue_pair, queue;
};

Selection selection_of(std::span<const std::byte> request) {
  Selection selection;
  for_each_attribute(request, 0, [&](std::uint16_t type, std::span<const std::byte> value) {
    std::uint32_t number;
    if (value.size() < sizeof number) return;
    std::memcpy(&number, value.data(), sizeof number);
    if (type == RDMA_NLDEV_ATTR_DEV_INDEX) selection.device = number;
    if (type == RDMA_NLDEV_ATTR_PORT_INDEX) selection.port = number;
    if (type == RDMA_NLDEV_ATTR_RES_LQPN) selection.queue_pair = number;
    if (type == RDMA_NLDEV_ATTR_RES_CQN) selection.queue = number;
  });
  return selection;
}

class Answers {
 public:
  Answers(const HostSpec& host, const nlmsghdr& request, std::uint32_t port, std::vector<std::byte>& answer)
      : host_(host), request_(request), port_(port), answer_(answer) {}

  // As fill_dev_info() of Linux.
  void add_device(std::uint32_t index) {
    hca::Hca& hca = *host_.devices[index];
    protocol::QueryDevice query{};
    if (!hca.has_failed()) query = ask(hca, query);
    NetlinkMessage message = begin(index);
    message.add(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);  // the number of ports
    message.add64(RDMA_NLDEV_ATTR_CAP_FLAGS, query.attributes.device_cap_flags);
    message.add(RDMA_NLDEV_ATTR_FW_VERSION, std::string(query.attributes.firmware_version));
    message.add64(RDMA_NLDEV_ATTR_NODE_GUID, query.attributes.node_guid);
    message.add64(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, query.attributes.sys_image_guid);
    message.add8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, RDMA_NODE_IB_CA);
    message.add8(RDMA_NLDEV_ATTR_DEV_DIM, 0);
    message.add(RDMA_NLDEV_ATTR_DEV_PROTOCOL, std::string(hca.address().roce ? "roce" : "ib"));
    message.end(answer_);
  }

  // As fill_port_info() of Linux.
  void add_port(std::uint32_t index) {
    hca::Hca& hca = *host_.devices[index];
    const protocol::QueryPort port = port_of(hca);
    NetlinkMessage message = begin(index);
    message.add(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
    if (!hca.address().roce) {
      const std::uint64_t prefix = hca.address().gids.empty() ? 0 : prefix_of(hca.address().gids.front());
      message.add64(RDMA_NLDEV_ATTR_CAP_FLAGS, port.port_cap_flags);
      message.add64(RDMA_NLDEV_ATTR_SUBNET_PREFIX, prefix);
      message.add(RDMA_NLDEV_ATTR_LID, std::uint32_t{port.lid});
      message.add(RDMA_NLDEV_ATTR_SM_LID, std::uint32_t{port.sm_lid});
      message.add8(RDMA_NLDEV_ATTR_LMC, port.lmc);
    }
    message.add8(RDMA_NLDEV_ATTR_PORT_STATE, static_cast<std::uint8_t>(port.state));
    message.add8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, port.phys_state);
    for (const Interface& one : interfaces_of(host_)) {
      if (!hca.address().roce || one.device != index || one.vlan) continue;
      message.add(RDMA_NLDEV_ATTR_NDEV_INDEX, static_cast<std::uint32_t>(one.index));
      message.add(RDMA_NLDEV_ATTR_NDEV_NAME, one.name);
    }
    message.end(answer_);
  }

  void add_resources(std::uint32_t index) {
    const std::vector<hca::Inspection> contexts = host_.devices[index]->inspector().inspect_all();
    std::uint64_t pds = 0, cqs = 0, qps = 0, mrs = 0, srqs = 0;
    for (const hca::Inspection& context : contexts) {
      pds += context.domains;
      cqs += context.cqs.size();
      qps += context.qps.size();
      mrs += context.regions;
      srqs += context.shared_queues;
    }
    NetlinkMessage message = begin(index);
    message.add_nested(RDMA_NLDEV_ATTR_RES_SUMMARY, [&] {
      const auto add = [&](const char* name, std::uint64_t count) {
        message.add_nested(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY, [&] {
          message.add(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, std::string(name));
          message.add64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, count);
        });
      };
      add("pd", pds);
      add("cq", cqs);
      add("qp", qps);
      add("mr", mrs);
      add("ctx", contexts.size());
      add("srq", srqs);
    });
    message.end(answer_);
  }

  // As fill_res_qp_entry() of Linux.
  void add_queue_pairs(std::uint32_t index, std::optional<std::uint32_t> number) {
    std::vector<Owned<hca::QueuePairState>> found;
    for (const hca::Inspection& context : host_.devices[index]->inspector().inspect_all()) {
      for (const hca::QueuePairState& qp : context.qps) {
        if (!number || *number == qp.number) found.push_back({qp, context.process});
      }
    }
    add_table(index, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY, found, [](NetlinkMessage& message, const auto& one) {
      const hca::QueuePairState& qp = one.object;
      message.add(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
      message.add(RDMA_NLDEV_ATTR_RES_LQPN, qp.number);
      if (qp.type == ib::QpType::kRc || qp.type == ib::QpType::kUc) {
        message.add(RDMA_NLDEV_ATTR_RES_RQPN, qp.peer_number);
        message.add(RDMA_NLDEV_ATTR_RES_RQ_PSN, qp.receive_psn);
        message.add8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, kMigrated);
      }
      message.add(RDMA_NLDEV_ATTR_RES_SQ_PSN, qp.send_psn);
      message.add8(RDMA_NLDEV_ATTR_RES_TYPE, static_cast<std::uint8_t>(qp.type));
      message.add8(RDMA_NLDEV_ATTR_RES_STATE, static_cast<std::uint8_t>(qp.state));
      message.add(RDMA_NLDEV_ATTR_RES_PID, one.process);
    });
  }

  // As fill_res_cq_entry() of Linux: each queue pair uses the queues of its two directions.
  void add_completion_queues(std::uint32_t index, std::optional<std::uint32_t> number) {
    const std::vector<hca::Inspection> contexts = host_.devices[index]->inspector().inspect_all();
    std::vector<Owned<hca::CompletionQueueState>> found;
    std::map<std::uint32_t, std::uint64_t> uses;
    for (const hca::Inspection& context : contexts) {
      for (const hca::CompletionQueueState& cq : context.cqs) {
        if (!number || *number == cq.number) found.push_back({cq, context.process});
      }
      for (const hca::QueuePairState& qp : context.qps) {
        ++uses[qp.send_cq];
        ++uses[qp.recv_cq];
      }
    }
    add_table(index, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, found, [&](NetlinkMessage& message, const auto& one) {
      message.add(RDMA_NLDEV_ATTR_RES_CQE, one.object.entries);
      message.add64(RDMA_NLDEV_ATTR_RES_USECNT, uses[one.object.number]);
      message.add(RDMA_NLDEV_ATTR_RES_CQN, one.object.number);
      message.add(RDMA_NLDEV_ATTR_RES_PID, one.process);
    });
  }

  // A list of resources that the simulation does not show one by one.
  void add_empty_list(std::uint32_t index, std::uint16_t list) {
    NetlinkMessage message = begin(index);
    message.add_nested(list, [] {});
    message.end(answer_);
  }

  // Namespaces share the devices.
  void add_system() {
    NetlinkMessage message(request_.nlmsg_type, request_.nlmsg_seq, port_);
    message.add8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
    message.end(answer_);
  }

 private:
  static std::uint64_t prefix_of(const ib::Gid& gid) {
    std::uint64_t prefix;
    std::memcpy(&prefix, gid.raw, sizeof prefix);
    return be64toh(prefix);
  }

  template <class Object>
  struct Owned {
    Object object;
    std::uint32_t process;  // virtual pid
  };

  // A table of one adapter's objects, in messages that readers' buffers can hold, as res_get_common_dumpit() of Linux.
  template <class Object, class AddParts>
  void add_table(std::uint32_t index, std::uint16_t table, std::uint16_t entry, const std::vector<Object>& objects,
                 const AddParts& add_parts) {
    constexpr std::size_t kMostPerMessage = 32;  // below 4 KiB
    std::size_t at = 0;
    do {
      NetlinkMessage message = begin(index);
      message.add_nested(table, [&] {
        for (const std::size_t end = std::min(at + kMostPerMessage, objects.size()); at < end; ++at) {
          message.add_nested(entry, [&] { add_parts(message, objects[at]); });
        }
      });
      message.end(answer_);
    } while (at < objects.size());
  }

  NetlinkMessage begin(std::uint32_t device) const {
    NetlinkMessage message(request_.nlmsg_type, request_.nlmsg_seq, port_);
    message.add(RDMA_NLDEV_ATTR_DEV_INDEX, device);
    message.add(RDMA_NLDEV_ATTR_DEV_NAME, host_.devices[device]->device_name());
    return message;
  }

  const HostSpec& host_;
  const nlmsghdr& request_;
  const std::uint32_t port_;
  std::vector<std::byte>& answer_;
};

}  // namespace

int answer_rdma(const HostSpec& host, const nlmsghdr& request, std::span<const std::byte> bytes, std::uint32_t port,
                std::vector<std::byte>& answer) {
  if (RDMA_NL_GET_CLIENT(request.nlmsg_type) != RDMA_NL_NLDEV) return -EINVAL;
  const unsigned command = RDMA_NL_GET_OP(request.nlmsg_type);
  const bool all = (request.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  const Selection selection = selection_of(bytes);
  Answers answers(host, request, port, answer);
  if (command == RDMA_NLDEV_CMD_SYS_GET) {
    answers.add_system();
    return 0;
  }
  const auto count = static_cast<std::uint32_t>(host.devices.size());
  const bool lists_devices = all && (command == RDMA_NLDEV_CMD_GET || command == RDMA_NLDEV_CMD_RES_GET);
  if (!lists_devices && (!selection.device || *selection.device >= count)) return -EINVAL;
  const bool of_port = command == RDMA_NLDEV_CMD_PORT_GET && !all;
  if (of_port && selection.port != kPort) return -EINVAL;
  const std::uint32_t first = selection.device.value_or(0), end = selection.device ? first + 1 : count;
  for (std::uint32_t index = first; index < std::min(end, count); ++index) {
    switch (command) {
      case RDMA_NLDEV_CMD_GET:
        answers.add_device(index);
        break;
      case RDMA_NLDEV_CMD_PORT_GET:
        answers.add_port(index);
        break;
      case RDMA_NLDEV_CMD_RES_GET:
        answers.add_resources(index);
        break;
      case RDMA_NLDEV_CMD_RES_QP_GET:
        answers.add_queue_pairs(index, selection.queue_pair);
        break;
      case RDMA_NLDEV_CMD_RES_CQ_GET:
        answers.add_completion_queues(index, selection.queue);
        break;
      case RDMA_NLDEV_CMD_RES_CM_ID_GET:
        answers.add_empty_list(index, RDMA_NLDEV_ATTR_RES_CM_ID);
        break;
      case RDMA_NLDEV_CMD_RES_MR_GET:
        answers.add_empty_list(index, RDMA_NLDEV_ATTR_RES_MR);
        break;
      case RDMA_NLDEV_CMD_RES_PD_GET:
        answers.add_empty_list(index, RDMA_NLDEV_ATTR_RES_PD);
        break;
      case RDMA_NLDEV_CMD_RES_CTX_GET:
        answers.add_empty_list(index, RDMA_NLDEV_ATTR_RES_CTX);
        break;
      case RDMA_NLDEV_CMD_RES_SRQ_GET:
        answers.add_empty_list(index, RDMA_NLDEV_ATTR_RES_SRQ);
        break;
      default:
        return -EOPNOTSUPP;
    }
  }
  return 0;
}

}  // namespace verbatim::supervisor
