// Hostile commands for /dev/infiniband/rdma_cm: an input's bytes are written there by two programs, on two
// hosts with two adapters each, beside correct programs that listen. This process plays the programs:
// commands contain addresses for answers in its memory; some are invalid. No input may cause a crash, a hang,
// or a write outside the answer.
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "sim/core/check.h"
#include "sim/supervisor/kernel/rdma_cm_file.h"
#include "sim/supervisor/tasks/process.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/simulated.h"

namespace {

using namespace verbatim;
using fuzz::Bytes;

const config::TopologySpec& topology(bool roce) {
  static const config::TopologySpec kTopologies[] = {fuzz::load_topology("rails_4.json"),
                                                     fuzz::load_topology("rails_2_roce.json")};
  return kTopologies[roce ? 1 : 0];
}

// Memory for answers: two pages followed by an unmapped one. Only answers may change it.
struct Memory {
  static constexpr std::size_t kBytes = 8192;
  std::byte* start;
  Memory() {
    void* all = mmap(nullptr, kBytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED && mprotect(all, kBytes, PROT_READ | PROT_WRITE) == 0);
    start = static_cast<std::byte*>(all);
  }
};

// Lengths of the commands' structures.
constexpr std::size_t kLengths[] = {sizeof(rdma_ucm_create_id),     sizeof(rdma_ucm_destroy_id),
                                    sizeof(rdma_ucm_bind_ip),       sizeof(rdma_ucm_resolve_ip),
                                    sizeof(rdma_ucm_resolve_route), sizeof(rdma_ucm_query),
                                    sizeof(rdma_ucm_connect),       sizeof(rdma_ucm_listen),
                                    sizeof(rdma_ucm_accept),        sizeof(rdma_ucm_reject),
                                    sizeof(rdma_ucm_disconnect),    sizeof(rdma_ucm_init_qp_attr),
                                    sizeof(rdma_ucm_get_event),     0,
                                    sizeof(rdma_ucm_set_option),    sizeof(rdma_ucm_notify),
                                    sizeof(rdma_ucm_join_ip_mcast), sizeof(rdma_ucm_destroy_id),
                                    sizeof(rdma_ucm_migrate_id),    sizeof(rdma_ucm_query),
                                    sizeof(rdma_ucm_bind),          sizeof(rdma_ucm_resolve_addr),
                                    sizeof(rdma_ucm_join_mcast),
                                    256 /* RESOLVE_IB_SERVICE */,   24 /* WRITE_CM_EVENT */};

class Attack {
 public:
  explicit Attack(std::span<const std::uint8_t> input)
      : bytes_(input), topology_(topology(bytes_.chance(1, 4))), simulation_(topology_, 1, choices_) {
    static Memory memory;
    memory_ = memory.start;
    for (std::size_t i = 0; i < 2; ++i) {
      specs_[i].name = topology_.hosts[i].name;
      specs_[i].component = simulation_.host_component(i);
      specs_[i].address = topology_.hosts[i].address;
      specs_[i].rdma_cm = &simulation_.rdma_cm(i);
      processes_[i] = std::make_unique<supervisor::Process>(i, 1000 + static_cast<std::uint32_t>(i), specs_[i], i, "fuzz",
                                                            Rng(1, "fuzz"), std::make_unique<supervisor::ProcessRegion>());
      processes_[i]->set_native_pid(getpid());
      for (auto& file : files_[i]) file = std::make_shared<supervisor::RdmaCmFile>(*specs_[i].rdma_cm, numbers_[i]);
    }
  }

  void play() {
    while (!bytes_.at_end()) {
      if (bytes_.chance(1, 8)) {
        run_for(bytes_.chance(1, 4) ? Duration(std::chrono::milliseconds(bytes_.below(65536)))
                                    : std::chrono::microseconds(bytes_.below(256)));
      } else {
        command(bytes_.below(2));
      }
    }
    run_for(std::chrono::seconds(200));
    for (auto& of_host : files_) {
      for (auto& file : of_host) file.reset();
    }
    run_for(std::chrono::seconds(200));
  }

 private:
  void run_for(Duration time) { fuzz::run_for(simulation_.engine(), time); }

  // An address at the beginning, near the end, or null.
  std::uint64_t pointer() {
    const auto start = reinterpret_cast<std::uint64_t>(memory_);
    const std::uint64_t kind = bytes_.below(16);
    if (kind == 0) return 0;
    if (kind == 1) return start + Memory::kBytes - bytes_.below(256);
    return start;
  }

