// Rate controllers, as functions of the times of notifications and of bytes sent. Expected rates are worked out by hand from the
// rules that each variant's header names; the property compares with a model that steps through every timer period.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/core/rng.h"
#include "sim/hca/congestion/controllers.h"

namespace verbatim::hca {
namespace {

constexpr Rate kLine = Rate::of_mbps(100'000);

constexpr Instant at_ns(std::int64_t ns) { return instant_from_ps(ns * 1'000); }

struct Controlled {
  explicit Controlled(const std::string& name, ReactionPoint given = {}, Rate line = kLine) {
    CongestionControl profile;
    profile.controller = name;
    profile.reaction_point = given;
    controller = make_controller(profile, line);
  }
  // 0: not limited.
  std::uint64_t kbps(Instant when) { return controller->rate(when).value_or(Rate{0}).kbps; }
  std::uint64_t mbps(Instant when) { return kbps(when) / 1'000; }

  std::unique_ptr<RateController> controller;
};

TEST(RateController, none_makes_no_controller) {
  EXPECT_EQ(make_controller({}, kLine), nullptr);
  EXPECT_EQ(controller_rows().front().name, "none");
  EXPECT_EQ(find_controller("dcqcn"), nullptr) << "the name of a family is none of a variant";
}

// 4096 bytes of payload and 74 of headers: 4170 x 8 / 50 Gb/s = 667.2 ns. Rounded up: 1 byte at 3 kb/s.
TEST(RateController, a_rate_gives_the_time_of_bytes) {
  EXPECT_EQ(Rate::of_mbps(50'000).time_for(4170), Duration(667'200));
  EXPECT_EQ(Rate{3}.time_for(1), Duration(2'666'666'667));
  EXPECT_EQ(Rate::of_line(byte_time_of(100'000'000'000)), kLine);
  EXPECT_EQ(Rate::of_line(ByteTime{440, 3}).mbps(), 54'545u) << "FDR 4x";
}

// 100000 x 1023 >> 11 = 49951 is taken.
TEST(DcqcnNv, the_first_full_cut_leaves_one_less_1023_2048ths) {
  ReactionPoint slow_alpha;
  slow_alpha.dce_tcp_rtt = std::chrono::milliseconds(1);
  Controlled nv("dcqcn-nv", slow_alpha);
  EXPECT_EQ(nv.mbps(at_ns(0)), 0u);
  nv.controller->on_notification(at_ns(0));
  EXPECT_EQ(nv.mbps(at_ns(1'000)), 0u) << "the first notification cuts nothing";
  nv.controller->on_notification(at_ns(1'000));
  EXPECT_EQ(nv.mbps(at_ns(4'000) - Duration(1)), 0u);
  EXPECT_EQ(nv.mbps(at_ns(4'000)), 50'049u);
}

// Alpha: 1018 at 1 us, 1013 + 5 at 2 us (marked at 1.5), 1013, 1008 at 4 us. 100000 x 1008 >> 11 = 49218.
// Increases every 300 us from the cut: fast recovery, then additive increases whose target the line caps.
TEST(DcqcnNv, alpha_decays_before_the_cut_and_the_rate_returns_by_halves) {
  Controlled nv("dcqcn-nv");
  nv.controller->on_notification(at_ns(0));
  nv.controller->on_notification(at_ns(1'500));
  EXPECT_EQ(nv.mbps(at_ns(4'000)), 50'782u);
  EXPECT_EQ(nv.mbps(at_ns(304'000) - Duration(1)), 50'782u);
  EXPECT_EQ(nv.mbps(at_ns(304'000)), 75'391u);
  EXPECT_EQ(nv.mbps(at_ns(604'000)), 87'695u);
  EXPECT_EQ(nv.mbps(at_ns(904'000)), 93'847u);
  EXPECT_EQ(nv.controller->next_increase(at_ns(904'000)), at_ns(1'204'000));
  EXPECT_EQ(nv.mbps(at_ns(100'000'000)), 0u) << "it has returned to the line's rate, and is not limited";
  EXPECT_EQ(nv.controller->next_increase(at_ns(100'000'000)), kNever);
}

// (1019/1024)^n is one half at n = 141.6; rounded down at each update it is after 126: 512 of 1024. A notification at 126.5 us:
// 514 at 127 us, 511 at 128 us, when the rate is cut by 100000 x 511 >> 11 = 24951.
TEST(DcqcnNv, alpha_halves_without_notifications) {
  Controlled nv("dcqcn-nv");
  nv.controller->on_notification(at_ns(0));
  nv.controller->on_notification(at_ns(126'500));
  EXPECT_EQ(nv.mbps(at_ns(128'000)), 75'049u);
}

// With rpg_gd 10 a cut would take almost everything: 50 % is the bound.
TEST(DcqcnNv, a_cut_leaves_at_least_rpg_min_dec_fac_percent_and_rpg_min_rate) {
  ReactionPoint hard;
  hard.dce_tcp_rtt = std::chrono::milliseconds(100);
  hard.rpg_gd = 10;
  hard.rpg_min_rate = 20'000'000'000;
  Controlled nv("dcqcn-nv", hard);
  nv.controller->on_notification(at_ns(0));
  nv.controller->on_notification(at_ns(1));
  EXPECT_EQ(nv.mbps(at_ns(4'000)), 50'000u);
  nv.controller->on_notification(at_ns(4'001));
  EXPECT_EQ(nv.mbps(at_ns(8'000)), 25'000u);
  nv.controller->on_notification(at_ns(8'001));
  EXPECT_EQ(nv.mbps(at_ns(12'000)), 20'000u);
}

// One increase by the timer at 304 us. The cut at 308 us (alpha 164 then: 75391 x 164 >> 11 = 6037) sets the target to 75391,
// to which the rate returns by half at 608 us.
TEST(DcqcnNv, a_cut_behind_an_increase_by_the_timer_sets_the_target) {
  for (const bool clamps : {true, false}) {
    ReactionPoint given;
    given.clamp_tgt_rate_after_time_inc = clamps;
    Controlled nv("dcqcn-nv", given);
    nv.controller->on_notification(at_ns(0));
    nv.controller->on_notification(at_ns(1'500));
    nv.controller->on_notification(at_ns(305'500));
    EXPECT_EQ(nv.mbps(at_ns(308'000)), 69'354u);
    EXPECT_EQ(nv.mbps(at_ns(608'000)), clamps ? 72'372u : 84'677u);
  }
}

// 32767 x 64 = 2097088 bytes.
TEST(DcqcnNv, bytes_raise_the_rate_as_the_timer_does) {
  Controlled nv("dcqcn-nv");
  nv.controller->on_notification(at_ns(0));
  nv.controller->on_notification(at_ns(1'500));
  nv.controller->on_sent(at_ns(5'000), 2'097'087);
  EXPECT_EQ(nv.mbps(at_ns(5'000)), 50'782u);
  nv.controller->on_sent(at_ns(6'000), 1);
  EXPECT_EQ(nv.mbps(at_ns(6'000)), 75'391u);
}

// Two increases of each kind are past the threshold of 1: the next adds rpg_hai_rate. The target is 10000 by the first
// notification.
TEST(DcqcnNv, past_the_threshold_of_both_counters_the_target_rises_by_the_hyper_step) {
  ReactionPoint given;
  given.rate_to_set_on_first_cnp = 10'000'000'000;
  given.dce_tcp_rtt = std::chrono::milliseconds(100);
  Controlled nv("dcqcn-nv", given);
  nv.controller->on_notification(at_ns(0));
  EXPECT_EQ(nv.mbps(at_ns(0)), 10'000u) << "rate_to_set_on_first_cnp";
  nv.controller->on_notification(at_ns(1));
  // 10000 - (10000 x 1023 >> 11) = 10000 - 4995.
  EXPECT_EQ(nv.mbps(at_ns(4'000)), 5'005u);
  const auto send = [&](std::int64_t ns) { nv.controller->on_sent(at_ns(ns), 2'097'088); };
  send(5'000);  // stages 0, 0: fast recovery
  EXPECT_EQ(nv.mbps(at_ns(5'000)), 7'502u);
  send(6'000);  // 0, 1: target 10005
  EXPECT_EQ(nv.mbps(at_ns(6'000)), 8'753u);
  EXPECT_EQ(nv.mbps(at_ns(304'000)), 9'381u) << "0, 2 by the timer: target 10010";
  EXPECT_EQ(nv.mbps(at_ns(604'000)), 9'698u) << "1, 2: target 10015";
  EXPECT_EQ(nv.mbps(at_ns(904'000)), 9'881u) << "2, 2: target 10065";
}

// 4 us and 1 ns behind the first notification, with alpha four updates of 255/256 below one: 16516604 / 2^24.
TEST(DcqcnNs3, the_first_cut_is_a_nanosecond_behind_the_first_period) {
  Controlled ns3("dcqcn-ns3");
  ns3.controller->on_notification(at_ns(0));
  EXPECT_EQ(ns3.kbps(at_ns(4'001) - Duration(1)), 0u);
  EXPECT_EQ(ns3.kbps(at_ns(4'001)), 50'776'685u);
  EXPECT_EQ(ns3.kbps(at_ns(304'001)), 75'388'342u) << "the timer began with the cut";
}

// Additive and hyper steps in proportion to the line rate: 20 and 200 Mb/s at 100 Gb/s; the timer alone
// reaches the hyper step.
TEST(DcqcnNs3, the_timer_alone_leads_to_the_hyper_step) {
  ReactionPoint given;
  given.rate_to_set_on_first_cnp = 10'000'000'000;
  Controlled ns3("dcqcn-ns3", given);
  ns3.controller->on_notification(at_ns(0));
  std::uint64_t rate = 10'000'000 - 10'000'000ull * 16'516'604 / (1 << 24) / 2, target = 10'000'000;
  std::int64_t when = 4'001;
  EXPECT_EQ(ns3.kbps(at_ns(when)), rate);
  for (const std::uint64_t step : {0, 20'000, 200'000, 200'000}) {
    target += step;
    rate = (rate + target) / 2;
    when += 300'000;
    EXPECT_EQ(ns3.kbps(at_ns(when)), rate);
  }
}

// 40 Gb/s. Alpha is one until a period of 55 us has none: 255/256 then, so the second cut takes 30 x 255/512 Gb/s.
TEST(DcqcnPaper, each_notification_cuts_at_once) {
  Controlled paper("dcqcn-paper", {}, Rate::of_mbps(40'000));
  paper.controller->on_notification(at_ns(0));
  EXPECT_EQ(paper.kbps(at_ns(0)), 20'000'000u);
  EXPECT_EQ(paper.kbps(at_ns(54'999)), 20'000'000u);
  EXPECT_EQ(paper.kbps(at_ns(55'000)), 30'000'000u) << "fast recovery, alpha 255/256";
  paper.controller->on_notification(at_ns(60'000));
  EXPECT_EQ(paper.kbps(at_ns(60'000)), 30'000'000u - 30'000'000u / 512 * 255 - 30'000'000u % 512 * 255 / 512);
}

// The target after the second notification is 30 Gb/s. Five increases of fast recovery but for the last, which counts as the
// fifth: 40 Mb/s more.
TEST(DcqcnPaper, the_fifth_increase_is_additive) {
  ReactionPoint given;
  given.dce_tcp_g = 1023;  // alpha hardly decays
  Controlled paper("dcqcn-paper", given, Rate::of_mbps(40'000));
  paper.controller->on_notification(at_ns(0));
  paper.controller->on_notification(at_ns(1));  // rate 10, target 20 Gb/s
  std::uint64_t rate = 10'000'000, target = 20'000'000;
  for (int stage = 1; stage <= 6; ++stage) {
    if (stage >= 5) target += 40'000;
    rate = (rate + target) / 2;
    EXPECT_EQ(paper.kbps(at_ns(1 + stage * 55'000)), rate) << stage;
  }
}

// --- skipping gives what stepping gives

// Every end of a period is an event: alpha, then the cut, then the increase. Written from the rules, not from the code.
class Stepped {
 public:
  enum Kind { kNv, kPaper, kNs3 };
  Stepped(Kind kind, const ReactionPoint& p, std::uint64_t line)
      : kind_(kind), p_(p), unit_(kind == kNv ? 1'000'000 : 1'000), line_(line), rate_(line), target_(line) {}

  void notify(std::int64_t now) {
    run(now);
    const bool is_first = !begun_;
    begun_ = true;
    if (is_first) {
      alpha_ = kind_ == kNv ? static_cast<std::uint64_t>(p_.initial_alpha_value) : one();
      if (kind_ != kPaper && p_.rate_to_set_on_first_cnp > 0) {
        rate_ = target_ = std::min<std::uint64_t>(static_cast<std::uint64_t>(p_.rate_to_set_on_first_cnp) / unit_, line_);
      }
      alpha_at_ = now + p_.dce_tcp_rtt.count();
      if (kind_ == kNv) cut_at_ = now + p_.rate_reduce_monitor_period.count(), restart(now);
      if (kind_ == kNs3) cut_at_ = now + 1'000 + p_.rate_reduce_monitor_period.count(), wants_cut_ = true;
    } else if (kind_ != kPaper) {
      marked_ = wants_cut_ = true;
    }
    if (kind_ == kPaper) {
      target_ = rate_;
      rate_ = std::max(rate_ - rate_ * alpha_ / one() / 2, std::min(floor(), rate_));
      update_alpha(true);
      alpha_at_ = now + p_.dce_tcp_rtt.count();
      restart(now);
    }
  }
  void send(std::int64_t now, std::uint64_t bytes) {
    run(now);
    if (!begun_ || p_.rpg_byte_reset == 0) return;
    for (sent_ += bytes; sent_ >= static_cast<std::uint64_t>(p_.rpg_byte_reset) * 64;) {
      sent_ -= static_cast<std::uint64_t>(p_.rpg_byte_reset) * 64;
      increase(byte_stage_);
    }
  }
  std::uint64_t kbps(std::int64_t now) {
    run(now);
    return !begun_ || rate_ + 1 >= line_ ? 0 : rate_ * unit_ / 1'000;
  }

 private:
  static constexpr std::int64_t kNone = INT64_MAX;
  std::uint64_t one() const { return kind_ == kNv ? 1024 : 1 << 24; }
  std::uint64_t floor() const { return static_cast<std::uint64_t>(p_.rpg_min_rate) / unit_; }
  void restart(std::int64_t now) {
    time_stage_ = byte_stage_ = sent_ = 0;
    increase_at_ = now + p_.rpg_time_reset.count();
  }
  void update_alpha(bool marked) {
    const auto g = static_cast<std::uint64_t>(p_.dce_tcp_g);
    alpha_ = alpha_ * g / 1024 + (marked ? one() / 1024 * (1024 - g) : 0);
    if (kind_ == kNv) alpha_ = std::min<std::uint64_t>(alpha_, 1023);
  }
  void increase(std::uint64_t& stage) {
    if (kind_ == kPaper) ++stage;
    const auto threshold = static_cast<std::uint64_t>(p_.rpg_threshold);
    const std::uint64_t low = std::min(time_stage_, byte_stage_), high = std::max(time_stage_, byte_stage_);
    const std::uint64_t ai = static_cast<std::uint64_t>(p_.rpg_ai_rate) / unit_;
    const std::uint64_t hai = static_cast<std::uint64_t>(p_.rpg_hai_rate) / unit_;
    std::uint64_t step = low > threshold ? hai * (kind_ == kPaper ? low - threshold : 1) : high >= threshold ? ai : 0;
    if (kind_ == kNs3) step = stage < threshold ? 0 : stage == threshold ? ai : hai;
    target_ = std::min(target_ + step, line_);
    rate_ = (rate_ + target_) / 2;
    if (kind_ != kPaper) ++stage;
  }
  void cut(std::int64_t when) {
    if (kind_ == kNv) {
      if (p_.clamp_tgt_rate || byte_stage_ > 0 || (p_.clamp_tgt_rate_after_time_inc && time_stage_ > 0)) target_ = rate_;
      const std::uint64_t least = rate_ - rate_ * static_cast<std::uint64_t>(100 - p_.rpg_min_dec_fac) / 100;
      rate_ = std::max({rate_ - (rate_ * alpha_ >> p_.rpg_gd), least, std::min(floor(), rate_)});
    } else {
      if (p_.clamp_tgt_rate || time_stage_ > 0) target_ = rate_;
      rate_ = std::max(rate_ - rate_ * alpha_ / one() / 2, std::min(floor(), rate_));
    }
    restart(when);
  }
  void run(std::int64_t now) {
    while (true) {
      const std::int64_t when = std::min({alpha_at_, cut_at_, increase_at_});
      if (when > now) return;
      if (alpha_at_ == when) {
        update_alpha(std::exchange(marked_, false));
        alpha_at_ += p_.dce_tcp_rtt.count();
      } else if (cut_at_ == when) {
        if (std::exchange(wants_cut_, false)) cut(when);
        cut_at_ += p_.rate_reduce_monitor_period.count();
      } else {
        increase(time_stage_);
        increase_at_ += p_.rpg_time_reset.count();
      }
    }
  }

  const Kind kind_;
  const ReactionPoint p_;
  const std::uint64_t unit_, line_;
  std::uint64_t rate_, target_, alpha_ = 0, time_stage_ = 0, byte_stage_ = 0, sent_ = 0;
  std::int64_t alpha_at_ = kNone, cut_at_ = kNone, increase_at_ = kNone;
  bool begun_ = false, marked_ = false, wants_cut_ = false;
};

TEST(RateController, skipped_periods_give_exactly_what_stepping_through_them_gives) {
  const std::pair<std::string, Stepped::Kind> kKinds[] = {
      {"dcqcn-nv", Stepped::kNv}, {"dcqcn-paper", Stepped::kPaper}, {"dcqcn-ns3", Stepped::kNs3}};
  for (const auto& [name, kind] : kKinds) {
    int limited = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Rng random(seed, name);
      const auto us = [&](std::uint64_t most) { return std::chrono::microseconds(1 + random.below(most)); };
      ReactionPoint given;
      if (random.chance(1, 2)) given.rpg_time_reset = us(400);
      if (random.chance(1, 2)) given.dce_tcp_rtt = us(8);
      if (random.chance(1, 2)) given.rate_reduce_monitor_period = us(20);
      if (random.chance(1, 2)) given.rpg_byte_reset = static_cast<std::int64_t>(random.below(2'000));
      if (random.chance(1, 2)) given.rpg_threshold = static_cast<std::int64_t>(1 + random.below(6));
      if (random.chance(1, 2)) given.rpg_ai_rate = static_cast<std::int64_t>(1 + random.below(500)) * 1'000'000;
      if (random.chance(1, 4)) given.rate_to_set_on_first_cnp = 30'000'000'000;
      given.clamp_tgt_rate = random.chance(1, 4);
      given.clamp_tgt_rate_after_time_inc = random.chance(1, 2);
      Controlled lazy(name, given);
      const ReactionPoint all = complete(given, find_controller(name)->defaults(kLine));
      Stepped stepped(kind, all, kind == Stepped::kNv ? kLine.mbps() : kLine.kbps);
      std::int64_t now = static_cast<std::int64_t>(random.below(1'000'000));
      for (int i = 0; i < 300; ++i) {
        // Often at a multiple of a microsecond behind the call before, where periods end.
        constexpr std::uint64_t kMost[] = {3'000'000, 20'000'000, 1'000'000'000, 20'000'000'000};
        const std::uint64_t most = kMost[random.below(4)];
        now += static_cast<std::int64_t>(random.chance(1, 3) ? random.below(most / 1'000'000) * 1'000'000 : random.below(most));
        const std::uint64_t what = random.below(3);
        const auto bytes = static_cast<std::uint32_t>(random.below(random.chance(1, 4) ? 4'000'000 : 4'300));
        if (what == 0) lazy.controller->on_notification(instant_from_ps(now)), stepped.notify(now);
        if (what == 1) lazy.controller->on_sent(instant_from_ps(now), bytes), stepped.send(now, bytes);
        const std::uint64_t expected = stepped.kbps(now);
        ASSERT_EQ(lazy.kbps(instant_from_ps(now)), expected) << name << ", seed " << seed << ", step " << i;
        limited += expected != 0;
      }
    }
    EXPECT_GT(limited, 2'000) << name << ": the rates that were compared are mostly below the line's";
  }
}

// The rate of an idle queue pair a simulated day later: no more steps than lead to the line's rate.
TEST(RateController, a_long_silence_is_skipped) {
  for (const char* const name : {"dcqcn-nv", "dcqcn-paper", "dcqcn-ns3"}) {
    Controlled one(name);
    one.controller->on_notification(at_ns(0));
    one.controller->on_notification(at_ns(10));
    const Instant next_day = instant_from_ps(86'400ll * 1'000'000'000'000);
    EXPECT_EQ(one.kbps(next_day), 0u) << name;
    EXPECT_EQ(one.controller->next_increase(next_day), kNever) << name;
  }
}

}  // namespace
}  // namespace verbatim::hca
