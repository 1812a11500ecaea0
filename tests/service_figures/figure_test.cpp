#include "bench/service/figure.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace cubind::bench {
namespace {

TEST(Figure, HoldsUpToAndIncludingItsBound) {
  Figure figure{"f", 2.0, Figure::Bound::at_most, 2, ""};
  EXPECT_TRUE(figure.holds());
  figure.value = 2.001;
  EXPECT_FALSE(figure.holds());
  figure.bound = Figure::Bound::at_least;
  EXPECT_TRUE(figure.holds());
  figure.bound = Figure::Bound::equal;
  EXPECT_FALSE(figure.holds());
  figure.value = std::nan("");
  figure.bound = Figure::Bound::at_most;
  EXPECT_FALSE(figure.holds());
}

TEST(Figure, BooleanHoldsIfItIsTrue) {
  EXPECT_TRUE((Figure{"f", true}.holds()));
  EXPECT_FALSE((Figure{"f", false}.holds()));
}

TEST(Figure, NeverHoldsIfItIsNotSound) {
  Figure figure{"f", 1.0, Figure::Bound::at_most, 2, "too few workers", false};
  EXPECT_FALSE(figure.holds());
}

TEST(Figure, IsOneLineOfJson) {
  EXPECT_EQ(to_json({"model.distinct_keys", 11.0, Figure::Bound::at_most, 12, "a \"detail\"\nin two lines"}),
            R"({"figure": "model.distinct_keys", "value": 11, "bound": "<= 12", "holds": true, )"
            R"("detail": "a \"detail\" in two lines"})");
  EXPECT_EQ(to_json({"start.hit", true, Figure::Bound::equal, 1, "d"}),
            R"({"figure": "start.hit", "value": true, "bound": "= true", "holds": true, "detail": "d"})");
}

TEST(Samples, PercentilesAreAmongTheValues) {
  Samples samples;
  for (const double value : {5.0, 1.0, 4.0, 2.0, 3.0}) samples.add(value);
  EXPECT_EQ(samples.median(), 3);
  EXPECT_EQ(samples.min(), 1);
  EXPECT_EQ(samples.percentile(1), 5);
  EXPECT_EQ(samples.text(1), "median 3.0, min 1.0, of 5.0 1.0 4.0 2.0 3.0");
}

}  // namespace
}  // namespace cubind::bench
