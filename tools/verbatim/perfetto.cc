#include "tools/verbatim/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/ib/qp_state.h"
#include "sim/observe/trace_line.h"
#include "tools/verbatim/protobuf.h"

namespace verbatim::cli {

namespace {

// Field numbers by message, from the schema.
namespace trace {
constexpr unsigned kPacket = 1;
}
namespace packet {
constexpr unsigned kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12, kSequenceFlags = 13;
constexpr unsigned kTrackDescriptor = 60;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet
namespace interned {
constexpr unsigned kEventNames = 2, kIid = 1, kName = 2;
}
namespace track {
constexpr unsigned kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kCounter = 8, kChildOrdering = 11, kRank = 12;
constexpr unsigned kProcessPid = 1, kProcessName = 6, kCounterUnitName = 6;
constexpr std::uint64_t kByRank = 3;
}  // namespace track
namespace event {
constexpr unsigned kAnnotations = 4, kType = 9, kNameIid = 10, kTrack = 11, kCategories = 22, kDoubleCounter = 44, kFlows = 47;
constexpr unsigned kAnnotationName = 10, kAnnotationNumber = 3, kAnnotationText = 6;
constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace event

constexpr std::int64_t kPsPerNs = 1000;

struct Event {
  std::int64_t time_ps = 0;
  std::uint64_t track = 0;
  std::uint64_t type = event::kInstant;
  std::string_view name;  // of the picture's strings, or of names_
  double value = 0;       // of a counter
  std::int32_t request = -1, row = -1;  // what a slice describes
};

class TraceWriter {
 public:
  explicit TraceWriter(const RunPicture& picture) : picture_(picture) {}

  std::string write() {
    make_tracks();
    for (const RunPicture::Output& output : picture_.output)
      add({.time_ps = output.time_ps, .track = output_tracks_.at(output.host), .name = output.text});
    add_states();
    add_requests();
    add_rows();
    add_links();
    std::ranges::stable_sort(events_, {}, &Event::time_ps);
    for (const Event& one : events_) put(one);
    return std::move(bytes_);
  }

 private:
  struct ColumnTracks {
    std::uint64_t programs = 0;                  // tracks of a column without a queue pair; else these:
    std::uint64_t group = 0, states = 0, sent = 0, came = 0;
    std::uint64_t requests = 0;                  // number of tracks for requests
  };

  // Begins the next packet.
  ProtobufMessage begin_packet() {
    ProtobufMessage one;
    one.add_number(packet::kSequenceId, 1);
    one.add_number(packet::kSequenceFlags, bytes_.empty() ? packet::kStateCleared | packet::kNeedsState : packet::kNeedsState);
    return one;
  }
  void put_packet(const ProtobufMessage& one) {
    ProtobufMessage all;
    all.add_message(trace::kPacket, one);
    bytes_ += all.bytes();
  }

  ProtobufMessage begin_track(std::uint64_t uuid, std::string_view name, std::uint64_t parent, std::uint64_t rank) {
    ProtobufMessage descriptor;
    descriptor.add_number(track::kUuid, uuid);
    descriptor.add_text(track::kName, name);
    if (parent != 0) descriptor.add_number(track::kParent, parent);
    descriptor.add_number(track::kChildOrdering, track::kByRank);
    descriptor.add_number(track::kRank, rank);
    return descriptor;
  }
  void put_track(const ProtobufMessage& descriptor) {
    ProtobufMessage one = begin_packet();
    one.add_message(packet::kTrackDescriptor, descriptor);
    put_packet(one);
  }
  std::uint64_t make_track(std::string_view name, std::uint64_t parent, std::uint64_t rank) {
    put_track(begin_track(++last_track_, name, parent, rank));
    return last_track_;
  }
  std::uint64_t make_counter(std::string_view name, std::uint64_t parent, std::string_view unit) {
    const std::uint64_t uuid = ++last_track_;
    ProtobufMessage descriptor = begin_track(uuid, name, parent, uuid), counter;
    counter.add_text(track::kCounterUnitName, unit);
    descriptor.add_message(track::kCounter, counter);
    put_track(descriptor);
    return uuid;
  }

