import Synchronization

/// About the bytes that all reads hold together while they are carried out.
final class ReadMemory: Sendable {
    private let total = Atomic<Int>(0)

    /// Notes what a read holds by now; returns what all hold.
    func change(from before: Int, to now: Int) -> Int {
        total.add(now - before, ordering: .relaxed).newValue
    }

    var bytes: Int { total.load(ordering: .relaxed) }
}
