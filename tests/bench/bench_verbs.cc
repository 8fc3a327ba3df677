// Cost of ibv_post_send, ibv_post_recv and ibv_poll_cq in the program, with a runtime that does nothing:
// nanoseconds per call. To compare two versions, count instructions: `valgrind --tool=callgrind bench_verbs
// 20000`, and add up those of verbatim::verbs.
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/abi/fake_runtime.h"

namespace {

using namespace verbatim;

double nanoseconds(std::chrono::steady_clock::duration time, long count) {
  return std::chrono::duration<double, std::nano>(time).count() / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? std::atol(argv[1]) : 2'000'000;
  fake::reset();
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {16, 16, 2, 2, 64};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(pd, &init);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE) != 0) return 1;

  ibv_sge sge{0x1000, 64, 7};
  ibv_send_wr send{};
  send.sg_list = &sge;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  ibv_recv_wr receive{};
  receive.sg_list = &sge;
  receive.num_sge = 1;
  ibv_send_wr* bad_send = nullptr;
  ibv_recv_wr* bad_receive = nullptr;
  ibv_wc completion;
  using Clock = std::chrono::steady_clock;
  Clock::duration sending{}, receiving{}, polling{}, empty{};
  const auto number = reinterpret_cast<fake::Qp*>(&fake::world().qps.begin()->second)->number;
  for (long i = 0; i < rounds; ++i) {
    const auto a = Clock::now();
    if (ibv_post_send(qp, &send, &bad_send) != 0) return 1;
    const auto b = Clock::now();
    if (ibv_post_recv(qp, &receive, &bad_receive) != 0) return 1;
    const auto c = Clock::now();
    protocol::Cqe entry{};
    entry.qpn = number;
    entry.wqe_counter = static_cast<std::uint32_t>(i);
    auto& ring = fake::world().cqs.begin()->second;
    fake::world().complete(ring, entry);
    entry.queue = protocol::CqeQueue::kReceive;
    fake::world().complete(ring, entry);
    const auto d = Clock::now();
    if (ibv_poll_cq(cq, 1, &completion) != 1 || ibv_poll_cq(cq, 1, &completion) != 1) return 1;
    const auto e = Clock::now();
    if (ibv_poll_cq(cq, 1, &completion) != 0) return 1;
    const auto f = Clock::now();
    sending += b - a, receiving += c - b, polling += e - d, empty += f - e;
    fake::world().spent.clear();
    fake::world().doorbells.clear();
  }
  std::printf("ibv_post_send %.1f ns, ibv_post_recv %.1f ns, ibv_poll_cq %.1f ns with an entry and %.1f ns without\n",
              nanoseconds(sending, rounds), nanoseconds(receiving, rounds), nanoseconds(polling, 2 * rounds),
              nanoseconds(empty, rounds));
}
