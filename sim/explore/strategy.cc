#include "sim/explore/strategy.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/core/rng.h"

namespace verbatim::explore {

namespace {

Schedule plain(std::string name) {
  Schedule schedule;
  schedule.name = std::move(name);
  return schedule;
}

// The default everywhere; other schedules are derived from its questions.
Schedule first(std::string name) {
  Schedule schedule = plain(std::move(name));
  schedule.wants_points = true;
  return schedule;
}

class Swarm final : public Strategy {
 public:
  explicit Swarm(std::uint64_t seed) : next_seed_(seed) {}
  std::optional<Schedule> next() override {
    Schedule schedule = plain("random");
    schedule.kind = Schedule::Kind::kSwarm;
    schedule.seed = next_seed_++;
    return schedule;
  }
  void learn(const Schedule&, const Questions&) override {}
  bool is_exhausted() const override { return false; }

 private:
  std::uint64_t next_seed_;
};

// The same, with threads that may be late before memory accesses, as often as their cost permits. The longer the
// search has found nothing, the larger is their share: a search that has ended at its first failure asks for no more.
class WithAccesses final : public Strategy {
 public:
  explicit WithAccesses(std::uint64_t seed) : swarm_(seed) {}
  std::optional<Schedule> next() override {
    if (is_under_way_) return std::nullopt;
    auto schedule = swarm_.next();
    ++given_;
    schedule->has_accesses = resting_ == 0;
    is_under_way_ = schedule->has_accesses;
    if (is_under_way_) schedule->name = "accesses";
    else --resting_;
    return schedule;
  }
  void learn(const Schedule& schedule, const Questions& questions) override {
    if (!schedule.has_accesses) return;
    is_under_way_ = false;
    std::uint64_t of_accesses = 0, others = 1;
    for (const Questions::Stream& stream : questions.streams)
      (stream.site.starts_with(kAccessSites) ? of_accesses : others) += stream.asked;
    // A question about an access takes a trap, several times as long as another question. These schedules get
    // a fifth of the time at first, and a half after about two hundred schedules of the portfolio.
    constexpr std::uint64_t kMostResting = 15, kSilent = 30;
    resting_ = std::min(2 * of_accesses / others, kMostResting) / (given_ > kSilent ? 4 : 1);
  }
  bool is_exhausted() const override { return false; }

 private:
  Swarm swarm_;
  std::uint64_t resting_ = 0;  // number of schedules without accesses to return first
  std::uint64_t given_ = 0;    // schedules returned
  bool is_under_way_ = false;  // a schedule with accesses is running
};

class Near final : public Strategy {
 public:
  Near(std::uint64_t seed, std::vector<Decision> decisions) : next_seed_(seed), decisions_(std::move(decisions)) {}
  std::optional<Schedule> next() override {
    Schedule schedule = plain("near");
    schedule.kind = is_first_ ? Schedule::Kind::kDecisions : Schedule::Kind::kNear;
    schedule.seed = next_seed_++;
    schedule.decisions = decisions_;
    is_first_ = false;
    return schedule;
  }
  void learn(const Schedule&, const Questions&) override {}
  bool is_exhausted() const override { return false; }

 private:
  std::uint64_t next_seed_;
  const std::vector<Decision> decisions_;
  bool is_first_ = true;
};

// Base of strategies whose first schedule is the default everywhere; the others are derived from its
// questions.
class AfterDefault : public Strategy {
 public:
  explicit AfterDefault(std::string name) : name_(std::move(name)) {}
  std::optional<Schedule> next() final {
    if (!has_begun_ && !has_default_) {
      has_begun_ = true;
      return with_accesses(first(name_));
    }
    return has_default_ ? with_accesses(next_after_default()) : std::nullopt;
  }
  // The first result is that of the default, whichever strategy has returned that schedule.
  void learn(const Schedule& schedule, const Questions& questions) final {
    const bool is_default = !has_default_;
    has_default_ = true;
    is_default ? learn_default(questions) : learn_further(schedule, questions);
  }
  bool is_exhausted() const final { return has_default_ && has_nothing_left(); }

 protected:
  const std::string& name() const { return name_; }
  bool has_accesses_ = false;  // applies to all of its schedules

