#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#if DOCTEST_VERSION < 20409
#error "doctest 2.4.9 or later is needed"
#endif

namespace {
unsigned cases_run = 0;

struct CountCases : doctest::IReporter {
  explicit CountCases(doctest::ContextOptions const&) {}
  void report_query(doctest::QueryData const&) override {}
  void test_run_start() override {}
  void test_run_end(doctest::TestRunStats const& stats) override { cases_run = stats.numTestCasesPassingFilters; }
  void test_case_start(doctest::TestCaseData const&) override {}
  void test_case_reenter(doctest::TestCaseData const&) override {}
  void test_case_end(doctest::CurrentTestCaseStats const&) override {}
  void test_case_exception(doctest::TestCaseException const&) override {}
  void subcase_start(doctest::SubcaseSignature const&) override {}
  void subcase_end() override {}
  void log_assert(doctest::AssertData const&) override {}
  void log_message(doctest::MessageData const&) override {}
  void test_case_skipped(doctest::TestCaseData const&) override {}
};
REGISTER_LISTENER("count_cases", 1, CountCases);
} // namespace

// A filter that matches no case must not pass for a success.
int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  int const status = context.run();
  return status == 0 && cases_run == 0 && !context.shouldExit() ? 1 : status;
}
