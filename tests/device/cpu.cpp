#include <cleave/device/cpu.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "../support/counting_malloc.hpp"
#include "../support/tensors.hpp"

namespace cleave::testing {
namespace {

using device::Cpu;

struct Delivery {
  int* arrived;
  void wait() { ++*arrived; }
  bool test() { return false; }
};

/// Every operation once, on the types of one precision.
template <typename T>
class AllOperations {
public:
  using A = accumulator_t<T>;

  AllOperations() {
    for (Index i = 0; i != rows; ++i) {
      tokens_.push_back(static_cast<std::int32_t>(i % width));
    }
  }

  /// A digest of all that was written after each operation.
  std::uint64_t run(Cpu::Stream& stream) {
    std::uint64_t digest = 14695981039346656037U; // FNV-1a
    auto const add = [&](auto const& tensor) {
      auto const* const bytes = reinterpret_cast<unsigned char const*>(tensor.storage().data());
      for (std::size_t i = 0; i != tensor.storage().size() * sizeof(tensor.storage()[0]); ++i) {
        digest = (digest ^ bytes[i]) * 1099511628211U;
      }
    };
    run_each([&](auto const& operation, auto... views) {
      stream.run(operation, views...);
      add(y_);
      add(gradients_);
      add(sums_);
    });
    add(dqkv_);
    add(row_sums_);
    add(log_sum_);
    return digest ^ std::bit_cast<std::uint64_t>(total_);
  }

private:
  static constexpr Index rows = 512; // enough work for two threads
  static constexpr Index width = 128;

  template <typename Run>
  void run_each(Run const& run) {
    auto const x = x_.view();
    auto const y = y_.view();
    Matrix<T> const y_turned{y.data, width, rows};
    Matrix<A> const square{gradients_.view().data, width, width};
    auto const vector = vector_.vector();
    auto const mean = row_sums_.view().row(0);
    auto const rstd = row_sums_.view().row(1);
    auto const dgain = gradients_.view().row(0);
    auto const dbias = gradients_.view().row(1);
    Tokens const tokens{tokens_.data(), rows};
    run(op::MatMul{}, y, x, weights_.view(), vector);
    run(op::MatMul{false, true}, y, x, weights_.view(), vector);
    run(op::MatMul{true, false, true}, square, x, y, Vector<T>{});
    run(op::MatMul{true, true, true}, square, x, y_turned, Vector<T>{});
    run(op::ColumnSums{}, dgain, x);
    run(op::Add{}, y, x, y);
    run(op::Copy{}, y, x);
    run(op::Cast{}, sums_.vector(), x_.vector());
    run(op::Fill{1}, sums_.vector());
    run(op::Initialise{1, 0, 1, 1.0}, y_.vector());
    run(op::LayerNorm{}, y, mean, rstd, x, vector, vector);
    run(op::LayerNormGradient{}, y, dgain, dbias, y, x, mean, rstd, vector);
    run(op::Activation<op::Elementwise::gelu_tanh>{}, y, x);
    run(op::ActivationGradient<op::Elementwise::gelu_tanh>{}, y, y, x);
    run(op::Dropout{1, 0.5, 0}, y, x);
    run(op::Embedding{}, y, weights_.view(), tokens);
    run(op::EmbeddingGradient{}, gradients_.view(), x, tokens);
    run(op::AddPositions{64}, y, x, weights_.view());
    run(op::AddPositionsGradient{64}, gradients_.view(), x);
    run(op::CausalAttention{64, 4}, y, log_sum_.view(), qkv_.view());
    run(op::CausalAttentionGradient{64, 4}, dqkv_.view(), x, y, log_sum_.view(), qkv_.view());
    run(op::SquaredError{}, &total_, y, x, y);
    run(op::CrossEntropy{true, 1}, &total_, y, tokens);
    run(op::SquareSum{}, &total_, x_.vector());
    run(op::Fill{0.5}, first_.vector());
    run(op::Fill{0.5}, second_.vector());
    run(op::AdamW{}, sums_.vector(), first_.vector(), second_.vector(), gradients_.vector());
    run(op::Sgd{0.01, 0.9, true, 0.1, 1, 2}, sums_.vector(), first_.vector(), gradients_.vector());
  }

