import TestSupport

/// The events of a soak with their times, a pure function of seed, length and numbers of clients.
struct SoakPlan {
    enum Event: Hashable {
        /// The daemon is ended by a signal, and another one starts.
        case restart(isKilled: Bool)
        /// A client is killed, and another one replaces it; clients with number 0 live from
        /// beginning to end.
        case killSaver(Int)
        case killWatcher(Int)
        /// A watcher is stopped until the journal no longer has the history that it needs.
        case stop(watcher: Int)
        /// Store and journal are backed up, and the backup is checked.
        case backup
        /// Memory and descriptors are measured.
        case measure
    }

    /// The time between two measurements of memory and descriptors.
    static let measureMilliseconds: UInt64 = 2_000

    struct Step: Hashable {
        /// The milliseconds since the beginning.
        var at: UInt64
        var event: Event
    }

    /// The steps, sorted by time.
    let steps: [Step]
    let milliseconds: UInt64

    /// Creates a plan that does not restart the daemon in the second half, so that its growth
    /// shows.
    init(seed: UInt64, seconds: UInt64, savers: Int, watchers: Int) {
        milliseconds = seconds * 1_000
        var random = SplitMix64(seed: seed)
        var steps: [Step] = []
        var now: UInt64 = 2_000
        while now < milliseconds {
            let isCalm = now > milliseconds / 2
            let event = Self.event(isCalm, savers, watchers, &random)
            steps.append(Step(at: now, event: event))
            now += UInt64.random(in: 1_000...8_000, using: &random)
        }
        let interval = Self.measureMilliseconds
        for moment in stride(from: interval, to: milliseconds, by: Int(interval)) {
            steps.append(Step(at: moment, event: .measure))
        }
        for moment in stride(from: milliseconds / 16, to: milliseconds * 3 / 4, by: 90_000) {
            steps.append(Step(at: moment, event: .stop(watcher: watchers - 1)))
        }
        for moment in stride(from: 15_000, to: milliseconds, by: 40_000) {
            steps.append(Step(at: moment, event: .backup))
        }
        self.steps = steps.sorted { $0.at < $1.at }
    }

    private static func event(
        _ isCalm: Bool, _ savers: Int, _ watchers: Int, _ random: inout SplitMix64
    ) -> Event {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3 where !isCalm: .restart(isKilled: true)
        case 3..<5 where !isCalm: .restart(isKilled: false)
        case 5, 6: .killWatcher(.random(in: 1..<(watchers - 1), using: &random))
        default: .killSaver(.random(in: 1..<savers, using: &random))
        }
    }
}
