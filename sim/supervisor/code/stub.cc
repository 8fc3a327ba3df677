#include "sim/supervisor/code/stub.h"

#include <cstring>
#include <limits>

#include "sim/core/check.h"

namespace verbatim::code {

using protocol::DecidedInstruction;

namespace {

constexpr std::uint8_t kNopByte = 0x90, kInt3 = 0xcc, kJump = 0xe9;

class Assembler {
 public:
  explicit Assembler(std::uint64_t at) : at_(at) {}

  void put(std::initializer_list<std::uint8_t> bytes) { bytes_.insert(bytes_.end(), bytes); }
  template <class T>
  void value(T value) {
    std::uint8_t raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
  }
  // Appends a 32-bit displacement to `target` for an instruction that ends `behind` bytes after it.
  void relative(std::uint64_t target, unsigned behind = 0) {
    const auto distance = static_cast<std::int64_t>(target - (here() + 4 + behind));
    reachable_ &= distance >= std::numeric_limits<std::int32_t>::min() &&
                  distance <= std::numeric_limits<std::int32_t>::max();
    value(static_cast<std::int32_t>(distance));
  }
  void append(const std::vector<std::uint8_t>& bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  std::uint64_t here() const { return at_ + bytes_.size(); }
  bool reachable() const { return reachable_; }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  std::uint64_t at_;
  std::vector<std::uint8_t> bytes_;
  bool reachable_ = true;
};

void put_cpuid(Assembler& code) {
  code.put({0x89, 0xc2});              // mov %eax, %edx          the leaf
  code.put({0x9f});                    // lahf                    flags are kept in ebx
  code.put({0x0f, 0x90, 0xc0});        // seto %al
  code.put({0x89, 0xc3});              // mov %eax, %ebx
  code.put({0x48, 0xb8});              // movabs $table, %rax
  code.value(protocol::kPatchDataAddress);
  code.put({0xf7, 0x40, 0x08});        // 1: testl $kLastCpuidEntry, 8(%rax)
  code.value(protocol::kLastCpuidEntry);
  code.put({0x75, 0x17});              //    jne 3f
  code.put({0x39, 0x10});              //    cmp %edx, (%rax)
  code.put({0x75, 0x0d});              //    jne 2f
  code.put({0xf6, 0x40, 0x08, 0x01});  //    testb $kAnySubleaf, 8(%rax)
  code.put({0x75, 0x0d});              //    jne 3f
  code.put({0x39, 0x48, 0x04});        //    cmp %ecx, 4(%rax)
  code.put({0x74, 0x08});              //    je 3f
  code.put({0x90, 0x90});              //    (room)
  code.put({0x48, 0x83, 0xc0, 0x20});  // 2: add $32, %rax
  code.put({0xeb, 0xe0});              //    jmp 1b
  code.put({0x48, 0x89, 0xc2});        // 3: mov %rax, %rdx
  code.put({0x89, 0xd8});              //    mov %ebx, %eax
  code.put({0x04, 0x7f});              //    add $127, %al        overflows again if it had
  code.put({0x9e});                    //    sahf
  code.put({0x8b, 0x5a, 0x10});        //    mov 16(%rdx), %ebx
  code.put({0x8b, 0x4a, 0x14});        //    mov 20(%rdx), %ecx
  code.put({0x8b, 0x42, 0x0c});        //    mov 12(%rdx), %eax
  code.put({0x8b, 0x52, 0x18});        //    mov 24(%rdx), %edx
}
static_assert(offsetof(protocol::CpuidEntry, subleaf) == 4 && offsetof(protocol::CpuidEntry, flags) == 8 &&
              offsetof(protocol::CpuidEntry, eax) == 12 && offsetof(protocol::CpuidEntry, edx) == 24 &&
              offsetof(protocol::PatchData, cpuid) == 0);

constexpr std::uint64_t kStackTop = 4096;  // in an area; the stack grows down towards the header

unsigned put_call(Assembler& code, const Site& site, std::uint64_t area) {
  const std::uint64_t saved = area + offsetof(protocol::PatchAreaHeader, saved_stack_pointer);
  protocol::PatchedInstruction instruction = site.instruction;
  instruction.length = 1;  // of the HLT below
  code.put({0x48, 0x89, 0x25});  // mov %rsp, saved(%rip)
  code.relative(saved);
  code.put({0x48, 0x8d, 0x25});  // lea top(%rip), %rsp
  code.relative(area + kStackTop);
  code.put({0x68});              // push $instruction
  code.value(instruction.word());
  code.put({0xff, 0x15});        // call *entry(%rip)
  code.relative(area + offsetof(protocol::PatchAreaHeader, entry));
  code.put({0x48, 0x8b, 0x25});  // mov saved(%rip), %rsp        answered: the call returns here,
  code.relative(saved);
  code.put({0xeb, 0x08});        // jmp over the trap
  code.put({0x48, 0x8b, 0x25});  // mov saved(%rip), %rsp        or kUnansweredOffset further
  code.relative(saved);
  const auto trap = static_cast<unsigned>(code.bytes().size());
  code.put({kHlt});
  return trap;
}

}  // namespace

std::optional<Stub> make_stub(const Site& site, std::uint64_t area, std::uint64_t at) {
  CHECK(site.jump_length >= kJumpSize && site.bytes.size() >= site.jump_length);
  Assembler code(at);
  Stub stub;
  if (site.instruction.kind == DecidedInstruction::kCpuid) {
    put_cpuid(code);
  } else {
    stub.trap = put_call(code, site, area);
  }
  // rip-relative displacements are corrected by the distance of the move.
  std::vector<std::uint8_t> moved(site.bytes.begin() + site.length, site.bytes.begin() + site.jump_length);
  const auto distance = static_cast<std::int64_t>(site.address + site.length - code.here());
  for (const Site::Relative& relative : site.relatives) {
    std::int32_t value;
    std::memcpy(&value, moved.data() + (relative.at - site.length), sizeof value);
    const std::int64_t corrected = value + distance;
    if (corrected < std::numeric_limits<std::int32_t>::min() || corrected > std::numeric_limits<std::int32_t>::max())
      return std::nullopt;
    value = static_cast<std::int32_t>(corrected);
    std::memcpy(moved.data() + (relative.at - site.length), &value, sizeof value);
  }
  code.append(moved);
  code.put({kJump});
  code.relative(site.address + site.jump_length);
  const auto there = static_cast<std::int64_t>(at - (site.address + kJumpSize));
  if (!code.reachable() || there != static_cast<std::int32_t>(there)) return std::nullopt;
  stub.bytes = std::move(code.bytes());
  return stub;
}

std::optional<std::vector<std::uint8_t>> make_call_stub(const CallSite& site, std::uint64_t area, std::uint64_t at) {
  CHECK(site.bytes.size() >= kJumpSize);
  Assembler code(at);
  const auto call = site.bytes.begin() + site.call_at;
  code.append({site.bytes.begin(), call});
  constexpr unsigned kEnterSize = 6;
  code.put({0x4c, 0x8d, 0x1d});  // lea call(%rip), %r11
  code.relative(code.here() + 4 + kEnterSize);
  code.put({0xff, 0x25});        // jmp *call_entry(%rip)
  code.relative(area + offsetof(protocol::PatchAreaHeader, call_entry));
  code.put({0x0f, 0x05});        // call: syscall
  code.put({0x48, 0x8d, 0x0d});  // lea next(%rip), %rcx      answered: the shim continues here
  code.relative(site.next());
  code.append({call + CallSite::kCallSize, site.bytes.end()});
  code.put({kJump});
  code.relative(site.address + site.bytes.size());
  const auto there = static_cast<std::int64_t>(at - (site.address + kJumpSize));
  if (!code.reachable() || there != static_cast<std::int32_t>(there)) return std::nullopt;
  return std::move(code.bytes());
}

std::vector<std::uint8_t> make_jump(std::uint64_t site, std::size_t length, std::uint64_t stub) {
  Assembler code(site);
  code.put({kJump});
  code.relative(stub);
  CHECK(code.reachable());
  while (code.bytes().size() < length) code.put({kInt3});
  return std::move(code.bytes());
}

std::vector<std::uint8_t> make_trap(const Site& site) {
  std::vector<std::uint8_t> bytes(site.length, kNopByte);
  bytes.at(0) = kHlt;
  return bytes;
}

std::vector<std::uint8_t> make_early_entries() {
  // mov $0, %eax; mov $0, %edx; ret; jmp *%r11
  return {0xb8, 0, 0, 0, 0, 0xba, 0, 0, 0, 0, 0xc3, 0x41, 0xff, 0xe3};
}

namespace {
constexpr std::uint8_t kShimShift = 40, kShimPart = protocol::kShimStart >> kShimShift;
static_assert(protocol::kShimStart == std::uint64_t{kShimPart} << kShimShift &&
              protocol::kShimEnd == std::uint64_t{kShimPart + 1} << kShimShift);
}  // namespace

std::vector<std::uint8_t> make_memory_map_stub(std::uint64_t site, std::uint64_t at) {
  Assembler code(at);
  code.put({0x44, 0x89, 0xd1});        // mov %r10d, %ecx          the call changes rcx
  code.put({0x83, 0xe1, 0x30});        // and $(MAP_FIXED | MAP_ANONYMOUS), %ecx
  code.put({0x83, 0xf9, 0x10});        // cmp $MAP_FIXED, %ecx     a part of a file, which is about to be used
  code.put({0x75, 0x10});              // jne 2f
  code.put({0x48, 0x81, 0xfe, 0x00, 0x00, 0x20, 0x00});  // cmp $2 MiB, %rsi
  code.put({0x77, 0x07});              // ja 2f
  code.put({0x41, 0x81, 0xca, 0x00, 0x80, 0x00, 0x00});  // or $MAP_POPULATE, %r10d
  code.put({0xb8, 9, 0, 0, 0});        // 2: mov $9, %eax
  code.put({0x0f, 0x05});              // syscall
  code.put({0xf6, 0xc2, 0x04});        // test $PROT_EXEC, %dl     the call has changed rcx and r11 already,
  code.put({0x74, 0x0d});              // je 1f                    and its caller expects no flags
  code.put({0x48, 0x89, 0xc1});        // mov %rax, %rcx
  code.put({0x48, 0xc1, 0xe9, kShimShift});  // shr $40, %rcx
  code.put({0x83, 0xf9, kShimPart});   // cmp $kShimPart, %ecx     the shim's libraries, which are not replaced
  code.put({0x74, 0x01});              // je 1f
  code.put({kInt3});
  code.put({kJump});                   // 1: jmp back
  code.relative(site + kMemoryMapSize);
  CHECK(code.reachable());
  return std::move(code.bytes());
}

std::vector<std::uint8_t> make_whole_file_stub(std::uint64_t at, std::uint64_t next) {
  Assembler code(at);
  code.put({0x48, 0x85, 0xff});        // test %rdi, %rdi          no address is asked for
  code.put({0x75, 0x1a});              // jne 1f
  code.put({0x83, 0xfa, 0x01});        // cmp $PROT_READ, %edx
  code.put({0x75, 0x15});              // jne 1f
  code.put({0x41, 0x83, 0xfa, 0x02});  // cmp $MAP_PRIVATE, %r10d  of a library it has MAP_DENYWRITE besides
  code.put({0x75, 0x0f});              // jne 1f
  code.put({0x4d, 0x85, 0xc9});        // test %r9, %r9            from the beginning
  code.put({0x75, 0x0a});              // jne 1f
  code.put({0x48, 0xbf});              // movabs $place, %rdi
  code.value(protocol::kLoaderFilesAddress);
  code.put({0xb8, 9, 0, 0, 0});        // 1: mov $9, %eax
  code.put({kJump});
  code.relative(next);
  CHECK(code.reachable());
  return std::move(code.bytes());
}

}  // namespace verbatim::code
