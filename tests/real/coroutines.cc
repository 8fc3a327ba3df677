// A server whose clients are C++20 coroutines: each awaits its completions, and one scheduler polls for all
// of them. Every client is a queue pair connected to another one, and echoes what it receives.
#include <infiniband/verbs.h>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  std::printf("failed: %s\n", what);
  std::exit(1);
}

// A task that starts at once; its awaiter continues at its end.
struct Task {
  struct promise_type {
    std::coroutine_handle<> awaiter;
    std::exception_ptr error;
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() { return {}; }
    struct End {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().awaiter ? ended.promise().awaiter : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    End final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };
  explicit Task(std::coroutine_handle<promise_type> own) : handle(own) {}
  Task(Task&& other) : handle(std::exchange(other.handle, nullptr)) {}
  ~Task() {
    if (handle) handle.destroy();
  }
  bool await_ready() { return handle.done(); }
  void await_suspend(std::coroutine_handle<> awaiter) { handle.promise().awaiter = awaiter; }
  void await_resume() {
    if (handle.promise().error) std::rethrow_exception(handle.promise().error);
  }
  std::coroutine_handle<promise_type> handle;
};

class Scheduler {
 public:
  explicit Scheduler(ibv_cq* cq) : cq_(cq) {}

  struct Completion {
    Scheduler& scheduler;
    std::uint64_t id;
    ibv_wc found{};
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> awaiter) { scheduler.waiting_[id] = {awaiter, &found}; }
    ibv_wc await_resume() {
      if (found.status != IBV_WC_SUCCESS) throw static_cast<int>(found.status);
      return found;
    }
  };
  Completion completion(std::uint64_t id) { return {*this, id}; }

  struct Pause {
    Scheduler& scheduler;
    Clock::time_point until;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> awaiter) { scheduler.asleep_.push({until, awaiter}); }
    void await_resume() {}
  };
  Pause pause(Clock::duration time) { return {*this, Clock::now() + time}; }

  // Runs until no task waits.
  void run() {
    while (!waiting_.empty() || !asleep_.empty() || !ready_.empty()) {
      ibv_wc found[4];
      const int n = ibv_poll_cq(cq_, 4, found);
      if (n < 0) fail("poll");
      for (int i = 0; i < n; ++i) {
        const auto waiter = waiting_.find(found[i].wr_id);
        if (waiter == waiting_.end()) fail("a completion that nobody awaits");
        *waiter->second.second = found[i];
        ready_.push_back(waiter->second.first);
        waiting_.erase(waiter);
      }
      while (!asleep_.empty() && asleep_.top().first <= Clock::now()) {
        ready_.push_back(asleep_.top().second);
        asleep_.pop();
      }
      if (ready_.empty()) continue;
      const std::coroutine_handle<> next = ready_.front();
      ready_.pop_front();
      next.resume();
    }
  }

 private:
  using Sleeper = std::pair<Clock::time_point, std::coroutine_handle<>>;
  struct Later {
    bool operator()(const Sleeper& a, const Sleeper& b) const { return a.first > b.first; }
  };
  ibv_cq* cq_;
  std::map<std::uint64_t, std::pair<std::coroutine_handle<>, ibv_wc*>> waiting_;
  std::priority_queue<Sleeper, std::vector<Sleeper>, Later> asleep_;
  std::deque<std::coroutine_handle<>> ready_;
};

constexpr std::size_t kSlot = 256;
constexpr int kPairs = 8, kRounds = 10;

struct Connection {
  ibv_qp* qp;
  char* buffer;  // kSlot bytes for sends, then kSlot for receives
  std::uint32_t lkey;
  std::uint64_t id;

  void receive() const {
    ibv_sge part{reinterpret_cast<std::uintptr_t>(buffer + kSlot), kSlot, lkey};
    ibv_recv_wr request{}, *bad;
    request.wr_id = id * 2;
    request.sg_list = &part;
    request.num_sge = 1;
    if (ibv_post_recv(qp, &request, &bad) != 0) fail("post_recv");
  }
  void send(const std::string& text) const {
    std::memcpy(buffer, text.data(), text.size());
    ibv_sge part{reinterpret_cast<std::uintptr_t>(buffer), static_cast<std::uint32_t>(text.size()), lkey};
    ibv_send_wr request{}, *bad;
    request.wr_id = id * 2 + 1;
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    if (ibv_post_send(qp, &request, &bad) != 0) fail("post_send");
  }
  std::string text(std::size_t size) const { return {buffer + kSlot, size}; }
};

