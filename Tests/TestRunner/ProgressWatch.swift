/// The rule that decides when to end a test, by the test's own progress and not by elapsed time.
///
/// On a busy machine a test may take ten times as long, but it still uses processor time or waits
/// for the disk. A test is ended if its processes do neither for a while: they wait for an event
/// that never happens. It is also ended if they use much more processor time than any test needs.
struct ProgressWatch {
    struct Limits {
        /// The seconds without progress after which a test has stalled.
        var idleSeconds = 60.0
        /// The processor time that one test, or one case of it, may use, in seconds.
        var processorSeconds = 400.0
        /// The share of one core below which a process counts as idle.
        var idleShare = 0.02
        /// The seconds between two samples.
        var sampleSeconds = 2.0
    }

    /// The state of a process and its children at one moment.
    struct Sample {
        /// The moment, in seconds.
        var time: Double
        /// The number of test events so far.
        var eventCount: Int
        /// The processor time so far, in seconds.
        var processorSeconds: Double
        /// Whether one of its threads waits for the disk.
        var isWaitingForDisk: Bool
    }

    enum Verdict: Equatable {
        case stalled(seconds: Double)
        case runaway(processorSeconds: Double)
    }

    private let limits: Limits
    private var last: Sample
    private var idleSeconds = 0.0
    private var processorSeconds = 0.0

    init(_ limits: Limits, start: Sample) {
        self.limits = limits
        last = start
    }

    /// Evaluates the next sample; returns a verdict if the test must be ended.
    mutating func observe(_ sample: Sample) -> Verdict? {
        let elapsed = sample.time - last.time
        // The sum drops when a process ends whose parent does not wait for it.
        let used = max(0, sample.processorSeconds - last.processorSeconds)
        let isIdle =
            used < elapsed * limits.idleShare && !sample.isWaitingForDisk
            && sample.processorSeconds >= last.processorSeconds
        if sample.eventCount != last.eventCount {
            (idleSeconds, processorSeconds) = (0, 0)
        } else {
            idleSeconds = isIdle ? idleSeconds + elapsed : 0
            processorSeconds += used
        }
        last = sample
        if idleSeconds >= limits.idleSeconds { return .stalled(seconds: idleSeconds) }
        if processorSeconds >= limits.processorSeconds {
            return .runaway(processorSeconds: processorSeconds)
        }
        return nil
    }
}