  std::uint64_t host_track(const std::string& host) {
    const auto [known, is_new] = hosts_.try_emplace(host, 0);
    if (!is_new) return known->second;
    ProtobufMessage descriptor = begin_track(known->second = ++last_track_, host, 0, hosts_.size()), process;
    process.add_number(track::kProcessPid, hosts_.size());
    process.add_text(track::kProcessName, host);
    descriptor.add_message(track::kProcess, process);
    put_track(descriptor);
    return known->second;
  }

  void make_tracks() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < picture_.columns.size(); ++i) order.push_back(i);
    std::ranges::stable_sort(order, {}, [this](std::size_t i) {
      return std::pair(std::string_view(picture_.columns[i].host), picture_.columns[i].qpn);
    });
    columns_.resize(order.size());
    constexpr std::uint64_t kOutputRank = 1, kProgramsRank = 2;
    for (const RunPicture::Output& output : picture_.output) {
      std::uint64_t& made = output_tracks_[output.host];
      if (made == 0) made = make_track("output", host_track(output.host), kOutputRank);
    }
    for (const std::size_t i : order) {
      const RunPicture::Column& column = picture_.columns[i];
      const std::uint64_t host = host_track(column.host);
      if (column.qpn == 0) {
        columns_[i].programs = make_track("programs", host, kProgramsRank);
        continue;
      }
      columns_[i].group = make_track(fmt::format("queue pair {:#x}", column.qpn), host, kProgramsRank + column.qpn);
      columns_[i].states = make_track("state", columns_[i].group, 1);
      columns_[i].sent = make_track("packets sent", columns_[i].group, 2);
      columns_[i].came = make_track("packets received", columns_[i].group, 3);
    }
  }

  void add(const Event& one) { events_.push_back(one); }
  void add_slice(std::uint64_t on, std::int64_t begin, std::int64_t end, std::string_view name, std::int32_t request = -1) {
    add({.time_ps = begin, .track = on, .type = event::kSliceBegin, .name = name, .request = request});
    add({.time_ps = end, .track = on, .type = event::kSliceEnd});
  }

  // Each state lasts until the next of its queue pair, or until the end of the recording.
  void add_states() {
    std::int64_t last = picture_.last_packet_ps;
    for (const RunPicture::Row& row : picture_.rows) last = std::max({last, row.time_ps, row.end_ps});
    for (const RunPicture::Change& change : picture_.changes) last = std::max(last, change.time_ps);
    std::map<int, const RunPicture::Change*> now;
    const auto end = [&](int column, std::int64_t time) {
      const RunPicture::Change& change = *now[column];
      add_slice(columns_[static_cast<std::size_t>(column)].states, change.time_ps, time,
                ib::name_of(static_cast<ib::QpState>(change.to)));
    };
    for (const RunPicture::Change& change : picture_.changes) {
      if (columns_[static_cast<std::size_t>(change.column)].states == 0) continue;
      if (now.contains(change.column)) end(change.column, change.time_ps);
      now[change.column] = &change;
    }
    for (const auto& [column, change] : now) end(column, last);
  }

  // Slices of one track may only nest, so overlapping requests have several tracks.
  void add_requests() {
    struct Span {
      std::int64_t begin, end;
      std::int32_t request;
    };
    std::map<int, std::vector<Span>> spans;
    for (std::size_t i = 0; i < picture_.requests.size(); ++i) {
      const auto times = times_of(picture_.requests[i]);
      std::int64_t begin = -1, end = -1;
      for (const std::int64_t time : times) {
        if (time < 0) continue;
        begin = begin < 0 ? time : std::min(begin, time);
        end = std::max(end, time);
      }
      if (begin >= 0) spans[picture_.requests[i].column].push_back({begin, end, static_cast<std::int32_t>(i)});
    }
    for (auto& [column, of_column] : spans) {
      ColumnTracks& tracks = columns_[static_cast<std::size_t>(column)];
      if (tracks.group == 0) continue;
      std::ranges::stable_sort(of_column, {}, &Span::begin);
      std::vector<std::pair<std::int64_t, std::uint64_t>> lanes;  // end of the last request, and its track
      for (const Span& span : of_column) {
        auto lane = std::ranges::find_if(lanes, [&](const auto& taken) { return taken.first <= span.begin; });
        if (lane == lanes.end()) {
          constexpr std::uint64_t kFirstRank = 4;
          lanes.emplace_back(0, make_track("work requests", tracks.group, kFirstRank + tracks.requests++));
          lane = lanes.end() - 1;
        }
        lane->first = span.end;
        add_request(lane->second, span.begin, span.end, span.request);
      }
    }
  }