  std::mt19937 engine_{81};
  Tensor<T> x_ = random_tensor<T>(engine_, rows, width);
  Tensor<T> y_ = random_tensor<T>(engine_, rows, width);
  Tensor<T> weights_ = random_tensor<T>(engine_, width, width);
  Tensor<T> qkv_ = random_tensor<T>(engine_, rows, 3 * width);
  Tensor<T> vector_ = random_tensor<T>(engine_, 1, width);
  Tensor<A> gradients_ = random_tensor<A>(engine_, rows, width);
  Tensor<T> dqkv_{rows, 3 * width};
  Tensor<A> sums_{1, rows* width};
  Tensor<A> first_{1, rows* width};
  Tensor<A> second_{1, rows* width};
  Tensor<A> row_sums_{2, rows};
  Tensor<A> log_sum_{rows, 4};
  std::vector<std::int32_t> tokens_;
  double total_ = 0;
};

} // namespace

TEST_CASE("memory is aligned, of the size asked for, and moves") {
  for (Index bytes : {0, 1, 64, 1000, 5000000}) {
    Cpu::Memory memory(bytes);
    CHECK_EQ(memory.size(), bytes);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0);
    CHECK_EQ(memory.data() == nullptr, bytes == 0);
    std::byte* const data = memory.data();
    Cpu::Memory moved = std::move(memory);
    CHECK_EQ(moved.data(), data);
    Cpu::Memory other(8);
    other = std::move(moved);
    CHECK_EQ(other.data(), data);
    CHECK_EQ(other.size(), bytes);
    if (bytes > 0) {
      std::memset(other.data(), 1, static_cast<std::size_t>(bytes)); // all of it is ours
    }
  }
}

TEST_CASE("copies go to the host and back") {
  Cpu::Stream stream;
  std::vector<std::byte> const from{std::byte{1}, std::byte{2}, std::byte{3}};
  Cpu::Memory const memory(3);
  std::vector<std::byte> to(3);
  stream.from_host(memory.data(), from.data(), 3);
  stream.to_host(to.data(), memory.data(), 3);
  CHECK(to == from);
  stream.to_host(nullptr, nullptr, 0);
}

TEST_CASE("a transfer waits once, and when it is given up") {
  Cpu::Stream stream;
  int arrived = 0;
  auto transfer = stream.start([&] { return Delivery{&arrived}; });
  CHECK_FALSE(transfer.test());
  auto moved = std::move(transfer);
  moved.finish(stream);
  moved.finish(stream);
  CHECK_EQ(arrived, 1);
  CHECK(moved.test());
  Cpu::Transfer<Delivery> nothing;
  nothing.finish(stream);
  CHECK(nothing.test());
  CHECK_EQ(arrived, 1);
}

TEST_CASE("a stream allocates its workspace once, and operations allocate nothing") {
  if constexpr (counts_allocations) {
    AllOperations<float> single;
    AllOperations<double> full;
    AllOperations<bfloat16> half;
    for (int threads : {1, 2}) {
      CHECK_EQ(allocations_of([&] { Cpu::Stream const unused({.threads = threads}); }), 1);
      Cpu::Stream stream({.threads = threads});
      auto const all = [&] {
        single.run(stream);
        full.run(stream);
        half.run(stream);
      };
      all(); // the first call starts OpenMP's threads
      CHECK_EQ(allocations_of(all), 0);
    }
  }
}

TEST_CASE_TEMPLATE("no operation's result depends on the number of threads", T, float, double, bfloat16) {
  std::vector<std::uint64_t> digests;
  for (int threads : {1, 2, 3, 8}) {
    Cpu::Stream stream({.threads = threads});
    AllOperations<T> operations;
    digests.push_back(operations.run(stream));
    CHECK_EQ(digests.back(), digests.front());
  }
}

TEST_CASE("the workspace is what it says, and grows with the threads") {
  CHECK_EQ(Cpu::Stream::workspace_bytes({.threads = 1}), detail::cpu::Workspace::bytes(1));
  CHECK_GT(Cpu::Stream::workspace_bytes({.threads = 2}), Cpu::Stream::workspace_bytes({.threads = 1}));
  static_assert(Cpu::Stream::workspace_bytes({.threads = 1}) < 4 * 1024 * 1024);
}

} // namespace cleave::testing
