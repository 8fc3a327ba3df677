// IBV_EVENT_DEVICE_FATAL caused by a scenario: events of a program, and later results of each call, in slices
// and call by call; and the effects on its peer.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

// Linux' behaviour after a device's removal: reads of events return EIO after the last one, commands return
// EIO; the data path remains in the program's memory without effect (ib_uverbs_event_read,
// ib_uverbs_disassociate).
TEST(DeviceFatal, is_told_and_leaves_nothing_but_closing) {
  support::RunRequest request;
  request.commands = {"server=" + support::quoted(DEVICE_FATAL_PROGRAM)};
  request.options = {"--fault", R"({"action": "device_fatal", "host": "server", "at": "50 ms"})"};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server"),
            "ibv_modify_qp: 0\n"
            "ibv_get_async_event: 0\n"
            "ibv_get_cq_event: EIO\n"
            "local catastrophic error, port 0\n"
            "ibv_get_async_event: EIO\n"
            "ibv_query_device: EIO\n"
            "ibv_query_port: EIO\n"
            "ibv_query_gid: EIO\n"
            "ibv_alloc_pd: EIO\n"
            "ibv_reg_mr: EIO\n"
            "ibv_create_cq: EIO\n"
            "ibv_create_comp_channel: EIO\n"
            "ibv_create_qp: EIO\n"
            "ibv_modify_qp: EIO\n"
            "ibv_query_qp: EIO\n"
            "ibv_post_recv: 0\n"
            "ibv_req_notify_cq: 0\n"
            "ibv_poll_cq: 0\n"
            "state: 1: DOWN\n"
            "ibv_destroy_qp: EIO\n"
            "ibv_dereg_mr: EIO\n"
            "ibv_destroy_qp: 0\n"
            "ibv_destroy_cq: 0\n"
            "ibv_destroy_comp_channel: 0\n"
            "ibv_dereg_mr: 0\n"
            "ibv_dealloc_pd: 0\n"
            "ibv_close_device: 0\n"
            "ibv_open_device: EIO\n")
      << runs.slices.story();
  EXPECT_EQ(runs.slices.report["faults"][0]["fired"], 1);
}

TEST(DeviceFatal, ends_a_peers_connection_by_its_retries) {
  for (const char* topology : {"two_hosts", "two_hosts_roce"}) {
    support::RunRequest request;
    request.topology = topology;
    request.commands = {"server=ibv_asyncwatch &", "server=ibv_rc_pingpong -g 0 -e -n 20000 &",
                        "client=sh -c 'ibv_rc_pingpong -g 0 -e -n 20000 server 2>&1 || true'"};
    request.options = {"--time-limit", "20s", "--fault",
                       R"({"action": "device_fatal", "host": "server", "at": "250 ms"})"};
    const auto slices = support::run(request);
    EXPECT_NE(slices.output("client").find("transport retry counter exceeded"), std::string::npos)
        << slices.story();
    EXPECT_NE(slices.output("server").find("IBV_EVENT_DEVICE_FATAL (8)"), std::string::npos)
        << slices.story();
  }
}

}  // namespace
}  // namespace verbatim
