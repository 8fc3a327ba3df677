// The simulated kernel: answers the system calls that the table routes to the supervisor. A call is tried
// when its cost has passed. If it must wait, the thread blocks on the files concerned, and the whole call is
// tried again after one of them has changed or at the deadline. A try therefore changes nothing unless it
// succeeds.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/failing_calls.h"
#include "sim/core/trace.h"
#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/kernel/futex.h"
#include "sim/supervisor/kernel/host_kernel.h"
#include "sim/supervisor/files/passage.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/net/socket.h"
#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/spec/network_spec.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/net/tcp.h"
#include "sim/supervisor/tasks/thread.h"
#include "verbs_shim/protocol/path_calls.h"

namespace verbatim::supervisor {

class UnixNetwork;
class DeviceContext;
class DeviceOpening;
class FileSignal;
class FolderFile;
class InotifyFile;
class UdpNetwork;
class TerminalFile;
class TerminalMaster;

class Kernel {
 public:
  // An answer; nullopt: the thread is blocked.
  using Outcome = std::optional<Answer>;
  using Output = std::function<void(Process&, int fd, std::span<const std::byte>)>;
  // `weakens`: the run leaves the guarantees of the simulator.
  using Warn = std::function<void(Process&, const std::string&, bool weakens)>;
  // Creates a thread of the process in a free slot, not yet scheduled; nullptr: no slot is free.
  using MakeThread = std::function<Thread*(Process&)>;

  Kernel(Engine& engine, Tracer& tracer, const std::vector<HostSpec>& hosts,
         const ManagementNetworkSpec& network, const SupervisorOptions& options, ProcessTable& table,
         Output output, Warn warn, MakeThread make_thread);
  ~Kernel();

  Outcome execute(Thread& thread);
  // The threads that may notice the pending call at its time of execution, or take part in its answer: only
  // the caller; also waiting threads of the host; any thread.
  enum class Concerns : std::uint8_t { kCaller, kWaiting, kAnybody };
  Concerns concerns(Thread& thread) const;
  // A call of class kRefused: warns with its name.
  Answer refuse(Thread& thread);
  // A control-path command of the verbs library (verbs_shim/protocol/commands.h).
  Outcome command(Thread& thread);
  // Virtual time that one call takes before it has an effect.
  Duration cost(Thread& thread);
  // A thread has ended: clears its id word and wakes a waiter, as Linux does (CLONE_CHILD_CLEARTID).
  void thread_ended(Thread& thread);
  // Drops futex waits, asynchronous I/O contexts, huge pages and System V attachments of `process`, which
  // ends or calls exec.
  void forget_waits(Process& process);
  // A signal is about to end the process: releases its threads' robust locks while their memory still exists.
  void release_robust_locks(Process& process);
  Passage& passage() { return *passage_; }
  // Replaces the kernel's own passage; call before any process starts.
  void use_passage(Passage& passage) { passage_ = &passage; }
  // True: copies descriptors of programs by pidfd_getfd. False: stops the program, which sends the
  // descriptor.
  void copy_descriptors(bool copies) { copies_descriptors_ = copies; }
  // Duplicates a real file that the process has open into the simulator. `asking`: native id of the process's
  // thread that makes the request. Returns the new descriptor, or -1 and errno.
  int take_descriptor(Process& process, pid_t asking, int fd);
  // Chooses which calls fail without need; without it, none. `calls` outlives the kernel.
  void use_failing_calls(FailingCalls& calls) { failing_ = &calls; }
  // As TcpNetwork::host_of.
  int host_of(const IpAddress& address, std::size_t from) const { return network_.host_of(address, from); }
  // One-way latency over the management network, or within a host.
  Duration network_latency(std::size_t from, std::size_t to) const { return network_.latency(from, to); }
  // The folders that hold the files of the process's host.
  const HostPaths& paths_of(const Process& process) const;
  HostPaths& paths_of_host(std::size_t host) { return host_kernels_[host].paths; }
  // For a link to an open file (/proc/PID/fd): the owning process, and the descriptor's native name for
  // `viewer`.
  Process& owner_of(Process& viewer, const TreeWalk& found) const;
  static std::string native_descriptor(const Process& viewer, const Process& owner, int descriptor);
  // nullopt: `path` can be executed; a /proc/PID/fd link has been replaced by its target. Otherwise the
  // call's answer.
  Outcome find_executable(Thread& thread, std::string& path);
  // Watches of files in the host's own folders (files/inotify_file.h, kernel_inotify.cc).
  bool watches_files(std::size_t host) const;
  // Fetches new events; returns the number of events not yet delivered.
  std::size_t fetch_file_events(std::size_t host, bool own_work = false);
  // Delivers all events.
  void deliver_file_events(std::size_t host);
  // While it exists, the simulator itself accesses files of the host and no program does: events of that are
  // dropped.
  class OwnFileWork {
   public:
    OwnFileWork(Kernel& kernel, std::size_t host) : kernel_(kernel), host_(host) { kernel_.fetch_file_events(host_); }
    ~OwnFileWork() { kernel_.fetch_file_events(host_, true); }
    OwnFileWork(const OwnFileWork&) = delete;
    OwnFileWork& operator=(const OwnFileWork&) = delete;

