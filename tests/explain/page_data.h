// The data of a page of `verbatim report`, read as the page itself reads them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verbatim::support {

// What the page has in its head, with the blocks in their places: "rows" as lists of numbers and texts side by side, times and
// PSNs in full; "requests" as column, wr_id (null: not known), place, bytes, first and last PSN, the eight times (-1: not known)
// and the status of each; writes and waits in "sides"; "series" as lists of
// the values of their runs, to whose numbers other parts refer; "drops" of links as times. Null: the page is not as it should be.
nlohmann::json page_data(const std::string& html);
// The columns of the block with that name, "rows-0". Empty: there is none.
std::vector<std::vector<std::uint64_t>> page_block(const std::string& html, const std::string& name);

}  // namespace verbatim::support
