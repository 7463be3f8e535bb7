import TandemModel
import TandemStore
import TandemWire

/// Of what a batch's search found what is to be worked off, picked and put in the order of references some at a time.
///
/// What is picked is what lies behind where the batch has come to, in the request's order up to its limit.
struct BatchOrder {
    /// Where the search ended.
    let position: UInt64
    private var found: FoundReferences
    private let reached: ObjectReference
    /// How many the request's limit leaves.
    private let left: Int
    /// Whether they come in another order than is wanted.
    private let isSorted: Bool
    private var picked: [ObjectReference] = []
    private var sort: StepSort<ObjectReference>?

    /// Of what was found at a position for a batch that has come so far.
    init(
        _ found: FoundReferences, at position: UInt64, of batch: Batch, _ progress: BatchProgress
    ) {
        self.found = found
        self.position = position
        reached = progress.reached
        // Without a limit nobody asked for another order.
        isSorted = batch.request.limit == nil
        left = batch.request.limit.map { Self.left(of: $0, progress.done) } ?? .max
    }

    private static func left(of limit: Int, _ done: UInt64) -> Int {
        let left = UInt64(max(0, limit)).subtractingReportingOverflow(done)
        return left.overflow ? 0 : Int(clamping: left.partialValue)
    }

    /// About the bytes that it holds.
    var bytes: Int {
        found.bytes + picked.count * MemoryLayout<ObjectReference>.stride + (sort?.bytes ?? 0)
    }

    /// Goes on until `budget` is used up; returns the objects when they are in order.
    ///
    /// Throws `limitExceeded` when they are more than a batch may have.
    mutating func step(
        _ budget: inout Int, _ limits: DaemonLimits, _ counts: LimitCounts
    ) throws(TandemError) -> [ObjectReference]? {
        if sort == nil {
            guard pick(&budget, atMost: limits.batchObjects) else { return nil }
            guard picked.count <= limits.batchObjects else {
                throw counts.refusal(
                    .batchObjects, limits,
                    "the batch is more than \(limits.batchObjects) objects; do it in parts, by a "
                        + "narrower predicate or a limit")
            }
            if isSorted { return picked }
            sort = StepSort(picked, by: <)
            picked = []
        }
        guard sort?.step(&budget) ?? true else { return nil }
        return sort?.whole
    }

    /// Picks until there are no more, or one too many; true when that is done.
    private mutating func pick(_ budget: inout Int, atMost most: Int) -> Bool {
        let (reached, left) = (reached, left)
        return found.step(&budget) { object in
            guard picked.count < left, picked.count <= most else { return false }
            if object > reached { picked.append(object) }
            return true
        }
    }
}