 private:
  virtual std::optional<Schedule> next_after_default() = 0;
  virtual void learn_default(const Questions& questions) = 0;
  virtual void learn_further(const Schedule&, const Questions&) {}
  virtual bool has_nothing_left() const = 0;
  std::optional<Schedule> with_accesses(std::optional<Schedule> schedule) const {
    if (schedule) schedule->has_accesses = has_accesses_;
    return schedule;
  }

  const std::string name_;
  bool has_begun_ = false, has_default_ = false;
};

// The last alternative at each site in turn, then at families of sites, then at all sites.
class Nasty final : public AfterDefault {
 public:
  Nasty() : AfterDefault("nasty") {}

 private:
  std::optional<Schedule> next_after_default() override {
    if (sites_.empty()) return std::nullopt;
    Schedule schedule = plain(name());
    schedule.kind = Schedule::Kind::kAlways;
    schedule.site = sites_.front();
    sites_.pop_front();
    return schedule;
  }
  void learn_default(const Questions& questions) override {
    std::set<std::string> sites;
    for (const Questions::Stream& stream : questions.streams) sites.insert(stream.site.substr(0, stream.site.find('/')));
    sites_.assign(sites.begin(), sites.end());
    sites_.push_back("thread-");
    sites_.push_back("");
  }
  bool has_nothing_left() const override { return sites_.empty(); }
  std::string covered() const override { return "each freedom was used to its limit, one at a time and all together"; }

  std::deque<std::string> sites_;
};

// The question at `index` of the points, with an answer.
Decision decision_at(const Questions& questions, std::size_t index, std::uint32_t answer = 0) {
  const ChoicePoint& point = questions.points.at(index);
  const Questions::Stream& stream = questions.streams.at(point.stream);
  return {stream.site, stream.actor, point.occurrence, answer, point.alternatives, 0};
}

class Priorities final : public AfterDefault {
 public:
  Priorities(std::uint64_t seed, std::uint64_t depth, std::string name)
      : AfterDefault(std::move(name)), next_seed_(seed), depth_(depth) {}

 private:
  std::optional<Schedule> next_after_default() override {
    Schedule schedule = plain(name());
    schedule.kind = Schedule::Kind::kPriorities;
    schedule.seed = next_seed_++;
    Rng rng(schedule.seed, "explore/priorities");
    const std::size_t size = questions_.points.size();
    const bool are_near = rng.chance(1, 2);
    for (std::uint64_t i = 0, first = 0; size != 0 && i < depth_; ++i) {
      std::uint64_t at = rng.below(size);
      if (i == 0) {
        // Rarely asked sites are as likely as sites that are asked for every packet.
        if (rng.chance(1, 2)) at = point_of_stream(rng);
        first = at;
      } else if (are_near) {
        const std::uint64_t from = first > kNear ? first - kNear : 0;
        at = from + rng.below(std::min<std::uint64_t>(size - from, 2 * kNear + 1));
      }
      schedule.decisions.push_back(decision_at(questions_, at));
    }
    return schedule;
  }
  std::size_t point_of_stream(Rng& rng) const {
    const auto stream = static_cast<std::uint32_t>(rng.below(questions_.streams.size()));
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i < questions_.points.size(); ++i) {
      if (questions_.points[i].stream == stream) points.push_back(i);
    }
    return points.empty() ? rng.below(questions_.points.size()) : points[rng.below(points.size())];
  }
  void learn_default(const Questions& questions) override { questions_ = questions; }
  bool has_nothing_left() const override { return false; }

  static constexpr std::uint64_t kNear = 32;  // questions before and after the first change point
  std::uint64_t next_seed_;
  const std::uint64_t depth_;
  Questions questions_;
};

// All schedules with one decision more than `taken`, whose run asked `questions`: for each question after the
// last of `taken`, each representative answer. The list is built when the first is requested.
class Extensions {
 public:
  Extensions(std::vector<Decision> taken, const Questions& questions, std::uint64_t seed)
      : taken_(std::move(taken)), questions_(questions), seed_(seed), first_(first_after(taken_, questions_)) {}

  std::size_t points() const { return questions_.points.size(); }
  std::size_t first() const { return first_; }  // first point that is varied
  bool is_empty() const { return is_shuffled_ ? left_.empty() : first_ == questions_.points.size(); }
  std::vector<Decision> next() {
    if (!is_shuffled_) shuffle();
    std::vector<Decision> decisions = taken_;
    decisions.push_back(decision_at(questions_, left_.back().point, left_.back().answer));
    left_.pop_back();
    return decisions;
  }

