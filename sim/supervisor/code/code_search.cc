#include "sim/supervisor/code/code_search.h"

#include <emmintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include "sim/supervisor/code/decoded.h"
#include "verbs_shim/protocol/replaced_calls.h"

namespace verbatim::code {

using protocol::DecidedInstruction;

namespace {

// Decodes length, opcode and operand bytes only, in half the time.
const ZydisDecoder& length_decoder() {
  static const ZydisDecoder instance = make_decoder(true);
  return instance;
}

__m128i equals(__m128i bytes, std::uint8_t value) {
  return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(value)));
}

std::uint8_t register_number(ZydisRegister name) {
  const ZyanI8 id = ZydisRegisterGetId(name);
  return id < 0 ? 0 : static_cast<std::uint8_t>(id & 15);
}

// kNone: the result does not depend on the machine, or the form of the instruction is not supported.
protocol::PatchedInstruction decided(const Decoded& decoded) {
  protocol::PatchedInstruction patched;
  patched.length = decoded.instruction.length;
  const auto& first = decoded.operands[0];
  const auto to_register = [&](DecidedInstruction kind) {
    if (first.type != ZYDIS_OPERAND_TYPE_REGISTER) return;
    patched.kind = kind;
    patched.destination = register_number(first.reg.value);
    patched.size = static_cast<std::uint8_t>(first.size / 8);
  };
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_RDTSC:
      patched.kind = DecidedInstruction::kRdtsc;
      break;
    case ZYDIS_MNEMONIC_RDTSCP:
      patched.kind = DecidedInstruction::kRdtscp;
      break;
    case ZYDIS_MNEMONIC_RDPRU:
      patched.kind = DecidedInstruction::kRdpru;
      break;
    case ZYDIS_MNEMONIC_CPUID:
      patched.kind = DecidedInstruction::kCpuid;
      break;
    case ZYDIS_MNEMONIC_XGETBV:
      patched.kind = DecidedInstruction::kXgetbv;
      break;
    case ZYDIS_MNEMONIC_RDRAND:
      to_register(DecidedInstruction::kRdrand);
      break;
    case ZYDIS_MNEMONIC_RDSEED:
      to_register(DecidedInstruction::kRdseed);
      break;
    case ZYDIS_MNEMONIC_RDPID:
      to_register(DecidedInstruction::kRdpid);
      break;
    case ZYDIS_MNEMONIC_LSL:
      if (decoded.operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER) break;
      to_register(DecidedInstruction::kLsl);
      patched.source = register_number(decoded.operands[1].reg.value);
      break;
    default:
      break;
  }
  return patched;
}

// Whether the bytes at `at` may be the opcode of one of these instructions; all begin with 0f.
bool may_be_decided(std::span<const std::uint8_t> code, std::size_t at) {
  if (at + 1 >= code.size()) return false;
  if (protocol::is_decided_opcode(code[at + 1])) return true;
  return at + 2 < code.size() && protocol::is_decided_opcode(code[at + 1], code[at + 2]);
}

// Code of one executable segment, and the functions in it.
class Part {
 public:
  // `entry`: where execution begins.
  Part(std::span<const std::uint8_t> code, std::uint64_t address, std::uint64_t offset,
       std::span<const Function> functions, std::span<const Function> sections,
       std::optional<std::uint64_t> entry = std::nullopt)
      : code_(code), address_(address), offset_(offset), functions_(functions), sections_(sections), entry_(entry),
        work_left_(kLeastWork + kWorkPerByte * code.size()) {}

  void search(SearchResult& result) {
    std::vector<std::size_t> matches, memory_maps;
    each_pair(
        [](__m128i first, __m128i second) {
          const __m128i low = _mm_or_si128(_mm_or_si128(equals(second, 0x01), equals(second, 0x03)), equals(second, 0x05));
          const __m128i high = _mm_or_si128(_mm_or_si128(equals(second, 0x31), equals(second, 0xa2)), equals(second, 0xc7));
          return _mm_and_si128(equals(first, 0x0f), _mm_or_si128(low, high));
        },
        [&](std::size_t at) {
          if (may_be_decided(code_, at)) matches.push_back(at);
          if (ends_memory_map(at)) memory_maps.push_back(at + 2 - kMemoryMap.size());
        });
    const std::size_t first = result.sites.size();
    for (const std::size_t match : matches) look_at(match, result);
    refuse_entered_windows(std::span(result.sites).subspan(first));
    for (const std::size_t at : memory_maps) {
      const auto function = function_around(address_ + at);
      if (function && instruction_over(*function, at) == at) result.memory_maps.push_back(offset_ + at);
    }
  }

