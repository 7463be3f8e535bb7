import TandemIO
import Testing

/// Times of the wall clock; other zones are tested in ProcessTests, where a process has its own
/// `TZ`.
@Suite(.ownThread) struct LocalTimeTests {
    @Test func `UTC is converted in both directions`() throws {
        let time = try #require(LocalTime(seconds: 1_792_888_200, isUTC: true))
        #expect((time.year, time.month, time.day) == (2026, 10, 25))
        #expect((time.hour, time.minute, time.second) == (0, 30, 0))
        #expect(time.weekday == 0 && time.offsetSeconds == 0 && time.zone == "UTC")
        #expect(
            LocalTime.seconds(year: 2026, month: 10, day: 25, minute: 30, isUTC: true)
                == 1_792_888_200)
    }

    @Test func `days beyond the month roll over`() {
        #expect(
            LocalTime.seconds(year: 2026, month: 2, day: 29, isUTC: true)
                == LocalTime.seconds(year: 2026, month: 3, day: 1, isUTC: true))
        #expect(
            LocalTime.seconds(year: 2026, month: 1, day: 0, isUTC: true)
                == LocalTime.seconds(year: 2025, month: 12, day: 31, isUTC: true))
    }

    @Test func `the machine's zone is converted in both directions`() throws {
        for seconds in stride(from: Int64(1_790_000_000), to: 1_800_000_000, by: 86_400 * 7) {
            let time = try #require(LocalTime(seconds: seconds))
            let back = LocalTime.seconds(
                year: time.year, month: time.month, day: time.day, hour: time.hour,
                minute: time.minute, second: time.second)
            // If an hour occurs twice, the first one is returned.
            #expect(back == seconds || back == seconds - 3_600)
        }
    }
}
