import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// The search for a batch's objects and the selection of those still to be processed, or the
/// evaluation of objects found before.
struct BatchSearch: Sendable {
    /// The objects that a search found, in the order of references.
    struct Result: Sendable {
        var objects: [ObjectReference]
        /// The hashes of the objects' rows, if candidates were evaluated.
        var rowHashes: [Int] = []
    }

    /// The batch's request without its limit, which depends on the objects already processed.
    let request: CompiledRequest
    /// The objects to be evaluated; nil to search for all.
    private let candidates: [ObjectReference]?
    private let reached: ObjectReference
    /// The number of objects that the batch's limit still allows.
    private let left: Int
    /// Whether the search returns objects in the order in which they are processed.
    private let isSorted: Bool

    /// Creates the search of a batch with this progress, or the evaluation of candidates.
    init(
        _ batch: Batch, _ progress: BatchProgress, evaluating candidates: [ObjectReference]? = nil,
        in model: CompiledModel
    ) throws(TandemError) {
        self.candidates = candidates
        var request = batch.request
        // The request's order matters only with a limit; otherwise, objects are found by reference.
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

    /// Returns the objects still to be processed, or the candidates that match.
    func result(of run: ReadRun) throws -> Result {
        let request = try request.compiled(in: run.model)
        guard let candidates else {
            return Result(objects: try select(from: try run.references(request), run))
        }
        let found = try run.matches(request, among: candidates)
        return Result(
            objects: found.map(\.object), rowHashes: found.map { $0.row.bytes.hashValue })
    }

    /// Returns the objects still to be processed, in the order of references.
    ///
    /// These are the found objects after the last processed one, up to the batch's limit in the
    /// request's order. Throws `limitExceeded` if there are more than a batch may have.
    private func select(
        from found: [ObjectReference], _ run: ReadRun
    ) throws -> [ObjectReference] {
        let limits = run.limits
        var selected = Array(
            found.lazy.filter { $0 > reached }.prefix(left).prefix(limits.batchObjects + 1))
        guard selected.count <= limits.batchObjects else {
            throw run.counts.refusal(
                .batchObjects, limits,
                "the batch finds more than \(limits.batchObjects) objects; split it by a "
                    + "narrower predicate or a limit")
        }
        if !isSorted { try run.budget().sort(&selected, by: <) }
        return selected
    }
}