  void search_calls(std::vector<CallSite>& result) {
    std::vector<std::size_t> matches;
    each_pair([](__m128i first, __m128i second) { return _mm_and_si128(equals(first, 0x0f), equals(second, 0x05)); },
              [&](std::size_t at) {
                if (is_like_call(at)) matches.push_back(at);
              });
    std::vector<CallSite> calls;
    std::vector<Window> windows;
    for (const std::size_t match : matches) {
      const auto call = look_at_call(match);
      if (!call || (!windows.empty() && call->address < windows.back().end)) continue;
      windows.push_back({call->address, call->address + call->bytes.size()});
      calls.push_back(*call);
    }
    find_entered(windows);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (!windows[i].is_entered) result.push_back(std::move(calls[i]));
    }
  }

 private:
  // Code that a jump would overwrite.
  struct Window {
    std::uint64_t begin, end;
    bool is_entered = false;
  };

  static constexpr std::array<std::uint8_t, 7> kMemoryMap = {0xb8, 9, 0, 0, 0, 0x0f, 0x05};  // mov $9, %eax; syscall

  // Visits, in order, the offsets of bytes that `matches` selects by the byte and its successor. `matches`
  // gets sixteen of each and returns 0xff for selected ones. Zeros follow the end of the code.
  template <class Matches, class Visit>
  void each_pair(Matches matches, Visit visit) const {
    constexpr std::size_t kWidth = sizeof(__m128i);
    const auto look = [&](const std::uint8_t* bytes, std::size_t offset) {
      const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
      const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 1));
      for (auto found = static_cast<unsigned>(_mm_movemask_epi8(matches(first, second))); found != 0;
           found &= found - 1) {
        visit(offset + static_cast<std::size_t>(std::countr_zero(found)));
      }
    };
    std::size_t at = 0;
    for (; at + kWidth < code_.size(); at += kWidth) look(code_.data() + at, at);
    std::uint8_t rest[kWidth + 1] = {};
    std::copy(code_.begin() + static_cast<std::ptrdiff_t>(at), code_.end(), rest);
    look(rest, at);
  }

  // Whether the 0f byte at `at` is the one of a `kMemoryMap`.
  bool ends_memory_map(std::size_t at) const {
    return at + 2 >= kMemoryMap.size() && at + 2 <= code_.size() &&
           std::memcmp(code_.data() + at + 2 - kMemoryMap.size(), kMemoryMap.data(), kMemoryMap.size()) == 0;
  }

  bool has(std::size_t at, std::initializer_list<std::uint8_t> bytes) const {
    return at + bytes.size() <= code_.size() &&
           std::equal(bytes.begin(), bytes.end(), code_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  // Whether the call at `at` follows a 5-byte instruction that can be moved and executed twice: "mov $number,
  // %eax" of a call that may be answered without a trap, or "mov 8(%rsp), %r9" of syscall(2).
  bool follows_load(std::size_t at) const {
    if (at < CallSite::kBehindLoad) return false;
    const std::size_t load = at - CallSite::kBehindLoad;
    if (has(load, {0x4c, 0x8b, 0x4c, 0x24, 0x08})) return true;
    std::uint32_t number;
    std::memcpy(&number, code_.data() + load + 1, sizeof number);
    return code_[load] == 0xb8 && protocol::is_answered_in_place(number);
  }
  // Whether "cmp $n, %rax" follows the call.
  bool precedes_comparison(std::size_t at) const {
    return has(at + CallSite::kCallSize, {0x48, 0x3d}) && at + kComparedCall <= code_.size();
  }
  static constexpr std::size_t kComparedCall = CallSite::kCallSize + 6;

  bool is_like_call(std::size_t at) const {
    if (!has(at, {0x0f, 0x05})) return false;
    if (follows_load(at)) return true;
    // A call whose number is loaded directly before it, and is not to be replaced, is ignored.
    return precedes_comparison(at) && !(at >= CallSite::kBehindLoad && code_[at - CallSite::kBehindLoad] == 0xb8);
  }

  std::optional<CallSite> look_at_call(std::size_t match) const {
    const auto function = function_around(address_ + match);
    if (!function) return std::nullopt;
    const bool loads = follows_load(match);
    const std::size_t begin = loads ? match - CallSite::kBehindLoad : match;
    const std::size_t end = match + (loads ? CallSite::kCallSize : kComparedCall);
    if (address_ + begin < function->begin || address_ + end > function->end) return std::nullopt;
    if (instruction_over(*function, begin) != begin || instruction_over(*function, match) != match) return std::nullopt;
    // A switch could jump to the call after its load. Only the call leads to the comparison of its result.
    if (loads && (instruction_over(*function, match - 1) != begin || has_indirect_jumps(*function))) return std::nullopt;
    if (is_jumped_into(*function, begin, end)) return std::nullopt;
    return CallSite{address_ + begin, offset_ + begin,
                    {code_.begin() + static_cast<std::ptrdiff_t>(begin), code_.begin() + static_cast<std::ptrdiff_t>(end)},
                    static_cast<unsigned>(match - begin)};
  }

  bool decode(std::size_t offset, Decoded& decoded) const { return code::decode(std::as_bytes(code_.subspan(offset)), decoded); }
  // The known function that contains the address; the one that begins last, if several do.
  std::optional<Function> function_around(std::uint64_t address) const {
    auto it = std::upper_bound(functions_.begin(), functions_.end(), address,
                               [](std::uint64_t a, const Function& f) { return a < f.begin; });
    // Few functions overlap: aliases, and parts of assembly code with labels.
    for (int i = 0; i < 16 && it != functions_.begin(); ++i) {
      --it;
      if (address < it->end) return *it;
    }
    return std::nullopt;
  }

  // Start of decoding where no function is known: the end of the previous function, or the section's start.
  std::uint64_t gap_begin(std::uint64_t address) const {
    std::uint64_t begin = address_;
    const auto section = std::ranges::upper_bound(sections_, address, {}, &Function::begin);
    if (section != sections_.begin() && address < std::prev(section)->end) begin = std::max(begin, std::prev(section)->begin);
    const auto it = std::upper_bound(functions_.begin(), functions_.end(), address,
                                     [](std::uint64_t a, const Function& f) { return a < f.begin; });
    for (auto f = it; f != functions_.begin() && it - f < 16;) {
      --f;
      if (f->end <= address) begin = std::max(begin, f->end);
    }
    return begin;
  }

  // Code outside known functions to which these or the program's entry lead: assembly without unwind tables, stripped
  // programs. Returns the row of instructions around the address, each reached by a call or branch or from the one
  // before it. A call is assumed to return.
  std::optional<Function> called_code_around(std::uint64_t address) {
    if (!has_followed_calls_) follow_calls();
    const auto around = std::ranges::upper_bound(called_, address, {}, &Function::begin);
    if (around == called_.begin() || address >= std::prev(around)->end) return std::nullopt;
    return *std::prev(around);
  }

  void follow_calls() {
    has_followed_calls_ = true;
    const auto is_outside = [&](std::uint64_t target) {
      return target >= address_ && target < address_ + code_.size() && !function_around(target);
    };
    std::vector<std::uint64_t> entries;
    if (entry_) entries.push_back(*entry_);
    each_pair([](__m128i first, __m128i) { return _mm_or_si128(equals(first, 0xe8), equals(first, 0xe9)); },
              [&](std::size_t at) {
                std::int32_t distance;
                if (at + 1 + sizeof distance > code_.size()) return;
                std::memcpy(&distance, code_.data() + at + 1, sizeof distance);
                const std::uint64_t target = address_ + at + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
                if (!is_outside(target)) return;
                const auto caller = function_around(address_ + at);
                if (caller && instruction_over(*caller, at) == at) entries.push_back(target);
              });
    std::map<std::uint64_t, std::uint64_t> ends;  // of instructions, by their starts
    while (!entries.empty()) {
      std::uint64_t at = entries.back();
      entries.pop_back();
      ZydisDecodedInstruction instruction;
      ZydisDecoderContext context;
      while (work_left_ > 0 && is_outside(at) && !ends.contains(at) &&
             ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&length_decoder(), &context, code_.data() + (at - address_),
                                                        code_.size() - (at - address_), &instruction))) {
        --work_left_;
        const std::uint64_t end = ends[at] = at + instruction.length;
        if (instruction.raw.imm[0].is_relative) entries.push_back(end + instruction.raw.imm[0].value.u);
        if (ends_flow(instruction)) break;
        at = end;
      }
    }
    for (const auto& [begin, end] : ends) {
      if (!called_.empty() && called_.back().end == begin) called_.back().end = end;
      else if (called_.empty() || called_.back().end < begin) called_.push_back({begin, end});
    }
  }

  // Whether execution never continues behind the instruction: a return, a jump, or a trap.
  static bool ends_flow(const ZydisDecodedInstruction& instruction) {
    const unsigned opcode = instruction.opcode;
    if (instruction.opcode_map == ZYDIS_OPCODE_MAP_0F) return opcode == 0x0b;  // ud2
    if (instruction.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT) return false;
    const bool jumps = opcode == 0xff && (instruction.raw.modrm.reg == 4 || instruction.raw.modrm.reg == 5);
    return jumps || (opcode & 0xf6) == 0xc2 || opcode == 0xe9 || opcode == 0xeb || opcode == 0xf4 || opcode == 0xcc;
  }

  // Start of the instruction that contains the byte at `offset`, if decoding from `from.begin` reaches it.
  std::optional<std::size_t> instruction_over(const Function& from, std::size_t offset) const {
    survey(from, offset + 1);
    const auto it = std::upper_bound(starts_.begin(), starts_.end(), offset);
    if (it == starts_.begin() || offset >= surveyed_to_) return std::nullopt;
    return *(it - 1);
  }

  void look_at(std::size_t match, SearchResult& result) {
    const std::uint64_t address = address_ + match;
    auto function = function_around(address);
    if (!function) function = called_code_around(address);
    // A gap between functions is decoded up to the match only.
    const auto start = instruction_over(function ? *function : Function{gap_begin(address), address_ + code_.size()}, match);
    Decoded decoded;
    if (!start) {  // bytes of the function before it are no instruction
      if (decode(match, decoded) && decided(decoded).kind != DecidedInstruction::kNone && function) {
        result.doubts.push_back({address, offset_ + match, decided(decoded).kind});
      }
      return;
    }
    if (!decode(*start, decoded)) return;
    const protocol::PatchedInstruction instruction = decided(decoded);
    if (instruction.kind == DecidedInstruction::kNone) return;
    if (!function) {
      result.doubts.push_back({address_ + *start, offset_ + *start, instruction.kind});
      return;
    }
    Site site;
    site.address = address_ + *start;
    site.offset = offset_ + *start;
    site.instruction = instruction;
    site.length = instruction.length;
    find_room(*start, *function, site);
    const unsigned size = std::max(site.length, site.jump_length);
    site.bytes.assign(code_.begin() + static_cast<std::ptrdiff_t>(*start),
                      code_.begin() + static_cast<std::ptrdiff_t>(*start + size));
    if (!result.sites.empty() && result.sites.back().address == site.address) return;
    result.sites.push_back(std::move(site));
  }

  // Finds how many whole instructions a jump at `start` overwrites, if they can be moved.
  void find_room(std::size_t start, const Function& function, Site& site) const {
    const std::size_t end = std::min<std::size_t>(code_.size(), function.end - address_);
    std::size_t at = start + site.length;
    std::vector<Site::Relative> relatives;
    bool first = true;
    while (at < start + kJumpSize) {
      Decoded next;
      if (at >= end || !decode(at, next) || at + next.instruction.length > end) return;
      if (!can_move(next) || decided(next).kind != DecidedInstruction::kNone) return;
      // A switch or an exception handler could jump to the next instruction, and no list of such targets is
      // complete. An instruction that uses the result of the replaced one is no plausible target.
      if (first && has_indirect_jumps(function) && !uses_result(next)) return;
      first = false;
      for (unsigned i = 0; i < next.instruction.operand_count_visible; ++i) {
        const auto& operand = next.operands[i];
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.base != ZYDIS_REGISTER_RIP) continue;
        relatives.push_back({static_cast<unsigned>(at - start + next.instruction.raw.disp.offset),
                             static_cast<unsigned>(at - start + next.instruction.length)});
      }
      at += next.instruction.length;
    }
    if (is_jumped_into(function, start, at)) return;
    site.jump_length = static_cast<unsigned>(at - start);
    site.relatives = std::move(relatives);
  }

  static bool can_move(const Decoded& next) {
    const auto& instruction = next.instruction;
    if (instruction.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE) return false;
    switch (instruction.meta.category) {
      case ZYDIS_CATEGORY_CALL:
      case ZYDIS_CATEGORY_RET:
      case ZYDIS_CATEGORY_COND_BR:
      case ZYDIS_CATEGORY_UNCOND_BR:
      case ZYDIS_CATEGORY_SYSCALL:
      case ZYDIS_CATEGORY_SYSRET:
      case ZYDIS_CATEGORY_INTERRUPT:
        return false;
      default:
        break;
    }
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const auto& operand = next.operands[i];
      if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_EIP) return false;
    }
    return true;
  }

  static bool uses_result(const Decoded& next) {
    for (unsigned i = 0; i < next.instruction.operand_count; ++i) {
      const auto& operand = next.operands[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) == 0)
        continue;
      const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value);
      if (whole == ZYDIS_REGISTER_RAX || whole == ZYDIS_REGISTER_RBX || whole == ZYDIS_REGISTER_RCX ||
          whole == ZYDIS_REGISTER_RDX) {
        return true;
      }
    }
    return false;
  }

  bool has_indirect_jumps(const Function& function) const {
    survey(function, code_.size());
    return surveyed_indirect_;
  }

  // Whether a direct branch of the function leads between `start` and `end`, both excluded.
  bool is_jumped_into(const Function& function, std::size_t start, std::size_t end) const {
    survey(function, code_.size());
    work_left_ -= std::min(work_left_, targets_.size() / kTargetsPerWork);
    return !surveyed_whole_ || std::any_of(targets_.begin(), targets_.end(), [&](std::uint64_t target) {
      return target > address_ + start && target < address_ + end;
    });
  }

  // Records instruction starts and branch targets of one function, at least up to `to`; the last function is
  // cached. Functions of a damaged file may overlap, and each could be decoded for every match in the others:
  // when the budget is spent, nothing more is decoded.
  void survey(const Function& function, std::size_t to) const {
    if (surveyed_.begin != function.begin || surveyed_.end != function.end) {
      surveyed_ = function;
      surveyed_indirect_ = false;
      starts_.clear();
      targets_.clear();
      surveyed_to_ = std::max(function.begin, address_) - address_;
    }
    const std::size_t end = std::min<std::size_t>(code_.size(), function.end - address_);
    std::size_t at = surveyed_to_;
    ZydisDecodedInstruction instruction;
    ZydisDecoderContext context;
    while (at < std::min(end, to) && work_left_ > 0 &&
           ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&length_decoder(), &context, code_.data() + at,
                                                      code_.size() - at, &instruction))) {
      --work_left_;
      starts_.push_back(at);
      at += instruction.length;
      const auto& raw = instruction.raw;
      if (raw.imm[0].is_relative) {
        targets_.push_back(address_ + at + raw.imm[0].value.u);
      } else if (instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && instruction.opcode == 0xff &&
                 (raw.modrm.reg == 4 || raw.modrm.reg == 5) && !(raw.modrm.mod == 0 && raw.modrm.rm == 5)) {
        surveyed_indirect_ = true;  // jumps through slots of the PLT leave the function and are excluded
      }
    }
    surveyed_to_ = at;
    surveyed_whole_ = at >= end;
  }

  // Other functions may jump into a window too: parts that the compiler moved (.cold), assembly. Any
  // bytes that would be such a jump count as one, unless they are in a known function whose branches
  // do not lead there.
  void find_entered(std::vector<Window>& windows) const {
    if (windows.empty()) return;
    const std::uint64_t first = windows.front().begin, last = windows.back().end;
    const auto refuse = [&](std::uint64_t jump, std::uint64_t target) {
      if (target <= first || target >= last) return;
      Window& window = *std::prev(std::ranges::upper_bound(windows, target, {}, &Window::begin));
      if (window.is_entered || target >= window.end || target == window.begin) return;
      const auto function = function_around(jump);
      const std::size_t at = target - address_;
      window.is_entered = !function || is_jumped_into(*function, at - 1, at + 1);
    };
    const auto relative = [&](std::size_t at) {
      if (at + 4 > code_.size()) return;
      std::int32_t distance;
      std::memcpy(&distance, code_.data() + at, sizeof distance);
      refuse(address_ + at, address_ + at + 4 + static_cast<std::uint64_t>(std::int64_t{distance}));
    };
    const std::uint8_t* const code = code_.data();
    each_pair(
        [](__m128i first, __m128i second) {
          const __m128i conditional = equals(_mm_and_si128(second, _mm_set1_epi8(static_cast<char>(0xf0))), 0x80);
          return _mm_or_si128(equals(first, 0xe9), _mm_and_si128(equals(first, 0x0f), conditional));
        },
        [&](std::size_t at) { relative(at + (code[at] == 0xe9 ? 1 : 2)); });
    // Short jumps reach 128 bytes. Those of the function itself are known exactly.
    for (const Window& window : windows) {
      const std::size_t middle = window.begin - address_;
      const auto function = function_around(window.begin);
      const std::size_t from = middle > 160 ? middle - 160 : 0;
      for (std::size_t at = from; at + 2 <= code_.size() && at < middle + 160; ++at) {
        const std::uint64_t address = address_ + at;
        if (function && address >= function->begin && address < function->end) continue;
        if ((code[at] & 0xf0) != 0x70 && code[at] != 0xeb && (code[at] & 0xfc) != 0xe0) continue;
        refuse(address, address + 2 + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(code[at + 1])}));
      }
    }
  }

  // Excludes entered windows from replacement by a jump.
  void refuse_entered_windows(std::span<Site> sites) const {
    std::vector<Window> windows;
    for (const Site& site : sites) {
      if (site.jump_length != 0) windows.push_back({site.address, site.address + site.jump_length});
    }
    find_entered(windows);
    auto window = windows.begin();
    for (Site& site : sites) {
      if (site.jump_length == 0 || !(window++)->is_entered) continue;
      site.jump_length = 0;
      site.relatives.clear();
      site.bytes.resize(site.length);
    }
  }

  // Budget in decoded instructions. System libraries need at most a twentieth of an instruction per byte,
  // code without known functions one.
  static constexpr std::size_t kLeastWork = 1 << 16, kWorkPerByte = 4, kTargetsPerWork = 32;

  std::span<const std::uint8_t> code_;
  std::uint64_t address_;
  std::uint64_t offset_;  // in the file
  std::span<const Function> functions_;
  std::span<const Function> sections_;
  std::optional<std::uint64_t> entry_;
  mutable std::size_t work_left_;
  mutable Function surveyed_{};
  mutable bool surveyed_indirect_ = false;
  mutable bool surveyed_whole_ = false;
  mutable std::size_t surveyed_to_ = 0;
  mutable std::vector<std::size_t> starts_;
  mutable std::vector<std::uint64_t> targets_;
  bool has_followed_calls_ = false;
  std::vector<Function> called_;  // outside known functions, sorted
};

}  // namespace

