// Texts of calls, their order, and repeated calls counted on one line.
#include "tools/verbatim/calls/call_list.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "verbs_shim/protocol/commands.h"

namespace verbatim::cli {
namespace {

using protocol::ReportedCallKind;
using protocol::ReportedCallStep;

// A fake address space.
class Memory {
 public:
  void put(std::uint64_t address, std::string_view bytes) { parts_[address] = bytes; }
  template <class T>
  void put_value(std::uint64_t address, const T& value) {
    put(address, {reinterpret_cast<const char*>(&value), sizeof value});
  }
  std::size_t read(std::uint64_t address, std::span<std::byte> to) const {
    for (const auto& [begin, bytes] : parts_) {
      if (address < begin || address >= begin + bytes.size()) continue;
      const std::size_t count = std::min<std::size_t>(to.size(), begin + bytes.size() - address);
      std::memcpy(to.data(), bytes.data() + (address - begin), count);
      return count;
    }
    return 0;
  }

 private:
  std::map<std::uint64_t, std::string> parts_;
};

class Calls {
 public:
  Memory memory;

  void tell(std::int64_t time_ns, std::uint32_t tid, std::uint64_t place, ReportedCallStep step,
            const protocol::ReportedCall& call) {
    static const std::string host = "server";
    supervisor::ProgramCall told{
        .host = host, .pid = 1000, .tid = tid, .now = instant_from_ps(time_ns * 1000), .place = place};
    told.call = call;
    told.call.step = step;
    told.read = [this](std::uint64_t address, std::span<std::byte> to) { return memory.read(address, to); };
    list_.on_call(told);
  }
  // A call of the first thread from `begin_ns` to `end_ns`.
  void make(std::int64_t begin_ns, std::int64_t end_ns, const protocol::ReportedCall& call) {
    tell(begin_ns, 1000, 1, ReportedCallStep::kBegins, call);
    tell(end_ns, 1000, 1, ReportedCallStep::kHasEnded, call);
  }
  std::string finish() {
    std::string text;
    list_.finish([&](const std::string& line) { text += line; });
    return text;
  }