 private:
  struct Extension {
    std::uint32_t point = 0, answer = 0;
  };
  static std::size_t first_after(const std::vector<Decision>& taken, const Questions& questions) {
    if (taken.empty()) return 0;
    const Decision& last = taken.back();
    const auto is_last = [&](const ChoicePoint& point) {
      const Questions::Stream& stream = questions.streams[point.stream];
      return point.occurrence == last.occurrence && stream.site == last.site && stream.actor == last.actor;
    };
    const auto found = std::ranges::find_if(questions.points, is_last);
    return static_cast<std::size_t>(found - questions.points.begin()) + (found == questions.points.end() ? 0 : 1);
  }
  // The order is random, so that it does not begin with the first millisecond of every program.
  void shuffle() {
    for (std::size_t i = first_; i < questions_.points.size(); ++i) {
      for (const std::uint32_t answer : representatives(questions_.points[i].alternatives))
        left_.push_back({static_cast<std::uint32_t>(i), answer});
    }
    Rng rng(seed_, "explore/systematic");
    for (std::size_t i = left_.size(); i > 1; --i) std::swap(left_[i - 1], left_[rng.below(i)]);
    std::ranges::reverse(left_);
    is_shuffled_ = true;
  }

  std::vector<Decision> taken_;
  Questions questions_;
  std::uint64_t seed_;
  std::size_t first_;
  bool is_shuffled_ = false;
  std::vector<Extension> left_;  // the next one is the last
};

// Every set of at most `depth` decisions, smaller sets first.
class Systematic final : public AfterDefault {
 public:
  Systematic(std::uint64_t seed, std::uint64_t depth, std::string name)
      : AfterDefault(std::move(name)), seed_(seed), depth_(depth) {}

  std::string covered() const override {
    return "every schedule with at most " + std::to_string(depth_) + (depth_ == 1 ? " decision that differs" : " decisions that differ") +
           " from the default was run; a delay was tried at every second power of two" +
           (repeated_ > 0 ? "; " + std::to_string(repeated_) + (repeated_ == 1 ? " schedule gave the same run as an earlier one and was" : " schedules gave the same run as an earlier one and were") + " not varied further" : "") +
           (is_cut_ ? "; in longer runs only the first " + std::to_string(Questions::kMostPoints) + " decisions were varied" : "") +
           (dropped_ > 0 ? "; " + std::to_string(dropped_) + " schedules were not varied further, since there was no memory for them" : "");
  }

 private:
  std::optional<Schedule> next_after_default() override {
    if (waiting_.empty()) return std::nullopt;
    Schedule schedule = plain(name());
    schedule.decisions = waiting_.front().next();
    schedule.wants_points = schedule.decisions.size() < depth_;
    if (waiting_.front().is_empty()) {
      points_kept_ -= waiting_.front().points();
      waiting_.pop_front();
    }
    ++under_way_;
    return schedule;
  }
  void learn_default(const Questions& questions) override { add_later({}, questions); }
  void learn_further(const Schedule& schedule, const Questions& questions) override {
    --under_way_;
    if (schedule.decisions.size() < depth_) add_later(schedule.decisions, questions);
  }
  bool has_nothing_left() const override { return waiting_.empty() && under_way_ == 0; }

  void add_later(const std::vector<Decision>& taken, const Questions& questions) {
    is_cut_ = is_cut_ || questions.points.size() == Questions::kMostPoints;
    Extensions added(taken, questions, seed_ + batches_++);
    if (added.is_empty()) return;
    if (points_kept_ + added.points() > kMostKept) {
      ++dropped_;
      return;
    }
    if (is_varied_already(questions, added.first())) {
      ++repeated_;
      return;
    }
    points_kept_ += added.points();
    waiting_.push_back(std::move(added));
  }