   private:
    Kernel& kernel_;
    const std::size_t host_;
  };
  // Creates the next /dev/pts/N of the host (kernel_terminal.cc).
  std::shared_ptr<Terminal> make_terminal(std::size_t host);
  // Makes the terminal the controlling terminal of the process's session, with its group in the foreground.
  static void control_session(Process& process, Terminal& terminal);
  // The process has ended: if it led a session, hangs up its terminal.
  void end_session(Process& process);
  // False: `signal` must not stop the process, because its group is orphaned (setpgid(2)).
  bool may_be_stopped(Process& process, int signal);
  // Number of calls denied because the host's trees lack the file or cannot be changed.
  std::uint64_t refused_files() const { return refused_files_; }
  Checks& checks() { return checks_; }
  // A process has ended: releases its timers, devices, descriptors and waits.
  void release(Process& process);
  // `child` is a new copy of `parent`: it inherits System V attachments, unless both share memory (vfork).
  void inherit(Process& parent, Process& child);

 private:
  // Sets the native thread through which the process is inspected during its call.
  static void note_caller(Thread& thread);

  using Handler = Outcome (Kernel::*)(Thread&);
  struct Handlers;
  static Handler handler_of(std::uint32_t number);

  // Files (kernel_io.cc)
  Outcome sys_read(Thread& thread);
  Outcome sys_write(Thread& thread);
  Outcome sys_close(Thread& thread);
  Outcome sys_close_range(Thread& thread);
  Outcome sys_fcntl(Thread& thread);
  Outcome sys_ioctl(Thread& thread);
  Answer ask_interface(Thread& thread);
  Answer list_interfaces(Process& process, std::uint64_t address);
  Answer ask_ethtool(Process& process, std::uint64_t address);  // kernel_ethtool.cc
  Outcome sys_dup(Thread& thread);
  Outcome sys_seek(Thread& thread);
  Outcome sys_open(Thread& thread);
  Outcome sys_change(Thread& thread);
  // Terminals (kernel_terminal.cc)
  std::optional<Outcome> open_terminal(Thread& thread, const std::string& path, int flags);
  Outcome open_terminal_master(Thread& thread, int flags);
  Outcome open_end(Thread& thread, Terminal& terminal, const std::string& path, int flags);
  std::optional<Outcome> keep_in_background(Thread& thread, Terminal& terminal, int signal);
  std::optional<Outcome> control_terminal(Thread& thread, VirtualFile& file);
  Outcome control_master(Thread& thread, TerminalMaster& master, std::uint32_t request, std::uint64_t address);
  Outcome control_jobs(Thread& thread, Terminal& terminal, std::uint32_t request, std::uint64_t address);
  void forget_terminals(std::size_t host);
  bool is_orphaned(Process& member);
  std::shared_ptr<Terminal> controlling_terminal(Process& process);
  std::pair<std::uint32_t, std::int32_t> terminal_in_proc(Process& process);
  static void note_waits_for_terminals(const std::vector<VirtualFilePtr>& files);
  // Signals on readiness of files (kernel_file_signal.cc)
  Answer control_file_signal(Thread& thread, VirtualFile& file);
  static bool is_followed(const VirtualFile& file);
  bool follow(Process& process, VirtualFile& file, bool on, int descriptor);
  FileSignal& signal_of(Process& process, VirtualFile& file);
  // Sockets (kernel_socket.cc)
  Outcome sys_socket(Thread& thread);
  Outcome sys_socketpair(Thread& thread);
  Outcome sys_bind(Thread& thread);
  Outcome sys_listen(Thread& thread);
  Outcome sys_connect(Thread& thread);
  Outcome sys_accept(Thread& thread);
  Outcome sys_shutdown(Thread& thread);
  Outcome sys_socket_name(Thread& thread);
  // Messages (kernel_message.cc)
  Outcome sys_sendto(Thread& thread);
  Outcome sys_recvfrom(Thread& thread);
  Outcome sys_sendmsg(Thread& thread);
  Outcome sys_recvmsg(Thread& thread);
  Outcome sys_sendmmsg(Thread& thread);
  Outcome sys_recvmmsg(Thread& thread);
  // Options (kernel_options.cc)
  Outcome sys_setsockopt(Thread& thread);
  Outcome sys_getsockopt(Thread& thread);
  // Pipes, counters, fstat (kernel_files.cc)
  Outcome sys_pipe(Thread& thread);
  Outcome open_fifo(Thread& thread, const std::string& path, int flags);
  Outcome sys_eventfd(Thread& thread);
  Outcome sys_timerfd(Thread& thread);
  Outcome sys_signalfd(Thread& thread);
  Outcome sys_stat(Thread& thread);
  // Files of the host's own trees (kernel_path.cc)
  Outcome sys_path(Thread& thread);
  Outcome sys_refused(Thread& thread) { return refuse(thread); }
  Outcome sys_file_numbers(Thread& thread);
  Outcome sys_descriptor_path(Thread& thread, const protocol::PathArgument& argument);
  Outcome answer_about(Thread& thread, const protocol::PathCall& row, const TreeWalk& found);
  Outcome change_folder(Thread& thread, FolderFile& folder);
  Outcome open_node(Thread& thread, const TreeWalk& walk, int flags);
  TreeWalk walk(Thread& thread, const std::string& path, bool follow);
  std::optional<std::string> whole_path(Thread& thread, const protocol::PathArgument& argument, int* error);
  Outcome missing(Thread& thread, int index, const TreeWalk& walk);
  Answer deny(Thread& thread, int index, const std::string& path, int error);
  Outcome work_in(Process& process, const std::string& folder);
  std::shared_ptr<const VirtualTree> tree_of(Thread& thread, const std::string& path);
  std::string link_of(const Process& process, const VirtualFilePtr& file);
  // Inode number of a file without a path, assigned at first use.
  std::uint64_t number_of(const Process& process, VirtualFile& file);
  Outcome store_file_system(Process& process, std::uint64_t address, const std::string& path);
  static int attributes_at(std::uint32_t number);
  Outcome store_attributes(Process& process, std::uint32_t number, std::uint64_t address, std::uint32_t mode,
                           std::uint64_t inode, std::uint64_t device);
  // Watches of files (kernel_inotify.cc)
  void make_file_watches();
  Outcome sys_file_events(Thread& thread);
  Outcome sys_inotify_init(Thread& thread);
  Outcome sys_inotify_add_watch(Thread& thread);
  Outcome sys_inotify_rm_watch(Thread& thread);
  Answer watch_real(Process& process, InotifyFile& file, const std::string& path, std::uint32_t mask);
  Answer watch_unchanging(Process& process, InotifyFile& file, const std::string& name, const std::string& path,
                          std::uint32_t mask);
  // Asynchronous input and output (kernel_async_io.cc)
  Outcome sys_io_setup(Thread& thread);
  Outcome sys_io_destroy(Thread& thread);
  Outcome sys_io_submit(Thread& thread);
  Outcome sys_io_cancel(Thread& thread);
  Outcome sys_io_getevents(Thread& thread);
  std::shared_ptr<AsyncContext> async_context(Process& process, std::int64_t id) const;
  void end_async_contexts(Process& process);
  struct AsyncRequest;
  std::int64_t load_request(Thread& thread, std::uint64_t address, AsyncRequest& request);
  // The result, or nullopt: the request must wait.
  IoResult transfer(Thread& thread, const AsyncRequest& request);
  // Waiting (kernel_wait.cc)
  Outcome sys_poll(Thread& thread);
  Outcome sys_select(Thread& thread);
  Outcome sys_epoll_create(Thread& thread);
  Outcome sys_epoll_ctl(Thread& thread);
  Outcome sys_epoll_wait(Thread& thread);
  Outcome sys_sleep(Thread& thread);
  Outcome sys_timer(Thread& thread);
  Outcome sys_posix_timer(Thread& thread);
  Outcome create_timer(Thread& thread);
  Answer interrupt(Thread& thread);
  void give_up_waiting(Thread& thread);
  void store_remaining_time(Thread& thread);
  int deliver_signals_during_wait(Thread& thread, std::uint64_t mask_address, bool waits);
  void abandon_futex(Thread& thread);
  Outcome sys_pause(Thread& thread);
  Outcome sys_wait_for_signal(Thread& thread);
  void keep_empty_call(Thread& thread, Answer& answer);
  // Calls that fail by choice (kernel_failing.cc)
  bool fails(Thread& thread, std::string_view site);
  // Chooses whether a call that must wait ends with EINTR.
  bool is_interrupted(Thread& thread);
  // Maximum number of bytes, of `limit`, that a read may find or a write may place; 0: EAGAIN. `whole`:
  // MSG_WAITALL.
  std::uint64_t readable_now(Thread& thread, VirtualFile& file, std::uint64_t limit, bool dont_wait, bool whole);
  std::uint64_t writable_now(Thread& thread, VirtualFile& file, std::uint64_t length, bool dont_wait);
  // Futex words (kernel_futex.cc)
  Outcome sys_futex(Thread& thread);
  Outcome futex_slept(Thread& thread, bool woken);
  Outcome futex_lock(Thread& thread, const FutexKey& key, std::int64_t operation);
  bool pass_lock(Process& process, std::uint64_t address, const FutexKey& key, std::uint32_t flags);
  std::optional<Instant> futex_deadline(Thread& thread, std::uint64_t address, std::optional<clockid_t> clock,
                                        std::int64_t* error);
  void wake_futex_word(Process& process, std::uint64_t address);
  void release_robust_locks(Thread& thread);
  // Other calls (kernel_process.cc)
  Outcome sys_clone(Thread& thread);
  Outcome sys_exit(Thread& thread);
  Outcome sys_uname(Thread& thread);
  // Limits and scheduling (kernel_attributes.cc)
  Thread* find_thread(Thread& seen_from, std::int64_t tid);
  std::vector<Thread*> threads_meant(Thread& thread, bool one, bool of_group, std::int64_t id);
  Outcome sys_limit(Thread& thread);
  Outcome sys_priority(Thread& thread);
  Outcome sys_scheduler(Thread& thread);
  Outcome sys_get_robust_list(Thread& thread);
  Outcome sys_file_owner(Thread& thread);
  // Access rights to files in a host's own folders (kernel_file_rights.cc)
  Outcome sys_file_rights(Thread& thread);
  // 0 or -errno: permission to create the socket file of an AF_UNIX name (`makes`), or to send to it.
  // own_socket_file() makes the thread the owner of a new one.
  int error_of_socket_name(Thread& thread, std::span<const std::byte> name, bool makes);
  void own_socket_file(Thread& thread, std::span<const std::byte> name);
  Outcome sys_lock_holder(Thread& thread);
  Outcome sys_refused_argument(Thread& thread);
  Outcome sys_set_affinity(Thread& thread);
  Outcome sys_memory_policy(Thread& thread);
  Outcome sys_huge_pages(Thread& thread);  // kernel_huge_pages.cc
  // kernel_credentials.cc
  Outcome sys_control(Thread& thread);
  Outcome sys_user(Thread& thread);
  Outcome sys_groups(Thread& thread);
  Outcome sys_capabilities(Thread& thread);
  Outcome sys_set_tid_address(Thread& thread);
  Outcome sys_sysinfo(Thread& thread);
  Outcome sys_getrandom(Thread& thread);
  Outcome sys_affinity(Thread& thread);
  // Process families: fork, wait, signals (kernel_family.cc)
  Outcome copy_process(Thread& thread);
  Outcome sys_wait4(Thread& thread);
  Outcome sys_waitid(Thread& thread);
  Outcome sys_kill(Thread& thread);
  Outcome sys_queue_signal(Thread& thread);
  Answer signal_one_thread(Process& sender, std::uint32_t pid, std::uint32_t tid, int signal,
                           const SignalOrigin& origin);
  Outcome sys_identity(Thread& thread);
  Process* find_process(const Process& seen_from, std::uint32_t pid) const;
  // ptrace(2), "Ptrace access mode checking" (kernel_other_memory.cc).
  bool may_look_into(Thread& thread, Process& other) const;
  bool may_list(Thread& thread, const std::string& folder);
  bool has_child(Process& parent, std::uint32_t pid, std::uint32_t group) const;
  std::optional<EndedChild> take_child(Thread& thread, std::uint32_t pid, std::uint32_t group, int options,
                                       int* error);

