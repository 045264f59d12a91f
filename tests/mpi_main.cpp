#define DOCTEST_CONFIG_IMPLEMENT
#include <boost/mpi/environment.hpp>
#include <doctest/doctest.h>

// Every rank runs every case; a failure on any rank fails the run, because mpirun returns it.
int main(int argc, char** argv) {
  boost::mpi::environment const environment(argc, argv, boost::mpi::threading::serialized);
  return doctest::Context(argc, argv).run();
}