  // Whether a run with at most as many decisions had the same digest and questions, and is varied from a
  // point at least as early: its extensions cover those of this run. If not, this run is stored for the
  // comparison.
  bool is_varied_already(const Questions& questions, std::size_t first) {
    if (questions.digest.empty()) return false;
    const auto [varied, is_new] = varied_.try_emplace({questions.digest, fingerprint(questions)}, first);
    if (is_new || first < varied->second) {
      varied->second = first;
      return false;
    }
    return true;
  }
  static std::uint64_t fingerprint(const Questions& questions) {
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;  // FNV-1a, by words
    const auto add = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100'0000'01b3; };
    for (const Questions::Stream& stream : questions.streams) {
      for (const char c : stream.site + "/" + stream.actor) add(static_cast<unsigned char>(c));
      add(stream.asked);
    }
    for (const ChoicePoint& point : questions.points) {
      add(point.stream);
      add(point.alternatives);
      add(point.occurrence);
    }
    return hash;
  }

  static constexpr std::size_t kMostKept = 24'000'000;  // points: 384 MB
  const std::uint64_t seed_, depth_;
  std::deque<Extensions> waiting_;  // none of them empty
  std::size_t points_kept_ = 0;     // sum over `waiting_`
  std::size_t under_way_ = 0;
  std::uint64_t batches_ = 0;  // number of results
  std::uint64_t dropped_ = 0, repeated_ = 0;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> varied_;  // by digest and questions: first
                                                                         // point that is varied
  bool is_cut_ = false;
};

