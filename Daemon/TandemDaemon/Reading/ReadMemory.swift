import Synchronization

/// The approximate memory in bytes of all reads that run, together.
final class ReadMemory: Sendable {
    private let total = Atomic<Int>(0)

    /// Records that the memory of one read changed; returns the memory of all.
    func change(from before: Int, to now: Int) -> Int {
        total.add(now - before, ordering: .relaxed).newValue
    }

    var bytes: Int { total.load(ordering: .relaxed) }
}