  template <class Value>
  void put(std::vector<std::byte>& body, std::size_t at, const Value& value) {
    if (at + sizeof value <= body.size()) std::memcpy(body.data() + at, &value, sizeof value);
  }

  std::uint32_t number() { return static_cast<std::uint32_t>(bytes_.chance(1, 16) ? bytes_.next() : bytes_.below(8)); }

  void put_address(std::vector<std::byte>& body, std::size_t at) {
    const std::size_t host = bytes_.below(2);
    const ib::IpInterface own = topology_.interface_of(topology_.adapters_of(host)[bytes_.chance(1, 4) ? 1 : 0]);
    const std::uint16_t port = htons(static_cast<std::uint16_t>(7470 + bytes_.below(3)));
    switch (bytes_.below(8)) {
      case 0: {
        sockaddr_in6 six{};
        six.sin6_family = AF_INET6;
        six.sin6_port = port;
        std::memcpy(&six.sin6_addr, (bytes_.chance(1, 2) ? own.v6() : ib::ipv6_gid(0)).raw, 16);
        return put(body, at, six);
      }
      case 1:
        return put(body, at, static_cast<sa_family_t>(bytes_.below(64)));
      case 2: {
        sockaddr_in group{};
        group.sin_family = AF_INET;
        group.sin_addr.s_addr = htonl(0xef010101);
        return put(body, at, group);
      }
      default: {
        sockaddr_in four{};
        four.sin_family = AF_INET;
        four.sin_port = port;
        four.sin_addr.s_addr = bytes_.chance(1, 4) ? 0 : htonl(own.address);
        return put(body, at, four);
      }
    }
  }

  void command(std::size_t host) {
    rdma_ucm_cmd_hdr header{};
    header.cmd = static_cast<std::uint32_t>(bytes_.below(std::size(kLengths) + 1));
    const std::size_t usual = header.cmd < std::size(kLengths) ? kLengths[header.cmd] : 64;
    std::vector<std::byte> body(bytes_.chance(1, 16) ? bytes_.below(512) : usual);
    fill(header.cmd, body);
    for (std::uint64_t changes = bytes_.chance(1, 4) ? bytes_.below(4) : 0; changes > 0 && !body.empty(); --changes) {
      // The answer's address is not changed: a wild one would let the simulator overwrite this process.
      const std::size_t at = bytes_.below(body.size());
      if (at >= 8 && !is_pointer(header.cmd, at)) body[at] = static_cast<std::byte>(bytes_.below(256));
    }
    header.in = static_cast<std::uint16_t>(bytes_.chance(1, 32) ? bytes_.below(65536) : body.size());
    header.out = static_cast<std::uint16_t>(bytes_.chance(1, 16) ? bytes_.below(2048) : 1024);
    std::vector<std::byte> all(sizeof header + body.size());
    std::memcpy(all.data(), &header, sizeof header);
    std::copy(body.begin(), body.end(), all.begin() + sizeof header);
    if (bytes_.chance(1, 64)) all.resize(bytes_.below(all.size() + 1));
    const auto& file = files_[host][bytes_.below(2)];
    // The 64 bytes after the answer's space must not change.
    std::memset(memory_ + header.out, 0x5a, 64);
    const supervisor::IoResult result = file->command(*processes_[host], all);
    if (result) CHECK(*result >= -4095 && *result <= static_cast<std::int64_t>(all.size()));
    for (std::size_t i = 0; i < 64; ++i) CHECK(memory_[header.out + i] == std::byte{0x5a});
  }

  static constexpr std::size_t kOptionValue = offsetof(rdma_ucm_set_option, optval);
  static bool is_pointer(std::uint32_t command, std::size_t at) {
    if (command == RDMA_USER_CM_CMD_CREATE_ID) return at - offsetof(rdma_ucm_create_id, response) < 8;
    return command == RDMA_USER_CM_CMD_JOIN_IP_MCAST || command == RDMA_USER_CM_CMD_JOIN_MCAST ? at < 8 : false;
  }