  // System V shared memory, semaphores, messages (kernel_sysv_*.cc)
  Outcome sys_shmget(Thread& thread);
  Outcome sys_shmat(Thread& thread);
  Outcome sys_attached(Thread& thread);
  Outcome sys_shmdt(Thread& thread);
  Outcome sys_shmctl(Thread& thread);
  Outcome sys_semget(Thread& thread);
  Outcome sys_semop(Thread& thread);
  Outcome sys_semctl(Thread& thread);
  Outcome sys_msgget(Thread& thread);
  Outcome sys_msgsnd(Thread& thread);
  Outcome sys_msgrcv(Thread& thread);
  Outcome sys_msgctl(Thread& thread);
  Outcome sys_start_remote(Thread& thread);
  Outcome sys_other_memory(Thread& thread);  // kernel_other_memory.cc
  HostKernel& host_of(const Process& process) { return host_kernels_[process.host_index()]; }
  const HostKernel& host_of(const Process& process) const { return host_kernels_[process.host_index()]; }
  SysvIpc& ipc_of(const Process& process) { return host_of(process).sysv_ipc; }

  // Devices (kernel_device.cc)
  Answer list_devices(Process& process, std::span<std::byte> mailbox);
  Answer report_refusal(Process& process, std::span<std::byte> mailbox);
  Answer open_device(Process& process, std::span<std::byte> mailbox);
  // Opens a context of the process on an opening, its own or an imported one.
  std::shared_ptr<DeviceContext> use_device(Process& process, std::shared_ptr<DeviceOpening> opening);
  Answer import_device(Process& process, std::span<std::byte> mailbox);
  Answer close_device(Process& process, std::span<std::byte> mailbox, std::uint32_t context);
  Answer create_channel(Process& process, std::span<std::byte> mailbox);
  Outcome await_neighbour(Thread& thread, std::span<std::byte> mailbox);