  static std::array<std::int64_t, 8> times_of(const RunPicture::Request& request) {
    return {request.posted,    request.rung,      request.fetched,      request.first_left,
            request.last_left, request.last_came, request.acknowledged, request.completed};
  }

  // Parts of a request follow each other within it; each begins at the latest known time before it.
  void add_request(std::uint64_t on, std::int64_t begin, std::int64_t end, std::int32_t number) {
    static constexpr std::string_view kParts[] = {"",       "until the doorbell", "fetched", "before the first packet",
                                                  "sent",   "on the way",         "acknowledged", "completed"};
    const RunPicture::Request& request = picture_.requests[static_cast<std::size_t>(number)];
    const bool has_failed = request.status != 0;
    const std::string_view name = has_failed ? "failed request" : "request";
    add({.time_ps = begin, .track = on, .type = event::kSliceBegin, .name = name, .request = number});
    const auto times = times_of(request);
    std::int64_t from = begin;
    for (std::size_t part = 1; part < times.size(); ++part) {
      if (times[part] < from) continue;  // unknown, or earlier than the previous part
      add_slice(on, from, times[part], kParts[part]);
      from = times[part];
    }
    add({.time_ps = end, .track = on, .type = event::kSliceEnd});
  }

  void add_rows() {
    for (std::size_t i = 0; i < picture_.rows.size(); ++i) {
      const RunPicture::Row& row = picture_.rows[i];
      const std::string_view name = picture_.strings[row.text];
      const ColumnTracks& from = columns_[static_cast<std::size_t>(row.from)];
      const auto number = static_cast<std::int32_t>(i);
      const std::uint64_t own = from.group == 0 ? from.programs : row.to < 0 ? from.group : from.sent;
      add({.time_ps = row.time_ps, .track = own, .name = name, .request = row.request, .row = number});
      if (row.to < 0 || row.end_ps < 0 || (row.flags & RunPicture::kDropped) != 0) continue;
      const ColumnTracks& to = columns_[static_cast<std::size_t>(row.to)];
      const std::uint64_t there = to.group == 0 ? to.programs : to.came;
      add({.time_ps = row.end_ps, .track = there, .name = name, .request = row.request, .row = number});
    }
  }

  void add_links() {
    const std::int64_t whole = picture_.last_packet_ps - picture_.first_packet_ps;
    if (picture_.links.empty() || whole <= 0) return;
    const std::uint64_t group = make_track("links", 0, hosts_.size() + 1);
    constexpr std::int64_t kBins = 256;
    const double bin_ns = static_cast<double>(whole) / static_cast<double>(kBins * kPsPerNs);
    const auto count = [&](std::uint64_t counter, std::int64_t time_ps, double value) {
      add({.time_ps = time_ps, .track = counter, .type = event::kCounter, .value = value});
    };
    for (const RunPicture::Link& link : picture_.links) {
      const std::string name = link.port.substr(link.port.find('/') + 1);  // of "port/leaf0:1" and "hca/server"
      std::vector<std::int64_t> bytes = link.bytes.values(kBins);
      bytes.push_back(0);  // nothing is sent after the last packet
      if (std::ranges::any_of(bytes, [](std::int64_t n) { return n != 0; })) {
        const std::uint64_t counter = make_counter(name, group, "Gb/s");
        for (std::size_t bin = 0; bin < bytes.size(); ++bin) {
          if (bin != 0 && bytes[bin] == bytes[bin - 1]) continue;
          const auto bins = static_cast<std::int64_t>(bin);
          const std::int64_t time = picture_.first_packet_ps + whole / kBins * bins + whole % kBins * bins / kBins;
          count(counter, time, static_cast<double>(bytes[bin]) * 8 / bin_ns);
        }
      }
      if (link.drops.empty()) continue;
      const std::uint64_t counter = make_counter(name + " drops so far", group, "packets");
      for (std::size_t i = 0; i < link.drops.size(); ++i) count(counter, link.drops[i], static_cast<double>(i + 1));
    }
  }

