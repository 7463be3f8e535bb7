import Synchronization

/// The approximate memory of all running reads together, in bytes.
final class ReadMemory: Sendable {
    private let total = Atomic<Int>(0)

    /// Records a change of one read's memory; returns the memory of all reads.
    func change(from before: Int, to now: Int) -> Int {
        total.add(now - before, ordering: .relaxed).newValue
    }

    var bytes: Int { total.load(ordering: .relaxed) }
}
