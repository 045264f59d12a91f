// Reproduces the trajectories of a reference folder, under combinations of policies in which every pair of choices
// occurs.
//
//   trajectory --reference DIR --ranks W [--policy NAME] [--mpi] [--micro-batches M]
//
// One JSON line for each case and combination, then 'N passed, M failed'. With --mpi it starts itself under mpirun.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "combination.hpp"

namespace trajectory {

std::vector<Combination>& combinations() {
  static std::vector<Combination> all;
  return all;
}

std::string Combination::name() const {
  return choices[0] + "," + choices[1] + "," + choices[2] + "," + choices[3] + "," + choices[4];
}

namespace {

struct Options {
  std::string reference = CLEAVE_REFERENCE_DIR;
  std::string policy;
  int ranks = 1;
  Index micro_batches = 1;
  bool mpi = false;
};

struct Count {
  int passed = 0;
  int failed = 0;
};

void print(Report const& report) {
  nlohmann::ordered_json const line{{"case", report.case_name},
                                    {"policy", report.policy},
                                    {"transport", report.transport},
                                    {"ranks", report.ranks},
                                    {"loss_error", report.differences.loss},
                                    {"gradient_norm_error", report.differences.norm},
                                    {"first_gradient_error", report.differences.first_gradient},
                                    {"weight_error", report.differences.weights},
                                    {"key_bias_error", report.differences.key_bias},
                                    {"passed", report.passed}};
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

/// Every pair of choices of two different questions occurs in some combination.
bool covers_every_pair(std::vector<Combination> const& all) {
  std::vector<std::set<std::string>> choices(5);
  std::set<std::pair<std::string, std::string>> pairs;
  for (Combination const& combination : all) {
    for (std::size_t a = 0; a != 5; ++a) {
      choices[a].insert(combination.choices[a]);
      for (std::size_t b = a + 1; b != 5; ++b) {
        pairs.insert({std::to_string(a) + combination.choices[a], std::to_string(b) + combination.choices[b]});
      }
    }
  }
  std::size_t expected = 0;
  for (std::size_t a = 0; a != 5; ++a) {
    for (std::size_t b = a + 1; b != 5; ++b) {
      expected += choices[a].size() * choices[b].size();
    }
  }
  return pairs.size() == expected;
}

/// Those that --policy names: all, one, or all that hold a choice of that name.
std::vector<Combination> chosen(Options const& options) {
  std::vector<Combination> all = combinations();
  std::ranges::sort(all, {}, &Combination::name);
  if (options.policy.empty()) {
    return all;
  }
  std::vector<Combination> some;
  std::ranges::copy_if(all, std::back_inserter(some), [&](Combination const& c) {
    return c.name() == options.policy || std::ranges::count(c.choices, options.policy) != 0;
  });
  if (some.empty()) {
    std::string names;
    for (Combination const& c : all) {
      names += "\n  " + c.name();
    }
    throw cleave::InvalidArgument(
        "expected --policy to be a combination or one of its choices, found '{}'; there are:{}", options.policy, names);
  }
  return some;
}

template <typename Communicator, typename Function>
void run_all(Communicator& world, Options const& options, std::string const& transport, Function function,
             Count& count) {
  Reference const reference = read_reference(options.reference);
  std::vector<Combination> const some = chosen(options);
  for (Combination const& combination : some) {
    for (Case const& c : reference.cases) {
      Report report = function(combination)(world, reference, c, options.micro_batches);
      report.case_name = c.name;
      report.policy = combination.name();
      report.transport = transport;
      report.ranks = world.size();
      ++(report.passed ? count.passed : count.failed);
      if (world.rank() == 0) {
        print(report);
      }
    }
  }
  if (options.policy.empty() && !covers_every_pair(some)) {
    ++count.failed;
  }
}

int conclude(Count const& count) {
  std::printf("%d passed, %d failed\n", count.passed, count.failed);
  return count.failed == 0 && count.passed != 0 ? 0 : 1;
}

int on_threads(Options const& options) {
  Count count;
  cleave::comm::Threads::run(options.ranks, [&](cleave::comm::Threads& world) {
    Count mine;
    run_all(world, options, "threads", [](Combination const& c) { return c.on_threads; }, mine);
    if (world.rank() == 0) {
      count = mine;
    }
  });
  return conclude(count);
}

#if defined(TRAJECTORY_MPI)
/// Starts this program under mpirun, unless it already is.
void restart_under_mpirun(Options const& options, int argc, char** argv) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    return;
  }
  std::string ranks = std::to_string(options.ranks);
  char const* front[] = {"mpirun", "-q", "--oversubscribe", "--bind-to", "none", "-n", ranks.c_str()};
  std::vector<char*> arguments;
  for (char const* argument : front) {
    arguments.push_back(const_cast<char*>(argument));
  }
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(nullptr);
  execvp("mpirun", arguments.data());
  throw cleave::Error("expected to start mpirun, found none; install openmpi-bin");
}

int on_mpi(Options const& options, int argc, char** argv) {
  restart_under_mpirun(options, argc, argv);
  cleave::comm::Mpi world(argc, argv);
  if (world.size() != options.ranks) {
    throw cleave::InvalidArgument("expected --ranks {} to be what mpirun started, found {}", options.ranks,
                                  world.size());
  }
  Count count;
  run_all(world, options, "mpi", [](Combination const& c) { return c.on_mpi; }, count);
  return world.rank() == 0 ? conclude(count) : count.failed == 0 ? 0 : 1;
}
#else
int on_mpi(Options const&, int, char**) {
  throw cleave::Error("expected a build with MPI, found one without; see -Dmpi");
}
#endif

Options parse(CLI::App& app, int argc, char** argv) {
  Options options;
  app.add_option("--reference", options.reference, "Folder that make_reference.py wrote")->capture_default_str();
  app.add_option("--ranks", options.ranks, "Ranks")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--policy", options.policy, "One combination, or every one with this choice");
  app.add_option("--micro-batches", options.micro_batches, "Parts of a rank's batch")->check(CLI::PositiveNumber);
  app.add_flag("--mpi", options.mpi, "Ranks are processes under mpirun, not threads");
  app.parse(argc, argv);
  return options;
}

} // namespace
} // namespace trajectory

int main(int argc, char** argv) {
  CLI::App app("Reproduces reference trajectories under combinations of policies");
  try {
    trajectory::Options const options = trajectory::parse(app, argc, argv);
    return options.mpi ? trajectory::on_mpi(options, argc, argv) : trajectory::on_threads(options);
  } catch (CLI::ParseError const& error) {
    return app.exit(error);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
