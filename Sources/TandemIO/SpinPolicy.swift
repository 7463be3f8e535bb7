/// Whether a thread, before it goes to sleep for what it waits for, looks for a while again and again whether that is there.
///
/// A thread that sleeps lets its core go idle, and to wake that takes tens of microseconds, several times what a small question
/// takes to be answered. Who waits for something that comes within that time gets it sooner by looking (to spin). It is tried, and what
/// came of it decides: after a look in vain the next wait sleeps at once, then the next two, four, up to
/// ``mostPaused``, until one succeeds. So a thread that waits long each time spends next to nothing on it, and one that
/// doesn't wait spends nothing. With one core, where what is waited for could not happen meanwhile, it never spins.
///
///     var policy = SpinPolicy(cores: ThisProcess.cores)
///     let budget = policy.budget                   // look for so long, then sleep
///     policy.waited(nanoseconds: end - begin)
public struct SpinPolicy: Hashable, Sendable {
    /// The longest that is looked for, unless it is said otherwise: about what it takes to wake a core, and a short answer.
    public static let longestNanoseconds: UInt64 = 50_000
    /// At most so many waits sleep at once between two that spin.
    public static let mostPaused = 64

    private let longest: UInt64
    /// How many waits sleep at once after the last look in vain.
    private var pause = 0
    /// How many of them are left.
    private var left = 0

    /// A policy for a machine with so many cores.
    public init(longestNanoseconds: UInt64 = SpinPolicy.longestNanoseconds, cores: Int) {
        longest = cores > 1 ? longestNanoseconds : 0
    }

    /// For how many nanoseconds the next wait looks before it sleeps; 0 for not at all.
    public var budget: UInt64 { left == 0 ? longest : 0 }

    /// Notes how long a wait was that began with ``budget``, or that it has lasted longer than that and sleeps now.
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
