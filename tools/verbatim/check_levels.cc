#include "tools/verbatim/check_levels.h"

#include <iterator>

#include "sim/config/diagnostics.h"
#include "sim/observe/remedies.h"
#include "tools/verbatim/meanings.h"
#include "tools/verbatim/verb_table.h"

namespace verbatim::cli {

namespace {

using protocol::Check;

constexpr CheckText kCheckTexts[] = {
    {Check::kMissedWakeUp, CheckLevel::kWarn,
     "It is found without a hang, too: an everyday adapter raises an event for completions that were in the CQ before it was armed, and "
     "the specification does not promise that."},
    {Check::kSendBuffer, CheckLevel::kWarn,
     "Checked: SENDs and WRITEs of reliable connections, from the post to the poll of the completion; of a long buffer the first and "
     "the last 128 bytes. With --spec-accesses, also stores that leave the bytes as they are. Not checked: inline data, fenced "
     "requests, and regions with addresses of their own (ibv_reg_mr_iova, "
     "zero-based, device memory)."},
    {Check::kReceiveBuffer, CheckLevel::kWarn,
     "Checked: from the post of a receive to its message, if no adapter has written to the buffer meanwhile; the first 128 bytes of a "
     "buffer; the first 64 receives of a queue and one in 256 after these; private memory only. Not checked: processes with regions "
     "that have addresses of their own."},
    {Check::kLateReceive, CheckLevel::kWarn,
     "Reported if the first receive of a reliable connection with a receive queue of its own is posted in RTR or RTS, the peer's "
     "rnr_retry is not 7, and nothing that was done after the post had reached the peer before it sent: not over the fabric, a socket or "
     "connection management. Only timing decided that the receive was posted first."},
    {Check::kWriteTarget, CheckLevel::kOff,
     "The bytes of a message may arrive in any order. Reported if a thread spins on memory without a call, goes on because an adapter "
     "placed bytes of a packet there, and reads other bytes of the same packet before the next call out of its file. The code is "
     "followed for up to 4,000 instructions, the first eight times at each place. A program that reads the other bytes to find out "
     "whether they are complete (a checksum, a sequence number in each line) is reported as well, so this check is off by default."},
    {Check::kRegionInUse, CheckLevel::kWarn, "Sends that are not complete count, and receives of a queue pair that can receive."},
    {Check::kMemoryGone, CheckLevel::kWarn,
     "Memory is given back by munmap, mremap, mmap over it, a smaller brk, shmdt, madvise (DONTNEED, FREE, REMOVE), the end of a thread "
     "that had it as its stack, or free, delete and realloc of the C library's heap, while a request of a region that is still "
     "registered names it and its completion has not been polled. The places of the call and of the post are reported. Blocks of other "
     "allocators (jemalloc, tcmalloc, a sanitizer's) are seen only when they are given back to the kernel. Not checked: shared memory "
     "with DONTNEED, which keeps its bytes; requests that a library of the system has posted (UCX, librdmacm); processes with regions "
     "that have addresses of their own."},
    {Check::kUndefinedField, CheckLevel::kWarn,
     "A failed completion defines only wr_id, status, qp_num and vendor_err (ibv_poll_cq(3)). Reported if a jump, a condition or "
     "an address depends on another field. The code after the poll is followed for up to 4,000 instructions or to the next call out of "
     "its file, the first three times at each place. Copying, printing or passing such a field is not reported."},
    {Check::kUnacknowledged, CheckLevel::kWarn,
     "Reported for the thread that took the event itself; ibv_destroy_cq, ibv_destroy_qp and ibv_destroy_srq then wait for ever."},
    {Check::kLeak, CheckLevel::kOff,
     "Objects are queue pairs, CQs, regions and protection domains, each reported with the place where it was made, if the program exits "
     "with 0. It is off by default, since a program that exits may leave this to the kernel."},
    {Check::kUnsignaled, CheckLevel::kWarn, ""},
    {Check::kThreads, CheckLevel::kWarn,
     "Applies to objects of a thread domain, and to a CQ made single-threaded, if two threads use one at the same virtual time; reported "
     "once for each object."},
    {Check::kRemoteRace, CheckLevel::kWarn,
     "Both accesses use one key. From one host (or if there are only two hosts): accesses that are on the wire at once, over two "
     "connections, or a WRITE behind a READ of its own without a fence. From two hosts: with any time between them, unless the later one "
     "knew of the earlier by a message, memory, a socket or connection management (vector clocks of hosts). Not reported: two atomics, "
     "and accesses within one aligned word of 8 bytes."},
    {Check::kForkedBuffer, CheckLevel::kWarn,
     "Reported if a forked process ends with a code that is not 0 and adapters have written since the fork to private memory of the "
     "process that it is a copy of. From Linux 5.12 on adapters write to the pages of the process that registered them; the copy "
     "keeps what was there at the fork. Whether the copy read it is not known."},
    {Check::kForkedContext, CheckLevel::kWarn,
     "The process that was forked has opened the device. The call has no effect here; its effect on hardware is undefined. Reported once for "
     "each process."},
};
static_assert(std::size(kCheckTexts) + 1 == protocol::kCheckCount);

}  // namespace

std::span<const CheckText> check_texts() { return kCheckTexts; }

std::string_view name_of(CheckLevel level) {
  return level == CheckLevel::kOff ? "off" : level == CheckLevel::kWarn ? "warn" : "error";
}

std::string check_remedy(const CheckText& check) {
  const std::string_view remedy = observe::remedy_for(std::string(check.name()) + ":");
  if (!remedy.empty()) return std::string(remedy);
  for (const Meaning& meaning : check_meanings()) {
    if (meaning.name != check.name()) continue;
    std::string text(meaning.causes[0]);
    if (text.ends_with('.')) text.pop_back();
    return text;
  }
  return "";
}

CheckLevels::CheckLevels() {
  levels_.fill(CheckLevel::kOff);
  for (const CheckText& text : kCheckTexts) levels_[static_cast<std::size_t>(text.check)] = text.level;
}

CheckLevels::CheckLevels(const std::vector<std::string>& options) : CheckLevels() {
  for (const std::string& option : options) set(option);
}

CheckLevel CheckLevels::of(std::string_view check) const {
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    if (check == protocol::kChecks[i].name) return levels_[i];
  }
  return CheckLevel::kOff;
}

std::uint32_t CheckLevels::bits() const {
  std::uint32_t bits = 0;
  for (std::uint32_t i = 1; i < levels_.size(); ++i) {
    if (levels_[i] != CheckLevel::kOff) bits |= 1u << i;
  }
  return bits;
}

std::string CheckLevels::set(std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const std::string_view text = equals == option.npos ? "" : option.substr(equals + 1);
  CheckLevel level;
  if (text == "off") {
    level = CheckLevel::kOff;
  } else if (text == "warn") {
    level = CheckLevel::kWarn;
  } else if (text == "error") {
    level = CheckLevel::kError;
  } else {
    return std::string(option) + ": a check is given as NAME=off, NAME=warn or NAME=error";
  }
  bool is_known = false;
  std::vector<std::string> names = {"all"};
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    names.emplace_back(protocol::kChecks[i].name);
    if (name != "all" && name != protocol::kChecks[i].name) continue;
    levels_[i] = level;
    is_known = true;
  }
  if (is_known) return "";
  const std::string near = config::nearest(name, names);
  return "there is no check " + std::string(name) + "; " + (near.empty() ? "names are " + line_of(names, ", ") : "did you mean " + near + "?");
}

std::string reject_check(const std::string& option) { return CheckLevels().set(option); }

}  // namespace verbatim::cli
