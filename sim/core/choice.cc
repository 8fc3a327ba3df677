#include "sim/core/choice.h"

#include <array>

namespace verbatim {

namespace {
// Choices out of 16 that may leave the default.
constexpr std::array<std::uint32_t, 4> kRates = {0, 1, 4, 16};
}

SeededChoices::Stream SeededChoices::make_stream(std::string_view site, ComponentId actor) const {
  const std::string site_name = "choice/" + std::string(site);
  const std::string actor_name = actor.value < components_.size()
                                     ? components_.name(actor)
                                     : "thread/" + std::to_string(actor.value - components_.size());
  const std::size_t rate =
      is_detail(site) ? kRates.size() - 1 : Rng(root_seed_, site_name).below(kRates.size());
  return {Rng(root_seed_, site_name + "/" + actor_name), kRates[rate], Rng(root_seed_, "rare/" + site_name).chance(1, 2)};
}

std::uint32_t SeededChoices::draw_with_rare(std::string_view site, ComponentId actor, std::uint32_t n, std::uint32_t usual) {
  CHECK(usual >= 1 && n >= usual);
  Stream& stream = streams_.at(site, actor, [&] { return make_stream(site, actor); });
  // Always draws two numbers, so that the k-th choice depends on k alone.
  const std::uint64_t first = stream.rng.next(), second = stream.rng.next();
  if ((first >> 60) >= stream.rate) return 0;
  const bool is_rare = n > usual && stream.has_rare && (first >> 56 & 15) == 0;
  const std::uint32_t least = is_rare ? usual : 0, count = is_rare ? n - usual : usual;
  return least + static_cast<std::uint32_t>((static_cast<unsigned __int128>(second) * count) >> 64);
}

}  // namespace verbatim
