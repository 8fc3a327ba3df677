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
  return {Rng(root_seed_, site_name + "/" + actor_name), kRates[rate]};
}

std::uint32_t SeededChoices::draw(std::string_view site, ComponentId actor, std::uint32_t n) {
  CHECK(n >= 1);
  Stream& stream = streams_.at(site, actor, [&] { return make_stream(site, actor); });
  // Always draws two numbers, so that the k-th choice depends on k alone.
  const std::uint64_t first = stream.rng.next(), second = stream.rng.next();
  if ((first >> 60) >= stream.rate) return 0;
  return static_cast<std::uint32_t>((static_cast<unsigned __int128>(second) * n) >> 64);
}

}  // namespace verbatim
