import TandemIO

/// The ticks of a time axis, with their labels.
///
/// Ticks are at round local times, computed with the UTC offset at the start of the axis. Their
/// spacing is constant, even if summer time begins or ends within the axis.
struct TimeTicks {
    /// A tick of the axis.
    struct Tick: Equatable {
        /// The time in microseconds since 1970.
        var time: Int64
        var label: String
        /// The day, if it differs from that of the previous tick.
        var day: String?
    }

    let from: Int64
    let to: Int64
    /// The maximum number of ticks.
    let most: Int
    let isUTC: Bool

    private static let second: Int64 = 1_000_000
    private static let day: Int64 = 86_400_000_000

    private static let steps: [Int64] =
        [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000]
        + [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600,
            43_200,
        ]
        .map { $0 * second }
        + [1, 2, 7, 14, 28, 91, 182, 364, 728, 1_820].map { $0 * day }

    /// The time between two ticks in microseconds.
    var step: Int64 {
        let span = max(1, to.subtractingReportingOverflow(from).partialValue)
        if let step = Self.steps.first(where: { span / $0 < Int64(most) }) { return step }
        var step = Self.day * 3_640
        while span / step >= Int64(most) { step *= 2 }
        return step
    }

    /// The ticks, oldest first.
    var ticks: [Tick] {
        let step = step
        let ahead =
            LocalTime(seconds: TimeGrid.floor(from, Self.second), isUTC: isUTC)
            .map { Int64($0.offsetSeconds) * Self.second } ?? 0
        var time = (TimeGrid.floor(from + ahead - 1, step) + 1) * step - ahead
        var (ticks, lastDay): ([Tick], String?) = ([], nil)
        while time <= to {
            let local = LocalTime(seconds: TimeGrid.floor(time, Self.second), isUTC: isUTC)
            let day = local.map { Self.dayText($0, isLong: step >= 91 * Self.day) }
            let isNew = day != lastDay && step < Self.day
            ticks.append(
                Tick(time: time, label: label(time, local, step), day: isNew ? day : nil))
            lastDay = day
            time += step
        }
        return ticks
    }

    private func label(_ time: Int64, _ local: LocalTime?, _ step: Int64) -> String {
        guard let local else { return "?" }
        if step >= Self.day { return Self.dayText(local, isLong: step >= 91 * Self.day) }
        let minutes = "\(Self.two(local.hour)):\(Self.two(local.minute))"
        if step >= 60 * Self.second { return minutes }
        let seconds = "\(minutes):\(Self.two(local.second))"
        if step >= Self.second { return seconds }
        let fraction = time - TimeGrid.floor(time, Self.second) * Self.second
        return seconds + "." + String(String(1_000 + fraction / 1_000).dropFirst())
    }

    private static func dayText(_ time: LocalTime, isLong: Bool) -> String {
        isLong
            ? "\(time.year)-\(two(time.month))-\(two(time.day))"
            : "\(WallClock.months[time.month - 1]) \(two(time.day))"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
