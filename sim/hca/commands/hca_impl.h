// The control path: commands, and the tables of the objects that they create. The data path is in `adapter`.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/core/delay_line.h"
#include "sim/core/number_space.h"
#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/completion_queue.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/hca/freedom.h"
#include "sim/hca/hca.h"
#include "sim/hca/inspector.h"
#include "sim/hca/slot.h"
#include "sim/hca/stages/pipeline.h"

namespace verbatim::hca {

class Hca::Impl {
 public:
  Impl(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, std::string device_name,
       const HcaProfile& profile, const PortAddress& address);
  ~Impl();

  const std::string device_name;
  Adapter adapter;
  const Inspector inspector{adapter, contexts_};
  FailingCalls* failing_calls = nullptr;
  ComponentId host{};  // argument of failing_calls

  std::uint32_t open(const ProgramPort& program);
  std::uint32_t share(std::uint32_t context, const ProgramPort& program);
  void leave(std::uint32_t context);
  void keep_memory(std::uint32_t context);
  void close(std::uint32_t context);
  void execute(std::span<std::byte> mailbox);
  Instant next_effect() const;
  void report_end_of_region(std::uint32_t context, std::uint32_t handle, std::function<std::string()> place);
  void ring_doorbell(std::uint32_t context, protocol::DoorbellKind kind, std::uint32_t number,
                     std::uint64_t value, Duration call_time);
  SourceEnd add_source(WorkSource& source, std::uint32_t depth);
  void connect_source(std::uint32_t qpn, const SourcePath& path);
  void post_source(std::uint32_t qpn, std::uint32_t count);
  void link_changed(bool up);
  void configure(const PortConfiguration& configuration);
  void fail();

 private:
  struct Doorbell {
    Ref<Context> context;
    protocol::DoorbellKind kind{};
    std::uint32_t number = 0;
    std::uint64_t value = 0;
    std::uint32_t before = 0;  // when it was rung: entries written to the CQ, or resets of the queue pair
    Instant rung{};
    bool has_work = false;     // the work request was written with it (BlueFlame)
    Trail trail;               // of the work requests that it announces
  };

  // Copies a command out of the mailbox, runs the handler, and copies the answer back. Returns the handler's
  // errno, or EINVAL for a wrong size or an unknown context.
  template <class Command, class Handler>
  int answer(std::span<std::byte> mailbox, Handler handler);
  // Reports why a command is refused, and returns `error`, a positive errno.
  template <class... Parts>
  int refuse(int error, const Parts&... parts) const {
    return adapter.diagnoses.refuse(error, parts...);
  }
  int no_object(const char* kind, std::uint32_t handle) const {
    return refuse(EINVAL, "this context has no ", kind, " with handle ", handle);
  }
  // Linux, drivers/infiniband/core/rdma_core.c: looking up an object to destroy it fails with ENOENT.
  int no_object_to_destroy(const char* kind, std::uint32_t handle) const {
    return refuse(ENOENT, "this context has no ", kind, " with handle ", handle);
  }
  int no_room() const { return refuse(ENOMEM, "the queues of this process use all the memory that is available for queues"); }
  int refuse_entries(std::uint32_t cqe) const {
    return refuse(EINVAL, "cqe ", cqe, ": it may be 1 to max_cqe ", adapter.profile.max_cqe);
  }
  int refuse_dm_range(std::uint64_t offset, std::uint64_t length, std::uint64_t whole) const {
    return refuse(EFAULT, length, " bytes from offset ", offset, " are not within the ", whole, " bytes of device memory");
  }
  bool lacks_memory(const protocol::CommandHeader& header);
  // Whether a queue gets all entries that its ring has room for, and not only those that were requested.
  bool grants_full_ring(std::string_view site) { return adapter.choices.choose(site, adapter.id, 2) == 0; }
  int dispatch(protocol::CommandHeader& header, std::span<std::byte> mailbox);
  // The context with this number; null: there is none, or its program has left it.
  Context* find_context(std::uint32_t number);
  std::uint32_t add_context(Ucontext& objects, const ProgramPort& program);
  // Destroys all objects of an opening, which has at least one context. The contexts stay.
  void end_objects(Ucontext& objects);
  // Raises an event of the port or of the whole adapter in every context that its program has not left.
  void notify_programs(ib::AsyncEventType event);

