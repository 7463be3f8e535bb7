import TandemModel
import TandemQuery
import TandemWire

/// What a batch looks for, and what of it is to be worked off.
struct BatchSearch: Sendable {
    /// All that the batch is about: which of it a limit picks depends on what is done already.
    let request: CompiledRequest
    private let reached: ObjectReference
    /// How many the batch's limit leaves.
    private let left: Int
    /// Whether they come in the order that is wanted.
    private let isSorted: Bool

    /// The search of a batch that has come so far.
    init(_ batch: Batch, _ progress: BatchProgress, in model: CompiledModel) throws(TandemError) {
        var request = batch.request
        // Without a limit nobody asked for another order than that of references.
        isSorted = request.limit == nil
        if isSorted { request.sort = [] }
        request.limit = nil
        self.request = try CompiledRequest(request, in: model)
        reached = progress.reached
        left = batch.request.limit.map { Self.left(of: $0, progress.done) } ?? .max
    }

    private static func left(of limit: Int, _ done: UInt64) -> Int {
        let left = UInt64(max(0, limit)).subtractingReportingOverflow(done)
        return left.overflow ? 0 : Int(clamping: left.partialValue)
    }

    /// What lies behind where the batch has come to, in the request's order up to its limit, in the order of references.
    ///
    /// Throws `limitExceeded` when that is more than a batch may have.
    func select(
        from found: [ObjectReference], _ limits: DaemonLimits, _ counts: LimitCounts
    ) throws(TandemError) -> [ObjectReference] {
        let selected = found.lazy.filter { $0 > reached }.prefix(left)
            .prefix(limits.batchObjects + 1)
        guard selected.count <= limits.batchObjects else {
            throw counts.refusal(
                .batchObjects, limits,
                "the batch is more than \(limits.batchObjects) objects; do it in parts, by a "
                    + "narrower predicate or a limit")
        }
        return isSorted ? Array(selected) : selected.sorted()
    }
}
