#include "base/result.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace cubind {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::invalid_argument, "value \"" + std::to_string(value) + "\" is odd"};
  return value / 2;
}

Result<int> quarter(int value) {
  CUBIND_TRY(const int once, half(value));
  CUBIND_TRY(const int twice, half(once));
  return twice;
}

TEST(Result, TryPassesTheErrorOn) {
  EXPECT_EQ(*quarter(8), 2);
  ASSERT_FALSE(quarter(6).ok());
  EXPECT_EQ(to_string(quarter(6).error()), "invalid_argument: value \"3\" is odd");
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  auto taken = std::move(result).value();
  EXPECT_EQ(*taken, 3);
}

}  // namespace
}  // namespace cubind