SearchResult search_image(const ElfImage& image, std::span<const std::byte> file) {
  SearchResult result;
  for (const ExecutablePart& part : image.executable()) {
    const std::span code(reinterpret_cast<const std::uint8_t*>(file.data()) + part.offset, part.size);
    Part(code, part.address, part.offset, image.functions(), image.code_sections(), image.entry()).search(result);
  }
  return result;
}

std::vector<CallSite> search_calls(const ElfImage& image, std::span<const std::byte> file) {
  std::vector<CallSite> result;
  for (const ExecutablePart& part : image.executable()) {
    const std::span code(reinterpret_cast<const std::uint8_t*>(file.data()) + part.offset, part.size);
    Part(code, part.address, part.offset, image.functions(), image.code_sections()).search_calls(result);
  }
  return result;
}

SearchResult search_memory(std::uint64_t address, std::span<const std::byte> bytes) {
  SearchResult result;
  const Function whole{address, address + bytes.size()};
  Part({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, address, 0, {&whole, 1},
       {&whole, 1})
      .search(result);
  return result;
}

std::string name_of(DecidedInstruction kind) {
  switch (kind) {
    case DecidedInstruction::kNone:
      break;
    case DecidedInstruction::kRdtsc:
      return "rdtsc";
    case DecidedInstruction::kRdtscp:
      return "rdtscp";
    case DecidedInstruction::kRdpru:
      return "rdpru";
    case DecidedInstruction::kRdrand:
      return "rdrand";
    case DecidedInstruction::kRdseed:
      return "rdseed";
    case DecidedInstruction::kRdpid:
      return "rdpid";
    case DecidedInstruction::kLsl:
      return "lsl";
    case DecidedInstruction::kCpuid:
      return "cpuid";
    case DecidedInstruction::kXgetbv:
      return "xgetbv";
    case DecidedInstruction::kLoopJump:
      return "a jump";
  }
  return "?";
}

}  // namespace verbatim::code