Task serve(Scheduler& scheduler, const Connection& connection) {
  connection.receive();
  for (int round = 0; round < kRounds; ++round) {
    const ibv_wc request = co_await scheduler.completion(connection.id * 2);
    const std::string text = connection.text(request.byte_len);
    connection.receive();
    connection.send("echo of " + text);
    co_await scheduler.completion(connection.id * 2 + 1);
  }
}

Task exchange(Scheduler& scheduler, const Connection& connection, int number, int round, int& right) {
  const std::string text = "client " + std::to_string(number) + " round " + std::to_string(round);
  connection.receive();
  connection.send(text);
  co_await scheduler.completion(connection.id * 2 + 1);
  const ibv_wc answer = co_await scheduler.completion(connection.id * 2);
  if (connection.text(answer.byte_len) == "echo of " + text) ++right;
  if (round == kRounds - 1 && number == kPairs - 1) throw std::string("the last exchange");
}

Task ask(Scheduler& scheduler, const Connection& connection, int number, int& right, int& caught) {
  for (int round = 0; round < kRounds; ++round) {
    co_await scheduler.pause(std::chrono::microseconds(10 * (number + 1)));
    try {
      co_await exchange(scheduler, connection, number, round, right);
    } catch (const std::string&) {
      ++caught;
    }
  }
}

void connect(ibv_qp* qp, std::uint32_t other, std::uint16_t lid) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) fail("INIT");
  attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = other;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = 1;
  attributes.ah_attr.dlid = lid;
  attributes.ah_attr.port_num = 1;
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    fail("RTR");
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;
  attributes.retry_cnt = attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 1;
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    fail("RTS");
}

}  // namespace

int main() {
  int count;
  ibv_device** const list = ibv_get_device_list(&count);
  if (list == nullptr || count == 0) fail("no device");
  ibv_context* const context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_cq* const cq = ibv_create_cq(context, 128, nullptr, nullptr, 0);
  ibv_port_attr port;
  if (ibv_query_port(context, 1, &port) != 0) fail("port");
  std::vector<char> memory(2 * kPairs * 2 * kSlot);
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* const mr = ibv_reg_mr(pd, memory.data(), memory.size(), kAccess);
  std::vector<Connection> connections;
  for (std::uint64_t i = 0; i < 2 * kPairs; ++i) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {4, 4, 1, 1, 0};
    ibv_qp* const qp = ibv_create_qp(pd, &attributes);
    if (qp == nullptr) fail("queue pair");
    connections.push_back({qp, memory.data() + i * 2 * kSlot, mr->lkey, i});
  }
  for (std::size_t i = 0; i < connections.size(); ++i) connect(connections[i].qp, connections[i ^ 1].qp->qp_num, port.lid);

  Scheduler scheduler(cq);
  int right = 0, caught = 0;
  {
    std::vector<Task> tasks;
    for (int i = 0; i < kPairs; ++i) {
      tasks.push_back(serve(scheduler, connections[2 * i]));
      tasks.push_back(ask(scheduler, connections[2 * i + 1], i, right, caught));
    }
    scheduler.run();
    for (const Task& task : tasks) {
      if (!task.handle.done()) fail("a task has not ended");
    }
  }
  std::printf("%d of %d exchanges, caught %d\n", right, kPairs * kRounds, caught);
  for (const Connection& connection : connections) {
    if (ibv_destroy_qp(connection.qp) != 0) fail("destroy");
  }
  if (ibv_dereg_mr(mr) != 0 || ibv_destroy_cq(cq) != 0 || ibv_dealloc_pd(pd) != 0 || ibv_close_device(context) != 0) fail("end");
  return 0;
}
