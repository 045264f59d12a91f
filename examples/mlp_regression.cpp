// Fits y = sin(3 x) with a small network, fully sharded over four ranks that are threads of this process.

#include <cmath>
#include <cstdio>
#include <vector>

// readme: begin
#include <cleave/cleave.hpp>
using namespace cleave;
using Model =
    ShardedModule<Linear<1, 64>, Tanh, Linear<64, 64>, Tanh, Linear<64, 1>, MeanSquaredError<1>, comm::Threads>;

double fit(comm::Threads& world, std::vector<float> const& x, std::vector<float> const& y) {
  Model model(world, {.batch = 32, .seed = 1});
  optim::AdamW adam(model, {.learning_rate = 1e-2});
  for (int step = 0; step != 300; ++step) {
    auto const loss = model.loss(x, y);
    model.backward(loss);
    adam.step();
  }
  return model.evaluate(x, y).mean();
}
// readme: end

int main() {
  double first = 0;
  comm::Threads::run(4, [&](comm::Threads& world) {
    std::vector<float> x(32), y(32);
    for (int i = 0; i != 32; ++i) { // each rank holds its own quarter of [-1, 1]
      x[static_cast<std::size_t>(i)] = static_cast<float>(world.rank() * 32 + i - 64) / 64;
      y[static_cast<std::size_t>(i)] = std::sin(3 * x[static_cast<std::size_t>(i)]);
    }
    double const loss = fit(world, x, y);
    if (world.rank() == 0) {
      std::printf("mean squared error %.6f\n", first = loss);
    }
  });
  return first < 1e-3 ? 0 : 1;
}
