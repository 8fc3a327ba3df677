// The data of a page of `verbatim report`, read as the page itself reads them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verbatim::support {

// The head of the page, with decoded blocks inserted: "rows" as lists of numbers and texts side by side, with
// absolute times and PSNs; "requests" as column, wr_id (null: unknown), place, bytes, first and last PSN, the
// eight times (-1: unknown) and the status of each; writes and waits in "sides"; "series" as lists of the values
// of their runs, to whose numbers other parts refer; "drops" of links as times. Null if the page is invalid.
nlohmann::json page_data(const std::string& html);
// The columns of the block with that name, "rows-0"; empty if there is none.
std::vector<std::vector<std::uint64_t>> page_block(const std::string& html, const std::string& name);

}  // namespace verbatim::support