  static void annotate(ProtobufMessage& of, std::string_view name, std::uint64_t number) {
    ProtobufMessage one;
    one.add_number(event::kAnnotationNumber, number);
    one.add_text(event::kAnnotationName, name);
    of.add_message(event::kAnnotations, one);
  }
  static void annotate(ProtobufMessage& of, std::string_view name, std::string_view text) {
    ProtobufMessage one;
    one.add_text(event::kAnnotationText, text);
    one.add_text(event::kAnnotationName, name);
    of.add_message(event::kAnnotations, one);
  }

  void annotate_row(ProtobufMessage& of, const RunPicture::Row& row) {
    static constexpr std::pair<std::uint32_t, std::string_view> kCategories[] = {
        {RunPicture::kDropped, "dropped"},   {RunPicture::kRetransmission, "retransmission"}, {RunPicture::kNak, "nak"},
        {RunPicture::kRnrNak, "rnr nak"},    {RunPicture::kFlushed, "flushed"},               {RunPicture::kError, "error"},
        {RunPicture::kFault, "fault"},       {RunPicture::kDuplicate, "duplicate"}};
    of.add_text(event::kCategories, row.to >= 0 ? "packet" : "event");
    for (const auto& [flag, name] : kCategories) {
      if ((row.flags & flag) != 0) of.add_text(event::kCategories, name);
    }
    if (row.to >= 0) {
      annotate(of, "psn", row.psn);
      annotate(of, "bytes", row.bytes);
    }
    if (row.note != 0) annotate(of, "why", picture_.strings[row.note]);
  }

  void annotate_request(ProtobufMessage& of, const RunPicture::Request& request) {
    of.add_text(event::kCategories, "request");
    if (request.wr_id) annotate(of, "wr_id", *request.wr_id);
    if (request.place != 0) annotate(of, "posted at", picture_.strings[request.place]);
    annotate(of, "bytes", request.bytes);
    annotate(of, "first psn", request.first_psn);
    annotate(of, "last psn", request.last_psn);
    if (request.completed >= 0) annotate(of, "status", observe::status_name(request.status));
  }

  void put(const Event& one) {
    ProtobufMessage all = begin_packet(), track_event;
    all.add_number(packet::kTimestamp, static_cast<std::uint64_t>(one.time_ps / kPsPerNs));
    track_event.add_number(event::kType, one.type);
    track_event.add_number(event::kTrack, one.track);
    if (one.type == event::kCounter) {
      track_event.add_double(event::kDoubleCounter, one.value);
    } else if (!one.name.empty()) {
      const auto [known, is_new] = names_.try_emplace(one.name, names_.size() + 1);
      track_event.add_number(event::kNameIid, known->second);
      if (is_new) {
        ProtobufMessage name, data;
        name.add_number(interned::kIid, known->second);
        name.add_text(interned::kName, one.name);
        data.add_message(interned::kEventNames, name);
        all.add_message(packet::kInternedData, data);
      }
    }
    if (one.row >= 0) annotate_row(track_event, picture_.rows[static_cast<std::size_t>(one.row)]);
    if (one.request >= 0) {
      if (one.row < 0) annotate_request(track_event, picture_.requests[static_cast<std::size_t>(one.request)]);
      track_event.add_fixed(event::kFlows, static_cast<std::uint64_t>(one.request) + 1);
    }
    all.add_message(packet::kTrackEvent, track_event);
    put_packet(all);
  }

  const RunPicture& picture_;
  std::uint64_t last_track_ = 0;
  std::map<std::string, std::uint64_t> hosts_, output_tracks_;
  std::vector<ColumnTracks> columns_;
  std::vector<Event> events_;
  std::map<std::string_view, std::uint64_t> names_;
  std::string bytes_;
};

}  // namespace

std::string perfetto_trace(const RunPicture& picture) { return TraceWriter(picture).write(); }

}  // namespace verbatim::cli
