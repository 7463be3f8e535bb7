import TandemModel
import TandemQuery
import TandemWire

/// The search for a batch's objects, and the selection of those still to be processed.
struct BatchSearch: Sendable {
    /// The batch's request without its limit, which depends on the objects processed already.
    let request: CompiledRequest
    private let reached: ObjectReference
    /// The number of objects that the batch's limit still allows.
    private let left: Int
    /// Whether the search returns objects in the order in which they are processed.
    private let isSorted: Bool

    /// Creates the search of a batch with this progress.
    init(_ batch: Batch, _ progress: BatchProgress, in model: CompiledModel) throws(TandemError) {
        var request = batch.request
        // The order matters only with a limit; without one, the order of references will do.
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

    /// Returns the objects still to be processed, in the order of references.
    ///
    /// These are the found objects after the last processed one, up to the batch's limit in the
    /// request's order. Throws `limitExceeded` if there are more than a batch may have.
    func select(
        from found: [ObjectReference], _ limits: DaemonLimits, _ counts: LimitCounters
    ) throws(TandemError) -> [ObjectReference] {
        let selected = found.lazy.filter { $0 > reached }.prefix(left)
            .prefix(limits.batchObjects + 1)
        guard selected.count <= limits.batchObjects else {
            throw counts.refusal(
                .batchObjects, limits,
                "the batch finds more than \(limits.batchObjects) objects; split it by a "
                    + "narrower predicate or a limit")
        }
        return isSorted ? Array(selected) : selected.sorted()
    }
}