class Few final : public AfterDefault {
 public:
  Few(std::uint64_t seed, const std::vector<Decision>& like) : AfterDefault("few"), rng_(seed, "explore/few") {
    std::set<std::string> flags;
    std::map<std::tuple<std::string, std::string, std::uint64_t>, std::size_t> groups;
    for (const Decision& decision : like) {
      const auto [site, number] = choice_of(decision);
      const auto [group, is_new] = groups.try_emplace({decision.actor, site, number}, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[group->second].push_back(decision);
      has_accesses_ = has_accesses_ || decision.site.starts_with(kAccessSites);
      if (is_delay(decision.alternatives)) liked_.push_back(decision);
      else flags.insert(decision.site);
    }
    flags_.assign(flags.begin(), flags.end());
  }

 private:
  std::optional<Schedule> next_after_default() override {
    Schedule schedule = plain(name());
    if (!flags_.empty() && (is_first_ || rng_.chance(3, 4))) schedule.always = flags_;
    if (is_first_ && !flags_.empty()) {
      is_first_ = false;
      return schedule;
    }
    is_first_ = false;
    if (points_.empty()) return std::nullopt;
    // A failure with many choices may need only some of them; with few choices, new ones are found as easily.
    constexpr std::size_t kMany = 8;
    const std::uint64_t way = rng_.below(6);
    if (way < (groups_.size() > kMany ? 3u : 1u)) add_some_varied(schedule);
    else if (way < 4) add_last_moved(schedule);
    if (!schedule.decisions.empty()) return schedule;
    const std::size_t at = liked_point();
    add(schedule, at);
    for (std::uint64_t more = rng_.below(kMost); more > 0; --more) {
      const std::size_t from = at > kNear ? at - kNear : 0;
      // Two events that must coincide are near each other; a precondition may be anywhere.
      const bool is_near = rng_.chance(1, 2);
      add(schedule, is_near ? from + rng_.below(std::min<std::uint64_t>(points_.size() - from, 2 * kNear + 1)) : liked_point());
    }
    return schedule;
  }
  // A question in the stream of one of the failure's last decisions, or in any of its streams with equal
  // probability, however often the streams are asked.
  std::size_t liked_point() {
    const std::size_t all = points_of_.size(), last = std::min(all, kNear);
    const auto& stream = rng_.chance(1, 2) ? points_of_[all - 1 - rng_.below(last)] : *streams_[rng_.below(streams_.size())];
    return stream.empty() ? rng_.below(points_.size()) : stream[rng_.below(stream.size())];
  }
  // The last decisions of the failure moved together to another time, because programs repeat what they do.
  void add_last_moved(Schedule& schedule) {
    constexpr std::size_t kMostMoved = 4;
    const std::size_t all = liked_.size(), first = all - 1 - rng_.below(std::min(all, kMostMoved));
    if (points_of_[first].empty()) return;
    const std::size_t at = points_of_[first][rng_.below(points_of_[first].size())];
    // By stream: the occurrence of its first moved decision before and after the move.
    std::map<std::pair<std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>> moved;
    for (std::size_t i = first; i < all; ++i) {
      const std::vector<std::size_t>& stream = points_of_[i];
      const auto occurrence = [this](std::size_t at) { return questions_.points[points_[at]].occurrence; };
      const auto begin = std::ranges::lower_bound(stream, at);
      if (begin == stream.end()) continue;
      const auto it = moved.try_emplace({liked_[i].site, liked_[i].actor}, liked_[i].occurrence, occurrence(*begin)).first;
      const auto [was, is] = it->second;
      if (liked_[i].occurrence < was) continue;
      const auto place = std::ranges::lower_bound(stream, is + (liked_[i].occurrence - was), {}, occurrence);
      if (place == stream.end()) continue;
      const std::size_t point = points_[*place];
      const std::uint32_t most = questions_.points[point].alternatives - 1;
      schedule.decisions.push_back(decision_at(questions_, point, std::min(liked_[i].answer, most)));
    }
  }
  // Some of the failure's choices with their details, some of them slightly earlier or later, shorter or
  // longer. Where no single choice can be removed, because that shifts the others in time, several can be if
  // the remaining ones move as well.
  void add_some_varied(Schedule& schedule) {
    constexpr std::uint64_t kMostPlaces = 4, kOctave = 16;
    schedule.always.clear();
    const std::uint64_t measure = std::uint64_t{1} << rng_.below(4);  // how many of 16 are moved
    std::size_t wanted = 1 + rng_.below(groups_.size());
    for (std::size_t i = 0; i < groups_.size() && wanted > 0; ++i) {
      if (!rng_.chance(wanted, groups_.size() - i)) continue;
      --wanted;
      const std::uint64_t number = choice_of(groups_[i].front()).second;
      const std::uint64_t place = rng_.chance(measure, 16) ? moved(number, kMostPlaces, 0, kAnywhere) : number;
      for (Decision decision : groups_[i]) {
        const std::uint64_t step = step_of(decision.site);
        decision.occurrence = place * step + decision.occurrence % step;
        if (is_delay(decision.alternatives) && rng_.chance(measure, 16)) {
          const std::uint64_t answer = moved(decision.answer, kOctave, 1, decision.alternatives - 1);
          decision.answer = static_cast<std::uint32_t>(answer);
        }
        add(schedule, decision);
      }
    }
  }
  // The choice of a decision or of its detail: site, and number of earlier choices of the actor at it.
  static std::pair<std::string, std::uint64_t> choice_of(const Decision& decision) {
    return {decision.site.substr(0, decision.site.find('/')), decision.occurrence / step_of(decision.site)};
  }
  // `value` changed by at most `by`, within the limits.
  std::uint64_t moved(std::uint64_t value, std::uint64_t by, std::uint64_t least, std::uint64_t most) {
    const std::uint64_t up = value + rng_.below(2 * by + 1);
    return std::clamp(up - std::min(up, by), least, most);
  }
  void add(Schedule& schedule, const Decision& decision) {
    const auto is_same = [&](const Decision& d) {
      return d.site == decision.site && d.actor == decision.actor && d.occurrence == decision.occurrence;
    };
    if (std::ranges::none_of(schedule.decisions, is_same)) schedule.decisions.push_back(decision);
  }
  void add(Schedule& schedule, std::size_t at) {
    const std::vector<std::uint32_t> answers = representatives(questions_.points[points_[at]].alternatives);
    add(schedule, decision_at(questions_, points_[at], answers[rng_.below(answers.size())]));
  }
  void learn_default(const Questions& questions) override {
    questions_ = questions;
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_stream;
    for (const Decision& decision : liked_) by_stream[{decision.site, decision.actor}];
    for (std::size_t i = 0; i < questions.points.size(); ++i) {
      const Questions::Stream& stream = questions.streams[questions.points[i].stream];
      const auto it = by_stream.find({stream.site, stream.actor});
      if (it == by_stream.end() || !is_delay(questions.points[i].alternatives)) continue;
      it->second.push_back(points_.size());
      points_.push_back(i);
    }
    std::set<std::pair<std::string, std::string>> seen;
    points_of_.reserve(liked_.size());
    for (const Decision& decision : liked_) {
      points_of_.push_back(by_stream[{decision.site, decision.actor}]);
      if (seen.emplace(decision.site, decision.actor).second) streams_.push_back(&points_of_.back());
    }
  }
  bool has_nothing_left() const override { return points_.empty() && (flags_.empty() || !is_first_); }

  static constexpr std::size_t kNear = 32, kMost = 3;  // points, decisions
  static constexpr std::uint64_t kAnywhere = std::numeric_limits<std::uint32_t>::max();
  Rng rng_;
  std::vector<std::vector<Decision>> groups_;  // the failure's choices, each with its details
  std::vector<Decision> liked_;     // the delays of the failure
  std::vector<std::string> flags_;  // the failure's other sites
  Questions questions_;
  std::vector<std::size_t> points_;                  // indices of the delay questions of the failure's streams
  std::vector<std::vector<std::size_t>> points_of_;  // by index in `liked_`: indices into `points_` of its stream
  std::vector<const std::vector<std::size_t>*> streams_;  // one entry of `points_of_` per stream
  bool is_first_ = true;
};

// All strategies in turn. The turn depends only on the number of the schedule.
class Portfolio final : public Strategy {
 public:
  Portfolio(std::uint64_t seed, Fixed fixed) {
    if (fixed == Fixed::kIncluded) parts_.push_back(std::make_unique<Nasty>());
    parts_.push_back(std::make_unique<Swarm>(seed));
    parts_.push_back(std::make_unique<Priorities>(seed, 3, "pct:3"));
    parts_.push_back(std::make_unique<Systematic>(seed, 1, "delay:1"));
    parts_.push_back(std::make_unique<Swarm>(seed + (std::uint64_t{1} << 32)));
    parts_.push_back(std::make_unique<Priorities>(seed + (std::uint64_t{1} << 32), 1, "pct:1"));
    parts_.push_back(std::make_unique<WithAccesses>(seed + (std::uint64_t{2} << 32)));
  }
  std::optional<Schedule> next() override {
    if (!has_begun_) {
      has_begun_ = true;
      return first("default");
    }
    if (!has_default_) return std::nullopt;
    for (std::size_t tried = 0; tried < parts_.size(); ++tried) {
      Strategy& part = *parts_[turn_];
      if (!part.is_exhausted()) {
        auto schedule = part.next();
        if (!schedule) return std::nullopt;  // it is this strategy's turn, and it has to learn first
        given_.push_back(turn_);
        turn_ = (turn_ + 1) % parts_.size();
        return schedule;
      }
      turn_ = (turn_ + 1) % parts_.size();
    }
    return std::nullopt;
  }
  void learn(const Schedule& schedule, const Questions& questions) override {
    if (!has_default_) {
      has_default_ = true;
      for (const auto& part : parts_) part->learn(schedule, questions);
      return;
    }
    parts_[given_.front()]->learn(schedule, questions);
    given_.pop_front();
  }
  bool is_exhausted() const override { return false; }