 private:
  CallList list_;
};

protocol::ReportedCall call_of(std::uint32_t number, std::vector<std::int64_t> arguments, std::int64_t result) {
  protocol::ReportedCall call{ReportedCallKind::kSystemCall, ReportedCallStep::kBegins, number, 0, {}, result};
  std::ranges::copy(arguments, call.arguments);
  return call;
}

protocol::ReportedCall poll(std::int64_t result) {
  return {ReportedCallKind::kPoll, ReportedCallStep::kBegins, 129, 0, {1, 0x5000}, result};
}

std::string line_of(const protocol::ReportedCall& call, const Memory& memory) {
  const ReadMemory read = [&](std::uint64_t address, std::span<std::byte> to) {
    return memory.read(address, to);
  };
  CallText text = text_of(call, read);
  add_result(text, call, read);
  return text.call() + text.result;
}

TEST(CallText, open_flags_and_errors_have_names) {
  Memory memory;
  memory.put(0x1000, std::string_view("/etc/hosts\0", 11));
  EXPECT_EQ(line_of(call_of(SYS_openat, {AT_FDCWD, 0x1000, O_RDONLY | O_CLOEXEC}, 3), memory),
            "openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY|O_CLOEXEC) = 3");
  EXPECT_EQ(line_of(call_of(SYS_open, {0x1000, O_RDWR | O_CREAT, 0644}, -ENOENT), memory),
            "open(\"/etc/hosts\", O_RDWR|O_CREAT, 0644) = -1 ENOENT (No such file or directory)");
}

TEST(CallText, of_a_buffer_the_first_bytes_are_shown_and_only_those_that_were_moved) {
  Memory memory;
  memory.put(0x1000, std::string("a\n\x01\xff") + std::string(60, 'b'));
  EXPECT_EQ(line_of(call_of(SYS_write, {1, 0x1000, 64}, 64), memory),
            R"(write(1, "a\n\x01\xffbbbbbbbbbbbbbbbbbbbbbbbbbbbb"..., 64) = 64)");
  EXPECT_EQ(line_of(call_of(SYS_read, {0, 0x1000, 64}, 1), memory), R"(read(0, "a", 64) = 1)");
  EXPECT_EQ(line_of(call_of(SYS_read, {0, 0x1000, 64}, 0), memory), R"(read(0, "", 64) = 0)");
  EXPECT_EQ(line_of(call_of(SYS_read, {0, 0x1000, 64}, -EAGAIN), memory),
            "read(0, 0x1000, 64) = -1 EAGAIN (Resource temporarily unavailable)");
  EXPECT_EQ(line_of(call_of(SYS_write, {1, 0x1030, 64}, 64), memory),
            "write(1, 0x1030, 64) = 64");  // the end of the buffer is not mapped
}

TEST(CallText, numbers_that_lie_bound_nothing) {
  Memory memory;
  memory.put(0x1000, std::string(100, '\xff'));
  for (std::uint32_t number = 0; number < 512; ++number) {
    for (const std::int64_t value :
         {std::int64_t{-1}, std::int64_t{0x1000}, std::int64_t{0x7fffffff}, std::int64_t{0}}) {
      for (const std::int64_t result :
           {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1} << 62, std::int64_t{0x1000}}) {
        EXPECT_LT(
            line_of(call_of(number, {0x1000, value, 0x1000, value, 0x1000, value}, result), memory).size(),
            2000u)
            << number;
        EXPECT_LT(
            line_of(call_of(number, {value, 0x1000, value, 0x1000, value, 0x1000}, result), memory).size(),
            2000u)
            << number;
      }
    }
  }
  for (std::uint32_t kind = 1; kind < protocol::kReportedCallKinds; ++kind) {
    protocol::ReportedCall call{
        static_cast<ReportedCallKind>(kind), ReportedCallStep::kBegins, 7, 0, {0x1000, 0, -1, 0, 0xffffffff, -1}, 1 << 30};
    EXPECT_LT(line_of(call, memory).size(), 2000u) << kind;
    call.result = 0;
    EXPECT_LT(line_of(call, memory).size(), 2000u) << kind;
  }
}

TEST(CallText, every_command_has_the_name_of_its_verb) {
  for (auto type = std::uint32_t{1}; type <= static_cast<std::uint32_t>(protocol::CommandType::kModifyCq);
       ++type) {
    Memory memory;
    std::string bytes(sizeof(protocol::CreateQp) + sizeof(protocol::ModifyQp) + 4096, '\0');
    const protocol::CommandHeader header{static_cast<protocol::CommandType>(type), sizeof header, 0, 1};
    std::memcpy(bytes.data(), &header, sizeof header);
    memory.put(0x1000, bytes);
    EXPECT_FALSE(
        line_of({ReportedCallKind::kCommand, ReportedCallStep::kBegins, 0, 0, {0x1000}, 0}, memory).starts_with("command"))
        << type;
  }
}

TEST(CallText, of_a_list_every_request_is_shown_and_one_that_leads_nowhere_as_its_address) {
  Memory memory;
  ibv_sge parts[2] = {{0, 60, 0}, {0, 4, 0}};
  memory.put_value(0x3000, parts);
  ibv_send_wr first{}, second{};
  first.wr_id = 7;
  first.sg_list = reinterpret_cast<ibv_sge*>(0x3000);
  first.num_sge = 2;
  first.opcode = IBV_WR_SEND;
  first.next = reinterpret_cast<ibv_send_wr*>(0x2000);
  second.wr_id = 8;
  second.opcode = IBV_WR_RDMA_READ;
  second.next = reinterpret_cast<ibv_send_wr*>(0x10);
  memory.put_value(0x1000, first);
  memory.put_value(0x2000, second);
  EXPECT_EQ(line_of({ReportedCallKind::kPostSend, ReportedCallStep::kBegins, 72, 0, {0x1000}, ENOMEM}, memory),
            "ibv_post_send(QP 72, wr_id 7, SEND, 64 bytes, wr_id 8, RDMA_READ, 0 bytes, 0x10) = ENOMEM "
            "(Cannot allocate memory)");
}

TEST(CallText, completions_have_their_request_and_status) {
  Memory memory;
  ibv_wc done[2] = {};
  done[0].wr_id = 7;
  done[1].wr_id = 8;
  done[1].status = IBV_WC_RETRY_EXC_ERR;
  memory.put_value(0x5000, done);
  EXPECT_EQ(line_of(poll(2), memory),
            "ibv_poll_cq(CQ 129) = 2 [wr_id 7 success, wr_id 8 transport retry counter exceeded]");
}

TEST(CallList, lines_come_in_the_order_of_beginnings_with_how_long_each_took) {
  Calls calls;
  calls.tell(100'000'001, 1000, 1, ReportedCallStep::kBegins, call_of(SYS_pause, {}, 0));
  calls.tell(100'000'002, 1001, 1, ReportedCallStep::kBegins, call_of(SYS_close, {3}, 0));
  calls.tell(100'001'202, 1001, 1, ReportedCallStep::kHasEnded, call_of(SYS_close, {3}, 0));
  calls.tell(100'001'202, 1001, 1, ReportedCallStep::kBegins, call_of(SYS_getpid, {}, 0));
  calls.tell(100'001'202, 1001, 1, ReportedCallStep::kHasEnded, call_of(SYS_getpid, {}, 1000));
  calls.tell(2'100'000'001, 1000, 1, ReportedCallStep::kHasEnded, call_of(SYS_pause, {}, -EINTR));
  EXPECT_EQ(calls.finish(),
            "100.000001000 ms server 1000/1000 pause() = -1 EINTR (Interrupted system call) <2 s>\n"
            "100.000002000 ms server 1000/1001 close(3) = 0 <1.2 us>\n"
            "100.001202000 ms server 1000/1001 getpid() = 1000\n");
}

TEST(CallList, who_is_in_a_call_has_not_finished_it_wherever_it_went) {
  Calls calls;
  calls.tell(1, 1000, 8, ReportedCallStep::kBegins, call_of(SYS_pause, {}, 0));
  calls.tell(2, 1000, 4, ReportedCallStep::kBegins, call_of(SYS_getpid, {}, 0));  // in a signal handler, which jumps out of it
  calls.tell(3, 1000, 8, ReportedCallStep::kBegins, call_of(SYS_close, {3}, 0));
  calls.tell(4, 1000, 2, ReportedCallStep::kHasEnded, call_of(SYS_close, {3}, 0));  // end of a call without a begin
  EXPECT_EQ(calls.finish(),
            "0.000001000 ms server 1000/1000 pause() <unfinished ...>\n"
            "0.000002000 ms server 1000/1000 getpid() <unfinished ...>\n"
            "0.000003000 ms server 1000/1000 close(3) <unfinished ...>\n");
}

TEST(CallList, what_is_made_again_says_so) {
  Calls calls;
  calls.tell(1, 1000, 8, ReportedCallStep::kBegins, call_of(SYS_read, {0, 0x10, 1}, 0));
  calls.tell(2, 1000, 8, ReportedCallStep::kIsMadeAgain, call_of(SYS_read, {0, 0x10, 1}, -513));
  EXPECT_EQ(calls.finish(),
            "0.000001000 ms server 1000/1000 read(0, 0x10, 1) = ? ERESTARTSYS (to be made again) <1 ns>\n");
}

TEST(CallList, rows_of_polls_in_vain_are_counted_until_something_else_comes) {
  Calls calls;
  std::int64_t now = 0;
  for (int i = 0; i < 1235; ++i, now += 10) {
    calls.make(now, now + 5, poll(0));
    calls.make(now + 5, now + 5, call_of(SYS_sched_yield, {}, 0));
  }
  calls.memory.put_value(0x5000, ibv_wc{});
  calls.make(now, now + 5, poll(1));
  calls.make(now + 10, now + 15, poll(0));
  calls.make(now + 20, now + 25, poll(0));
  EXPECT_EQ(calls.finish(),
            "0.000000000 ms server 1000/1000 ibv_poll_cq(CQ 129) = 0 <5 ns>\n"
            "0.000005000 ms server 1000/1000 sched_yield() = 0\n"
            "0.000010000 ms server 1000/1000 ... 1,234 more polls of CQ 129 in vain, until 0.012345000 ms\n"
            "0.000015000 ms server 1000/1000 ... 1,234 more calls of sched_yield, until 0.012345000 ms\n"
            "0.012350000 ms server 1000/1000 ibv_poll_cq(CQ 129) = 1 [wr_id 0 success] <5 ns>\n"
            "0.012360000 ms server 1000/1000 ibv_poll_cq(CQ 129) = 0 <5 ns>\n"
            "0.012370000 ms server 1000/1000 ibv_poll_cq(CQ 129) = 0 <5 ns>\n");
}

TEST(CallList, a_program_that_becomes_another_has_succeeded) {
  Calls calls;
  calls.tell(1, 1000, 8, ReportedCallStep::kBegins, call_of(SYS_execve, {0, 0, 0}, 0));
  calls.tell(9, 1000, 4, ReportedCallStep::kBegins, call_of(SYS_exit_group, {0}, 0));
  EXPECT_EQ(calls.finish(),
            "0.000001000 ms server 1000/1000 execve(NULL, 0x0, 0) = 0\n"
            "0.000009000 ms server 1000/1000 exit_group(0) <unfinished ...>\n");
}

}  // namespace
}  // namespace verbatim::cli
