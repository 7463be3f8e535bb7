/// The rule by which a test is ended: it counts the test's own progress and not the machine's.
///
/// On a busy machine a test may take ten times as long, but it still uses processor time or waits for
/// the disk. A test is ended if its processes do neither for a while (they wait for something that
/// does not come), or if they use much more processor time than any test needs (they do not end).
struct ProgressWatch {
    struct Limits {
        /// The seconds without progress after which a test has stalled.
        var idleSeconds = 60.0
        /// The seconds of processor time that one test or one case of it may use.
        var processorSeconds = 400.0
        /// The share of one core below which a process counts as idle.
        var idleShare = 0.02
    }

    /// The state of a process and its children at one moment.
    struct Sample {
        /// The moment, in seconds.
        var time: Double
        /// The number of test events so far.
        var eventCount: Int
        /// The processor time so far, in seconds.
        var processorSeconds: Double
        /// One of its threads waits for the disk.
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

    /// Takes the next sample; returns a verdict if the test is to be ended.
    mutating func observe(_ sample: Sample) -> Verdict? {
        let elapsed = sample.time - last.time
        // The sum falls when a process ends whose parent does not wait for it.
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
