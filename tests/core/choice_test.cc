#include "sim/core/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace verbatim {
namespace {

const std::vector<std::string> kNames = {"hca/a", "hca/b"};
constexpr ComponentId kA{0}, kB{1};

std::vector<std::uint32_t> row(Choices& choices, std::string_view site, ComponentId actor,
                               std::uint32_t n = 5) {
  std::vector<std::uint32_t> answers;
  for (int i = 0; i < 200; ++i) answers.push_back(choices.choose(site, actor, n));
  return answers;
}

TEST(DefaultChoicesTest, everything_is_as_a_user_of_the_hardware_sees_it) {
  DefaultChoices choices;
  EXPECT_EQ(row(choices, "site", kA), std::vector<std::uint32_t>(200, 0));
}

TEST(SeededChoicesTest, the_same_seed_makes_the_same_choices_and_another_seed_others) {
  int same_as_next = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SeededChoices a(seed, kNames), b(seed, kNames), next(seed + 1, kNames);
    const auto answers = row(a, "site", kA);
    EXPECT_EQ(answers, row(b, "site", kA));
    same_as_next += answers == row(next, "site", kA) ? 1 : 0;
  }
  EXPECT_LT(same_as_next, 12) << "both without this freedom: 1 in 16 of them";
}

// A site, an actor and the number of the actor's previous choices at the site identify a choice.
TEST(SeededChoicesTest, what_others_choose_changes_nothing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SeededChoices alone(seed, kNames), among_others(seed, kNames);
    const auto answers = row(alone, "site", kA);
    std::vector<std::uint32_t> mixed;
    for (int i = 0; i < 200; ++i) {
      if (i % 3 == 0) among_others.choose("site", kB, 7);
      if (i % 5 == 0) among_others.choose("other", kA, 2);
      mixed.push_back(among_others.choose("site", kA, 5));
    }
    EXPECT_EQ(mixed, answers);
  }
}

// Another run of the same program may have another number of alternatives at the k-th choice.
TEST(SeededChoicesTest, a_choice_does_not_depend_on_how_many_answers_those_before_it_had) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SeededChoices few(seed, kNames), many(seed, kNames);
    for (int i = 0; i < 10; ++i) {
      few.choose("site", kA, 2);
      many.choose("site", kA, 1'000'000);
    }
    EXPECT_EQ(row(few, "site", kA), row(many, "site", kA));
  }
}

TEST(SeededChoicesTest, actors_and_sites_choose_independently) {
  SeededChoices choices(3, kNames);
  std::set<std::vector<std::uint32_t>> rows;
  for (const char* site : {"one", "two", "three", "four", "five", "six"}) {
    for (std::uint32_t actor = 0; actor < 5; ++actor) {  // two components and three threads
      const auto answers = row(choices, site, ComponentId{actor});
      if (answers == std::vector<std::uint32_t>(200, 0)) continue;
      EXPECT_TRUE(rows.insert(answers).second);
    }
  }
  EXPECT_GT(rows.size(), 10u);
}

TEST(SeededChoicesTest, every_answer_is_given_and_no_other) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SeededChoices choices(seed, kNames);
    for (const std::uint32_t answer : row(choices, "site", kA)) {
      EXPECT_LT(answer, 5u);
      seen.insert(answer);
    }
    EXPECT_EQ(row(choices, "alone", kA, 1), std::vector<std::uint32_t>(200, 0));
  }
  EXPECT_EQ(seen.size(), 5u);
}

// A freedom is unused with some seeds, used sometimes with others, and used whenever possible with the rest.
TEST(SeededChoicesTest, seeds_use_a_freedom_in_different_measure) {
  int none = 0, some = 0, most = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SeededChoices choices(seed, kNames);
    const auto answers = row(choices, "site", kA);
    const auto others = std::count_if(answers.begin(), answers.end(), [](std::uint32_t a) { return a != 0; });
    ++(others == 0 ? none : others < 120 ? some : most);
  }
  EXPECT_GT(none, 20);
  EXPECT_GT(some, 40);
  EXPECT_GT(most, 20);
}

