/// A policy that decides whether a thread polls for a while (spins) before it sleeps.
///
/// A sleeping thread lets its core become idle, and waking the core takes tens of microseconds.
/// That is several times the duration of a short request. A thread whose answer arrives within this
/// time receives it sooner by spinning.
///
/// The policy adapts. After an unsuccessful spin, the next wait sleeps immediately. After further
/// unsuccessful spins, the next two, four, and so on up to ``mostPaused`` waits do, until a spin
/// succeeds. A thread with long waits therefore spends very little time spinning, and a thread that
/// never waits spends none. On a single core the policy never spins, because the awaited event
/// could not happen in the meantime.
///
///     var policy = SpinPolicy(cores: ThisProcess.cores)
///     let budget = policy.budget                   // spin for this long, then sleep
///     policy.waited(nanoseconds: end - begin)
public struct SpinPolicy: Hashable, Sendable {
    /// The default limit of a spin: about the time to wake a core and receive a short answer.
    public static let longestNanoseconds: UInt64 = 50_000
    /// The largest number of waits between two spins that sleep immediately.
    public static let mostPaused = 64

    private let longest: UInt64
    /// The number of waits that sleep immediately after the last unsuccessful spin.
    private var pause = 0
    /// The number of waits that still have to sleep immediately.
    private var left = 0

    /// Creates a policy for a machine with the given number of cores.
    public init(longestNanoseconds: UInt64 = SpinPolicy.longestNanoseconds, cores: Int) {
        longest = cores > 1 ? longestNanoseconds : 0
    }

    /// The nanoseconds that the next wait spins before it sleeps; 0 if it does not spin.
    public var budget: UInt64 { left == 0 ? longest : 0 }

    /// Records the duration of a wait that began with ``budget``.
    ///
    /// Call it at the end of the wait, or when the wait exceeds the budget and sleeps.
    public mutating func waited(nanoseconds: UInt64) {
        guard longest > 0 else { return }
        if left > 0 {
            left -= 1
        } else if nanoseconds <= longest {
            pause = 0
        } else {
            pause = min(max(1, pause * 2), Self.mostPaused)
            left = pause
        }
    }
}