  // commands.cc
  int query_device(Context& context, protocol::QueryDevice& command);
  int query_port(Context& context, protocol::QueryPort& command);
  int query_gid(Context& context, protocol::QueryGid& command);
  int query_pkey(Context& context, protocol::QueryPkey& command);
  int alloc_pd(Context& context, protocol::AllocPd& command);
  int dealloc_pd(Context& context, protocol::DestroyObject& command);
  int reg_mr(Context& context, protocol::RegMr& command);
  int check_mr(Context& context, std::uint64_t start, std::uint64_t length, std::uint64_t iova,
               std::uint32_t access) const;
  int rereg_mr(Context& context, protocol::ReregMr& command);
  int dereg_mr(Context& context, protocol::DestroyObject& command);
  // window_commands.cc
  int alloc_mw(Context& context, protocol::AllocMw& command);
  int dealloc_mw(Context& context, protocol::DestroyObject& command);
  // device_memory.cc
  int alloc_dm(Context& context, protocol::AllocDm& command);
  int free_dm(Context& context, protocol::DestroyObject& command);
  int copy_dm(Context& context, protocol::CopyDm& command);
  int reg_dm_mr(Context& context, protocol::RegDmMr& command);
  int alloc_null_mr(Context& context, protocol::AllocNullMr& command);
  int import_object(Context& context, protocol::ImportObject& command);
  int advise_mr(Context& context, protocol::AdviseMr& command);
  KeyTable::Choice choose_key();
  // Handle for a new object of the context's opening.
  std::uint32_t take_handle(Context& context);
  // Adds a checked region and returns its handle and key in the last arguments.
  int add_mr(Context& context, std::unique_ptr<MemoryRegion> region, std::uint32_t* handle, std::uint32_t* key);
  int create_ah(Context& context, protocol::CreateAh& command);
  int destroy_ah(Context& context, protocol::DestroyObject& command);

  // queue_commands.cc
  int create_cq(Context& context, protocol::CreateCq& command);
  int resize_cq(Context& context, protocol::ResizeCq& command);
  int modify_cq(Context& context, protocol::ModifyCq& command);
  int destroy_cq(Context& context, protocol::DestroyObject& command);
  int create_qp(Context& context, protocol::CreateQp& command);
  int modify_qp(Context& context, protocol::ModifyQp& command);
  int query_qp(Context& context, protocol::QueryQp& command);
  int destroy_qp(Context& context, protocol::DestroyObject& command);
  QueuePair* find_qp(Context& context, std::uint32_t handle);
  // By number, as in doorbells; null if it does not belong to the context.
  CompletionQueue* find_cq_by_number(const Context& context, std::uint32_t number);
  QueuePair* find_qp_by_number(const Context& context, std::uint32_t number);
  CompletionQueue* find_cq(Context& context, std::uint32_t handle);
  // Closes a context's handle of a queue pair; the last one destroys the queue pair.
  void close_qp(Context& context, std::uint32_t handle);
  std::uint32_t take_qp_number();
  std::uint32_t take_srq_number();
  // Destroys a queue pair or work queue and releases its number.
  void destroy_numbered(QueuePair& qp);
  void add_qp(const Ref<QueuePair>& qp);
  void remove_cq(CompletionQueue& cq);

  // Bytes of one send entry: a header, and room for the longer one of scatter list and inline data.
  static std::uint32_t send_stride(const protocol::QpCapabilities& capabilities);
  static std::uint32_t recv_stride(std::uint32_t max_sge);
  // Bytes of one entry of a ring of tag list operations.
  std::uint32_t operation_stride() const;
  int check_tags(const protocol::CreateSrq& command, bool has_tags) const;

  // work_queue_commands.cc
  int create_wq(Context& context, protocol::CreateWq& command);
  int modify_wq(Context& context, protocol::ModifyWq& command);
  int destroy_wq(Context& context, protocol::DestroyObject& command);
  int create_rwq_table(Context& context, protocol::CreateRwqTable& command);
  int destroy_rwq_table(Context& context, protocol::DestroyObject& command);
  int create_scaling_qp(Context& context, protocol::CreateQp& command);
  QueuePair* find_wq(Context& context, std::uint32_t handle);
  void close_wq(Context& context, std::uint32_t handle);
  void close_table(Context& context, std::uint32_t handle);

