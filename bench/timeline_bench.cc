// Measures the cost of a span without a timeline, with a timeline, and with a timeline that
// records.
#include <benchmark/benchmark.h>

#include "base/timeline.h"

namespace tandem {
namespace {

void SpanWithoutATrack(benchmark::State& state) {
  for (auto _ : state) {
    const Span span(Activity::kForward);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(SpanWithoutATrack);

void SpanOnATrack(benchmark::State& state) {
  Timeline timeline;
  const Attach attach(timeline.NamedTrack("main"));
  for (auto _ : state) {
    const Span span(Activity::kForward);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(SpanOnATrack);

void SpanThatIsRecorded(benchmark::State& state) {
  Timeline timeline;
  timeline.Record(true);
  const Attach attach(timeline.NamedTrack("main"));
  for (auto _ : state) {
    const Span span(Activity::kForward);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(SpanThatIsRecorded)->Iterations(1'000'000);

void SectionThatIsNotRecorded(benchmark::State& state) {
  Timeline timeline;
  const Attach attach(timeline.NamedTrack("main"));
  for (auto _ : state) {
    const Section section("update", 1);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(SectionThatIsNotRecorded);

}  // namespace
}  // namespace tandem
