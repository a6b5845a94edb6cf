#include "service/asker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "store/embedded_store.hpp"

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;

struct AskerWorld {
  std::chrono::nanoseconds now = 1000s;
  store::EmbeddedStore embedded{std::size_t{1} << 20, WhenFull::deny, {1, 2}};
  Service service{{.clock = [this] { return now; }}, embedded.table()};
  Asker asker{service, embedded};
};

// The terms of a charge lie in memory that a question may give up when it is put back.
TEST(Asker, a_question_that_is_used_again_views_nothing_that_is_gone) {
  AskerWorld world;
  std::vector<std::unique_ptr<Question>> charged;
  // More than keep what they had.
  for (std::size_t i = 0; i < 40; ++i) {
    world.asker.begin_rules(1);
    ASSERT_TRUE(world.asker.add_rule("key", "1/s", Cost{1}));
    ASSERT_NE(world.asker.add({.verb = store::Verb::charge}), nullptr);
    charged.push_back(world.asker.take_out(0));
    ASSERT_NE(charged.back()->charge, nullptr);
    world.asker.clear();
  }
  for (auto& each : charged) world.asker.put_back(std::move(each));
  std::size_t bare = 0;
  for (auto& each : charged) {
    world.asker.begin_rules(1);
    ASSERT_TRUE(world.asker.add_rule("key", "1/s", Cost{1}));
    const Question* const question = world.asker.add({});
    ASSERT_NE(question, nullptr);
    if (!question->more) {
      ++bare;
      EXPECT_EQ(question->charge, nullptr);
    }
    each = world.asker.take_out(0);
    world.asker.clear();
  }
  EXPECT_GT(bare, 0U);
}

}  // namespace
}  // namespace weir::service