  // Addresses and lengths of an iovec in program memory.
  struct Buffers {
    struct Part {
      std::uint64_t address;
      std::uint64_t length;
    };
    std::vector<Part> parts;
    std::uint64_t length = 0;
  };
  // Reads a structure that the call refers to; later tries get the first copy (tasks/argument_copies.h).
  static bool read_argument(Thread& thread, std::uint64_t address, std::span<std::byte> to) {
    return thread.arguments().read(thread.process().memory(), address, to);
  }
  template <class T>
  static std::optional<T> load_argument(Thread& thread, std::uint64_t address) {
    T value;
    if (!read_argument(thread, address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }
  static std::optional<Buffers> load_vector(Thread& thread, std::uint64_t address, std::uint64_t count);
  // `once`: the bytes are a command, and count as an argument of the call.
  static bool gather(Thread& thread, const Buffers& from, std::uint64_t limit, std::vector<std::byte>& bytes, bool once = false);
  static bool scatter(Process& process, const Buffers& to, std::span<const std::byte> bytes);

  // Flags, destination and descriptors of one message (sendmsg(2)).
  struct Sending {
    int flags = 0;
    std::vector<std::byte> to;
    std::vector<PassedFile> files;
  };
  Outcome read_into(Thread& thread, const VirtualFilePtr& file, const Buffers& to);
  Outcome write_from(Thread& thread, const VirtualFilePtr& file, const Buffers& from, const Sending& sending);
  Outcome read_terminal(Thread& thread, const std::shared_ptr<TerminalFile>& file, const Buffers& to);
  Outcome receive(Thread& thread, const std::shared_ptr<Socket>& socket, const Buffers& to, int flags,
                  IncomingMessage& message);
  std::optional<Sending> load_sending(Thread& thread, const msghdr& header, int flags, int* error);
  // The open file `fd` for SCM_RIGHTS; nullopt and -errno if there is none.
  std::optional<PassedFile> file_to_pass(Process& process, int fd, int* error);
  // Descriptors received in messages, in order. `real[i]`: descriptor i is a real file, which waits in the
  // passage.
  struct Received {
    std::vector<int> numbers;
    std::vector<bool> real;
  };
  // Stores the outputs of recvmsg(2) except the bytes: sender's name, flags, control data. `asked`: the
  // header at the start of the call. Only output fields of the header in memory are changed. False: the
  // header is no longer mapped.
  bool store_message(Process& process, std::uint64_t address, const msghdr& asked, const IncomingMessage& message,
                     std::int64_t flags, Received& received);
  void store_control(Process& process, msghdr& header, const IncomingMessage& message, Received& received);
  int receive_file(Process& process, const PassedFile& passed, Received& received);
  // `answer`, which also makes the runtime install the received descriptors.
  Answer with_descriptors(Thread& thread, const Answer& answer, const Received& received);
  // `buffers` without their first `offset` bytes.
  static Buffers behind(const Buffers& buffers, std::uint64_t offset);
  // A read or write that made no progress: blocks, or answers EAGAIN or the partial count.
  Outcome wait_or_give_up(Thread& thread, std::vector<VirtualFilePtr> files, bool dont_wait, Duration timeout,
                          const std::string& call);
  // The socket `fd`; nullptr and `refusal` if it is none.
  static std::shared_ptr<Socket> socket_of(Process& process, std::int64_t fd, Answer* refusal);
  Outcome wait_for(Thread& thread, std::vector<VirtualFilePtr> files, Instant deadline,
                   const std::string& call);
  Outcome install(Process& process, VirtualFilePtr file, bool nonblocking);
  // Installs two files and stores their numbers in the program's int[2] at `address`.
  Outcome install_pair(Process& process, const VirtualFilePtr& first, const VirtualFilePtr& second,
                       bool nonblocking, std::uint64_t address);

  // Reads a socket address from the program; nullopt and -errno.
  static std::optional<std::vector<std::byte>> load_name(Thread& thread, std::uint64_t address,
                                                         std::uint64_t length, int* error);
  // Stores a socket address, truncated to the program's buffer, and its full length; 0 or -errno.
  static int store_name(Process& process, std::span<const std::byte> name, std::uint64_t address, std::uint64_t length_address);
  // Deadline of a relative timespec, the same in all tries; kNever if the address is 0. nullopt: -errno in
  // `error`.
  std::optional<Instant> load_deadline(Thread& thread, std::uint64_t timespec_address, int* error);
  std::uint32_t readiness_of(Process& process, int fd, bool* valid) const;

  Instant now() const { return engine_.now(); }
  // Seconds since 1970.
  std::int64_t seconds() const { return (options_.epoch_ns + to_ps(now()) / 1000) / 1'000'000'000; }
  void warn(Process& process, const std::string& text, bool weakens = false) { report_(process, text, weakens); }

  Engine& engine_;
  Tracer& tracer_;
  const std::vector<HostSpec>& hosts_;
  VirtualNode::Text hosts_file_;  // shared by the trees: it is long with thousands of hosts
  const SupervisorOptions& options_;
  ProcessTable& table_;
  TcpNetwork network_;
  std::unique_ptr<UdpNetwork> udp_;
  std::unique_ptr<UnixNetwork> unix_;
  FailingCalls* failing_ = nullptr;
  bool copies_descriptors_ = true;
  Passage own_passage_;
  Passage* passage_ = &own_passage_;
  std::deque<HostKernel> host_kernels_;  // by index of the host
  std::map<std::uint64_t, std::shared_ptr<const VirtualTree>> common_trees_;  // by TSC frequency
  std::uint64_t huge_segments_ = 0;  // number of huge page segments of System V shared memory created
  std::uint64_t refused_files_ = 0;
  Output output_;
  Warn report_;
  MakeThread make_thread_;
  FutexTable futexes_;
  Checks checks_;
};

}  // namespace verbatim::supervisor