  // flow_commands.cc
  int create_flow(Context& context, protocol::CreateFlow& command);
  int destroy_flow(Context& context, protocol::DestroyObject& command);
  int create_counters(Context& context, protocol::CreateCounters& command);
  int destroy_counters(Context& context, protocol::DestroyObject& command);
  int attach_counter(Context& context, protocol::AttachCounter& command);
  int read_counters(Context& context, protocol::ReadCounters& command);
  void close_flow(Context& context, std::uint32_t handle);

  // shared_receive_commands.cc
  int create_srq(Context& context, protocol::CreateSrq& command);
  std::uint32_t granted_entries(const SharedReceiveQueue& srq) const;
  int modify_srq(Context& context, protocol::SrqAttributes& command);
  int query_srq(Context& context, protocol::SrqAttributes& command);
  int destroy_srq(Context& context, protocol::DestroyObject& command);
  SharedReceiveQueue* find_srq(Context& context, std::uint32_t handle);
  void remove_srq(SharedReceiveQueue& srq);

  // multicast_commands.cc
  int change_multicast(Context& context, protocol::Multicast& command, bool attaches);
  int attach_multicast(Context& context, protocol::Multicast& command);
  int detach_multicast(Context& context, protocol::Multicast& command);

  // xrc_commands.cc
  int open_xrcd(Context& context, protocol::OpenXrcd& command);
  int close_xrcd(Context& context, protocol::DestroyObject& command);
  int create_xrc_receiver(Context& context, protocol::CreateQp& command);
  int open_qp(Context& context, protocol::OpenQp& command);
  XrcOpening* find_xrcd(Context& context, std::uint32_t handle);
  void add_opening(const Ref<QueuePair>& qp, Context& context, std::uint32_t handle, std::uint64_t cookie,
                   std::uint32_t xrcd);
  void close_xrc_opening(Context& context, std::uint32_t handle);

  // work_sources.cc
  // Key of the region without memory that all work sources of the adapter use.
  std::uint32_t source_key();
  // Notifies all work sources of the adapter's failure, and destroys their queue pairs.
  void fail_sources();

  // A doorbell leaves the processor with `pushed` bytes of a work request (BlueFlame); `before` as in
  // Doorbell.
  void send_doorbell(Context& context, protocol::DoorbellKind kind, std::uint32_t number, std::uint64_t value,
                     std::uint32_t before, std::uint32_t pushed, Duration call_time);
  void on_doorbell_arrived(Doorbell doorbell);
  void on_doorbell(Doorbell doorbell);

  std::map<std::uint32_t, std::unique_ptr<Ucontext>> openings_;  // by number of the first context
  Ucontext own_objects_;
  Pool<Context> context_pool_;
  Pool<CompletionQueue> cq_pool_;
  Pool<QueuePair> qp_pool_;
  Pool<SharedReceiveQueue> srq_pool_;
  Inspector::Contexts contexts_;
  std::map<std::uint32_t, std::shared_ptr<Arena>> arenas_;  // by process
  std::map<std::uint32_t, Ref<CompletionQueue>> cqs_;       // by number
  struct XrcDomain {
    std::uint64_t file = 0;  // identity of the file of ibv_open_xrcd(); 0: private
    std::uint32_t openings = 0;
  };
  std::map<std::uint32_t, XrcDomain> xrc_domains_;  // by number, from 1
  Ref<Context> own_context_;  // of XRC receivers, which outlive the program that creates them, and of work sources
  std::unique_ptr<MemoryRegion> source_region_;  // null until the first work source
  std::vector<Ref<QueuePair>> sources_;          // in the order in which they were added
  std::uint32_t last_domain_ = 0;
  std::uint32_t last_context_ = 0;
  NumberSpace qp_numbers_;
  NumberSpace cq_numbers_;
  NumberSpace srq_numbers_;
  std::uint32_t qp_count_ = 0, mr_count_ = 0, mw_count_ = 0, pd_count_ = 0, ah_count_ = 0, srq_count_ = 0;
  std::uint32_t wq_count_ = 0, table_count_ = 0, counters_count_ = 0;
  Pipeline doorbell_stage_;
  DelayLine<Doorbell> doorbells_on_the_way_;
  DelayLine<Doorbell> doorbells_;
};

}  // namespace verbatim::hca