 private:
  std::vector<std::unique_ptr<Strategy>> parts_;
  std::deque<std::size_t> given_;  // by schedule whose result is outstanding: the part that returned it
  std::size_t turn_ = 0;
  bool has_begun_ = false, has_default_ = false;
};

// The number after `prefix`, 1 … 16; 0: none.
std::uint64_t depth_of(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return 0;
  text.remove_prefix(prefix.size());
  std::uint64_t depth = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), depth);
  return error == std::errc() && end == text.data() + text.size() && depth <= 16 ? depth : 0;
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(std::string_view text, std::uint64_t seed, const std::vector<Decision>& focus,
                                        std::string* failure, Fixed fixed) {
  if (!focus.empty()) return std::make_unique<Near>(seed, focus);
  if (text == "portfolio") return std::make_unique<Portfolio>(seed, fixed);
  if (text == "random") return std::make_unique<Swarm>(seed);
  if (text == "nasty") return std::make_unique<Nasty>();
  if (const auto depth = depth_of(text, "pct:")) return std::make_unique<Priorities>(seed, depth, std::string(text));
  if (const auto depth = depth_of(text, "delay:")) return std::make_unique<Systematic>(seed, depth, std::string(text));
  *failure = "there is no strategy \"" + std::string(text) +
             "\"; there are portfolio, random, pct:D and delay:K (with 1 to 16 for D and K), and nasty";
  return nullptr;
}

std::unique_ptr<Strategy> make_reducing_strategy(std::uint64_t seed, const std::vector<Decision>& like) {
  return std::make_unique<Few>(seed, like);
}

}  // namespace verbatim::explore