// More streams than the cache has places, and every name at two addresses.
TEST(ChoiceStreamsTest, a_stream_is_that_of_its_name_and_actor_wherever_the_name_lies) {
  constexpr std::uint32_t kSites = 40, kActors = 10;
  std::vector<std::string> names, copies;
  for (std::uint32_t site = 0; site < kSites; ++site) names.push_back("site/" + std::to_string(site));
  copies = names;
  ChoiceStreams<std::uint32_t> streams;
  std::uint32_t made = 0;
  EXPECT_EQ(streams.find(names[0], kA), nullptr);
  for (int turn = 0; turn < 3; ++turn) {
    for (std::uint32_t site = 0; site < kSites; ++site) {
      for (std::uint32_t actor = 0; actor < kActors; ++actor) {
        for (const std::string* name : {&names[site], &copies[site]}) {
          const std::uint32_t expected = site * kActors + actor;
          EXPECT_EQ(streams.at(*name, ComponentId{actor}, [&] { return made++; }), expected);
          EXPECT_EQ(*streams.find(*name, ComponentId{actor}), expected);
        }
      }
    }
  }
  EXPECT_EQ(made, kSites * kActors);
  // A prefix of a name at the same address is another name.
  EXPECT_EQ(streams.at(std::string_view(names[0]).substr(0, 4), kA, [&] { return made++; }), kSites * kActors);
}

// least x 2^octave x (16 + step) / 16
TEST(DelaySiteTest, delays_are_steps_of_octaves_and_the_first_is_none) {
  constexpr DelaySite site{"site", Duration(1600), 3};
  EXPECT_EQ(site.delay(0), Duration(0));
  EXPECT_EQ(site.delay(1), Duration(1600));
  EXPECT_EQ(site.delay(2), Duration(1700));
  EXPECT_EQ(site.delay(16), Duration(3100));
  EXPECT_EQ(site.delay(17), Duration(3200));
  EXPECT_EQ(site.delay(48), Duration(1600 * 4 / 16 * 31)) << "the last of three octaves";
}

// Answers that are not rare are the same with and without rare ones.
TEST(SeededChoicesTest, rare_answers_are_given_by_some_seeds_and_seldom) {
  constexpr std::uint32_t kUsual = 145, kAll = 289, kAsked = 400;
  std::uint32_t seeds_with_rare = 0;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    SeededChoices usual(seed, {"a"}), all(seed, {"a"});
    std::uint32_t rare = 0, others = 0;
    for (std::uint32_t i = 0; i < kAsked; ++i) {
      const std::uint32_t expected = usual.choose("site", ComponentId{0}, kUsual);
      const std::uint32_t answer = all.choose_with_rare("site", ComponentId{0}, kAll, kUsual);
      ASSERT_LT(answer, kAll);
      EXPECT_TRUE(answer >= kUsual || answer == expected);
      others += expected != 0 ? 1 : 0;
      rare += answer >= kUsual ? 1 : 0;
    }
    EXPECT_LE(rare, others / 8);
    seeds_with_rare += rare > 0 ? 1 : 0;
  }
  EXPECT_GT(seeds_with_rare, 12u);
  EXPECT_LT(seeds_with_rare, 40u);
}

class LastAnswer final : public Choices {
  std::uint32_t draw(std::string_view, ComponentId, std::uint32_t n) override { return n - 1; }
};

TEST(DelaySiteTest, an_actor_has_only_a_few_rare_delays) {
  constexpr DelaySite site{"site", Duration(1600), 12, 9};
  LastAnswer last;
  RareDelays rare;
  const auto chosen = [&] { return rare.choose(site, last, ComponentId{0}); };
  for (std::uint32_t i = 0; i < RareDelays::kMost; ++i) EXPECT_EQ(chosen(), site.delay(site.alternatives() - 1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(chosen(), Duration(1600 * 4 / 16 * 31)) << "of the first three octaves";
}

}  // namespace
}  // namespace verbatim
