// GPT-2 124M, 4 sequences of 256 tokens: how close a training step comes to the matrix products that it cannot avoid.
//
//   mpirun -q -n 2 build/benchmarks/step [steps]
//
// Each rank measures the rate of the model's own matrix products, on one core and while the other ranks measure too,
// then trains. Both are measured in one run, so their ratio means something on a shared machine.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <cleave/cleave.hpp>
#include <cleave/comm/launch.hpp>
#include <cleave/comm/mpi.hpp>

namespace {

using namespace cleave;
using Clock = std::chrono::steady_clock;

constexpr models::gpt::Config gpt2{.vocabulary = 50257, .context = 256, .layers = 12, .width = 768, .heads = 12};
using Model = ShardedModule<models::gpt::Gpt<gpt2>, sharding::Full, comm::Mpi>;
constexpr Index global_batch = 4;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Product {
  Index rows, inner, columns;
  double times; // in a step

  [[nodiscard]] double operations() const { return 2.0 * static_cast<double>(rows * inner * columns) * times; }
};

/// The products of one step on one rank: each of a Linear, then its two gradients.
std::vector<Product> products(Index rows) {
  constexpr Index w = gpt2.width;
  std::vector<Product> all;
  auto const linear = [&](Index in, Index out, double times) {
    all.insert(all.end(), {{rows, in, out, times}, {in, rows, out, times}, {rows, out, in, times}});
  };
  linear(w, 3 * w, gpt2.layers);
  linear(w, w, gpt2.layers);
  linear(w, 4 * w, gpt2.layers);
  linear(4 * w, w, gpt2.layers);
  linear(w, gpt2.vocabulary, 1);
  return all;
}

/// Operations a second over all products of a step, each timed on its own.
double product_rate(Index rows, int threads) {
  device::Cpu::Stream stream({threads});
  std::vector<float> a(60'000'000, 0.5F), b(60'000'000, 0.25F), c(60'000'000);
  double operations = 0;
  double seconds = 0;
  for (Product const& p : products(rows)) {
    Matrix<float> const y(c.data(), p.rows, p.columns);
    Matrix<float const> const left(a.data(), p.rows, p.inner);
    Matrix<float const> const right(b.data(), p.inner, p.columns);
    stream.run(op::MatMul{}, y, left, right, Vector<float const>{});
    double best = 1e300;
    for (int repeat = 0; repeat != 3; ++repeat) {
      auto const start = Clock::now();
      stream.run(op::MatMul{}, y, left, right, Vector<float const>{});
      best = std::min(best, seconds_since(start));
    }
    operations += p.operations();
    seconds += best * p.times;
  }
  return operations / seconds;
}

int run(comm::Mpi& world, int steps) {
  Index const batch = global_batch / world.size();
  Index const rows = batch * gpt2.context;
  world.barrier();
  double const rate = product_rate(rows, 1) * world.size();
  Model model(world, {.batch = batch, .sequence = gpt2.context, .seed = 1, .threads = 1});
  optim::AdamW adam(model);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows));
  std::ranges::generate(tokens, [i = world.rank()]() mutable { return (i = (i * 31 + 7) % gpt2.vocabulary); });
  double best = 1e300;
  for (int step = 0; step != steps + 1; ++step) {
    world.barrier();
    auto const start = Clock::now();
    model.backward(model.loss(tokens, tokens));
    optim::clip_gradient_norm(model, 1.0);
    adam.step();
    world.barrier();
    best = step == 0 ? best : std::min(best, seconds_since(start)); // the first step touches the memory
  }
  double operations = 0;
  for (Product const& p : products(rows)) {
    operations += p.operations();
  }
  double const reached = operations * world.size() / best;
  MemoryPlan const plan = memory_plan<Model>({world.size(), batch, gpt2.context, 1});
  if (world.rank() == 0) {
    std::printf("GPT-2 124M, %td x %d tokens, %d ranks of one core, full sharding, AdamW\n\n", global_batch,
                gpt2.context, world.size());
    std::printf("  step                          %8.2f s\n", best);
    std::printf("  tokens a second               %8.0f\n", static_cast<double>(global_batch * gpt2.context) / best);
    std::printf("  the step's matrix products    %8.1f GFLOP/s\n", reached * 1e-9);
    std::printf("  matrix products alone         %8.1f GFLOP/s\n", rate * 1e-9);
    std::printf("  ratio                         %8.3f\n", reached / rate);
    std::printf("  peak resident memory          %8s a rank\n",
                observe::format_bytes(observe::process_memory().peak_resident).c_str());
    std::printf("  memory plan                   %8s a rank\n", observe::format_bytes(plan.peak()).c_str());
    nlohmann::ordered_json const line{
        {"benchmark", "step"},       {"ranks", world.size()},
        {"seconds", best},           {"product_rate", rate},
        {"step_rate", reached},      {"ratio", reached / rate},
        {"plan_bytes", plan.peak()}, {"peak_resident", observe::process_memory().peak_resident}};
    std::printf("\n%s\n", line.dump().c_str());
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  return comm::launch<comm::Mpi>(argc, argv,
                                 [&](comm::Mpi& world) { return run(world, argc > 1 ? std::atoi(argv[1]) : 5); });
}