  void fill(std::uint32_t command, std::vector<std::byte>& body) {
    for (std::size_t at = 8; at + 4 <= body.size(); at += 4) put(body, at, number());
    put(body, 0, pointer());
    switch (command) {
      case RDMA_USER_CM_CMD_CREATE_ID: {
        constexpr std::uint16_t kSpaces[] = {0x0106, 0x0111, 0x013f, 0x0002};
        put(body, offsetof(rdma_ucm_create_id, uid), std::uint64_t{number()});
        put(body, offsetof(rdma_ucm_create_id, response), pointer());
        put(body, offsetof(rdma_ucm_create_id, ps), kSpaces[bytes_.below(std::size(kSpaces))]);
        return put(body, offsetof(rdma_ucm_create_id, qp_type), std::uint8_t{2});
      }
      case RDMA_USER_CM_CMD_BIND_IP:
        put_address(body, offsetof(rdma_ucm_bind_ip, addr));
        return put(body, offsetof(rdma_ucm_bind_ip, id), number());
      case RDMA_USER_CM_CMD_BIND:
        put(body, offsetof(rdma_ucm_bind, id), number());
        put(body, offsetof(rdma_ucm_bind, reserved), std::uint16_t{0});
        return put_address(body, offsetof(rdma_ucm_bind, addr));
      case RDMA_USER_CM_CMD_RESOLVE_IP:
        put_address(body, offsetof(rdma_ucm_resolve_ip, dst_addr));
        put(body, offsetof(rdma_ucm_resolve_ip, src_addr), sa_family_t{0});
        put(body, offsetof(rdma_ucm_resolve_ip, id), number());
        return put(body, offsetof(rdma_ucm_resolve_ip, timeout_ms), std::uint32_t{2000});
      case RDMA_USER_CM_CMD_RESOLVE_ADDR:
        put(body, offsetof(rdma_ucm_resolve_addr, id), number());
        put(body, offsetof(rdma_ucm_resolve_addr, timeout_ms), std::uint32_t{2000});
        put(body, offsetof(rdma_ucm_resolve_addr, reserved), std::uint16_t{0});
        put(body, offsetof(rdma_ucm_resolve_addr, src_size), std::uint16_t{0});
        return put_address(body, offsetof(rdma_ucm_resolve_addr, dst_addr));
      case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      case RDMA_USER_CM_CMD_LISTEN:
      case RDMA_USER_CM_CMD_DISCONNECT:
      case RDMA_USER_CM_CMD_REJECT:
      case RDMA_USER_CM_CMD_NOTIFY:
        return put(body, 0, number());
      case RDMA_USER_CM_CMD_CONNECT:
        put(body, offsetof(rdma_ucm_connect, conn_param.private_data_len), static_cast<std::uint8_t>(bytes_.below(256)));
        put(body, offsetof(rdma_ucm_connect, conn_param.valid), std::uint8_t{1});
        return put(body, offsetof(rdma_ucm_connect, id), number());
      case RDMA_USER_CM_CMD_ACCEPT:
        put(body, offsetof(rdma_ucm_accept, uid), std::uint64_t{number()});
        put(body, offsetof(rdma_ucm_accept, conn_param.private_data_len), static_cast<std::uint8_t>(bytes_.below(256)));
        put(body, offsetof(rdma_ucm_accept, conn_param.valid), static_cast<std::uint8_t>(bytes_.below(2)));
        return put(body, offsetof(rdma_ucm_accept, id), number());
      case RDMA_USER_CM_CMD_SET_OPTION:
        put(body, kOptionValue, pointer());
        put(body, offsetof(rdma_ucm_set_option, id), number());
        put(body, offsetof(rdma_ucm_set_option, level), static_cast<std::uint32_t>(bytes_.below(2)));
        put(body, offsetof(rdma_ucm_set_option, optname), static_cast<std::uint32_t>(bytes_.below(5)));
        return put(body, offsetof(rdma_ucm_set_option, optlen), static_cast<std::uint32_t>(bytes_.below(8)));
      case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
        put(body, offsetof(rdma_ucm_join_ip_mcast, id), number());
        return put_address(body, offsetof(rdma_ucm_join_ip_mcast, addr));
      case RDMA_USER_CM_CMD_JOIN_MCAST:
        put(body, offsetof(rdma_ucm_join_mcast, id), number());
        put(body, offsetof(rdma_ucm_join_mcast, join_flags), std::uint16_t{0});
        return put_address(body, offsetof(rdma_ucm_join_mcast, addr));
      default:
        return;
    }
  }

  Bytes bytes_;
  const config::TopologySpec& topology_;
  DefaultChoices choices_;
  config::Simulation simulation_;
  supervisor::HostSpec specs_[2];
  std::unique_ptr<supervisor::Process> processes_[2];
  supervisor::RdmaCmNumbers numbers_[2];
  std::shared_ptr<supervisor::RdmaCmFile> files_[2][2];
  std::byte* memory_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Attack({data, size}).play();
  return 0;
}
