#include "sim/supervisor/code/known_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace verbatim::code {

void KnownCalls::add(const CodePatches::Origin& origin, std::span<const CallSite> calls) {
  const auto call = std::ranges::find(calls, origin.offset, [](const CallSite& site) { return site.offset + site.call_at; });
  if (call == calls.end() || calls_.size() == kMost) return;
  const auto is_it = [&](const Call& known) { return known.file == origin.file && known.site.offset == call->offset; };
  if (std::ranges::none_of(calls_, is_it)) calls_.push_back({origin.file, *call});
}

void KnownCalls::replace_in(CodePatches& patches, host::ProgramMemory& memory, std::size_t& from) const {
  std::vector<std::pair<const FileCode*, std::vector<CallSite>>> by_file;  // in the order of their first calls
  for (; from < calls_.size(); ++from) {
    const Call& call = calls_[from];
    const auto address = patches.address_of(*call.file, call.site.offset);
    if (!address || patches.is_replaced(*address, 1)) continue;
    const auto known = std::ranges::find_if(by_file, [&](const auto& one) { return one.first == call.file; });
    if (known != by_file.end()) known->second.push_back(call.site);
    else by_file.push_back({call.file, {call.site}});
  }
  for (const auto& [file, sites] : by_file) patches.replace_calls(memory, *file, sites);
}

}  // namespace verbatim::code
